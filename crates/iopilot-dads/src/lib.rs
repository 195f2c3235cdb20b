//! DADS, the dynamic and automatic disk scheduler (GF chapter 4): it collects the requests of the last seconds, simulates
//! every candidate on them with their dependencies and think times, and decides whether another scheduler is worth the
//! change.
//!
//! Everything here is a pure state machine: who drives it — [`fly`] in virtual time, a daemon in real time — hands over
//! records, costs and times, and carries out what is decided.

mod astray;
mod candidates;
mod change_cost;
mod confidence;
mod flight;
mod habits;
mod judge;
mod lasting;
mod limiter;
mod objective;
mod oracle;
mod pilot;
mod rig;
mod rounds;
mod steady;
mod words;

pub use candidates::parse_candidates;
pub use change_cost::ChangeCost;
pub use confidence::confidence;
pub use flight::{Flight, FlightPlan, fly, fly_session};
pub use judge::{Decision, Judge, Reason, Rule, Situation};
pub use limiter::{Limit, Limiter};
pub use objective::Objective;
pub use oracle::oracle;
pub use pilot::{CandidateCost, Check, Pilot, PilotConfig};
pub use rig::{Rig, Trial};
