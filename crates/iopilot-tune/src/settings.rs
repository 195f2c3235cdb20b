//! [`TunedSettings`]: the settings of a disk's queue that are searched.

use iopilot_sched::{SchedulerSpec, Tunable};
use iopilot_sim::Machine;
use serde::{Serialize, Serializer};
use std::fmt;

/// KiB of a page.
pub(crate) const PAGE_KIB: u32 = 4;

/// The settings of a disk's queue. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunedSettings {
    /// The scheduler with the tunables that are not the kernel's defaults.
    #[serde(serialize_with = "as_text")]
    pub scheduler: SchedulerSpec,
    /// `queue/nr_requests`.
    pub nr_requests: Option<u32>,
    /// `device/queue_depth`.
    pub queue_depth: Option<u32>,
    /// `queue/read_ahead_kb`.
    pub read_ahead_kb: Option<u32>,
}

fn as_text<S: Serializer>(spec: &SchedulerSpec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(spec)
}

impl TunedSettings {
    /// A scheduler with its defaults.
    pub(crate) fn defaults_of(name: &'static str) -> Self {
        let scheduler = SchedulerSpec { name, settings: Vec::new(), prio: None };
        Self { scheduler, nr_requests: None, queue_depth: None, read_ahead_kb: None }
    }

    /// How many settings are not defaults.
    pub(crate) fn changes(&self) -> usize {
        let others = [self.nr_requests, self.queue_depth, self.read_ahead_kb];
        self.scheduler.settings.len() + others.iter().flatten().count()
    }

    /// The same with `tunable` set to `value`.
    pub(crate) fn with_tunable(&self, tunable: &Tunable, value: f64) -> Self {
        let mut changed = self.clone();
        let settings = &mut changed.scheduler.settings;
        settings.retain(|(name, _)| name != tunable.name);
        if value != tunable.default {
            settings.push((tunable.name.to_owned(), value));
            // One order, so that equal settings have one name.
            settings.sort_by(|a, b| a.0.cmp(&b.0));
        }
        changed
    }

    /// These settings, changed by all that `other` sets. Both have the same scheduler.
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut changed = self.clone();
        for (name, value) in &other.scheduler.settings {
            changed.scheduler.settings.retain(|(own, _)| own != name);
            changed.scheduler.settings.push((name.clone(), *value));
        }
        changed.scheduler.settings.sort_by(|a, b| a.0.cmp(&b.0));
        changed.nr_requests = other.nr_requests.or(self.nr_requests);
        changed.queue_depth = other.queue_depth.or(self.queue_depth);
        changed.read_ahead_kb = other.read_ahead_kb.or(self.read_ahead_kb);
        changed
    }

    /// The settings with one change less, in every way.
    pub(crate) fn with_less(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.scheduler.settings.len() {
            let mut less = self.clone();
            less.scheduler.settings.remove(at);
            all.push(less);
        }
        let others = [
            Self { nr_requests: None, ..self.clone() },
            Self { queue_depth: None, ..self.clone() },
            Self { read_ahead_kb: None, ..self.clone() },
        ];
        all.extend(others.into_iter().filter(|less| less != self));
        all
    }

    /// `machine` with these settings, except for the scheduler.
    pub(crate) fn on(&self, machine: &Machine) -> Machine {
        let mut machine = match self.read_ahead_kb {
            Some(kib) => machine.with_read_ahead(kib / PAGE_KIB),
            None => machine.clone(),
        };
        machine.block.nr_requests = self.nr_requests.or(machine.block.nr_requests);
        machine.block.queue_depth = self.queue_depth.or(machine.block.queue_depth);
        machine
    }

    /// Whether the scheduler queues requests under tags of its own, so that `nr_requests` has an effect.
    pub(crate) fn has_scheduler_tags(&self) -> bool {
        self.scheduler.info().features.scheduler_tags
    }
}

impl fmt::Display for TunedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scheduler)?;
        let others = [
            ("nr_requests", self.nr_requests),
            ("queue_depth", self.queue_depth),
            ("read_ahead_kb", self.read_ahead_kb),
        ];
        others.iter().filter_map(|(name, value)| Some((name, (*value)?))).try_for_each(|(n, v)| write!(f, " {n}={v}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_and_go_away_again() {
        let bfq = TunedSettings::defaults_of("bfq");
        let low = bfq.scheduler.info().tunables.iter().find(|t| t.name == "low_latency").unwrap();
        let changed = TunedSettings { queue_depth: Some(4), ..bfq.with_tunable(low, 0.0) };
        assert_eq!((changed.to_string().as_str(), changed.changes()), ("bfq:low_latency=0 queue_depth=4", 2));
        assert_eq!(changed.with_tunable(low, 1.0).to_string(), "bfq queue_depth=4");
        assert_eq!(bfq.merged(&changed), changed);
        let less: Vec<String> = changed.with_less().iter().map(ToString::to_string).collect();
        assert_eq!(less, ["bfq queue_depth=4", "bfq:low_latency=0"]);
    }
}
