//! Reads while the cache is inactive: the disk serves them, and the directory is simulated (GF 2.3.3, 3.3.2).

use super::Redcap;
use crate::blocks::SegmentBlocks;
use crate::records::{Handling, PartRecord};
use crate::sums::Sums;
use crate::{RedcapAction, ReferenceDisk, Role};
use iopilot_block::{Arrival, Nanos};

/// What an active cache would do for a partial read.
struct Simulated {
    hits: SegmentBlocks,
    holes: SegmentBlocks,
    /// Whether the whole segment would be read.
    fetched: bool,
}

impl<V: ReferenceDisk> Redcap<V> {
    pub(super) fn read_inactive(
        &mut self,
        io: &Arrival,
        extent: (u64, u64),
        batch: u32,
        now: Nanos,
        out: &mut Vec<RedcapAction>,
    ) {
        self.counters.inactive_reads += 1;
        let original = self.original(io, Handling::Inactive, 1);
        if self.ada.simulates() {
            self.originals[original].batch = batch;
            self.originals[original].sums = self.simulate(io, extent, batch, now);
        }
        self.send(PartRecord::new(Role::Whole, original, extent), out);
    }

    fn simulate(&mut self, io: &Arrival, extent: (u64, u64), batch: u32, now: Nanos) -> Sums {
        let mut sums = Sums::default();
        let read = self.ada.comparison().and_then(|comparison| comparison.reference_begin(batch));
        for number in self.layout.number(extent.0)..=self.layout.number(extent.1 - 1) {
            let (from, to) = self.layout.within(number, extent.0, extent.1);
            let (asked, all) = (self.layout.blocks(number, from, to), self.layout.all(number));
            let Simulated { hits, holes, fetched } = self.simulate_segment(number, (from, to), asked, all);
            sums.hit_blocks += hits.len();
            sums.miss_blocks += holes.len();
            sums.prefetch_blocks += if fetched { (all - asked).len() } else { 0 };
            if let (Some(read), Some(comparison)) = (read, self.ada.comparison()) {
                for run in if fetched { all } else { holes }.runs() {
                    let (first, end) = self.layout.sectors(number, run);
                    let wanted = if fetched { (first, end) } else { (first.max(from), end.min(to)) };
                    comparison.reference_disk(read, io, crate::geometry::extent(wanted), now);
                }
            }
        }
        if let (Some(read), Some(comparison)) = (read, self.ada.comparison()) {
            if sums.hit_blocks > 0 {
                comparison.reference_hit(read, io, sums.hit_blocks, now);
            }
            comparison.reference_end(read, &sums);
        }
        sums
    }

    fn simulate_segment(
        &mut self,
        number: u64,
        part: (u64, u64),
        asked: SegmentBlocks,
        all: SegmentBlocks,
    ) -> Simulated {
        let missed = |fetched| Simulated { hits: SegmentBlocks::NONE, holes: asked, fetched };
        if self.regions.is_off(number) {
            return missed(false);
        }
        let Some(slot) = self.simulated.find(number) else {
            let slot = if asked == all { None } else { self.simulated.allocate(number) };
            if let Some(slot) = slot {
                self.simulated.get_mut(slot).valid = all - asked;
            }
            return missed(slot.is_some());
        };
        let holes = (asked - self.simulated.get(slot).valid).with_gaps_filled(asked);
        let hits = asked - holes;
        if !hits.is_empty() {
            self.simulated.touch(slot);
            if self.strict {
                let whole = self.layout.whole_blocks(number, part.0, part.1) & hits;
                self.simulated.take_out(slot, whole);
            }
        }
        Simulated { hits, holes, fetched: false }
    }
}
