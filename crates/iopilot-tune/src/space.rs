//! [`TuneSpace`]: the settings that are searched, and the values of each.

use crate::settings::{PAGE_KIB, TunedSettings};
use iopilot_device::Device;
use iopilot_sched::{Lineage, SCHEDULERS, SchedulerInfo, Tunable, Unit};
use iopilot_sim::Machine;

/// Values of `nr_requests`. The kernel takes at most 2048 with a scheduler (`MAX_SCHED_RQ`).
const NR_REQUESTS: [u32; 6] = [64, 1024, 32, 256, 512, 128];
/// The factors of a tunable's default, the most telling ones first.
const FACTORS: [f64; 8] = [4.0, 0.25, 16.0, 1.0 / 16.0, 2.0, 0.5, 64.0, 1.0 / 64.0];
/// The values of a tunable whose default is 0.
const FROM_ZERO: [f64; 5] = [64.0, 16.0, 256.0, 1024.0, 4096.0];
/// Pages that are read ahead.
const READ_AHEAD: [u32; 9] = [32, 128, 8, 0, 64, 16, 256, 4, 1];

/// A setting.
#[derive(Clone, Copy, Debug)]
enum Knob {
    Tunable(&'static Tunable),
    NrRequests,
    QueueDepth,
    ReadAhead,
}

/// The settings that are searched for a class of disks.
#[derive(Clone, Debug)]
pub(crate) struct TuneSpace {
    schedulers: Vec<&'static SchedulerInfo>,
    /// The device's own queue depth, if it can be lowered.
    depth: Option<u32>,
    /// Whether the loads have files, which are read ahead.
    reads_ahead: bool,
}

impl TuneSpace {
    /// The settings of disks like those of `machines`. `has_files`: the loads read files through the machines' page caches.
    pub(crate) fn of(machines: &[&Machine], has_files: bool) -> Self {
        let devices: Vec<_> = machines.iter().map(|machine| machine.device()).collect();
        // NVMe has no `device/queue_depth`.
        let can_be_lowered = devices.iter().all(|device| device.hardware_queues() == 1);
        let depth = devices.iter().map(Device::queue_depth).min().filter(|&depth| can_be_lowered && depth > 1);
        let schedulers = SCHEDULERS.iter().filter(|info| info.lineage == Lineage::Linux6).collect();
        let reads_ahead = has_files && machines.iter().all(|machine| machine.read_ahead_pages().is_some());
        Self { schedulers, depth, reads_ahead }
    }

    /// The schedulers with their defaults.
    pub(crate) fn defaults(&self) -> Vec<TunedSettings> {
        self.schedulers.iter().map(|info| TunedSettings::defaults_of(info.name)).collect()
    }

    /// Every change of one setting of one scheduler. The most telling values come first, and the schedulers take turns, so that
    /// any beginning of the list is a fair sample.
    pub(crate) fn single_changes(&self) -> Vec<TunedSettings> {
        let lists: Vec<Vec<TunedSettings>> = self.defaults().iter().map(|start| self.changes_of(start)).collect();
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest).flat_map(|n| lists.iter().filter_map(move |list| list.get(n).cloned())).collect()
    }

    /// Every change of one setting of `start`.
    pub(crate) fn changes_of(&self, start: &TunedSettings) -> Vec<TunedSettings> {
        let knobs = self.knobs(start);
        let longest = knobs.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let nth = |n: usize| knobs.iter().filter_map(move |(knob, values)| Some(set(start, *knob, *values.get(n)?)));
        (0..longest).flat_map(nth).filter(|changed| changed != start).collect()
    }

    fn knobs(&self, settings: &TunedSettings) -> Vec<(Knob, Vec<f64>)> {
        let tunables = settings.scheduler.info().tunables;
        // `slice_idle_us` is `slice_idle` in another unit.
        let is_double = |tunable: &Tunable| {
            tunable.name.strip_suffix("_us").is_some_and(|name| tunables.iter().any(|other| other.name == name))
        };
        // A switch tells most, so it comes first.
        let mut own: Vec<&'static Tunable> = tunables.iter().filter(|tunable| !is_double(tunable)).collect();
        own.sort_by_key(|tunable| tunable.unit != Unit::Bool);
        let mut knobs: Vec<_> = own.into_iter().map(|tunable| (Knob::Tunable(tunable), values(tunable))).collect();
        if settings.has_scheduler_tags() {
            knobs.push((Knob::NrRequests, NR_REQUESTS.map(f64::from).to_vec()));
        }
        if let Some(depth) = self.depth {
            let powers = (0..u32::BITS).map(|n| 1 << n).take_while(|&value: &u32| value < depth);
            knobs.push((Knob::QueueDepth, powers.map(f64::from).collect()));
        }
        if self.reads_ahead {
            knobs.push((Knob::ReadAhead, READ_AHEAD.map(|pages| f64::from(pages * PAGE_KIB)).to_vec()));
        }
        knobs
    }
}

fn set(settings: &TunedSettings, knob: Knob, value: f64) -> TunedSettings {
    let number = Some(value as u32);
    match knob {
        Knob::Tunable(tunable) => settings.with_tunable(tunable, value),
        Knob::NrRequests => TunedSettings { nr_requests: number, ..settings.clone() },
        Knob::QueueDepth => TunedSettings { queue_depth: number, ..settings.clone() },
        Knob::ReadAhead => TunedSettings { read_ahead_kb: number, ..settings.clone() },
    }
}

/// The values of `tunable` that are tried, without its default.
fn values(tunable: &Tunable) -> Vec<f64> {
    let &Tunable { default, min, max, .. } = tunable;
    let mut values = match tunable.unit {
        Unit::Bool | Unit::Policy => (min as i64..=max as i64).map(|value| value as f64).collect(),
        // 0 often turns something off.
        _ if default != 0.0 => std::iter::once(0.0).chain(FACTORS.map(|factor| default * factor)).collect(),
        _ => FROM_ZERO.to_vec(),
    };
    if tunable.integer {
        values.iter_mut().for_each(|value: &mut f64| *value = value.round());
    }
    values.retain(|value| (min..=max).contains(value) && *value != default);
    let mut seen: Vec<f64> = Vec::new();
    values.retain(|value| {
        !seen.contains(value) && {
            seen.push(*value);
            true
        }
    });
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_tunable_of_the_running_kernel_s_schedulers_is_searched_within_its_range() {
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let space = TuneSpace::of(&[&machine], false);
        let changes = space.single_changes();
        let names: BTreeSet<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), changes.len(), "each is tried once");
        for info in SCHEDULERS.iter().filter(|info| info.lineage == Lineage::Linux6) {
            for tunable in info.tunables.iter().filter(|tunable| tunable.name != "slice_idle_us") {
                assert!(
                    names.iter().any(|name| name.contains(&format!("{}:{}=", info.name, tunable.name))),
                    "{tunable:?}"
                );
            }
        }
        for changed in &changes {
            iopilot_sched::SchedulerSpec::parse(&changed.scheduler.to_string()).unwrap();
        }
        assert!(names.contains("bfq:low_latency=0") && names.contains("mq-deadline queue_depth=4"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("none nr_requests")), "it has no effect there");
        assert!(!names.iter().any(|name| name.contains("read_ahead_kb")), "the load has no files");
    }

    #[test]
    fn what_a_disk_does_not_have_is_not_searched() {
        let nvme = Machine::for_disk("micron-7600-max-6t4").unwrap();
        let changes = TuneSpace::of(&[&nvme], true).single_changes();
        assert!(changes.iter().all(|changed| changed.queue_depth.is_none() && changed.read_ahead_kb.is_none()));
    }
}
