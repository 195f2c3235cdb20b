//! [`SimpleDisk`]: a disk on a bus whose accesses all take the same time (DiskSim's `simpledisk`).

use crate::{BlockTimes, Message, MessageKind, Signal, Target};
use iopilot_block::{EventQueue, Nanos, Op, RequestId, Scheduled};
use iopilot_device::{DeviceRequest, ServiceBreakdown};
use std::collections::VecDeque;

/// The parameters of a [`SimpleDisk`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimpleDiskModel {
    /// Size in 512-byte sectors.
    pub capacity: u64,
    /// Commands it accepts at once.
    pub queue_depth: u32,
    /// From the arrival of a command to the first reaction.
    pub command_overhead: Nanos,
    /// The time of every access to the medium.
    pub access_time: Nanos,
    /// The time of a 512-byte block between buffer and bus, ns.
    pub block_time: f64,
    /// The delay before each message.
    pub message_latency: Nanos,
    /// Whether it keeps the bus during the access.
    pub never_disconnect: bool,
}

/// A disk of constant access time that speaks the bus's protocol. Commands are served one at a time, in order.
#[derive(Clone, Debug)]
pub struct SimpleDisk {
    model: SimpleDiskModel,
    block_times: BlockTimes,
    /// Commands that wait behind the current one.
    queue: VecDeque<DeviceRequest>,
    current: Option<DeviceRequest>,
    /// The command for which it owns the bus.
    connected: Option<RequestId>,
    /// Whether it has released the bus, or is about to.
    leaving: bool,
    /// What to do with the bus once it is granted, in order.
    wanted: VecDeque<PendingMessage>,
    /// Its own events, in order of time: at most one command's reactions and one access.
    agenda: EventQueue<Step>,
    /// Whether it has asked for the bus and is not yet granted it.
    arbitrating: bool,
    /// Whether the medium has been accessed for the current command.
    accessed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingMessage {
    id: RequestId,
    kind: MessageKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The overhead of a command has passed.
    Arrived(DeviceRequest),
    /// The latency of a message has passed.
    Sent(PendingMessage),
    /// The medium has been accessed.
    Accessed,
    /// The data have moved.
    Transferred,
}

impl SimpleDisk {
    /// An idle disk.
    pub fn new(model: SimpleDiskModel) -> Self {
        let own = BlockTimes { read: model.block_time, write: model.block_time };
        Self {
            model,
            block_times: own,
            queue: VecDeque::new(),
            current: None,
            connected: None,
            leaving: false,
            wanted: VecDeque::new(),
            agenda: EventQueue::new(),
            arbitrating: false,
            accessed: false,
        }
    }

    /// Its parameters.
    pub fn model(&self) -> &SimpleDiskModel {
        &self.model
    }

    fn after(&mut self, now: Nanos, delay: Nanos, step: Step) {
        self.agenda.push(now + delay, step);
    }

    /// Sends a message as soon as it has the bus.
    fn send(&mut self, id: RequestId, kind: MessageKind, now: Nanos, out: &mut Vec<Signal>) {
        let message = PendingMessage { id, kind };
        if self.connected == Some(id) && !self.leaving {
            self.send_on_bus(message, now);
        } else {
            self.wanted.push_back(message);
            self.arbitrate(out);
        }
    }

    fn send_on_bus(&mut self, message: PendingMessage, now: Nanos) {
        self.leaving = matches!(message.kind, MessageKind::Disconnect | MessageKind::Complete);
        self.after(now, self.model.message_latency, Step::Sent(message));
    }

    fn arbitrate(&mut self, out: &mut Vec<Signal>) {
        if !self.arbitrating {
            self.arbitrating = true;
            out.push(Signal::Arbitrate);
        }
    }

    fn arrived(&mut self, request: DeviceRequest, now: Nanos, out: &mut Vec<Signal>) {
        if self.current.is_some() {
            self.queue.push_back(request);
            self.send(request.id, MessageKind::Disconnect, now, out);
            return;
        }
        self.begin(request, now);
        let kind = match request.op {
            Op::Read if !self.model.never_disconnect => MessageKind::Disconnect,
            _ => MessageKind::Ready,
        };
        self.send(request.id, kind, now, out);
    }

    /// Makes `request` the current one; a read accesses the medium at once.
    fn begin(&mut self, request: DeviceRequest, now: Nanos) {
        self.current = Some(request);
        self.accessed = false;
        if request.op == Op::Read {
            self.after(now, self.model.access_time, Step::Accessed);
        }
    }

    fn transfer(&mut self, now: Nanos) {
        let Some(request) = self.current else { return };
        let block = if request.op == Op::Read { self.block_times.read } else { self.block_times.write };
        let time = Nanos((block * f64::from(request.sectors.0)).round() as u64);
        self.after(now, time, Step::Transferred);
    }

    fn step(&mut self, step: Step, now: Nanos, out: &mut Vec<Signal>) {
        match step {
            Step::Arrived(request) => self.arrived(request, now, out),
            Step::Sent(PendingMessage { id, kind }) => out.push(Signal::Message(Message { id, kind })),
            Step::Accessed => {
                let Some(request) = self.current else { return };
                self.accessed = true;
                match (self.model.never_disconnect, request.op) {
                    (true, Op::Read) => self.transfer(now),
                    (true, _) => self.send(request.id, MessageKind::Complete, now, out),
                    (false, _) => self.send(request.id, MessageKind::Reconnect, now, out),
                }
            }
            Step::Transferred => {
                let Some(request) = self.current else { return };
                if request.op == Op::Read {
                    self.send(request.id, MessageKind::Complete, now, out);
                } else {
                    if !self.model.never_disconnect {
                        self.send(request.id, MessageKind::Disconnect, now, out);
                    }
                    self.after(now, self.model.access_time, Step::Accessed);
                }
            }
        }
    }

    fn release(&mut self, id: RequestId, out: &mut Vec<Signal>) {
        if self.connected == Some(id) {
            self.connected = None;
            out.push(Signal::Release);
            if !self.wanted.is_empty() {
                self.arbitrate(out);
            }
        }
    }
}

impl Target for SimpleDisk {
    fn submit(&mut self, request: DeviceRequest, now: Nanos, _: &mut Vec<Signal>) {
        (self.connected, self.leaving) = (Some(request.id), false);
        self.after(now, self.model.command_overhead, Step::Arrived(request));
    }

    fn granted(&mut self, now: Nanos, _: &mut Vec<Signal>) {
        self.arbitrating = false;
        if let Some(message) = self.wanted.pop_front() {
            self.connected = Some(message.id);
            self.send_on_bus(message, now);
        }
    }

    fn acknowledged(&mut self, message: Message, now: Nanos, out: &mut Vec<Signal>) {
        match message.kind {
            MessageKind::Ready | MessageKind::Reconnect => {
                let Some(request) = self.current.filter(|r| r.id == message.id) else { return };
                match (request.op, message.kind) {
                    // It keeps the bus; data move when the access ends.
                    (Op::Read, MessageKind::Ready) => {}
                    (Op::Read, _) => self.transfer(now),
                    _ if self.accessed => self.send(request.id, MessageKind::Complete, now, out),
                    _ => self.transfer(now),
                }
            }
            MessageKind::Disconnect => self.release(message.id, out),
            MessageKind::Complete => {
                self.current = None;
                self.release(message.id, out);
                if let Some(next) = self.queue.pop_front() {
                    self.begin(next, now);
                    if next.op != Op::Read {
                        self.send(next.id, MessageKind::Reconnect, now, out);
                    }
                }
            }
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.agenda.next_time()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Signal>) {
        while let Some(Scheduled { at, event, .. }) = self.agenda.pop_due(now) {
            self.step(event, at, out);
        }
    }

    fn set_block_times(&mut self, times: BlockTimes) {
        self.block_times = times;
    }

    fn own_block_times(&self) -> BlockTimes {
        BlockTimes { read: self.model.block_time, write: self.model.block_time }
    }

    fn service(&self, id: RequestId) -> ServiceBreakdown {
        match self.current {
            Some(request) if request.id == id => {
                let block = if request.op == Op::Read { self.block_times.read } else { self.block_times.write };
                ServiceBreakdown {
                    seek: self.model.access_time,
                    transfer: Nanos((block * f64::from(request.sectors.0)).round() as u64),
                    overhead: self.model.command_overhead,
                    ..ServiceBreakdown::default()
                }
            }
            _ => ServiceBreakdown::default(),
        }
    }

    fn capacity(&self) -> u64 {
        self.model.capacity
    }

    fn queue_depth(&self) -> u32 {
        self.model.queue_depth.max(1)
    }
}
