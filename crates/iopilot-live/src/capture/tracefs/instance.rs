//! [`TracefsInstance`]: a private tracing instance, removed when dropped.

use super::mount::TracefsMount;
use crate::LiveError;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "iopilot-";

/// Removes the instances of dead processes. Does nothing if tracefs is not usable.
pub(super) fn tidy() {
    if let Ok(tracefs) = TracefsMount::open() {
        remove_leftovers(&tracefs.instances());
    }
}

/// A directory of tracefs with its own ring buffers, events and filters.
#[derive(Debug)]
pub(super) struct TracefsInstance {
    path: PathBuf,
    /// Keeps the file system mounted.
    _tracefs: TracefsMount,
}

impl TracefsInstance {
    /// Creates an instance named after this process, and removes those of dead processes.
    pub(super) fn create() -> Result<Self, LiveError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let tracefs = TracefsMount::open()?;
        let instances = tracefs.instances();
        remove_leftovers(&instances);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = instances.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|e| LiveError::io(&path, e))?;
        Ok(Self { path, _tracefs: tracefs })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    pub(super) fn read(&self, file: &str) -> Result<String, LiveError> {
        let path = self.path(file);
        read_whole(&path).map_err(|e| LiveError::io(path, e))
    }

    pub(super) fn write(&self, file: &str, value: &str) -> Result<(), LiveError> {
        let path = self.path(file);
        fs::write(&path, value).map_err(|e| LiveError::io(path, e))
    }

    /// The numbers of the CPUs that have a ring buffer, ascending.
    pub(super) fn cpus(&self) -> Result<Vec<u16>, LiveError> {
        let path = self.path("per_cpu");
        let mut cpus = Vec::new();
        for entry in fs::read_dir(&path).map_err(|e| LiveError::io(&path, e))? {
            let name = entry.map_err(|e| LiveError::io(&path, e))?.file_name();
            cpus.extend(name.to_string_lossy().strip_prefix("cpu").and_then(|n| n.parse::<u16>().ok()));
        }
        cpus.sort_unstable();
        Ok(cpus)
    }

    /// Events that never reached a reader, on all CPUs.
    pub(super) fn lost_events(&self) -> Result<u64, LiveError> {
        let mut lost = 0;
        for cpu in self.cpus()? {
            let stats = self.read(&format!("per_cpu/cpu{cpu}/stats"))?;
            lost += stats
                .lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
                .filter_map(|(_, n)| n.trim().parse::<u64>().ok())
                .sum::<u64>();
        }
        Ok(lost)
    }
}

impl Drop for TracefsInstance {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Some of these files return everything to the first `read(2)` and nothing to a second one.
fn read_whole(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let (mut buffer, mut length) = (vec![0; 64 << 10], 0);
    loop {
        let n = file.read(&mut buffer[length..])?;
        length += n;
        if n == 0 || length == buffer.len() {
            return Ok(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
    }
}

/// Ignores errors: the next capture tries again.
fn remove(instance: &Path) {
    let _ = fs::write(instance.join("tracing_on"), "0");
    let _ = fs::write(instance.join("events/enable"), "0");
    let _ = fs::remove_dir(instance);
}

fn remove_leftovers(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        if owner(&entry.file_name().to_string_lossy()).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            remove(&entry.path());
        }
    }
}

/// The process that made an instance of ours of this name.
fn owner(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_instances_have_an_owner() {
        assert_eq!(owner("iopilot-17-0"), Some(17));
        assert_eq!(owner("iopilot-mine"), None);
        assert_eq!(owner("trace-cmd-17-0"), None);
    }
}
