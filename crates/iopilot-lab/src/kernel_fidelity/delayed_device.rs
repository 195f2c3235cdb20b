//! [`DelayedDevice`]: a device at the end of a way that takes time.

use super::service_path::median;
use iopilot_block::{Lba, Nanos, RequestId};
use iopilot_device::{Completion, Device, DeviceRequest};
use std::collections::{HashMap, VecDeque};

/// A device that requests take a while to reach, and whose answers take a while to come back. A request takes the times that
/// were recorded of it, found by its first sector; else the medians. Requests do not overtake one another.
#[derive(Clone, Debug)]
pub(super) struct DelayedDevice<D> {
    device: D,
    /// By first sector: the ways there and back of the requests to come, in their order.
    recorded: HashMap<Lba, VecDeque<(Nanos, Nanos)>>,
    /// What the ways take where nothing is recorded.
    medians: (Nanos, Nanos),
    /// On the way there, each with its arrival, in the order of these.
    out: VecDeque<(Nanos, DeviceRequest)>,
    /// Of the requests under way and in the device, what the way back takes.
    back: HashMap<RequestId, Nanos>,
    /// On the way back, each as it will be seen, in the order of that.
    answers: VecDeque<Completion>,
    /// Empty; kept for its memory.
    done: Vec<Completion>,
}

impl<D: Device> DelayedDevice<D> {
    /// `device`, to which the requests that begin at these sectors take these times there and back. The first request to a
    /// sector takes the first one's, and so on.
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

    /// Lets the device do all that it does until `now`, in order of time.
    fn run(&mut self, now: Nanos) {
        loop {
            let own = self.device.next_event().unwrap_or(Nanos::MAX);
            let arrival = self.out.front().map_or(Nanos::MAX, |&(at, _)| at);
            if own.min(arrival) > now {
                return;
            }
            // What a device does at the moment of an arrival it does without knowing of it.
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

    /// When the requests that are sent together come back, by their numbers.
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
    fn the_way_delays_what_is_alone_once_and_what_queues_not_again() {
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
    fn requests_do_not_overtake_and_answers_do() {
        let ways = [(Lba(0), (Nanos(5000), Nanos(9000))), (Lba(8), (Nanos(100), Nanos(10)))];
        let near = ends(device(), 2);
        let expected = [(1, near[1].1 + 5010), (0, near[0].1 + 14_000)];
        assert_eq!(ends(DelayedDevice::new(device(), &ways), 2), expected);
    }
}
