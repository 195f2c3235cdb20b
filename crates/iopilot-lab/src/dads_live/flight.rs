//! [`AutopilotDaemon`]: `dads run` on the virtual disk, and its audit.

use super::plan::DadsLivePlan;
use crate::virtual_disk::{VirtualDisk, program};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest time until the daemon watches the disk.
const PATIENCE: Duration = Duration::from_secs(20);

/// A change of scheduler that was carried out.
#[derive(Clone, Debug)]
pub(super) struct SchedulerChange {
    /// Seconds from the start of the flight.
    pub(super) at_s: f64,
    pub(super) from: String,
    pub(super) to: String,
    /// The predicted gain in percent, if the simulation gave a number.
    pub(super) promised: Option<f64>,
    /// The gain that was measured afterwards, in percent.
    pub(super) measured: Option<f64>,
    pub(super) reason: String,
}

/// A running daemon; killed when dropped.
pub(super) struct AutopilotDaemon {
    child: Child,
    audit: PathBuf,
}

impl AutopilotDaemon {
    /// Starts the daemon and waits until it watches the disk.
    pub(super) fn start(plan: &DadsLivePlan, disk: &VirtualDisk) -> anyhow::Result<Self> {
        let mut command = program()?;
        command.args(["dads", "run"]).arg(disk.device()).args(["--disk", plan.disk]);
        command
            .arg("--depth")
            .arg(plan.depth.to_string())
            .arg("--interval")
            .arg(plan.interval.as_secs_f64().to_string());
        command.arg("--trial-requests").arg(plan.trial_requests.to_string());
        command.arg("--candidates").arg(plan.schedulers.join(","));
        Self::begin(command, disk)
    }

    /// Starts the daemon with its defaults: without a model of the disk, and with nothing learned.
    pub(super) fn without_a_model(disk: &VirtualDisk) -> anyhow::Result<Self> {
        let learned = disk.folder().join("learned.toml");
        let _ = fs::remove_file(&learned);
        let mut command = program()?;
        command.args(["dads", "run"]).arg(disk.device()).arg("--learned").arg(&learned);
        Self::begin(command, disk)
    }

    fn begin(mut command: Command, disk: &VirtualDisk) -> anyhow::Result<Self> {
        let audit = disk.folder().join("audit.jsonl");
        let _ = fs::remove_file(&audit);
        let log = disk.folder().join("dads.log");
        command.arg("--audit").arg(&audit).arg("--runtime-dir").arg(disk.folder().join("run"));
        let log = File::create(log).context("making a log")?;
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().context("starting dads run")?;
        let flight = Self { child, audit };
        let began = Instant::now();
        while !fs::read_to_string(&flight.audit).is_ok_and(|text| text.contains("\"start\"")) {
            ensure!(began.elapsed() < PATIENCE, "dads run does not begin");
            sleep(Duration::from_millis(20));
        }
        Ok(flight)
    }

    /// Ends the daemon with a signal. Returns its changes and its audit.
    pub(super) fn end(mut self) -> anyhow::Result<(Vec<SchedulerChange>, String)> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().context("ending dads run")?;
        let status = self.child.wait().context("waiting for dads run")?;
        ensure!(status.success(), "dads run ended with {status}");
        let text = fs::read_to_string(&self.audit).context("reading the audit")?;
        Ok((changes(&text)?, text))
    }
}

impl Drop for AutopilotDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The changes in an audit. The check after a change says how much the change gained.
fn changes(audit: &str) -> anyhow::Result<Vec<SchedulerChange>> {
    let mut changes: Vec<SchedulerChange> = Vec::new();
    let mut began = None;
    for line in audit.lines() {
        let event: Value = serde_json::from_str(line).with_context(|| format!("reading `{line}`"))?;
        let time = event["time_s"].as_f64().unwrap_or_default();
        let began = *began.get_or_insert(time);
        if event["event"] != "check" {
            continue;
        }
        if let (Some(last), Some(gain)) = (changes.last_mut(), event["measured_gain_percent"].as_f64()) {
            // The new scheduler may need more than one check to settle.
            last.measured = Some(gain);
        }
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        if event["carried_out"] == true {
            changes.push(SchedulerChange {
                at_s: time - began,
                from: text("scheduler"),
                to: text("decision"),
                promised: event["gain"].as_f64().map(|gain| 100.0 * gain),
                measured: None,
                reason: text("why"),
            });
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_promised_and_its_measured_gain() {
        let audit = r#"{"time_s":100.0,"event":"start"}
{"time_s":102.0,"event":"check","scheduler":"none","decision":"bfq","gain":0.5,"carried_out":true,"why":"better"}
{"time_s":104.0,"event":"check","scheduler":"bfq","decision":"bfq","carried_out":false,"measured_gain_percent":41.0}
{"time_s":106.0,"event":"stop"}"#;
        let changes = changes(audit).unwrap();
        assert_eq!(changes.len(), 1);
        let c = &changes[0];
        assert_eq!((c.at_s, &*c.from, &*c.to, c.promised, c.measured), (2.0, "none", "bfq", Some(50.0), Some(41.0)));
    }
}
