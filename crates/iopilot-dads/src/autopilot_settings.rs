//! [`AutopilotSettings`]: the settings of an autopilot, and their defaults.

use crate::judge::Rule;
use crate::objective::Objective;
use iopilot_block::Nanos;
use iopilot_sched::SchedulerSpec;

/// How decisions are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Simulation proposes, and short trials on the disk confirm. Without `disk_trials`, simulation decides alone.
    Confirmed {
        /// Whether candidates are tried on the disk.
        disk_trials: bool,
    },
    /// A rule on the simulated costs of each interval, as in the thesis (GF 4.4.3).
    Interval(Rule),
}

/// The settings of an autopilot. [`Self::new`] has the defaults of every command.
#[derive(Clone, Debug)]
pub struct AutopilotSettings {
    /// The schedulers to choose from.
    pub candidates: Vec<SchedulerSpec>,
    /// The scheduler in use at the start: an index of `candidates`.
    pub initial: usize,
    /// The administrator's scheduler: an index of `candidates`. The thesis' rule returns to it after too many changes.
    pub default: usize,
    /// What makes one scheduler better than another.
    pub objective: Objective,
    /// How decisions are made.
    pub policy: Policy,
    /// With [`Policy::Interval`]: the time from one check to the next.
    pub interval: Nanos,
    /// What a change takes on an idle disk.
    pub change_fixed: Nanos,
    /// With [`Policy::Interval`]: whether a change that made things worse is taken back.
    pub revert: bool,
    /// With [`Policy::Interval`]: whether a degraded scheduler is reinstalled.
    pub renew: bool,
    /// How many requests a prediction may simulate, over all candidates; `None` for all.
    pub budget: Option<u64>,
    /// A window with fewer requests is tried in an extended trial; with 0, as in the thesis, never.
    pub trial_requests: u64,
    /// The standard deviation of a prediction's error at first, as a logarithm of the rate.
    pub prediction_error: f64,
}

/// The time from check to check in the thesis (GF 4.4.1).
const INTERVAL: Nanos = Nanos::from_secs(5);
/// How long a change takes on an idle disk (measured on Linux 6.18).
const CHANGE: Nanos = Nanos::from_millis(22);
/// The least requests of a trial: schedulers take a while to adapt.
const TRIAL_REQUESTS: u64 = 8000;
/// How many requests one candidate is tried on at most: more would add nothing but time.
const TRIED: u64 = 20_000;
/// How many requests a prediction may simulate: less than a second on one core.
const BUDGET: u64 = 400_000;

impl AutopilotSettings {
    /// How far a prediction by a model that is the disk itself is off, as a logarithm of the rate: only the load is
    /// inferred.
    pub const ERROR_OF_THE_DISK_ITSELF: f64 = 0.1;
    /// The same for a model that was named by the user or trained before.
    pub const ERROR_OF_A_GIVEN_MODEL: f64 = 0.2;
    /// The same for a model that is learned meanwhile.
    pub const ERROR_OF_A_LEARNED_MODEL: f64 = 0.3;

    /// The defaults: confirmed decisions, the first candidate in use.
    pub fn new(candidates: Vec<SchedulerSpec>) -> Self {
        let budget = BUDGET.min(TRIED * candidates.len() as u64);
        Self {
            candidates,
            initial: 0,
            default: 0,
            objective: Objective::default(),
            policy: Policy::Confirmed { disk_trials: true },
            interval: INTERVAL,
            change_fixed: CHANGE,
            revert: false,
            renew: false,
            budget: Some(budget),
            trial_requests: TRIAL_REQUESTS,
            prediction_error: Self::ERROR_OF_A_GIVEN_MODEL,
        }
    }

    /// The rule of the thesis with the thesis' settings: each window is tried once, whole and alone.
    pub fn thesis(candidates: Vec<SchedulerSpec>, rule: Rule) -> Self {
        Self { policy: Policy::Interval(rule), budget: None, trial_requests: 0, ..Self::new(candidates) }
    }

    /// The same settings for these candidates of a live disk, whatever the policy: a check must not take long.
    #[must_use]
    pub fn with_candidates(self, candidates: Vec<SchedulerSpec>) -> Self {
        let budget = Some(BUDGET.min(TRIED * candidates.len() as u64));
        Self { candidates, budget, ..self }
    }

    /// How many requests one candidate is tried on at most.
    pub(crate) fn requests_per_trial(&self) -> u64 {
        self.budget.map_or(u64::MAX, |all| (all / self.candidates.len().max(1) as u64).max(1))
    }
}
