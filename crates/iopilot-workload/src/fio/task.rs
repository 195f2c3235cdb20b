//! [`FioTask`]: one clone of a job, as a state machine of fio's main loop.
//!
//! The loop takes a slot and issues a request. With all slots taken, it reaps completions down to `iodepth_low`. Then it
//! thinks, and starts again. Before a pause for the rate or to think, it waits for all requests in flight, as in fio.

mod issue;

use super::cursor::{Cursor, RandomStreams};
use super::job::{FioEngine, FioJob, READ, TRIM, WRITE};
use super::layout::FileRegion;
use super::pace::Pace;
use super::permutation::mix;
use super::value::Amount;
use crate::{Arrival, SourceHandle, Step};
use iopilot_block::{Nanos, ProcessId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// Separate system calls have distinct times. The machine adds the host's real overhead.
const NEXT_CALL: Nanos = Nanos(1);

/// The first process; the clones of all jobs are numbered from here in the order of the file.
pub(super) const FIRST_PROCESS: u32 = 1000;
/// A handle is the process' index above this bit, and the process' own count of requests below it.
pub(super) const HANDLE_SHIFT: u32 = 40;
/// The bit of a handle that marks a flush.
const FLUSH: u64 = 1;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// At the top of the loop; a direction is set after a wait for its rate.
    Issue(Option<usize>),
    /// A request has been queued or submitted.
    Fill,
    /// All slots are taken.
    Reap,
    /// The requests of this round have been reaped.
    Think,
    /// Waits for everything in flight, then sleeps.
    Quiesce(Sleep),
    /// Sleeps until then.
    Asleep(Nanos, Sleep),
    /// Waits for a flush.
    Flush,
    /// The pass is over: waits for everything in flight.
    Drain,
    /// Waits for the flush at the end of a pass.
    EndFlush,
    /// Another pass, or the end.
    PassEnd,
}

/// What a task sleeps for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sleep {
    Think,
    /// Until the rate lets this direction issue.
    Rate(Nanos, usize),
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FioWait {
    /// A time.
    Until(Nanos),
    /// A completion.
    Completion,
    /// Nothing: it has exited.
    Exited,
}

/// One process of a job.
#[derive(Clone, Debug)]
pub(super) struct FioTask {
    pub(super) job: Arc<FioJob>,
    process: ProcessId,
    cpu: u16,
    seed: u64,
    random: RandomStreams,
    phase: Phase,
    epoch: Nanos,
    terminated: bool,

    files: Vec<Cursor>,
    file: usize,
    /// Requests left to the current file.
    file_left: u64,
    /// Requests left until the next random offset.
    offset_left: u64,

    depth: u64,
    batch_size: u64,
    complete_min: u64,
    complete_max: u64,
    low: u64,
    /// Slots taken: queued, in flight, or completed but not reaped.
    taken: u64,
    in_flight: u64,
    unreaped: u64,
    flushing: bool,
    queued: Vec<Arrival>,
    serial: u64,

    /// Bytes of a pass, and of all passes.
    size: u64,
    limit: u64,
    /// Bytes issued in this pass and in all, and whether the pass ended because its files did.
    pass_bytes: u64,
    bytes: u64,
    files_ended: bool,
    issues: [u64; 3],
    wrote_last: bool,
    written_since_flush: bool,
    loops_left: u64,
    reaped_blocks: u64,

    pace: Option<Pace>,
    /// The count of requests, and the time, when the task last thought.
    thought_at_blocks: u64,
    thought_at: Nanos,
    last_direction: usize,
}

impl FioTask {
    /// The `clone`-th process of `job`, number `index` of all; `seed` is the run's. `None` if it has no block to work on.
    pub(super) fn new(job: &Arc<FioJob>, index: usize, clone: u64, places: &[FileRegion], seed: u64) -> Option<Self> {
        let seed = mix(mix(seed ^ mix(job.randseed)).wrapping_add(index as u64));
        let files: Vec<_> = places.iter().zip(0..).map(|(&place, n)| Cursor::new(job, place, mix(seed ^ n))).collect();
        if files.iter().any(|file| file.is_impossible(job)) {
            return None;
        }
        let depth = job.depth();
        let batch_size = if job.batch == 0 || job.batch > depth { depth } else { job.batch };
        let size = match job.size {
            // With `filesize`, `size` is the amount alone.
            Some(Amount::Bytes(size)) if job.filesize.is_some() => size,
            _ => places.iter().map(|p| p.io_size).sum(),
        };
        let limit = match job.io_size {
            None => size,
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Percent(p)) => (u128::from(size) * u128::from(p) / 100) as u64,
        };
        let cpu = match job.cpus.as_slice() {
            [] => index as u16,
            // With the shared policy the kernel may choose, and it spreads the processes.
            cpus => cpus[(if job.cpus_split { clone } else { index as u64 } % cpus.len() as u64) as usize],
        };
        Some(Self {
            process: ProcessId(FIRST_PROCESS + index as u32),
            cpu,
            seed,
            random: streams(seed),
            phase: Phase::Issue(None),
            epoch: Nanos::ZERO,
            terminated: false,
            files,
            file: 0,
            file_left: job.per_file,
            offset_left: job.per_offset,
            depth,
            batch_size,
            complete_min: job.complete_min.min(depth),
            complete_max: if job.complete_max == 0 && job.complete_min == 0 { depth } else { job.complete_max },
            low: if job.low == 0 || job.low > depth { depth } else { job.low },
            taken: 0,
            in_flight: 0,
            unreaped: 0,
            flushing: false,
            queued: Vec::with_capacity(batch_size as usize),
            serial: 0,
            size,
            limit,
            pass_bytes: 0,
            bytes: 0,
            files_ended: false,
            issues: [0; 3],
            wrote_last: false,
            written_since_flush: false,
            loops_left: job.loops - 1,
            reaped_blocks: 0,
            pace: Pace::new(job),
            thought_at_blocks: 0,
            thought_at: Nanos::ZERO,
            last_direction: READ,
            job: Arc::clone(job),
        })
    }

    pub(super) fn process(&self) -> ProcessId {
        self.process
    }

    /// A delay within `startdelay`, from the start of the run.
    pub(super) fn start_delay(&mut self) -> Nanos {
        let (low, high) = self.job.start_delay;
        if low == high { low } else { Nanos(self.random.other.random_range(low.0..=high.0)) }
    }

    /// Starts the clocks of the job.
    pub(super) fn start(&mut self, now: Nanos) {
        (self.epoch, self.thought_at) = (now, now);
    }

    /// Issues no more requests; it exits when those in flight are done.
    pub(super) fn terminate(&mut self) {
        self.terminated = true;
    }

    /// One of its requests has completed.
    pub(super) fn completed(&mut self, handle: SourceHandle) {
        self.in_flight -= 1;
        if handle.0 & FLUSH == 0 || self.job.engine == FioEngine::AsyncFlush {
            self.unreaped += 1;
        }
        if handle.0 & FLUSH != 0 {
            self.flushing = false;
        } else {
            self.reaped_blocks += 1;
        }
    }

    /// Runs until it has to wait, and submits one batch at most. Appends its steps to `out`.
    pub(super) fn run(&mut self, now: Nanos, out: &mut Vec<Step>) -> FioWait {
        let mut submitted = false;
        loop {
            match self.phase {
                Phase::Issue(_) if submitted => return FioWait::Until(now + NEXT_CALL),
                Phase::Issue(_) if self.is_over(now) => self.phase = Phase::Drain,
                Phase::Issue(direction) => submitted |= self.issue(direction, now, out),
                Phase::Fill if self.taken >= self.depth => self.phase = Phase::Reap,
                Phase::Fill => {
                    if self.complete_min == 0 {
                        self.reap(u64::MAX);
                    }
                    self.phase = Phase::Think;
                }
                Phase::Reap => {
                    submitted |= self.submit(out);
                    let least = self.complete_min.min(self.taken).max(1);
                    if self.unreaped < least {
                        return FioWait::Completion;
                    }
                    self.reap(self.complete_max.max(least));
                    if self.taken <= self.low {
                        self.phase = Phase::Think;
                    }
                }
                Phase::Think => {
                    self.phase = if self.shall_think(now) { Phase::Quiesce(Sleep::Think) } else { Phase::Issue(None) };
                }
                Phase::Quiesce(sleep) => {
                    submitted |= self.submit(out);
                    if self.in_flight > 0 {
                        return FioWait::Completion;
                    }
                    self.reap(u64::MAX);
                    let wake = match sleep {
                        Sleep::Think => now.saturating_add(self.job.thinktime.max(self.job.thinktime_spin)),
                        Sleep::Rate(at, _) => at,
                    };
                    if sleep == Sleep::Think {
                        self.forgive(now, wake);
                    }
                    self.phase = Phase::Asleep(self.end().map_or(wake, |end| wake.min(end)), sleep);
                }
                Phase::Asleep(wake, _) if now < wake && !self.terminated => return FioWait::Until(wake),
                Phase::Asleep(_, Sleep::Think) => {
                    self.thought_at = now;
                    self.phase = Phase::Issue(None);
                }
                Phase::Asleep(_, Sleep::Rate(_, direction)) => self.phase = Phase::Issue(Some(direction)),
                Phase::Flush if self.flushing => return FioWait::Completion,
                Phase::Flush => self.phase = Phase::Issue(None),
                Phase::Drain => {
                    submitted |= self.submit(out);
                    if self.in_flight > 0 {
                        return FioWait::Completion;
                    }
                    self.reap(u64::MAX);
                    if self.job.end_fsync && self.written_since_flush {
                        self.queue_flush();
                        self.submit(out);
                        self.phase = Phase::EndFlush;
                    } else {
                        self.phase = Phase::PassEnd;
                    }
                }
                Phase::EndFlush if self.flushing => return FioWait::Completion,
                Phase::EndFlush => {
                    self.reap(u64::MAX);
                    self.phase = Phase::PassEnd;
                }
                Phase::PassEnd => {
                    if self.has_another_pass(now) {
                        self.new_pass();
                        continue;
                    }
                    out.push(Step::Exit(self.process));
                    return FioWait::Exited;
                }
            }
        }
    }

    /// When the job's time is up.
    fn end(&self) -> Option<Nanos> {
        self.job.runtime.map(|runtime| self.epoch.saturating_add(self.job.ramp).saturating_add(runtime))
    }

    fn is_over(&self, now: Nanos) -> bool {
        let job = &self.job;
        if self.terminated || self.end().is_some_and(|end| now >= end) || self.has_issued_enough() {
            return true;
        }
        if job.time_based {
            return false;
        }
        // A pass of a mixed sequential job, and of a random writer without a map, may exceed `size`.
        let whole =
            if job.pattern.random { job.pattern.used[WRITE] && !job.uses_map() } else { job.pattern.is_mixed() };
        let pass = if whole { self.size.max(self.limit) } else { self.size };
        self.pass_bytes >= pass || self.bytes >= self.limit.saturating_mul(job.loops)
    }

    fn has_issued_enough(&self) -> bool {
        self.job.number_ios.is_some_and(|n| self.issues.iter().sum::<u64>() >= n.saturating_mul(self.job.loops))
    }

    fn reap(&mut self, most: u64) {
        let n = self.unreaped.min(most);
        self.unreaped -= n;
        self.taken -= n;
    }

    fn shall_think(&mut self, now: Nanos) -> bool {
        let job = &self.job;
        if job.thinktime == Nanos::ZERO {
            return false;
        }
        let blocks = if job.thinktime_issue { self.issues.iter().sum() } else { self.reaped_blocks };
        let by_time = job.thinktime_iotime > Nanos::ZERO;
        // The default of one block is ignored if a time is given.
        let every = job.thinktime_blocks.unwrap_or(if by_time { u64::MAX } else { 1 });
        let due = (by_time && now.since(self.thought_at) >= job.thinktime_iotime)
            || blocks.saturating_sub(self.thought_at_blocks) >= every;
        if due {
            self.thought_at_blocks = blocks;
        }
        due
    }

    fn forgive(&mut self, now: Nanos, wake: Nanos) {
        if self.job.rate_ignores_thinktime {
            if let Some(pace) = &mut self.pace {
                pace.forgive(self.last_direction, wake.since(now));
            }
        }
    }

    fn has_another_pass(&mut self, now: Nanos) -> bool {
        if self.terminated
            || self.end().is_some_and(|end| now >= end)
            || self.pass_bytes == 0
            || self.has_issued_enough()
        {
            return false;
        }
        if self.job.time_based {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
            return true;
        }
        // Bytes are left to issue: `io_size` exceeds `size`, or blocks of different sizes did not fill it. Less than the
        // largest block is ignored.
        let left = self.limit.saturating_sub(self.bytes);
        left > 0 && left >= self.job.max_block() && !(self.files_ended && self.job.io_size.is_none())
    }

    fn new_pass(&mut self) {
        self.pass_bytes = 0;
        self.files_ended = false;
        self.files.iter_mut().for_each(Cursor::rewind);
        // fio 3.33 repeats the random numbers in each pass, but not without a random map.
        if self.job.randrepeat && self.job.random_map {
            self.random = streams(self.seed);
        }
        (self.file, self.file_left) = (0, self.job.per_file);
        self.phase = Phase::Issue(None);
    }
}

fn streams(seed: u64) -> RandomStreams {
    let stream = |n: u64| Pcg64Mcg::seed_from_u64(mix(seed ^ mix(n)));
    RandomStreams { offset: stream(1), length: stream(2), direction: stream(3), other: stream(4) }
}

// Trims need no code of their own here, only an index in the arrays of directions.
const _: () = assert!(TRIM == 2);
