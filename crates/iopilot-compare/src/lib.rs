//! Runs one load under several schedulers and caches, and says which is best and how certain that is.
//!
//! GF is González-Férez' thesis of 2012, and Ganger is Ganger's thesis of 1995.

mod comparison;
mod host_fit;
mod measure;
mod models;
mod predict;
mod self_replay;
mod verdict;
mod verdict_text;

pub use comparison::{Comparison, Verdict, compare, comparison};
pub use measure::Measure;
pub use models::{ModelComparison, ModelRun, WorkloadModel, compare_models, traced};
pub use predict::{Candidates, Runner, predict, replayed, replays_of};
pub use self_replay::{LARGEST_ERROR_PERCENT, ReplayTimes, SelfReplay};
