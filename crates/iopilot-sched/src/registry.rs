//! [`SchedulerInfo`]: the description of each scheduler. The table itself is in `lib.rs`.

use crate::{SCHEDULERS, Tunable};

/// The block layer a scheduler belongs to. It decides how requests reach the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// Text-book algorithms. They run on the block layer of Linux 2.6.
    Classic,
    /// Linux 2.6.24: one queue, `nr_requests` for each direction, device plugging.
    Linux2_6,
    /// Linux 6.x: multi-queue, scheduler tags, plugging by the submitting task.
    Linux6,
    /// Algorithms that ask the disk for the position of its arm, and DiskSim's queue. They run as the classic ones do.
    Positional,
}

/// The properties of a scheduler that its caller needs to run it, besides its lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Whether a request holds a scheduler tag (`hctx->sched_tags`) while it is queued, and takes a driver tag only
    /// when it is dispatched. If not, it holds a driver tag from the start, and the queue's depth is the adapter's
    /// (`blk_mq_get_tag`, Linux 6.x). False for all schedulers before Linux 6.x, which have no tags.
    pub scheduler_tags: bool,
    /// Whether its decisions depend on what it has served before: think times, seekiness, the device's rate, latencies.
    /// Such a scheduler may decide differently from one that was just installed.
    pub learns: bool,
    /// Whether the kernel turns write-back throttling off for it (`wbt_disable_default`).
    pub no_wbt: bool,
}

impl Features {
    /// A scheduler that holds no tags and learns nothing.
    pub const NONE: Self = Self { scheduler_tags: false, learns: false, no_wbt: false };

    pub(crate) const fn scheduler_tags(self) -> Self {
        Self { scheduler_tags: true, ..self }
    }

    pub(crate) const fn learns(self) -> Self {
        Self { learns: true, ..self }
    }

    pub(crate) const fn no_wbt(self) -> Self {
        Self { no_wbt: true, ..self }
    }
}

/// The kernel's name for no scheduler: requests go from the CPUs' queues straight to the driver.
pub const NO_SCHEDULER: &str = "none";

/// The default scheduler of Linux 6.x for a disk with one hardware queue (`elevator_get_default`).
pub const KERNEL_DEFAULT: &str = "mq-deadline";

/// The description of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// The block layer it belongs to.
    pub lineage: Lineage,
    /// The properties that its caller needs.
    pub features: Features,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its tunables.
    pub tunables: &'static [Tunable],
}

impl SchedulerInfo {
    /// The description of the scheduler called `name`; `None` if there is none.
    pub fn of(name: &str) -> Option<&'static Self> {
        SCHEDULERS.iter().find(|s| s.name == name)
    }
}

/// Generates [`SCHEDULERS`] and [`AnyScheduler`] from the table of schedulers. A row is
/// `Variant(Type), "name", Lineage [features], "summary", TUNABLES, constructor;`.
macro_rules! schedulers {
    ($($variant:ident($ty:ty), $name:literal, $lineage:ident [$($feature:ident)*], $summary:literal, $tunables:expr, |$env:pat_param| $new:expr;)*) => {
        /// Every scheduler there is.
        pub const SCHEDULERS: &[SchedulerInfo] = &[$(SchedulerInfo {
            name: $name,
            lineage: Lineage::$lineage,
            features: Features::NONE$(.$feature())*,
            summary: $summary,
            tunables: $tunables,
        },)*];

        /// Any scheduler, as one concrete type.
        #[derive(Clone, Debug)]
        pub struct AnyScheduler(SchedulerVariant);

        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum SchedulerVariant {
            $($variant($ty),)*
            Prio(Box<Prio>),
        }

        impl From<Prio> for AnyScheduler {
            fn from(prio: Prio) -> Self {
                Self(SchedulerVariant::Prio(Box::new(prio)))
            }
        }

        impl AnyScheduler {
            pub(crate) fn variant_mut(&mut self) -> &mut SchedulerVariant {
                &mut self.0
            }

            /// The scheduler called `name` for `env`; `None` if there is none.
            pub(crate) fn by_name(name: &str, env: &Environment) -> Option<Self> {
                match name {
                    $($name => {
                        let $env = env;
                        Some(Self(SchedulerVariant::$variant($new)))
                    })*
                    _ => None,
                }
            }

            /// Its description; for `prio(…)`, that of the scheduler inside.
            pub fn info(&self) -> &'static SchedulerInfo {
                let name = match &self.0 {
                    $(SchedulerVariant::$variant(_) => $name,)*
                    SchedulerVariant::Prio(s) => return s.inside().info(),
                };
                SchedulerInfo::of(name).expect("every variant is listed")
            }
        }

        impl Scheduler for AnyScheduler {
            #[inline]
            fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.try_merge(rqs, id, limits, now),)* SchedulerVariant::Prio(s) => s.try_merge(rqs, id, limits, now) }
            }
            #[inline]
            fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.insert(rqs, id, now),)* SchedulerVariant::Prio(s) => s.insert(rqs, id, now) }
            }
            #[inline]
            fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.dispatch(rqs, now),)* SchedulerVariant::Prio(s) => s.dispatch(rqs, now) }
            }
            #[inline]
            fn dispatch_at(&mut self, rqs: &mut Requests, now: Nanos, positions: Option<&dyn Positions>) -> Dispatch {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.dispatch_at(rqs, now, positions),)* SchedulerVariant::Prio(s) => s.dispatch_at(rqs, now, positions) }
            }
            #[inline]
            fn dispatch_queue(&mut self, rqs: &mut Requests, queue: usize, now: Nanos) -> Dispatch {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.dispatch_queue(rqs, queue, now),)* SchedulerVariant::Prio(s) => s.dispatch_queue(rqs, queue, now) }
            }
            fn serves_queues_apart(&self) -> bool {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.serves_queues_apart(),)* SchedulerVariant::Prio(s) => s.serves_queues_apart() }
            }
            fn joins_at_dispatch(&self) -> bool {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.joins_at_dispatch(),)* SchedulerVariant::Prio(s) => s.joins_at_dispatch() }
            }
            fn needs_positions(&self) -> bool {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.needs_positions(),)* SchedulerVariant::Prio(s) => s.needs_positions() }
            }
            #[inline]
            fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.completed(rqs, id, now),)* SchedulerVariant::Prio(s) => s.completed(rqs, id, now) }
            }
            #[inline]
            fn collapsed(&mut self) -> Option<RequestId> {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.collapsed(),)* SchedulerVariant::Prio(s) => s.collapsed() }
            }
            fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.withdraw(rqs, id, now),)* SchedulerVariant::Prio(s) => s.withdraw(rqs, id, now) }
            }
            fn idles_until(&mut self, rqs: &mut Requests, now: Nanos) -> Option<Nanos> {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.idles_until(rqs, now),)* SchedulerVariant::Prio(s) => s.idles_until(rqs, now) }
            }
            fn raise(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.raise(rqs, id, now),)* SchedulerVariant::Prio(s) => s.raise(rqs, id, now) }
            }
            fn process_exited(&mut self, process: ProcessId, now: Nanos) {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.process_exited(process, now),)* SchedulerVariant::Prio(s) => s.process_exited(process, now) }
            }
            #[inline]
            fn runs_after_completion(&self) -> Option<Nanos> {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.runs_after_completion(),)* SchedulerVariant::Prio(s) => s.runs_after_completion() }
            }
            #[inline]
            fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.depth_limit(rq, nr_requests),)* SchedulerVariant::Prio(s) => s.depth_limit(rq, nr_requests) }
            }
            #[inline]
            fn queued(&self) -> usize {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.queued(),)* SchedulerVariant::Prio(s) => s.queued() }
            }
            fn tunables(&self) -> &dyn Tunables {
                match &self.0 { $(SchedulerVariant::$variant(s) => s.tunables(),)* SchedulerVariant::Prio(s) => s.tunables() }
            }
            fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
                match &mut self.0 { $(SchedulerVariant::$variant(s) => s.set(name, value),)* SchedulerVariant::Prio(s) => Scheduler::set(&mut **s, name, value) }
            }
        }
    };
}

pub(crate) use schedulers;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schedulers_of_linux_6_have_tags() {
        for info in SCHEDULERS.iter().filter(|s| s.features.scheduler_tags) {
            assert_eq!(info.lineage, Lineage::Linux6, "{}: schedulers before blk-mq have no tags", info.name);
        }
        assert!(SchedulerInfo::of(KERNEL_DEFAULT).is_some_and(|s| s.features.scheduler_tags));
        assert!(SchedulerInfo::of(NO_SCHEDULER).is_some_and(|s| s.features == Features::NONE));
    }

    #[test]
    fn names_are_unique() {
        for (i, s) in SCHEDULERS.iter().enumerate() {
            assert!(SCHEDULERS[..i].iter().all(|t| t.name != s.name), "{}", s.name);
        }
    }
}
