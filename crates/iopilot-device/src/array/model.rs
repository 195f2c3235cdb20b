//! [`ArrayModel`]: the constants of an [`Array`](super::Array).

use super::layout::ArrayLayout;
use super::mapper::MappingRules;
use iopilot_block::{InputError, Nanos};
use iopilot_sched::{IoQueueConfig, OverlapScheme};

/// The controller of an array, and the failures of its members.
#[derive(Clone, Debug)]
pub struct ArrayModel {
    /// Where data and redundancy lie.
    pub layout: ArrayLayout,
    /// How requests are mapped to the members.
    pub rules: MappingRules,
    /// Requests the controller accepts at once.
    pub queue_depth: u32,
    /// Requests outstanding at a member; at most its queue depth.
    pub member_queue_depth: u32,
    /// The order in which waiting requests are issued to a member; `None` for FCFS. Requests are not merged there,
    /// and complete one by one.
    pub member_queue: Option<IoQueueConfig>,
    /// Command processing before anything else; commands overlap.
    pub command: Nanos,
    /// Nanoseconds per byte between host and controller, one transfer at a time; 0 for none.
    pub bus_ns_per_byte: f64,
    /// The battery-backed write-back cache.
    pub nvram: Option<NvramModel>,
    /// Failures of members, at most one each.
    pub failures: Vec<Failure>,
    /// Whether and how failed members are rebuilt.
    pub rebuild: Option<RebuildModel>,
}

/// The write-back cache: a write completes once it is in the cache, even with FUA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NvramModel {
    /// Size in sectors.
    pub sectors: u64,
    /// The fraction in use above which destaging begins.
    pub destage_above: f64,
    /// The fraction in use at which destaging ends; at most `destage_above`. Writes gather meanwhile, so that runs
    /// are longer.
    pub destage_to: f64,
    /// How long the host must be idle before everything is destaged.
    pub destage_idle: Nanos,
    /// The number of concurrent destages.
    pub destage_depth: u32,
}

/// The failure of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The member that fails.
    pub member: u32,
    /// When it fails; with 0 it is lost from the start.
    pub at: Nanos,
}

/// Failed members are rebuilt onto spares, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RebuildModel {
    /// The number of spares.
    pub spares: u32,
    /// The most bytes per second written to the spare; `None` for no limit.
    pub rate: Option<f64>,
    /// Sectors rebuilt at once, rounded to whole stripe units, at least one.
    pub chunk: u64,
    /// The delay between the failure and the start of the rebuild.
    pub delay: Nanos,
}

impl ArrayModel {
    /// An array without a cache and failures, whose controller takes no time.
    pub fn new(layout: ArrayLayout, rules: MappingRules) -> Self {
        Self {
            layout,
            rules,
            queue_depth: 256,
            member_queue_depth: u32::MAX,
            member_queue: None,
            command: Nanos::ZERO,
            bus_ns_per_byte: 0.0,
            nvram: None,
            failures: Vec::new(),
            rebuild: None,
        }
    }

    /// Checks that the values are consistent.
    ///
    /// # Errors
    /// Names the first inconsistent value.
    pub fn check(&self) -> Result<(), InputError> {
        let wrong = |field: &str, got: String, expected: String| Err(InputError::new(field, got, expected));
        let members = self.layout.members();
        let mut lost = Vec::new();
        for failure in &self.failures {
            if failure.member >= members || lost.contains(&failure.member) {
                let expected = format!("each of members 0 to {} at most once", members - 1);
                return wrong("failed", failure.member.to_string(), expected);
            }
            lost.push(failure.member);
        }
        if !self.layout.survives(&lost) {
            return wrong("failed", format!("{lost:?}"), "members that the array survives the loss of".into());
        }
        if let Some(nvram) = &self.nvram {
            if nvram.sectors == 0 {
                return wrong("nvram", "0".into(), "a size".into());
            }
            if !(0.0..=1.0).contains(&nvram.destage_above) {
                return wrong("destage_above", nvram.destage_above.to_string(), "0 to 1".into());
            }
            if !(0.0..=nvram.destage_above).contains(&nvram.destage_to) {
                let expected = format!("0 to the {} of destage_above", nvram.destage_above);
                return wrong("destage_to", nvram.destage_to.to_string(), expected);
            }
        }
        if let Some(rebuild) = &self.rebuild {
            if self.layout.check_units() == 0 && self.layout.copies() == 1 {
                return wrong("rebuild", "a rebuild".into(), "none: this array has no redundancy".into());
            }
            if let Some(rate) = rebuild.rate.filter(|rate| rate.is_nan() || *rate <= 0.0) {
                return wrong("rebuild.rate", rate.to_string(), "above 0".into());
            }
        }
        if let Some(queue) = &self.member_queue {
            if queue.max_concat.0 > 0 || queue.overlap != OverlapScheme::Off {
                let got = "a queue that joins requests";
                return wrong("member_queue", got.into(), "no concatenation, no overlap scheme".into());
            }
        }
        for (field, value) in [("queue_depth", self.queue_depth), ("member_queue_depth", self.member_queue_depth)] {
            if value == 0 {
                return wrong(field, "0".into(), "at least 1".into());
            }
        }
        Ok(())
    }
}
