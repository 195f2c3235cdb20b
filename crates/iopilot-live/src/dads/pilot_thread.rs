//! The thread that simulates and decides, while another one watches the disk.

use super::window::Window;
use iopilot_block::Nanos;
use iopilot_dads::{Check, Pilot};
use iopilot_device::AnyDevice;
use iopilot_sim::SimError;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// What the brain is told.
pub(super) enum PilotCommand {
    /// Check what was collected, with so many requests inside.
    Check { window: Window, pending: usize, at: Nanos },
    /// A model that knows more.
    Model(Box<AnyDevice>),
    /// A change took so long, with so many requests inside.
    Changed { pending: usize, took: Nanos },
    /// The change was not carried out.
    Declined,
    /// A candidate is not to be chosen again.
    Exclude(usize),
    /// Somebody else put a candidate in place.
    Adopt(usize),
}

/// What came of a check.
pub(super) struct CheckResult {
    pub(super) check: Result<Check, SimError>,
    /// The window, emptied, to be filled again.
    pub(super) window: Window,
    pub(super) took: Duration,
}

/// Of the threads that simulate: the least there is.
const NICE: i32 = 19;

/// Threads that give way to those whose requests they simulate: a reader that waits for a CPU looks to `bfq` as if it thought,
/// which then no longer waits for it.
fn simulators() -> Result<ThreadPool, ThreadPoolBuildError> {
    // Of a thread that may not be lowered nothing more can be asked.
    let give_way = |_| {
        rustix::process::setpriority_process(None, NICE).ok();
    };
    ThreadPoolBuilder::new().thread_name(|n| format!("simulate-{n}")).start_handler(give_way).build()
}

/// Follows commands until nobody is left to give them.
pub(super) fn run_pilot(mut pilot: Pilot<AnyDevice>, commands: &Receiver<PilotCommand>, answers: &Sender<CheckResult>) {
    let simulators = simulators();
    for order in commands {
        match order {
            PilotCommand::Check { mut window, pending, at } => {
                let began = Instant::now();
                let check = match &simulators {
                    Ok(pool) => pool.install(|| pilot.check(window.records(), pending, at)),
                    // No more threads: then with those that there are.
                    Err(_) => pilot.check(window.records(), pending, at),
                };
                let check = check.map(|check| Check { requests: check.requests + window.left_out(), ..check });
                window.clear();
                if answers.send(CheckResult { check, window, took: began.elapsed() }).is_err() {
                    return;
                }
            }
            PilotCommand::Model(device) => pilot.replace_model(*device),
            PilotCommand::Changed { pending, took } => pilot.changed(pending, took),
            PilotCommand::Declined => pilot.declined(),
            PilotCommand::Exclude(which) => pilot.exclude(which),
            PilotCommand::Adopt(which) => pilot.adopt(which),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_simulate_give_way() {
        let nice = simulators().unwrap().install(|| rustix::process::getpriority_process(None).unwrap());
        assert_eq!(nice, NICE);
    }
}
