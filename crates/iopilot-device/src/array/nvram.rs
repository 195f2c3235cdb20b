//! [`Nvram`]: the controller's write-back cache.

use iopilot_block::{Lba, Slab, SortedIndex};
use std::collections::HashMap;

/// Sectors of a line, one for each bit of a word.
const LINE: u64 = 64;
/// How many stripes ahead are searched for a whole one.
const AHEAD: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Line {
    number: u64,
    /// Sectors that are newer than the members' copies.
    dirty: u64,
    /// Sectors that are being written to the members; they may be dirty again.
    writing: u64,
    /// Whether it is in the index of lines that can be destaged.
    listed: bool,
}

/// The sectors that one destage may cover.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    /// First sector.
    pub(super) first: u64,
    /// The sector behind the last.
    pub(super) behind: u64,
    /// Whether a sector costs less if the whole region is written. True for a stripe with redundancy, because the
    /// rest need not be read.
    pub(super) better_whole: bool,
}

/// A run of sectors that can be destaged, with its region.
#[derive(Clone, Copy, Debug)]
struct Run {
    lo: u64,
    hi: u64,
    region: Region,
}

/// Acknowledged sectors that are not on the members yet, in lines of 64. They are destaged in upward sweeps, in runs
/// as long as possible. All steps are O(lines concerned) and a search.
#[derive(Clone, Debug)]
pub(super) struct Nvram {
    lines: Slab<Line>,
    /// Never iterated, so its order does not matter.
    by_number: HashMap<u64, u32>,
    /// Lines that can be destaged in part: their number, and their index in `lines`.
    ready: SortedIndex<u32>,
    /// The sector that the sweep has reached.
    sweep: u64,
    used: u64,
}

/// Each line in `[lba, lba + sectors)`, with the bits concerned.
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
        Self { lines: Slab::new(), by_number: HashMap::new(), ready: SortedIndex::new(), sweep: 0, used: 0 }
    }

    /// The number of sectors it holds.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    fn line(&self, number: u64) -> Option<&Line> {
        self.by_number.get(&number).map(|&at| &self.lines[at])
    }

    /// How many more sectors it would hold with these.
    pub(super) fn growth(&self, lba: u64, sectors: u64) -> u64 {
        let new = |(number, bits): (u64, u64)| bits & !self.line(number).map_or(0, |l| l.dirty | l.writing);
        pieces(lba, sectors).map(|piece| u64::from(new(piece).count_ones())).sum()
    }

    /// Whether it holds all of these sectors.
    pub(super) fn contains(&self, lba: u64, sectors: u64) -> bool {
        pieces(lba, sectors).all(|(number, bits)| self.line(number).is_some_and(|l| bits & !(l.dirty | l.writing) == 0))
    }

    /// Adds sectors, as dirty.
    pub(super) fn insert(&mut self, lba: u64, sectors: u64) {
        for (number, bits) in pieces(lba, sectors) {
            let at = match self.by_number.get(&number) {
                Some(&at) => at,
                None => self.add(number),
            };
            let line = &mut self.lines[at];
            self.used += u64::from((bits & !(line.dirty | line.writing)).count_ones());
            line.dirty |= bits;
            self.update_line(at);
        }
    }

    /// Drops sectors that were discarded or written directly to the members.
    pub(super) fn forget(&mut self, lba: u64, sectors: u64) {
        for (number, bits) in pieces(lba, sectors) {
            let Some(&at) = self.by_number.get(&number) else { continue };
            let line = &mut self.lines[at];
            self.used -= u64::from((line.dirty & bits & !line.writing).count_ones());
            line.dirty &= !bits;
            self.update_line(at);
        }
    }

    /// Chooses the next destage and marks it as being written. It is the next run in the sweep, within the region
    /// that `region` gives for a sector. If whole regions are better, it is the first whole region ahead, or else the
    /// longest run.
    pub(super) fn pick(&mut self, region: impl Fn(u64) -> Region) -> Option<(u64, u64)> {
        let mut best = self.next_run(self.sweep, &region)?;
        let first = best.lo;
        let mut run = best;
        for _ in 1..AHEAD {
            if !run.region.better_whole || run.is_whole() {
                best = run;
                break;
            }
            run = match self.next_run(run.region.behind, &region) {
                Some(next) if next.lo != first => next,
                _ => break,
            };
            if run.is_whole() || run.hi - run.lo > best.hi - best.lo {
                best = run;
            }
        }
        let Run { lo, hi, .. } = best;
        for (number, bits) in pieces(lo, hi - lo) {
            let Some(&at) = self.by_number.get(&number) else { continue };
            let line = &mut self.lines[at];
            line.writing |= bits;
            line.dirty &= !bits;
            self.update_line(at);
        }
        self.sweep = hi;
        Some((lo, hi - lo))
    }

    /// The run at or above `from`; the lowest run if there is none.
    fn next_run(&self, from: u64, region: impl Fn(u64) -> Region) -> Option<Run> {
        let number = from / LINE;
        let here = self.ready(number) & (u64::MAX << (from % LINE));
        let seed = if here != 0 {
            number * LINE + u64::from(here.trailing_zeros())
        } else {
            let above = self.ready.at_or_after(Lba(number + 1)).or_else(|| self.ready.first())?;
            let line = &self.lines[above];
            line.number * LINE + u64::from((line.dirty & !line.writing).trailing_zeros())
        };
        let region = region(seed);
        Some(Run { lo: self.reach_down(seed, region.first), hi: self.reach_up(seed, region.behind), region })
    }

    /// The picked sectors have been written.
    pub(super) fn written(&mut self, lba: u64, sectors: u64) {
        for (number, bits) in pieces(lba, sectors) {
            let Some(&at) = self.by_number.get(&number) else { continue };
            let line = &mut self.lines[at];
            self.used -= u64::from((line.writing & bits & !line.dirty).count_ones());
            line.writing &= !bits;
            self.update_line(at);
        }
    }

    /// Sectors of a line that are dirty and not being written.
    fn ready(&self, number: u64) -> u64 {
        self.line(number).map_or(0, |line| line.dirty & !line.writing)
    }

    /// The end of the ready run from `at` on, at most `limit`.
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

    /// The start of the ready run up to `at`, at least `limit`.
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
        let at = self.lines.insert(Line { number, dirty: 0, writing: 0, listed: false });
        self.by_number.insert(number, at);
        at
    }

    /// Updates the index after a change of a line, and frees an empty line.
    fn update_line(&mut self, at: u32) {
        let line = &mut self.lines[at];
        let key = Lba(line.number);
        let ready = line.dirty & !line.writing != 0;
        if ready != line.listed {
            line.listed = ready;
            if ready {
                self.ready.insert(key, at);
            } else {
                self.ready.remove(key, at);
            }
        }
        if line.dirty | line.writing == 0 {
            self.by_number.remove(&key.0);
            self.lines.remove(at);
        }
    }
}

impl Run {
    fn is_whole(&self) -> bool {
        (self.lo, self.hi) == (self.region.first, self.region.behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn region(first: u64, behind: u64) -> Region {
        Region { first, behind, better_whole: false }
    }

    fn all(_: u64) -> Region {
        region(0, 1 << 40)
    }

    #[test]
    fn a_sweep_goes_up_run_by_run_and_starts_over() {
        let mut cache = Nvram::new();
        cache.insert(1000, 100);
        cache.insert(100, 8);
        cache.insert(108, 40);
        assert_eq!(cache.used(), 148);
        assert_eq!(cache.pick(|_| region(64, 128)), Some((100, 28)), "no further than the region");
        assert_eq!(cache.pick(all), Some((128, 20)));
        cache.insert(90, 4);
        assert_eq!(cache.pick(all), Some((1000, 100)), "sectors behind the sweep wait for the next one");
        cache.insert(1050, 2);
        cache.written(1000, 100);
        assert!(cache.contains(1050, 2) && !cache.contains(1049, 2), "written again while it was being written");
        assert_eq!(cache.pick(all), Some((90, 4)));
        assert_eq!(cache.pick(all), Some((1050, 2)));
        assert_eq!(cache.pick(all), None);
        assert_eq!(cache.used(), 54);
    }

    #[test]
    fn whole_stripes_go_first_and_then_longer_runs() {
        let stripes = |at: u64| Region { first: at / 256 * 256, behind: at / 256 * 256 + 256, better_whole: true };
        let mut cache = Nvram::new();
        cache.insert(0, 8);
        cache.insert(256 + 100, 100);
        for part in 0..4 {
            cache.insert(512 + part * 64, 64);
        }
        assert_eq!(cache.pick(stripes), Some((512, 256)));
        assert_eq!(cache.pick(stripes), Some((356, 100)));
        assert_eq!(cache.pick(stripes), Some((0, 8)));
        // A whole stripe beyond the search limit is ignored.
        (0..20).for_each(|i| cache.insert(1024 + i * 256, 8));
        cache.insert(1024 + 20 * 256, 256);
        assert_eq!(cache.pick(stripes), Some((1024, 8)));
    }

    proptest! {
        #[test]
        fn it_holds_the_sectors_written_and_not_yet_destaged(
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
                        if let Some((lba, sectors)) = cache.pick(|at| Region {
                            first: at / 128 * 128, behind: at / 128 * 128 + 128, better_whole: lba % 2 == 0,
                        }) {
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
