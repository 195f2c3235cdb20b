//! [`NewProcesses`]: notices by its new processes that the load has changed.

use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::TraceRecord;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The load counts as settled this long after the last new process.
const SETTLED: Duration = Duration::from_secs(1);
/// The least requests of a settled load.
const ENOUGH: u64 = 64;
/// The most processes that are remembered.
const MOST: usize = 1 << 16;

/// The known processes. When new ones come, the next check need not wait for the end of the interval: the earlier load
/// says nothing about the present one.
#[derive(Debug, Default)]
pub(super) struct NewProcesses {
    known: HashSet<ProcessId>,
    /// When the last new process came, by this clock; and when it started or issued its first request, by the clock of
    /// the requests.
    last: Option<(Instant, Nanos)>,
    /// The requests that completed since then.
    requests: u64,
}

impl NewProcesses {
    /// Takes in `records`, which have just completed.
    pub(super) fn look(&mut self, records: &[TraceRecord], now: Instant) {
        for record in records {
            self.requests += 1;
            let Some(process) = record.process else { continue };
            if self.known.len() < MOST && self.known.insert(process) {
                let came = record.process_start.unwrap_or_default().max(record.arrival);
                let latest = self.last.map_or(came, |(_, before)| before.max(came));
                (self.last, self.requests) = (Some((now, latest)), 0);
            }
        }
    }

    /// When the present load began, on the clock of the requests; `None` unless new processes have come and the load
    /// has settled.
    pub(super) fn settled(&self, now: Instant) -> Option<Nanos> {
        let (at, came) = self.last?;
        (now.saturating_duration_since(at) >= SETTLED && self.requests >= ENOUGH).then_some(came)
    }

    /// Notes that a paused capture resumes at `now`: no earlier requests can be tried.
    pub(super) fn resumed(&mut self, now: Instant) {
        if let Some((at, _)) = &mut self.last {
            *at = now;
        }
        self.requests = 0;
    }

    /// Notes a check of `records`: from now on, only their processes are known.
    pub(super) fn checked(&mut self, records: &[TraceRecord]) {
        self.known = records.iter().filter_map(|r| r.process).collect();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn a_load_of_new_processes_is_noticed_once_all_have_come() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let of = |process: u32, ms: u64| {
            vec![
                TraceRecord {
                    process: Some(ProcessId(process)),
                    ..TraceRecord::new(Nanos::from_millis(ms), Op::Read, Lba(0), Sectors(8))
                };
                40
            ]
        };
        let mut newcomers = NewProcesses::default();
        newcomers.look(&of(1, 0), at(0));
        newcomers.look(&of(1, 900), at(900));
        assert_eq!(newcomers.settled(at(999)), None);
        assert_eq!(newcomers.settled(at(1000)), Some(Nanos::ZERO), "all are new at first");
        newcomers.checked(&of(1, 0));
        newcomers.look(&of(1, 2000), at(2000));
        assert_eq!(newcomers.settled(at(9000)), None, "nobody has come");
        newcomers.look(&of(2, 3000), at(3000));
        newcomers.look(&of(3, 3500), at(3500));
        assert_eq!(newcomers.settled(at(4600)), None, "too few requests");
        newcomers.look(&of(1, 4600), at(4600));
        assert_eq!(newcomers.settled(at(4600)), Some(Nanos::from_millis(3500)));
        newcomers.resumed(at(4700));
        assert_eq!(newcomers.settled(at(4700)), None, "nothing of it was captured");
        newcomers.look(&of(1, 5000), at(5000));
        newcomers.look(&of(1, 5600), at(5600));
        assert_eq!(newcomers.settled(at(5600)), None, "not long enough");
        assert!(newcomers.settled(at(5700)).is_some());
    }
}
