//! Writes and discards, and their effect on the lines.

use super::device::HybridDisk;
use super::model::HybridWrite;
use super::parts::{HybridSide, Owner};
use crate::Device;
use iopilot_block::{Flags, Op};
use std::ops::Range;

impl<D: Device> HybridDisk<D> {
    pub(super) fn write(&mut self, owner: Owner, sectors: Range<u64>, flags: Flags) {
        self.overtake(&sectors);
        let size = self.cache.division.line;
        let mut to_disk: Option<Range<u64>> = None;
        for tag in sectors.start / size..sectors.end.div_ceil(size) {
            let first = tag * size;
            let here = sectors.start.max(first)..sectors.end.min(first + size);
            if self.write_line(owner, tag, &here, flags) {
                continue;
            }
            match &mut to_disk {
                Some(run) if run.end == here.start => run.end = here.end,
                run => {
                    if let Some(before) = run.replace(here) {
                        self.write_through(owner, before, flags);
                    }
                }
            }
        }
        if let Some(run) = to_disk {
            self.write_through(owner, run, flags);
        }
    }

    fn write_through(&mut self, owner: Owner, sectors: Range<u64>, flags: Flags) {
        self.stats.written_to_disk_sectors += sectors.end - sectors.start;
        self.add(HybridSide::Disk, owner, Op::Write, sectors, flags);
    }

    /// Applies a write to one line; returns whether only flash takes it.
    fn write_line(&mut self, owner: Owner, tag: u64, here: &Range<u64>, flags: Flags) -> bool {
        let (touched, covered) = self.cache.division.masks(tag, here);
        let line = match self.model.write {
            HybridWrite::Back => self.cache.admit(tag),
            _ => self.cache.find(tag),
        };
        let Some(line) = line else { return false };
        if self.model.write == HybridWrite::Around && !self.cache.line(line).pinned {
            self.cache.drop_parts(line, touched);
            return false;
        }
        let first = tag * self.cache.division.line;
        let place = self.in_flash(line, here.start - first..here.end - first);
        self.stats.written_to_flash_sectors += here.end - here.start;
        self.add(HybridSide::Flash, owner, Op::Write, place, flags);
        // A part can be in flash alone only if flash has all of it.
        let whole = touched & !covered & !self.cache.line(line).valid == 0;
        if self.model.write == HybridWrite::Back && whole {
            self.cache.make_dirty(line, touched);
            return true;
        }
        // Now the disk has the covered parts as well.
        self.cache.make_clean(line, covered);
        self.cache.line_mut(line).valid |= covered;
        false
    }

    pub(super) fn discard(&mut self, owner: Owner, sectors: Range<u64>) {
        self.overtake(&sectors);
        let size = self.cache.division.line;
        for tag in sectors.start / size..sectors.end.div_ceil(size) {
            let (_, covered) = self.cache.division.masks(tag, &sectors);
            if let Some(line) = self.cache.find(tag) {
                if !self.cache.line(line).pinned {
                    self.cache.drop_parts(line, covered);
                }
            }
        }
        self.add(HybridSide::Disk, owner, Op::Discard, sectors, Flags::empty());
    }

    /// Marks reads of these sectors in progress as out of date.
    fn overtake(&mut self, sectors: &Range<u64>) {
        for piece in self.pieces.as_mut_slice() {
            let end = piece.lba + piece.sectors;
            if piece.side == HybridSide::Disk && piece.op == Op::Read && piece.lba < sectors.end && sectors.start < end
            {
                piece.overtaken = true;
            }
        }
    }
}
