//! One load under several candidates, schedulers and caches: which is best, and how sure that is.

mod comparison;
mod host_fit;
mod models;
mod predict;
mod self_replay;
mod verdict;

pub use comparison::{Comparison, Verdict, compare, comparison};
pub use models::{ModelComparison, ModelRun, WorkloadModel, compare_models, traced};
pub use predict::{Candidates, Runner, predict, replays_of};
pub use self_replay::{LARGEST_ERROR_PERCENT, MeasuredReplay, SelfReplay};
