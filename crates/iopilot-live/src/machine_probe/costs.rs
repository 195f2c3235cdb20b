//! [`MachineCosts`]: what the CPUs add to a request, as a capture of readers shows it.

use super::QueueSettings;
use iopilot_block::{Nanos, ProcessId};
use iopilot_sched::NO_SCHEDULER;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// An event later than this after another was not caused by it.
const WAITED: Nanos = Nanos::from_micros(500);
/// A task that reaches the disk within this time of its submission, or within five times its usual time, did not sleep
/// for a tag.
const AT_ONCE: Nanos = Nanos::from_micros(15);
/// With fewer samples a cost is unknown.
const FEWEST: usize = 20;

/// One cost, or why it could not be measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// The median of so many samples.
    Measured {
        /// Microseconds, or a probability.
        value: f64,
        /// How many there were.
        samples: usize,
    },
    /// The reason.
    Unknown(String),
}

impl Cost {
    /// The value, where it was measured.
    pub(crate) fn value(&self) -> Option<f64> {
        match self {
            Self::Measured { value, .. } => Some(*value),
            Self::Unknown(_) => None,
        }
    }

    fn median(mut samples: Vec<Nanos>, seldom: &str) -> Self {
        if samples.len() < FEWEST {
            return Self::Unknown(format!("{seldom} {} times, expected at least {FEWEST}", samples.len()));
        }
        samples.sort_unstable();
        Self::Measured { value: samples[samples.len() / 2].as_micros_f64(), samples: samples.len() }
    }
}

/// What the CPUs add to a request, named as the keys of `[host]` in a machine file.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineCosts {
    /// From the submission of a request to the disk.
    pub issue_us: Cost,
    /// From a completion to the disk, for a request that waited for room in it.
    pub restart_us: Cost,
    /// From a completion to its task's next request.
    pub resume_us: Cost,
    /// From a freed tag to the sleeper that looks for it.
    pub wake_us: Cost,
    /// How often the task whose request completed had the freed tag before a sleeper.
    pub tag_steal_probability: Cost,
}

impl MachineCosts {
    /// The costs by captures of one reader (`alone`), of more readers than the disk takes (`queued`), and of more than
    /// there are tags (`asleep`); empty where that was not tried. All are in order of arrival.
    pub(super) fn of(
        queue: &QueueSettings,
        alone: &[TraceRecord],
        queued: &[TraceRecord],
        asleep: &[TraceRecord],
    ) -> Self {
        let to_disk = alone.iter().filter_map(|r| Some(r.issue?.since(r.arrival))).collect();
        let issue_us = Cost::median(to_disk, "a request was seen on its way");
        let resume_us = Cost::median(resumes(alone), "a task was seen to go on");
        let restart_us = if queue.scheduler == NO_SCHEDULER {
            Cost::Unknown("no scheduler holds requests back; try under mq-deadline".to_owned())
        } else if queued.is_empty() {
            Cost::Unknown(format!("the disk takes {} requests, too many to wait behind", queue.depth))
        } else {
            Cost::median(restarts(queued), "a request was seen to wait for room")
        };
        let (wake_us, tag_steal_probability) = if asleep.is_empty() {
            let why = format!("there are {} tags, too many to use up", queue.tags());
            (Cost::Unknown(why.clone()), Cost::Unknown(why))
        } else {
            let usual = Nanos((issue_us.value().unwrap_or_default() * 1e3) as u64);
            let (wakes, kept) = contention(asleep, usual);
            let all = wakes.len() + kept;
            let seldom = "a task was seen to sleep for a tag";
            let share = match all {
                n if n < FEWEST => Cost::median(Vec::new(), seldom),
                n => Cost::Measured { value: (kept as f64 / n as f64 * 100.0).round() / 100.0, samples: n },
            };
            (Cost::median(wakes, seldom), share)
        };
        Self { issue_us, restart_us, resume_us, wake_us, tag_steal_probability }
    }
}

/// From each completion to the task's next request.
fn resumes(records: &[TraceRecord]) -> Vec<Nanos> {
    let pairs = records.windows(2);
    pairs.filter_map(|two| Some(two[1].arrival.since(two[0].completion?)).filter(|time| *time < WAITED)).collect()
}

/// From each completion to the next issue, of a request that was in the scheduler by then.
fn restarts(records: &[TraceRecord]) -> Vec<Nanos> {
    let mut issues: Vec<(Nanos, Nanos)> =
        records.iter().filter_map(|r| Some((r.issue?, r.inserted.unwrap_or(r.arrival)))).collect();
    issues.sort_unstable();
    let next = |completion: Nanos| {
        let &(at, inserted) = issues.get(issues.partition_point(|&(at, _)| at < completion))?;
        Some(at.since(completion)).filter(|time| inserted <= completion && *time < WAITED)
    };
    records.iter().filter_map(|r| next(r.completion?)).collect()
}

/// From each completion, whose tag became free, until the sleeper that took it next looked for it; and how often the
/// task of the completed request took it instead. A request takes `usual` from its tag to the disk, or to the
/// scheduler.
fn contention(records: &[TraceRecord], usual: Nanos) -> (Vec<Nanos>, usize) {
    let at_once = AT_ONCE.max(Nanos(5 * usual.0));
    // When a request had its tag: it is inserted, or sent, right after.
    let had_tag = |r: &TraceRecord| r.inserted.or(r.issue);
    let slept = |r: &TraceRecord| had_tag(r).is_some_and(|at| at.since(r.arrival) > at_once);
    let mut next_of: BTreeMap<ProcessId, usize> = BTreeMap::new();
    let mut follower = vec![None; records.len()];
    for (n, r) in records.iter().enumerate().rev() {
        follower[n] = r.process.and_then(|process| next_of.insert(process, n));
    }
    let mut sleepers: Vec<Nanos> = records.iter().filter(|r| slept(r)).filter_map(had_tag).collect();
    sleepers.sort_unstable();
    let (mut wakes, mut kept) = (Vec::new(), 0);
    for (n, r) in records.iter().enumerate() {
        let (Some(completion), Some(next)) = (r.completion, follower[n]) else { continue };
        if !slept(&records[next]) {
            kept += 1;
            continue;
        }
        let taken = sleepers.get(sleepers.partition_point(|&at| at < completion));
        // The work between the tag and the issue or the insertion does not belong to the wake-up.
        wakes.extend(taken.map(|at| at.since(completion)).filter(|time| *time < WAITED).map(|time| time.since(usual)));
    }
    (wakes, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    fn read(process: u32, [arrival, issue, completion]: [u64; 3]) -> TraceRecord {
        let us = Nanos::from_micros;
        TraceRecord {
            process: Some(ProcessId(process)),
            issue: Some(us(issue)),
            completion: Some(us(completion)),
            ..TraceRecord::new(us(arrival), Op::Read, Lba(0), Sectors(8))
        }
    }

    fn queue(scheduler: &str) -> QueueSettings {
        QueueSettings {
            scheduler: scheduler.to_owned(),
            nr_hw_queues: 1,
            nr_requests: 64,
            host_tags: None,
            depth: 1,
            max_sectors_kb: None,
            nomerges: None,
            write_back: false,
            fua: false,
            wbt_lat_usec: None,
            rotational: true,
            cpus: 2,
        }
    }

    #[test]
    fn one_reader_shows_the_time_to_the_disk_and_back() {
        let alone: Vec<_> = (0..30).map(|n| read(1, [1000 * n, 1000 * n + 7, 1000 * n + 960])).collect();
        let costs = MachineCosts::of(&queue("none"), &alone, &[], &[]);
        assert_eq!(costs.issue_us, Cost::Measured { value: 7.0, samples: 30 });
        assert_eq!(costs.resume_us, Cost::Measured { value: 40.0, samples: 29 });
        assert_eq!(costs.restart_us, Cost::Unknown("no scheduler holds requests back; try under mq-deadline".into()));
        assert_eq!(costs.wake_us, Cost::Unknown("there are 64 tags, too many to use up".into()));
    }

    #[test]
    fn two_readers_of_a_disk_that_takes_one_show_the_restart() {
        // Each is inserted while the other is served, and sent 12 us after it is complete.
        let both: Vec<_> = (0..40)
            .map(|n| read(1 + n as u32 % 2, [500 * n, 500 * n + 512, 500 * n + 1000]))
            .map(|r| TraceRecord { inserted: Some(r.arrival), ..r })
            .collect();
        let costs = MachineCosts::of(&queue("mq-deadline"), &both, &both, &[]);
        assert!(matches!(costs.restart_us, Cost::Measured { value: 12.0, .. }), "{:?}", costs.restart_us);
    }

    #[test]
    fn two_readers_of_one_tag_show_the_contention() {
        // They read in turn: each sleeps until the other's read completes, and its request is at the disk 20 us later,
        // 5 of which are usual.
        let turns: Vec<_> =
            (0..40).map(|n| read(1 + n as u32 % 2, [500 * n + 60, 500 * n + 520, 500 * n + 1000])).collect();
        let (wakes, kept) = contention(&turns, Nanos::from_micros(5));
        assert!(wakes.len() > 30 && wakes.iter().all(|time| *time == Nanos::from_micros(15)), "{wakes:?}");
        assert_eq!(kept, 0);
        // One reader keeps the tag.
        let alone: Vec<_> = (0..40).map(|n| read(1, [1000 * n + 10, 1000 * n + 15, 1000 * n + 1000])).collect();
        assert_eq!(contention(&alone, Nanos::from_micros(5)), (Vec::new(), 39));
    }

    #[test]
    fn few_samples_make_no_cost() {
        let costs = MachineCosts::of(&queue("none"), &[read(1, [0, 5, 100])], &[], &[]);
        assert_eq!(costs.issue_us, Cost::Unknown("a request was seen on its way 1 times, expected at least 20".into()));
    }
}
