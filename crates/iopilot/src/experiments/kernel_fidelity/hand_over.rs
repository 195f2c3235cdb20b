//! [`HandOver`]: how long the kernel takes to hand a request to the device.

use super::race::median;
use iopilot_block::Nanos;
use iopilot_sim::HostConfig;
use iopilot_trace::TraceRecord;

/// What reaches the device later than this after it arrived waited for something.
const WAITED: Nanos = Nanos::from_micros(100);
/// Of fewer times no median is taken.
const ENOUGH: usize = 20;

/// Microseconds; `None` where too few requests tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HandOver {
    /// Of a request that waits for nothing.
    issue_us: Option<f64>,
    /// From a completion, of a request that waited for it.
    restart_us: Option<f64>,
}

impl HandOver {
    /// As `records` tell it.
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let mut ends: Vec<Nanos> = records.iter().filter_map(|r| r.completion).collect();
        ends.sort_unstable();
        let (mut at_once, mut after) = (Vec::new(), Vec::new());
        for r in records {
            let Some(issue) = r.issue else { continue };
            let took = issue.since(r.arrival);
            if took < WAITED {
                at_once.push(took);
            } else if let Some(end) = ends.partition_point(|&end| end <= issue).checked_sub(1).and_then(|n| ends.get(n))
            {
                // Later ones waited for something else than room.
                after.extend(Some(issue.since(*end)).filter(|took| *took < WAITED));
            }
        }
        Self { issue_us: median_us(&mut at_once), restart_us: median_us(&mut after) }
    }

    /// The medians of what `all` tell.
    pub(super) fn typical(all: &[Self]) -> Self {
        let of = |time: fn(&Self) -> Option<f64>| median(all.iter().filter_map(time).collect());
        Self { issue_us: of(|h| h.issue_us), restart_us: of(|h| h.restart_us) }
    }

    /// `host` with these times, as far as they are known.
    pub(super) fn on(self, host: &HostConfig) -> HostConfig {
        HostConfig {
            issue_us: self.issue_us.unwrap_or(host.issue_us),
            restart_us: self.restart_us.unwrap_or(host.restart_us),
            ..host.clone()
        }
    }
}

fn median_us(times: &mut [Nanos]) -> Option<f64> {
    let middle = times.len() / 2;
    (times.len() >= ENOUGH).then(|| times.select_nth_unstable(middle).1.0 as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    /// Two tasks that read in turns on a device that takes one request: the first of a pair waits for nothing, the other for it.
    fn recording(pairs: u64) -> Vec<TraceRecord> {
        let one = |arrival: u64, issue: u64, completion: u64| TraceRecord {
            issue: Some(Nanos(1000 * issue)),
            completion: Some(Nanos(1000 * completion)),
            ..TraceRecord::new(Nanos(1000 * arrival), Op::Read, Lba(0), Sectors(8))
        };
        (0..pairs)
            .map(|n| 10_000 * n)
            .flat_map(|at| [one(at, at + 6, at + 500), one(at + 1, at + 509, at + 900)])
            .collect()
    }

    #[test]
    fn it_is_what_a_request_takes_after_it_came_or_after_another_was_complete() {
        let told = HandOver::of(&recording(20));
        assert_eq!(told, HandOver { issue_us: Some(6.0), restart_us: Some(9.0) });
        let host = told.on(&HostConfig::default());
        assert_eq!((host.issue_us, host.restart_us), (6.0, 9.0));
    }

    #[test]
    fn too_few_tell_nothing() {
        assert_eq!(HandOver::of(&recording(19)), HandOver::default());
        let host = HostConfig::default();
        assert_eq!(HandOver::default().on(&host).issue_us, host.issue_us);
    }

    #[test]
    fn of_several_recordings_it_is_the_middle() {
        let told = |issue| HandOver { issue_us: Some(issue), restart_us: None };
        let typical = HandOver::typical(&[told(9.0), told(2.0), HandOver::default(), told(3.0)]);
        assert_eq!(typical, HandOver { issue_us: Some(3.0), restart_us: None });
    }
}
