//! The policies by positioning or access time: SPTF, SATF, their weighted, aged and cache-aware forms.
//!
//! Asking the device about every request would make a pick O(n) with a large constant, and a busy queue quadratic.
//! Instead, the requests are visited outwards from the arm, cylinder by cylinder, until the seek alone is longer than
//! the best time found. If age counts, they are visited by age at the same time, the oldest first. A request that
//! neither walk has reached is farther than the one bound and younger than the other, and so worse than both together
//! (Fagin's threshold algorithm).

use super::policy::IoQueuePolicy;
use super::sub_queue::{cylinder_of, key_of_cylinder};
use super::view::PolicyView;
use iopilot_block::{Cached, Criticality, Lba, Nanos, Op, RequestId};

/// The time of a request that the cache serves in part, in nanoseconds: nearly nothing.
const PARTIAL: f64 = 1e-3;

/// The allowance for rounding in a device's sums, ns: a bound must not exceed the time that it bounds.
const ROUNDING: f64 = 2.0;

/// The effect of a request's age on its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aging {
    None,
    /// The time is multiplied by the share of the weight that is left.
    Weighted,
    /// A share of the age is subtracted.
    Aged,
    /// The same, for critical and limited requests only.
    AgedUrgent,
}

/// The time that a policy minimizes.
#[derive(Clone, Copy, Debug)]
struct Measure {
    /// The transfer counts, too.
    access: bool,
    /// Cache hits count.
    cache: bool,
    aging: Aging,
}

impl Measure {
    fn of(policy: IoQueuePolicy) -> Self {
        let (access, cache, aging) = match policy {
            IoQueuePolicy::Spctf => (false, true, Aging::None),
            IoQueuePolicy::Satf => (true, false, Aging::None),
            IoQueuePolicy::Wptf => (false, false, Aging::Weighted),
            IoQueuePolicy::Wpctf => (false, true, Aging::Weighted),
            IoQueuePolicy::Watf => (true, false, Aging::Weighted),
            IoQueuePolicy::Asptf => (false, false, Aging::Aged),
            IoQueuePolicy::Aspctf => (false, true, Aging::Aged),
            IoQueuePolicy::Asatf => (true, false, Aging::Aged),
            IoQueuePolicy::PriAsptf => (false, false, Aging::AgedUrgent),
            IoQueuePolicy::PriAspctf => (false, true, Aging::AgedUrgent),
            _ => (false, false, Aging::None),
        };
        Self { access, cache, aging }
    }
}

/// The best request so far: its score, its position, which decides between equals, and its name.
type Best = Option<(f64, (Lba, u64), RequestId)>;

/// The position of the arm, from which requests are visited outwards.
pub(super) struct Around {
    origin: u32,
    /// How much nearer the arm may be for operations of the other kind, which start at another time.
    drift: u32,
    delay: f64,
}

impl PolicyView<'_> {
    /// From the choice to the moment the arm moves, ns.
    pub(super) fn initiation(&self, op: Op) -> f64 {
        let own = if op == Op::Read { self.config.read_initiation } else { self.config.write_initiation };
        if self.config.device_initiation { own + self.device().initiation(op) } else { own }
    }

    /// Positioning time or, with `access`, access time of `id`, from now, ns.
    fn time(&self, id: RequestId, access: bool) -> f64 {
        let request = &self.entry(id).request;
        let delay = self.initiation(request.op);
        let at = self.now.saturating_add(Nanos(delay.round() as u64));
        let (lba, sectors, op) = (request.lba, request.sectors, request.op);
        let device = self.device();
        delay + if access { device.access(lba, sectors, op, at) } else { device.positioning(lba, sectors, op, at) }
    }

    pub(super) fn around(&self) -> Around {
        let delays = [Op::Read, Op::Write].map(|op| self.initiation(op));
        let [origin, other] = delays.map(|delay| {
            let at = self.now.saturating_add(Nanos(delay.round() as u64));
            self.device().arm(at)
        });
        Around { origin, drift: origin.abs_diff(other), delay: delays[0].min(delays[1]) }
    }

    /// A lower bound for the time of all requests on `cylinder` or farther from the arm, ns.
    pub(super) fn bound(&self, around: &Around, cylinder: u32) -> f64 {
        let distance = cylinder.abs_diff(around.origin).saturating_sub(around.drift);
        around.delay + self.device().seek_at_least(distance) - ROUNDING
    }

    /// A request's score: `time` weighted by its age, both in ns.
    fn score(&self, measure: Measure, time: f64, age: f64) -> f64 {
        match measure.aging {
            Aging::None => time,
            Aging::Aged | Aging::AgedUrgent => time - age * self.config.age_weight / 1e3,
            Aging::Weighted => {
                let limit = self.config.max_wait * 1e6;
                if age < limit { time * (limit - age) / limit } else { limit - age }
            }
        }
    }

    fn improve(&self, best: &mut Best, score: f64, id: RequestId) {
        let entry = self.entry(id);
        let place = (entry.key.unwrap_or_default(), entry.number);
        if best.is_none_or(|(least, first, _)| score < least || score == least && place < first) {
            *best = Some((score, place, id));
        }
    }

    fn counted_age(&self, measure: Measure, id: RequestId) -> f64 {
        let patient = self.entry(id).request.criticality == Criticality::TimeNonCritical;
        if measure.aging == Aging::AgedUrgent && patient { 0.0 } else { self.age(id) }
    }

    /// The request with the least score. `visited` holds the requests that this pick has visited.
    pub(super) fn shortest(&self, visited: &mut Visited) -> Option<RequestId> {
        let measure = Measure::of(self.sub_queue.policy);
        let mut best: Best = None;
        if measure.cache {
            self.consider_cached(measure, visited, &mut best);
        }
        if measure.aging != Aging::None {
            self.walk_both_ways(measure, visited, &mut best);
            return best.map(|(_, _, id)| id);
        }
        let around = self.around();
        for (key, id) in Outwards::new(self, around.origin) {
            let bound = self.bound(&around, cylinder_of(key));
            if best.is_some_and(|(least, ..)| bound > least) {
                break;
            }
            if self.is_candidate(id) && !(measure.cache && visited.has(id)) {
                self.improve(&mut best, self.time(id, measure.access), id);
            }
        }
        best.map(|(_, _, id)| id)
    }

    /// Walks outwards from the arm, and also by age once only age can make up for the distance.
    fn walk_both_ways(&self, measure: Measure, visited: &mut Visited, best: &mut Best) {
        let around = self.around();
        let mut by_age = self.sub_queue.by_age.iter(self.links).peekable();
        for (key, id) in Outwards::new(self, around.origin) {
            let bound = self.bound(&around, cylinder_of(key));
            while by_age.next_if(|&id| visited.has(id)).is_some() {}
            let Some(&oldest) = by_age.peek() else { break };
            if let Some((least, ..)) = *best {
                if self.score(measure, bound, self.age(oldest)) > least {
                    break;
                }
                if self.score(measure, bound, 0.0) > least {
                    self.consider(measure, visited, oldest, best);
                }
            }
            if !visited.has(id) {
                self.consider(measure, visited, id, best);
            }
        }
    }

    fn consider(&self, measure: Measure, visited: &mut Visited, id: RequestId, best: &mut Best) {
        visited.mark(id);
        if self.is_candidate(id) {
            let score = self.score(measure, self.time(id, measure.access), self.counted_age(measure, id));
            self.improve(best, score, id);
        }
    }

    /// Considers the requests that the cache serves, in no time or nearly none. O(n), with a cache look-up for each.
    fn consider_cached(&self, measure: Measure, visited: &mut Visited, best: &mut Best) {
        for id in self.sub_queue.by_age.iter(self.links) {
            let request = &self.entry(id).request;
            let time = match self.device().cached(request.lba, request.sectors, request.op) {
                Cached::None => continue,
                Cached::Partial => PARTIAL,
                Cached::Full => 0.0,
            };
            visited.mark(id);
            if self.is_candidate(id) {
                let score = self.score(measure, time, self.counted_age(measure, id));
                self.improve(best, score, id);
            }
        }
    }

    /// Among the requests whose positioning time is within the slack of the shortest, the one with the shortest seek or
    /// with the longest rotational latency.
    pub(super) fn within_slack(&self, near: &mut Vec<(f64, u32, RequestId)>) -> Option<RequestId> {
        let around = self.around();
        let slack = 1.0 + self.config.slack_percent / 100.0;
        let mut least = f64::INFINITY;
        near.clear();
        for (key, id) in Outwards::new(self, around.origin) {
            if self.bound(&around, cylinder_of(key)) > least * slack {
                break;
            }
            if self.is_candidate(id) {
                let time = self.time(id, false);
                least = least.min(time);
                near.push((time, cylinder_of(key).abs_diff(around.origin), id));
            }
        }
        let mut best = None;
        for &(time, distance, id) in near.iter().filter(|(time, ..)| *time <= least * slack) {
            let seek = self.device().seek_at_least(distance);
            let least_seek = self.sub_queue.policy == IoQueuePolicy::SptfSeekWeight;
            self.improve(&mut best, if least_seek { seek } else { seek - time }, id);
        }
        best.map(|(_, _, id)| id)
    }
}

/// The requests that a pick has visited, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Visited {
    pick: u64,
    marks: Vec<u64>,
}

impl Visited {
    /// Clears the marks. `names` is larger than the largest index.
    pub(super) fn clear(&mut self, names: usize) {
        self.pick += 1;
        if self.marks.len() < names {
            self.marks.resize(names, 0);
        }
    }

    fn has(&self, id: RequestId) -> bool {
        self.marks[id.index()] == self.pick
    }

    fn mark(&mut self, id: RequestId) {
        self.marks[id.index()] = self.pick;
    }
}

/// The requests of a sub-queue in order of their distance in cylinders from one cylinder.
pub(super) struct Outwards<'a> {
    origin: u32,
    upwards: std::iter::Peekable<iopilot_block::Upwards<'a>>,
    downwards: std::iter::Peekable<iopilot_block::Downwards<'a>>,
}

impl<'a> Outwards<'a> {
    pub(super) fn new(view: &PolicyView<'a>, origin: u32) -> Self {
        let key = key_of_cylinder(origin);
        Self {
            origin,
            upwards: view.sub_queue.ordered.upwards_from(key).peekable(),
            downwards: view.sub_queue.ordered.downwards_from(key).peekable(),
        }
    }
}

impl Iterator for Outwards<'_> {
    type Item = (Lba, RequestId);

    fn next(&mut self) -> Option<Self::Item> {
        let far = |&(key, _): &(Lba, RequestId)| cylinder_of(key).abs_diff(self.origin);
        match (self.upwards.peek().map(far), self.downwards.peek().map(far)) {
            (Some(up), Some(down)) if down < up => self.downwards.next(),
            (Some(_), _) => self.upwards.next(),
            (None, _) => self.downwards.next(),
        }
    }
}
