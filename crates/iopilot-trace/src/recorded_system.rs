//! [`RecordedSystem`]: the machine and the settings under which a trace was recorded.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine and the settings under which a trace was recorded, as the kernel showed them when the recording began.
///
/// A recording carries it, so that a replay can use the same block layer. Only Parquet keeps it. Every field may be missing:
/// a later version adds fields, and a kernel may not show a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedSystem {
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// CPUs that were online.
    pub cpus: u16,
    /// The disk's name in the kernel, such as `sda`.
    pub device: String,
    /// What the disk says it is (`device/model`), or what a virtual disk models.
    pub model: Option<String>,
    /// The disk's size in sectors of 512 bytes.
    pub sectors: u64,
    /// The scheduler in use.
    pub scheduler: String,
    /// The scheduler's tunables, by name, in the kernel's units.
    pub tunables: BTreeMap<String, String>,
    /// The attributes of `/sys/block/*/queue`, by name.
    pub queue: BTreeMap<String, String>,
    /// Requests that the disk takes at once: `device/queue_depth` of SCSI and ATA, or the depth of a virtual disk.
    pub queue_depth: Option<u32>,
    /// Whether the driver asks the disk for room before it takes a request from the scheduler, as SCSI does.
    pub dispatch_budget: bool,
    /// Hardware queues.
    pub hardware_queues: u16,
    /// Tags of each hardware queue.
    pub hardware_tags: Option<u32>,
    /// File systems on the disk and its partitions, as `ext4 on /home`.
    pub file_systems: Vec<String>,
    /// Events that the kernel's buffers had no room for, or that a program of the capture missed.
    pub lost_events: u64,
    /// Requests whose completion was not seen.
    pub incomplete: u64,
}

impl RecordedSystem {
    /// The attribute `name` of the queue as a number; `None` where the kernel has none, or it is no number.
    pub fn attribute(&self, name: &str) -> Option<u32> {
        self.queue.get(name)?.trim().parse().ok()
    }

    /// The scheduler with those of its tunables that are not the kernel's defaults, as a command line has it. `defaults` are
    /// the scheduler's tunables with their defaults; others are left out.
    pub fn scheduler_spec<'a>(&self, defaults: impl IntoIterator<Item = (&'a str, String)>) -> String {
        let mut spec = self.scheduler.clone();
        for (name, default) in defaults {
            if let Some(value) = self.tunables.get(name).map(|value| value.trim()).filter(|value| *value != default) {
                spec += &format!(":{name}={value}");
            }
        }
        spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tunables_that_were_changed_are_named() {
        let tunables = [("fifo_batch", "4"), ("writes_starved", "2"), ("unknown", "1")];
        let system = RecordedSystem {
            scheduler: "mq-deadline".into(),
            tunables: tunables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..RecordedSystem::default()
        };
        let defaults =
            [("fifo_batch", "16".to_owned()), ("writes_starved", "2".to_owned()), ("front_merges", "1".into())];
        assert_eq!(system.scheduler_spec(defaults), "mq-deadline:fifo_batch=4");
    }

    #[test]
    fn what_a_later_version_adds_is_ignored_and_what_an_earlier_one_lacks_is_empty() {
        let system: RecordedSystem = serde_json::from_str(r#"{"scheduler":"bfq","colour":"red"}"#).unwrap();
        assert_eq!((system.scheduler.as_str(), system.cpus, system.queue_depth), ("bfq", 0, None));
    }
}
