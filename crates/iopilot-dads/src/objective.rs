//! [`Objective`]: what makes one scheduler better than another.

use iopilot_block::{Criticality, Histogram, InputError, Nanos, ProcessId, jain_index, suggest};
use iopilot_sim::{RequestOutcome, RunReport};
use iopilot_trace::TraceRecord;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What makes one scheduler better than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The thesis' total service time (GF 4.2): the sum of the times from insertion into the scheduler's queue to
    /// completion. It includes waiting, so a scheduler's idling shows. If its process slept for a tag, a request counts
    /// from when the process would have inserted it otherwise: the thesis' kernel has no tags that a process could
    /// sleep for.
    #[default]
    ServiceTime,
    /// The time the disk is busy with the requests.
    BusyTime,
    /// The 99th percentile of the response time.
    P99,
    /// Bytes served per second of the whole, from first arrival to last completion.
    Throughput,
    /// Jain's index of the processes' throughput.
    Fairness,
    /// The time that processes wait: each response weighted by the criticality of the request (Ganger ch. 2 and 7: a
    /// mean over all requests misleads).
    BlockedTime,
}

impl Objective {
    /// The names of all objectives.
    pub const NAMES: [&'static str; 6] = ["service-time", "busy-time", "p99", "throughput", "fairness", "blocked-time"];

    /// Whether what processes get done tells which candidate is better.
    pub(crate) fn is_progress(self) -> bool {
        matches!(self, Self::ServiceTime | Self::BusyTime | Self::Throughput)
    }

    /// Whether the cost is a time of the disk or of processes, so that the time of a change can be added.
    pub fn is_time(self) -> bool {
        matches!(self, Self::BusyTime | Self::ServiceTime | Self::BlockedTime | Self::Throughput)
    }
}

/// An objective, and how much a time-limited request counts in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Costing {
    pub(crate) objective: Objective,
    /// The share of a time-limited request's response for which a process waits.
    pub(crate) lateness: f64,
}

impl From<Objective> for Costing {
    /// Where nothing is known of the time limits, one half of the response counts.
    fn from(objective: Objective) -> Self {
        Self { objective, lateness: 0.5 }
    }
}

impl Costing {
    /// The share of a response for which a process waits (Ganger 3.1). A time-limited request delays its process only
    /// if it is late.
    fn weight(self, criticality: Criticality) -> f64 {
        match criticality {
            Criticality::TimeCritical => 1.0,
            Criticality::TimeLimited => self.lateness,
            Criticality::TimeNonCritical => 0.0,
        }
    }

    /// Whether the cost follows from the response times alone. Waiting for a tag is then part of it.
    pub(crate) fn is_of_responses(self) -> bool {
        matches!(self.objective, Objective::ServiceTime | Objective::P99 | Objective::BlockedTime)
    }

    /// The cost of these responses, each with the criticality of its request; `None` where the responses alone do not
    /// determine it.
    pub(crate) fn of_responses(self, responses: impl Iterator<Item = (Nanos, Criticality)>) -> Option<f64> {
        match self.objective {
            Objective::ServiceTime => Some(responses.map(|(response, _)| response.as_secs_f64()).sum()),
            Objective::BlockedTime => {
                Some(responses.map(|(response, criticality)| self.weight(criticality) * response.as_secs_f64()).sum())
            }
            Objective::P99 => {
                let mut histogram = Histogram::new();
                responses.for_each(|(response, _)| histogram.record(response));
                Some(histogram.distribution().p99 / 1e3)
            }
            Objective::BusyTime | Objective::Throughput | Objective::Fairness => None,
        }
    }

    /// The cost of `report` by this objective; less is better.
    pub(crate) fn cost(self, report: &RunReport) -> f64 {
        match self.objective {
            Objective::BusyTime => report.utilization * report.elapsed_s,
            Objective::ServiceTime => report.response_ms.mean * report.requests as f64 / 1e3,
            Objective::P99 => report.response_ms.p99 / 1e3,
            Objective::Throughput => report.elapsed_s,
            Objective::Fairness => 1.0 / report.jain.max(1e-9),
            Objective::BlockedTime => {
                let outcomes = report.outcomes.as_deref().unwrap_or_default();
                outcomes.iter().map(|o| self.weight(o.criticality) * o.response.as_secs_f64()).sum()
            }
        }
    }

    /// The measured cost of `records`, in order of arrival, by this objective. `None` if a record has no value for a
    /// time that the objective needs. O(n log n).
    pub(crate) fn measured(self, records: &[TraceRecord]) -> Option<f64> {
        let spans = || records.iter().filter_map(|r| Some((r, r.completion?)));
        let start = records.first()?.arrival;
        match self.objective {
            Objective::BusyTime => {
                let mut served: Vec<(Nanos, Nanos)> =
                    records.iter().map(|r| Some((r.issue?, r.completion?))).collect::<Option<_>>()?;
                served.sort_unstable();
                let (mut busy, mut until) = (Nanos::ZERO, Nanos::ZERO);
                for (from, to) in served {
                    busy += to.since(from.max(until).min(to));
                    until = until.max(to);
                }
                Some(busy.as_secs_f64())
            }
            Objective::ServiceTime | Objective::P99 | Objective::BlockedTime => {
                self.of_responses(spans().map(|(r, end)| (end.since(r.arrival), r.criticality())))
            }
            Objective::Throughput => spans().map(|(_, end)| end.since(start).as_secs_f64()).max_by(f64::total_cmp),
            Objective::Fairness => {
                let mut processes: BTreeMap<Option<ProcessId>, (u64, Nanos, Nanos)> = BTreeMap::new();
                for (r, end) in spans() {
                    let p = processes.entry(r.process).or_insert((0, r.arrival, end));
                    *p = (p.0 + r.sectors.bytes(), p.1.min(r.arrival), p.2.max(end));
                }
                let rates = processes.values().map(|&(bytes, from, to)| bytes as f64 / to.since(from).as_secs_f64());
                Some(1.0 / jain_index(rates.filter(|rate| rate.is_finite())).max(1e-9))
            }
        }
    }

    /// The part of the cost that one request causes, in seconds; `None` if the cost is not a sum over requests.
    pub(crate) fn share(self, outcome: &RequestOutcome) -> Option<f64> {
        match self.objective {
            Objective::BusyTime => Some(outcome.service.as_secs_f64()),
            Objective::BlockedTime => Some(self.weight(outcome.criticality) * outcome.response.as_secs_f64()),
            // For P99 and throughput the response time only approximates a share.
            Objective::ServiceTime | Objective::P99 | Objective::Throughput => Some(outcome.response.as_secs_f64()),
            Objective::Fairness => None,
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for Objective {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        match name {
            "service-time" => Ok(Self::ServiceTime),
            "busy-time" => Ok(Self::BusyTime),
            "p99" => Ok(Self::P99),
            "throughput" => Ok(Self::Throughput),
            "fairness" => Ok(Self::Fairness),
            "blocked-time" => Ok(Self::BlockedTime),
            _ => {
                let near = suggest(name, Self::NAMES).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
                Err(InputError::new("objective", name, format!("one of {}{near}", Self::NAMES.join(", "))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn what_was_measured_is_judged_as_what_was_simulated() {
        let measured = |objective: Objective| move |records: &[TraceRecord]| Costing::from(objective).measured(records);
        let record = |op, arrival: u64, issue: u64, end: u64| TraceRecord {
            issue: Some(Nanos::from_secs(issue)),
            completion: Some(Nanos::from_secs(end)),
            ..TraceRecord::new(Nanos::from_secs(arrival), op, Lba(0), Sectors(8))
        };
        // Busy from 1 to 4 and from 6 to 7: the second request overlaps the first, the third is a background write.
        let records = [record(Op::Read, 0, 1, 3), record(Op::Read, 0, 2, 4), record(Op::Write, 5, 6, 7)];
        assert_eq!(measured(Objective::BusyTime)(&records), Some(4.0));
        assert_eq!(measured(Objective::ServiceTime)(&records), Some(3.0 + 4.0 + 2.0));
        assert_eq!(measured(Objective::BlockedTime)(&records), Some(7.0), "nobody waits for the write");
        assert_eq!(measured(Objective::Throughput)(&records), Some(7.0));
        assert_eq!(measured(Objective::BusyTime)(&[]), None);
        let unissued = TraceRecord { issue: None, ..records[0].clone() };
        assert_eq!(measured(Objective::BusyTime)(&[unissued]), None, "a guess would be no measurement");
    }

    #[test]
    fn a_limited_request_counts_as_far_as_it_is_late() {
        let response = [(Nanos::from_secs(4), Criticality::TimeLimited)];
        let cost =
            |lateness| Costing { objective: Objective::BlockedTime, lateness }.of_responses(response.into_iter());
        assert_eq!((cost(0.25), cost(0.0)), (Some(1.0), Some(0.0)));
        assert_eq!(Costing::from(Objective::BlockedTime).of_responses(response.into_iter()), Some(2.0));
    }

    #[test]
    fn names_are_read_as_written() {
        for name in Objective::NAMES {
            assert_eq!(name.parse::<Objective>().unwrap().to_string(), name);
        }
        let e = "blocked".parse::<Objective>().unwrap_err().to_string();
        assert!(e.starts_with("objective: got blocked, expected one of service-time, busy-time"), "{e}");
    }
}
