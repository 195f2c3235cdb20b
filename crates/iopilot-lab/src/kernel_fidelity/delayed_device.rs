//! [`DelayedDevice`]: a device at the end of a path with delays.

use super::service_path::median;
use iopilot_block::{Lba, Nanos, RequestId};
use iopilot_device::{Completion, Device, DeviceRequest};
use std::collections::{HashMap, VecDeque};

/// A device that requests reach after a delay, and whose completions are seen after a delay. A request has the delays
/// that were recorded for it, found by its first sector, or else the medians. Requests do not overtake one another.
#[derive(Clone, Debug)]
pub(super) struct DelayedDevice<D> {
    device: D,
    /// By first sector: the delays there and back of the requests to come, in their order.
    recorded: HashMap<Lba, VecDeque<(Nanos, Nanos)>>,
    /// The delays of requests that were not recorded.
    medians: (Nanos, Nanos),
    /// Requests on the way to the device, with their times of arrival, in that order.
    out: VecDeque<(Nanos, DeviceRequest)>,
    /// For requests on the way to the device and in it, the delay of the completion.
    back: HashMap<RequestId, Nanos>,
    /// Completions on the way back, with the times at which they are seen, in that order.
    answers: VecDeque<Completion>,
    /// Always empty between calls; kept for its memory.
    done: Vec<Completion>,
}

impl<D: Device> DelayedDevice<D> {
    /// `device` with delays there and back, by the first sectors of the requests. The first request to a sector gets
    /// the first entry for it, and so on.
    pub(super) fn new(device: D, ways: &[(Lba, (Nanos, Nanos))]) -> Self {
        let mut recorded: HashMap<Lba, VecDeque<(Nanos, Nanos)>> = HashMap::new();
        for &(lba, way) in ways {
            recorded.entry(lba).or_default().push_back(way);
        }
        let there = median(ways.iter().map(|(_, (there, _))| *there));
        let back = median(ways.iter().map(|(_, (_, back))| *back));
        Self {
            device,
            recorded,
            medians: (there, back),
            out: VecDeque::new(),
            back: HashMap::new(),
            answers: VecDeque::new(),
            done: Vec::new(),
        }
    }

    /// Runs the device until `now`, in order of time.
    fn run(&mut self, now: Nanos) {
        loop {
            let own = self.device.next_event().unwrap_or(Nanos::MAX);
            let arrival = self.out.front().map_or(Nanos::MAX, |&(at, _)| at);
            if own.min(arrival) > now {
                return;
            }
            // At a moment at which a request arrives, the device first does what it does without that request.
            if own <= arrival {
                self.device.advance(own, &mut self.done);
                for completion in self.done.drain(..) {
                    let at = completion.at + self.back.remove(&completion.id).unwrap_or_default();
                    let place = self.answers.partition_point(|c| c.at <= at);
                    self.answers.insert(place, Completion { at, ..completion });
                }
            } else if let Some((at, request)) = self.out.pop_front() {
                self.device.submit(request, at);
            }
        }
    }
}

impl<D: Device> Device for DelayedDevice<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        let recorded = self.recorded.get_mut(&request.lba).and_then(VecDeque::pop_front);
        let (there, back) = recorded.unwrap_or(self.medians);
        let last = self.out.back().map_or(Nanos::ZERO, |&(at, _)| at);
        self.out.push_back((last.max(now + there), request));
        self.back.insert(request.id, back);
    }

    fn next_event(&self) -> Option<Nanos> {
        let arrival = self.out.front().map(|&(at, _)| at);
        let seen = self.answers.front().map(|c| c.at);
        [self.device.next_event(), arrival, seen].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.run(now);
        let seen = self.answers.iter().take_while(|c| c.at <= now).count();
        out.extend(self.answers.drain(..seen));
    }

    as_wrapped!(device);
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Flags, Op, Sectors};
    use iopilot_device::ConstantDevice;

    fn request(n: usize) -> DeviceRequest {
        let id = RequestId::from_index(n);
        DeviceRequest { id, op: Op::Read, lba: Lba(8 * n as u64), sectors: Sectors(8), flags: Flags::empty() }
    }

    /// When the requests that are sent together complete, by their ids.
    fn ends<D: Device>(mut device: D, n: usize) -> Vec<(usize, u64)> {
        (0..n).for_each(|i| device.submit(request(i), Nanos::ZERO));
        let mut done = Vec::new();
        while let Some(at) = device.next_event() {
            let before = done.len();
            device.advance(at, &mut done);
            assert!(done[before..].iter().all(|c: &Completion| c.at == at), "at the time that was announced");
        }
        done.iter().map(|c| (c.id.index(), c.at.0)).collect()
    }

    fn device() -> ConstantDevice {
        ConstantDevice::simple(1 << 20, 4, Nanos(1000), 0.0)
    }

    #[test]
    fn the_path_delays_a_request_alone_once_and_queued_ones_no_further() {
        let ways: Vec<_> = (0..3).map(|n| (Lba(8 * n), (Nanos(70), Nanos(30)))).collect();
        let expected: Vec<_> = ends(device(), 3).iter().map(|&(n, at)| (n, at + 100)).collect();
        assert_eq!(ends(DelayedDevice::new(device(), &ways), 3), expected);
    }

    #[test]
    fn each_request_to_a_sector_takes_its_own_way_and_others_the_median() {
        let ways = [200, 3000, 400].map(|there| (Lba(0), (Nanos(there), Nanos(0))));
        let mut far = DelayedDevice::new(device(), &ways);
        let mut took = |n: usize| {
            let begin = Nanos::from_millis(n as u64);
            far.submit(DeviceRequest { lba: Lba(0), ..request(n) }, begin);
            let mut done = Vec::new();
            far.advance(begin + Nanos(900_000), &mut done);
            done[0].at.since(begin).0
        };
        assert_eq!([0, 1, 2, 3].map(&mut took), [1200, 4000, 1400, 1400]);
    }

    #[test]
    fn requests_do_not_overtake_and_completions_do() {
        let ways = [(Lba(0), (Nanos(5000), Nanos(9000))), (Lba(8), (Nanos(100), Nanos(10)))];
        let near = ends(device(), 2);
        let expected = [(1, near[1].1 + 5010), (0, near[0].1 + 14_000)];
        assert_eq!(ends(DelayedDevice::new(device(), &ways), 2), expected);
    }
}
