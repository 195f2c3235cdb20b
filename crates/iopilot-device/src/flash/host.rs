//! Requests of the host, from the command to the completion.

use super::NONE;
use super::agenda::FlashEvent;
use super::buffer::{BufferedPart, Put};
use super::device::FlashDrive;
use super::ops::{FlashOp, FlashOpKind};
use crate::{Completion, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Flags, Nanos, Op};
use std::ops::Range;

/// A request in the drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    request: DeviceRequest,
    /// The number of flash reads that it waits for.
    pending: u32,
    /// The next unit to put into the buffer.
    next: u32,
    /// When its last data reach the host.
    ready: u64,
    /// Whether the flush that came with it is still to be done.
    preflush: bool,
    service: ServiceBreakdown,
}

impl FlashDrive {
    /// Takes a request.
    pub(super) fn accept(&mut self, request: DeviceRequest) {
        let start = self.command_free.max(self.now);
        self.command_free = start + self.command;
        let latency = if request.op == Op::Read { self.read_latency } else { 0 };
        let index = request.id.index();
        let active = Active {
            request,
            pending: 0,
            next: 0,
            ready: 0,
            preflush: request.flags.contains(Flags::PREFLUSH) && !self.protected,
            service: ServiceBreakdown::default(),
        };
        if index >= self.requests.len() {
            self.requests.resize(index + 1, active);
        }
        self.requests[index] = active;
        self.outstanding += 1;
        self.agenda.push(start + latency, FlashEvent::Command(index as u32));
    }

    /// The units that a request covers, in whole or in part.
    fn units(&self, request: &DeviceRequest) -> Range<u32> {
        let size = u64::from(self.ftl.shape.unit_sectors);
        let end = request.lba.0 + u64::from(request.sectors.0);
        (request.lba.0 / size) as u32..end.div_ceil(size) as u32
    }

    /// The sectors of a unit that a request covers.
    fn mask(&self, request: &DeviceRequest, unit: u32) -> u64 {
        let size = u64::from(self.ftl.shape.unit_sectors);
        let first = u64::from(unit) * size;
        let from = request.lba.0.max(first) - first;
        let to = (request.lba.0 + u64::from(request.sectors.0)).min(first + size) - first;
        (u64::MAX >> (64 - (to - from))) << from
    }

    /// A command has been processed.
    pub(super) fn command_done(&mut self, index: u32) {
        let active = &mut self.requests[index as usize];
        let request = active.request;
        active.service.overhead = Nanos(match request.op {
            Op::Read => self.read_latency,
            _ => self.write_latency,
        });
        if active.preflush {
            self.wait_durable(index);
            return;
        }
        match request.op {
            Op::Read => self.read(index),
            Op::Write => {
                let end = self.link.receive(request.sectors.bytes(), self.now);
                self.requests[index as usize].service.transfer = Nanos(self.link.write_time(request.sectors.bytes()));
                self.agenda.push(end, FlashEvent::Received(index));
            }
            Op::Flush if self.protected => self.complete(index, self.now + self.write_latency),
            Op::Flush => self.wait_durable(index),
            Op::Discard => {
                self.discard(&request);
                self.complete(index, self.now + self.write_latency);
            }
        }
    }

    fn complete(&mut self, index: u32, at: u64) {
        self.agenda.push(at, FlashEvent::Complete(index));
    }

    /// A request is complete.
    pub(super) fn completed(&mut self, index: u32) {
        let active = &self.requests[index as usize];
        self.outstanding -= 1;
        self.done.push(Completion { id: active.request.id, at: Nanos(self.now), service: active.service });
    }

    /// The lane that reads a slot.
    pub(super) fn lane_of(&self, slot: u32) -> u32 {
        let shape = &self.ftl.shape;
        let block = shape.block_of(slot);
        let die = shape.die_of_block(block);
        if self.lanes_per_die == 1 {
            return die;
        }
        // Without multi-plane operation, consecutive blocks of a die are in different planes.
        let plane = if self.multi_plane { shape.plane_of(slot) } else { block % self.lanes_per_die };
        die * self.lanes_per_die + plane
    }

    fn read(&mut self, index: u32) {
        let request = self.requests[index as usize].request;
        self.ftl.counters.host_read_sectors += u64::from(request.sectors.0);
        let (mut from_flash, mut at_once) = (0, 0);
        let mut last: Option<(u32, u32, FlashOp)> = None;
        for unit in self.units(&request) {
            let mask = self.mask(&request, unit);
            let host_bytes = mask.count_ones() * 512;
            if self.buffer.holds(unit, mask) == BufferedPart::All {
                self.ftl.counters.buffer_read_units += 1;
                at_once += u64::from(host_bytes);
                continue;
            }
            let slot = self.ftl.slot(unit);
            if slot == NONE {
                self.ftl.counters.unmapped_read_units += 1;
                at_once += u64::from(host_bytes);
                continue;
            }
            self.ftl.counters.read_units += 1;
            let (row, lane) = (self.ftl.shape.row_of(slot), self.lane_of(slot));
            let bytes = self.on_channel(mask);
            match &mut last {
                Some((r, l, op)) if *r == row && *l == lane => {
                    op.bytes += bytes;
                    op.host_bytes += host_bytes;
                }
                _ => {
                    let die = self.ftl.shape.die_of_block(self.ftl.shape.block_of(slot));
                    let before = self.ftl.read_time(row);
                    let op = FlashOp { lane, bytes, host_bytes, before, ..FlashOp::new(FlashOpKind::Read, die, index) };
                    if let Some((.., ready)) = last.replace((row, lane, op)) {
                        from_flash += 1;
                        self.start_read(index, ready);
                    }
                }
            }
        }
        if let Some((.., ready)) = last {
            from_flash += 1;
            self.start_read(index, ready);
        }
        let ready = if at_once > 0 { self.link.send(at_once, self.now) } else { self.now };
        let active = &mut self.requests[index as usize];
        active.ready = active.ready.max(ready);
        if from_flash == 0 {
            active.service.cache_hit = true;
            active.service.transfer = Nanos(self.link.read_time(at_once));
            let at = active.ready;
            self.complete(index, at);
        }
    }

    /// Bytes on the channel for some sectors of a unit: whole code words of the error correction.
    fn on_channel(&self, mask: u64) -> u32 {
        let (from, to) = (mask.trailing_zeros(), 64 - mask.leading_zeros());
        let word = self.codeword;
        (to.div_ceil(word) - from / word) * word * 512
    }

    fn start_read(&mut self, index: u32, op: FlashOp) {
        self.requests[index as usize].pending += 1;
        let op = self.ops.add(op);
        self.queue_read(op);
    }

    /// The data of a flash read have reached the controller.
    pub(super) fn read_done(&mut self, op: &FlashOp) {
        if op.kind == FlashOpKind::Fill {
            self.buffer.filled(op.owner);
            self.admit();
            self.place();
            self.answer_durable();
            return;
        }
        let bytes = u64::from(op.host_bytes);
        let end = self.link.send(bytes, self.now);
        let channel = (f64::from(op.bytes) * self.channel_ns_per_byte).round() as u64;
        let time = op.before + channel + self.link.read_time(bytes);
        let active = &mut self.requests[op.owner as usize];
        active.ready = active.ready.max(end);
        active.pending -= 1;
        if active.pending == 0 {
            active.service.transfer = Nanos(time);
            let at = active.ready;
            self.complete(op.owner, at);
        }
    }

    /// A write's data have reached the drive; they enter the buffer in order of arrival.
    pub(super) fn received(&mut self, index: u32) {
        let request = self.requests[index as usize].request;
        self.ftl.counters.host_written_sectors += u64::from(request.sectors.0);
        self.requests[index as usize].next = self.units(&request).start;
        self.waiting.push_back(index);
        self.admit();
        self.place();
    }

    /// Puts waiting writes into the buffer while there is room.
    pub(super) fn admit(&mut self) {
        while let Some(&index) = self.waiting.front() {
            let request = self.requests[index as usize].request;
            let units = self.units(&request);
            for unit in self.requests[index as usize].next..units.end {
                match self.buffer.put(unit, self.mask(&request, unit)) {
                    Put::New => self.ftl.counters.buffered += 1,
                    Put::Coalesced => {
                        self.ftl.counters.buffered += 1;
                        self.ftl.counters.coalesced += 1;
                    }
                    Put::Full => {
                        self.requests[index as usize].next = unit;
                        return;
                    }
                }
            }
            self.waiting.pop_front();
            let durable = !self.write_back || (request.flags.contains(Flags::FUA) && !self.protected);
            if durable {
                self.wait_durable(index);
            } else {
                self.requests[index as usize].service.cache_hit = true;
                self.complete(index, self.now + self.write_latency);
            }
        }
    }

    /// The request continues once everything that is in the buffer now is in flash.
    fn wait_durable(&mut self, index: u32) {
        let ticket = self.buffer.ticket();
        self.durable.push_back((ticket, index));
        self.flush_to = ticket;
        self.answer_durable();
        self.place();
    }

    /// Continues the requests whose older buffer entries are all in flash.
    pub(super) fn answer_durable(&mut self) {
        while let Some(&(ticket, index)) = self.durable.front() {
            if self.buffer.oldest() <= ticket {
                return;
            }
            self.durable.pop_front();
            if std::mem::take(&mut self.requests[index as usize].preflush) {
                self.command_done(index);
            } else {
                self.complete(index, self.now + self.write_latency);
            }
        }
    }

    /// Discards the whole units in a request; parts of units are kept.
    fn discard(&mut self, request: &DeviceRequest) {
        let size = u64::from(self.ftl.shape.unit_sectors);
        let end = request.lba.0 + u64::from(request.sectors.0);
        let last = if end >= self.capacity_sectors { end.div_ceil(size) } else { end / size };
        for unit in request.lba.0.div_ceil(size) as u32..last as u32 {
            self.buffer.discard(unit);
            self.ftl.trim(unit);
        }
        self.place();
        self.answer_durable();
    }
}
