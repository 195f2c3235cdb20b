//! [`SubsystemBuilder`]: puts a subsystem together, from the top.

use crate::bus::{Bus, BusModel, Ownership};
use crate::controller::{Chip, ControllerModel, Smart};
use crate::topology::{Controller, ControllerKind, Station, Subsystem};
use crate::{BlockTimes, Target};
use iopilot_block::{EventQueue, Nanos, Slab};
use std::collections::VecDeque;
use std::fmt;

/// A bus of a [`SubsystemBuilder`] or of the [`Subsystem`] it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusIndex(pub(super) usize);

/// A controller of a [`SubsystemBuilder`] or of the [`Subsystem`] it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerIndex(pub(super) usize);

/// Why a tree of buses, controllers and devices cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubsystemFault {
    /// The device with this number is attached to the host's own bus.
    NoController(usize),
    /// Two 53C700-like controllers are on the path to the device with this number; they cannot pass data to each
    /// other.
    TwoChips(usize),
}

impl fmt::Display for SubsystemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoController(device) => write!(f, "no controller above device {device}"),
            Self::TwoChips(device) => write!(f, "two 53C700-like controllers above device {device}"),
        }
    }
}

impl std::error::Error for SubsystemFault {}

/// A subsystem in the making: buses below the host or a controller, controllers and devices on buses. Units on a bus
/// get slots in the order in which they are attached.
#[derive(Debug)]
pub struct SubsystemBuilder<T> {
    buses: Vec<Node>,
    controllers: Vec<Controller>,
    /// The time of a block in each controller.
    block_times: Vec<f64>,
    devices: Vec<(T, usize, usize)>,
}

#[derive(Debug)]
struct Node {
    model: BusModel,
    master: Option<usize>,
    slots: usize,
}

impl<T: Target> SubsystemBuilder<T> {
    /// An empty builder.
    pub fn new() -> Self {
        Self { buses: Vec::new(), controllers: Vec::new(), block_times: Vec::new(), devices: Vec::new() }
    }

    /// Adds a bus below `master`, or below the host.
    pub fn bus(&mut self, master: Option<ControllerIndex>, model: BusModel) -> BusIndex {
        self.buses.push(Node { model, master: master.map(|c| c.0), slots: 1 });
        BusIndex(self.buses.len() - 1)
    }

    /// Attaches a controller to `bus`.
    pub fn controller(&mut self, bus: BusIndex, model: ControllerModel) -> ControllerIndex {
        let (kind, delay, block_time) = match model {
            ControllerModel::PassThrough { delay } => (ControllerKind::PassThrough, delay, 0.0),
            ControllerModel::Scsi53c700 { delay, block_time } => {
                (ControllerKind::Chip(Chip::default()), delay, block_time)
            }
            ControllerModel::Smart(model) => {
                let (delay, block_time) = (model.delay, model.block_time);
                (ControllerKind::Smart(Box::new(Smart::new(*model))), delay, block_time)
            }
        };
        let slot = self.slot(bus);
        // The host's own bus has no arbitration.
        let above = self.buses[bus.0].master.map(|_| (bus.0, slot));
        self.controllers.push(Controller { kind, above, delay });
        self.block_times.push(block_time);
        ControllerIndex(self.controllers.len() - 1)
    }

    /// Attaches a device to `bus`, which must have a controller above it. Returns the device's number: devices are
    /// numbered in the order in which they are attached.
    pub fn device(&mut self, bus: BusIndex, target: T) -> usize {
        let slot = self.slot(bus);
        self.device_in_slot(bus, slot, target)
    }

    /// Attaches a device in a slot that [`SubsystemBuilder::slot`] reserved: for devices whose numbers do not follow
    /// the order of their slots.
    pub fn device_in_slot(&mut self, bus: BusIndex, slot: usize, target: T) -> usize {
        self.devices.push((target, bus.0, slot));
        self.devices.len() - 1
    }

    /// Reserves the next slot of `bus`.
    pub fn slot(&mut self, bus: BusIndex) -> usize {
        let node = &mut self.buses[bus.0];
        node.slots += 1;
        node.slots - 1
    }

    /// Builds the subsystem, and tells each device the time of a block on its path.
    ///
    /// # Errors
    /// If the tree cannot work.
    pub fn build(self) -> Result<Subsystem<T>, SubsystemFault> {
        let Self { buses, mut controllers, block_times, devices } = self;
        let mut stations = Vec::with_capacity(devices.len());
        for (device, (mut target, bus, slot)) in devices.into_iter().enumerate() {
            let mut path = Vec::new();
            let mut master = buses[bus].master;
            while let Some(controller) = master {
                path.push(controller);
                master = controllers[controller].above.and_then(|(bus, _)| buses[bus].master);
            }
            path.reverse();
            let chips = path.iter().filter(|&&c| matches!(controllers[c].kind, ControllerKind::Chip(_))).count();
            match (path.len(), chips) {
                (0, _) => return Err(SubsystemFault::NoController(device)),
                (_, 0 | 1) => {}
                _ => return Err(SubsystemFault::TwoChips(device)),
            }
            let mut times = buses[bus].model.block_times.slower(target.own_block_times());
            for &controller in path.iter().rev() {
                // The first store-and-forward controller moves the data itself; those above it do not see them.
                if !matches!(controllers[controller].kind, ControllerKind::PassThrough) {
                    let own = block_times[controller];
                    times = times.slower(BlockTimes { read: own, write: own });
                    break;
                }
            }
            target.set_block_times(times);
            let at_once = |&c: &usize| {
                let Controller { kind, above, delay } = &controllers[c];
                let free = above.is_none_or(|(bus, _)| buses[bus].model.ownership == Ownership::Shared);
                matches!(kind, ControllerKind::PassThrough) && free && *delay == Nanos::ZERO
            };
            let immediate = path.iter().all(at_once);
            stations.push(Station { target, bus, slot, path, immediate, scheduled: None });
        }
        let capacities: Vec<u64> = stations.iter().map(|s| s.target.capacity()).collect();
        for controller in &mut controllers {
            if let ControllerKind::Smart(smart) = &mut controller.kind {
                smart.set_devices(&capacities);
            }
        }
        Ok(Subsystem {
            buses: buses.into_iter().map(|node| Bus::new(node.model)).collect(),
            controllers,
            devices: stations,
            flights: Slab::new(),
            agenda: EventQueue::new(),
            work: VecDeque::new(),
            signals: Vec::new(),
            actions: Vec::new(),
            done: Vec::new(),
            now: Nanos::ZERO,
        })
    }
}

impl<T: Target> Default for SubsystemBuilder<T> {
    fn default() -> Self {
        Self::new()
    }
}
