//! [`FlashDrive`] as a [`Device`].

// Import circle: `FlashDrive` owns the dies and the commands; the `impl` blocks that run them are in `dies` and `host`.
use super::NONE;
use super::agenda::{FlashAgenda, FlashEvent};
use super::buffer::FlashWriteBuffer;
use super::dies::{Channel, Die, Lane};
use super::ftl::Ftl;
use super::host::Active;
use super::link::Link;
use super::model::FlashModel;
use super::ops::Ops;
use super::stats::FlashStats;
use crate::{CacheControl, Completion, Device, DeviceReport, DeviceRequest};
use iopilot_block::Nanos;
use std::collections::VecDeque;

/// A solid-state drive.
///
/// Background work without outstanding requests (garbage collection, write-back) is computed when the next request
/// comes.
#[derive(Clone, Debug)]
pub struct FlashDrive {
    pub(super) ftl: Ftl,
    pub(super) buffer: FlashWriteBuffer,
    pub(super) ops: Ops,
    pub(super) agenda: FlashAgenda,
    pub(super) dies: Vec<Die>,
    pub(super) lanes: Vec<Lane>,
    pub(super) channels: Vec<Channel>,
    pub(super) link: Link,
    pub(super) requests: Vec<Active>,
    pub(super) outstanding: u32,
    /// Writes whose data have no room in the buffer yet.
    pub(super) waiting: VecDeque<u32>,
    /// Requests that wait until the entries up to a ticket are in flash.
    pub(super) durable: VecDeque<(u64, u32)>,
    /// Entries up to this ticket are written even if they do not fill a row.
    pub(super) flush_to: u64,
    pub(super) done: Vec<Completion>,
    pub(super) now: u64,
    pub(super) command_free: u64,
    pub(super) placement_free: u64,
    /// Whether an event for the next placement is scheduled.
    pub(super) placement_due: bool,
    pub(super) last_placed: u32,
    /// The next position in striping order.
    pub(super) stripe: u32,
    pub(super) row_units: Vec<u32>,
    pub(super) row_entries: Vec<u32>,

    // Constants of the model, in the units used here.
    pub(super) capacity_sectors: u64,
    queue_depth: u32,
    queues: u16,
    cache_control: CacheControl,
    pub(super) lanes_per_die: u32,
    pub(super) multi_plane: bool,
    pub(super) codeword: u32,
    pub(super) program: Vec<u64>,
    pub(super) erase: u64,
    pub(super) channel_ns_per_byte: f64,
    pub(super) suspend: Option<u64>,
    /// How long a change waits for reads.
    pub(super) patience: u64,
    pub(super) command: u64,
    pub(super) read_latency: u64,
    pub(super) write_latency: u64,
    pub(super) write_back: bool,
    pub(super) protected: bool,
    /// Dirty entries that stay in the buffer.
    pub(super) keep: u32,
    pub(super) placement: u64,
    pub(super) copy_back: bool,
}

impl FlashDrive {
    /// An idle drive. The model must come from a checked description.
    pub fn new(model: &FlashModel) -> Self {
        let ftl = Ftl::new(model);
        let n = &model.nand;
        let lanes_per_die = if n.independent_plane_reads { n.planes_per_die } else { 1 };
        let dies = ftl.shape.dies as usize;
        let unit = u64::from(model.ftl.unit_sectors);
        let program: Vec<u64> = n.program.iter().map(|t| t.0).collect();
        Self {
            buffer: FlashWriteBuffer::new((model.buffer.sectors / unit) as u32, model.ftl.unit_sectors),
            ops: Ops::new(),
            agenda: FlashAgenda::default(),
            dies: vec![Die::IDLE; dies],
            lanes: vec![Lane::IDLE; dies * lanes_per_die as usize],
            channels: vec![Channel::IDLE; n.channels as usize],
            link: Link::new(&model.host),
            requests: Vec::new(),
            outstanding: 0,
            waiting: VecDeque::new(),
            durable: VecDeque::new(),
            flush_to: 0,
            done: Vec::new(),
            now: 0,
            command_free: 0,
            placement_free: 0,
            placement_due: false,
            last_placed: NONE - 1,
            stripe: 0,
            row_units: Vec::with_capacity(ftl.shape.units_per_row as usize),
            row_entries: Vec::with_capacity(ftl.shape.units_per_row as usize),
            capacity_sectors: model.capacity,
            queue_depth: model.host.queue_depth,
            queues: model.host.queues,
            cache_control: model.host.cache_control,
            lanes_per_die,
            multi_plane: n.multi_plane,
            codeword: n.codeword_sectors,
            patience: 4 * program.iter().copied().max().unwrap_or(0),
            program,
            erase: n.erase.0,
            channel_ns_per_byte: n.channel_ns_per_byte,
            suspend: n.suspend.map(|t| t.0),
            command: model.host.command.0,
            read_latency: model.host.read_latency.0,
            write_latency: model.host.write_latency.0,
            write_back: model.buffer.write_back,
            protected: model.buffer.power_loss_protected,
            keep: (model.buffer.keep_sectors / unit) as u32,
            placement: model.ftl.placement.0,
            copy_back: model.ftl.copy_back,
            ftl,
        }
    }

    /// What the drive did since time 0.
    pub fn stats(&self) -> FlashStats {
        FlashStats::new(&self.ftl.counters, self.ftl.erases(), self.ftl.shape.unit_bytes)
    }

    fn run_to(&mut self, now: u64) {
        while self.agenda.first().is_some_and(|at| at <= now) {
            let Some((at, event)) = self.agenda.pop() else { break };
            self.now = at;
            match event {
                FlashEvent::Command(request) => self.command_done(request),
                FlashEvent::Received(request) => self.received(request),
                FlashEvent::Read(lane) => self.lane_read(lane),
                FlashEvent::Array(die) => self.array_done(die),
                FlashEvent::Channel(channel) => self.channel_done(channel),
                FlashEvent::Place => {
                    self.placement_due = false;
                    self.place();
                }
                FlashEvent::Complete(request) => self.completed(request),
            }
        }
        self.now = now;
    }
}

impl Device for FlashDrive {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.run_to(now.0);
        self.accept(request);
    }

    fn next_event(&self) -> Option<Nanos> {
        match self.done.first() {
            Some(completion) => Some(completion.at),
            None if self.outstanding > 0 => self.agenda.first().map(Nanos),
            None => None,
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.run_to(now.0);
        out.append(&mut self.done);
    }

    fn capacity(&self) -> u64 {
        self.capacity_sectors
    }

    fn queue_depth(&self) -> u32 {
        self.queue_depth
    }

    fn hardware_queues(&self) -> u16 {
        self.queues
    }

    fn cache_control(&self) -> CacheControl {
        self.cache_control
    }

    fn report(&self) -> Option<DeviceReport> {
        Some(DeviceReport::Ssd(self.stats()))
    }
}
