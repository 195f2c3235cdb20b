//! [`TrialRunner`]: simulates the candidates on a model of the disk.

use crate::candidate::TrialCandidate;
use crate::coming_and_going::{ended, settled};
use crate::extended::ExtendedTrial;
use crate::objective::{Costing, Objective};
use crate::replay_trial::{ReplayTrial, from_zero};
use crate::tag_waits::{InFlight, depth_of_full_device, inserted_when_issued, slept};
use crate::trial::{Trial, Tried};
use iopilot_block::{Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, RedcapSpec};
use iopilot_sched::{Lineage, SchedulerSpec};
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::{Dependencies, TraceRecord};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Runs trials on a simulated disk. Every candidate starts from the state in which the scheduler in use left the disk
/// at the last check: the same cache contents and the same arm position.
///
/// Processes that had exited by the end of the window exit in the trial, too, since schedulers stop idling for them.
/// The others live on.
///
/// Candidates start with nothing learned each time. Keeping what they learned would not be more accurate. Between two
/// windows a candidate would see its processes stop until the last of them has finished, and bfq would remember that.
#[derive(Clone, Debug)]
pub(crate) struct TrialRunner<D> {
    disk: TrialDisk<D>,
    config: RunConfig,
    /// When the last request tried so far completed on the real disk.
    last_completion: Nanos,
    /// See [`TrialRunner::with_min_requests`].
    least: u64,
    /// The requests of the last window, kept for extended trials.
    before: Vec<TraceRecord>,
    mode: TrialMode,
    /// When the part of the last window that was tried began, and how many of its requests are older and were left out.
    since: Nanos,
    left_out: usize,
    /// Whether the cache of the configuration is in use.
    redcap_active: bool,
    /// How many requests processes keep in flight.
    in_flight: InFlight,
    /// See [`TrialRunner::tell_lateness`].
    lateness: Option<f64>,
    /// For each request that was tried, when it would have arrived, had its process not slept for tags.
    ready: Vec<Nanos>,
}

/// How a window is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrialMode {
    /// Its processes go on as they did ([`ExtendedTrial`]).
    Extended,
    /// It is replayed once: it has enough requests.
    Replay,
    /// It is replayed once, though it is short: processes came or went in it.
    ShortReplay,
}

/// A simulated disk from one trial to the next.
#[derive(Clone, Debug)]
pub(crate) struct TrialDisk<D> {
    pub(crate) device: D,
    /// Its virtual time, which never goes back.
    clock: Nanos,
}

impl<D> TrialDisk<D> {
    /// A disk that has served nothing yet.
    pub(crate) const fn new(device: D) -> Self {
        Self { device, clock: Nanos::ZERO }
    }
}

impl<D: Device + Clone + Send + Sync> TrialRunner<D> {
    /// A disk that has served nothing yet.
    pub(crate) fn new(device: D, config: &RunConfig) -> Self {
        let config = RunConfig { log: false, outcomes: true, ..config.clone() };
        Self {
            disk: TrialDisk::new(device),
            config,
            last_completion: Nanos::ZERO,
            least: 0,
            before: Vec::new(),
            mode: TrialMode::Replay,
            since: Nanos::ZERO,
            left_out: 0,
            redcap_active: true,
            in_flight: InFlight::default(),
            lateness: None,
            ready: Vec::new(),
        }
    }

    /// Replaces the settings of trials.
    pub(crate) fn set_config(&mut self, config: &RunConfig) {
        self.config = RunConfig { log: false, outcomes: true, ..config.clone() };
    }

    /// Makes trials at least `least` requests long. In a shorter window the processes go on as they did, and the second
    /// half of the trial counts. If processes started in the first half of the window, the part after that is tried in
    /// this way. If they started later, or exited, the window is replayed once.
    #[must_use]
    pub(crate) fn with_min_requests(self, least: u64) -> Self {
        Self { least, ..self }
    }

    /// How the last window was tried.
    pub(crate) fn mode(&self) -> TrialMode {
        self.mode
    }

    /// Notes how many requests processes keep in flight, as an observer of them reports. It matters while the scheduler
    /// in use lets them sleep for the device's tags.
    pub(crate) fn tell_in_flight(&mut self, in_flight: BTreeMap<ProcessId, u32>) {
        self.in_flight.tell(in_flight);
    }

    /// Notes how late time-limited requests have been: the share of their responses for which a process waited. `None`
    /// keeps the last known share; before there is one, one half counts.
    pub(crate) fn tell_lateness(&mut self, lateness: Option<f64>) {
        self.lateness = lateness.or(self.lateness);
    }

    fn costing(&self, objective: Objective) -> Costing {
        let usual = Costing::from(objective);
        Costing { lateness: self.lateness.unwrap_or(usual.lateness), ..usual }
    }

    /// Notes whether the cache above the block layer is in use ([`RunConfig::redcap`]). Trials then run with an empty
    /// cache that stays on, or without one.
    pub(crate) fn tell_redcap_active(&mut self, active: bool) {
        self.redcap_active = active;
    }

    /// The cache of trials.
    fn redcap_in_use(&self) -> Option<RedcapSpec> {
        let always = |spec: &RedcapSpec| RedcapSpec {
            algorithm: Algorithm::Always,
            miss: Some(spec.miss_or_default()),
            ..spec.clone()
        };
        self.config.redcap.as_ref().filter(|_| self.redcap_active).map(always)
    }

    /// The measured cost of `records`, the last window, to be compared with the cost of its trials. If the window was
    /// replayed once, a request that arrived before it counts from the start of the window.
    pub(crate) fn measured(&self, records: &[TraceRecord], objective: Objective) -> Option<f64> {
        let costing = self.costing(objective);
        let tried = &records[self.left_out.min(records.len())..];
        if costing.is_of_responses() {
            let spans = tried.iter().zip(&self.ready).filter_map(|(r, ready)| Some((r, *ready, r.completion?)));
            let since = if self.mode == TrialMode::Extended { Nanos::ZERO } else { self.since };
            return (!tried.is_empty())
                .then(|| spans.map(|(r, ready, end)| (end.since(ready.max(since).min(end)), r.criticality())))
                .and_then(|responses| costing.of_responses(responses));
        }
        match self.mode {
            TrialMode::Extended => costing.measured(tried),
            TrialMode::Replay | TrialMode::ShortReplay => costing.measured(&from_zero(records, self.since)),
        }
    }

    /// The simulated disk, so that it can learn in place. Its cache and its arm position stay.
    pub(crate) fn device_mut(&mut self) -> &mut D {
        &mut self.disk.device
    }

    /// Replaces the simulated disk by one that has served nothing yet.
    pub(crate) fn replace(&mut self, device: D) {
        self.disk = TrialDisk::new(device);
    }

    /// Tries each candidate on `records`, in order of arrival, with `pending` requests in flight after them. Processes
    /// wait for what they waited for, and think as long as they thought (GF 4.3.3 and 4.4.1). Runs in parallel on
    /// rayon's threads; the result does not depend on their number.
    ///
    /// # Errors
    /// Where the dependencies of the records cannot be inferred, a setting is not accepted, or a run gets stuck. The
    /// simulated disk is then unchanged.
    pub(crate) fn try_all(
        &mut self,
        records: &[TraceRecord],
        pending: usize,
        candidates: &[SchedulerSpec],
        current: usize,
        objective: Objective,
    ) -> Result<Vec<Trial>, SimError> {
        let redcap = self.redcap_in_use();
        let candidates: Vec<_> = candidates.iter().map(|c| TrialCandidate::new(c.clone(), redcap.clone())).collect();
        self.try_candidates(records, pending, &candidates, current, objective)
    }

    /// As [`TrialRunner::try_all`], where candidates also differ in the cache above the scheduler.
    ///
    /// # Errors
    /// As [`TrialRunner::try_all`].
    pub(crate) fn try_candidates(
        &mut self,
        records: &[TraceRecord],
        pending: usize,
        candidates: &[TrialCandidate],
        current: usize,
        objective: Objective,
    ) -> Result<Vec<Trial>, SimError> {
        let disks = vec![self.disk.clone(); candidates.len()];
        let tried = self.try_on(&disks, records, pending, candidates, current, objective)?;
        if let Some((_, disk)) = tried.get(current) {
            self.disk = disk.clone();
        }
        Ok(tried.into_iter().map(|(trial, _)| trial).collect())
    }

    /// As [`TrialRunner::try_candidates`], with a disk for each candidate: `disks`, as their last trials left them.
    /// Returns each trial with its disk.
    ///
    /// # Errors
    /// As [`TrialRunner::try_all`].
    pub(crate) fn try_on(
        &mut self,
        disks: &[TrialDisk<D>],
        records: &[TraceRecord],
        pending: usize,
        candidates: &[TrialCandidate],
        current: usize,
        objective: Objective,
    ) -> Result<Vec<(Trial, TrialDisk<D>)>, SimError> {
        self.ready.clear();
        let costing = self.costing(objective);
        let Some(first) = records.first() else {
            self.mode = TrialMode::Replay;
            return Ok(Vec::new());
        };
        // Under a scheduler without tags of its own, processes sleep for those of the device.
        let sleeps = candidates
            .get(current)
            .map(|candidate| &candidate.scheduler)
            .is_some_and(|c| c.lineage() == Lineage::Linux6 && !c.info().features.scheduler_tags);
        if let Some(depth) = sleeps.then(|| depth_of_full_device(records)).flatten() {
            let block = &mut self.config.block;
            if block.queue_depth.unwrap_or(self.disk.device.queue_depth()) > depth {
                (block.queue_depth, block.host_tags) = (Some(depth), Some(depth));
            }
        }
        let inserted = sleeps.then(|| inserted_when_issued(records));
        let records = inserted.as_deref().unwrap_or(records);
        let mut in_flight = self.in_flight.clone();
        let mut correct = |records: &[TraceRecord], dependencies: &mut Dependencies| {
            let slept = sleeps.then(|| slept(records));
            in_flight.correct(dependencies, slept.as_deref());
            slept
        };
        let gone = ended(records);
        // If the real disk was idle between two windows, so is the simulated one.
        let idle = Nanos(first.arrival.0.saturating_sub(self.last_completion.0));
        let since = self.last_completion.max(first.arrival);
        let least = usize::try_from(self.least).unwrap_or(usize::MAX);
        (self.left_out, self.since) = match records.len() < least {
            true => settled(records, since),
            false => (0, since),
        };
        let (left_out, rest) = records.split_at(self.left_out);
        let before = match left_out.is_empty() {
            true => Cow::from(&self.before),
            false => Cow::from([&self.before, left_out].concat()),
        };
        let extended = match ended(rest).is_empty() {
            true => ExtendedTrial::new(
                &before,
                rest,
                (self.since, pending),
                self.least,
                self.disk.device.capacity(),
                &mut correct,
            )?,
            false => None,
        };
        if extended.is_none() {
            (self.left_out, self.since) = (0, since);
        }
        self.mode = match &extended {
            Some(_) => TrialMode::Extended,
            None if self.least <= records.len() as u64 => TrialMode::Replay,
            None => TrialMode::ShortReplay,
        };
        let runs: Vec<Tried<D>> = match &extended {
            Some(extended) => {
                self.ready.extend_from_slice(extended.ready());
                let trial = |(c, disk): (_, &TrialDisk<D>)| {
                    extended.trial(disk.device.clone(), c, &self.config, disk.clock + idle, costing)
                };
                candidates.par_iter().zip(disks).map(trial).collect()
            }
            None => {
                let replayed = ReplayTrial::new(records, since, gone, &mut correct)?;
                self.ready.extend_from_slice(replayed.ready());
                let trial = |(c, disk): (_, &TrialDisk<D>)| {
                    replayed.trial(disk.device.clone(), c, &self.config, disk.clock + idle, costing)
                };
                candidates.par_iter().zip(disks).map(trial).collect()
            }
        };
        self.in_flight = in_flight;
        let runs = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.last_completion = records.iter().filter_map(|r| r.completion).max().unwrap_or(first.arrival);
        if least > 0 {
            self.before = records[records.len().saturating_sub(least)..].to_vec();
        }
        Ok(runs.into_iter().map(|(trial, device, clock)| (trial, TrialDisk { device, clock })).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn an_idle_disk_is_not_unsettled() {
        let disk = iopilot_device::ConstantDevice::simple(1 << 20, 1, Nanos::from_millis(1), 0.0);
        let mut runner = TrialRunner::new(disk, &RunConfig::default()).with_min_requests(8000);
        let candidates = [SchedulerSpec::parse("none").unwrap()];
        let record = |process, arrival, born| TraceRecord {
            process: Some(ProcessId(process)),
            process_start: born,
            completion: Some(Nanos(50)),
            ..TraceRecord::new(Nanos(arrival), Op::Read, Lba(0), Sectors(8))
        };
        let records = [record(6, 5, None), record(7, 40, Some(Nanos(39)))];
        runner.try_all(&records, 0, &candidates, 0, Objective::ServiceTime).unwrap();
        assert_eq!(runner.mode(), TrialMode::ShortReplay, "a process came");
        runner.try_all(&[], 0, &candidates, 0, Objective::ServiceTime).unwrap();
        assert_eq!(runner.mode(), TrialMode::Replay);
    }
}
