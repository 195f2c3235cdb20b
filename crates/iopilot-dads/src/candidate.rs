//! [`TrialCandidate`]: what is tried.

use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_redcap::{Contents, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, Session, SimError};
use iopilot_workload::Source;
use std::ops::Range;
use std::sync::Arc;

/// What is tried: a scheduler, and what is above it.
#[derive(Clone, Debug)]
pub(crate) struct TrialCandidate {
    pub(crate) scheduler: SchedulerSpec,
    /// The cache above the block layer.
    pub(crate) redcap: Option<RedcapSpec>,
    /// What it begins with; `None` if it begins empty.
    pub(crate) contents: Option<Arc<Contents>>,
    /// Ranges of sectors that the cache leaves alone.
    pub(crate) off: Vec<Range<u64>>,
    /// Whether the requests of the disk are to be kept ([`Trial::disk`]).
    pub(crate) keeps_disk: bool,
}

impl TrialCandidate {
    /// A scheduler, and a cache that leaves nothing alone, or none.
    pub(crate) const fn new(scheduler: SchedulerSpec, redcap: Option<RedcapSpec>) -> Self {
        Self { scheduler, redcap, contents: None, off: Vec::new(), keeps_disk: false }
    }

    /// A run of `source` on `device` with it, before the first event.
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
