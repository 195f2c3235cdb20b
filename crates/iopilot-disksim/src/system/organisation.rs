//! [`LogicalOrganisation`]: a logical organisation of devices (DiskSim's `logorg`), which maps a request to accesses to
//! devices.
//!
//! It follows DiskSim's own rules, including the reads of a parity update. The arrays of `iopilot_device` are the
//! general ones.

mod copies;
mod parity;
mod plan;
mod striped;

pub(crate) use parity::ParityRotation;
pub(crate) use plan::{AccessPlan, DeviceAccess};

use crate::system::Rand48;
use iopilot_block::Op;

/// Whether requests name a device of the organisation or the organisation itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// `Parts`: a device of the organisation.
    Parts,
    /// `Array`: the organisation, by its position in the order of definition.
    Array,
}

/// How blocks are distributed over the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockSpread {
    /// At the requested address.
    AsIs,
    /// In units of this many blocks, one device after the other.
    Striped(u64),
    /// On a device drawn for each request. The address is ignored (devices of constant time only).
    Random,
    /// On each device in turn, one for each request. The address is ignored (devices of constant time only).
    Ideal,
}

/// Which copy a read goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogicalCopyChoice {
    /// The first copy.
    Primary,
    /// A random copy.
    Random,
    /// Each copy in turn.
    RoundRobin,
    /// The copy whose queue was last at the nearest block; ties are broken at random.
    Nearest,
    /// The copy with the shortest queue; ties are broken at random.
    ShortestQueue,
    /// The copy with the shortest queue; ties are broken by the nearest block.
    ShortestQueueThenNearest,
}

/// The redundancy stored besides the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LogicalRedundancy {
    /// Nothing.
    None,
    /// Copies: copy j of data device d is device d + j n, with n data devices.
    Shadowed {
        /// The number of copies; it divides the number of devices.
        copies: usize,
        /// Which copy is read.
        choice: LogicalCopyChoice,
    },
    /// Parity of each row of units.
    Parity {
        /// The position of the parity.
        rotation: ParityRotation,
        /// Rows for which it stays on the same device.
        rows: u64,
        /// A write of fewer units than this share of all devices updates parity by reading the old data and parity. A
        /// larger one reads the rest of the row.
        read_modify_write: f64,
        /// Whether every write waits for all reads of its request, not only for those it needs.
        synchronous: bool,
    },
}

/// The parameters of a [`LogicalOrganisation`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrganisationConfig {
    /// The address that requests give.
    pub(crate) addressing: Addressing,
    /// The placement of blocks.
    pub(crate) spread: BlockSpread,
    /// The redundancy.
    pub(crate) redundancy: LogicalRedundancy,
    /// The devices, by the driver's numbers.
    pub(crate) devices: Vec<u32>,
    /// Blocks of each device.
    pub(crate) blocks: u64,
}

/// The driver's queues, as the copy choices see them.
pub(crate) trait DriverQueues {
    /// Requests waiting for `device` or in service there.
    fn queued(&self, device: u32) -> usize;

    /// The distance from the last position of the queue of `device` to `lba`, in blocks.
    fn distance(&self, device: u32, lba: u64) -> u64;
}

/// A logical organisation of devices.
#[derive(Clone, Debug)]
pub(crate) struct LogicalOrganisation {
    config: OrganisationConfig,
    /// Devices that hold data addresses: all except copies and a parity device.
    data: u64,
    turn: usize,
    extents: Vec<striped::DeviceExtent>,
    rows: parity::Rows,
}

impl LogicalOrganisation {
    /// An organisation with a checked configuration.
    pub(crate) fn new(config: OrganisationConfig) -> Self {
        let n = config.devices.len() as u64;
        let data = match config.redundancy {
            LogicalRedundancy::None => n,
            LogicalRedundancy::Shadowed { copies, .. } => n / copies as u64,
            LogicalRedundancy::Parity { .. } => n - 1,
        };
        Self { config, data, turn: 0, extents: Vec::new(), rows: parity::Rows::default() }
    }

    /// Data blocks that requests may address, over all devices.
    pub(crate) fn capacity(&self) -> u64 {
        match self.config.redundancy {
            LogicalRedundancy::Parity { rotation, .. } if rotation != ParityRotation::LastDevice => {
                let n = self.config.devices.len() as f64;
                // DiskSim rounds per device, and then multiplies by the number of devices.
                (self.config.blocks as f64 * (n - 1.0) / n) as u64 * self.config.devices.len() as u64
            }
            _ => self.config.blocks * self.data,
        }
    }

    /// The start of a request to `device` at `lba`, if it lies in this organisation. `index` is the organisation's own
    /// position among all.
    pub(crate) fn locate(&self, index: u32, device: u32, lba: u64, sectors: u32) -> Option<LogicalPlace> {
        match self.config.addressing {
            Addressing::Array => {
                let inside = device == index && lba + u64::from(sectors) <= self.capacity();
                inside.then_some(LogicalPlace { part: 0, lba })
            }
            Addressing::Parts => {
                let part = self.config.devices.iter().position(|&d| d == device)?;
                (lba + u64::from(sectors) <= self.config.blocks).then_some(LogicalPlace { part, lba })
            }
        }
    }

    /// Plans the accesses for `sectors` blocks at `place`.
    pub(crate) fn plan(
        &mut self,
        place: LogicalPlace,
        sectors: u32,
        op: Op,
        queues: &dyn DriverQueues,
        random: &mut Rand48,
        plan: &mut AccessPlan,
    ) {
        plan.clear();
        let lba = match (self.config.addressing, self.config.spread) {
            (Addressing::Parts, BlockSpread::Striped(_)) => place.part as u64 * self.config.blocks + place.lba,
            _ => place.lba,
        };
        if let (
            LogicalRedundancy::Parity { rotation, rows, read_modify_write, synchronous },
            BlockSpread::Striped(unit),
        ) = (self.config.redundancy, self.config.spread)
        {
            let layout = parity::ParityLayout {
                unit,
                devices: self.config.devices.len() as u64,
                blocks: self.config.blocks,
                rotation,
                rows_per_turn: rows,
            };
            let limit = (read_modify_write * self.config.devices.len() as f64) as usize;
            self.rows.plan(&layout, lba, u64::from(sectors), op, limit, synchronous, plan);
        } else {
            self.extents.clear();
            match self.config.spread {
                BlockSpread::AsIs => {
                    self.extents.push(striped::DeviceExtent {
                        device: place.part as u64,
                        lba,
                        sectors: u64::from(sectors),
                    });
                }
                BlockSpread::Striped(unit) => {
                    let layout = striped::StripedLayout { unit, devices: self.data, blocks: self.config.blocks };
                    layout.extents(lba, u64::from(sectors), &mut self.extents);
                }
                BlockSpread::Random => {
                    let device = random.below(self.data as usize) as u64;
                    // The address is ignored here, but it must lie on the device.
                    let lba = lba % self.config.blocks.saturating_sub(u64::from(sectors)).max(1);
                    self.extents.push(striped::DeviceExtent { device, lba, sectors: u64::from(sectors) });
                }
                BlockSpread::Ideal => {
                    let device = self.turn as u64;
                    self.turn = (self.turn + 1) % self.data as usize;
                    // The address is ignored here, but it must lie on the device.
                    let lba = lba % self.config.blocks.saturating_sub(u64::from(sectors)).max(1);
                    self.extents.push(striped::DeviceExtent { device, lba, sectors: u64::from(sectors) });
                }
            }
            match self.config.redundancy {
                LogicalRedundancy::Shadowed { copies, choice } => {
                    let set = copies::Copies { copies, data: self.data, devices: &self.config.devices, choice };
                    set.plan(&self.extents, op, queues, random, &mut self.turn, plan);
                }
                _ => plan.now.extend(self.extents.iter().map(|e| e.access(op))),
            }
        }
        for access in plan.now.iter_mut().chain(plan.later.iter_mut().map(|later| &mut later.access)) {
            access.device = self.config.devices[access.device as usize];
        }
    }
}

/// The start of a request in an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogicalPlace {
    /// The device of the organisation, if requests address devices.
    pub(crate) part: usize,
    /// Block on the device or in the array.
    pub(crate) lba: u64,
}

#[cfg(test)]
mod tests;
