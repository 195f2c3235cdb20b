//! [`TuneReport`]: what a search has found, and what to do with it.
//!
//! The serialised form is documented in `docs/reference/tune.md` and stable: fields are added, never renamed.

use crate::settings::TunedSettings;
use serde::Serialize;

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
pub struct TuneReport {
    /// The budget, in simulated requests.
    pub budget_requests: u64,
    /// The requests that were simulated.
    pub requests: u64,
    /// The seed of the search.
    pub seed: u64,
    /// One entry for each class of disks.
    pub classes: Vec<TunedClass>,
}

/// Disks that get the same settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskClass {
    /// `queue/rotational`.
    pub rotational: bool,
    /// The disks' model, if there is a class for each model.
    pub model: Option<String>,
}

/// The settings for a class of disks.
#[derive(Clone, Debug, Serialize)]
pub struct TunedClass {
    /// The class.
    pub class: DiskClass,
    /// The finalists on each load and disk; the rows are in one order.
    pub loads: Vec<TunedLoad>,
    /// The index of the row of the kernel's defaults.
    pub defaults: usize,
    /// The index of the best row without a cache. Of rows within 0.5 % of each other, the one with the fewest changes.
    pub best: usize,
    /// How much better it is than the kernel's defaults, in percent: the geometric mean over the loads.
    pub gain_percent: f64,
    /// The rows on the front of throughput against the 99th percentile of waiting: no other row is better in both. Geometric
    /// means over the loads.
    pub front: Vec<usize>,
    /// The index of the best row with a cache, if one is better than the best without by more than 0.5 % and by more than the spread.
    pub cached: Option<usize>,
    /// A search on one part of the loads, judged on the other; `None` if the loads have too few requests.
    pub held_out: Option<HeldOut>,
    /// Shell lines that apply the best settings; `sdX` stands for the disk.
    pub shell: Vec<String>,
    /// The udev rule that applies them to each disk of the class.
    pub udev_rule: String,
    /// The best settings of each scheduler, as `--candidates` of `iopilot dads run` takes them.
    pub dads_candidates: String,
}

/// One load on one disk.
#[derive(Clone, Debug, Serialize)]
pub struct TunedLoad {
    /// The load.
    pub load: String,
    /// The disk.
    pub disk: String,
    /// The key of the figure that decides, as in a comparison's `runs[]`.
    pub measure: String,
    /// The same in words.
    pub measure_words: String,
    /// The requests of each run.
    pub requests: u64,
    /// Whether the runs end before the load, because of the budget.
    pub clipped: bool,
    /// The runs of each finalist.
    pub replays: u32,
    /// The finalists.
    pub rows: Vec<TuneRow>,
}

/// Settings on one load.
#[derive(Clone, Debug, Serialize)]
pub struct TuneRow {
    /// The settings.
    pub settings: TunedSettings,
    /// A REDCAP cache above the queue.
    pub redcap: Option<String>,
    /// The figure that decides: the median of the replays.
    pub value: f64,
    /// Half of its range in the replays, in percent of it.
    pub spread_percent: f64,
    /// Its least and greatest value.
    pub min: f64,
    /// See `min`.
    pub max: f64,
    /// How much better it is than the kernel's defaults, in percent of their value.
    pub gain_percent: f64,
    /// Whether its range is apart from that of the defaults.
    pub beyond_spread: bool,
    /// 10^6 bytes a second.
    pub throughput_mb_s: f64,
    /// The 99th percentile of the response time of requests that a process waits for; of all requests if no process waits.
    pub wait_ms_p99: f64,
}

impl TuneRow {
    /// The settings in a line.
    pub fn name(&self) -> String {
        match &self.redcap {
            Some(redcap) => format!("{} + {redcap}", self.settings),
            None => self.settings.to_string(),
        }
    }
}

/// Settings that were chosen on one part of the loads and judged on the other.
#[derive(Clone, Debug, Serialize)]
pub struct HeldOut {
    /// The settings that were chosen.
    pub settings: TunedSettings,
    /// Where they were judged: `second half` of the traces, or `other seeds`.
    pub judged_on: String,
    /// Their gain over the kernel's defaults where they were chosen, in percent.
    pub chosen_gain_percent: f64,
    /// Their gain where they were judged.
    pub judged_gain_percent: f64,
    /// The difference: gain that is gone on the other part, in points. Not below 0.
    pub luck_points: f64,
}
