//! [`TimedDevice`]: a device that serves a request and returns its time. Training and probing need no more, so they
//! work on models and on real disks alike.

use crate::{Completion, Device, DeviceRequest};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use std::convert::Infallible;

/// A device that one process uses, one request at a time (GF 3.2.5, González-Férez' thesis of 2012).
pub trait TimedDevice {
    /// Why a request was not served.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The device's size in sectors.
    fn capacity(&self) -> u64;

    /// Serves a request of at least one sector within the device, and returns the time from its issue to its
    /// completion.
    ///
    /// # Errors
    /// If the device fails.
    fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Self::Error>;

    /// Serves reads of `sectors` at these places in the given order, `in_flight` at a time: the next is issued as
    /// soon as one ends. Stores the end of each read in `ended`, counted from the issue of the first.
    ///
    /// The default implementation issues one request at a time.
    ///
    /// # Errors
    /// If the device fails.
    fn serve_together(
        &mut self,
        reads: &[Lba],
        sectors: Sectors,
        in_flight: usize,
        ended: &mut Vec<Nanos>,
    ) -> Result<(), Self::Error> {
        let _ = in_flight;
        ended.clear();
        let mut passed = Nanos::ZERO;
        for &lba in reads {
            passed += self.serve(Op::Read, lba, sectors)?;
            ended.push(passed);
        }
        Ok(())
    }

    /// Clears the device's cache, as a restart does (GF 4.3.6).
    ///
    /// # Errors
    /// If the device fails.
    fn restart(&mut self) -> Result<(), Self::Error>;

    /// Leaves the device idle for `time`, in which it may read ahead or write back.
    ///
    /// # Errors
    /// If the device fails.
    fn pause(&mut self, time: Nanos) -> Result<(), Self::Error>;

    /// The end of the last call, on a clock that also runs between calls, like the spindle. A restart may set it
    /// back.
    fn now(&self) -> Nanos;
}

/// A model as a [`TimedDevice`], in virtual time. The next request follows a completion at once.
#[derive(Clone, Debug)]
pub struct Synchronous<D> {
    pristine: D,
    device: D,
    now: Nanos,
    done: Vec<Completion>,
}

impl<D: Device + Clone> Synchronous<D> {
    /// `device` must be unused; a restart returns to its state.
    pub fn new(device: D) -> Self {
        Self { pristine: device.clone(), device, now: Nanos::ZERO, done: Vec::new() }
    }
}

impl<D: Device + Clone> TimedDevice for Synchronous<D> {
    type Error = Infallible;

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    /// # Panics
    /// If the model never completes the request, which is a fault in it.
    fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Infallible> {
        let request = DeviceRequest { id: RequestId::from_index(0), op, lba, sectors, flags: Flags::empty() };
        let issued = self.now;
        self.device.submit(request, issued);
        while self.done.is_empty() {
            let next = self.device.next_event().expect("a model completes every request");
            self.device.advance(next, &mut self.done);
        }
        self.now = self.done.drain(..).map(|done| done.at).fold(issued, Nanos::max);
        Ok(self.now - issued)
    }

    /// Requests beyond the device's queue depth wait in the order in which they come.
    ///
    /// # Panics
    /// If the model never completes a request, which is a fault in it.
    fn serve_together(
        &mut self,
        reads: &[Lba],
        sectors: Sectors,
        in_flight: usize,
        ended: &mut Vec<Nanos>,
    ) -> Result<(), Infallible> {
        ended.clear();
        ended.resize(reads.len(), Nanos::ZERO);
        let begun = self.now;
        let room = in_flight.clamp(1, self.device.queue_depth().max(1) as usize);
        let (mut issued, mut done) = (0, 0);
        while done < reads.len() {
            while issued < reads.len() && issued - done < room {
                let (id, lba) = (RequestId::from_index(issued), reads[issued]);
                let request = DeviceRequest { id, op: Op::Read, lba, sectors, flags: Flags::empty() };
                self.device.submit(request, self.now);
                issued += 1;
            }
            let next = self.device.next_event().expect("a model completes every request");
            self.device.advance(next, &mut self.done);
            for completion in self.done.drain(..) {
                ended[completion.id.index()] = completion.at - begun;
                done += 1;
                self.now = self.now.max(completion.at);
            }
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Infallible> {
        self.device.clone_from(&self.pristine);
        self.now = Nanos::ZERO;
        Ok(())
    }

    fn pause(&mut self, time: Nanos) -> Result<(), Infallible> {
        let until = self.now + time;
        while let Some(next) = self.device.next_event().filter(|&next| next <= until) {
            self.device.advance(next, &mut self.done);
        }
        self.done.clear();
        self.now = until;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConstantDevice;

    #[test]
    fn a_request_takes_the_time_of_the_model() {
        let mut device = Synchronous::new(ConstantDevice::simple(1000, 1, Nanos(100), 1.0));
        for _ in 0..3 {
            assert_eq!(device.serve(Op::Read, Lba(8), Sectors(1)), Ok(Nanos(612)));
            device.pause(Nanos(5)).unwrap();
        }
        assert_eq!(device.capacity(), 1000);
    }
}
