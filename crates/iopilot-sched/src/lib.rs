//! I/O schedulers as pure state machines: no clock, thread or randomness of their own.
//!
//! A [`Scheduler`] is handed `now` and decides. The simulator drives it in virtual time; the same code predicts what
//! the scheduler of a live kernel would do. One file holds one scheduler; [`AnyScheduler`] is all of them behind one
//! concrete type, so that a hot loop pays a predictable branch and no virtual call.
//!
//! What schedulers share: [`SortedIndex`] (requests by sector), [`Links`] and [`List`] (linked lists that never
//! allocate per request), [`MergeIndex`] and [`try_merge`] (back and front merging, coalescing), [`Arm`] (the text-book
//! algorithms' view of a disk).

mod anticipatory;
mod arm;
#[cfg(test)]
mod bench_queue;
mod bfq;
mod cfq;
mod cscan;
mod deadline;
mod deadlines;
mod decay;
mod fcfs;
mod ioqueue;
mod jiffies;
mod kyber;
mod links;
mod merge;
mod mq_deadline;
mod none;
mod noop;
mod processes;
mod queue_scheduler;
mod registry;
mod scan;
mod scheduler;
mod software_queue;
mod sorted;
mod sstf;
mod tunables;
mod vr;
mod vscan;

pub use anticipatory::{Anticipatory, AnticipatoryTunables};
pub use arm::{Arm, ArmRule, ArmScheduler};
pub use bfq::{Bfq, BfqTunables};
pub use cfq::{Cfq, CfqTunables};
pub use cscan::{Circle, CircularScan};
pub use deadline::{Deadline, DeadlineTunables};
pub use fcfs::Fcfs;
pub use ioqueue::{
    CylinderMapping, DistanceRule, IoPick, IoQueue, IoQueueConfig, IoRequest, OverlapScheme, Policy, StreamScheme,
    TimeoutScheme,
};
pub use jiffies::retry_at;
pub use kyber::{Kyber, KyberTunables};
pub use links::{Links, List};
pub use merge::{MergeIndex, MergeLimits, MergeTarget, Merged, compatible, try_merge};
pub use mq_deadline::{MqDeadline, MqDeadlineTunables};
pub use none::NoScheduler;
pub use noop::Noop;
pub use queue_scheduler::{
    AgedTunables, CylinderTunables, IoQueueTunables, PositionTunables, QueueScheduler, QueueTunables, SlackTunables,
    VscanCylTunables, WeightedTunables,
};
pub use registry::{
    AnyScheduler, Features, KERNEL_DEFAULT, Lineage, NO_SCHEDULER, SCHEDULERS, SchedulerInfo, SchedulerSpec,
};
pub use scan::{Scan, Sweep};
pub use scheduler::{Dispatch, Environment, Scheduler};
pub use sorted::SortedIndex;
pub use sstf::{NearestFirst, Sstf};
pub use tunables::{Tunable, TunableError, Tunables, Unit};
pub use vr::{Vr, VrTunables};
pub use vscan::{ReversalCosts, Vscan, VscanTunables};
