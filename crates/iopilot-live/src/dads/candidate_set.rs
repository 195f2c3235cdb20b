//! [`CandidateSet`]: the candidates for a live disk, and how each is installed.

use super::installer::install_at_once;
use crate::{BlockQueue, LiveError, QueueState};
use iopilot_block::InputError;
use iopilot_dads::{DEFAULT_CANDIDATES, parse_candidates};
use iopilot_sched::{Lineage, NO_SCHEDULER, SCHEDULERS, SchedulerInfo, SchedulerSpec};
use std::collections::BTreeMap;

/// The candidates for a live disk.
#[derive(Clone, Debug)]
pub(super) struct CandidateSet {
    /// All of them; each is one that the kernel offers for the disk.
    pub(super) candidates: Vec<SchedulerSpec>,
    /// The one in use at the start, with its tunables as found.
    pub(super) initial: usize,
    /// The one to return to after too many changes in a row.
    pub(super) default: usize,
    /// The kernel's default tunables of each scheduler that has been installed.
    defaults: BTreeMap<String, BTreeMap<String, String>>,
}

impl CandidateSet {
    /// The schedulers `wanted` and the one in use. If `wanted` is empty, those of [`DEFAULT_CANDIDATES`] that the kernel
    /// offers. `None` as `default` means the one in use.
    ///
    /// # Errors
    /// Where the disk is gone, the kernel does not offer what was asked for, or the one in use cannot be simulated.
    pub(super) fn of(
        queue: &BlockQueue,
        state: &QueueState,
        wanted: &[SchedulerSpec],
        default: Option<&SchedulerSpec>,
    ) -> Result<Self, LiveError> {
        let offered = queue.schedulers()?;
        let present = spec_of(state).ok_or_else(|| {
            let known = known().collect::<Vec<_>>().join(", ");
            InputError::new("scheduler in use", &state.scheduler, format!("one that can be simulated: {known}"))
        })?;
        let mut candidates: Vec<SchedulerSpec> = match wanted {
            [] => {
                let is_offered = |spec: &SchedulerSpec| offered.iter().any(|o| o == spec.name);
                parse_candidates(&[DEFAULT_CANDIDATES])?.into_iter().filter(is_offered).collect()
            }
            wanted => wanted.to_vec(),
        };
        wanted.iter().chain(default).try_for_each(SchedulerSpec::check_of_a_kernel)?;
        candidates.extend(default.filter(|d| !candidates.contains(d)).cloned());
        if let Some(missing) = candidates.iter().find(|c| !offered.iter().any(|o| o == c.name)) {
            let (device, scheduler) = (queue.name().to_owned(), missing.name.to_owned());
            return Err(LiveError::Scheduler { device, scheduler, offered });
        }
        let initial = match candidates.iter().position(|c| *c == present) {
            Some(at) => at,
            // The scheduler as the administrator tuned it replaces the untuned one.
            None => match candidates.iter().position(|c| wanted.is_empty() && c.name == present.name) {
                Some(at) => {
                    candidates[at] = present;
                    at
                }
                None => {
                    candidates.insert(0, present);
                    0
                }
            },
        };
        let default = default.and_then(|d| candidates.iter().position(|c| c == d)).unwrap_or(initial);
        Ok(Self { candidates, initial, default, defaults: BTreeMap::new() })
    }

    /// The candidate that is in use in `state`.
    pub(super) fn position(&self, state: &QueueState) -> Option<usize> {
        let present = spec_of(state)?;
        self.candidates.iter().position(|c| *c == present)
    }

    /// Reinstalls the candidate in use, with nothing learned. The kernel ignores a change to the scheduler in use, so
    /// another one is installed in between.
    ///
    /// # Errors
    /// As [`Self::install`], and where there is no other scheduler.
    pub(super) fn renew(&mut self, queue: &BlockQueue, which: usize) -> Result<(), LiveError> {
        let name = self.candidates[which].name;
        let offered = queue.schedulers()?;
        // `none` is installed and removed fastest.
        let other = offered.iter().find(|o| *o == NO_SCHEDULER).or_else(|| offered.iter().find(|o| *o != name));
        let Some(other) = other.filter(|o| *o != name) else {
            return Err(LiveError::Failed(format!("{name} is all that the kernel offers")));
        };
        queue.set_scheduler(other)?;
        self.install(queue, which)
    }

    /// Installs a candidate.
    ///
    /// # Errors
    /// Where the kernel refuses something; the queue may then be half changed.
    pub(super) fn install(&mut self, queue: &BlockQueue, which: usize) -> Result<(), LiveError> {
        let spec = &self.candidates[which];
        if queue.scheduler()? != spec.name {
            install_at_once(queue, spec)?;
            self.defaults.insert(spec.name.to_owned(), untouched(queue.tunables()?, spec));
        }
        let present = queue.tunables()?;
        let wanted = |name: &str| spec.settings.iter().rev().find(|(key, _)| key == name).map(|(_, v)| v.to_string());
        let seen = self.defaults.get(spec.name);
        let usual =
            |name: &str| seen.and_then(|seen| seen.get(name).cloned()).or_else(|| tunable_default(spec.name, name));
        for (name, value) in &present {
            if let Some(value) = wanted(name).or_else(|| usual(name)).filter(|v| v != value) {
                queue.set_tunable(name, &value)?;
            }
        }
        match spec.settings.iter().find(|(name, _)| !present.contains_key(name)) {
            // The error names the missing file.
            Some((name, value)) => queue.set_tunable(name, &value.to_string()),
            None => Ok(()),
        }
    }
}

/// Of the tunables of a scheduler that was just installed as `spec`, those that still have the kernel's defaults.
fn untouched(mut tunables: BTreeMap<String, String>, spec: &SchedulerSpec) -> BTreeMap<String, String> {
    tunables.retain(|name, _| spec.settings.iter().all(|(set, _)| set != name));
    tunables
}

/// The schedulers of the live kernel that can be simulated.
fn known() -> impl Iterator<Item = &'static str> {
    SCHEDULERS.iter().filter(|s| s.lineage == Lineage::Linux6).map(|s| s.name)
}

fn tunable_default(scheduler: &str, tunable: &str) -> Option<String> {
    let info = SchedulerInfo::of(scheduler)?;
    info.tunables.iter().find(|t| t.name == tunable).map(|t| t.default.to_string())
}

/// The scheduler in use with those of its tunables that are not the kernel's defaults.
fn spec_of(state: &QueueState) -> Option<SchedulerSpec> {
    let info = SchedulerInfo::of(&state.scheduler).filter(|s| s.lineage == Lineage::Linux6)?;
    let set = |t: &iopilot_sched::Tunable| {
        let text = state.tunables.get(t.name)?;
        // By default the kernel shows the number of requests here.
        let usual = t.name == "async_depth" && state.attributes.get("nr_requests") == Some(text);
        let value: f64 = text.parse().ok()?;
        (!usual && value != t.default && (t.min..=t.max).contains(&value)).then(|| (t.name.to_owned(), value))
    };
    Some(SchedulerSpec { name: info.name, settings: info.tunables.iter().filter_map(set).collect(), prio: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(scheduler: &str, tunables: &[(&str, &str)]) -> QueueState {
        let tunables = tunables.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        QueueState { scheduler: scheduler.to_owned(), tunables, attributes: BTreeMap::new() }
    }

    #[test]
    fn what_a_candidate_sets_is_no_default_of_the_kernel() {
        let seen = state("bfq", &[("low_latency", "0"), ("slice_idle", "8")]).tunables;
        let spec = SchedulerSpec::parse("bfq:low_latency=0").unwrap();
        let defaults = untouched(seen, &spec);
        assert_eq!(defaults.keys().collect::<Vec<_>>(), ["slice_idle"]);
        assert_eq!(tunable_default("bfq", "low_latency").as_deref(), Some("1"), "instead");
    }

    #[test]
    fn what_was_tuned_is_seen_and_what_was_not_is_left_out() {
        let spec = |tunables: &[_]| spec_of(&state("mq-deadline", tunables)).unwrap().to_string();
        assert_eq!(spec(&[("fifo_batch", "16"), ("front_merges", "1")]), "mq-deadline");
        assert_eq!(spec(&[("fifo_batch", "4"), ("unheard_of", "7")]), "mq-deadline:fifo_batch=4");
        assert_eq!(spec_of(&state("adios", &[])), None);
    }
}
