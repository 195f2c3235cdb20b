//! [`RegionGains`]: what a cache has saved in each part of the disk.

use crate::disk_regions::DiskRegions;
use iopilot_block::{Lba, Nanos, Op};
use iopilot_trace::TraceRecord;

/// Each window multiplies the weight of the older ones by this: after three it is a half.
const DECAY: f64 = 0.8;
/// The neighbours of a group weigh as much as this many reads of its own.
const NEIGHBOURS: f64 = 8.0;
/// A group is switched if that saves this share of its time.
const LEAST: f64 = 0.01;

/// What is known of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Group {
    /// Reads of the workload.
    reads: f64,
    /// The disk's time for them without the cache, in seconds.
    time: f64,
    /// The disk's time saved with the cache, prefetches included, in seconds.
    saved: f64,
}

impl Group {
    fn sum(groups: impl Iterator<Item = Self>) -> Self {
        groups.fold(Self::default(), |a, b| Self {
            reads: a.reads + b.reads,
            time: a.time + b.time,
            saved: a.saved + b.saved,
        })
    }

    /// The same gains, scaled to this many reads.
    fn of_reads(self, reads: f64) -> Self {
        let share = if self.reads > 0.0 { reads / self.reads } else { 0.0 };
        Self { reads: share * self.reads, time: share * self.time, saved: share * self.saved }
    }
}

/// What a cache has saved in each group, over the last windows.
///
/// A group is charged the time that the disk was busy with its own requests, prefetches included. Response times would
/// mislead: a useless prefetch delays the next request, which often belongs to another group.
///
/// A group with few reads follows its neighbours: files with similar access patterns lie near each other.
#[derive(Clone, Debug)]
pub(crate) struct RegionGains {
    groups: Vec<Group>,
}

impl RegionGains {
    /// Starts with no knowledge of `regions`.
    pub(crate) fn new(regions: &DiskRegions) -> Self {
        Self { groups: vec![Group::default(); regions.states().len()] }
    }

    /// Learns from a window: the disk's requests without a cache, and with one that is on everywhere. O(n log n).
    pub(crate) fn learn(&mut self, regions: &DiskRegions, without: &[TraceRecord], with: &[TraceRecord]) {
        let groups = &mut self.groups;
        groups.iter_mut().for_each(|group| *group = group.of_reads(DECAY * group.reads));
        for (lba, seconds) in read_times(without) {
            if let Some(group) = regions.of(lba.0).and_then(|n| groups.get_mut(n)) {
                group.reads += 1.0;
                group.time += seconds;
                group.saved += seconds;
            }
        }
        for (lba, seconds) in read_times(with) {
            if let Some(group) = regions.of(lba.0).and_then(|n| groups.get_mut(n)) {
                group.saved -= seconds;
            }
        }
    }

    /// `regions`, with each group switched by its gains in the last windows. A group stays as it is while nothing is
    /// known of it and its neighbours.
    pub(crate) fn applied(&self, regions: &DiskRegions) -> DiskRegions {
        let at = |n: usize| self.groups.get(n).copied().unwrap_or_default();
        let is_on = |(n, &on): (usize, &bool)| {
            let before = n.checked_sub(1).map(at).unwrap_or_default();
            let neighbours = Group::sum([before, at(n + 1)].into_iter());
            let all = Group::sum([at(n), neighbours.of_reads(NEIGHBOURS)].into_iter());
            if on { all.saved >= -LEAST * all.time } else { all.saved > LEAST * all.time }
        };
        regions.with(regions.states().iter().enumerate().map(is_on).collect())
    }
}

/// For each read, how long the disk was busy with it, in seconds: from its issue or from the completion before it,
/// whichever is later.
fn read_times(records: &[TraceRecord]) -> Vec<(Lba, f64)> {
    let times = |r: &TraceRecord| Some((r.issue?, r.completion?, r.op, r.lba));
    let mut served: Vec<_> = records.iter().filter_map(times).collect();
    served.sort_by_key(|&(issue, completion, ..)| (completion, issue));
    let mut until = Nanos::ZERO;
    let mut reads = Vec::with_capacity(served.len());
    for (issue, completion, op, lba) in served {
        let busy = completion.since(issue.max(until).min(completion));
        until = completion;
        if op == Op::Read {
            reads.push((lba, busy.as_secs_f64()));
        }
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    /// Reads of a group, one after the other, that take `ms` each.
    fn reads(group: u64, count: u64, ms: u64) -> Vec<TraceRecord> {
        let read = |n: u64| TraceRecord {
            issue: Some(Nanos::from_millis(n * 1000)),
            completion: Some(Nanos::from_millis(n * 1000 + ms)),
            ..TraceRecord::new(Nanos::from_millis(n * 1000), Op::Read, Lba(group * 512 + 8), Sectors(8))
        };
        (0..count).map(read).collect()
    }

    fn applied(count: u64, windows: &[(Vec<TraceRecord>, Vec<TraceRecord>)]) -> DiskRegions {
        let regions = DiskRegions::new(count as u32, count * 512);
        let mut gains = RegionGains::new(&regions);
        for (without, with) in windows {
            gains.learn(&regions, without, with);
        }
        gains.applied(&regions)
    }

    #[test]
    fn a_group_is_on_where_it_saves_time_of_the_disk() {
        let loses = (reads(0, 40, 5), reads(0, 40, 8));
        assert_eq!(
            applied(4, std::slice::from_ref(&loses)).states(),
            [false, false, true, true],
            "its neighbour follows it"
        );
        let gains = (reads(1, 40, 5), reads(1, 40, 1));
        assert_eq!(applied(4, &[loses, gains]).states(), [false, true, true, true]);
    }

    #[test]
    fn a_group_with_few_reads_follows_its_neighbours() {
        let both = |own: u64| {
            let window = |ms: [u64; 2]| [reads(1, own, ms[0]), reads(2, 100, ms[1])].concat();
            applied(4, &[(window([5, 5]), window([8, 2]))])
        };
        assert!(both(2).states()[1], "two that lose 3 ms, beside a hundred that save as much");
        assert!(!both(20).states()[1]);
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let window = |with| (reads(0, 40, 5), reads(0, 40, with));
        let mut windows = vec![window(9)];
        assert!(!applied(1, &windows).states()[0]);
        windows.extend([window(4), window(4)]);
        assert!(!applied(1, &windows).states()[0], "it has lost more than it has saved");
        windows.push(window(4));
        assert!(applied(1, &windows).states()[0]);
    }

    #[test]
    fn time_that_two_requests_share_counts_once() {
        let record = |op, issue, end| TraceRecord {
            issue: Some(Nanos::from_millis(issue)),
            completion: Some(Nanos::from_millis(end)),
            ..TraceRecord::new(Nanos::ZERO, op, Lba(0), Sectors(8))
        };
        let times = read_times(&[record(Op::Read, 0, 10), record(Op::Write, 2, 12), record(Op::Read, 3, 15)]);
        let ms: Vec<_> = times.iter().map(|(_, seconds)| (seconds * 1e3).round()).collect();
        assert_eq!(ms, [10.0, 3.0]);
    }
}
