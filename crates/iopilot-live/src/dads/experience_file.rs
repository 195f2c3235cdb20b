//! [`ExperienceFile`]: what was learned of a disk, across flights.

use crate::LiveError;
use iopilot_dads::Experience;
use iopilot_trace::Destination;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is remembered of loads is void after this time, in seconds: 30 days.
const LIFE: u64 = 30 * 86_400;

/// Where it is kept, and what it holds for.
#[derive(Clone, Debug)]
pub(super) struct ExperienceFile {
    path: PathBuf,
    setting: Setting,
}

/// What the memory of loads holds for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Setting {
    /// The kernel's release.
    kernel: String,
    candidates: Vec<String>,
    /// The `nr_requests` of the queue without a scheduler, or what is known of it.
    depth: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(flatten)]
    setting: Setting,
    /// Seconds since 1970.
    saved_at: u64,
    experience: Experience,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl ExperienceFile {
    /// The file at `path` for these candidates at this depth, under the running kernel.
    pub(super) fn new(path: PathBuf, candidates: Vec<String>, depth: Option<u32>) -> Self {
        // Where /proc is missing, all kernels are the same.
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        Self { path, setting: Setting { kernel, candidates, depth } }
    }

    /// Reads it. `None` where there is none. Without what is remembered of loads if that is older than 30 days, or of
    /// another kernel, depth or candidates.
    ///
    /// # Errors
    /// Where it cannot be read, or holds something else.
    pub(super) fn read(&self) -> Result<Option<Experience>, LiveError> {
        let failed = |e: io::Error| LiveError::io(&self.path, e);
        let text = match fs::read_to_string(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(failed)?,
        };
        let saved: Saved = serde_json::from_str(&text).map_err(|e| failed(e.into()))?;
        let holds = saved.setting == self.setting && now() <= saved.saved_at.saturating_add(LIFE);
        Ok(Some(if holds { saved.experience } else { saved.experience.without_loads() }))
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be written. The flight should go on nevertheless.
    pub(super) fn write(&self, experience: Experience) -> Result<(), LiveError> {
        let saved = Saved { setting: self.setting.clone(), saved_at: now(), experience };
        write(&self.path, &saved).map_err(|e| LiveError::io(&self.path, e))
    }
}

fn write(path: &Path, saved: &Saved) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let (destination, mut file) = Destination::create(path)?;
    file.write_all(serde_json::to_string(saved)?.as_bytes())?;
    destination.commit(&file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_dads::{Autopilot, AutopilotSettings, parse_candidates};
    use iopilot_device::ConstantDevice;
    use iopilot_sim::RunConfig;

    #[test]
    fn what_is_kept_holds_for_the_same_candidates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/disk.experience.json");
        let of = |names: &[&str]| {
            ExperienceFile::new(path.clone(), names.iter().map(|&name| name.to_owned()).collect(), Some(4))
        };
        let file = of(&["none", "bfq"]);
        assert_eq!(file.read().unwrap(), None);
        let disk = ConstantDevice::simple(1 << 20, 1, iopilot_block::Nanos::from_millis(1), 0.0);
        let settings = AutopilotSettings::new(parse_candidates(&["none,bfq"]).unwrap());
        let autopilot = Autopilot::new(settings, disk, &RunConfig::default()).unwrap();
        let experience = autopilot.experience().unwrap();
        file.write(experience.clone()).unwrap();
        assert_eq!(file.read().unwrap(), Some(experience.clone()));
        assert_eq!(of(&["none"]).read().unwrap(), Some(experience.without_loads()));
        fs::write(&path, "{").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("disk.experience.json"));
    }
}
