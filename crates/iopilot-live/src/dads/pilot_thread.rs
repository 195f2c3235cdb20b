//! The thread of the pilot: it simulates and decides while [`AutopilotLoop`](super::autopilot) captures.

use super::window::RequestWindow;
use iopilot_block::{Nanos, ProcessId};
use iopilot_catalogue::AnyDevice;
use iopilot_dads::{Pilot, SchedulerCheck};
use iopilot_sim::SimError;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A command to the pilot's thread.
pub(super) enum PilotCommand {
    /// Check a window, with `pending` requests in flight, and what processes were seen to keep in flight.
    Check { window: RequestWindow, pending: usize, in_flight: BTreeMap<ProcessId, u32>, at: Nanos },
    /// Use this model from now on.
    Model(Box<AnyDevice>),
    /// A change with `pending` requests in flight took `took`.
    Changed { pending: usize, took: Nanos },
    /// The last change was not carried out.
    Declined,
    /// Never choose this candidate again.
    Exclude(usize),
    /// Somebody else installed this candidate.
    Adopt(usize),
}

/// The result of a check.
pub(super) struct CheckResult {
    pub(super) check: Result<SchedulerCheck, SimError>,
    /// The window, emptied, to be filled again.
    pub(super) window: RequestWindow,
    pub(super) took: Duration,
}

/// The nice value of the simulating threads: the lowest priority.
const NICE: i32 = 19;
/// A check that takes longer than this is starved: other processes use all CPUs.
const STARVED: Duration = Duration::from_secs(1);
/// The nice value of a starved check's threads. It takes a fraction of a second of one CPU.
const NICE_STARVED: i32 = 0;

/// Threads with low priority, so that they do not slow down the processes whose requests they simulate. A reader that
/// waits for a CPU looks to `bfq` as if it were thinking, and `bfq` stops idling for it.
pub(crate) fn simulators(threads: &Simulators) -> Result<ThreadPool, ThreadPoolBuildError> {
    let threads = threads.clone();
    // Without permission for that, the thread keeps its priority.
    let give_way = move |_| {
        rustix::process::setpriority_process(None, NICE).ok();
        // SAFETY: it takes nothing, and always succeeds.
        let thread = Pid::from_raw(unsafe { libc::gettid() });
        threads.0.lock().unwrap_or_else(PoisonError::into_inner).extend(thread);
    };
    ThreadPoolBuilder::new().thread_name(|n| format!("simulate-{n}")).start_handler(give_way).build()
}

/// The threads that simulate. Their priority is raised for a starved check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulators(Arc<Mutex<Vec<Pid>>>);

impl Simulators {
    /// Sets the priority of the threads for a check that has taken `took` so far.
    pub(super) fn help(&self, took: Duration) {
        self.set(if took < STARVED { NICE } else { NICE_STARVED });
    }

    fn set(&self, nice: i32) {
        for thread in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A thread whose priority may not be changed keeps it.
            rustix::process::setpriority_process(Some(*thread), nice).ok();
        }
    }
}

/// Carries out commands until their sender is dropped.
pub(super) fn run_pilot(
    mut pilot: Pilot<AnyDevice>,
    commands: &Receiver<PilotCommand>,
    results: &Sender<CheckResult>,
    threads: &Simulators,
) {
    let simulators = simulators(threads);
    for command in commands {
        match command {
            PilotCommand::Check { mut window, pending, in_flight, at } => {
                let began = Instant::now();
                pilot.tell_in_flight(in_flight);
                let check = match &simulators {
                    Ok(pool) => pool.install(|| pilot.check(window.records(), pending, at)),
                    // No threads could be started: use rayon's own.
                    Err(_) => pilot.check(window.records(), pending, at),
                };
                let check = check.map(|check| SchedulerCheck { requests: check.requests + window.left_out(), ..check });
                window.clear();
                if results.send(CheckResult { check, window, took: began.elapsed() }).is_err() {
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
    fn simulating_threads_have_low_priority() {
        let threads = Simulators::default();
        let pool = simulators(&threads).unwrap();
        let nice = || pool.install(|| rustix::process::getpriority_process(None).unwrap());
        assert_eq!(nice(), NICE);
        threads.help(Duration::from_millis(900));
        assert_eq!(nice(), NICE);
        // Only root may raise it.
        if rustix::process::geteuid().is_root() {
            threads.help(STARVED);
            assert_eq!(nice(), NICE_STARVED);
            threads.help(Duration::ZERO);
            assert_eq!(nice(), NICE);
        }
    }
}
