//! [`timeline`]: the issue time of each measured request, for either side of the think times.

use iopilot_block::{Lba, Op, Sectors};
use iopilot_trace::{ThinkTime, ValidateRecord};

/// A request with its measured times, ns.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Read or write.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// The time of issue; the first record starts at 0.
    pub issue: f64,
    /// The measured time from issue to completion.
    pub service: f64,
}

impl Timed {
    /// The time of completion.
    pub fn end(&self) -> f64 {
        self.issue + self.service
    }

    /// The first block behind the request.
    pub fn behind(&self) -> u64 {
        self.lba.0 + u64::from(self.sectors.0)
    }
}

/// The requests of a trace at their measured times, one at a time.
pub fn timeline(records: &[ValidateRecord], think: ThinkTime) -> Vec<Timed> {
    let mut now = 0.0;
    let mut out = Vec::with_capacity(records.len());
    for r in records {
        let pause = r.think.0 as f64;
        if think == ThinkTime::Before {
            now += pause;
        }
        let service = r.service.0 as f64;
        out.push(Timed { op: r.op, lba: r.lba, sectors: r.sectors, issue: now, service });
        now += service;
        if think == ThinkTime::After {
            now += pause;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Nanos;
    use iopilot_trace::CacheOutcome;

    #[test]
    fn the_pause_lies_on_either_side_of_its_request() {
        let record = |service, think| ValidateRecord {
            op: Op::Read,
            lba: Lba(0),
            sectors: Sectors(1),
            cache: CacheOutcome::Hit,
            service: Nanos(service),
            think: Nanos(think),
        };
        let records = [record(10, 100), record(20, 200)];
        let issues = |think| timeline(&records, think).iter().map(|t| t.issue).collect::<Vec<_>>();
        assert_eq!(issues(ThinkTime::After), [0.0, 110.0]);
        assert_eq!(issues(ThinkTime::Before), [100.0, 310.0]);
    }
}
