//! [`ControlledDrive`]: a drive behind a smart controller with a cache, as one device (Ganger A.1.2, Figure 6.8).
//!
//! The controller and the drive are a [`Subsystem`] of their own. Requests enter the controller's cache; what it does not
//! serve goes to the drive, in an order of the controller's. The cache's memory keeps its data without power: a flush of the
//! host's has nothing to do.

use crate::{BusModel, ControllerCacheModel, Ownership};
use crate::{
    CacheControl, CacheReport, Completion, ControllerIndex, ControllerModel, Device, DeviceReport, DeviceRequest,
    Drive, MemoryCacheModel, ServiceBreakdown, SmartModel, Subsystem, SubsystemBuilder, Target,
};
use iopilot_block::{Nanos, Op, Positions, RequestId, Sectors};
use std::collections::VecDeque;

/// A drive behind a controller with a cache.
#[derive(Clone, Debug)]
pub struct ControlledDrive {
    subsystem: Subsystem<Drive>,
    controller: ControllerIndex,
    /// Longer requests are sent in pieces, one after the other.
    most: u32,
    /// What is left of those, by the name of the request.
    rest: Vec<DeviceRequest>,
    /// Requests with nothing to do.
    nothing: VecDeque<Completion>,
    done: Vec<Completion>,
}

impl ControlledDrive {
    /// `drive` on a bus of its own below a controller with this model.
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

    /// What the controller's cache did.
    pub fn cache(&self) -> CacheReport {
        self.subsystem.cache_report(self.controller).unwrap_or_default()
    }

    /// Sends the first piece of `request`, and keeps what is left.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyDevice, Catalogue, ControllerSpec, WritePolicySpec};
    use iopilot_block::{Flags, Lba};

    fn disk() -> AnyDevice {
        Catalogue::get("hp-c2247").expect("it is in the catalogue").build().expect("it is sound")
    }

    fn controlled(spec: &ControllerSpec) -> ControlledDrive {
        spec.build(&disk()).expect("it is of type drive")
    }

    fn request(id: usize, op: Op, lba: u64, sectors: u32) -> DeviceRequest {
        DeviceRequest {
            id: RequestId::from_index(id),
            op,
            lba: Lba(lba),
            sectors: Sectors(sectors),
            flags: Flags::empty(),
        }
    }

    /// Serves one request; how long it took, and whether the cache had it.
    fn serve(drive: &mut ControlledDrive, request: DeviceRequest, now: &mut Nanos) -> (Nanos, bool) {
        let (began, mut done) = (*now, Vec::new());
        drive.submit(request, began);
        while done.is_empty() {
            *now = drive.next_event().expect("a request is under way").max(*now);
            drive.advance(*now, &mut done);
        }
        assert_eq!((done.len(), done[0].id), (1, request.id));
        (done[0].at - began, done[0].service.cache_hit)
    }

    #[test]
    fn writes_are_done_in_the_cache_unless_the_policy_or_the_request_says_otherwise() {
        let time = |write, flags| {
            let mut drive = controlled(&ControllerSpec { write, ..ControllerSpec::default() });
            let mut now = Nanos::ZERO;
            serve(&mut drive, DeviceRequest { flags, ..request(0, Op::Write, 100_000, 16) }, &mut now).0
        };
        assert_eq!(time(WritePolicySpec::Back, Flags::empty()), Nanos::ZERO);
        assert_eq!(time(WritePolicySpec::Through, Flags::empty()), Nanos::ZERO);
        assert!(time(WritePolicySpec::Synchronous, Flags::empty()) > Nanos::from_millis(5));
        assert!(time(WritePolicySpec::Back, Flags::FUA) > Nanos::from_millis(5));
    }

    #[test]
    fn what_was_read_or_written_is_in_the_cache_and_a_flush_has_nothing_to_do() {
        let mut drive = controlled(&ControllerSpec::default());
        let mut now = Nanos::ZERO;
        let (first, hit) = serve(&mut drive, request(0, Op::Read, 100_000, 16), &mut now);
        assert!(first > Nanos::from_millis(5) && !hit);
        assert_eq!(serve(&mut drive, request(1, Op::Read, 100_000, 16), &mut now), (Nanos::ZERO, true));
        serve(&mut drive, request(2, Op::Write, 500_000, 16), &mut now);
        assert_eq!(serve(&mut drive, request(3, Op::Read, 500_000, 16), &mut now), (Nanos::ZERO, true));
        assert_eq!(serve(&mut drive, request(4, Op::Flush, 0, 0), &mut now).0, Nanos::ZERO);
        let cache = drive.cache();
        assert_eq!((cache.reads, cache.read_hits, cache.writes, cache.write_backs), (3, 2, 1, 0));
        assert!(!drive.cache_control().volatile);
    }

    /// Ganger, Figure 6.8: with writing out in idle time, reads find room in the cache; on demand, they wait until a dirty
    /// line has gone to the disk.
    #[test]
    fn reads_after_a_pause_are_faster_where_idle_time_was_used() {
        let read_after_a_burst = |flush_idle_ms| {
            let mut drive = controlled(&ControllerSpec { flush_idle_ms, ..ControllerSpec::default() });
            let mut now = Nanos::ZERO;
            for i in 0..128 {
                serve(&mut drive, request(0, Op::Write, i * 16_000, 16), &mut now);
            }
            now += Nanos::from_secs(30);
            drive.advance(now, &mut Vec::new());
            let mut sum = 0.0;
            for i in 0..40 {
                let (took, _) = serve(&mut drive, request(1, Op::Read, i * 16_000 + 64, 8), &mut now);
                sum += took.as_millis_f64() / 40.0;
            }
            sum
        };
        let (demand, idle) = (read_after_a_burst(None), read_after_a_burst(Some(500.0)));
        assert!(idle < 0.7 * demand, "{idle} ms in idle time, {demand} on demand");
    }

    #[test]
    fn requests_beyond_the_cache_are_served_in_pieces_and_complete_once() {
        let mut drive = controlled(&ControllerSpec { cache_kib: 32, ..ControllerSpec::default() });
        let mut now = Nanos::ZERO;
        for op in [Op::Read, Op::Write] {
            serve(&mut drive, request(7, op, 64, 1000), &mut now);
        }
        assert_eq!(drive.cache().filled, 1000);
        assert!(drive.cache().reads > 10, "in pieces of 24 KiB");
    }
}
