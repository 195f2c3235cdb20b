//! [`TrialCandidate`]: what a trial simulates.

use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_redcap::{Contents, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, Session, SimError};
use iopilot_workload::Source;
use std::ops::Range;
use std::sync::Arc;

/// What a trial simulates: a scheduler, and the cache above it.
#[derive(Clone, Debug)]
pub(crate) struct TrialCandidate {
    pub(crate) scheduler: SchedulerSpec,
    /// The cache above the block layer.
    pub(crate) redcap: Option<RedcapSpec>,
    /// What the cache holds at the start; `None` for an empty cache.
    pub(crate) contents: Option<Arc<Contents>>,
    /// Ranges of sectors that bypass the cache.
    pub(crate) off: Vec<Range<u64>>,
    /// Whether the trial records the disk's requests ([`Trial::disk`]).
    pub(crate) keeps_disk: bool,
}

impl TrialCandidate {
    /// A scheduler, with or without a cache. The cache covers the whole disk and starts empty.
    pub(crate) const fn new(scheduler: SchedulerSpec, redcap: Option<RedcapSpec>) -> Self {
        Self { scheduler, redcap, contents: None, off: Vec::new(), keeps_disk: false }
    }

    /// A session of `source` on `device` with this candidate, before its first event.
    ///
    /// # Errors
    /// Where a setting is not accepted.
    pub(crate) fn session<S: Source, D: Device>(
        &self,
        source: S,
        device: D,
        config: &RunConfig,
    ) -> Result<Session<S, D>, SimError> {
        let config = RunConfig { redcap: self.redcap.clone(), disk_log: self.keeps_disk, ..config.clone() };
        let mut session = Session::new(source, device, &self.scheduler, &config)?;
        if let Some(contents) = &self.contents {
            session.begin_redcap_with(contents);
        }
        if !self.off.is_empty() {
            // The device may have events of its own before the workload begins.
            session.set_redcap_off_regions(&self.off, Nanos::ZERO);
        }
        Ok(session)
    }
}
