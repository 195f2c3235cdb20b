//! [`Patience`]: how many windows of evidence a change needs.

/// After this many times the required windows without a change, the requirement is halved.
const CALM: u32 = 16;
/// The largest requirement, in windows.
const MOST: u32 = 64;

/// How many windows of evidence a change needs: one, as long as changes last.
///
/// A decision comes after the windows that it is based on, so it follows a change of the load that many windows late. A
/// change that is taken back before twice as many windows have passed was wrong for as long as it was right. The
/// requirement then doubles: the load alternates faster than the setting can follow, so the setting that is best
/// overall is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Patience<K> {
    windows: u32,
    /// Windows since the last change, and the setting before it.
    since: u32,
    before: Option<K>,
    /// Windows since the last change, or since the requirement was last halved.
    calm: u32,
}

impl<K: PartialEq> Patience<K> {
    pub(crate) const fn new() -> Self {
        Self { windows: 1, since: 0, before: None, calm: 0 }
    }

    /// Counts a window. Returns how many windows of evidence a change needs now.
    pub(crate) fn window(&mut self) -> u32 {
        (self.since, self.calm) = (self.since.saturating_add(1), self.calm + 1);
        if self.calm >= CALM * self.windows {
            (self.windows, self.calm) = ((self.windows / 2).max(1), 0);
        }
        self.windows
    }

    /// Notes a change.
    pub(crate) fn changed(&mut self, from: K, to: &K) {
        if self.before.as_ref() == Some(to) && self.since <= 2 * self.windows {
            self.windows = (2 * self.windows).min(MOST);
        }
        (self.since, self.before, self.calm) = (0, Some(from), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requirement after changes to these settings, each so many windows after the one before.
    fn asked(changes: &[(u32, char)]) -> u32 {
        let (mut patience, mut now) = (Patience::new(), 'a');
        let mut asked = 1;
        for &(windows, to) in changes {
            (0..windows).for_each(|_| asked = patience.window());
            if to != now {
                patience.changed(now, &to);
                now = to;
            }
        }
        asked.max(patience.windows)
    }

    #[test]
    fn a_change_that_is_soon_taken_back_doubles_the_requirement() {
        assert_eq!(asked(&[(1, 'b'), (2, 'a')]), 2);
        assert_eq!(asked(&[(1, 'b'), (3, 'a')]), 1, "that change has lasted");
        assert_eq!(asked(&[(1, 'b'), (1, 'c'), (1, 'd')]), 1, "forward");
        assert_eq!(asked(&[(1, 'b'), (1, 'a'), (1, 'b'), (1, 'a')]), 8);
        let restless: Vec<_> = (0..100).map(|n| (1, if n % 2 == 0 { 'b' } else { 'a' })).collect();
        assert_eq!(asked(&restless), MOST);
    }

    #[test]
    fn the_requirement_falls_while_nothing_changes() {
        let restless = [(1, 'b'), (1, 'a'), (1, 'b')];
        let after = |windows| asked(&[&restless[..], &[(windows, 'b')]].concat());
        assert_eq!([after(63), after(64), after(95), after(96)], [4, 2, 2, 1]);
    }
}
