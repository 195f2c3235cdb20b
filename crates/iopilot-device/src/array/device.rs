//! [`Array`]: several devices behind one controller, as one [`Device`].

mod background;
mod event;
mod host;
mod issue;

use super::clock::MemberClock;
use super::health::Health;
use super::layout::ArrayLayout;
use super::lock::Locks;
use super::mapper::Mapper;
use super::member::{IssuedRequests, Member};
use super::model::ArrayModel;
use super::nvram::Nvram;
use super::operation::{ArrayOperation, ArrayTask};
use crate::{ArrayReport, Completion, Device, DeviceReport, DeviceRequest};
use background::Background;
use event::ArrayEvent;
use iopilot_block::{EventQueue, InputError, Nanos, Scheduled, Slab};
use iopilot_sched::IoQueueConfig;
use std::collections::VecDeque;

/// An array of devices: a controller with a queue, stripe locks, an optional write-back cache, members that may fail,
/// and spares. It is a pure state machine. Members may be of any model, even arrays. See `docs/reference/arrays.md`.
#[derive(Clone, Debug)]
pub struct Array<D> {
    model: ArrayModel,
    mapper: Mapper,
    health: Health,
    members: Vec<Member<D>>,
    /// The next event of each member.
    clock: MemberClock,
    /// Future events of the controller itself.
    events: EventQueue<ArrayEvent>,
    operations: Slab<ArrayOperation>,
    issued: IssuedRequests,
    locks: Locks,
    nvram: Nvram,
    /// Writes that wait for room in the write cache.
    unbuffered: VecDeque<u32>,
    background: Background<D>,
    /// When the bus to the host is free, ns.
    bus_free: f64,
    /// Requests of the host in flight.
    host_requests: u32,
    /// Scratch buffers.
    completions: Vec<Completion>,
    ready: Vec<u32>,
    granted: Vec<u32>,
}

impl<D: Device + Clone> Array<D> {
    /// An idle array. A spare is a copy of `spare`, or of the first member.
    ///
    /// # Errors
    /// If the model is inconsistent, or does not fit the members.
    pub fn new(model: ArrayModel, members: Vec<D>, spare: Option<D>) -> Result<Self, InputError> {
        model.check()?;
        let layout = &model.layout;
        if members.len() != layout.members() as usize {
            let expected = format!("the {} of the layout", layout.members());
            return Err(InputError::new("members", members.len().to_string(), expected));
        }
        let needed = layout.row_lba(layout.rows() - 1).0 + u64::from(layout.unit_sectors(layout.stripes() - 1));
        let smallest = members.iter().chain(&spare).map(Device::capacity).min().unwrap_or_default();
        if smallest < needed {
            return Err(InputError::new("members", format!("{smallest} sectors"), format!("at least {needed}")));
        }
        let spares = model.rebuild.map_or(0, |rebuild| rebuild.spares);
        let spare = (spares > 0).then(|| spare.or_else(|| members.first().cloned())).flatten();
        let by_position = model.member_queue.as_ref().is_some_and(IoQueueConfig::needs_positions);
        if by_position && members.iter().chain(&spare).any(|device| device.positions().is_none()) {
            let expected = "one that goes by block: the members know no positions";
            return Err(InputError::new("member_scheduler", "a policy by position", expected));
        }
        let count = layout.members();
        let member = |device| Member::new(device, model.member_queue_depth, model.member_queue.as_ref());
        let mut array = Self {
            mapper: Mapper::new(layout.clone(), model.rules),
            health: Health::whole(count),
            members: members.into_iter().map(member).collect(),
            clock: MemberClock::new(count),
            events: EventQueue::new(),
            operations: Slab::new(),
            issued: IssuedRequests::default(),
            locks: Locks::default(),
            nvram: Nvram::new(),
            unbuffered: VecDeque::new(),
            background: Background::new(spare, spares),
            bus_free: 0.0,
            host_requests: 0,
            completions: Vec::new(),
            ready: Vec::new(),
            granted: Vec::new(),
            model,
        };
        for i in 0..array.model.failures.len() {
            let failure = array.model.failures[i];
            if failure.at == Nanos::ZERO {
                // No operation is in progress yet.
                array.fail(failure.member, Nanos::ZERO, &mut Vec::new());
            } else {
                array.events.push(failure.at, ArrayEvent::Fail(failure.member));
            }
        }
        Ok(array)
    }

    /// The parameters of the array.
    pub fn model(&self) -> &ArrayModel {
        &self.model
    }

    /// Where data and redundancy lie.
    pub fn layout(&self) -> &ArrayLayout {
        self.mapper.layout()
    }

    /// Which rows are lost now.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Sectors in the write cache that are not on the members.
    pub fn dirty_sectors(&self) -> u64 {
        self.nvram.used()
    }

    /// When the last rebuild ended; `None` if there was none, or one is in progress.
    pub fn rebuilt_at(&self) -> Option<Nanos> {
        self.background.rebuilt_at()
    }
}

impl<D: Device + Clone> Device for Array<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.submit_host(request, now);
    }

    fn next_event(&self) -> Option<Nanos> {
        let at = self.clock.earliest().min(self.events.next_time().unwrap_or(Nanos::MAX));
        (at < Nanos::MAX).then_some(at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        loop {
            let (own, members) = (self.events.next_time().unwrap_or(Nanos::MAX), self.clock.earliest());
            if own.min(members) > now || own.min(members) == Nanos::MAX {
                return;
            }
            if own <= members {
                if let Some(Scheduled { at, event, .. }) = self.events.pop() {
                    self.act(event, at, out);
                }
            } else {
                self.advance_member(self.clock.first(), members, out);
            }
        }
    }

    fn capacity(&self) -> u64 {
        self.layout().capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.model.queue_depth
    }

    fn report(&self) -> Option<DeviceReport> {
        let members = self.members.iter().map(Member::report).collect();
        let lost = self.health.lost().collect();
        Some(DeviceReport::Array(ArrayReport::new(lost, self.rebuilt_at(), self.dirty_sectors(), members)))
    }
}

impl<D: Device + Clone> Array<D> {
    fn act(&mut self, event: ArrayEvent, now: Nanos, out: &mut Vec<Completion>) {
        match event {
            ArrayEvent::Start(operation) => self.start(operation, now, out),
            ArrayEvent::Finish(operation) => self.finish(operation, now, out),
            ArrayEvent::Fail(member) => {
                self.fail(member, now, out);
                self.admit_and_destage(now, out);
            }
            ArrayEvent::Idle(token) => self.idle(token, now, out),
            ArrayEvent::Rebuild => self.rebuild_next_rows(now, out),
        }
    }

    /// Processes the member's next event.
    fn advance_member(&mut self, member: u32, now: Nanos, out: &mut Vec<Completion>) {
        let mut done = std::mem::take(&mut self.completions);
        let at = &mut self.members[member as usize];
        at.device.advance(now, &mut done);
        for completion in &done {
            let number = completion.id.index() as u32;
            let issued = self.issued.take(number);
            self.members[member as usize].completed(number, &issued.io, &self.issued, now);
            self.member_done(&issued, &completion.service, now, out);
        }
        done.clear();
        self.completions = done;
        self.update_clock(member);
    }

    /// Updates the member's next event after a call.
    fn update_clock(&mut self, member: u32) {
        let at = &self.members[member as usize];
        let next = if at.present { at.device.next_event() } else { None };
        self.clock.set(member, next);
    }

    /// Finishes an operation whose member requests are all done.
    fn plan_done(&mut self, operation: u32, now: Nanos, out: &mut Vec<Completion>) {
        match self.operations[operation].task {
            ArrayTask::Host(request) => self.host_done(operation, &request, now, out),
            ArrayTask::Destage { lba, sectors } => self.destaged(operation, lba, sectors, now, out),
            ArrayTask::Rebuild { member, row, rows, begun } => {
                self.rows_rebuilt(operation, member, row + rows, begun, now, out);
            }
        }
    }
}

#[cfg(test)]
mod tests;
