//! The arrival and completion of logical requests.

use super::{Simulation, SystemWarmUp};
use crate::system::RunError;
use crate::system::load::{Incoming, SystemLoad};
use iopilot_block::{InputError, Nanos};

/// A run ends when an organisation has this many requests outstanding.
const SATURATION: u64 = 10_000;

impl Simulation {
    /// A request arrives at the driver. Returns whether its organisation is now saturated.
    pub(super) fn arrive(&mut self, incoming: Incoming, now: Nanos) -> Result<bool, RunError> {
        self.arrivals += 1;
        if let Some(log) = &mut self.parts.log {
            log.write(&incoming, now)?;
        }
        if self.parts.warm_up == SystemWarmUp::Requests(self.arrivals) {
            self.parts.warm_up = SystemWarmUp::None;
            self.measures.reset(now);
        }
        let (organisation, number) = self.admit(&incoming, now)?;
        let mut started = std::mem::take(&mut self.buffers.started);
        started.clear();
        started.extend_from_slice(self.requests.get(number).plan.ready());
        for &access in &started {
            self.begin(access, number, incoming.times, now)?;
        }
        self.buffers.started = started;
        let outstanding = &mut self.measures.organisations[organisation].outstanding;
        *outstanding += 1;
        Ok(*outstanding >= SATURATION)
    }

    /// Finds the organisation of a request and plans its accesses. Returns the organisation and the request's number.
    fn admit(&mut self, incoming: &Incoming, now: Nanos) -> Result<(usize, u32), RunError> {
        let &Incoming { device, lba, sectors, op, criticality, operation, .. } = incoming;
        let mut organisations = self.parts.organisations.iter().enumerate();
        let found = organisations.find_map(|(i, o)| Some((i, o.locate(i as u32, device, lba, sectors)?)));
        let Some((organisation, place)) = found else { return Err(self.outside(device, lba, sectors)) };
        let number = self.requests.insert(organisation, now, op, criticality, operation);
        let random = match &mut self.parts.load {
            SystemLoad::Synthetic(processors) => processors.random(),
            SystemLoad::Trace(_) => &mut self.parts.random,
        };
        let logical = self.requests.get_mut(number);
        let planner = &mut self.parts.organisations[organisation];
        planner.plan(place, sectors, op, &self.parts.driver, random, &mut logical.plan);
        logical.remaining = logical.plan.len() as u32;
        Ok((organisation, number))
    }

    fn outside(&self, device: u32, lba: u64, sectors: u32) -> RunError {
        let got = format!("device {device}, block {lba}, {sectors} blocks");
        self.refuse(InputError::new("request", got, "a request that lies in a logical organisation"))
    }

    /// Adds the request's place in the trace to an error.
    pub(super) fn refuse(&self, error: InputError) -> RunError {
        match &self.parts.load {
            SystemLoad::Trace(trace) => trace.locate(error).into(),
            SystemLoad::Synthetic(_) => error.into(),
        }
    }

    /// Handles a request whose accesses have all completed.
    pub(super) fn request_ended(&mut self, number: u32, now: Nanos) -> Result<(), RunError> {
        let logical = self.requests.get(number);
        let (organisation, operation) = (logical.organisation, logical.operation);
        self.measures.request(organisation, logical.op, now.since(logical.arrived));
        self.measures.organisations[organisation].outstanding -= 1;
        self.requests.remove(number);
        match (&mut self.parts.load, operation) {
            (SystemLoad::Synthetic(processors), Some(operation)) => processors.completed(operation, now),
            (SystemLoad::Trace(trace), _) if trace.is_closed() => {
                trace.fetch(now)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Raises the priority of a request that its process now waits for.
    pub(super) fn raise(&mut self, operation: u64) {
        let Some(number) = self.requests.of_operation(operation) else { return };
        for &job in &self.requests.get(number).jobs {
            // The number of a completed job may belong to another job by now.
            if self.parts.driver.job(job).request == number {
                self.parts.driver.raise(job);
            }
        }
    }
}
