//! [`Desk`]: which answer leaves when; the part of a virtual disk that knows no clock.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{Completion, Device, DeviceRequest};
use std::collections::VecDeque;

/// What a virtual disk is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// What.
    pub(super) op: Op,
    /// First sector.
    pub(super) lba: Lba,
    /// Length; zero only for a flush.
    pub(super) sectors: Sectors,
}

/// An answer that is to leave now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Departure<A> {
    /// The answer.
    pub(super) answer: A,
    /// To what.
    pub(super) order: Order,
    /// When that came, in the model's time.
    pub(super) arrived: Nanos,
    /// When the model has it done.
    pub(super) due: Nanos,
}

/// A request on its way.
#[derive(Debug)]
struct Slot<A> {
    order: Order,
    arrived: Nanos,
    /// Once the data have been moved.
    answer: Option<A>,
    /// Once the model is through.
    due: Option<Nanos>,
}

/// Pairs what the model says (when) with what the backing file gives (the answer).
///
/// A request enters, its data are moved while the model works, and its answer leaves when both are through. The model
/// is stepped from event to event at the times of the events, however late the caller is: what waits inside the device
/// begins at the *modelled* end of what was before it, so that a late answer delays nothing that is queued.
#[derive(Debug)]
pub(super) struct Desk<D, A> {
    device: D,
    depth: usize,
    /// Requests inside the device.
    inside: usize,
    /// Requests for which the device has no room.
    outside: VecDeque<RequestId>,
    /// The model's time; never goes back.
    time: Nanos,
    slots: Vec<Option<Slot<A>>>,
    free: Vec<RequestId>,
    completions: Vec<Completion>,
    ready: Vec<Departure<A>>,
    retired: bool,
}

impl<D: Device, A> Desk<D, A> {
    /// A desk for an idle device.
    pub(super) fn new(device: D) -> Self {
        let depth = device.queue_depth().max(1) as usize;
        Self {
            device,
            depth,
            inside: 0,
            outside: VecDeque::new(),
            time: Nanos::ZERO,
            slots: Vec::new(),
            free: Vec::new(),
            completions: Vec::new(),
            ready: Vec::new(),
            retired: false,
        }
    }

    /// Puts `device` in the place of the one there is, where that has nothing to do for anybody. Whether it has not.
    pub(super) fn replace(&mut self, device: D) -> bool {
        let idle = self.in_flight() == 0 && !self.retired;
        if idle {
            self.device = device;
        }
        idle
    }

    /// Takes `order`, which came at `now`; the name to [`deliver`](Self::deliver) its answer under.
    pub(super) fn enter(&mut self, order: Order, now: Nanos) -> RequestId {
        self.run(now);
        let now = self.time;
        let slot = Slot { order, arrived: now, answer: None, due: self.retired.then_some(now) };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id.index()] = Some(slot);
                id
            }
            None => {
                self.slots.push(Some(slot));
                RequestId::from_index(self.slots.len() - 1)
            }
        };
        if !self.retired {
            self.outside.push_back(id);
            self.admit(now);
        }
        id
    }

    /// The data of request `id` have been moved: its answer is kept until it is due. Given back where it is overdue.
    pub(super) fn deliver(&mut self, id: RequestId, answer: A) -> Option<Departure<A>> {
        let slot = self.slots[id.index()].as_mut()?;
        slot.answer = Some(answer);
        self.depart(id)
    }

    /// Runs the model to `now`; what is through and has its answer is then [`ready`](Self::ready).
    pub(super) fn run(&mut self, now: Nanos) {
        while !self.retired {
            let Some(at) = self.device.next_event().filter(|&at| at <= now) else { break };
            self.time = self.time.max(at);
            let mut completions = std::mem::take(&mut self.completions);
            self.device.advance(self.time, &mut completions);
            for completion in completions.drain(..) {
                self.inside -= 1;
                if let Some(slot) = &mut self.slots[completion.id.index()] {
                    slot.due = Some(completion.at);
                }
                let departure = self.depart(completion.id);
                self.ready.extend(departure);
            }
            self.completions = completions;
            self.admit(self.time);
        }
        self.time = self.time.max(now);
    }

    /// When the model next has something to do.
    pub(super) fn next_event(&self) -> Option<Nanos> {
        if self.retired { None } else { self.device.next_event() }
    }

    /// The answers that are to leave now, to be drained by the caller.
    pub(super) fn ready(&mut self) -> &mut Vec<Departure<A>> {
        &mut self.ready
    }

    /// Requests on their way.
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// From now on the model is not asked any more, and everything is due as soon as it has its answer.
    pub(super) fn retire(&mut self) {
        self.retired = true;
        self.outside.clear();
        for index in 0..self.slots.len() {
            let Some(slot) = &mut self.slots[index] else { continue };
            slot.due.get_or_insert(self.time);
            let departure = self.depart(RequestId::from_index(index));
            self.ready.extend(departure);
        }
    }

    /// Gives the device what waits outside, as far as it has room.
    fn admit(&mut self, now: Nanos) {
        while self.inside < self.depth {
            let Some(id) = self.outside.pop_front() else { return };
            let Some(slot) = &self.slots[id.index()] else { continue };
            let Order { op, lba, sectors } = slot.order;
            self.inside += 1;
            self.device.submit(DeviceRequest { id, op, lba, sectors, flags: Flags::empty() }, now);
        }
    }

    /// Frees the slot of `id` where it is due and has its answer.
    fn depart(&mut self, id: RequestId) -> Option<Departure<A>> {
        let place = &mut self.slots[id.index()];
        let slot = place.as_mut()?;
        let due = slot.due?;
        let answer = slot.answer.take()?;
        let departure = Departure { answer, order: slot.order, arrived: slot.arrived, due };
        *place = None;
        self.free.push(id);
        Some(departure)
    }
}

#[cfg(test)]
mod tests;
