//! Accesses to devices: through the driver's queues, to the devices, and back.

use super::{AccessTimes, Simulation, Timed};
use crate::system::RunError;
use crate::system::driver::Sending;
use crate::system::organisation::DeviceAccess;
use iopilot_block::{Flags, InputError, Lba, Nanos, RequestId, Sectors};
use iopilot_device::DeviceRequest;

/// Time in the driver's queue and at the device, from the trace.
type TracedTimes = Option<(Nanos, Nanos)>;

impl Simulation {
    /// Puts an access into its device's queue, and sends it if possible.
    pub(super) fn begin(
        &mut self,
        access: DeviceAccess,
        request: u32,
        times: TracedTimes,
        now: Nanos,
    ) -> Result<(), RunError> {
        let job = self.enqueue(access, request, times, now)?;
        match (self.parts.access_times, times) {
            (AccessTimes::TracedQueue | AccessTimes::TracedBoth, Some((queue, _))) => {
                self.timed.push(now + queue, Timed::Start(job));
            }
            (AccessTimes::Traced | AccessTimes::TracedQueue | AccessTimes::TracedBoth, None) => {
                let expected = "a trace that has them (hpl, parquet)";
                return Err(InputError::new("Constant access time", "times from a trace without them", expected).into());
            }
            _ => self.dispatch(access.device as usize, now),
        }
        Ok(())
    }

    /// Puts an access into its device's queue; returns its job.
    fn enqueue(&mut self, access: DeviceAccess, request: u32, times: TracedTimes, now: Nanos) -> Result<u32, RunError> {
        let capacity = self.parts.capacities[access.device as usize];
        if access.lba + u64::from(access.sectors) > capacity {
            return Err(self.past_end(access, capacity));
        }
        let logical = self.requests.get_mut(request);
        let job = self.parts.driver.insert(access, request, logical.criticality, now);
        logical.jobs.push(job);
        self.parts.driver.set_traced(job, times);
        Ok(job)
    }

    fn past_end(&self, access: DeviceAccess, capacity: u64) -> RunError {
        let got = format!("{} blocks at block {} of device {}", access.sectors, access.lba, access.device);
        self.refuse(InputError::new("access", got, format!("blocks below {capacity}, the size of the device")))
    }

    /// Sends as many accesses to `device` as the limits allow.
    fn dispatch(&mut self, device: usize, now: Nanos) {
        while let Some(sending) = self.parts.driver.next(device, now, self.parts.subsystem.positions(device)) {
            self.send(sending, now);
        }
    }

    pub(super) fn send(&mut self, sending: Sending, now: Nanos) {
        let job = self.parts.driver.job(sending.job);
        let traced = job.traced.map_or(Nanos::ZERO, |(_, access)| access);
        match self.parts.access_times {
            AccessTimes::Constant(time) => {
                self.timed.push(now + time, Timed::End(sending.job));
            }
            AccessTimes::Traced | AccessTimes::TracedBoth => {
                self.timed.push(now + traced, Timed::End(sending.job));
            }
            AccessTimes::Simulated | AccessTimes::TracedQueue => {
                let request = DeviceRequest {
                    id: RequestId::from_index(sending.job as usize),
                    op: job.access.op,
                    lba: Lba(sending.lba),
                    sectors: Sectors(sending.sectors),
                    flags: Flags::empty(),
                };
                let device = job.access.device as usize;
                self.parts.subsystem.submit(device, request, now);
            }
        }
    }

    /// Handles the completion of the access, or piece of it, sent for `job`.
    pub(super) fn access_ended(&mut self, job: u32, now: Nanos) -> Result<(), RunError> {
        if let Some(sending) = self.parts.driver.next_piece(job) {
            self.send(sending, now);
            return Ok(());
        }
        let device = self.parts.driver.job(job).access.device as usize;
        let mut ended = std::mem::take(&mut self.buffers.ended);
        ended.clear();
        self.parts.driver.completed(job, now, &mut ended);
        // New accesses must enter the queues before the device gets its next one.
        self.buffers.touched.clear();
        for &job in &ended {
            self.follow(job, device, now)?;
        }
        let touched = std::mem::take(&mut self.buffers.touched);
        for &device in &touched {
            self.dispatch(device, now);
        }
        self.buffers.touched = touched;
        self.dispatch(device, now);
        for other in self.parts.driver.partners(device) {
            if self.parts.driver.waiting(other) > 0 {
                self.dispatch(other, now);
            }
        }
        for &job in &ended {
            self.parts.driver.forget(job);
        }
        self.buffers.ended = ended;
        while let Some(request) = self.buffers.finished.pop() {
            self.request_ended(request, now)?;
        }
        Ok(())
    }

    /// Records a completed job, and queues the accesses of its request that waited for it.
    fn follow(&mut self, job: u32, device: usize, now: Nanos) -> Result<(), RunError> {
        let job = *self.parts.driver.job(job);
        let (queue, access) = (job.issued.since(job.arrived), now.since(job.issued.max(job.arrived)));
        self.measures.access(device, job.access.op, job.access.sectors, queue, access);
        let mut started = std::mem::take(&mut self.buffers.started);
        started.clear();
        let logical = self.requests.get_mut(job.request);
        logical.remaining -= 1;
        if logical.remaining == 0 {
            self.buffers.finished.push(job.request);
        }
        logical.plan.completed(&job.access, |access| started.push(access));
        for &access in &started {
            self.enqueue(access, job.request, job.traced, now)?;
            self.buffers.touched.push(access.device as usize);
        }
        self.buffers.started = started;
        Ok(())
    }
}
