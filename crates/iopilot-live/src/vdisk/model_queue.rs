//! [`ModelQueue`]: the requests in the device model of a virtual disk, and their answers. It knows no clock.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors, Slab};
use iopilot_device::{Completion, Device, DeviceRequest};
use std::collections::VecDeque;

/// A request to a virtual disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskRequest {
    /// The operation.
    pub(super) op: Op,
    /// First sector.
    pub(super) lba: Lba,
    /// Length; zero only for a flush.
    pub(super) sectors: Sectors,
}

/// An answer that is to leave now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DueAnswer<A> {
    /// The answer.
    pub(super) answer: A,
    /// The request.
    pub(super) request: DiskRequest,
    /// When the request arrived, in the model's time.
    pub(super) arrived: Nanos,
    /// When the model completed it.
    pub(super) due: Nanos,
}

/// A request in flight.
#[derive(Debug)]
struct Slot<A> {
    request: DiskRequest,
    arrived: Nanos,
    /// The answer; `None` until the data have been moved.
    answer: Option<A>,
    /// When it is due; `None` until the model has completed it.
    due: Option<Nanos>,
}

/// Pairs the completion times of a device model with the answers that hold the data.
///
/// A request enters, its data are moved while the model works, and its answer leaves when both are done. The model
/// advances from event to event at the times of the events, however late the caller is. A request that waits inside the
/// device thus starts at the *modelled* end of the one before it, and a late answer delays no queued request.
#[derive(Debug)]
pub(super) struct ModelQueue<D, A> {
    device: D,
    depth: usize,
    /// Whether a flush is alone in the device, as on SATA: [`CacheControl::flush_drains`].
    ///
    /// [`CacheControl::flush_drains`]: iopilot_device::CacheControl::flush_drains
    flush_drains: bool,
    /// Whether a flush is alone in the device now.
    flushing: bool,
    /// Requests inside the device.
    inside: usize,
    /// Requests for which the device has no room.
    outside: VecDeque<RequestId>,
    /// The model's time; never goes back.
    time: Nanos,
    slots: Slab<Option<Slot<A>>, RequestId>,
    completions: Vec<Completion>,
    ready: Vec<DueAnswer<A>>,
    retired: bool,
}

impl<D: Device, A> ModelQueue<D, A> {
    /// A queue in front of an idle device.
    pub(super) fn new(device: D) -> Self {
        let depth = device.queue_depth().max(1) as usize;
        Self {
            flush_drains: device.cache_control().flush_drains,
            flushing: false,
            device,
            depth,
            inside: 0,
            outside: VecDeque::new(),
            time: Nanos::ZERO,
            slots: Slab::new(),
            completions: Vec::new(),
            ready: Vec::new(),
            retired: false,
        }
    }

    /// Replaces the device if no request is in flight. Returns whether it did.
    pub(super) fn replace(&mut self, device: D) -> bool {
        let idle = self.in_flight() == 0 && !self.retired;
        if idle {
            self.device = device;
        }
        idle
    }

    /// Takes `request`, which arrived at `now`. Returns the identifier for [`deliver`](Self::deliver).
    pub(super) fn enter(&mut self, request: DiskRequest, now: Nanos) -> RequestId {
        self.run(now);
        let now = self.time;
        let slot = Slot { request, arrived: now, answer: None, due: self.retired.then_some(now) };
        let id = self.slots.insert(Some(slot));
        if !self.retired {
            self.outside.push_back(id);
            self.admit(now);
        }
        id
    }

    /// Takes the answer of request `id`, whose data have been moved, and keeps it until it is due. Returns it if it is
    /// due now.
    pub(super) fn deliver(&mut self, id: RequestId, answer: A) -> Option<DueAnswer<A>> {
        let slot = self.slots[id].as_mut()?;
        slot.answer = Some(answer);
        self.depart(id)
    }

    /// Runs the model to `now`. Requests that are completed and have their answer are then [`ready`](Self::ready).
    pub(super) fn run(&mut self, now: Nanos) {
        while !self.retired {
            let Some(at) = self.device.next_event().filter(|&at| at <= now) else { break };
            self.time = self.time.max(at);
            let mut completions = std::mem::take(&mut self.completions);
            self.device.advance(self.time, &mut completions);
            for completion in completions.drain(..) {
                self.inside -= 1;
                // A flush that was alone is over.
                self.flushing = false;
                if let Some(slot) = &mut self.slots[completion.id] {
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

    /// The time of the model's next event.
    pub(super) fn next_event(&self) -> Option<Nanos> {
        if self.retired { None } else { self.device.next_event() }
    }

    /// The answers that are due now; the caller drains them.
    pub(super) fn ready(&mut self) -> &mut Vec<DueAnswer<A>> {
        &mut self.ready
    }

    /// Requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Stops the model: from now on every request is due as soon as it has its answer.
    pub(super) fn retire(&mut self) {
        self.retired = true;
        self.outside.clear();
        for id in (0..self.slots.slots()).map(RequestId::from_index) {
            let Some(slot) = &mut self.slots[id] else { continue };
            slot.due.get_or_insert(self.time);
            let departure = self.depart(id);
            self.ready.extend(departure);
        }
    }

    /// Submits waiting requests to the device, as far as it has room. A flush that is to be alone waits until the
    /// device is empty, and all behind it wait with it.
    fn admit(&mut self, now: Nanos) {
        while self.inside < self.depth && !self.flushing {
            let Some(&id) = self.outside.front() else { return };
            let Some(slot) = &self.slots[id] else {
                self.outside.pop_front();
                continue;
            };
            let DiskRequest { op, lba, sectors } = slot.request;
            let alone = self.flush_drains && op == Op::Flush;
            if alone && self.inside > 0 {
                return;
            }
            self.outside.pop_front();
            self.flushing = alone;
            self.inside += 1;
            self.device.submit(DeviceRequest { id, op, lba, sectors, flags: Flags::empty() }, now);
        }
    }

    /// Frees the slot of `id` if it is due and has its answer.
    fn depart(&mut self, id: RequestId) -> Option<DueAnswer<A>> {
        let slot = self.slots[id].as_mut()?;
        let due = slot.due?;
        let answer = slot.answer.take()?;
        let departure = DueAnswer { answer, request: slot.request, arrived: slot.arrived, due };
        *self.slots.remove(id) = None;
        Some(departure)
    }
}

#[cfg(test)]
mod tests;
