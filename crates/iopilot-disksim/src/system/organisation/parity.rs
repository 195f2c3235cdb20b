//! Rows of units with parity: the reads, writes and dependencies of a write.

use crate::system::organisation::plan::WaitingWrite;
use crate::system::organisation::{AccessPlan, DeviceAccess};
use iopilot_block::Op;

/// The position of the parity of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParityRotation {
    /// Always on the last device (RAID 4).
    LastDevice,
    /// Moving left; data start behind the parity (DiskSim's type 1).
    LeftSymmetric,
    /// Moving left; data ascend from the first device (type 2).
    LeftAsymmetric,
    /// Moving right; data ascend from the first device (type 3).
    RightAsymmetric,
    /// Moving right; data start behind the parity (type 4).
    RightSymmetric,
}

/// Accesses on one device with at most this gap are joined, including the blocks between them.
const GAP: u64 = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct ParityLayout {
    pub(super) unit: u64,
    pub(super) devices: u64,
    pub(super) blocks: u64,
    pub(super) rotation: ParityRotation,
    /// Rows for which parity stays on the same device.
    pub(super) rows_per_turn: u64,
}

impl ParityLayout {
    fn parity_device(&self, row: u64) -> u64 {
        let turn = row / self.rows_per_turn.max(1) % self.devices;
        match self.rotation {
            ParityRotation::LastDevice => self.devices - 1,
            ParityRotation::LeftSymmetric | ParityRotation::LeftAsymmetric => self.devices - 1 - turn,
            ParityRotation::RightSymmetric | ParityRotation::RightAsymmetric => turn,
        }
    }

    fn data_device(&self, row: u64, unit: u64) -> u64 {
        let parity = self.parity_device(row);
        match self.rotation {
            ParityRotation::LeftSymmetric | ParityRotation::RightSymmetric => (parity + 1 + unit) % self.devices,
            _ => unit + u64::from(unit >= parity),
        }
    }

    /// Row, unit of the row and offset in it of block `a`, and the length of that row's units. The remainder of each
    /// device after the last whole unit forms one more row of smaller units.
    fn place(&self, a: u64) -> (u64, u64, u64, u64) {
        let (data, rows) = (self.devices - 1, self.blocks / self.unit);
        let full = rows * self.unit * data;
        if a < full {
            (a / self.unit / data, a / self.unit % data, a % self.unit, self.unit)
        } else {
            let unit = self.blocks % self.unit;
            (rows, (a - full) / unit, (a - full) % unit, unit)
        }
    }

    #[cfg(test)]
    pub(super) fn devices_of(&self, row: u64) -> (u64, Vec<u64>) {
        (self.parity_device(row), (0..self.devices - 1).map(|unit| self.data_device(row, unit)).collect())
    }
}

/// The part of a write within one row.
#[derive(Clone, Copy, Debug)]
struct Piece {
    unit: u64,
    offset: u64,
    sectors: u64,
}

/// Buffers reused from request to request.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pieces: Vec<Piece>,
    reads: Vec<DeviceAccess>,
    writes: Vec<DeviceAccess>,
}

impl Rows {
    /// Plans `sectors` blocks from `a`. Writes of fewer than `limit` units of a row read the old data and parity.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn plan(
        &mut self,
        layout: &ParityLayout,
        mut a: u64,
        mut sectors: u64,
        op: Op,
        limit: usize,
        synchronous: bool,
        plan: &mut AccessPlan,
    ) {
        self.reads.clear();
        self.writes.clear();
        // Only the first and the last row can be partial, so two bits distinguish their reads.
        let (mut mask, mut first) = (1, true);
        while sectors > 0 {
            let (row, ..) = layout.place(a);
            self.pieces.clear();
            while sectors > 0 {
                let (this, unit, offset, length) = layout.place(a);
                if this != row {
                    break;
                }
                let n = (length - offset).min(sectors);
                self.pieces.push(Piece { unit, offset, sectors: n });
                a += n;
                sectors -= n;
            }
            let start = row * layout.unit;
            for piece in &self.pieces {
                let device = layout.data_device(row, piece.unit) as u32;
                let access =
                    DeviceAccess { device, lba: start + piece.offset, sectors: piece.sectors as u32, op, rows: 0 };
                if op == Op::Read { &mut self.reads } else { &mut self.writes }.push(access);
            }
            if op != Op::Read {
                let (_, _, _, unit) = layout.place(a - 1);
                let whole = first && sectors == 0;
                self.parity(layout, row, unit, limit, whole, &mut mask);
            }
            first = false;
        }
        join(&mut self.reads);
        join(&mut self.writes);
        plan.now.extend_from_slice(&self.reads);
        plan.later.extend(self.writes.iter().map(|&access| WaitingWrite { access, waits: 0 }));
        plan.settle(synchronous);
    }

    /// Adds the parity writes of the row in `pieces`, whose units are `unit` blocks long, and the reads they need.
    fn parity(&mut self, layout: &ParityLayout, row: u64, unit: u64, limit: usize, whole: bool, mask: &mut u8) {
        let pieces = std::mem::take(&mut self.pieces);
        match pieces[..] {
            // Two units of one row whose ranges do not overlap have two parity extents.
            [a, b] if whole && b.offset + b.sectors < a.offset => {
                self.update(layout, row, &[b], (b.offset, b.sectors), limit, mask);
                self.update(layout, row, &[a], (a.offset, a.sectors), limit, mask);
            }
            [one] => self.update(layout, row, &pieces, (one.offset, one.sectors), limit, mask),
            _ => self.update(layout, row, &pieces, (0, unit), limit, mask),
        }
        self.pieces = pieces;
    }

    /// Adds a parity write of the blocks `from..from + length` of `row`'s units for the data written in `pieces`, and
    /// the reads it needs.
    fn update(
        &mut self,
        layout: &ParityLayout,
        row: u64,
        pieces: &[Piece],
        parity: (u64, u64),
        limit: usize,
        mask: &mut u8,
    ) {
        let (from, length) = parity;
        let start = row * layout.unit;
        let parity = layout.parity_device(row);
        let access = |device: u64, offset: u64, sectors: u64, op, rows| DeviceAccess {
            device: device as u32,
            lba: start + offset,
            sectors: sectors as u32,
            op,
            rows,
        };
        if pieces.len() as u64 == layout.devices - 1 {
            self.writes.push(access(parity, from, length, Op::Write, 0));
            return;
        }
        let rows = *mask;
        *mask <<= 1;
        self.writes.push(access(parity, from, length, Op::Write, rows));
        let mut read = |device, offset, sectors| {
            if sectors > 0 {
                self.reads.push(access(device, offset, sectors, Op::Read, rows));
            }
        };
        if pieces.len() < limit {
            for piece in pieces {
                read(layout.data_device(row, piece.unit), piece.offset, piece.sectors);
            }
            read(parity, from, length);
        } else {
            for unit in 0..layout.devices - 1 {
                let device = layout.data_device(row, unit);
                match pieces.iter().find(|piece| piece.unit == unit) {
                    Some(piece) => {
                        let end = piece.offset + piece.sectors;
                        read(device, from, piece.offset.saturating_sub(from));
                        read(device, end, (from + length).saturating_sub(end));
                    }
                    None => read(device, from, length),
                }
            }
        }
    }
}

/// Joins accesses on one device with small gaps between them. The remaining accesses on a device are in descending
/// order, as DiskSim issues them.
fn join(accesses: &mut Vec<DeviceAccess>) {
    accesses.sort_unstable_by_key(|a| (a.device, a.lba));
    let mut kept = 0;
    for i in 0..accesses.len() {
        let this = accesses[i];
        if kept > 0 {
            let last = &mut accesses[kept - 1];
            let end = last.lba + u64::from(last.sectors);
            if last.device == this.device && this.lba <= end + GAP {
                last.sectors = (end.max(this.lba + u64::from(this.sectors)) - last.lba) as u32;
                last.rows |= this.rows;
                continue;
            }
        }
        accesses[kept] = this;
        kept += 1;
    }
    accesses.truncate(kept);
    accesses.reverse();
}
