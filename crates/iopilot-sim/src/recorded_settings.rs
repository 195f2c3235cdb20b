//! Takes the block layer's settings from a recording, for the machine that replays it.

use crate::machine::Machine;
use iopilot_trace::RecordedSystem;
use iopilot_workload::Recording;

/// Two disks of one size may differ by this share of it, as makers count differently.
const SAME_SIZE: f64 = 0.01;
/// A model's name that is shorter than this says too little.
const SHORTEST_MODEL: usize = 4;

/// `BLKDEV_DEFAULT_RQ`: a scheduler gets tags for twice as many requests as the hardware, up to this.
const DEFAULT_REQUESTS: u32 = 128;

impl Machine {
    /// Whether this machine's disk is the one that `system` was recorded on: by its model, or else by its size. `None` if the
    /// recording does not say.
    pub fn has_disk_of(&self, system: &RecordedSystem) -> Option<bool> {
        if system.attribute("rotational").is_some_and(|rotational| (rotational == 1) != self.is_rotational()) {
            return Some(false);
        }
        let recorded = system.model.as_deref().map(|model| model.trim().to_lowercase());
        let recorded = recorded.filter(|model| model.len() >= SHORTEST_MODEL);
        let names = [&self.disk_name, &self.disk.name, &self.disk.model].map(|name| name.to_lowercase());
        if recorded.is_some_and(|model| names.iter().any(|name| name.contains(&model))) {
            return Some(true);
        }
        let (there, here) = (system.sectors as f64, self.capacity() as f64);
        (system.sectors > 0).then(|| (there / here - 1.0).abs() <= SAME_SIZE)
    }

    /// Takes the block layer's settings and the number of CPUs from `recording`, unless this machine's description sets them.
    /// Returns a sentence for the user that says what was taken; `None` if the recording does not describe its machine.
    ///
    /// Nothing is taken from a recording on a solid-state drive for a hard disk, or the reverse.
    pub fn take_settings(&mut self, recording: &Recording) -> Option<String> {
        let system = recording.system.as_ref()?;
        let place = format!("{} (Linux {}, {})", system.device, system.kernel, system.scheduler);
        if system.attribute("rotational").is_some_and(|rotational| (rotational == 1) != self.is_rotational()) {
            let (recorded, here) = if self.is_rotational() { ("has no", "has") } else { ("has", "has no") };
            return Some(format!(
                "recorded on {place}, which {recorded} moving parts; this disk {here}: the block layer is that of the kernel's defaults"
            ));
        }
        let mut taken = Vec::new();
        let mut take = |name: &str, setting: &mut Option<u32>, recorded: Option<u32>| {
            if let (None, Some(value)) = (&setting, recorded.filter(|value| *value > 0)) {
                *setting = Some(value);
                taken.push(format!("{name} {value}"));
            }
        };
        let depth = system.queue_depth.or(recording.observed.and_then(|observed| observed.queue_depth));
        let block = &mut self.block;
        take("nr_requests", &mut block.nr_requests, scheduler_requests(system));
        take("host_tags", &mut block.host_tags, host_tags(system, depth));
        take("queue_depth", &mut block.queue_depth, depth);
        take("max_sectors_kb", &mut block.max_sectors_kb, system.attribute("max_sectors_kb"));
        // The value 0 turns throttling off, which bfq does by itself.
        if system.scheduler != "bfq" && block.wbt_lat_usec.is_none() {
            block.wbt_lat_usec = system.attribute("wbt_lat_usec");
            taken.extend(block.wbt_lat_usec.map(|value| format!("wbt_lat_usec {value}")));
        }
        if let (None, Some(cache)) = (block.write_cache, system.queue.get("write_cache")) {
            block.write_cache = Some(cache.trim() == "write back");
            taken.push(format!("write_cache {}", cache.trim()));
        }
        if let (None, Some(fua)) = (block.fua, system.attribute("fua")) {
            block.fua = Some(fua != 0);
            taken.push(format!("fua {fua}"));
        }
        // libata is below SCSI, which has a dispatch budget. Without one, a hypervisor or a server is above the SATA disk.
        if !system.dispatch_budget && block.flush_defers.is_none() && self.drains_for_flushes() {
            self.block.flush_defers = Some(false);
            taken.push("flush_defers false".to_owned());
        }
        let block = &mut self.block;
        if let (None, queues @ 2..) = (block.nr_hw_queues, system.hardware_queues) {
            block.nr_hw_queues = Some(queues);
            taken.push(format!("nr_hw_queues {queues}"));
        }
        if let (0, Some(nomerges @ 1..=2)) = (block.nomerges, system.attribute("nomerges")) {
            block.nomerges = nomerges as u8;
            taken.push(format!("nomerges {nomerges}"));
        }
        if system.dispatch_budget && block.lookahead.is_none() {
            block.lookahead = Some(false);
            taken.push("no lookahead".to_owned());
        }
        if !self.sets_host && system.cpus > 0 {
            self.host.cpus = system.cpus;
            taken.push(format!("{} CPUs", system.cpus));
        }
        Some(match taken.is_empty() {
            true => format!("recorded on {place}; all settings are this machine's own"),
            false => format!("block layer as recorded on {place}: {}", taken.join(", ")),
        })
    }
}

/// The scheduler's tags. Under `none` the queue shows those of the hardware instead; a scheduler would get the kernel's default.
fn scheduler_requests(system: &RecordedSystem) -> Option<u32> {
    if system.scheduler == iopilot_sched::NO_SCHEDULER {
        system.hardware_tags.map(|tags| 2 * tags.min(DEFAULT_REQUESTS))
    } else {
        system.attribute("nr_requests")
    }
}

/// The tags of the hardware. A driver with a dispatch budget has its own number of tags. For other drivers, the disk's depth is
/// the number of tags.
fn host_tags(system: &RecordedSystem, depth: Option<u32>) -> Option<u32> {
    let shown = if system.scheduler == iopilot_sched::NO_SCHEDULER { system.attribute("nr_requests") } else { None };
    match system.dispatch_budget {
        true => system.hardware_tags,
        false => depth.or(shown).or(system.hardware_tags),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_workload::RecordingMetrics;

    #[test]
    fn the_disk_of_a_recording_is_known_by_its_model_or_size() {
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let on = |model: &str, sectors: u64, rotational: &str| RecordedSystem {
            model: Some(model.to_owned()),
            sectors,
            queue: [("rotational".to_owned(), rotational.to_owned())].into(),
            ..RecordedSystem::default()
        };
        assert_eq!(machine.has_disk_of(&RecordedSystem::default()), None);
        assert_eq!(
            machine.has_disk_of(&on("hd-500-16", 1 << 24, "1")),
            Some(true),
            "a small virtual disk of that model"
        );
        assert_eq!(machine.has_disk_of(&on("DISK", 976_773_168, "1")), Some(true), "one of that size");
        assert_eq!(machine.has_disk_of(&on("DISK", 1 << 24, "1")), Some(false));
        assert_eq!(machine.has_disk_of(&on("hd-500-16", 976_773_168, "0")), Some(false));
    }

    fn system(scheduler: &str, nr_requests: &str) -> RecordedSystem {
        let queue = [("nr_requests", nr_requests), ("rotational", "1"), ("max_sectors_kb", "1280")];
        RecordedSystem {
            scheduler: scheduler.into(),
            queue: queue.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            hardware_tags: Some(128),
            cpus: 4,
            ..RecordedSystem::default()
        }
    }

    fn machine(recording: &Recording) -> (Machine, String) {
        let mut machine = Machine::for_disk("hd-500-16").unwrap();
        let note = machine.take_settings(recording).unwrap();
        (machine, note)
    }

    #[test]
    fn a_shallow_disk_behind_many_tags_keeps_the_scheduler_s_own() {
        let observed = Some(RecordingMetrics { queue_depth: Some(4), ..RecordingMetrics::default() });
        let (machine, note) = machine(&Recording { system: Some(system("mq-deadline", "256")), observed });
        let block = &machine.block;
        assert_eq!((block.queue_depth, block.host_tags, block.nr_requests), (Some(4), Some(4), Some(256)), "{note}");
        assert_eq!(machine.host.cpus, 4);
        assert!(note.contains("nr_requests 256, host_tags 4, queue_depth 4"), "{note}");
    }

    #[test]
    fn under_none_the_queue_shows_the_hardware_s_tags() {
        let (machine, note) = machine(&Recording { system: Some(system("none", "4")), observed: None });
        assert_eq!((machine.block.host_tags, machine.block.nr_requests), (Some(4), Some(256)), "{note}");
    }

    #[test]
    fn a_scsi_adapter_has_more_tags_than_its_disk() {
        let scsi = RecordedSystem {
            queue_depth: Some(32),
            dispatch_budget: true,
            hardware_tags: Some(254),
            ..system("bfq", "508")
        };
        let (machine, _) = machine(&Recording { system: Some(scsi), observed: None });
        let block = &machine.block;
        assert_eq!((block.queue_depth, block.host_tags, block.lookahead), (Some(32), Some(254), Some(false)));
    }

    #[test]
    fn settings_of_the_description_are_kept() {
        let text = "disk = \"hd-500-16\"\n[block]\nqueue_depth = 8\n[host]\ncpus = 16\n";
        let mut machine = Machine::from_toml(text, std::path::Path::new("m.toml")).unwrap();
        machine.take_settings(&Recording { system: Some(system("none", "4")), observed: None });
        assert_eq!((machine.block.queue_depth, machine.host.cpus), (Some(8), 16));
    }

    #[test]
    fn a_recording_of_another_kind_of_disk_is_ignored() {
        let mut ssd = system("none", "1023");
        ssd.queue.insert("rotational".into(), "0".into());
        let (machine, note) = machine(&Recording { system: Some(ssd), observed: None });
        assert!(machine.block.host_tags.is_none() && note.contains("kernel's defaults"), "{note}");
    }
}
