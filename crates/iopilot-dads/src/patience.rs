//! [`Patience`]: how many windows a change must rest on.

/// After so many times the windows that a change must rest on, without one, half as many are enough.
const CALM: u32 = 16;
/// The most windows that are asked for.
const MOST: u32 = 64;

/// How many windows a change must rest on. One, as long as changes last.
///
/// A decision comes after the windows that it rests on, so it follows a load that changes late by as many. Where it is taken
/// back before twice as many have passed, it was wrong for as long as it was right. Then more must show it: the load
/// goes to and fro faster than it can be followed, and what is best for all of it is to be found.
#[derive(Clone, Debug)]
pub(crate) struct Patience<K> {
    windows: u32,
    /// Windows since the last change, and what was before it.
    since: u32,
    before: Option<K>,
    /// Windows since then, or since fewer were asked for.
    calm: u32,
}

impl<K: PartialEq> Patience<K> {
    pub(crate) const fn new() -> Self {
        Self { windows: 1, since: 0, before: None, calm: 0 }
    }

    /// How many windows a change must rest on, after another window.
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

    /// How many windows are asked for after changes to these, each so many windows after the one before.
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
    fn changes_that_are_taken_back_soon_must_rest_on_more() {
        assert_eq!(asked(&[(1, 'b'), (2, 'a')]), 2);
        assert_eq!(asked(&[(1, 'b'), (3, 'a')]), 1, "that one has paid");
        assert_eq!(asked(&[(1, 'b'), (1, 'c'), (1, 'd')]), 1, "forward");
        assert_eq!(asked(&[(1, 'b'), (1, 'a'), (1, 'b'), (1, 'a')]), 8);
        let restless: Vec<_> = (0..100).map(|n| (1, if n % 2 == 0 { 'b' } else { 'a' })).collect();
        assert_eq!(asked(&restless), MOST);
    }

    #[test]
    fn in_calm_fewer_are_enough() {
        let restless = [(1, 'b'), (1, 'a'), (1, 'b')];
        let after = |windows| asked(&[&restless[..], &[(windows, 'b')]].concat());
        assert_eq!([after(63), after(64), after(95), after(96)], [4, 2, 2, 1]);
    }
}
