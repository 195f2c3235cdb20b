//! The on-board queue: which request gets the arm next.
//!
//! Pending requests are kept in order of arrival. With a policy other than FCFS, an [`IoQueue`] holds the same
//! requests and chooses among those that can start.

use super::choice::{SegmentFit, SegmentHit};
use super::positions::ArmForecast;
use super::segment::Victims;
use super::slot::{BusStage, CommandSlot, Media};
use super::{Drive, Preseek};
use iopilot_block::{Nanos, Op, RequestId};
use iopilot_sched::{IoQueue, IoQueueConfig, IoQueuePolicy, IoRequest, OverlapScheme, TimeoutScheme};

/// What a request does when its turn comes.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Read(usize, SegmentHit),
    Write(usize, SegmentFit),
    /// Nothing: its work is done, or another request does it.
    Over,
}

/// The queue for a configuration; `None` for plain FCFS.
pub(super) fn queue_for(config: &IoQueueConfig, depth: u32, capacity: u64) -> Option<Box<IoQueue>> {
    let as_they_come = config.policy == IoQueuePolicy::Fcfs
        && config.timeout_scheme == TimeoutScheme::Off
        && config.overlap == OverlapScheme::Off
        && !config.priorities;
    (depth > 1 && !as_they_come).then(|| Box::new(IoQueue::new(IoQueueConfig { capacity, ..config.clone() })))
}

impl Drive {
    /// Queues request `i` for the arm from `t` on.
    pub(super) fn wait(&mut self, i: usize, t: f64) {
        self.pending.push(i);
        let request = self.slots[i].request;
        self.waiting_writes += usize::from(request.op == Op::Write);
        if let Some(queue) = self.queue.as_mut().filter(|_| request.op.transfers()) {
            let id = RequestId::from_index(i);
            let request = IoRequest { joinable: false, ..IoRequest::new(id, request.op, request.lba, request.sectors) };
            queue.insert(request, moment(t));
        }
    }

    /// Request `i` gets its turn without waiting. The queue must still learn where the arm goes.
    pub(super) fn pass_queue(&mut self, i: usize, t: f64) {
        let request = self.slots[i].request;
        let Some(mut queue) = self.queue.take() else { return };
        let id = RequestId::from_index(i);
        queue.insert(IoRequest::new(id, request.op, request.lba, request.sectors), moment(t));
        let only = |other: &IoRequest| other.id == id;
        let standing = ArmForecast::new(self, moment(t));
        self.slots[i].picked = queue.pick_where(moment(t), Some(&standing), &only).is_some();
        self.queue = Some(queue);
    }

    /// Takes request `i` off the queue.
    pub(super) fn unwait(&mut self, i: usize) {
        self.take_off(i);
        if let Some(queue) = &mut self.queue {
            queue.remove(RequestId::from_index(i));
        }
    }

    fn take_off(&mut self, i: usize) {
        let Some(place) = self.pending.iter().position(|&j| j == i) else { return };
        self.pending.remove(place);
        self.waiting_writes -= usize::from(self.slots[i].request.op == Op::Write);
        self.unpark(i);
    }

    /// Grants the arm to the first runnable waiter, as long as there is one.
    pub(super) fn dispatch(&mut self, t: f64) {
        while let Some((i, turn)) = self.next_turn(t) {
            self.take_off(i);
            match turn {
                Turn::Read(s, hit) => self.begin_read(i, s, hit, t),
                Turn::Write(s, fit) => self.begin_write(i, s, fit, t),
                Turn::Over => self.slots[i].media = Media::Begun,
            }
            if self.slots[i].stage == BusStage::Gone {
                self.leave(i, t);
            }
        }
    }

    fn next_turn(&mut self, t: f64) -> Option<(usize, Turn)> {
        let first = *self.pending.first()?;
        if !self.any_may_start(first, t) {
            debug_assert!(self.pending.iter().all(|&i| self.turn(i, i == first, self.victims(), t).is_none()));
            return None;
        }
        let victims = self.victims();
        let Some(mut queue) = self.queue.take() else {
            return self.pending.iter().find_map(|&i| Some((i, self.turn(i, i == first, victims, t)?)));
        };
        let drive = &*self;
        // When a flush is first in line, all requests before it have had their turn.
        let flush = !drive.slots[first].request.op.transfers();
        let mut next = if flush { drive.turn(first, true, victims, t).map(|turn| (first, turn)) } else { None };
        if next.is_none() {
            let turn = |i: usize| drive.turn(i, i == first, victims, t);
            let may_start = |request: &IoRequest| turn(request.id.index()).is_some();
            let standing = ArmForecast::new(drive, moment(t));
            let pick = queue.pick_where(moment(t), Some(&standing), &may_start);
            next = pick.and_then(|pick| Some((pick.id.index(), turn(pick.id.index())?)));
            if let Some((i, _)) = next {
                self.slots[i].picked = true;
            }
        }
        self.queue = Some(queue);
        next
    }

    /// Whether any pending request may have its turn; `first` is the oldest. Usually the arm is busy and the answer
    /// is no. This check is cheaper than asking each request.
    fn any_may_start(&self, first: usize, t: f64) -> bool {
        // The holder of the arm has had its turn, so the arm is free for all waiters or for none.
        let holds = |h: usize| self.slots[h].media == Media::Begun;
        let held = self.model.preseek != Preseek::Media && self.holder.is_some_and(holds);
        if (!held && self.can_stop(t)) || !self.slots[first].request.op.transfers() {
            return true;
        }
        let awake = |joins: &dyn Fn(&CommandSlot) -> bool| {
            self.live.iter().map(|&i| &self.slots[i]).any(|slot| slot.media == Media::Waiting && joins(slot))
        };
        // Another write may have taken along a write whose data are in the buffer.
        if self.waiting_writes > 0 && awake(&|slot| !slot.is_read() && slot.segment.is_some()) {
            return true;
        }
        let Some(stream) = &self.stream else { return false };
        let segment = self.segments.of(stream.segment);
        if stream.write {
            // A write that continues the one in progress joins it.
            return self.waiting_writes > 0
                && (self.parked.any_begins_in(segment.end..=segment.end, false)
                    || awake(&|slot| !slot.is_read() && slot.first() == segment.end));
        }
        // A read whose first block is being read ahead joins that read-ahead.
        let joins = |slot: &CommandSlot| {
            let block = slot.unmoved();
            slot.segment == Some(stream.segment) || (segment.start <= block && block <= segment.end)
        };
        self.is_read_ahead()
            && (self.parked.any_begins_in(segment.start..=segment.end, true)
                || awake(&|slot| slot.is_read() && joins(slot)))
    }

    /// Tells the queue that request `i` is done, and completes the requests that the queue finishes with it.
    pub(super) fn finish_in_queue(&mut self, i: usize, t: f64) {
        let Some(queue) = self.queue.as_mut().filter(|_| self.slots[i].picked) else { return };
        let mut also = std::mem::take(&mut self.also);
        queue.completed(RequestId::from_index(i), moment(t), &mut also);
        for id in also.drain(..) {
            let other = id.index();
            self.take_off(other);
            let slot = &mut self.slots[other];
            (slot.moved, slot.fast, slot.media) = (slot.count(), true, Media::Begun);
            slot.service.cache_hit = true;
            if let Some(s) = slot.segment {
                self.segments.touch(s);
            }
        }
        self.also = also;
    }

    /// What request `i` would do if its turn came now; `None` if it cannot start. If it is `first` in line, all
    /// requests before it have had their turn.
    fn turn(&self, i: usize, first: bool, victims: Victims, t: f64) -> Option<Turn> {
        let slot = &self.slots[i];
        match slot.request.op {
            Op::Read => {
                let (s, hit) = self.choose_read(slot, victims, t)?;
                self.turn_of_read(i, s, hit, t).then_some(Turn::Read(s, hit))
            }
            Op::Write => {
                let (s, fit) = match slot.segment {
                    // Its data are in the buffer already: another write may have taken it along.
                    Some(s) => {
                        let streamed = self.stream.as_ref().filter(|stream| stream.segment == s);
                        let taken = self.segments.of(s).written >= slot.end()
                            || streamed.is_some_and(|stream| stream.limit >= slot.end());
                        if taken {
                            return Some(Turn::Over);
                        }
                        (s, if streamed.is_some() { SegmentFit::Append } else { SegmentFit::New })
                    }
                    None => self.choose_write(slot, victims, t)?,
                };
                self.turn_of_write(i, s, fit, t).then_some(Turn::Write(s, fit))
            }
            // All requests before it have had their turn when it is first in line and no write is in progress.
            Op::Flush | Op::Discard => {
                let done = first && !self.stream.as_ref().is_some_and(|stream| stream.write);
                done.then_some(Turn::Over)
            }
        }
    }
}

fn moment(t: f64) -> Nanos {
    Nanos(t as u64)
}
