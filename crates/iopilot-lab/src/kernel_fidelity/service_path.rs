//! [`ServicePath`]: the path through the loop device and FUSE, which the disk's model does not include.

use crate::virtual_disk::ServerLogEntry;
use iopilot_block::{Lba, Nanos};
use iopilot_trace::TraceRecord;
use std::collections::HashMap;

/// The delays on the path to the virtual disk's server and back, by request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServicePath {
    /// In order of issue, by first sector: the delay from the kernel's issue to the server, and the delay from the
    /// model's completion to the kernel's.
    pub(super) ways: Vec<(Lba, (Nanos, Nanos))>,
    /// The mean lateness of the server's answers, us.
    pub(super) late_us: f64,
    /// The time on the clock of the disk's model when the first request arrived at the block layer. It gives the angle
    /// of the medium. `None` if the log contains none of the requests.
    pub(super) model: Option<Nanos>,
}

impl ServicePath {
    /// Finds `records` in the disk's log, which may hold more. Their times count from `origin` on the monotonic clock.
    /// A request that was merged into another is not in the log.
    pub(super) fn find(records: &[TraceRecord], origin: Nanos, log: &HashMap<u64, Vec<ServerLogEntry>>) -> Self {
        let found = |record: &TraceRecord| {
            let (issue, completion) = (origin + record.issue?, origin + record.completion?);
            let mut of_place = log.get(&record.lba.0)?.iter();
            let served = of_place.find(|s| s.arrived >= issue && s.left <= completion)?;
            Some((issue, record.lba, served, completion))
        };
        let mut all: Vec<_> = records.iter().filter_map(found).collect();
        let model = all.first().map(|(_, _, s, _)| s.model.since(s.arrived.since(origin)));
        all.sort_by_key(|(issue, ..)| *issue);
        let way = |&(issue, lba, s, completion): &(Nanos, Lba, &ServerLogEntry, Nanos)| {
            (lba, (s.arrived.since(issue), completion.since(s.due)))
        };
        let late: f64 = all.iter().map(|(_, _, s, _)| s.left.since(s.due).as_micros_f64()).sum();
        Self { ways: all.iter().map(way).collect(), late_us: late / all.len().max(1) as f64, model }
    }
}

/// The median of `times`; zero if there are none.
pub(super) fn median(times: impl Iterator<Item = Nanos>) -> Nanos {
    let mut times: Vec<Nanos> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, Sectors};

    #[test]
    fn a_request_is_found_by_its_sector_and_times() {
        let record = |lba: u64, issue: u64, completion: u64| TraceRecord {
            issue: Some(Nanos(issue)),
            completion: Some(Nanos(completion)),
            ..TraceRecord::new(Nanos(issue - 5), Op::Read, Lba(lba), Sectors(8))
        };
        let served = |arrived: u64, due: u64, left: u64| {
            let [arrived, due, left] = [arrived, due, left].map(|at| Nanos(1000 + at));
            ServerLogEntry { lba: 8, arrived, due, left, model: Nanos(arrived.0 + 70_000) }
        };
        // The second request reads the same sector again, and the third is not in the log.
        let log = HashMap::from([(8, vec![served(13, 90, 92), served(204, 290, 290)])]);
        let records = [record(8, 10, 100), record(8, 200, 300), record(16, 210, 310)];
        let path = ServicePath::find(&records, Nanos(1000), &log);
        let expected = [(3, 10), (4, 10)].map(|(there, back)| (Lba(8), (Nanos(there), Nanos(back))));
        assert_eq!(path.ways, expected);
        assert_eq!((path.late_us, path.model), (0.001, Some(Nanos(71_000))));
        assert_eq!(ServicePath::find(&records, Nanos(5000), &log), ServicePath::default());
    }

    #[test]
    fn the_median_is_one_of_them() {
        assert_eq!(median([9, 1, 7].into_iter().map(Nanos)), Nanos(7));
        assert_eq!(median(std::iter::empty()), Nanos::ZERO);
    }
}
