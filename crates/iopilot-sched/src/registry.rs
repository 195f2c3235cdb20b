//! What is known of every scheduler ([`SchedulerInfo`]), and schedulers by name ([`SchedulerSpec`]). The table itself
//! is in `lib.rs`.

use crate::{AnyScheduler, Environment, Policy, SCHEDULERS, Scheduler, Tunable, TunableError, Unit};
use iopilot_block::{InputError, suggest};
use std::fmt;

/// The block layer a scheduler belongs to, which decides how requests reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// Text-book algorithms; they run on the block layer of Linux 2.6.
    Classic,
    /// Linux 2.6.24: one queue, `nr_requests` for each direction, device plugging.
    Linux2_6,
    /// Linux 6.x: multi-queue, scheduler tags, plugging by the submitting task.
    Linux6,
    /// Algorithms that ask the disk where its arm is, and DiskSim's queue; they run as the classic ones do.
    Positional,
}

/// What others must know of a scheduler to run it, besides its lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Whether a request holds a scheduler tag (`hctx->sched_tags`) while it is queued, and takes a driver tag only when
    /// it is dispatched. Without, it holds a driver tag from the start, and the queue's depth is the adapter's
    /// (`blk_mq_get_tag`, Linux 6.x). False for all before Linux 6.x, which have no tags.
    pub scheduler_tags: bool,
    /// Whether it decides by what it has served before: think times, seekiness, the device's rate, latencies. Such a
    /// scheduler may decide otherwise than one that was just put in place.
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

/// The kernel's name for no scheduler at all: requests go from the CPUs' queues straight to the driver.
pub const NO_SCHEDULER: &str = "none";

/// What Linux 6.x gives a disk with one hardware queue where nobody chooses (`elevator_get_default`).
pub const KERNEL_DEFAULT: &str = "mq-deadline";

/// What there is to know of a scheduler before making one.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it comes from.
    pub lineage: Lineage,
    /// What others must know to run it.
    pub features: Features,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its tunables.
    pub tunables: &'static [Tunable],
}

impl SchedulerInfo {
    /// That of the scheduler called `name`; `None` where there is none.
    pub fn of(name: &str) -> Option<&'static Self> {
        SCHEDULERS.iter().find(|s| s.name == name)
    }
}

/// Makes [`SCHEDULERS`] and [`AnyScheduler`] of the table of schedulers, whose rows are
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
        #[allow(clippy::large_enum_variant, missing_docs)]
        pub enum AnyScheduler {
            $($variant($ty),)*
        }

        impl AnyScheduler {
            /// The scheduler called `name` for `env`; `None` where there is none.
            pub fn by_name(name: &str, env: &Environment) -> Option<Self> {
                match name {
                    $($name => {
                        let $env = env;
                        Some(Self::$variant($new))
                    })*
                    _ => None,
                }
            }

            /// What there is to know of it.
            pub fn info(&self) -> &'static SchedulerInfo {
                let name = match self {
                    $(Self::$variant(_) => $name,)*
                };
                SchedulerInfo::of(name).expect("every variant is listed")
            }
        }

        impl Scheduler for AnyScheduler {
            #[inline]
            fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
                match self { $(Self::$variant(s) => s.try_merge(rqs, id, limits, now),)* }
            }
            #[inline]
            fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match self { $(Self::$variant(s) => s.insert(rqs, id, now),)* }
            }
            #[inline]
            fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
                match self { $(Self::$variant(s) => s.dispatch(rqs, now),)* }
            }
            #[inline]
            fn dispatch_at(&mut self, rqs: &mut Requests, now: Nanos, positions: Option<&dyn Positions>) -> Dispatch {
                match self { $(Self::$variant(s) => s.dispatch_at(rqs, now, positions),)* }
            }
            #[inline]
            fn dispatch_queue(&mut self, rqs: &mut Requests, queue: usize, now: Nanos) -> Dispatch {
                match self { $(Self::$variant(s) => s.dispatch_queue(rqs, queue, now),)* }
            }
            fn joins_at_dispatch(&self) -> bool {
                match self { $(Self::$variant(s) => s.joins_at_dispatch(),)* }
            }
            fn needs_positions(&self) -> bool {
                match self { $(Self::$variant(s) => s.needs_positions(),)* }
            }
            #[inline]
            fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match self { $(Self::$variant(s) => s.completed(rqs, id, now),)* }
            }
            fn follow(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) -> bool {
                match self { $(Self::$variant(s) => s.follow(rqs, id, now),)* }
            }
            fn raise(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
                match self { $(Self::$variant(s) => s.raise(rqs, id, now),)* }
            }
            fn process_exited(&mut self, process: ProcessId, now: Nanos) {
                match self { $(Self::$variant(s) => s.process_exited(process, now),)* }
            }
            #[inline]
            fn runs_after_completion(&self) -> Option<Nanos> {
                match self { $(Self::$variant(s) => s.runs_after_completion(),)* }
            }
            #[inline]
            fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
                match self { $(Self::$variant(s) => s.depth_limit(rq, nr_requests),)* }
            }
            #[inline]
            fn queued(&self) -> usize {
                match self { $(Self::$variant(s) => s.queued(),)* }
            }
            fn tunables(&self) -> &dyn Tunables {
                match self { $(Self::$variant(s) => s.tunables(),)* }
            }
            fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
                match self { $(Self::$variant(s) => s.set(name, value),)* }
            }
        }
    };
}

pub(crate) use schedulers;

/// A scheduler and the tunables to set on it, as written on a command line: `bfq:low_latency=0:slice_idle=4`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerSpec {
    /// The scheduler's name.
    pub name: &'static str,
    /// Tunables to set, in order.
    pub settings: Vec<(String, f64)>,
}

impl SchedulerSpec {
    /// Every scheduler that a host can have, on any device, with its defaults.
    pub fn all() -> Vec<Self> {
        Self::of(|lineage| lineage != Lineage::Positional)
    }

    /// Every scheduler that asks the disk where its arm is, with its defaults.
    pub fn positional() -> Vec<Self> {
        Self::of(|lineage| lineage == Lineage::Positional)
    }

    /// The schedulers that one word in a list stands for: `all` or `positional`.
    pub fn group(name: &str) -> Option<Vec<Self>> {
        match name {
            "all" => Some(Self::all()),
            "positional" => Some(Self::positional()),
            _ => None,
        }
    }

    fn of(wanted: impl Fn(Lineage) -> bool) -> Vec<Self> {
        let listed = SCHEDULERS.iter().filter(|s| wanted(s.lineage));
        listed.map(|s| Self { name: s.name, settings: Vec::new() }).collect()
    }

    /// Reads `name[:tunable=value]…`.
    ///
    /// # Errors
    /// Names the unknown scheduler or tunable, or the value out of range.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().trim();
        let Some(info) = SchedulerInfo::of(name) else {
            let names = SCHEDULERS.iter().map(|s| s.name);
            let expected = match suggest(name, names.clone()) {
                Some(near) => format!("a scheduler; did you mean `{near}`?"),
                None => format!("one of {}", names.collect::<Vec<_>>().join(", ")),
            };
            return Err(InputError::new("scheduler", name, expected));
        };
        let mut settings = Vec::new();
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(InputError::new(format!("scheduler {name}"), part, "TUNABLE=VALUE"));
            };
            let (key, value) = (key.trim(), value.trim());
            let is_policy = info.tunables.iter().any(|t| t.name == key && t.unit == Unit::Policy);
            let number = match value {
                _ if is_policy => match Policy::parse(value) {
                    Ok(policy) => f64::from(policy.number()),
                    Err(e) => return Err(InputError { field: format!("scheduler {name}: {key}"), ..e }),
                },
                "true" | "on" | "yes" => 1.0,
                "false" | "off" | "no" => 0.0,
                _ => {
                    value.parse().map_err(|_| InputError::new(format!("scheduler {name}: {key}"), value, "a number"))?
                }
            };
            crate::tunables::check(info.tunables, key, number).map_err(|e| {
                let (got, expected) = match &e {
                    TunableError::Unknown { suggestion: Some(near), .. } => {
                        (key, format!("a tunable; did you mean `{near}`?"))
                    }
                    TunableError::Unknown { known, .. } => (key, format!("one of its tunables ({known})")),
                    TunableError::Range { min, max, unit, integer, .. } => {
                        let kind = if *integer { "a whole number from" } else { "a number from" };
                        (value, format!("{kind} {min} to {max} ({unit})"))
                    }
                };
                InputError::new(format!("scheduler {name}: {key}"), got, expected)
            })?;
            settings.push((key.to_owned(), number));
        }
        Ok(Self { name: info.name, settings })
    }

    /// Reads a list separated by commas; `all` stands for [`SchedulerSpec::all`], `positional` for
    /// [`SchedulerSpec::positional`].
    ///
    /// # Errors
    /// As [`SchedulerSpec::parse`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, InputError> {
        let mut specs = Vec::new();
        for part in text.split(',').map(str::trim) {
            match Self::group(part) {
                Some(group) => specs.extend(group),
                None => specs.push(Self::parse(part)?),
            }
        }
        Ok(specs)
    }

    /// Makes the scheduler.
    ///
    /// # Errors
    /// Where a setting is not accepted; [`SchedulerSpec::parse`] has checked those it read.
    pub fn build(&self, env: &Environment) -> Result<AnyScheduler, TunableError> {
        let mut scheduler = AnyScheduler::by_name(self.name, env).expect("names are taken from the list");
        for (name, value) in &self.settings {
            scheduler.set(name, *value)?;
        }
        Ok(scheduler)
    }

    /// What there is to know of the scheduler.
    pub fn info(&self) -> &'static SchedulerInfo {
        SchedulerInfo::of(self.name).expect("names are taken from the list")
    }

    /// Where it comes from.
    pub fn lineage(&self) -> Lineage {
        self.info().lineage
    }
}

impl fmt::Display for SchedulerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.settings.iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_nearest_known() {
        let e = SchedulerSpec::parse("nop").unwrap_err().to_string();
        assert!(e.contains("noop") && !e.contains('\n'), "{e}");
        assert!(SchedulerSpec::parse("noop:fifo_batch=4").is_err());
    }

    #[test]
    fn policies_go_by_number_or_name() {
        let number = |text: &str| SchedulerSpec::parse(text).map(|s| s.settings[0].1).map_err(|e| e.to_string());
        assert_eq!(number("ioqueue:policy=14"), Ok(14.0));
        assert_eq!(number("ioqueue:policy=ASPTF_OPT"), Ok(14.0));
        assert_eq!(number("ioqueue:timeout_policy=look_lbn").unwrap_err().lines().count(), 1);
        let e = number("ioqueue:policy=SPTF_ROT_OTP").unwrap_err();
        assert!(e.contains("scheduler ioqueue: policy") && e.contains("did you mean `SPTF_ROT_OPT`?"), "{e}");
        assert!(number("ioqueue:policy=0").unwrap_err().contains("1 to 28"));
    }

    #[test]
    fn all_runs_anywhere_and_positional_does_not() {
        let env = Environment::default();
        assert!(SchedulerSpec::all().iter().all(|s| s.build(&env).is_ok_and(|s| !s.needs_positions())));
        let blind: Vec<_> = SchedulerSpec::positional()
            .into_iter()
            .filter(|s| s.build(&env).is_ok_and(|s| !s.needs_positions()))
            .map(|s| s.name)
            .collect();
        assert_eq!(blind, ["ioqueue"], "whose policy is to be chosen");
    }

    #[test]
    fn tags_are_of_linux_6() {
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
