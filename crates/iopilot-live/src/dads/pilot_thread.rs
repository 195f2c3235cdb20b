//! The thread that simulates while [`AutopilotLoop`](super::autopilot) captures.

use iopilot_catalogue::AnyDevice;
use iopilot_dads::{AutopilotJob, JobResult};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use rustix::process::Pid;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The result of a job, and how long it took.
pub(super) struct JobDone {
    pub(super) result: JobResult<AnyDevice>,
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

/// Simulates until the sender of jobs is dropped.
pub(super) fn run_jobs(jobs: &Receiver<AutopilotJob<AnyDevice>>, results: &Sender<JobDone>, threads: &Simulators) {
    let simulators = simulators(threads);
    for job in jobs {
        let began = Instant::now();
        let result = match &simulators {
            Ok(pool) => pool.install(|| job.run()),
            // No threads could be started: use rayon's own.
            Err(_) => job.run(),
        };
        if results.send(JobDone { result, took: began.elapsed() }).is_err() {
            return;
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
