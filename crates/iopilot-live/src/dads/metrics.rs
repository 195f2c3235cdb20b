//! The metrics of a daemon, in the text format of Prometheus.

use super::status::{DiskStatus, Phase, Status};
use crate::metrics_server::label;
use std::fmt::Write as _;

type Value = fn(&DiskStatus) -> Option<f64>;

/// Name, type, help text, and value for a disk.
const FAMILIES: [(&str, &str, &str, Value); 21] = [
    ("flying", "gauge", "1 while the autopilot is at work, 0 while it stands by or has ended.", |d| {
        Some(f64::from(u8::from(!matches!(d.phase, Phase::StandingBy | Phase::Ended))))
    }),
    ("dry_run", "gauge", "1 where it only says what it would do.", |d| Some(f64::from(u8::from(d.dry_run)))),
    ("requests_total", "counter", "Requests that completed.", |d| Some(d.requests as f64)),
    ("bytes_total", "counter", "Bytes of these requests.", |d| Some(d.bytes as f64)),
    ("requests_per_second", "gauge", "Requests that completed per second, recently.", |d| Some(d.iops)),
    ("latency_seconds", "gauge", "Mean time of these requests from arrival to completion.", |d| {
        Some(d.latency_ms / 1e3)
    }),
    ("pending_requests", "gauge", "Requests inside the block layer and the disk.", |d| Some(d.pending as f64)),
    ("lost_events_total", "counter", "Events that the kernel's buffers had no room for.", |d| {
        Some(d.lost_events as f64)
    }),
    ("checks_total", "counter", "Checks.", |d| Some(d.checks as f64)),
    ("skipped_checks_total", "counter", "Intervals after which no check was made.", |d| Some(d.skips as f64)),
    ("changes_total", "counter", "Changes of scheduler.", |d| Some(d.changes as f64)),
    ("changes_taken_back_total", "counter", "Changes that took back one that did not deliver its gain.", |d| {
        Some(d.taken_back as f64)
    }),
    ("renewals_total", "counter", "How often the scheduler in use was reinstalled.", |d| Some(d.renewals as f64)),
    ("changing_seconds_total", "counter", "Time that changes and renewals took, draining included.", |d| {
        Some(d.changing_s)
    }),
    ("simulating_seconds_total", "counter", "Time that simulating candidates took.", |d| Some(d.simulating_s)),
    (
        "counted_only_seconds_total",
        "counter",
        "Time in which requests were only counted, because more came than a check tries.",
        |d| Some(d.counted_only_s),
    ),
    ("audit_failures_total", "counter", "Lines that the audit file had no room for.", |d| {
        Some(d.audit_failures as f64)
    }),
    ("measured_cost", "gauge", "Measured cost of the scheduler in use at the last check.", |d| {
        d.last.as_ref()?.measured_cost
    }),
    ("model_error_ratio", "gauge", "By what share the predicted cost was off the measured one.", |d| {
        Some(d.last.as_ref()?.model_error_percent? / 100.0)
    }),
    ("predicted_gain_ratio", "gauge", "Gain that was predicted of the last change.", |d| {
        Some(d.last_change.as_ref()?.predicted_gain_percent? / 100.0)
    }),
    ("measured_gain_ratio", "gauge", "Gain that was measured after it.", |d| {
        Some(d.last_change.as_ref()?.measured_gain_percent? / 100.0)
    }),
];

/// `status` in the text format of Prometheus.
pub(super) fn text(status: &Status) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in FAMILIES {
        let values: Vec<_> = status.disks.iter().filter_map(|d| Some((d, value(d)?))).collect();
        if !values.is_empty() {
            let _ = writeln!(out, "# HELP iopilot_dads_{name} {help}\n# TYPE iopilot_dads_{name} {kind}");
        }
        for (disk, value) in values {
            let _ = writeln!(out, "iopilot_dads_{name}{{device=\"{}\"}} {value}", label(&disk.device));
        }
    }
    let _ =
        writeln!(out, "# HELP iopilot_dads_scheduler 1 for the scheduler in use.\n# TYPE iopilot_dads_scheduler gauge");
    for disk in &status.disks {
        let (device, scheduler) = (label(&disk.device), label(&disk.scheduler));
        let _ = writeln!(out, "iopilot_dads_scheduler{{device=\"{device}\",scheduler=\"{scheduler}\"}} 1");
    }
    out.push_str("# HELP iopilot_dads_candidate_cost Predicted cost at the last check; less is better.\n");
    out.push_str("# TYPE iopilot_dads_candidate_cost gauge\n");
    for disk in &status.disks {
        for candidate in disk.last.iter().flat_map(|check| &check.candidates) {
            let (device, name) = (label(&disk.device), label(&candidate.scheduler));
            let _ = writeln!(
                out,
                "iopilot_dads_candidate_cost{{device=\"{device}\",candidate=\"{name}\"}} {}",
                candidate.cost
            );
        }
    }
    out
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
        let text = text(&status());
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
