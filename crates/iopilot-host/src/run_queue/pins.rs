//! [`Pins`]: processes that run on one CPU only.

/// For each process its only CPU, if it has one.
#[derive(Clone, Debug, Default)]
pub(super) struct Pins(Vec<Option<usize>>);

impl Pins {
    /// Adds a process with the next index. It inherits the CPU of its parent.
    pub(super) fn add(&mut self, parent: Option<usize>) {
        self.0.push(parent.and_then(|parent| self.0[parent]));
    }

    pub(super) fn pin(&mut self, p: usize, c: usize) {
        self.0[p] = Some(c);
    }

    /// The only CPU of process `p`.
    pub(super) fn of(&self, p: usize) -> Option<usize> {
        self.0[p]
    }

    /// Whether process `p` may run on CPU `c`.
    pub(super) fn allow(&self, p: usize, c: usize) -> bool {
        self.0[p].is_none_or(|own| own == c)
    }
}
