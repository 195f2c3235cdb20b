//! [`ControlledDrive`]: a drive behind a smart controller with a cache, as one device (Ganger A.1.2, Figure 6.8).
//!
//! The controller and the drive are a [`Subsystem`] of their own. Requests enter the controller's cache. Misses and
//! write-backs go to the drive in the controller's order. The cache memory is non-volatile, so a flush by the host
//! does nothing.

use crate::{BusModel, ControllerCacheModel, Ownership};
use crate::{
    ControllerCacheReport, ControllerIndex, ControllerModel, Drive, MemoryCacheModel, SmartModel, Subsystem,
    SubsystemBuilder, Target,
};
use iopilot_block::{Nanos, Op, Positions, RequestId, Sectors};
use iopilot_device::{CacheControl, Completion, Device, DeviceReport, DeviceRequest, ServiceBreakdown};
use std::collections::VecDeque;

/// A drive behind a controller with a cache.
#[derive(Clone, Debug)]
pub struct ControlledDrive {
    subsystem: Subsystem<Drive>,
    controller: ControllerIndex,
    /// The largest request of the cache; longer ones are sent in pieces, one after the other.
    most: u32,
    /// The rest of each longer request, by its id.
    rest: Vec<DeviceRequest>,
    /// Requests that need no work.
    nothing: VecDeque<Completion>,
    done: Vec<Completion>,
}

impl ControlledDrive {
    /// `drive` on a bus of its own, below a controller with this model.
    pub fn new(drive: Drive, model: SmartModel) -> Self {
        let most = match &model.cache {
            ControllerCacheModel::Memory(MemoryCacheModel { size, max_request, .. }) if *size > 0 => *max_request,
            _ => u32::MAX,
        };
        let mut builder = SubsystemBuilder::new();
        let top = builder.bus(None, BusModel { ownership: Ownership::Shared, ..BusModel::default() });
        let controller = builder.controller(top, ControllerModel::Smart(Box::new(model)));
        let bus = builder.bus(Some(controller), BusModel::default());
        builder.device(bus, drive);
        let subsystem = builder.build().expect("one controller is above the drive");
        Self { subsystem, controller, most, rest: Vec::new(), nothing: VecDeque::new(), done: Vec::new() }
    }

    /// The drive.
    pub fn drive(&self) -> &Drive {
        self.subsystem.device(0)
    }

    /// The statistics of the controller's cache.
    pub fn cache(&self) -> ControllerCacheReport {
        self.subsystem.cache_report(self.controller).unwrap_or_default()
    }

    /// Sends the first piece of `request`, and keeps the rest.
    fn send(&mut self, request: DeviceRequest, now: Nanos) {
        let sectors = Sectors(request.sectors.0.min(self.most));
        if sectors < request.sectors {
            let left = Sectors(request.sectors.0 - sectors.0);
            self.rest.push(DeviceRequest { lba: request.lba + sectors, sectors: left, ..request });
        }
        self.subsystem.submit(0, DeviceRequest { sectors, ..request }, now);
    }

    fn rest_of(&mut self, id: RequestId) -> Option<DeviceRequest> {
        let at = self.rest.iter().position(|request| request.id == id)?;
        Some(self.rest.swap_remove(at))
    }
}

impl Device for ControlledDrive {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        if matches!(request.op, Op::Read | Op::Write) && request.sectors.0 > 0 {
            self.send(request, now);
        } else {
            self.nothing.push_back(Completion { id: request.id, at: now, service: ServiceBreakdown::default() });
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.nothing.front().map(|done| done.at).or_else(|| self.subsystem.next_event())
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        out.extend(self.nothing.drain(..));
        loop {
            let mut done = std::mem::take(&mut self.done);
            let at = self.subsystem.advance_to_completion(now, &mut done);
            let over = done.is_empty();
            for completion in done.drain(..) {
                match self.rest_of(completion.id) {
                    Some(rest) => self.send(rest, at),
                    None => out.push(completion),
                }
            }
            self.done = done;
            if over {
                return;
            }
        }
    }

    fn capacity(&self) -> u64 {
        Target::capacity(self.drive())
    }

    fn queue_depth(&self) -> u32 {
        self.subsystem.limits(0).depth
    }

    fn cache_control(&self) -> CacheControl {
        CacheControl { volatile: false, ..CacheControl::default() }
    }

    fn positions(&self) -> Option<&dyn Positions> {
        self.subsystem.positions(0)
    }

    fn report(&self) -> Option<DeviceReport> {
        Some(DeviceReport::Controller(self.cache().into()))
    }
}
