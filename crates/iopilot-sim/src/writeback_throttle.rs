//! [`WritebackThrottle`]: `wbt` (`block/blk-wbt.c`, Linux 6.12 to 6.18), which limits write-back to protect reads.
//!
//! A write for which no process waits, or a discard, needs one of a few places before it takes a tag. Its submitter sleeps for a
//! place, in order. Every tenth of a second, the fastest read is compared with the target `wbt_lat_usec`. If it was slower, the
//! places are halved, and the next window is shorter. If not, the places are doubled, up to three quarters of the queue. They
//! are also doubled while there are only writes. Discards have a quarter of the places. Sleepers are woken when half are free.
//!
//! The kernel knows two things that a trace does not: whether tasks that dirty pages were slowed down within the last second
//! (`wb_recent_wait`), and which synchronous writes come from `fsync`. The model assumes that tasks were slowed down. If they
//! were not, the kernel gives write-back half of the places, or a quarter close to a read, and a device with a write cache frees
//! none before all are free. But then so little write-back is in flight that it matters less. The model throttles no
//! synchronous write.

use iopilot_block::{Flags, Nanos, Op, Request, RequestId};
use std::collections::VecDeque;

/// `RWB_DEF_DEPTH`.
const PLACES: u32 = 16;
/// `RWB_WINDOW_NSEC`.
const WINDOW: Nanos = Nanos::from_millis(100);
/// `RWB_MIN_WRITE_SAMPLES`.
const FEWEST_WRITES: u32 = 3;
/// `RWB_UNKNOWN_BUMP`.
const UNKNOWN_WINDOWS: u32 = 5;
/// The completions of one direction in a window.
#[derive(Clone, Copy, Debug)]
struct Seen {
    least: Nanos,
    count: u32,
}

const NOTHING: Seen = Seen { least: Nanos::MAX, count: 0 };

/// The result of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Exceeded,
    OnlyWrites,
    Unknown,
}

/// The kinds of requests that need a place: writes and discards.
const KINDS: usize = 2;

/// Write-back throttling of one request queue.
#[derive(Clone, Debug)]
pub(crate) struct WritebackThrottle {
    /// The target latency of reads; 0 if throttling is off.
    target: Nanos,
    queue_depth: u32,
    step: i32,
    step_is_last: bool,
    most: u32,
    normal: u32,
    background: u32,
    in_flight: [u32; KINDS],
    asleep: [VecDeque<RequestId>; KINDS],
    /// By the index of a request: 0 if it has no place, or 1 plus the kind of its place.
    holds: Vec<u8>,
    /// The watched read, which is the first one issued while none was watched, and when it was issued.
    watched: Option<(RequestId, Nanos)>,
    seen: [Seen; 2],
    window: Nanos,
    ends: Option<Nanos>,
    unknown: u32,
}

impl WritebackThrottle {
    /// An idle throttle for a device with a queue of `queue_depth`. A target of 0 turns it off.
    pub(crate) fn new(target: Nanos, queue_depth: u32) -> Self {
        let mut throttle = Self {
            target,
            queue_depth,
            step: 0,
            step_is_last: false,
            most: 0,
            normal: 0,
            background: 0,
            in_flight: [0; KINDS],
            asleep: Default::default(),
            holds: Vec::new(),
            watched: None,
            seen: [NOTHING; 2],
            window: WINDOW,
            ends: None,
            unknown: 0,
        };
        throttle.count_places();
        throttle
    }

    /// The end of the window, if one is open.
    pub(crate) fn next_timer(&self) -> Option<Nanos> {
        self.ends
    }

    /// Whether `rq` needs a place, and of which kind.
    fn kind(&self, rq: &Request) -> Option<usize> {
        match rq.op {
            _ if self.target == Nanos::ZERO => None,
            Op::Write if !rq.flags.intersects(Flags::SYNC | Flags::FUA | Flags::PREFLUSH) => Some(0),
            Op::Discard => Some(1),
            _ => None,
        }
    }

    /// Takes a place for a submitted request, if it needs one. False if none is free: its submitter then sleeps here.
    pub(crate) fn admit(&mut self, id: RequestId, rq: &Request, now: Nanos) -> bool {
        let Some(kind) = self.kind(rq) else { return true };
        let admitted = self.asleep[kind].is_empty() && self.take(kind, id);
        if !admitted {
            self.asleep[kind].push_back(id);
        }
        if self.ends.is_none() {
            self.open_window(now);
        }
        admitted
    }

    fn take(&mut self, kind: usize, id: RequestId) -> bool {
        let limit = if kind == 0 { self.most } else { self.background };
        if self.in_flight[kind] >= limit {
            return false;
        }
        self.in_flight[kind] += 1;
        if id.index() >= self.holds.len() {
            self.holds.resize(id.index() + 1, 0);
        }
        self.holds[id.index()] = kind as u8 + 1;
        true
    }

    /// `id` has been sent to the device.
    #[inline]
    pub(crate) fn issued(&mut self, id: RequestId, rq: &Request, now: Nanos) {
        if rq.op == Op::Read && self.watched.is_none() && self.target > Nanos::ZERO {
            self.watched = Some((id, now));
        }
    }

    /// The device has finished `id`.
    #[inline]
    pub(crate) fn served(&mut self, id: RequestId, rq: &Request, now: Nanos) {
        if self.target == Nanos::ZERO || rq.op == Op::Flush {
            return;
        }
        if self.ends.is_some() {
            let seen = &mut self.seen[usize::from(rq.op != Op::Read)];
            seen.least = seen.least.min(now.since(rq.issued));
            seen.count += 1;
        }
        if rq.op == Op::Read {
            self.watched.take_if(|(watched, _)| *watched == id);
        }
    }

    /// `id` is complete, or was merged into another request. Appends the sleepers that now have a place to `woken`.
    pub(crate) fn released(&mut self, id: RequestId, woken: &mut Vec<RequestId>) {
        let Some(held) = self.holds.get_mut(id.index()).map(std::mem::take).filter(|held| *held > 0) else { return };
        let kind = usize::from(held) - 1;
        self.in_flight[kind] -= 1;
        let in_flight = self.in_flight[kind];
        let limit = if kind == 0 { self.normal } else { self.background };
        if in_flight > 0 && (in_flight >= limit || limit - in_flight < self.background / 2) {
            return;
        }
        self.wake(kind, woken);
    }

    /// Gives free places to sleepers, in order.
    fn wake(&mut self, kind: usize, woken: &mut Vec<RequestId>) {
        while let Some(&id) = self.asleep[kind].front() {
            if !self.take(kind, id) {
                return;
            }
            self.asleep[kind].pop_front();
            woken.push(id);
        }
    }

    /// Replaces the throttle at a change of scheduler. All sleepers continue without a place (`rwb_wake_all`).
    pub(crate) fn replaced(mut self, by: Self, woken: &mut Vec<RequestId>) -> Self {
        woken.extend(self.asleep.iter_mut().flat_map(|asleep| asleep.drain(..)));
        by
    }

    fn open_window(&mut self, now: Nanos) {
        self.window = match self.step {
            step if step > 0 => {
                let root = f64::from((step as u32 + 1) << 8).sqrt() as u64;
                Nanos((WINDOW.0 << 4) / root.max(1))
            }
            _ => WINDOW,
        };
        self.seen = [NOTHING; 2];
        self.ends = Some(now + self.window);
    }

    /// Closes the windows that have ended by now. There is more than one only if the queue was empty meanwhile.
    pub(crate) fn timer(&mut self, now: Nanos, woken: &mut Vec<RequestId>) {
        while let Some(end) = self.ends.take_if(|at| *at <= now) {
            self.close_window(end, woken);
        }
    }

    fn close_window(&mut self, now: Nanos, woken: &mut Vec<RequestId>) {
        let step = self.step;
        let verdict = self.judge(now);
        match verdict {
            Verdict::Exceeded => self.scale_down(true),
            Verdict::Good | Verdict::OnlyWrites => self.scale_up(woken),
            Verdict::Unknown => {
                self.unknown += 1;
                if self.unknown >= UNKNOWN_WINDOWS {
                    match self.step {
                        step if step > 0 => self.scale_up(woken),
                        step if step < 0 => self.scale_down(false),
                        _ => {}
                    }
                }
            }
        }
        // Unlike the kernel, this stops if a queue of two cannot return to the centre.
        let settled = verdict == Verdict::Unknown && self.unknown >= UNKNOWN_WINDOWS && step == self.step;
        if self.step != 0 && !settled || self.in_flight != [0; KINDS] {
            self.open_window(now);
        }
    }

    /// `latency_exceeded`
    fn judge(&self, now: Nanos) -> Verdict {
        let [reads, writes] = self.seen;
        let waits = self.watched.map_or(Nanos::ZERO, |(_, since)| now.since(since));
        if waits > self.window || waits > self.target && reads.count == 0 {
            return Verdict::Exceeded;
        }
        if reads.count == 0 || writes.count < FEWEST_WRITES {
            let writing = writes.count > 0 || self.in_flight != [0; KINDS];
            return if writing { Verdict::OnlyWrites } else { Verdict::Unknown };
        }
        if reads.least > self.target { Verdict::Exceeded } else { Verdict::Good }
    }

    fn scale_up(&mut self, woken: &mut Vec<RequestId>) {
        if self.step_is_last {
            return;
        }
        self.step -= 1;
        self.count_places();
        self.unknown = 0;
        for kind in 0..KINDS {
            self.wake(kind, woken);
        }
    }

    fn scale_down(&mut self, hard: bool) {
        if self.most == 1 {
            return;
        }
        self.step = if self.step < 0 && hard { 0 } else { self.step + 1 };
        self.count_places();
        self.unknown = 0;
    }

    /// `rq_depth_calc_max_depth` and `calc_wb_limits`
    fn count_places(&mut self) {
        self.step_is_last = false;
        if self.queue_depth == 1 {
            self.step_is_last = self.step <= 0;
            self.most = if self.step > 0 { 1 } else { 2 };
        } else {
            let depth = PLACES.min(self.queue_depth);
            self.most = match self.step {
                step if step > 0 => 1 + ((depth - 1) >> step.min(31)),
                0 => depth,
                step => {
                    let limit = 3 * self.queue_depth / 4;
                    let wanted = 1 + (u64::from(depth - 1) << step.unsigned_abs().min(31));
                    self.step_is_last = wanted > u64::from(limit);
                    wanted.min(limit.into()) as u32
                }
            };
        }
        (self.normal, self.background) =
            if self.most <= 2 { (self.most, 1) } else { (self.most.div_ceil(2), self.most.div_ceil(4)) };
    }
}

#[cfg(test)]
mod tests;
