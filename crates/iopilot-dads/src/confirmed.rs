//! The rule of confirmed decisions: simulation proposes candidates, short trials on the disk itself confirm them, and
//! the scheduler in use is watched.

mod belief;
mod choice;
mod experience;
mod installation;
mod judgement;
mod load_watch;
mod memory;
mod pilot;
mod progress;
mod rule;
mod settling;
mod signature;
mod trust;
mod working_process;

pub use experience::Experience;
pub(crate) use pilot::ConfirmedPilot;

#[cfg(test)]
mod monte_carlo;
