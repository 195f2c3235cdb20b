//! [`Drive`]: the complete drive of the SCSI era — buffer segments, read-ahead, fast writes, disconnection, on-board
//! queue — as a pure state machine (Ganger B.2, DiskSim 4.0); and [`SingleDrive`], the same as a plain device.
//!
//! Three activities run at once. Requests talk over the bus ([`link`]). The arm does one access at a time ([`arm`],
//! [`stream`]). The segments of the buffer decouple the two ([`choice`], [`segment`]). A drive acts when a command, a
//! message or a burst ends, and when a request waits for the medium. Sectors and read-ahead need no events.

mod ahead;
mod arm;
mod arrive;
mod choice;
mod gate;
mod link;
mod model;
mod out_of_turn;
mod parked;
mod positions;
mod round;
mod segment;
mod single;
mod slot;
mod stream;
#[cfg(test)]
mod tests;
mod turn;

pub use model::{
    After, BusPolicy, DriveBufferModel, DriveModel, ExtraDisconnect, FastWrite, KeepRequested, Overheads, Preseek,
    ReadAheadRule, ReadModel, WriteModel,
};
pub use single::SingleDrive;

use crate::{BlockTimes, Message, MessageKind, Signal, Target};
use iopilot_block::{Flags, Nanos, Op, Positions, RequestId, Slab};
use iopilot_device::{Arm, DeviceRequest, SeekFloor, ServiceBreakdown};
use iopilot_sched::IoQueue;
use parked::{ParkedEntry, ParkedRequests};
use round::Round;
use segment::Segments;
use slot::{BusStage, CommandSlot, Media};
use stream::MediaStream;

/// A drive at the end of a bus.
#[derive(Clone, Debug)]
pub struct Drive {
    model: DriveModel,
    /// The time of a block on the bus, ns.
    block: BlockTimes,
    slots: Slab<CommandSlot, usize>,
    /// The slots in use, in order of arrival, without the parked ones.
    live: Vec<usize>,
    parked: ParkedRequests,
    /// The requests that wait for the arm, in order of arrival, and how many of them are writes.
    pending: Vec<usize>,
    waiting_writes: usize,
    /// Chooses among the pending requests; `None` for FCFS.
    queue: Option<Box<IoQueue>>,
    /// Scratch space for [`IoQueue::completed`].
    also: Vec<RequestId>,
    seek_floor: SeekFloor,
    segments: Segments,
    /// Scratch space: the segments that a write invalidates.
    overlapping: Vec<usize>,
    /// The access in progress.
    stream: Option<MediaStream>,
    /// The wrap-around that follows when read-ahead reached the end of its track.
    round: Option<Round>,
    /// Without a stream: the position of the arm, and from when on it can move, ns.
    arm: Arm,
    arm_free: f64,
    /// The request that holds the arm until it is done.
    holder: Option<usize>,
    /// Read-ahead must not be broken off before it has reached this block.
    hold_to: u64,
    /// When the last write to the medium ended, and the block behind it.
    wrote: (f64, u64),
    /// The direction of the request whose completion was sent last.
    last: Op,
    /// The block behind that request's last block.
    last_end: u64,
    /// Requests that use or hold the bus: commands, messages, bursts.
    on_bus: u32,
    /// The request that moves data or is about to.
    link: Option<usize>,
    /// Whether the drive has asked for the bus and is not yet granted it.
    asked: bool,
    arrivals: u64,
    next: f64,
}

impl Drive {
    /// A drive at time 0 with its arm over cylinder 0 and an empty buffer. A block takes as long on the bus as in the
    /// drive, until [`Target::set_block_times`] says otherwise.
    pub fn new(model: DriveModel) -> Self {
        let depth = model.queue_depth.max(1) as usize + 1;
        let cylinders = model.mechanics.geometry.cylinders();
        Self {
            block: model.bus.block_times,
            slots: Slab::with_capacity(depth),
            live: Vec::with_capacity(depth),
            parked: ParkedRequests::default(),
            pending: Vec::with_capacity(depth),
            waiting_writes: 0,
            queue: turn::queue_for(&model.queue, model.queue_depth, model.mechanics.geometry.capacity()),
            also: Vec::new(),
            seek_floor: SeekFloor::new(cylinders, |distance| model.mechanics.least_move_time(distance)),
            segments: Segments::new(&model.buffer, model.read.sneaky_intermediate || model.write.prebuffering),
            overlapping: Vec::new(),
            stream: None,
            round: None,
            arm: Arm { cylinder: 0, head: 0 },
            arm_free: 0.0,
            holder: None,
            hold_to: 0,
            wrote: (f64::NEG_INFINITY, 0),
            last: Op::Read,
            last_end: 0,
            on_bus: 0,
            link: None,
            asked: false,
            arrivals: 0,
            next: f64::INFINITY,
            model,
        }
    }

    /// Its parameters.
    pub fn model(&self) -> &DriveModel {
        &self.model
    }

    /// Turns the platters of an idle drive by a part of a revolution.
    fn respin(&mut self, revolutions: f64) {
        self.model.mechanics.respin(revolutions);
    }

    /// Blocks that the host has sent and that are not on the medium.
    pub fn dirty_sectors(&self) -> u64 {
        (0..self.segments.len()).map(|i| self.received_dirty(i)).sum()
    }

    /// Gives a request a slot.
    fn enter(&mut self, request: DeviceRequest, stage: BusStage) -> usize {
        self.arrivals += 1;
        let durable = request.flags.intersects(Flags::FUA | Flags::PREFLUSH);
        let i = self.slots.insert(CommandSlot {
            request,
            stage,
            media: Media::Waiting,
            segment: None,
            moved: 0,
            arm_from: 0.0,
            bus_from: 0.0,
            parked: false,
            number: self.arrivals,
            fast: self.model.write.fast != FastWrite::Off && !durable,
            extra: false,
            picked: false,
            reselected: 0,
            service: ServiceBreakdown::default(),
            data_from: 0.0,
        });
        self.live.push(i);
        self.on_bus += 1;
        i
    }

    /// Parks request `i` if nothing can happen to it before its turn: takes it off the live list.
    fn park(&mut self, i: usize) {
        let slot = &mut self.slots[i];
        let waits = slot.stage == BusStage::Off && slot.media == Media::Waiting && slot.segment.is_none();
        if waits && slot.request.op.transfers() {
            slot.parked = true;
            self.parked.add(slot.park_entry(i));
            self.live.retain(|&j| j != i);
        }
    }

    /// Puts request `i` back on the live list if it is parked.
    fn unpark(&mut self, i: usize) {
        if std::mem::take(&mut self.slots[i].parked) {
            self.parked.remove(self.slots[i].park_entry(i));
            let number = self.slots[i].number;
            let place = self.live.partition_point(|&j| self.slots[j].number < number);
            self.live.insert(place, i);
        }
    }

    /// Frees the slot of request `i`.
    fn leave(&mut self, i: usize, t: f64) {
        self.finish_in_queue(i, t);
        let slot = self.slots[i];
        if let Some(s) = slot.segment {
            self.release_segment(s, &slot);
        }
        if self.holder == Some(i) {
            self.holder = None;
        }
        self.live.retain(|&j| j != i);
        self.slots.remove(i);
    }

    /// Does all that is due at `t`, in an order that does not depend on the order of the calls.
    fn run(&mut self, t: f64, out: &mut Vec<Signal>) {
        self.sync(t);
        self.fire_due(t, out);
    }

    /// Like [`Drive::run`], once the access in progress has been brought up to `t`.
    fn fire_due(&mut self, t: f64, out: &mut Vec<Signal>) {
        let mut at = 0;
        while at < self.live.len() {
            let i = self.live[at];
            if self.due(i).is_some_and(|due| due <= t) {
                self.fire(i, t, out);
            }
            // Firing removes no slot from the list.
            at += 1;
        }
        self.dispatch_and_arbitrate(t, out);
    }

    /// Grants arm and bus to the requests that wait for them, and sets the time of the next event.
    fn dispatch_and_arbitrate(&mut self, t: f64, out: &mut Vec<Signal>) {
        self.dispatch(t);
        self.arbitrate(t, out);
        self.next = self.next_time(t);
    }

    fn slot_of(&self, id: RequestId) -> Option<usize> {
        self.live.iter().copied().find(|&i| self.slots[i].id() == id && self.slots[i].stage != BusStage::Gone)
    }
}

impl Target for Drive {
    fn submit(&mut self, request: DeviceRequest, now: Nanos, out: &mut Vec<Signal>) {
        let t = now.0 as f64;
        self.sync(t);
        let until = t + self.model.overheads.per_request;
        let i = self.enter(request, BusStage::Command { until });
        self.slots[i].service.overhead = Nanos(self.model.overheads.per_request as u64);
        if until <= t {
            self.arrive(i, t, out);
        }
        self.fire_due(t, out);
    }

    fn granted(&mut self, now: Nanos, out: &mut Vec<Signal>) {
        let t = now.0 as f64;
        self.sync(t);
        self.asked = false;
        self.reselect(t, out);
        self.fire_due(t, out);
    }

    fn acknowledged(&mut self, message: Message, now: Nanos, out: &mut Vec<Signal>) {
        let t = now.0 as f64;
        self.sync(t);
        if let Some(i) = self.slot_of(message.id) {
            if self.slots[i].stage == BusStage::Sent(message.kind) {
                self.on_acknowledged(i, message.kind, t, out);
            }
        }
        self.fire_due(t, out);
    }

    fn next_event(&self) -> Option<Nanos> {
        (self.next < f64::INFINITY).then(|| Nanos(self.next.ceil() as u64))
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Signal>) {
        let t = now.0 as f64;
        while self.next <= t {
            let at = self.next;
            self.run(at, out);
            if self.next <= at {
                // The event is due by less than the clock's resolution: let the clock pass it.
                self.run(t, out);
                break;
            }
        }
    }

    fn set_block_times(&mut self, times: BlockTimes) {
        self.block = times;
    }

    fn own_block_times(&self) -> BlockTimes {
        self.model.bus.block_times
    }

    fn service(&self, id: RequestId) -> ServiceBreakdown {
        self.slot_of(id).map(|i| self.slots[i].service).unwrap_or_default()
    }

    fn capacity(&self) -> u64 {
        self.model.mechanics.geometry.capacity()
    }

    fn positions(&self) -> Option<&dyn Positions> {
        Some(self)
    }

    fn queue_depth(&self) -> u32 {
        self.model.queue_depth
    }
}

impl CommandSlot {
    fn park_entry(&self, i: usize) -> ParkedEntry {
        ParkedEntry { slot: i, first: self.unmoved(), blocks: self.end() - self.unmoved(), read: self.is_read() }
    }

    fn message(&self, kind: MessageKind) -> Signal {
        Signal::Message(Message { id: self.id(), kind })
    }
}
