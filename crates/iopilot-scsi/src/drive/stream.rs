//! [`MediaStream`]: one access of the medium along the tracks, out of order where the drive can do that.
//!
//! There are no events for single sectors. A stream knows when each block of its current run passes, and is brought
//! up to date on demand.

use super::gate::Gate;
use iopilot_device::{Arm, Mechanics, Track};

/// In which order the sectors of a track are accessed, and which extra ones are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SectorOrder {
    /// In the order in which they pass.
    pub(super) immediate: bool,
    /// The same where an access begins within a track.
    pub(super) free: bool,
    /// Sectors that pass before the first requested one are kept.
    pub(super) keep: bool,
}

/// Where an access ends that goes beyond the requested blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stay {
    /// At its limit.
    Anywhere,
    /// At the end of its track.
    Track,
    /// At the end of its cylinder.
    Cylinder,
}

impl Stay {
    /// Whether the access may go on from `from` to `to`.
    pub(super) fn allows(self, from: Arm, to: Arm) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Track => from == to,
            Self::Cylinder => from.cylinder == to.cylinder,
        }
    }
}

/// Consecutive blocks that pass one after another.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u64,
    /// How many blocks, and how many there were before a gate cut the run.
    count: u64,
    whole: u64,
    /// When the first begins to pass; infinite if the gate opens at an unknown time.
    start: f64,
}

#[derive(Clone, Debug)]
pub(super) struct MediaStream {
    /// The segment it fills or empties.
    pub(super) segment: usize,
    pub(super) write: bool,
    /// The first block that is not done, in order.
    pub(super) next: u64,
    /// It ends before this block.
    pub(super) limit: u64,
    /// Blocks from here on are read ahead: no request asked for them.
    pub(super) asked: u64,
    stay: Stay,
    /// When the arm came, or comes, to rest on the track.
    pub(super) settled: f64,
    track: Track,
    /// The time in which a sector passes.
    width: f64,
    /// How long after a sector begins to pass the gate may still open for it.
    late: f64,
    direct: bool,
    order: SectorOrder,
    /// When `next` became the next block.
    at: f64,
    run: Run,
    /// It was not known on arrival whether sectors could be accessed out of order.
    unsure: bool,
    /// The blocks that are done, or in progress, out of order.
    beyond: Option<(u64, u64)>,
    /// When the first sector, requested or not, began to pass after the arm had come to rest.
    rolling: f64,
}

/// The parameters of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaAccess {
    pub(super) segment: usize,
    pub(super) write: bool,
    pub(super) first: u64,
    pub(super) limit: u64,
    pub(super) asked: u64,
    pub(super) stay: Stay,
    pub(super) order: SectorOrder,
    /// The gate decides about a sector when it begins to pass, not when it ends.
    pub(super) direct: bool,
}

impl MediaStream {
    /// Moves `arm` at `begin`; the movement takes at least `least`.
    pub(super) fn start(m: &Mechanics, gate: &Gate, access: MediaAccess, arm: Arm, begin: f64, least: f64) -> Self {
        let track = m.geometry.track_of(access.first);
        let settled = begin + m.move_time(arm, &track, access.write).max(least);
        let width = m.sector_time(&track);
        let mut stream = Self {
            segment: access.segment,
            write: access.write,
            next: access.first,
            limit: access.limit,
            asked: access.asked,
            stay: access.stay,
            settled,
            track,
            width,
            late: if access.direct { 0.0 } else { width },
            direct: access.direct,
            order: access.order,
            at: settled,
            run: Run { start: f64::INFINITY, ..Run::default() },
            unsure: false,
            beyond: None,
            rolling: settled,
        };
        stream.arrive(m, gate);
        stream.order.keep = false;
        stream
    }

    pub(super) fn arm(&self) -> Arm {
        Arm { cylinder: self.track.cylinder, head: self.track.head }
    }

    pub(super) fn finished(&self) -> bool {
        self.next >= self.limit
    }

    /// The time of its last progress.
    pub(super) fn at(&self) -> f64 {
        self.at
    }

    /// When the first block of the current run begins to pass; infinite if that is not known.
    pub(super) fn run_start(&self) -> f64 {
        self.run.start
    }

    /// When the current run ends: what follows is not known yet, or the stream ends.
    pub(super) fn next_time(&self) -> f64 {
        self.run.start + self.run.count as f64 * self.width
    }

    /// When `block` is done, in order: `None` if that is not known yet, 0 if it is in the past.
    pub(super) fn time_of(&self, block: u64) -> Option<f64> {
        let end = self.run.first + self.run.count;
        if block < self.next {
            Some(0.0)
        } else if self.run.start == f64::INFINITY {
            None
        } else if block < end {
            Some(self.run.start + (block - self.run.first + 1) as f64 * self.width)
        } else {
            self.beyond.filter(|&(low, high)| low == end && block < high).map(|_| self.next_time())
        }
    }

    /// The run of blocks from `first` on that pass without a gap: their number, when the first is done, and the time
    /// from one to the next. `None` if nothing is known.
    pub(super) fn gapless_from(&self, first: u64) -> Option<(u64, f64, f64)> {
        let end = self.run.first + self.run.count;
        if self.run.start == f64::INFINITY || first < self.run.first || first >= end {
            return None;
        }
        let at = self.run.start + (first - self.run.first + 1) as f64 * self.width;
        Some((end - first, at, self.width))
    }

    /// Brings it up to time `t`.
    pub(super) fn sync(&mut self, m: &Mechanics, gate: &Gate, t: f64) {
        self.reopen(m, gate, t);
        while self.next < self.limit && self.run.start < f64::INFINITY {
            let end = self.next_time();
            if t < end {
                let passed = ((t - self.run.start + 1.0) / self.width) as u64;
                self.next = self.next.max(self.run.first + passed.min(self.run.count));
                return;
            }
            self.next = self.run.first + self.run.count;
            self.at = end;
            if let Some((_, high)) = self.beyond.filter(|&(low, _)| low == self.next) {
                self.next = high;
                self.beyond = None;
            }
            if self.next >= self.limit {
                return;
            }
            if self.next < self.track.end() && self.next >= self.track.first {
                self.proceed(m, gate, self.at);
            } else {
                self.switch(m, gate);
            }
        }
    }

    /// Extends the stream to `limit`, if that is farther; `t` is the moment of the decision.
    pub(super) fn extend(&mut self, m: &Mechanics, gate: &Gate, limit: u64, t: f64) {
        if limit <= self.limit {
            return;
        }
        self.limit = limit;
        if self.run.start < f64::INFINITY {
            self.run.whole = self.run_end() - self.run.first;
            self.run.count = self.run.count.max(self.passing(gate));
        }
        self.reopen(m, gate, t);
    }

    /// Whether the arm is moving at `t`, or a sector is partly past.
    pub(super) fn busy(&self, t: f64) -> bool {
        t < self.settled || self.boundary(t) > t + 1.0
    }

    /// Ends the stream at `t` and returns from when on the arm is free. The sector that is just passing is lost.
    pub(super) fn stop(&mut self, m: &Mechanics, gate: &Gate, t: f64, in_sector: bool) -> f64 {
        if t < self.settled {
            return self.settled;
        }
        self.sync(m, gate, t);
        if in_sector { t } else { self.boundary(t) }
    }

    /// The end of the sector that passes at `t`, or of the wait for the first one.
    pub(super) fn boundary(&self, t: f64) -> f64 {
        if t <= self.rolling {
            return self.rolling;
        }
        let passed = (t - self.rolling - 1.0) / self.width;
        self.rolling + passed.ceil().max(0.0) * self.width
    }

    /// Accounts for a gate that has opened further, at `t`.
    fn reopen(&mut self, m: &Mechanics, gate: &Gate, t: f64) {
        if self.unsure && t < self.run.start {
            return self.land(m, gate, self.settled.max(t));
        }
        if self.run.start == f64::INFINITY {
            if self.next < self.limit {
                self.proceed(m, gate, self.at.max(t));
            }
        } else if self.run.count < self.run.whole {
            self.run.count = self.run.count.max(self.passing(gate));
        }
    }

    fn passing(&self, gate: &Gate) -> u64 {
        gate.passing(self.run.first, self.run.whole, self.run.start, self.width, self.late)
    }

    /// The end of the blocks that can pass in order without another decision.
    fn run_end(&self) -> u64 {
        let end = self.limit.min(self.track.end());
        self.beyond.map_or(end, |(low, _)| end.min(low))
    }

    /// Waits on the track, from `from` on, for the next block.
    fn proceed(&mut self, m: &Mechanics, gate: &Gate, from: f64) {
        let ready = from.max(gate.time(self.next) - self.late);
        self.run = Run { first: self.next, count: 0, whole: self.run_end() - self.next, start: f64::INFINITY };
        if ready < f64::INFINITY {
            self.run.start = ready + m.latency(ready, self.track.angle_of(self.next));
            self.run.count = self.passing(gate).max(1);
        }
    }

    /// Moves to the track of the next block, unless read-ahead must stay.
    fn switch(&mut self, m: &Mechanics, gate: &Gate) {
        let from = self.arm();
        let track = if self.next == self.track.end() {
            m.geometry.next_track(&self.track).unwrap_or_else(|| m.geometry.track_of(self.next))
        } else {
            m.geometry.track_of(self.next)
        };
        if self.next >= self.asked && !self.stay.allows(from, Arm { cylinder: track.cylinder, head: track.head }) {
            self.limit = self.next;
            return;
        }
        self.track = track;
        self.width = m.sector_time(&self.track);
        self.late = if self.direct { 0.0 } else { self.width };
        if from == self.arm() {
            return self.proceed(m, gate, self.at);
        }
        self.settled = self.at + m.move_time(from, &self.track, self.write);
        self.arrive(m, gate);
    }

    /// The head has come onto the track.
    fn arrive(&mut self, m: &Mechanics, gate: &Gate) {
        self.beyond = None;
        self.land(m, gate, self.settled);
    }

    /// Chooses the first sector to access on a track over which the head has just settled.
    fn land(&mut self, m: &Mechanics, gate: &Gate, from: f64) {
        let bounds = m.geometry.bounds(&self.track);
        let within = self.next > bounds.start;
        let mut landed = None;
        self.unsure = false;
        if self.order.immediate || (self.order.free && within) {
            let (landing, track) = self.landing(m, from, bounds.start, bounds.end);
            // A landing before the first requested block means waiting for that block.
            if landing > self.next {
                landed = Some(from + m.latency(from, track.angle_of(landing)));
                let wanted = if self.next < self.asked { self.asked } else { self.limit };
                let end = wanted.min(self.limit).min(bounds.end);
                let open = gate.time(self.next) <= from && gate.time(end - 1) <= from;
                if landing < end {
                    self.unsure = !open;
                    self.beyond = open.then_some((landing, end));
                }
                if self.order.keep && within && open {
                    self.begin_at(m, bounds.start);
                }
            }
        }
        self.proceed(m, gate, from);
        let first = Some(self.run.start).filter(|start| *start < f64::INFINITY);
        self.rolling = landed.or(first).unwrap_or(from);
    }

    /// Begins with `block` of this track instead of `next`.
    fn begin_at(&mut self, m: &Mechanics, block: u64) {
        let track = m.geometry.track_of(block);
        if (track.cylinder, track.head) == (self.track.cylinder, self.track.head) {
            (self.next, self.track) = (block, track);
            self.width = m.sector_time(&track);
        }
    }

    /// The block of this physical track, from `first` to before `end`, that begins to pass next after `from`, and the
    /// part of the track it is on.
    fn landing(&self, m: &Mechanics, from: f64, first: u64, end: u64) -> (u64, Track) {
        if self.track.first == first && self.track.end() == end {
            return (self.landing_on(m, from, &self.track), self.track);
        }
        // Slips and remapped sectors cut the track: look at each part of it.
        let (mut best, mut wait, mut block) = ((self.next, self.track), f64::INFINITY, first);
        while block < end {
            let part = m.geometry.track_of(block);
            if (part.cylinder, part.head) == (self.track.cylinder, self.track.head) {
                let candidate = self.landing_on(m, from, &part);
                let latency = m.latency(from, part.angle_of(candidate));
                if latency < wait {
                    (best, wait) = ((candidate, part), latency);
                }
            }
            block = part.end();
        }
        best
    }

    fn landing_on(&self, m: &Mechanics, from: f64, track: &Track) -> u64 {
        // The sector that begins to pass first; behind the last one it is the first again.
        let into = (m.period - m.latency(from, track.angle)) / self.width;
        let sector = (into - 0.9e-6 * m.period / self.width).ceil().max(0.0) as u64;
        if sector < u64::from(track.sectors) { track.first + sector } else { track.first }
    }
}
