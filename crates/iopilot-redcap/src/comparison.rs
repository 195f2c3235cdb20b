//! [`ReferenceComparison`]: `vd` and `vd-all-blocks`, which compare the real disk with a reference disk (GF 3.3).
//!
//! While the cache is active, the reference disk serves the originals: it is a system without the cache. While the cache is
//! inactive, the reference disk serves the requests that the cache would have sent. Every 1000 reads, the cache becomes or
//! stays active if a block costs less with it: `T_R / B_R < T_N / B_N` (eq. 3.2), or the same for the sums of each read's
//! ratio (eq. 3.3). Both disks are compared over the same 1000 reads. The slower one may be one interval behind; after that,
//! the comparison takes what it has served so far.
//!
//! For the real disk, `T_R` or `T_N` is the wait in the scheduler plus the model's time (eq. 3.1), so that both sides have
//! the errors of one model.

mod interval_cost;

use crate::check::ActivationVerdict;
use crate::records::NONE;
use crate::sums::{Sums, scaled};
use crate::{Algorithm, PartTimes, Ratio, RedcapSpec, ReferenceCompletion, ReferenceDisk, ReferenceRequest};
use interval_cost::IntervalCost;
use iopilot_block::{Arrival, Lba, Nanos, Op, Sectors, Slab, SourceHandle};

/// Reads between two checks.
const INTERVAL: u32 = 1_000;

/// Stands for the interval of a read that is not compared.
pub(crate) const NO_BATCH: u32 = u32::MAX;

/// A read on the side of the reference disk.
#[derive(Clone, Copy, Debug)]
struct ReferenceRead {
    batch: u32,
    /// Its requests that the reference disk has not served.
    left: u32,
    time: Nanos,
    blocks: u64,
}

/// One interval.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    issued: u32,
    /// The reads that the real disk has served.
    real: IntervalCost,
    /// The reads that the reference disk has served.
    reference: IntervalCost,
}

#[derive(Clone, Debug)]
pub(crate) struct ReferenceComparison<V> {
    disk: V,
    ratio: Ratio,
    /// Whether prefetched blocks count as served.
    counts_all_blocks: bool,
    /// The cost of copying a block, until one is measured.
    copy_time: Nanos,
    /// Time and blocks of the copies of the last active period.
    last_copies: (Nanos, u64),
    /// Time and blocks of the copies since the last change of state.
    copies: (Nanos, u64),
    /// The number of resets, which is part of the handle of each reference request. Completions of an earlier generation are
    /// ignored.
    generation: u32,
    reads: Slab<ReferenceRead>,
    /// The interval that is compared next, and the one after it.
    batches: [Batch; 2],
    /// The number of the first of both.
    oldest: u32,
    congested: bool,
    done: Vec<ReferenceCompletion>,
}

impl<V: ReferenceDisk> ReferenceComparison<V> {
    pub(crate) fn new(spec: &RedcapSpec, disk: V) -> Self {
        Self {
            disk,
            ratio: spec.ratio_or_default(),
            counts_all_blocks: spec.algorithm == Algorithm::VdAllBlocks,
            copy_time: Nanos::from_millis_f64(spec.copy_us_per_kib * 4.0 / 1e3),
            last_copies: (Nanos::ZERO, 0),
            copies: (Nanos::ZERO, 0),
            generation: 0,
            reads: Slab::new(),
            batches: Default::default(),
            oldest: 0,
            congested: false,
            done: Vec::new(),
        }
    }

    pub(crate) const fn disk(&mut self) -> &mut V {
        &mut self.disk
    }

    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.disk.next_event()
    }

    /// Runs the reference disk to `now`.
    pub(crate) fn advance(&mut self, now: Nanos) {
        // Checked before the reference disk runs, so that a congestion that ends within this call is noticed.
        self.takes_requests();
        if self.disk.next_event().is_none_or(|at| at > now) {
            return;
        }
        let mut done = std::mem::take(&mut self.done);
        self.disk.advance(now, &mut done);
        for ReferenceCompletion { handle, wait_and_service, .. } in done.drain(..) {
            let (generation, index) = ((handle.0 >> 32) as u32, handle.0 as u32);
            if generation == self.generation && index != NONE {
                self.reads[index].time += wait_and_service;
                self.ended(index);
            }
        }
        self.done = done;
    }

    /// Whether the reference disk takes requests. Resets the comparison when a congestion begins or ends (GF 3.2.6).
    fn takes_requests(&mut self) -> bool {
        let congested = self.disk.is_congested();
        if congested != self.congested {
            self.congested = congested;
            self.forget();
        }
        !congested
    }

    /// Resets all intervals, and ignores the reference requests in flight.
    fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.reads.clear();
        self.batches = Default::default();
        self.oldest = (self.oldest + 2) % (NO_BATCH / 2);
    }

    /// If both intervals are full, the verdict on the first one, from the reads that have ended.
    pub(crate) fn overdue(&mut self, active: bool) -> Option<ActivationVerdict> {
        self.batches.iter().all(|batch| batch.issued == INTERVAL).then(|| self.decide(active)).flatten()
    }

    /// Assigns a new read to an interval.
    pub(crate) fn admit(&mut self) -> u32 {
        if !self.takes_requests() {
            return NO_BATCH;
        }
        let place = usize::from(self.batches[0].issued == INTERVAL);
        self.batches[place].issued += 1;
        self.oldest + place as u32
    }

    /// Sends an original to the reference disk unmodified.
    pub(crate) fn mirror(&mut self, io: &Arrival, batch: u32, blocks: u64, now: Nanos) {
        if !self.takes_requests() || (io.op == Op::Read && batch == NO_BATCH) {
            return;
        }
        let read = match io.op {
            Op::Read => self.reads.insert(ReferenceRead { batch, left: 1, time: Nanos::ZERO, blocks }),
            _ => NONE,
        };
        self.submit(read, io, io.lba, io.sectors, None, now);
    }

    /// Begins a read on the reference side. [`ReferenceComparison::reference_disk`] and
    /// [`ReferenceComparison::reference_hit`] add its requests, and [`ReferenceComparison::reference_end`] closes it. `None`
    /// if the read is not compared.
    pub(crate) fn reference_begin(&mut self, batch: u32) -> Option<u32> {
        let read = ReferenceRead { batch, left: 1, time: Nanos::ZERO, blocks: 0 };
        (batch != NO_BATCH).then(|| self.reads.insert(read))
    }

    /// Adds a disk request that the cache would send.
    pub(crate) fn reference_disk(&mut self, read: u32, io: &Arrival, (lba, sectors): (Lba, Sectors), now: Nanos) {
        self.reads[read].left += 1;
        self.submit(read, io, lba, sectors, None, now);
    }

    /// Adds blocks that would be hits.
    pub(crate) fn reference_hit(&mut self, read: u32, io: &Arrival, blocks: u64, now: Nanos) {
        let (time, copied) = self.last_copies;
        let time = if copied > 0 { scaled(time, blocks, copied) } else { self.copy_time * blocks }; // 2.10
        self.reads[read].time += time; // 3.4
        // Its completion is ignored, because its time is already added.
        self.submit(NONE, io, io.lba, io.sectors, Some(time), now);
    }

    /// Closes a read: all its requests have been added.
    pub(crate) fn reference_end(&mut self, read: u32, sums: &Sums) {
        self.reads[read].blocks = self.served_blocks(sums);
        self.ended(read);
    }

    fn submit(&mut self, read: u32, io: &Arrival, lba: Lba, sectors: Sectors, copy: Option<Nanos>, now: Nanos) {
        let handle = SourceHandle(u64::from(self.generation) << 32 | u64::from(read));
        self.disk.submit(ReferenceRequest { request: Arrival { handle, lba, sectors, ..*io }, copy }, now);
    }

    /// `B_R`: the blocks that the cache serves; in eq. 3.3 as printed, also those that it prefetches.
    const fn served_blocks(&self, sums: &Sums) -> u64 {
        let requested = sums.hit_blocks + sums.miss_blocks;
        if self.counts_all_blocks { requested + sums.prefetch_blocks } else { requested }
    }

    fn ended(&mut self, read: u32) {
        self.reads[read].left -= 1;
        if self.reads[read].left == 0 {
            let ReferenceRead { batch, time, blocks, .. } = *self.reads.remove(read);
            if let Some(batch) = self.batch(batch) {
                batch.reference.add(time, blocks);
            }
        }
    }

    fn batch(&mut self, number: u32) -> Option<&mut Batch> {
        self.batches.get_mut(number.checked_sub(self.oldest)? as usize)
    }

    /// The time of a request of the real disk: its wait in the scheduler, if `waited`, and the model's time for it (eq. 3.1).
    pub(crate) fn real_time(&mut self, extent: (Lba, Sectors), served: &PartTimes, waited: bool) -> Nanos {
        let wait = if waited { served.dispatched.since(served.inserted) } else { Nanos::ZERO };
        wait + self.disk.service(Op::Read, extent.0, extent.1)
    }

    /// Accounts for a read that the real disk or the cache has served.
    pub(crate) fn finished(&mut self, batch: u32, sums: &Sums, model_time: Nanos, active: bool) {
        let (time, blocks) = if active {
            self.copies = (self.copies.0 + sums.hit_time, self.copies.1 + sums.hit_blocks);
            (sums.hit_time + sums.wait_time + model_time, self.served_blocks(sums))
        } else {
            (model_time, sums.hit_blocks + sums.miss_blocks)
        };
        if let Some(batch) = self.batch(batch) {
            batch.real.add(time, blocks);
        }
    }

    /// The verdict, if the first interval has ended on both sides.
    pub(crate) fn check(&mut self, active: bool) -> Option<ActivationVerdict> {
        let Batch { real, reference, .. } = self.batches[0];
        (real.reads >= INTERVAL && reference.reads >= INTERVAL).then(|| self.decide(active)).flatten()
    }

    fn decide(&mut self, active: bool) -> Option<ActivationVerdict> {
        let Batch { real, reference, .. } = self.batches[0];
        self.batches = [self.batches[1], Batch::default()];
        self.oldest = (self.oldest + 1) % (NO_BATCH / 2);
        if real.reads == 0 || reference.reads == 0 {
            return None;
        }
        let (cache, normal) = if active { (real, reference) } else { (reference, real) };
        let (time_r, blocks_r, with_cache) = cache.cost(self.ratio);
        let (time_n, blocks_n, without_cache) = normal.cost(self.ratio);
        let product = |time: u64, blocks: u64| u128::from(time) * u128::from(blocks);
        let good = product(time_r, blocks_n) < product(time_n, blocks_r); // 3.2, 3.3
        Some(ActivationVerdict { with_cache, without_cache, good, active: good })
    }

    /// The cache was turned on or off: from now on the reference disk serves the opposite case.
    pub(crate) fn switched(&mut self, active: bool) {
        self.disk.clear();
        self.forget();
        if !active && self.copies.1 > 0 {
            self.last_copies = self.copies;
        }
        self.copies = (Nanos::ZERO, 0);
    }
}

#[cfg(test)]
mod tests;
