//! [`Nvram`]: the controller's write-back cache.

use std::collections::HashMap;

/// Sectors of a line: one bit each in a word.
const LINE: u64 = 64;
/// No line.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Line {
    number: u64,
    /// Sectors that are newer than those of the members.
    dirty: u64,
    /// Sectors that are being written to the members; may be dirty again.
    writing: u64,
    /// Neighbours in the list of lines that can be destaged.
    older: u32,
    newer: u32,
    listed: bool,
}

/// Sectors that were acknowledged and are not on the members yet, by lines of 64; the least recently written are
/// destaged first, together with what touches them. All steps are O(lines concerned).
#[derive(Clone, Debug)]
pub(super) struct Nvram {
    lines: Vec<Line>,
    free: Vec<u32>,
    /// Never iterated: its order does not matter.
    by_number: HashMap<u64, u32>,
    oldest: u32,
    newest: u32,
    used: u64,
}

/// Each line that `[lba, lba + sectors)` touches, with the bits of it.
fn pieces(lba: u64, sectors: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = lba + sectors;
    (lba / LINE..end.div_ceil(LINE)).map(move |number| {
        let first = number * LINE;
        let (lo, hi) = (lba.max(first) - first, end.min(first + LINE) - first);
        let width = hi - lo;
        let bits = if width == LINE { u64::MAX } else { ((1 << width) - 1) << lo };
        (number, bits)
    })
}

impl Nvram {
    pub(super) fn new() -> Self {
        Self { lines: Vec::new(), free: Vec::new(), by_number: HashMap::new(), oldest: NIL, newest: NIL, used: 0 }
    }

    /// Sectors that it holds.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    fn line(&self, number: u64) -> Option<&Line> {
        self.by_number.get(&number).map(|&at| &self.lines[at as usize])
    }

    /// How many sectors more it would hold with these.
    pub(super) fn growth(&self, lba: u64, sectors: u64) -> u64 {
        let new = |(number, bits): (u64, u64)| bits & !self.line(number).map_or(0, |l| l.dirty | l.writing);
        pieces(lba, sectors).map(|piece| u64::from(new(piece).count_ones())).sum()
    }

    /// Whether it holds all of these sectors.
    pub(super) fn contains(&self, lba: u64, sectors: u64) -> bool {
        pieces(lba, sectors).all(|(number, bits)| self.line(number).is_some_and(|l| bits & !(l.dirty | l.writing) == 0))
    }

    /// Takes sectors in; they are the newest.
    pub(super) fn insert(&mut self, lba: u64, sectors: u64) {
        for (number, bits) in pieces(lba, sectors) {
            let at = match self.by_number.get(&number) {
                Some(&at) => at,
                None => self.add(number),
            };
            let line = &mut self.lines[at as usize];
            self.used += u64::from((bits & !(line.dirty | line.writing)).count_ones());
            line.dirty |= bits;
            self.unlist(at);
            self.list(at);
        }
    }

    /// Forgets sectors: they were written past it, or discarded.
    pub(super) fn forget(&mut self, lba: u64, sectors: u64) {
        for (number, bits) in pieces(lba, sectors) {
            let Some(&at) = self.by_number.get(&number) else { continue };
            let line = &mut self.lines[at as usize];
            self.used -= u64::from((line.dirty & bits & !line.writing).count_ones());
            line.dirty &= !bits;
            self.settle(at);
        }
    }

    /// Chooses what to destage next: a run of sectors around the least recently written, within the region of the array
    /// that `region` gives for a sector (first, and the one behind the last). They count as being written.
    pub(super) fn pick(&mut self, region: impl Fn(u64) -> (u64, u64)) -> Option<(u64, u64)> {
        if self.oldest == NIL {
            return None;
        }
        let line = self.lines[self.oldest as usize];
        let seed = line.number * LINE + u64::from((line.dirty & !line.writing).trailing_zeros());
        let (first, behind) = region(seed);
        let (lo, hi) = (self.reach_down(seed, first), self.reach_up(seed, behind));
        for (number, bits) in pieces(lo, hi - lo) {
            let Some(&at) = self.by_number.get(&number) else { continue };
            let line = &mut self.lines[at as usize];
            line.writing |= bits;
            line.dirty &= !bits;
            self.settle(at);
        }
        Some((lo, hi - lo))
    }

    /// What was picked has been written.
    pub(super) fn written(&mut self, lba: u64, sectors: u64) {
        for (number, bits) in pieces(lba, sectors) {
            let Some(&at) = self.by_number.get(&number) else { continue };
            let line = &mut self.lines[at as usize];
            self.used -= u64::from((line.writing & bits & !line.dirty).count_ones());
            line.writing &= !bits;
            self.settle(at);
        }
    }

    /// Sectors of a line that are dirty and not being written.
    fn ready(&self, number: u64) -> u64 {
        self.line(number).map_or(0, |line| line.dirty & !line.writing)
    }

    /// The end of the run that is ready from `at` on, at most `limit`.
    fn reach_up(&self, mut at: u64, limit: u64) -> u64 {
        loop {
            let bit = at % LINE;
            let run = u64::from((self.ready(at / LINE) >> bit).trailing_ones());
            let step = run.min(limit - at);
            at += step;
            if step == 0 || at % LINE != 0 {
                return at;
            }
        }
    }

    /// The start of the run that is ready up to `at`, at least `limit`.
    fn reach_down(&self, mut at: u64, limit: u64) -> u64 {
        while at > limit {
            let bit = (at - 1) % LINE;
            let run = u64::from((self.ready((at - 1) / LINE) << (LINE - 1 - bit)).leading_ones());
            let step = run.min(at - limit);
            at -= step;
            if step == 0 || at % LINE != 0 {
                break;
            }
        }
        at
    }

    fn add(&mut self, number: u64) -> u32 {
        let line = Line { number, dirty: 0, writing: 0, older: NIL, newer: NIL, listed: false };
        let at = match self.free.pop() {
            Some(at) => {
                self.lines[at as usize] = line;
                at
            }
            None => {
                self.lines.push(line);
                (self.lines.len() - 1) as u32
            }
        };
        self.by_number.insert(number, at);
        at
    }

    /// Puts a line where it belongs after a change: on the list, off it, or away.
    fn settle(&mut self, at: u32) {
        let line = self.lines[at as usize];
        match (line.dirty & !line.writing != 0, line.listed) {
            (true, false) => self.list(at),
            (false, true) => self.unlist(at),
            _ => {}
        }
        if line.dirty | line.writing == 0 {
            self.by_number.remove(&line.number);
            self.free.push(at);
        }
    }

    /// Appends a line to the list as the newest, where something of it can be destaged.
    fn list(&mut self, at: u32) {
        let line = &mut self.lines[at as usize];
        if line.dirty & !line.writing == 0 {
            return;
        }
        (line.older, line.newer, line.listed) = (self.newest, NIL, true);
        match self.newest {
            NIL => self.oldest = at,
            newest => self.lines[newest as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlist(&mut self, at: u32) {
        let line = self.lines[at as usize];
        if !line.listed {
            return;
        }
        match line.older {
            NIL => self.oldest = line.newer,
            older => self.lines[older as usize].newer = line.newer,
        }
        match line.newer {
            NIL => self.newest = line.older,
            newer => self.lines[newer as usize].older = line.older,
        }
        self.lines[at as usize].listed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn all(_: u64) -> (u64, u64) {
        (0, 1 << 40)
    }

    #[test]
    fn the_least_recently_written_goes_first_with_what_touches_it() {
        let mut cache = Nvram::new();
        cache.insert(100, 8);
        cache.insert(1000, 100);
        cache.insert(108, 40);
        assert_eq!(cache.used(), 148);
        assert_eq!(cache.pick(all), Some((1000, 100)), "108 lies in the line of 100 and made it the newest");
        cache.insert(1050, 2);
        cache.written(1000, 100);
        assert!(cache.contains(1050, 2) && !cache.contains(1049, 2), "written again while it was being written");
        assert_eq!(cache.pick(|_| (64, 128)), Some((100, 28)), "no further than the region");
        assert_eq!(cache.pick(all), Some((128, 20)));
        assert_eq!(cache.pick(all), Some((1050, 2)));
        assert_eq!(cache.pick(all), None);
        assert_eq!(cache.used(), 50);
    }

    proptest! {
        #[test]
        fn it_holds_what_was_written_and_not_destaged(
            steps in prop::collection::vec((0u8..5, 0u64..600, 1u64..200), 1..80)
        ) {
            let mut cache = Nvram::new();
            let (mut dirty, mut flying) = (BTreeSet::new(), Vec::<(u64, u64)>::new());
            for (what, lba, sectors) in steps {
                let range = lba..lba + sectors;
                let held = |dirty: &BTreeSet<u64>, flying: &[(u64, u64)], at: u64| {
                    dirty.contains(&at) || flying.iter().any(|&(lba, n)| (lba..lba + n).contains(&at))
                };
                match what {
                    0 | 1 => {
                        let new = range.clone().filter(|&at| !held(&dirty, &flying, at)).count() as u64;
                        prop_assert_eq!(cache.growth(lba, sectors), new);
                        cache.insert(lba, sectors);
                        dirty.extend(range);
                    }
                    2 => {
                        if let Some((lba, sectors)) = cache.pick(|at| (at / 128 * 128, at / 128 * 128 + 128)) {
                            for at in lba..lba + sectors {
                                prop_assert!(dirty.remove(&at));
                                let twice = flying.iter().any(|&(lba, n)| (lba..lba + n).contains(&at));
                                prop_assert!(!twice, "two writes of a sector at once");
                            }
                            flying.push((lba, sectors));
                        } else {
                            prop_assert!(dirty.iter().all(|&at| flying.iter().any(|&(l, n)| (l..l + n).contains(&at))));
                        }
                    }
                    3 => {
                        if !flying.is_empty() {
                            let (lba, sectors) = flying.remove((lba % flying.len() as u64) as usize);
                            cache.written(lba, sectors);
                        }
                    }
                    _ => {
                        cache.forget(lba, sectors);
                        range.for_each(|at| {
                            dirty.remove(&at);
                        });
                    }
                }
                let used = (0..800).filter(|&at| held(&dirty, &flying, at)).count() as u64;
                prop_assert_eq!(cache.used(), used);
                prop_assert_eq!(cache.contains(lba, sectors), (lba..lba + sectors).all(|at| held(&dirty, &flying, at)));
            }
        }
    }
}
