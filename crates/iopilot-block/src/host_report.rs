//! [`HostReport`]: where the time of a host went.

use crate::{Criticality, Distribution, Op};
use serde::Serialize;

/// Where the time of CPUs went, in seconds. It is all of it: on each CPU one thing goes on at a time (Ganger 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HostTimes {
    /// Computation of processes, with what the kernel does on their behalf. Of a task: its own, and its children's.
    pub computation_s: f64,
    /// Interrupts, the clock's included, and other processes; of a host: interrupts and context switches.
    pub other_s: f64,
    /// False computation: what blocking for a request and going on after it costs.
    pub false_computation_s: f64,
    /// False idle time: no process can run, and some wait for requests.
    pub false_idle_s: f64,
    /// Idle time otherwise.
    pub idle_s: f64,
}

/// A task of a user: a process, with what it starts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// Its process.
    pub process: u32,
    /// From its start to its exit, in seconds. What is written after it does not count.
    pub elapsed_s: f64,
    /// What that time was, on all CPUs together.
    pub times: HostTimes,
    /// How often it blocked for a request.
    pub io_waits: u64,
    /// How long it did so in all, in seconds.
    pub io_wait_s: f64,
    /// How long it could have run, but others did, in seconds.
    pub runnable_s: f64,
}

/// What a process is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessKind {
    /// It is a user's task: somebody waits for its end.
    Task,
    /// It is another process.
    #[default]
    Other,
    /// It is the kernel's own, as the syncer is.
    Kernel,
}

/// The processes of one name and kind, all together: where their lives went. A moment of a process is one of four:
/// it runs, could run, waits for a request, or waits for something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessGroup {
    /// Their name.
    pub name: String,
    /// What they are there for.
    pub kind: ProcessKind,
    /// The first one.
    pub process: u32,
    /// How many there were.
    pub count: u64,
    /// From start to exit, or to the end of the run, in seconds.
    pub life_s: f64,
    /// How long they had a CPU, in seconds, with what interrupted them there.
    pub running_s: f64,
    /// Of that, their own computation, without that of their children.
    pub computation_s: f64,
    /// How long they could have run, but others did, in seconds.
    pub runnable_s: f64,
    /// How often they blocked for a request, or for room in the page cache.
    pub io_waits: u64,
    /// How long they did so, in seconds.
    pub io_wait_s: f64,
    /// Of that, for room in the page cache.
    pub throttled_s: f64,
    /// How often they blocked for something else: a time, another process.
    pub other_waits: u64,
    /// How long they did so, in seconds.
    pub other_wait_s: f64,
}

/// What was left to do when the last task had ended: the second end of a run is when nothing is (Ganger 7.3.1 counts the writes
/// behind a task for the storage, and not for the task).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AfterTasks {
    /// Pages and blocks of metadata that were not yet on the disk.
    pub dirty_pages: u64,
    /// Requests that were issued afterwards.
    pub requests: u64,
}

/// Where the time of the CPUs went, over time: in equal intervals from the beginning of the report on. The last one may be
/// shorter. Shares are of the time of all CPUs in the interval; those of one interval add up to 1.
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
    /// Idle time otherwise.
    pub idle: Vec<f64>,
    /// Pages and blocks of metadata that were not on the disk at the end of the interval, where there are files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_pages: Option<Vec<u32>>,
}

/// Requests of one direction and class, by what came of them: one that somebody came to wait for before it was complete
/// was time-critical from then on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestClass {
    /// Reads or writes.
    pub op: Op,
    /// As it was guessed when they were issued.
    pub class: Criticality,
    /// How many.
    pub requests: u64,
    /// From issue to completion.
    pub response_ms: Distribution,
}

/// The limits of time-limited requests: from issue until somebody wanted what was requested (Ganger 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimeLimits {
    /// Requests that somebody came to want.
    pub wanted: u64,
    /// Requests that nobody ever wanted.
    pub unused: u64,
    /// Of those wanted, the share that was complete by then, in percent.
    pub satisfied_percent: f64,
    /// The limits.
    pub limit_ms: Distribution,
    /// How much later than wanted the others were complete.
    pub late_ms: Distribution,
}

/// What a page cache did. Pages have 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageCacheReport {
    /// Its size.
    pub pages: u64,
    /// Pages of files that were there when a process read them.
    pub hits: u64,
    /// Pages of files that were not, or were still on their way.
    pub misses: u64,
    /// Pages that were read ahead…
    pub read_ahead: u64,
    /// …of these, those that were used…
    pub read_ahead_used: u64,
    /// …and those that went before that.
    pub read_ahead_unused: u64,
    /// Pages that had to make room.
    pub evictions: u64,
    /// Pages and blocks of metadata that were written to the disk.
    pub written: u64,
    /// How often a process waited for room.
    pub throttled: u64,
    /// How long processes did so, in seconds.
    pub throttled_s: f64,
}

/// Where the time of a host went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostReport {
    /// Its CPUs.
    pub cpus: u16,
    /// From the start until no process had anything left to do, and all that was dirty was on the disk, in seconds.
    pub elapsed_s: f64,
    /// From the start until the last task had ended, in seconds; `None` where none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_end_s: Option<f64>,
    /// What was left to do then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_tasks: Option<AfterTasks>,
    /// The time of all CPUs.
    pub times: HostTimes,
    /// The same over time.
    pub over_time: OverTime,
    /// Interrupts of completed requests.
    pub interrupts: u64,
    /// Interrupts from outside, as of a network; where there are sources of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_interrupts: Option<u64>,
    /// Of these, those that found no room for what they brought; where they bring anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_lost: Option<u64>,
    /// Interrupts of the clock.
    pub ticks: u64,
    /// Changes from one process to another.
    pub context_switches: u64,
    /// The users' tasks, in the order of their start.
    pub tasks: Vec<TaskReport>,
    /// All processes by name, in the order of their start.
    pub processes: Vec<ProcessGroup>,
    /// Requests by direction and class.
    pub classes: Vec<RequestClass>,
    /// The time limits.
    pub limits: TimeLimits,
    /// The page cache, where there are files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<PageCacheReport>,
}
