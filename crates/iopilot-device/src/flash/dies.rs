//! The schedule of dies, their lanes and the channels.
//!
//! A lane reads one page at a time. A die has one lane, or one for each plane if planes read independently. An
//! operation that changes the flash (program, move, erase) uses the die exclusively. Reads go first, until a change
//! has waited four times as long as a program takes. With suspension, reads interrupt it.

use super::NONE;
use super::agenda::FlashEvent;
use super::device::FlashDrive;
use super::ops::{FlashOpKind, FlashOpQueue};

/// The most suspensions of one program or erase.
const SUSPENSIONS: u32 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Die {
    /// The operation that uses the die exclusively.
    pub(super) current: u32,
    /// When its time in the array ends; `u64::MAX` if it is not in the array.
    due: u64,
    suspended: bool,
    suspensions: u32,
    /// Its remaining time in the array when it is suspended.
    remaining: u64,
    /// Since when a change waits for the die; `u64::MAX` if none does.
    waits_since: u64,
    /// Rows to program.
    pub(super) programs: FlashOpQueue,
    /// Rows that garbage collection must move before the host's next row.
    pub(super) debt: f32,
    /// Lanes that are reading.
    reading: u32,
    /// Reads that wait for a lane.
    queued: u32,
}

impl Die {
    pub(super) const IDLE: Self = Self {
        current: NONE,
        due: u64::MAX,
        suspended: false,
        suspensions: 0,
        remaining: 0,
        waits_since: u64::MAX,
        programs: FlashOpQueue::EMPTY,
        debt: 0.0,
        reading: 0,
        queued: 0,
    };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    current: u32,
    waiting: FlashOpQueue,
}

impl Lane {
    pub(super) const IDLE: Self = Self { current: NONE, waiting: FlashOpQueue::EMPTY };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    current: u32,
    waiting: FlashOpQueue,
}

impl Channel {
    pub(super) const IDLE: Self = Self { current: NONE, waiting: FlashOpQueue::EMPTY };
}

impl FlashDrive {
    /// Queues a read for its lane.
    pub(super) fn queue_read(&mut self, op: u32) {
        let (die, lane) = (self.ops.get(op).die, self.ops.get(op).lane);
        self.ops.push(&mut self.lanes[lane as usize].waiting, op);
        self.dies[die as usize].queued += 1;
        self.kick(die);
    }

    /// Queues a row to be programmed.
    pub(super) fn queue_program(&mut self, op: u32) {
        let die = self.ops.get(op).die;
        self.ops.push(&mut self.dies[die as usize].programs, op);
        self.kick(die);
    }

    /// Starts whatever the die can do now.
    pub(super) fn kick(&mut self, die: u32) {
        let at = die as usize;
        let mut d = self.dies[at];
        let mut delay = 0;
        if d.current != NONE && !d.suspended {
            let Some(cost) = self.suspend else { return };
            if d.queued == 0 || d.due == u64::MAX || d.due <= self.now || d.suspensions >= SUSPENSIONS {
                return;
            }
            delay = cost;
            d.remaining = d.due - self.now;
            d.due = u64::MAX;
            d.suspended = true;
            d.suspensions += 1;
            d.waits_since = self.now;
            self.ftl.counters.suspensions += 1;
        }
        if d.waits_since == u64::MAX && (d.programs.len > 0 || self.ftl.urgent(die)) {
            d.waits_since = self.now;
        }
        self.dies[at] = d;
        let patient = d.waits_since == u64::MAX || self.now - d.waits_since < self.patience;
        if patient && d.queued > 0 {
            self.start_reads(die, delay);
        }
        if self.dies[at].reading > 0 {
            return;
        }
        if self.dies[at].suspended {
            self.resume(die);
        } else if let Some(op) = self.next_change(die) {
            self.start_change(die, op);
        } else {
            self.dies[at].waits_since = u64::MAX;
            if self.dies[at].queued > 0 {
                self.start_reads(die, 0);
            }
        }
    }

    fn start_reads(&mut self, die: u32, delay: u64) {
        let first = die * self.lanes_per_die;
        for lane in first..first + self.lanes_per_die {
            let l = &mut self.lanes[lane as usize];
            if l.current != NONE {
                continue;
            }
            if let Some(op) = self.ops.pop(&mut l.waiting) {
                l.current = op;
                self.dies[die as usize].queued -= 1;
                self.dies[die as usize].reading += 1;
                self.agenda.push(self.now + delay + self.ops.get(op).before, FlashEvent::Read(lane));
            }
        }
    }

    fn resume(&mut self, die: u32) {
        let d = &mut self.dies[die as usize];
        d.suspended = false;
        d.due = self.now + d.remaining;
        d.waits_since = u64::MAX;
        self.agenda.push(d.due, FlashEvent::Array(die));
    }

    fn start_change(&mut self, die: u32, op: u32) {
        let d = &mut self.dies[die as usize];
        d.current = op;
        d.suspensions = 0;
        d.waits_since = u64::MAX;
        let o = *self.ops.get(op);
        match o.kind {
            FlashOpKind::Program => self.transfer(die, op),
            FlashOpKind::Erase => self.array(die, o.after),
            // Without a channel transfer, the two times in the array follow each other.
            _ if o.bytes == 0 => self.array(die, o.before + o.after),
            _ => self.agenda.push(self.now + o.before, FlashEvent::Array(die)),
        }
        if o.kind == FlashOpKind::Move && o.bytes > 0 {
            self.dies[die as usize].due = u64::MAX;
        }
    }

    /// Starts the last phase of a change in the array.
    fn array(&mut self, die: u32, time: u64) {
        let due = self.now + time;
        self.dies[die as usize].due = due;
        self.agenda.push(due, FlashEvent::Array(die));
    }

    /// A lane has read a page.
    pub(super) fn lane_read(&mut self, lane: u32) {
        let op = self.lanes[lane as usize].current;
        self.transfer(self.ops.get(op).die, op);
    }

    /// A die's time in the array ended; for a move over the channel, this may be its read phase.
    pub(super) fn array_done(&mut self, die: u32) {
        let d = self.dies[die as usize];
        if d.due == self.now {
            self.dies[die as usize].due = u64::MAX;
            self.dies[die as usize].current = NONE;
            self.change_done(d.current);
            self.kick(die);
        } else if d.current != NONE && d.due == u64::MAX && !d.suspended {
            self.transfer(die, d.current);
        }
        // Otherwise it was suspended meanwhile, and ends later.
    }

    fn transfer(&mut self, die: u32, op: u32) {
        let channel = self.ftl.shape.channel_of_die(die);
        let c = &mut self.channels[channel as usize];
        if c.current == NONE {
            self.start_transfer(channel, op);
        } else {
            self.ops.push(&mut c.waiting, op);
        }
    }

    fn start_transfer(&mut self, channel: u32, op: u32) {
        self.channels[channel as usize].current = op;
        let time = (f64::from(self.ops.get(op).bytes) * self.channel_ns_per_byte).round() as u64;
        self.agenda.push(self.now + time, FlashEvent::Channel(channel));
    }

    /// A channel has finished a transfer.
    pub(super) fn channel_done(&mut self, channel: u32) {
        let c = &mut self.channels[channel as usize];
        let op = std::mem::replace(&mut c.current, NONE);
        if let Some(next) = self.ops.pop(&mut c.waiting) {
            self.start_transfer(channel, next);
        }
        let o = *self.ops.get(op);
        match o.kind {
            FlashOpKind::Read | FlashOpKind::Fill => {
                self.lanes[o.lane as usize].current = NONE;
                self.dies[o.die as usize].reading -= 1;
                self.ops.remove(op);
                self.read_done(&o);
                self.kick(o.die);
            }
            _ => {
                self.array(o.die, o.after);
                // A read that waited may suspend it now.
                self.kick(o.die);
            }
        }
    }
}
