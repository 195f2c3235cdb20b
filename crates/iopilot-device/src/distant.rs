//! [`Distant`]: a device at the end of a path that takes time.

use crate::{Completion, Device, DeviceReport, DeviceRequest, Rests};
use iopilot_block::{Lba, Nanos, Positions, RequestId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A device whose requests take a while to reach it, and whose answers take a while to come back: the driver, an adapter, a
/// network, or the server of a virtual disk. The path is wide: it carries any number of requests at once. How long each takes
/// is what was measured of that request, which overtakes others that took longer, or is drawn from what was measured, and then
/// in order.
#[derive(Clone, Debug)]
pub struct Distant<D> {
    device: D,
    there: Way,
    back: Way,
    /// On the way there, each with its arrival, in the order of these.
    out: VecDeque<(Nanos, DeviceRequest)>,
    /// On the way back, each as it will be seen, in the order of that.
    home: VecDeque<Completion>,
    done: Vec<Completion>,
    /// By first sector: what the way takes there and back, of those to come in their order.
    known: HashMap<Lba, VecDeque<(Nanos, Nanos)>>,
    /// Of those in the device, what the way back takes where that is known.
    inside: Vec<(RequestId, Nanos)>,
    /// By how much the ways there and back are longer.
    rests: [Rests; 2],
    /// No answer leaves where the next event of the device is no later than so long after it.
    hold: Nanos,
    /// How long after the one before a request gets there at least, where none overtakes another.
    line: Option<Nanos>,
    /// When the last one got there, if any.
    last: Option<Nanos>,
    /// The answers that have not left.
    held: Vec<Completion>,
}

impl<D: Device> Distant<D> {
    /// `device`; requests take one of the times `there` to reach it, and answers one `back`. Where there are none, no time.
    pub fn new(device: D, there: &[Nanos], back: &[Nanos], seed: u64) -> Self {
        let (there, back) = (Way::new(there, seed), Way::new(back, seed.wrapping_add(1)));
        let (out, home, done) = (VecDeque::new(), VecDeque::new(), Vec::new());
        Self {
            device,
            there,
            back,
            out,
            home,
            done,
            known: HashMap::new(),
            inside: Vec::new(),
            rests: Default::default(),
            hold: Nanos::ZERO,
            line: None,
            last: None,
            held: Vec::new(),
        }
    }

    /// What begins at one of these sectors takes these times, there and back, as it did when it was measured: what a request
    /// meets on its way hangs on what its process did before it, and is not the luck of a draw. Of a sector that comes more than
    /// once, the first takes the first one's, and so on.
    #[must_use]
    pub fn knowing(mut self, known: impl IntoIterator<Item = (Lba, (Nanos, Nanos))>) -> Self {
        for (lba, way) in known {
            self.known.entry(lba).or_default().push_back(way);
        }
        self
    }

    /// The ways there and back are longer where the device has completed nothing for a while: who takes the request, or the answer, sleeps the
    /// deeper.
    #[must_use]
    pub fn resting(self, there: Rests, back: Rests) -> Self {
        Self { rests: [there, back], ..self }
    }

    /// Who sends the answers looks at the clock where the device's next event is no later than `hold`, and keeps the CPU from who would take them: they
    /// leave after the last of such a series. So it is with a virtual disk on a machine of few CPUs.
    #[must_use]
    pub fn holding(self, hold: Nanos) -> Self {
        Self { hold, ..self }
    }

    /// Requests overtake none that was sent before, whatever is known of their ways, and get there `apart` at least: somebody hands over one after
    /// the other.
    #[must_use]
    pub fn in_line(self, apart: Nanos) -> Self {
        Self { line: Some(apart), ..self }
    }

    /// What the way back takes for request `id`, where that is known.
    fn way_back(&mut self, id: RequestId) -> Option<Nanos> {
        let at = self.inside.iter().position(|&(inside, _)| inside == id)?;
        Some(self.inside.swap_remove(at).1)
    }

    /// The answers that are held leave, at `now` or when they are due, which is later where a device tells in advance.
    fn answer(&mut self, now: Nanos) {
        let mut held = std::mem::take(&mut self.held);
        for completion in held.drain(..) {
            let known = self.way_back(completion.id);
            let leaves = completion.at.max(now);
            let [_, longer] = self.rests.each_mut().map(|rests| rests.end(leaves));
            let at = self.back.end(leaves + longer, known);
            let place = self.home.partition_point(|c| c.at <= at);
            self.home.insert(place, Completion { at, ..completion });
        }
        self.held = held;
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
                self.held.append(&mut self.done);
                let next = self.device.next_event().unwrap_or(Nanos::MAX);
                if self.hold == Nanos::ZERO || next.since(own) > self.hold {
                    self.answer(own);
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
    /// When the last one got there of those whose time was drawn.
    last: Nanos,
}

impl Way {
    fn new(times: &[Nanos], seed: u64) -> Self {
        Self { times: times.into(), random: Pcg64Mcg::seed_from_u64(seed), last: Nanos::ZERO }
    }

    /// When what starts at `now` gets there, in the time that is `known`; or in one of those measured, and then not before
    /// another one that was drawn.
    fn end(&mut self, now: Nanos, known: Option<Nanos>) -> Nanos {
        if let Some(takes) = known {
            return now + takes;
        }
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
        let known = self.known.get_mut(&request.lba).and_then(VecDeque::pop_front);
        self.inside.extend(known.map(|(_, back)| (request.id, back)));
        let mut at = self.there.end(now + self.rests[0].within(now), known.map(|(there, _)| there));
        if let Some(apart) = self.line {
            at = self.last.map_or(at, |last| at.max(last + apart));
            self.last = Some(at);
        }
        let place = self.out.partition_point(|&(other, _)| other <= at);
        self.out.insert(place, (at, request));
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
    use iopilot_block::{Flags, Op, Sectors};

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

    #[test]
    fn a_request_whose_way_is_known_takes_that() {
        let device = || ConstantDevice::simple(1 << 20, 4, Nanos(1000), 0.5);
        let near = times(device(), 1);
        let far = Distant::new(device(), &[Nanos(70)], &[Nanos(30)], 0);
        let known = [(Lba(0), (Nanos(200), Nanos(5)))];
        assert_eq!(times(far.clone().knowing(known), 1), [near[0] + 205]);
        assert_eq!(times(far.knowing([(Lba(8), known[0].1)]), 1), [near[0] + 100], "another one's way");
    }

    #[test]
    fn each_request_to_a_sector_has_a_way_of_its_own() {
        let device = ConstantDevice::simple(1 << 20, 4, Nanos(1000), 0.0);
        let ways = [200, 3000].map(|there| (Lba(0), (Nanos(there), Nanos(0))));
        let mut far = Distant::new(device, &[Nanos(70)], &[], 0).knowing(ways);
        let end = |n: usize| {
            let begin = Nanos::from_millis(n as u64);
            far.submit(DeviceRequest { lba: Lba(0), ..request(n) }, begin);
            let mut done = Vec::new();
            far.advance(begin + Nanos(900_000), &mut done);
            done[0].at.since(begin).0
        };
        assert_eq!([0, 1, 2].map(end), [1200, 4000, 1070], "and then one that is drawn");
    }

    #[test]
    fn answers_that_are_due_soon_after_each_other_leave_after_the_last() {
        // One after the other takes 1000 ns and 4096 ns for its bytes.
        let device = || ConstantDevice::simple(1 << 20, 4, Nanos(1000), 0.0);
        let near = times(device(), 3);
        let apart = near[1] - near[0];
        let far = |hold| times(Distant::new(device(), &[], &[Nanos(30)], 0).holding(Nanos(hold)), 3);
        assert_eq!(far(apart - 1), near.iter().map(|at| at + 30).collect::<Vec<_>>());
        assert_eq!(far(apart), [near[2] + 30; 3]);
    }

    #[test]
    fn after_a_rest_the_ways_are_longer() {
        let device = ConstantDevice::simple(1 << 20, 1, Nanos(1000), 0.0);
        let near = times(device.clone(), 2);
        let rests = |longer: u64| Rests::new([(Nanos(1_000_000), Nanos(longer))]);
        let far = |there: Rests| Distant::new(device.clone(), &[], &[Nanos(30)], 0).resting(there, rests(7));
        assert_eq!(times(far(Rests::default()), 2), [near[0] + 37, near[1] + 30]);
        // Both are sent before anything is complete, and the second waits for the first.
        assert_eq!(times(far(rests(50)), 2), [near[0] + 87, near[1] + 80]);
        let mut far = far(rests(50));
        let mut sent = |n: usize, begin: u64| {
            far.submit(request(n), Nanos(begin));
            let mut done = Vec::new();
            far.advance(Nanos(begin + 900_000), &mut done);
            done[0].at.0 - begin
        };
        let begin = [0, 950_000, 1_900_000, 4_000_000].into_iter().enumerate();
        let took: Vec<u64> = begin.map(|(n, begin)| sent(n, begin)).collect();
        // The second is sent soon after a rest, and its answer ends none.
        assert_eq!(took, [took[0], took[0] - 7, took[0] - 57, took[0]]);
    }

    #[test]
    fn in_line_none_overtakes_another() {
        let ways = [5000, 100, 900].into_iter().zip(0..).map(|(there, n)| (Lba(8 * n), (Nanos(there), Nanos::ZERO)));
        let device = ConstantDevice::simple(1 << 20, 4, Nanos(1000), 0.0);
        let mut far = Distant::new(device, &[], &[], 0).knowing(ways).in_line(Nanos(6));
        (0..3).for_each(|n| far.submit(request(n), Nanos(10 * n as u64)));
        assert_eq!(
            far.out.iter().map(|(at, r)| (at.0, r.id.index())).collect::<Vec<_>>(),
            [(5000, 0), (5006, 1), (5012, 2)]
        );
    }

    #[test]
    fn who_is_held_up_on_the_way_holds_up_nobody_else() {
        let ways = [(Lba(0), (Nanos(5000), Nanos(10))), (Lba(8), (Nanos(100), Nanos(9000)))];
        let device = ConstantDevice::simple(1 << 20, 4, Nanos(1000), 1.0);
        let mut far = Distant::new(device, &[], &[], 0).knowing(ways);
        (0..3).for_each(|n| far.submit(request(n), Nanos::ZERO));
        let mut done = Vec::new();
        far.advance(Nanos::from_millis(1), &mut done);
        // Each takes 5096 ns. The third needs no time on its way. The first arrives last, and its answer overtakes the second's.
        let ends: Vec<_> = done.iter().map(|c| (c.id.index(), c.at.0)).collect();
        assert_eq!(ends, [(2, 5096), (0, 3 * 5096 + 10), (1, 2 * 5096 + 9000)]);
    }
}
