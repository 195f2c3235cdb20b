//! What to do with settings: shell lines, and candidates for the autopilot.

use crate::settings::TunedSettings;
use std::collections::BTreeSet;

/// The files of `/sys/block/DISK` to write for `settings`, in order, with their values. A new scheduler has its defaults, and
/// changes `nr_requests`; so the scheduler comes first of these three.
pub(crate) fn attributes(settings: &TunedSettings) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |file: &str, value: String| all.push((file.to_owned(), value));
    if let Some(depth) = settings.queue_depth {
        add("device/queue_depth", depth.to_string());
    }
    add("queue/scheduler", settings.scheduler.name.to_owned());
    for (name, value) in &settings.scheduler.settings {
        add(&format!("queue/iosched/{name}"), value.to_string());
    }
    if let Some(requests) = settings.nr_requests {
        add("queue/nr_requests", requests.to_string());
    }
    if let Some(kib) = settings.read_ahead_kb {
        add("queue/read_ahead_kb", kib.to_string());
    }
    all
}

/// Shell lines that apply `settings` to the disk `sdX`.
pub(crate) fn shell(settings: &TunedSettings) -> Vec<String> {
    attributes(settings).iter().map(|(file, value)| format!("echo {value} > /sys/block/sdX/{file}")).collect()
}

/// The first of `ranked` of each scheduler, as `--candidates` takes them: without the queue's settings, which the autopilot does
/// not change.
pub(crate) fn candidates<'a>(ranked: impl Iterator<Item = &'a TunedSettings>) -> String {
    let mut schedulers = BTreeSet::new();
    let first = ranked.filter(|settings| schedulers.insert(settings.scheduler.name));
    first.map(|settings| settings.scheduler.to_string()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_sched::SchedulerSpec;

    #[test]
    fn the_scheduler_is_written_before_what_belongs_to_it() {
        let scheduler = SchedulerSpec::parse("bfq:low_latency=0:slice_idle=2").unwrap();
        let settings =
            TunedSettings { scheduler, nr_requests: Some(512), queue_depth: Some(4), read_ahead_kb: Some(128) };
        assert_eq!(
            shell(&settings),
            [
                "echo 4 > /sys/block/sdX/device/queue_depth",
                "echo bfq > /sys/block/sdX/queue/scheduler",
                "echo 0 > /sys/block/sdX/queue/iosched/low_latency",
                "echo 2 > /sys/block/sdX/queue/iosched/slice_idle",
                "echo 512 > /sys/block/sdX/queue/nr_requests",
                "echo 128 > /sys/block/sdX/queue/read_ahead_kb",
            ]
        );
        let none = TunedSettings::defaults_of("none");
        let all = [settings, none, TunedSettings::defaults_of("bfq")];
        assert_eq!(candidates(all.iter()), "bfq:low_latency=0:slice_idle=2,none");
        assert_eq!(SchedulerSpec::parse_list(&candidates(all.iter())).unwrap().len(), 2);
    }
}
