//! The laboratory: experiments that repeat the literature's and check its claims, experiments on fidelity to the
//! kernel, and the apparatus that exists for these alone.
//!
//! An experiment is a function from a [`Setup`] to an [`Outcome`]: tables, and a verdict on each claim of the source. A
//! claim that does not hold here has a reason. The function is pure: the number of threads changes nothing.
//! (Experiments on a live machine measure that machine.) Each experiment has a file of its own and an entry in [`ALL`].
//!
//! Sources are cited by short names: *GF* is González-Férez' thesis (2012), *DADS* the paper by González-Férez et al.
//! at SAC 2012, *Carroll* is Carroll's study of schedulers on RAID (2008), *Ganger* Ganger's thesis (1995).

/// The methods that a wrapper of a device passes on unchanged: its size, its queue depth, the position of its arm.
macro_rules! as_wrapped {
    ($field:ident) => {
        fn capacity(&self) -> u64 {
            self.$field.capacity()
        }

        fn queue_depth(&self) -> u32 {
            self.$field.queue_depth()
        }

        fn hardware_queues(&self) -> u16 {
            self.$field.hardware_queues()
        }

        fn cache_control(&self) -> iopilot_device::CacheControl {
            self.$field.cache_control()
        }

        fn positions(&self) -> Option<&dyn iopilot_block::Positions> {
            self.$field.positions()
        }

        fn report(&self) -> Option<iopilot_device::DeviceReport> {
            self.$field.report()
        }
    };
}

mod carroll;
mod dads_changing;
mod dads_cost;
mod dads_live;
mod figure;
mod ganger_host;
pub mod gf;
mod gf_cache_times;
mod gf_dads;
mod gf_table_accuracy;
mod host_costs;
mod kernel_fidelity;
mod mounts;
mod outcome;
mod postmark;
mod prediction;
mod redcap_bench;
mod redcap_cost;
mod redcap_live;
mod redcap_segments;
mod redcap_ssd;
mod redcap_virtual_disk;
mod text;
mod threads;
mod virtual_disk;
mod write;

pub use outcome::{Claim, ExperimentReport, Outcome, ResultTable};
pub use text::text;
pub use write::write;

use iopilot_block::{InputError, suggest};
use iopilot_sim::Progress;

/// An experiment that can be run.
pub struct Experiment {
    /// The name for `iopilot experiment run`. It begins with the source's short name.
    pub name: &'static str,
    /// The section that describes it: `GF 3.5.1`, `Carroll 5.2`.
    pub source: &'static str,
    /// The subject in one line.
    pub title: &'static str,
    /// Runs it.
    pub run: fn(&Setup<'_>) -> anyhow::Result<Outcome>,
}

/// The options of a run.
pub struct Setup<'a> {
    /// Whether to run the version that takes seconds and gives rougher figures.
    pub quick: bool,
    /// The random seed.
    pub seed: u64,
    /// The progress bar's counter, passed to simulations.
    pub progress: &'a Progress,
}

/// All experiments, sorted by name.
pub const ALL: &[Experiment] = &[
    carroll::ANTICIPATION,
    carroll::CFQ_IDLING,
    carroll::DEADLINE,
    carroll::DEEP_QUEUE,
    carroll::POSTMARK,
    carroll::RANDOM,
    carroll::SEQUENTIAL,
    dads_changing::EXPERIMENT,
    dads_cost::EXPERIMENT,
    dads_live::EXPERIMENT,
    dads_live::WITHOUT_A_MODEL,
    ganger_host::CRITICALITY,
    ganger_host::FEEDBACK,
    ganger_host::SYSTEM,
    gf_cache_times::EXPERIMENT,
    gf_dads::EXPERIMENT,
    gf_table_accuracy::EXPERIMENT,
    host_costs::EXPERIMENT,
    kernel_fidelity::EXPERIMENT,
    prediction::EXPERIMENT,
    redcap_cost::EXPERIMENT,
    redcap_live::EXPERIMENT,
    redcap_segments::EXPERIMENT,
    redcap_ssd::EXPERIMENT,
    redcap_virtual_disk::EXPERIMENT,
];

/// The experiment called `name`.
pub fn find(name: &str) -> Result<&'static Experiment, InputError> {
    ALL.iter().find(|e| e.name == name).ok_or_else(|| {
        let names = || ALL.iter().map(|e| e.name);
        let near = suggest(name, names()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        InputError::new("experiment", name, format!("one of {}{near}", names().collect::<Vec<_>>().join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_an_unknown_one_suggests_the_nearest() {
        assert!(ALL.windows(2).all(|w| w[0].name < w[1].name));
        let line = find("gf-cache-time").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(line.contains("did you mean `gf-cache-times`?"), "{line}");
    }
}
