//! Reads: which device serves which sectors, and what is then copied to flash.

use super::device::HybridDisk;
use super::parts::{HybridSide, MemberPiece, Owner};
use crate::Device;
use iopilot_block::{Flags, Op};
use std::ops::Range;

impl<D: Device> HybridDisk<D> {
    pub(super) fn read(&mut self, index: u32, sectors: Range<u64>, flags: Flags) {
        let owner = Owner::Request(index);
        let size = self.cache.division.line;
        let mut from_disk: Option<Range<u64>> = None;
        let mut hit = true;
        for tag in sectors.start / size..sectors.end.div_ceil(size) {
            let (touched, _) = self.cache.division.masks(tag, &sectors);
            let first = tag * size;
            let here = sectors.start.max(first)..sectors.end.min(first + size);
            let line = self.cache.find(tag);
            let (valid, only) = line.map_or((0, 0), |at| {
                let line = self.cache.line(at);
                (line.valid & touched, (line.dirty | line.destaging) & touched)
            });
            if valid != touched {
                hit = false;
                self.cache.remember(tag);
                if only == 0 {
                    match &mut from_disk {
                        Some(run) if run.end == here.start => run.end = here.end,
                        run => {
                            if let Some(before) = run.replace(here) {
                                self.add(HybridSide::Disk, owner, Op::Read, before, flags);
                            }
                        }
                    }
                    continue;
                }
                // Parts that the disk does not have come from flash, the others from the disk.
                for run in self.cache.division.runs(touched & !only) {
                    let run = (first + run.start).max(here.start)..(first + run.end).min(here.end);
                    self.add(HybridSide::Disk, owner, Op::Read, run, flags);
                }
            }
            if let Some(at) = line {
                self.cache.touch(at);
                let parts = if valid == touched { touched } else { only };
                for run in self.cache.division.runs(parts) {
                    let from = (first + run.start).max(here.start) - first;
                    let to = (first + run.end).min(here.end) - first;
                    self.stats.read_hit_sectors += to - from;
                    let place = self.in_flash(at, from..to);
                    self.add(HybridSide::Flash, owner, Op::Read, place, flags);
                }
            }
        }
        if let Some(run) = from_disk {
            self.add(HybridSide::Disk, owner, Op::Read, run, flags);
        }
        self.note_hit(index, hit);
    }

    /// The disk has read sectors for the host: copies lines that were read often enough to flash.
    pub(super) fn promote(&mut self, piece: &MemberPiece) {
        self.stats.read_miss_sectors += piece.sectors;
        if piece.overtaken || piece.sectors > u64::from(self.model.promote_max_sectors) {
            return;
        }
        let sectors = piece.lba..piece.lba + piece.sectors;
        let size = self.cache.division.line;
        for tag in sectors.start / size..sectors.end.div_ceil(size) {
            let (_, covered) = self.cache.division.masks(tag, &sectors);
            if covered == 0 || !self.cache.deserves(tag) {
                continue;
            }
            let Some(line) = self.cache.admit(tag) else { continue };
            let new = covered & !self.cache.line(line).valid;
            self.cache.line_mut(line).valid |= new;
            for run in self.cache.division.runs(new) {
                self.stats.promoted_sectors += run.end - run.start;
                self.cache.line_mut(line).busy += 1;
                let place = self.in_flash(line, run);
                self.add(HybridSide::Flash, Owner::Promote { line }, Op::Write, place, Flags::empty());
            }
        }
    }
}
