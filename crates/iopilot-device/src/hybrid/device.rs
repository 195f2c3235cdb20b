//! [`HybridDisk`] as a [`Device`]: requests, reads, and background work.

use super::cache::HybridCache;
use super::model::HybridModel;
use super::parts::{HybridMember, HybridSide, MemberPiece, Owner};
use super::stats::HybridStats;
use crate::{CacheControl, Completion, Device, DeviceReport, DeviceRequest, HybridReport, ServiceBreakdown};
use iopilot_block::{Flags, Nanos, Op, Positions, Slab};
use std::ops::Range;

/// Lines that are destaged at once.
const DESTAGES: u32 = 8;
/// Background pieces allowed in a device while the host has pieces there.
const BESIDE: u32 = 4;

/// A request in the drive.
#[derive(Clone, Copy, Debug)]
struct Active {
    request: DeviceRequest,
    /// Pieces that it waits for.
    pending: u32,
    /// Whether it still has to be done after the flush that came with it.
    preflush: bool,
    /// Whether all of a read came from flash.
    hit: bool,
    service: ServiceBreakdown,
}

/// A hard disk drive with a flash cache.
#[derive(Clone, Debug)]
pub struct HybridDisk<D> {
    pub(super) model: HybridModel,
    disk: HybridMember<D>,
    flash: HybridMember<D>,
    pub(super) cache: HybridCache,
    pub(super) pieces: Slab<MemberPiece>,
    requests: Vec<Option<Active>>,
    outstanding: u32,
    destages: u32,
    /// Since when no request has been in the drive.
    idle_since: Nanos,
    pub(super) stats: HybridStats,
    done: Vec<Completion>,
    completions: Vec<Completion>,
}

impl<D: Device> HybridDisk<D> {
    /// A drive of two idle devices. The flash must have room for the lines of the model.
    pub fn new(disk: D, flash: D, model: HybridModel) -> Self {
        Self {
            cache: HybridCache::new(&model),
            model,
            disk: HybridMember::new(disk),
            flash: HybridMember::new(flash),
            pieces: Slab::new(),
            requests: Vec::new(),
            outstanding: 0,
            destages: 0,
            idle_since: Nanos::ZERO,
            stats: HybridStats::default(),
            done: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// What its cache did since time 0.
    pub fn stats(&self) -> HybridStats {
        HybridStats {
            evicted_lines: self.cache.evicted,
            refused_lines: self.cache.refused,
            lines_used: self.cache.used(),
            lines_dirty: self.cache.dirty_lines,
            ..self.stats
        }
    }

    pub(super) fn add(&mut self, side: HybridSide, owner: Owner, op: Op, sectors: Range<u64>, flags: Flags) {
        let length = sectors.end - sectors.start;
        let piece = MemberPiece { side, owner, op, lba: sectors.start, sectors: length, flags, overtaken: false };
        let index = self.pieces.insert(piece);
        if let Owner::Request(request) = owner {
            if let Some(active) = &mut self.requests[request as usize] {
                active.pending += 1;
            }
        }
        match side {
            HybridSide::Disk => self.disk.push(index, &piece),
            HybridSide::Flash => self.flash.push(index, &piece),
        }
    }

    /// The place of a line's sectors in flash.
    pub(super) fn in_flash(&self, line: u32, within: Range<u64>) -> Range<u64> {
        let start = u64::from(line) * self.cache.division.line;
        start + within.start..start + within.end
    }

    /// Divides a request into pieces.
    fn start(&mut self, index: u32) {
        let Some(active) = self.requests[index as usize] else { return };
        let request = active.request;
        let sectors = request.lba.0..request.lba.0 + u64::from(request.sectors.0);
        let owner = Owner::Request(index);
        if active.preflush || request.op == Op::Flush {
            for side in [HybridSide::Disk, HybridSide::Flash] {
                self.add(side, owner, Op::Flush, 0..0, Flags::empty());
            }
            return;
        }
        let flags = request.flags - Flags::PREFLUSH;
        match request.op {
            Op::Read => self.read(index, sectors, flags),
            Op::Write => self.write(owner, sectors, flags),
            _ => self.discard(owner, sectors),
        }
    }

    /// Records whether all of a read comes from flash.
    pub(super) fn note_hit(&mut self, index: u32, hit: bool) {
        if let Some(active) = &mut self.requests[index as usize] {
            active.hit = hit;
        }
    }

    /// Starts destages if the drive is idle or has too many dirty lines.
    fn destage(&mut self, now: Nanos) {
        let idle = self.outstanding == 0 && now >= self.idle_since + self.model.destage_idle;
        while self.destages < DESTAGES && (idle || self.cache.dirty_lines > self.model.dirty_limit_lines) {
            let Some((line, mask)) = self.cache.next_dirty() else { return };
            self.destages += 1;
            for run in self.cache.division.runs(mask) {
                self.cache.line_mut(line).busy += 1;
                let place = self.in_flash(line, run.clone());
                let owner = Owner::DestageRead { line, mask };
                self.add(HybridSide::Flash, owner, Op::Read, place, Flags::empty());
            }
            // The line was counted once more when it was taken.
            self.release(line, mask);
        }
    }

    /// Ends a piece of work on a line; the last one ends its destage.
    fn release(&mut self, line: u32, mask: u64) {
        let l = self.cache.line_mut(line);
        l.busy -= 1;
        if l.busy == 0 && l.destaging != 0 && mask != 0 {
            l.destaging = 0;
            self.destages -= 1;
        }
    }

    fn piece_done(&mut self, index: u32, completion: &Completion) {
        let piece = *self.pieces.remove(index);
        match piece.side {
            HybridSide::Disk => self.disk.completed(&piece),
            HybridSide::Flash => self.flash.completed(&piece),
        }
        match piece.owner {
            Owner::Request(request) => {
                if piece.op == Op::Read && piece.side == HybridSide::Disk {
                    self.promote(&piece);
                }
                self.answer(request, &piece, completion);
            }
            Owner::Promote { line } => {
                let mask = self.cache.line(line).destaging;
                self.release(line, mask);
            }
            Owner::DestageRead { line, mask } => {
                let start = self.cache.tag(line) * self.cache.division.line;
                let offset = piece.lba - self.in_flash(line, 0..0).start;
                let place = start + offset..start + offset + piece.sectors;
                self.stats.destaged_sectors += piece.sectors;
                self.add(HybridSide::Disk, Owner::DestageWrite { line, mask }, Op::Write, place, Flags::empty());
            }
            Owner::DestageWrite { line, mask } => self.release(line, mask),
        }
    }

    fn answer(&mut self, index: u32, piece: &MemberPiece, completion: &Completion) {
        let Some(active) = &mut self.requests[index as usize] else { return };
        active.pending -= 1;
        active.service = completion.service;
        if active.pending > 0 {
            return;
        }
        if active.preflush && piece.op == Op::Flush {
            active.preflush = false;
            self.start(index);
            return;
        }
        let mut service = active.service;
        service.cache_hit |= active.hit && active.request.op == Op::Read;
        let completion = Completion { id: active.request.id, at: completion.at, service };
        self.requests[index as usize] = None;
        self.outstanding -= 1;
        self.idle_since = completion.at;
        self.done.push(completion);
    }

    fn send(&mut self, now: Nanos) {
        self.destage(now);
        let pressed = self.cache.dirty_lines > self.model.dirty_limit_lines;
        self.disk.send(&self.pieces, if pressed { BESIDE } else { 0 }, now);
        self.flash.send(&self.pieces, BESIDE, now);
    }

    /// When the drive will have been idle long enough to destage.
    fn idle_event(&self) -> Option<Nanos> {
        let waits = self.outstanding == 0 && self.cache.dirty_lines > 0 && self.destages == 0;
        waits.then(|| self.idle_since + self.model.destage_idle)
    }

    fn next_inside(&self) -> Option<Nanos> {
        [self.disk.next_event(), self.flash.next_event(), self.idle_event()].into_iter().flatten().min()
    }

    fn run_to(&mut self, now: Nanos) {
        while let Some(at) = self.next_inside().filter(|&at| at <= now) {
            let mut completions = std::mem::take(&mut self.completions);
            self.disk.advance(at, &mut completions);
            self.flash.advance(at, &mut completions);
            for completion in completions.drain(..) {
                self.piece_done(completion.id.index() as u32, &completion);
            }
            self.completions = completions;
            self.send(at);
        }
    }
}

impl<D: Device> Device for HybridDisk<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.run_to(now);
        let index = request.id.index();
        if index >= self.requests.len() {
            self.requests.resize(index + 1, None);
        }
        self.requests[index] = Some(Active {
            request,
            pending: 0,
            preflush: request.op != Op::Flush && request.flags.contains(Flags::PREFLUSH),
            hit: false,
            service: ServiceBreakdown::default(),
        });
        self.outstanding += 1;
        self.start(index as u32);
        self.send(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        match self.done.first() {
            Some(completion) => Some(completion.at),
            None => self.next_inside(),
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.run_to(now);
        out.append(&mut self.done);
    }

    fn capacity(&self) -> u64 {
        self.disk.device.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.disk.device.queue_depth()
    }

    fn cache_control(&self) -> CacheControl {
        self.disk.device.cache_control()
    }

    fn positions(&self) -> Option<&dyn Positions> {
        self.disk.device.positions()
    }

    fn report(&self) -> Option<DeviceReport> {
        let ssd = match self.flash.device.report() {
            Some(DeviceReport::Ssd(ssd)) => Some(ssd),
            _ => None,
        };
        Some(DeviceReport::Hybrid(HybridReport { cache: self.stats(), ssd }))
    }

    fn respin(&mut self, revolutions: f64) {
        self.disk.device.respin(revolutions);
    }
}
