//! Striping without parity.

use crate::system::organisation::DeviceAccess;
use iopilot_block::Op;

/// A run of blocks on one device of an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceExtent {
    /// The position of the device in the organisation.
    pub(super) device: u64,
    pub(super) lba: u64,
    pub(super) sectors: u64,
}

impl DeviceExtent {
    pub(super) fn access(&self, op: Op) -> DeviceAccess {
        DeviceAccess { device: self.device as u32, lba: self.lba, sectors: self.sectors as u32, op, rows: 0 }
    }
}

/// Units of `unit` blocks, one device after the other. The remainder of each device after the last whole unit forms one
/// more row of smaller units.
pub(super) struct StripedLayout {
    pub(super) unit: u64,
    pub(super) devices: u64,
    pub(super) blocks: u64,
}

impl StripedLayout {
    /// The place of block `a`, and the number of blocks left in its unit, including itself.
    pub(super) fn place(&self, a: u64) -> (u64, u64, u64) {
        let rows = self.blocks / self.unit;
        let full = rows * self.unit * self.devices;
        if a < full {
            let unit = a / self.unit;
            let offset = a % self.unit;
            (unit % self.devices, unit / self.devices * self.unit + offset, self.unit - offset)
        } else {
            let unit = self.blocks % self.unit;
            let (index, offset) = ((a - full) / unit, (a - full) % unit);
            (index, rows * self.unit + offset, unit - offset)
        }
    }

    /// One extent for each device that `sectors` blocks from `a` touch, in the order of first touch. The units of one
    /// device are consecutive there.
    pub(super) fn extents(&self, mut a: u64, mut sectors: u64, out: &mut Vec<DeviceExtent>) {
        let first = out.len();
        while sectors > 0 {
            let (device, lba, left) = self.place(a);
            let n = left.min(sectors);
            match out[first..].iter_mut().find(|e| e.device == device) {
                Some(extent) => extent.sectors += n,
                None => out.push(DeviceExtent { device, lba, sectors: n }),
            }
            a += n;
            sectors -= n;
        }
    }
}
