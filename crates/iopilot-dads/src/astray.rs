//! [`Astray`]: whether the scheduler in use goes worse than it would if it began anew.

/// At so many checks in a row it must have.
const PATIENCE: u32 = 3;
/// It costs more than so many times what its trial does.
const TIMES: f64 = 2.0;
/// So many checks after it was put in place anew without avail it is again; then twice as many, and so on.
const FIRST_REST: u32 = 7;
const LONGEST_REST: u32 = 448;

/// A trial begins anew. Where the scheduler in use costs much more than its own trial, check after check, either the model is off or
/// the scheduler has gone astray: `bfq` takes streams that it serves slowly for soft real-time ones (below 7000 sectors a second),
/// raises them, and idles for nobody while it does (`bfq_bfqq_softrt_next_start`, `idling_boosts_thr_without_issues`), so that they
/// stay slow. To put it in place anew costs two changes, and tells which of the two it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Astray {
    /// At so many checks in a row it has cost too much.
    missed: u32,
    /// It was put in place anew, and has cost too much ever since.
    in_vain: bool,
    /// For so many checks it is left alone; and for how many the next time.
    rest: u32,
    next_rest: u32,
}

impl Astray {
    pub(crate) fn new() -> Self {
        Self { missed: 0, in_vain: false, rest: 0, next_rest: FIRST_REST }
    }

    /// A check at which the scheduler in use cost `measured`, its trial `cost`, and both ways of a change `change`. Whether it is to be put in
    /// place anew.
    pub(crate) fn check(&mut self, measured: f64, cost: f64, change: f64) -> bool {
        self.rest = self.rest.saturating_sub(1);
        if TIMES * cost >= measured || cost + change >= measured {
            *self = Self { rest: self.rest, ..Self::new() };
            return false;
        }
        self.missed += 1;
        self.missed >= PATIENCE && self.rest == 0
    }

    /// It is put in place anew.
    pub(crate) fn renewed(&mut self) {
        self.missed = 0;
        if self.in_vain {
            self.rest = self.next_rest;
            self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
        }
        self.in_vain = true;
    }

    /// Another scheduler is in use.
    pub(crate) fn changed(&mut self) {
        *self = Self { rest: self.rest, next_rest: self.next_rest, ..Self::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn astray(astray: &mut Astray) -> bool {
        let due = astray.check(9.0, 2.0, 0.1);
        if due {
            astray.renewed();
        }
        due
    }

    #[test]
    fn three_checks_in_a_row_tell() {
        let mut a = Astray::new();
        assert!(!astray(&mut a) && !astray(&mut a));
        assert!(!a.check(9.0, 8.0, 0.1), "it has found its way");
        assert!(!astray(&mut a) && !astray(&mut a) && astray(&mut a));
        assert!(!a.check(9.0, 8.0, 0.1));
        assert!(!astray(&mut a) && !astray(&mut a) && astray(&mut a), "it helped: it may again");
    }

    #[test]
    fn what_does_not_help_is_seldom_done() {
        let mut a = Astray::new();
        let renewed: Vec<usize> = (1..=100).filter(|_| astray(&mut a)).collect();
        assert_eq!(renewed, [3, 6, 13, 27, 55]);
    }

    #[test]
    fn a_gain_below_what_it_takes_is_none() {
        let mut a = Astray::new();
        assert!((0..9).all(|_| !a.check(0.09, 0.02, 0.08)));
        assert!((0..9).all(|_| !a.check(9.0, 5.0, 0.1)), "a model may be off by that");
    }
}
