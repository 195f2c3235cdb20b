//! I/O schedulers as pure state machines: no clock, thread or randomness of their own.
//!
//! A [`Scheduler`] gets the time as an argument and decides. The simulator drives it in virtual time. The same code
//! predicts the decisions of a live kernel's scheduler. Each scheduler has a file of its own. [`AnyScheduler`] is any
//! of them behind one concrete type, so that a hot loop pays a predictable branch and no virtual call.
//!
//! Besides the structures of `iopilot-block`, schedulers share `MergeIndex` and `try_merge` (back and front
//! merging, coalescing), and `ArmQueue` (the text-book algorithms' view of a disk).
//!
//! To add a scheduler, write its file, name it three times in this one (`mod`, `use`, a row of the table below),
//! and add it to the page `docs/reference/schedulers.md`. A test names what is missing.
//!
//! In comments, *Carroll* is Carroll (2008), *Ganger* is Ganger's thesis of 1995, and *GF* is González-Férez' thesis of
//! 2012, with the number of a section.

mod anticipatory;
mod arm;
mod back_seek;
#[cfg(test)]
mod bench_queue;
mod bfq;
mod cfq;
mod cscan;
mod deadline;
mod deadlines;
mod decay;
mod fcfs;
mod io_contexts;
mod ioqueue;
mod jiffies;
mod kyber;
mod merge;
mod mq_deadline;
mod none;
mod noop;
mod prio;
mod queue_map;
mod queue_scheduler;
mod registry;
mod replay_dispatch;
mod scan;
mod scheduler;
mod software_queue;
mod spec;
mod sstf;
mod tunables;
mod vr;
mod vscan;

pub use ioqueue::{
    CylinderMapping, DistanceRule, IoPick, IoQueue, IoQueueConfig, IoQueuePolicy, IoRequest, OverlapScheme,
    StreamScheme, TimeoutScheme,
};
pub use jiffies::retry_at;
pub use merge::{MergeLimits, Merged, compatible};
pub use prio::{Prio, PrioTunables};
pub use queue_map::QueueMap;
pub use registry::{Features, KERNEL_DEFAULT, Lineage, NO_SCHEDULER, SchedulerInfo};
pub use replay_dispatch::ReplayDispatch;
pub use scheduler::{Dispatch, Environment, Scheduler};
pub use spec::{SchedulerSpec, split_outside_parentheses};
pub use tunables::{Tunable, TunableError, Tunables, Unit};

use anticipatory::{Anticipatory, AnticipatoryTunables};
use bfq::{Bfq, BfqTunables};
use cfq::{Cfq, CfqTunables};
use cscan::CircularScan;
use deadline::{Deadline, DeadlineTunables};
use fcfs::Fcfs;
use iopilot_block::{Nanos, Positions, ProcessId, Request, RequestId, Requests};
use kyber::{Kyber, KyberTunables};
use merge::{MergeIndex, MergeTarget, try_merge};
use mq_deadline::{MqDeadline, MqDeadlineTunables};
use none::NoScheduler;
use noop::Noop;
use queue_scheduler::{
    AgedTunables, CylinderTunables, IoQueueTunables, PositionTunables, QueueScheduler, SlackTunables, VscanCylTunables,
    WeightedTunables,
};
use scan::Scan;
use sstf::Sstf;
use vr::{Vr, VrTunables};
use vscan::{Vscan, VscanTunables};

registry::schedulers! {
    Fcfs(Fcfs), "fcfs", Classic [], "first come, first served; never merges", &[], |_| Fcfs::new();
    Sstf(Sstf), "sstf", Classic [], "shortest seek time first, by distance in sectors", &[], |_| Sstf::new();
    Scan(Scan), "scan", Classic [], "the elevator, turning at the edges of the disk", &[], |env| Scan::to_the_edge(env);
    Look(Scan), "look", Classic [], "the elevator, turning at the last request", &[], |_| Scan::to_the_last();
    CScan(CircularScan), "cscan", Classic [], "the elevator one way, back to the first sector", &[], |_| CircularScan::new();
    CLook(CircularScan), "clook", Classic [], "the elevator one way, back to the lowest request", &[], |_| CircularScan::new();
    Vscan(Vscan), "vscan", Classic [], "V(R): nearest first, with a penalty for reversing", VscanTunables::SPECS, |env| Vscan::new(env);
    Noop(Noop), "noop", Linux2_6 [], "first in, first out, with back merging", &[], |_| Noop::new();
    Fifo(Fcfs), "fifo", Linux2_6 [], "first in, first out, without merging", &[], |_| Fcfs::new();
    Deadline(Deadline), "deadline", Linux2_6 [], "sector order in batches, with deadlines", DeadlineTunables::SPECS, |_| Deadline::new();
    Anticipatory(Anticipatory), "as", Linux2_6 [learns], "anticipatory: waits for the process that just read", AnticipatoryTunables::SPECS, |_| Anticipatory::new();
    Cfq(Cfq), "cfq", Linux2_6 [learns], "slices of disk time for each process, idling, priorities", CfqTunables::SPECS, |_| Cfq::new();
    Vr(Vr), "vr", Linux2_6 [], "V(R) with merging and deadlines: SSTF to SCAN", VrTunables::SPECS, |_| Vr::new();
    None(NoScheduler), "none", Linux6 [], "no scheduler: first in, first out on each CPU", &[], |env| NoScheduler::new(env);
    MqDeadline(MqDeadline), "mq-deadline", Linux6 [scheduler_tags], "sector order in batches, deadlines and priority classes", MqDeadlineTunables::SPECS, |env| MqDeadline::new(env);
    Kyber(Kyber), "kyber", Linux6 [scheduler_tags learns], "tokens for reads and writes that follow the latencies seen", KyberTunables::SPECS, |env| Kyber::new(env);
    Bfq(Bfq), "bfq", Linux6 [scheduler_tags learns no_wbt], "budgets in proportion to weights, idling, raised weights for latency", BfqTunables::SPECS, |env| Bfq::new(env);
    LookCyl(QueueScheduler<CylinderTunables>), "look-cyl", Positional [], "the elevator by cylinder, turning at the last request", CylinderTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::ElevatorCyl, env);
    CLookCyl(QueueScheduler<CylinderTunables>), "clook-cyl", Positional [], "the elevator by cylinder, one way", CylinderTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::CycleCyl, env);
    SstfCyl(QueueScheduler<CylinderTunables>), "sstf-cyl", Positional [], "shortest seek time first, by distance in cylinders", CylinderTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::SstfCyl, env);
    VscanCyl(QueueScheduler<VscanCylTunables>), "vscan-cyl", Positional [], "V(R) by cylinder: nearest first, with a penalty for reversing", VscanCylTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::VscanCyl, env);
    Sptf(QueueScheduler<PositionTunables>), "sptf", Positional [], "shortest positioning time first: seek and rotation", PositionTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::Sptf, env);
    Spctf(QueueScheduler<PositionTunables>), "spctf", Positional [], "shortest positioning time first, with the disk's cache considered", PositionTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::Spctf, env);
    Satf(QueueScheduler<PositionTunables>), "satf", Positional [], "shortest access time first: seek, rotation and transfer", PositionTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::Satf, env);
    AgedSptf(QueueScheduler<AgedTunables>), "aged-sptf", Positional [], "SPTF with a share of the wait subtracted from the positioning time", AgedTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::Asptf, env);
    WeightedSptf(QueueScheduler<WeightedTunables>), "weighted-sptf", Positional [], "SPTF with a positioning time that shrinks with the wait", WeightedTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::Wptf, env);
    SptfSw(QueueScheduler<SlackTunables>), "sptf-sw", Positional [], "SPTF, of nearly equal times the one with the shortest seek", SlackTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::SptfSeekWeight, env);
    SptfRw(QueueScheduler<SlackTunables>), "sptf-rw", Positional [], "SPTF, of nearly equal times the one with the longest rotation", SlackTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::SptfRotWeight, env);
    Tsps(QueueScheduler<PositionTunables>), "tsps", Positional [], "batches of eight, each on the shortest tour", PositionTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::Tsps, env);
    IoQueue(QueueScheduler<IoQueueTunables>), "ioqueue", Positional [], "any of DiskSim's 28 policies, with its queues and schemes", IoQueueTunables::SPECS, |env| QueueScheduler::new(IoQueuePolicy::CycleLbn, env);
}
