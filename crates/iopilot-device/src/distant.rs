//! [`Distant`]: a device at the end of a path that takes time.

use crate::{Completion, Device, DeviceReport, DeviceRequest};
use iopilot_block::{Nanos, Positions};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::sync::Arc;

/// A device whose requests take a while to reach it, and whose answers take a while to come back: the driver, an adapter, a
/// network, or the server of a virtual disk. The path is wide: it carries any number of requests at once, and keeps order.
/// How long each takes is drawn from what was measured.
#[derive(Clone, Debug)]
pub struct Distant<D> {
    device: D,
    there: Way,
    back: Way,
    /// On the way there, each with its arrival.
    out: VecDeque<(Nanos, DeviceRequest)>,
    /// On the way back, each as it will be seen.
    home: VecDeque<Completion>,
    done: Vec<Completion>,
}

impl<D: Device> Distant<D> {
    /// `device`; requests take one of the times `there` to reach it, and answers one `back`. Where there are none, no time.
    pub fn new(device: D, there: &[Nanos], back: &[Nanos], seed: u64) -> Self {
        let (there, back) = (Way::new(there, seed), Way::new(back, seed.wrapping_add(1)));
        Self { device, there, back, out: VecDeque::new(), home: VecDeque::new(), done: Vec::new() }
    }

    /// Lets the device do all that it does until `now`, in order of time.
    fn run(&mut self, now: Nanos) {
        loop {
            let own = self.device.next_event().unwrap_or(Nanos::MAX);
            let arrival = self.out.front().map_or(Nanos::MAX, |&(at, _)| at);
            let next = own.min(arrival);
            if next > now {
                return;
            }
            // What a device does at the moment of an arrival it does without knowing of it.
            if own <= arrival {
                self.device.advance(own, &mut self.done);
                for completion in self.done.drain(..) {
                    let at = self.back.end(completion.at);
                    self.home.push_back(Completion { at, ..completion });
                }
            } else if let Some((at, request)) = self.out.pop_front() {
                self.device.submit(request, at);
            }
        }
    }
}

/// One direction.
#[derive(Clone, Debug)]
struct Way {
    times: Arc<[Nanos]>,
    random: Pcg64Mcg,
    /// When the last one got there.
    last: Nanos,
}

impl Way {
    fn new(times: &[Nanos], seed: u64) -> Self {
        Self { times: times.into(), random: Pcg64Mcg::seed_from_u64(seed), last: Nanos::ZERO }
    }

    /// When what starts at `now` gets there: not before what started earlier.
    fn end(&mut self, now: Nanos) -> Nanos {
        let takes = match self.times.len() {
            0 => Nanos::ZERO,
            n => self.times[self.random.random_range(0..n)],
        };
        self.last = self.last.max(now + takes);
        self.last
    }
}

impl<D: Device> Device for Distant<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        let at = self.there.end(now);
        self.out.push_back((at, request));
    }

    fn next_event(&self) -> Option<Nanos> {
        let arrival = self.out.front().map(|&(at, _)| at);
        let seen = self.home.front().map(|c| c.at);
        [self.device.next_event(), arrival, seen].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.run(now);
        let seen = self.home.iter().take_while(|c| c.at <= now).count();
        out.extend(self.home.drain(..seen));
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.device.queue_depth()
    }

    fn positions(&self) -> Option<&dyn Positions> {
        self.device.positions()
    }

    fn report(&self) -> Option<DeviceReport> {
        self.device.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConstantDevice;
    use iopilot_block::{Flags, Lba, Op, RequestId, Sectors};

    fn request(n: usize) -> DeviceRequest {
        let id = RequestId::from_index(n);
        DeviceRequest { id, op: Op::Read, lba: Lba(8 * n as u64), sectors: Sectors(8), flags: Flags::empty() }
    }

    /// The times at which `n` requests that are sent together come back.
    fn times<D: Device>(mut device: D, n: usize) -> Vec<u64> {
        (0..n).for_each(|i| device.submit(request(i), Nanos::ZERO));
        let mut done = Vec::new();
        while let Some(at) = device.next_event() {
            let before = done.len();
            device.advance(at, &mut done);
            assert!(done[before..].iter().all(|c| c.at == at), "at the time that was announced");
        }
        done.iter().map(|c| c.at.0).collect()
    }

    #[test]
    fn the_path_delays_what_is_alone_once_and_what_queues_not_again() {
        let device = || ConstantDevice::simple(1 << 20, 4, Nanos(1000), 0.5);
        let near = times(device(), 3);
        let far = times(Distant::new(device(), &[Nanos(70)], &[Nanos(30)], 0), 3);
        assert_eq!(far, near.iter().map(|at| at + 100).collect::<Vec<_>>());
    }
}
