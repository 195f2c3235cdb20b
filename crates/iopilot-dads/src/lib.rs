//! DADS, the dynamic and automatic disk scheduler (GF chapter 4). GF is González-Férez' thesis of 2012, Ganger that of
//! 1995. It collects the requests of the last seconds and simulates every candidate on them, with their dependencies
//! and think times. Then it decides whether another scheduler is worth the change.
//!
//! Everything here is a pure state machine. The caller — [`fly`] in virtual time, a daemon in real time — passes in
//! records, costs and times, and carries out the decisions.

mod adaptive_cache;
mod autopilot;
mod autopilot_job;
mod autopilot_settings;
mod cache_setting;
mod cache_sizes;
mod candidate;
mod candidates;
mod change_cost;
mod check;
mod coming_and_going;
mod confidence;
mod confirmed;
mod degradation;
mod disk_regions;
mod evidence;
mod explanation;
mod extended;
mod flight;
mod interval_pilot;
mod judge;
mod limiter;
mod objective;
mod oracle;
mod patience;
mod pattern;
mod pattern_source;
mod pilot;
mod redcap_pilot;
mod region_gains;
mod replay_trial;
mod request_window;
mod smoothed_costs;
mod tag_waits;
mod trial;
mod trial_runner;

pub use adaptive_cache::{AdaptiveCache, is_window_over, simulate, simulate_logged};
pub use autopilot::Autopilot;
pub use autopilot_job::{AutopilotJob, AutopilotOutput, JobResult};
pub use autopilot_settings::{AutopilotSettings, Policy};
pub use cache_setting::CacheSetting;
pub use candidates::{DEFAULT_CANDIDATES, parse_candidates};
pub use check::{CandidateCost, SchedulerCheck};
pub use confirmed::Experience;
pub use disk_regions::DiskRegions;
pub use flight::{FlightPlan, FlightResult, fly, fly_session};
pub use judge::{DecisionReason, Rule};
pub use objective::Objective;
pub use oracle::oracle;
pub use pilot::Pilot;
pub use redcap_pilot::{RedcapCheck, RedcapPilot};
