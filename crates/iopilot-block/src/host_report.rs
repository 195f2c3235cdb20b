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
pub struct CacheReport {
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
}

/// Where the time of a host went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostReport {
    /// Its CPUs.
    pub cpus: u16,
    /// From the start until no process had anything left to do, in seconds.
    pub elapsed_s: f64,
    /// The time of all CPUs.
    pub times: HostTimes,
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
    /// Requests by direction and class.
    pub classes: Vec<RequestClass>,
    /// The time limits.
    pub limits: TimeLimits,
    /// The page cache, where there are files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheReport>,
}
