//! Requests of the host, from arrival to completion.

use super::Array;
use super::event::ArrayEvent;
use crate::Device;
use crate::array::operation::{ArrayOperation, ArrayTask};
use crate::{Completion, DeviceRequest};
use iopilot_block::{Flags, Nanos, Op};

impl<D: Device + Clone> Array<D> {
    pub(super) fn submit_host(&mut self, request: DeviceRequest, now: Nanos) {
        let operation = self.operations.insert_with(|old| ArrayOperation::new(ArrayTask::Host(request), old));
        self.operations[operation].preflush = request.flags.contains(Flags::PREFLUSH) && request.op != Op::Flush;
        self.host_requests += 1;
        self.background.busy();
        let ready = now + self.model.command;
        self.operations[operation].elsewhere.overhead = self.model.command;
        let begin = if request.op == Op::Write { self.transfer(operation, &request, ready) } else { ready };
        // An event even if it is due at once: a submission completes nothing.
        self.events.push(begin, ArrayEvent::Start(operation));
    }

    /// Moves a request's data over the bus to the host; returns when that ends.
    fn transfer(&mut self, operation: u32, request: &DeviceRequest, now: Nanos) -> Nanos {
        let time = request.sectors.bytes() as f64 * self.model.bus_ns_per_byte;
        if time == 0.0 {
            return now;
        }
        let end = self.bus_free.max(now.0 as f64) + time;
        self.bus_free = end;
        self.operations[operation].elsewhere.transfer = Nanos(time.round() as u64);
        Nanos(end.ceil() as u64)
    }

    /// The command has been processed.
    pub(super) fn start(&mut self, operation: u32, now: Nanos, out: &mut Vec<Completion>) {
        let ArrayTask::Host(request) = self.operations[operation].task else { return };
        if self.operations[operation].preflush {
            return self.launch(operation, now, out);
        }
        if let Some(nvram) = self.model.nvram {
            let (lba, sectors) = (request.lba.0, u64::from(request.sectors.0));
            match request.op {
                Op::Read if self.nvram.contains(lba, sectors) => {
                    return self.send(operation, &request, now, out);
                }
                Op::Write if sectors <= nvram.sectors => {
                    self.unbuffered.push_back(operation);
                    return self.admit_and_destage(now, out);
                }
                Op::Write | Op::Discard => self.nvram.forget(lba, sectors),
                Op::Read | Op::Flush => {}
            }
        }
        self.launch(operation, now, out);
    }

    /// Takes writes into the cache while there is room, and destages.
    pub(super) fn admit_and_destage(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let Some(nvram) = self.model.nvram else { return };
        while let Some(&operation) = self.unbuffered.front() {
            let ArrayTask::Host(request) = self.operations[operation].task else { return };
            let (lba, sectors) = (request.lba.0, u64::from(request.sectors.0));
            if self.nvram.used() + self.nvram.growth(lba, sectors) > nvram.sectors {
                break;
            }
            self.unbuffered.pop_front();
            self.nvram.insert(lba, sectors);
            self.finish(operation, now, out);
        }
        self.destage(now, out);
    }

    /// The members have done their part of a request.
    pub(super) fn host_done(&mut self, operation: u32, request: &DeviceRequest, now: Nanos, out: &mut Vec<Completion>) {
        if self.operations[operation].preflush {
            self.operations[operation].flushed();
            return self.start(operation, now, out);
        }
        self.unlock(operation, now, out);
        if request.op == Op::Read {
            self.send(operation, request, now, out);
        } else {
            self.finish(operation, now, out);
        }
    }

    /// Sends the data of a read to the host.
    fn send(&mut self, operation: u32, request: &DeviceRequest, now: Nanos, out: &mut Vec<Completion>) {
        let at = self.transfer(operation, request, now);
        if at > now {
            self.events.push(at, ArrayEvent::Finish(operation));
        } else {
            self.finish(operation, now, out);
        }
    }

    /// Completes a request of the host.
    pub(super) fn finish(&mut self, operation: u32, now: Nanos, out: &mut Vec<Completion>) {
        let op = &self.operations[operation];
        let ArrayTask::Host(request) = op.task else { return };
        out.push(Completion { id: request.id, at: now, service: op.service() });
        self.operations.remove(operation);
        self.host_requests -= 1;
        if self.host_requests == 0 {
            self.plan_idle(now);
        }
    }
}
