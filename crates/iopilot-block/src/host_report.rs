//! [`HostReport`]: how the time of a host was spent.

use crate::{Criticality, Distribution, Op};
use serde::Serialize;

/// How the time of CPUs was spent, in seconds. The fields add up to the whole time: a CPU does one thing at a time
/// (Ganger 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HostTimes {
    /// Computation of processes, including the kernel's on their behalf. For a task: its own and its children's.
    pub computation_s: f64,
    /// For a task: interrupts, including the clock's, and other processes. For a host: interrupts and context switches.
    pub other_s: f64,
    /// False computation: the cost of blocking for a request and of resuming after it.
    pub false_computation_s: f64,
    /// False idle time: no process can run, and some wait for requests.
    pub false_idle_s: f64,
    /// The other idle time.
    pub idle_s: f64,
}

/// A user's task: a process with its children.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// Its process.
    pub process: u32,
    /// From its start to its exit, in seconds. Writes after its exit do not count.
    pub elapsed_s: f64,
    /// How that time was spent, on all CPUs together.
    pub times: HostTimes,
    /// How often it blocked for a request.
    pub io_waits: u64,
    /// How long it was blocked for requests in all, in seconds.
    pub io_wait_s: f64,
    /// How long it was runnable while other processes ran, in seconds.
    pub runnable_s: f64,
}

/// The purpose of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessKind {
    /// A user's task: the user waits for its end.
    Task,
    /// Any other process.
    #[default]
    Other,
    /// A process of the kernel, such as the syncer.
    Kernel,
}

/// All processes of one name and kind together, and how they spent their lives. A process is always in one of four
/// states: it runs, is runnable, waits for a request, or waits for something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessGroup {
    /// Their name.
    pub name: String,
    /// Their purpose.
    pub kind: ProcessKind,
    /// The first of them.
    pub process: u32,
    /// How many there were.
    pub count: u64,
    /// From start to exit, or to the end of the run, in seconds.
    pub life_s: f64,
    /// How long they had a CPU, in seconds, including interrupts there.
    pub running_s: f64,
    /// Of that, their own computation, without that of their children.
    pub computation_s: f64,
    /// How long they were runnable while other processes ran, in seconds.
    pub runnable_s: f64,
    /// How often they blocked for a request, or for room in the page cache.
    pub io_waits: u64,
    /// How long these waits took, in seconds.
    pub io_wait_s: f64,
    /// Of that, the waits for room in the page cache.
    pub throttled_s: f64,
    /// How often they blocked for something else: a time, another process.
    pub other_waits: u64,
    /// How long these waits took, in seconds.
    pub other_wait_s: f64,
}

/// The work that was left when the last task had ended. A run has a second end, when no work is left (Ganger 7.3.1
/// counts the writes after a task for the storage, and not for the task).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AfterTasks {
    /// Pages and blocks of metadata that were not yet on the disk.
    pub dirty_pages: u64,
    /// Requests that were issued afterwards.
    pub requests: u64,
}

/// How the time of the CPUs was spent, in equal intervals from the beginning of the report. The last interval may be
/// shorter. Shares are of the time of all CPUs in the interval. The shares of one interval add up to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverTime {
    /// The length of an interval, in seconds.
    pub interval_s: f64,
    /// Computation of processes.
    pub computation: Vec<f64>,
    /// Interrupts and context switches.
    pub other: Vec<f64>,
    /// False computation.
    pub false_computation: Vec<f64>,
    /// False idle time.
    pub false_idle: Vec<f64>,
    /// The other idle time.
    pub idle: Vec<f64>,
    /// Dirty pages and blocks of metadata at the end of the interval, if the host has files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_pages: Option<Vec<u32>>,
}

/// Requests of one direction and class, with their response times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestClass {
    /// Reads or writes.
    pub op: Op,
    /// Their class when they were issued. A request for which a process begins to wait later stays in this class.
    pub class: Criticality,
    /// How many.
    pub requests: u64,
    /// From issue to completion.
    pub response_ms: Distribution,
}

/// The limits of time-limited requests: from issue until a process wanted the data (Ganger 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimeLimits {
    /// Requests whose data a process wanted.
    pub wanted: u64,
    /// Requests whose data no process ever wanted.
    pub unused: u64,
    /// The share of the wanted requests that were complete when they were wanted, in percent.
    pub satisfied_percent: f64,
    /// The limits.
    pub limit_ms: Distribution,
    /// How much later than wanted the other wanted requests were complete.
    pub late_ms: Distribution,
}

/// The counters of a page cache. Pages have 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageCacheReport {
    /// Its size.
    pub pages: u64,
    /// Pages of files that were in the cache when a process read them.
    pub hits: u64,
    /// Pages of files that were not in the cache, or were still being read.
    pub misses: u64,
    /// Pages that were read ahead.
    pub read_ahead: u64,
    /// Pages that were read ahead and used.
    pub read_ahead_used: u64,
    /// Pages that were read ahead and evicted before any use.
    pub read_ahead_unused: u64,
    /// Pages that were evicted.
    pub evictions: u64,
    /// Pages and blocks of metadata that were written to the disk.
    pub written: u64,
    /// How often a process waited for room.
    pub throttled: u64,
    /// How long these waits took, in seconds.
    pub throttled_s: f64,
}

/// How the time of a host was spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostReport {
    /// Its CPUs.
    pub cpus: u16,
    /// From the start until no process had work left and nothing was dirty, in seconds.
    pub elapsed_s: f64,
    /// From the start until the last task had ended, in seconds; `None` if none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_end_s: Option<f64>,
    /// The work that was left then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_tasks: Option<AfterTasks>,
    /// The time of all CPUs.
    pub times: HostTimes,
    /// The same in intervals.
    pub over_time: OverTime,
    /// Interrupts of completed requests.
    pub interrupts: u64,
    /// Interrupts from outside, such as a network's; `None` without sources of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_interrupts: Option<u64>,
    /// External interrupts that found no room for the data they brought; `None` if they bring none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_lost: Option<u64>,
    /// Clock interrupts.
    pub ticks: u64,
    /// Context switches from one process to another.
    pub context_switches: u64,
    /// The users' tasks, in the order of their start.
    pub tasks: Vec<TaskReport>,
    /// All processes by name, in the order of their start.
    pub processes: Vec<ProcessGroup>,
    /// Requests by direction and class.
    pub classes: Vec<RequestClass>,
    /// The time limits.
    pub limits: TimeLimits,
    /// The page cache, if the host has files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<PageCacheReport>,
}

impl HostReport {
    /// The mean time of its tasks in seconds (Ganger 4.2); `None` if there are none.
    pub fn task_s_mean(&self) -> Option<f64> {
        let sum: f64 = self.tasks.iter().map(|task| task.elapsed_s).sum();
        (!self.tasks.is_empty()).then(|| sum / self.tasks.len() as f64)
    }
}
