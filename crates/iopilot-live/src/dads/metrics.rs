//! The metrics of a daemon, in the text format of Prometheus.

use super::status::{DiskStatus, Phase, Status};
use crate::exposition;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

type Value = fn(&DiskStatus) -> Option<f64>;

/// Name, help text, and value for a disk.
const FAMILIES: [(&str, &str, Value); 21] = [
    ("flying", "1 while the autopilot is at work, 0 while it stands by or has ended.", |d| {
        Some(f64::from(u8::from(!matches!(d.phase, Phase::StandingBy | Phase::Ended))))
    }),
    ("dry_run", "1 where it only says what it would do.", |d| Some(f64::from(u8::from(d.dry_run)))),
    ("requests_total", "Requests that completed.", |d| Some(d.requests as f64)),
    ("bytes_total", "Bytes of these requests.", |d| Some(d.bytes as f64)),
    ("requests_per_second", "Requests that completed per second, recently.", |d| Some(d.iops)),
    ("latency_seconds", "Mean time of these requests from arrival to completion.", |d| Some(d.latency_ms / 1e3)),
    ("pending_requests", "Requests inside the block layer and the disk.", |d| Some(d.pending as f64)),
    ("lost_events_total", "Events that the kernel's buffers had no room for.", |d| Some(d.lost_events as f64)),
    ("checks_total", "Checks.", |d| Some(d.checks as f64)),
    ("skipped_checks_total", "Intervals after which no check was made.", |d| Some(d.skips as f64)),
    ("changes_total", "Changes of scheduler.", |d| Some(d.changes as f64)),
    ("changes_taken_back_total", "Changes that took back one that did not deliver its gain.", |d| {
        Some(d.taken_back as f64)
    }),
    ("renewals_total", "How often the scheduler in use was reinstalled.", |d| Some(d.renewals as f64)),
    ("changing_seconds_total", "Time that changes and renewals took, draining included.", |d| Some(d.changing_s)),
    ("simulating_seconds_total", "Time that simulating candidates took.", |d| Some(d.simulating_s)),
    (
        "counted_only_seconds_total",
        "Time in which requests were only counted, because more came than a check tries.",
        |d| Some(d.counted_only_s),
    ),
    ("audit_failures_total", "Lines that the audit file had no room for.", |d| Some(d.audit_failures as f64)),
    ("measured_cost", "Measured cost of the scheduler in use at the last check.", |d| d.last.as_ref()?.measured_cost),
    ("model_error_ratio", "By what share the predicted cost was off the measured one.", |d| {
        Some(d.last.as_ref()?.model_error_percent? / 100.0)
    }),
    ("predicted_gain_ratio", "Gain that was predicted of the last change.", |d| {
        Some(d.last_change.as_ref()?.predicted_gain_percent? / 100.0)
    }),
    ("measured_gain_ratio", "Gain that was measured after it.", |d| {
        Some(d.last_change.as_ref()?.measured_gain_percent? / 100.0)
    }),
];

/// `status` in the text format of Prometheus.
pub(super) fn text(status: Status) -> String {
    exposition::text("iopilot_dads", StatusCollector(status))
}

/// Encodes the metrics of a status.
#[derive(Debug)]
struct StatusCollector(Status);

impl Collector for StatusCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let disks = &self.0.disks;
        for (name, help, value) in FAMILIES {
            let values: Vec<_> =
                disks.iter().filter_map(|d| Some(([("device", d.device.as_str())], value(d)?))).collect();
            if !values.is_empty() {
                exposition::encode_family(&mut encoder, name, help, &values)?;
            }
        }
        let schedulers: Vec<_> =
            disks.iter().map(|d| ([("device", d.device.as_str()), ("scheduler", d.scheduler.as_str())], 1.0)).collect();
        exposition::encode_family(&mut encoder, "scheduler", "1 for the scheduler in use.", &schedulers)?;
        let of_disk = |d: &'_ DiskStatus| {
            let candidates = d.last.iter().flat_map(|check| &check.candidates);
            candidates.map(|c| ([("device", d.device.clone()), ("candidate", c.scheduler.clone())], c.cost)).collect()
        };
        let costs: Vec<_> = disks.iter().flat_map(|d| -> Vec<_> { of_disk(d) }).collect();
        let help = "Predicted cost at the last check; less is better.";
        exposition::encode_family(&mut encoder, "candidate_cost", help, &costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let disk = DiskStatus { device: "sda".into(), scheduler: "bfq".into(), requests: 42, ..DiskStatus::default() };
        Status { disks: vec![disk], ..Status::default() }
    }

    #[test]
    fn every_family_is_described_once_and_named_as_prometheus_wants() {
        let text = text(status());
        assert!(text.contains("iopilot_dads_requests_total{device=\"sda\"} 42\n"), "{text}");
        assert!(text.contains("iopilot_dads_scheduler{device=\"sda\",scheduler=\"bfq\"} 1\n"));
        let mut names: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|l| l.ends_with("gauge") || l.contains("_total counter")), "{names:?}");
        assert!(!text.contains("measured_cost"), "a family without values is left out");
    }
}
