//! [`describe`]: the system that a recording is made on, as sysfs and procfs show it.

use crate::vdisk::{self, VDISK_STATE};
use crate::{BlockQueue, LiveError};
use iopilot_trace::RecordedSystem;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Describes the system and the disk at `path`, or the disk that the partition at `path` is on. What the kernel does
/// not show is left out.
///
/// # Errors
/// Where `path` is no block device.
pub fn describe(path: &Path) -> Result<RecordedSystem, LiveError> {
    let sysfs = crate::queue::disk_of(path)?;
    let text = |attribute: &str| read(&sysfs.join(attribute));
    let name = sysfs.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let queue = attributes(&sysfs.join("queue"));
    let scheduler = queue.get("scheduler").map(|line| BlockQueue::chosen(line).to_owned()).unwrap_or_default();
    let scsi_depth = text("device/queue_depth").and_then(|depth| depth.parse().ok());
    let virtual_disk = virtual_disk(&name);
    let tags = fs::read_dir(sysfs.join("mq")).map(|queues| queues.flatten().map(|q| q.path()).collect::<Vec<_>>());
    let tags: Vec<PathBuf> = tags.unwrap_or_default();
    Ok(RecordedSystem {
        kernel: read(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(0, |n| u16::try_from(n.get()).unwrap_or(u16::MAX)),
        model: virtual_disk.as_ref().map(|(model, _)| model.clone()).or_else(|| text("device/model")),
        sectors: text("size").and_then(|sectors| sectors.parse().ok()).unwrap_or(0),
        scheduler,
        tunables: attributes(&sysfs.join("queue/iosched")),
        queue,
        queue_depth: scsi_depth.or(virtual_disk.map(|(_, depth)| depth)),
        dispatch_budget: scsi_depth.is_some(),
        hardware_queues: u16::try_from(tags.len()).unwrap_or(u16::MAX),
        hardware_tags: tags.first().and_then(|queue| read(&queue.join("nr_tags"))?.parse().ok()),
        file_systems: file_systems(&sysfs),
        device: name,
        ..RecordedSystem::default()
    })
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}

/// The files of a folder of sysfs that can be read, by name.
fn attributes(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let files = entries.into_iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.filter_map(|entry| Some((entry.file_name().to_string_lossy().into_owned(), read(&entry.path())?))).collect()
}

/// The model and the depth of the virtual disk whose device is called `name`.
fn virtual_disk(name: &str) -> Option<(String, u32)> {
    let state = Path::new(VDISK_STATE);
    // Listing would make a missing folder, so a missing one is not listed.
    let attached = if state.is_dir() { vdisk::list(state).ok()? } else { return None };
    let found = attached.into_iter().find(|disk| disk.device.file_name().is_some_and(|device| device == name));
    found.map(|disk| (disk.disk, disk.depth))
}

/// The file systems that are mounted from the disk whose directory in sysfs is `sysfs`, or from its partitions.
fn file_systems(sysfs: &Path) -> Vec<String> {
    let number = |path: &Path| read(&path.join("dev"));
    let partitions = fs::read_dir(sysfs).map(|entries| entries.flatten().map(|e| e.path()).collect::<Vec<_>>());
    let mut numbers: Vec<String> = number(sysfs).into_iter().collect();
    numbers.extend(
        partitions.unwrap_or_default().iter().filter(|p| p.join("partition").exists()).filter_map(|p| number(p)),
    );
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounted(&mounts, &numbers)
}

/// Of `mounts`, in the form of `/proc/self/mountinfo`, those of the devices with these numbers.
fn mounted(mounts: &str, numbers: &[String]) -> Vec<String> {
    let of = |line: &str| -> Option<String> {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(2);
        let number = fields.next()?;
        let point = fields.nth(1)?;
        numbers
            .iter()
            .any(|n| n == number)
            .then(|| format!("{} on {point}", kind.split(' ').next().unwrap_or_default()))
    };
    mounts.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_the_disk_and_its_partitions_are_named() {
        let mounts = "36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw,errors=continue\n\
                      37 35 98:2 /sub /home rw shared:7 - xfs /dev/sda2 rw\n\
                      38 35 0:5 / /proc rw - proc proc rw\n";
        let numbers = ["98:0".to_owned(), "98:2".to_owned()];
        assert_eq!(mounted(mounts, &numbers), ["ext4 on /mnt", "xfs on /home"]);
    }

    #[test]
    fn what_is_no_block_device_is_refused() {
        let message = describe(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(message.starts_with("/dev/null: not a block device"), "{message}");
    }
}
