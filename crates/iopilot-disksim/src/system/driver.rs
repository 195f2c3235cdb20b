//! [`Driver`]: the device driver's queues, and the limits of outstanding accesses at devices and controllers.

use crate::system::organisation::{DeviceAccess, DriverQueues};
use iopilot_block::{Criticality, Lba, Nanos, Positions, RequestId, Sectors, Slab};
use iopilot_sched::{IoQueue, IoQueueConfig, IoRequest};
use iopilot_scsi::DeviceLimits;

/// An access of a request to one device, from the driver's queue to its completion.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriverJob {
    pub(super) access: DeviceAccess,
    /// The request it belongs to.
    pub(super) request: u32,
    pub(super) arrived: Nanos,
    pub(super) issued: Nanos,
    /// The blocks sent under this number: the access, or several merged ones.
    pub(super) lba: u64,
    pub(super) sectors: u32,
    /// Blocks sent so far, if it must be sent in pieces.
    pub(super) sent: u32,
    /// The times in the queue and at the device, from the trace.
    pub(super) traced: Option<(Nanos, Nanos)>,
}

#[derive(Clone, Debug)]
struct DeviceQueue {
    queue: IoQueue,
    limits: DeviceLimits,
    outstanding: u32,
    /// The end of the last access that left the queue.
    position: u64,
}

/// The driver's queues.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    devices: Vec<DeviceQueue>,
    /// Accesses outstanding at each controller that limits them.
    at_controller: Vec<u32>,
    /// Whether more than one access may be outstanding at a device.
    queueing: bool,
    jobs: Slab<DriverJob>,
    also: Vec<RequestId>,
}

/// An access to be sent now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) job: u32,
    pub(super) lba: u64,
    pub(super) sectors: u32,
}

impl Driver {
    /// Makes one queue for each device.
    pub(super) fn new(queue: &IoQueueConfig, limits: Vec<(DeviceLimits, u64)>, queueing: bool) -> Self {
        let controllers = limits.iter().filter_map(|(l, _)| l.controller).max().map_or(0, |c| c + 1);
        let device = |(limits, capacity)| DeviceQueue {
            queue: IoQueue::new(IoQueueConfig { capacity, ..queue.clone() }),
            limits,
            outstanding: 0,
            position: 0,
        };
        Self {
            devices: limits.into_iter().map(device).collect(),
            at_controller: vec![0; controllers],
            queueing,
            jobs: Slab::new(),
            also: Vec::new(),
        }
    }

    pub(super) fn job(&self, job: u32) -> &DriverJob {
        &self.jobs[job]
    }

    /// Inserts an access into its device's queue.
    pub(super) fn insert(&mut self, access: DeviceAccess, request: u32, criticality: Criticality, now: Nanos) -> u32 {
        let DeviceAccess { lba, sectors, .. } = access;
        let job = DriverJob { access, request, arrived: now, issued: now, lba, sectors, sent: 0, traced: None };
        let number = self.jobs.insert(job);
        let id = RequestId::from_index(number as usize);
        let request =
            IoRequest { criticality, ..IoRequest::new(id, access.op, Lba(access.lba), Sectors(access.sectors)) };
        self.devices[access.device as usize].queue.insert(request, now);
        number
    }

    /// Raises the priority of a job that a process now waits for.
    pub(super) fn raise(&mut self, job: u32) {
        let device = self.jobs[job].access.device;
        self.devices[device as usize].queue.raise(RequestId::from_index(job as usize));
    }

    pub(super) fn set_traced(&mut self, job: u32, traced: Option<(Nanos, Nanos)>) {
        self.jobs[job].traced = traced;
    }

    fn may_send(&self, device: usize) -> bool {
        let d = &self.devices[device];
        match (self.queueing, d.limits.controller) {
            (false, _) => d.outstanding == 0,
            (true, Some(controller)) => self.at_controller[controller] < d.limits.depth,
            (true, None) => d.outstanding < d.limits.depth,
        }
    }

    /// The next access to send to `device`, if the limits allow one.
    pub(super) fn next(&mut self, device: usize, now: Nanos, positions: Option<&dyn Positions>) -> Option<Sending> {
        if !self.may_send(device) {
            return None;
        }
        let d = &mut self.devices[device];
        let pick = d.queue.pick(now, positions)?;
        d.outstanding += 1;
        d.position = pick.lba.0 + u64::from(pick.sectors.0);
        if let Some(controller) = d.limits.controller {
            self.at_controller[controller] += 1;
        }
        let job = pick.id.index() as u32;
        let mut part = Some(pick.id);
        while let Some(id) = part {
            self.jobs[id.index() as u32].issued = now;
            part = d.queue.next_part(id);
        }
        let sent = &mut self.jobs[job];
        (sent.lba, sent.sectors, sent.sent) = (pick.lba.0, pick.sectors.0, 0);
        Some(self.piece(job, device))
    }

    /// Removes an access from the queue at its traced time, whatever the policy.
    pub(super) fn take(&mut self, job: u32, now: Nanos) -> Option<Sending> {
        let device = self.jobs[job].access.device as usize;
        let d = &mut self.devices[device];
        let id = RequestId::from_index(job as usize);
        d.queue.pick_where(now, None, &|request: &IoRequest| request.id == id)?;
        d.outstanding += 1;
        d.position = self.jobs[job].lba + u64::from(self.jobs[job].sectors);
        if let Some(controller) = d.limits.controller {
            self.at_controller[controller] += 1;
        }
        self.jobs[job].issued = now;
        Some(self.piece(job, device))
    }

    /// The next piece of the job within the size limit.
    fn piece(&mut self, job: u32, device: usize) -> Sending {
        let most = self.devices[device].limits.max_request.unwrap_or(u32::MAX);
        let j = &mut self.jobs[job];
        let sending = Sending { job, lba: j.lba + u64::from(j.sent), sectors: (j.sectors - j.sent).min(most) };
        j.sent += sending.sectors;
        sending
    }

    /// The next piece of a job after one has completed; `None` after the last piece.
    pub(super) fn next_piece(&mut self, job: u32) -> Option<Sending> {
        let j = &self.jobs[job];
        let device = j.access.device as usize;
        (j.sent < j.sectors).then(|| self.piece(job, device))
    }

    /// Completes a job and the ones merged with it. Adds their numbers to `ended`; the caller returns them with
    /// [`Driver::forget`].
    pub(super) fn completed(&mut self, job: u32, now: Nanos, ended: &mut Vec<u32>) {
        let device = self.jobs[job].access.device as usize;
        let d = &mut self.devices[device];
        d.outstanding -= 1;
        if let Some(controller) = d.limits.controller {
            self.at_controller[controller] -= 1;
        }
        self.also.clear();
        d.queue.completed(RequestId::from_index(job as usize), now, &mut self.also);
        ended.push(job);
        ended.extend(self.also.iter().map(|id| id.index() as u32));
    }

    pub(super) fn forget(&mut self, job: u32) {
        self.jobs.remove(job);
    }

    /// The devices that may share a limit with `device`.
    pub(super) fn partners(&self, device: usize) -> std::ops::Range<usize> {
        let shared = self.queueing && self.devices[device].limits.controller.is_some();
        if shared { 0..self.devices.len() } else { 0..0 }
    }

    pub(super) fn waiting(&self, device: usize) -> usize {
        self.devices[device].queue.len()
    }
}

impl DriverQueues for Driver {
    fn queued(&self, device: u32) -> usize {
        let d = &self.devices[device as usize];
        d.queue.len() + d.queue.outstanding()
    }

    fn distance(&self, device: u32, lba: u64) -> u64 {
        self.devices[device as usize].position.abs_diff(lba)
    }
}
