//! [`Audit`]: a file with one line of JSON for each event of the autopilot.

use iopilot_dads::SchedulerCheck;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// An event of the autopilot.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum AuditEvent {
    /// The autopilot takes over.
    Start {
        /// The scheduler in use.
        scheduler: String,
        /// Its tunables.
        tunables: BTreeMap<String, String>,
        /// The candidates.
        candidates: Vec<String>,
        /// The model.
        model: String,
        /// The backend of the capture.
        capture: String,
        /// Whether it is a dry run.
        dry_run: bool,
        /// Further notes for the user.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A check, and what was decided.
    Check {
        /// The check.
        #[serde(flatten)]
        check: SchedulerCheck,
        /// Seconds that the simulations took.
        simulated_in_s: f64,
        /// Whether a change was carried out: not in a dry run, and not if the kernel refused it.
        carried_out: bool,
        /// Seconds that the change took, draining included.
        #[serde(skip_serializing_if = "Option::is_none")]
        change_s: Option<f64>,
    },
    /// An interval without a check.
    Skipped {
        /// Why.
        why: String,
    },
    /// Somebody else changed the scheduler or its tunables.
    ChangedByOthers {
        /// What is in use now.
        scheduler: String,
        /// Whether it is a candidate. If not, the autopilot stands by.
        candidate: bool,
    },
    /// Something failed.
    Failed {
        /// What, and why.
        why: String,
    },
    /// The autopilot ends.
    Stop {
        /// Why.
        why: String,
        /// The scheduler in use from here on; `None` if the disk is gone.
        scheduler: Option<String>,
    },
}

#[derive(Serialize)]
struct Line<'a> {
    /// Seconds since 1970.
    time_s: f64,
    device: &'a str,
    #[serde(flatten)]
    event: &'a AuditEvent,
}

/// The audit file, if there is one.
#[derive(Debug, Default)]
pub(super) struct Audit {
    file: Option<Mutex<File>>,
}

impl Audit {
    /// Appends to the file at `path`; without one, events are dropped.
    ///
    /// # Errors
    /// Where the file cannot be opened for writing.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| File::options().append(true).create(true).open(path).map(Mutex::new);
        Ok(Self { file: path.map(open).transpose()? })
    }

    /// Writes a line. On a full disk it removes the partial line.
    ///
    /// # Errors
    /// If it cannot be written. The flight should go on nevertheless.
    pub(super) fn write(&self, device: &str, event: &AuditEvent) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let time_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let mut line = serde_json::to_vec(&Line { time_s, device, event })?;
        line.push(b'\n');
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let end = file.metadata()?.len();
        file.write_all(&line).inspect_err(|_| {
            // A part of a line would spoil the next one as well.
            let _ = file.set_len(end);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_a_line_of_json() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for why in ["first", "second"] {
            let audit = Audit::open(Some(&path)).unwrap();
            audit.write("sda", &AuditEvent::Skipped { why: why.to_owned() }).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[1]["event"], &lines[1]["why"]), (&"skipped".into(), &"second".into()));
        assert!(lines[0]["time_s"].as_f64().unwrap() > 1e9);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        if let Ok(audit) = Audit::open(Some(Path::new("/dev/full"))) {
            assert!(audit.write("sda", &AuditEvent::Skipped { why: String::new() }).is_err());
        }
        Audit::default().write("sda", &AuditEvent::Skipped { why: String::new() }).unwrap();
    }
}
