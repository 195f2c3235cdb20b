//! Who has the arm next: the on-board queue.
//!
//! Requests that wait are kept in order of arrival. With another policy, an [`IoQueue`] holds the same requests and
//! chooses among those that could start.

use super::choice::{SegmentFit, SegmentHit};
use super::positions::Standing;
use super::segment::Victims;
use super::slot::{BusStage, CommandSlot, Media};
use super::{Drive, Preseek};
use iopilot_block::{Nanos, Op, RequestId};
use iopilot_sched::{IoQueue, IoQueueConfig, IoQueuePolicy, IoRequest, OverlapScheme, TimeoutScheme};

/// What a request would do with its turn.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Read(usize, SegmentHit),
    Write(usize, SegmentFit),
    /// Nothing: what it needs is done, or done with that of another.
    Over,
}

/// The queue for a configuration; `None` where requests are served as they come.
pub(super) fn queue_for(config: &IoQueueConfig, depth: u32, capacity: u64) -> Option<Box<IoQueue>> {
    let as_they_come = config.policy == IoQueuePolicy::Fcfs
        && config.timeout_scheme == TimeoutScheme::Off
        && config.overlap == OverlapScheme::Off
        && !config.priorities;
    (depth > 1 && !as_they_come).then(|| Box::new(IoQueue::new(IoQueueConfig { capacity, ..config.clone() })))
}

impl Drive {
    /// Request `i` waits for its turn from `t` on.
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

    /// Request `i` has its turn without having waited: the queue is to know where the arm goes.
    pub(super) fn pass_queue(&mut self, i: usize, t: f64) {
        let request = self.slots[i].request;
        let Some(mut queue) = self.queue.take() else { return };
        let id = RequestId::from_index(i);
        queue.insert(IoRequest::new(id, request.op, request.lba, request.sectors), moment(t));
        let only = |other: &IoRequest| other.id == id;
        let standing = Standing::new(self, moment(t));
        self.slots[i].picked = queue.pick_where(moment(t), Some(&standing), &only).is_some();
        self.queue = Some(queue);
    }

    /// Request `i` does not wait any longer.
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
        self.rouse(i);
    }

    /// Gives the arm to who waits for it; who cannot go lets others pass.
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
        if !self.anybody_may_go(first, t) {
            debug_assert!(self.pending.iter().all(|&i| self.turn(i, i == first, self.victims(), t).is_none()));
            return None;
        }
        let victims = self.victims();
        let Some(mut queue) = self.queue.take() else {
            return self.pending.iter().find_map(|&i| Some((i, self.turn(i, i == first, victims, t)?)));
        };
        let drive = &*self;
        // What came before a flush has had its turn when it is first in line.
        let flush = !drive.slots[first].request.op.transfers();
        let mut next = if flush { drive.turn(first, true, victims, t).map(|turn| (first, turn)) } else { None };
        if next.is_none() {
            let turn = |i: usize| drive.turn(i, i == first, victims, t);
            let may_start = |request: &IoRequest| turn(request.id.index()).is_some();
            let standing = Standing::new(drive, moment(t));
            let pick = queue.pick_where(moment(t), Some(&standing), &may_start);
            next = pick.and_then(|pick| Some((pick.id.index(), turn(pick.id.index())?)));
            if let Some((i, _)) = next {
                self.slots[i].picked = true;
            }
        }
        self.queue = Some(queue);
        next
    }

    /// Whether one of those that wait, of which `first` came first, may have its turn. Mostly the arm is busy and the
    /// answer is no, which is found in less time than asking each of them takes.
    fn anybody_may_go(&self, first: usize, t: f64) -> bool {
        // Whoever holds the arm has had his turn: it is for all that wait or for none.
        let holds = |h: usize| self.slots[h].media == Media::Begun;
        let held = self.model.preseek != Preseek::Media && self.holder.is_some_and(holds);
        if (!held && self.can_stop(t)) || !self.slots[first].request.op.transfers() {
            return true;
        }
        let awake = |joins: &dyn Fn(&CommandSlot) -> bool| {
            self.live.iter().map(|&i| &self.slots[i]).any(|slot| slot.media == Media::Waiting && joins(slot))
        };
        // A write whose data are there may have been taken along by another.
        if self.waiting_writes > 0 && awake(&|slot| !slot.is_read() && slot.segment.is_some()) {
            return true;
        }
        let Some(stream) = &self.stream else { return false };
        let segment = self.segments.of(stream.segment);
        if stream.write {
            // One that continues what is being written joins that.
            return self.waiting_writes > 0
                && (self.dozing.any_begins_in(segment.end..=segment.end, false)
                    || awake(&|slot| !slot.is_read() && slot.first() == segment.end));
        }
        // A read that finds its first block among what is being read ahead joins that.
        let joins = |slot: &CommandSlot| {
            let block = slot.unmoved();
            slot.segment == Some(stream.segment) || (segment.start <= block && block <= segment.end)
        };
        self.is_read_ahead()
            && (self.dozing.any_begins_in(segment.start..=segment.end, true)
                || awake(&|slot| slot.is_read() && joins(slot)))
    }

    /// The queue learns that request `i` is done, and finishes with it what it is told to.
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

    /// What request `i` would do with its turn now; `None` where it cannot go. The `first` in line knows that what came
    /// before it has had its turn.
    fn turn(&self, i: usize, first: bool, victims: Victims, t: f64) -> Option<Turn> {
        let slot = &self.slots[i];
        match slot.request.op {
            Op::Read => {
                let (s, hit) = self.choose_read(slot, victims, t)?;
                self.turn_of_read(i, s, hit, t).then_some(Turn::Read(s, hit))
            }
            Op::Write => {
                let (s, fit) = match slot.segment {
                    // With its data in the buffer already it may have been taken along by another.
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
            // What came before it has had its turn when it is first in line and nothing is being written.
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
