//! [`PostmarkSource`]: the running instances and their flusher.

use super::pool::{Dirty, Pool, TransactionStep};
use super::{AllocationStyle, BLOCK, BLOCK_BYTES, Extent, PostmarkSpec};
use iopilot_block::{Criticality, Flags, InputError, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_workload::Agenda;
use iopilot_workload::WorkloadError;
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// The first process id. The instances are numbered from here, and the flusher follows them.
const FIRST_PROCESS: u32 = 1000;
/// Separate system calls are separate moments.
const NEXT_CALL: Nanos = Nanos(1);
/// A handle is the process' index, and below this bit the number of blocks of the request.
const HANDLE_SHIFT: u32 = 40;
/// The most reads of one instance in flight: the one it waits for, and the next read-ahead.
const READS: u32 = 2;
/// The most requests of the flusher in flight: 7/8 of 4096.
const WRITES: u32 = 3584;
/// The most requests that the flusher submits at once.
const BATCH: u32 = 32;
/// The log, in blocks: 32 MiB.
const LOG_BLOCKS: u64 = 8192;
/// The length of a log record in blocks; and the number of metadata changes that fill it.
const LOG_RECORD: u64 = 8;
const LOG_CHANGES: u32 = 16;

/// One instance of Postmark.
#[derive(Clone, Debug)]
struct Instance {
    pool: Pool,
    steps: VecDeque<TransactionStep>,
    in_flight: u32,
    /// A read must complete before anything else.
    alone: bool,
    /// Waits for write-back.
    throttled: bool,
    exited: bool,
}

/// Dirty data of an instance's file, or dirty metadata.
#[derive(Clone, Debug)]
enum Chunk {
    File { instance: usize, dirty: Dirty },
    Metadata(Extent),
}

/// Whether a task sleeps in a submission because the queue is full.
#[derive(Clone, Copy, Debug, Default)]
struct Sleep {
    blocked: bool,
    due: Option<Nanos>,
}

/// The progress of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PostmarkStats {
    /// Transactions that were counted.
    pub(crate) transactions: u32,
    /// How long they took, in seconds.
    pub(crate) elapsed_s: f64,
}

impl PostmarkStats {
    /// Transactions a second of each of `instances`, as Carroll gives them.
    pub(crate) fn per_instance(&self, instances: u32) -> f64 {
        if self.elapsed_s > 0.0 {
            f64::from(self.transactions) / self.elapsed_s / f64::from(instances.max(1))
        } else {
            0.0
        }
    }
}

/// Running instances of Postmark above a page cache. Process ids begin at 1000, one for each instance, and the
/// flusher's follows.
///
/// Runs until the requested transactions are done; then all stop. The transactions of an instance and the places of its
/// files depend on the seed alone.
#[derive(Clone, Debug)]
pub(crate) struct PostmarkSource {
    instances: Vec<Instance>,
    sleeps: Vec<Sleep>,
    agenda: Agenda,
    file_system: AllocationStyle,
    /// What is dirty, oldest first.
    chunks: VecDeque<Chunk>,
    /// The rest of the chunk that is being written.
    current: Option<Extent>,
    /// Dirty blocks in the cache, and blocks being written.
    dirty: u64,
    writeback: u64,
    writes_in_flight: u32,
    /// The number of blocks at which writers wait.
    limit: u64,
    log_first: u64,
    log_at: u64,
    log_changes: u32,
    warm_up: u32,
    transactions: u32,
    done: u32,
    warm_at: Nanos,
    end_at: Option<Nanos>,
}

impl PostmarkSource {
    /// `spec` on a device of `capacity_sectors`. All random choices depend on `seed`.
    ///
    /// # Errors
    /// If the specification contradicts itself, or the files do not fit the device.
    pub(crate) fn new(spec: &PostmarkSpec, capacity_sectors: u64, seed: u64) -> Result<Self, WorkloadError> {
        spec.check()?;
        let n = spec.instances as usize;
        let blocks = (capacity_sectors / BLOCK).saturating_sub(LOG_BLOCKS) / u64::from(spec.instances);
        let mut seeds = Pcg64Mcg::seed_from_u64(seed);
        let mut instances = Vec::with_capacity(n);
        for i in 0..n {
            // The log lies in the middle of the device.
            let first = i as u64 * blocks + if i > n / 2 { LOG_BLOCKS } else { 0 };
            let pool = Pool::new(spec, first, blocks, seeds.random()).ok_or_else(|| {
                let got = format!("{} of {} to {} bytes", spec.files, spec.min_bytes, spec.max_bytes);
                let room = blocks * BLOCK_BYTES;
                InputError::new("files", got, format!("files that fit the {room} bytes of an instance"))
            })?;
            instances.push(Instance {
                pool,
                steps: VecDeque::new(),
                in_flight: 0,
                alone: false,
                throttled: false,
                exited: false,
            });
        }
        let mut agenda = Agenda::new(n + 1);
        (0..n).for_each(|i| agenda.set(i, Some(Nanos::ZERO)));
        let log_first = (n as u64 / 2 + 1) * blocks;
        Ok(Self {
            instances,
            sleeps: vec![Sleep::default(); n + 1],
            agenda,
            file_system: spec.file_system,
            chunks: VecDeque::new(),
            current: None,
            dirty: 0,
            writeback: 0,
            writes_in_flight: 0,
            limit: spec.dirty_bytes / BLOCK_BYTES,
            log_first,
            log_at: 0,
            log_changes: 0,
            warm_up: spec.warm_up,
            transactions: spec.transactions,
            done: 0,
            warm_at: Nanos::ZERO,
            end_at: None,
        })
    }

    /// The progress of the run.
    pub(crate) fn stats(&self) -> PostmarkStats {
        PostmarkStats {
            transactions: self.done.saturating_sub(self.warm_up),
            elapsed_s: self.end_at.map_or(0.0, |end| end.since(self.warm_at).as_secs_f64()),
        }
    }

    fn flusher(&self) -> usize {
        self.instances.len()
    }

    fn request(&self, index: usize, op: Op, extent: Extent, criticality: Criticality, flags: Flags) -> Step {
        Step::Request(Arrival {
            op,
            lba: Lba(extent.first * BLOCK),
            sectors: Sectors((extent.blocks * BLOCK) as u32),
            flags,
            process: ProcessId(FIRST_PROCESS + index as u32),
            priority: IoPriority::default(),
            criticality,
            cpu: index as u16,
            handle: SourceHandle((index as u64) << HANDLE_SHIFT | extent.blocks),
        })
    }

    /// `index` acts at `at`, or later when it no longer sleeps in a submission.
    fn wake(&mut self, index: usize, at: Nanos) {
        let sleep = &mut self.sleeps[index];
        if sleep.blocked {
            sleep.due = Some(sleep.due.map_or(at, |due| due.min(at)));
        } else {
            self.agenda.set(index, Some(at));
        }
    }

    /// Continues an instance until it waits or has submitted one request.
    fn play(&mut self, index: usize, now: Nanos, out: &mut Vec<Step>) {
        while !self.instances[index].exited {
            let instance = &mut self.instances[index];
            if self.end_at.is_some() {
                // The run is over: the instance exits with its last completion.
                if instance.in_flight == 0 {
                    instance.exited = true;
                    out.push(Step::Exit(ProcessId(FIRST_PROCESS + index as u32)));
                }
                return;
            }
            let Some(step) = instance.steps.front() else {
                instance.pool.transaction(&mut instance.steps);
                continue;
            };
            if let TransactionStep::Read { extent, alone } = *step {
                if instance.in_flight >= READS || (instance.in_flight > 0 && (alone || instance.alone)) {
                    return;
                }
                let ahead = instance.in_flight > 0;
                instance.steps.pop_front();
                instance.in_flight += 1;
                instance.alone = alone;
                let (criticality, flags) = match ahead {
                    true => (Criticality::TimeLimited, Flags::READ_AHEAD),
                    false => (Criticality::TimeCritical, if alone { Flags::META } else { Flags::empty() }),
                };
                out.push(self.request(index, Op::Read, extent, criticality, flags));
                self.wake(index, now + NEXT_CALL);
                return;
            }
            // All other steps need the data of that read.
            if instance.in_flight > 0 {
                return;
            }
            if matches!(step, TransactionStep::Write(_) | TransactionStep::Metadata { .. })
                && self.dirty + self.writeback >= self.limit
            {
                instance.throttled = true;
                return;
            }
            match instance.steps.pop_front() {
                Some(TransactionStep::Write(dirty)) => {
                    self.dirty += dirty.extent.blocks;
                    self.chunks.push_back(Chunk::File { instance: index, dirty });
                    self.wake_flusher(now);
                }
                Some(TransactionStep::Metadata { extent }) => {
                    self.add_metadata(extent);
                    self.wake_flusher(now);
                }
                Some(TransactionStep::Forget { blocks }) => self.dirty -= blocks,
                Some(TransactionStep::Compute(time)) => {
                    self.wake(index, now + time.max(NEXT_CALL));
                    return;
                }
                Some(TransactionStep::Done) => self.transaction_done(now),
                Some(TransactionStep::Read { .. }) | None => {}
            }
        }
    }

    fn add_metadata(&mut self, extent: Extent) {
        self.dirty += extent.blocks;
        self.chunks.push_back(Chunk::Metadata(extent));
        if self.file_system == AllocationStyle::Extents {
            self.log_changes += 1;
            if self.log_changes == LOG_CHANGES {
                self.log_changes = 0;
                let record = Extent { first: self.log_first + self.log_at, blocks: LOG_RECORD };
                self.log_at = (self.log_at + LOG_RECORD) % LOG_BLOCKS;
                self.dirty += record.blocks;
                // A log record is written before the changes that it describes.
                self.chunks.push_front(Chunk::Metadata(record));
            }
        }
    }

    fn transaction_done(&mut self, now: Nanos) {
        self.done += 1;
        if self.done == self.warm_up {
            self.warm_at = now;
        }
        if self.done == self.warm_up + self.transactions {
            self.end_at = Some(now);
            (0..=self.flusher()).for_each(|i| self.wake(i, now));
        }
    }

    fn may_flush(&self) -> bool {
        self.end_at.is_none()
            && self.writes_in_flight < WRITES
            && (self.dirty > self.limit / 2 || self.current.is_some())
    }

    fn wake_flusher(&mut self, now: Nanos) {
        if self.may_flush() {
            self.wake(self.flusher(), now);
        }
    }

    /// Submits a batch of writes.
    fn flush(&mut self, now: Nanos, out: &mut Vec<Step>) {
        for _ in 0..BATCH {
            if !self.may_flush() {
                return;
            }
            let Some(extent) = self.current.take().or_else(|| self.next_chunk()) else { return };
            let most = match self.file_system {
                AllocationStyle::Extents => 128,
                AllocationStyle::Blocks => 4,
            };
            let piece = Extent { blocks: extent.blocks.min(most), ..extent };
            if extent.blocks > piece.blocks {
                let (first, blocks) = (extent.first + piece.blocks, extent.blocks - piece.blocks);
                self.current = Some(Extent { first, blocks });
            }
            self.dirty -= piece.blocks;
            self.writeback += piece.blocks;
            self.writes_in_flight += 1;
            out.push(self.request(self.flusher(), Op::Write, piece, Criticality::TimeNonCritical, Flags::empty()));
        }
        self.wake(self.flusher(), now + NEXT_CALL);
    }

    /// The oldest chunk that is still dirty.
    fn next_chunk(&mut self) -> Option<Extent> {
        while let Some(chunk) = self.chunks.pop_front() {
            match chunk {
                Chunk::Metadata(extent) => return Some(extent),
                Chunk::File { instance, dirty } => {
                    if self.instances[instance].pool.take(&dirty) {
                        return Some(dirty.extent);
                    }
                }
            }
        }
        None
    }

    fn index(&self, process: ProcessId) -> Option<usize> {
        let index = process.0.checked_sub(FIRST_PROCESS)? as usize;
        (index <= self.flusher()).then_some(index)
    }
}

impl Source for PostmarkSource {
    fn next_event(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(index) = self.agenda.take(now) {
            if index == self.flusher() { self.flush(now, out) } else { self.play(index, now, out) }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let (index, blocks) = ((handle.0 >> HANDLE_SHIFT) as usize, handle.0 & ((1 << HANDLE_SHIFT) - 1));
        if index < self.flusher() {
            let instance = &mut self.instances[index];
            instance.in_flight -= 1;
            instance.alone &= instance.in_flight > 0;
            self.wake(index, now);
            return;
        }
        self.writeback -= blocks;
        self.writes_in_flight -= 1;
        self.wake_flusher(now);
        if self.dirty + self.writeback < self.limit {
            for i in 0..self.instances.len() {
                if std::mem::take(&mut self.instances[i].throttled) {
                    self.wake(i, now);
                }
            }
        }
    }

    fn blocked(&mut self, process: ProcessId, _now: Nanos) {
        if let Some(index) = self.index(process) {
            self.sleeps[index].blocked = true;
            // Its pending action waits as well.
            self.sleeps[index].due = Some(Nanos::ZERO);
            self.agenda.set(index, None);
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(index) = self.index(process) {
            self.sleeps[index].blocked = false;
            if let Some(due) = self.sleeps[index].due.take() {
                self.agenda.set(index, Some(due.max(now)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postmark::AllocationStyle::{Blocks, Extents};

    fn spec(file_system: AllocationStyle) -> PostmarkSpec {
        PostmarkSpec {
            instances: 3,
            files: 60,
            directories: 6,
            aging: 100,
            warm_up: 20,
            transactions: 120,
            max_bytes: 1 << 20,
            dirty_bytes: 8 << 20,
            ..PostmarkSpec::carroll(file_system, 1 << 20)
        }
    }

    /// Runs on a device that takes `service` for each request, one at a time; (time, steps) of all it issued.
    fn play(source: &mut PostmarkSource, service: Nanos) -> Vec<(Nanos, Arrival)> {
        let (mut issued, mut waiting, mut out) = (Vec::new(), VecDeque::new(), Vec::new());
        let mut free = Nanos::ZERO;
        let mut exits = 0;
        loop {
            let next = waiting.front().map(|&(at, _)| at);
            let Some(now) = [source.next_event(), next].into_iter().flatten().min() else { break };
            if next == Some(now) {
                let (_, handle) = waiting.pop_front().unwrap();
                source.completed(handle, now);
            } else {
                source.advance(now, &mut out);
            }
            for step in out.drain(..) {
                match step {
                    Step::Request(arrival) => {
                        free = free.max(now) + service;
                        waiting.push_back((free, arrival.handle));
                        issued.push((now, arrival));
                    }
                    Step::Start { .. } => {}
                    Step::Exit(_) => exits += 1,
                    Step::Waits(_) => {}
                }
            }
            assert!(source.dirty + source.writeback < source.limit + 256 + 16, "a file above the limit at most");
        }
        assert_eq!(exits, source.instances.len());
        assert_eq!((source.writeback, source.writes_in_flight), (0, 0));
        issued
    }

    #[test]
    fn transactions_are_counted_after_the_warm_up() {
        let mut source = PostmarkSource::new(&spec(Extents), 1 << 20, 1).unwrap();
        let issued = play(&mut source, Nanos::from_millis(1));
        let stats = source.stats();
        assert_eq!(stats.transactions, 120);
        assert!(stats.elapsed_s > 0.0 && stats.per_instance(3) > 0.0);
        // Twice as slow, the times differ and the transactions are as many.
        let mut slow = PostmarkSource::new(&spec(Extents), 1 << 20, 1).unwrap();
        play(&mut slow, Nanos::from_millis(2));
        assert!(slow.stats().elapsed_s > 1.5 * stats.elapsed_s);
        assert!(issued.iter().any(|(_, a)| a.op == Op::Write) && issued.iter().any(|(_, a)| a.op == Op::Read));
    }

    #[test]
    fn blocks_are_written_page_by_page_and_extents_in_large_pieces() {
        let largest = |file_system| {
            let mut source = PostmarkSource::new(&spec(file_system), 1 << 20, 1).unwrap();
            let issued = play(&mut source, Nanos::from_millis(1));
            let writes = issued.iter().filter(|(_, a)| a.op == Op::Write);
            assert!(issued.iter().all(|(_, a)| a.lba.0 + u64::from(a.sectors.0) <= 1 << 20));
            writes.map(|(_, a)| a.sectors.0).max().unwrap()
        };
        assert_eq!((largest(Extents), largest(Blocks)), (1024, 32));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = PostmarkSource::new(&spec(Extents), 100_000, 1).unwrap_err().to_string();
        assert!(error.contains("files: got 60 of 512 to 1048576 bytes, expected files that fit"), "{error}");
        let none = PostmarkSpec { instances: 0, ..spec(Extents) };
        assert!(PostmarkSource::new(&none, 1 << 20, 1).unwrap_err().to_string().contains("instances: got 0"));
    }
}
