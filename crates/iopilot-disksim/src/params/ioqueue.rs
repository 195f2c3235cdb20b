//! `disksim_ioqueue`: a queue of requests and its service order.

use super::fields::{Given, ModuleCheck, count, flag, ms, whole};
use super::module::module;
use iopilot_block::InputError;

/// The names of the scheduling policies, from 1.
const POLICIES: [&str; 28] = [
    "FCFS",
    "ELEVATOR_LBN",
    "CYCLE_LBN",
    "SSTF_LBN",
    "ELEVATOR_CYL",
    "CYCLE_CYL",
    "SSTF_CYL",
    "SPTF_OPT",
    "SPCTF_OPT",
    "SATF_OPT",
    "WPTF_OPT",
    "WPCTF_OPT",
    "WATF_OPT",
    "ASPTF_OPT",
    "ASPCTF_OPT",
    "ASATF_OPT",
    "VSCAN_LBN",
    "VSCAN_CYL",
    "PRI_VSCAN_LBN",
    "PRI_ASPTF_OPT",
    "PRI_ASPCTF_OPT",
    "SDF_APPROX",
    "SDF_EXACT",
    "SPTF_ROT_OPT",
    "SPTF_ROT_WEIGHT",
    "SPTF_SEEK_WEIGHT",
    "TSPS",
    "BATCH_FCFS",
];

module! {
    /// A queue of requests.
    Ioqueue = "disksim_ioqueue" {
        /// The policy of the base queue, 1 to 28.
        scheduling_policy: u8 = "Scheduling policy", policy(1..=28);
        /// The scheduler's information about cylinders: 0 none, 1 zones, 2 also spares, 3 also slips, 4 exact, 5 from
        /// the trace, 6 the average cylinder.
        cylinder_mapping_strategy: u8 = "Cylinder mapping strategy", whole(0..=6);
        /// The scheduler's estimate of the time before a write is positioned, ms.
        write_initiation_delay: f64 = "Write initiation delay", ms;
        /// The scheduler's estimate of the time before a read is positioned, ms.
        read_initiation_delay: f64 = "Read initiation delay", ms;
        /// Bits: 1 concatenate reads, 2 writes, 4, 8, 16 keep sequential reads, writes, requests together.
        sequential_stream_scheme: u8 = "Sequential stream scheme", whole(0..=31);
        /// The longest concatenated request, blocks.
        maximum_concat_size: u64 = "Maximum concat size", count;
        /// Whether a completed request also completes waiting ones for the same blocks: 0 no, 1 all, 2 those that
        /// arrived before it was started.
        overlapping_request_scheme: u8 = "Overlapping request scheme", whole(0..=2);
        /// The gap that sequential reads may have, blocks.
        sequential_stream_diff_maximum: u64 = "Sequential stream diff maximum", whole(0..=1 << 30);
        /// Whether requests that have waited long move to another queue: 0 no, 1 after the time. With 2 they move to
        /// the timeout queue after half of it, and to the priority queue after all of it.
        scheduling_timeout_scheme: u8 = "Scheduling timeout scheme", whole(0..=2);
        /// The time, or the weight of age in the policies that use it.
        timeout_time_weight: u64 = "Timeout time/weight", count;
        /// The policy of the timeout queue; 0 if there is none.
        timeout_scheduling: u8 = "Timeout scheduling", policy(0..=28);
        /// Whether critical and limited requests go to the priority queue.
        scheduling_priority_scheme: bool = "Scheduling priority scheme", flag;
        /// The policy of the priority queue; 0 if there is none.
        priority_scheduling: u8 = "Priority scheduling", policy(0..=28);
    }
}

impl ModuleCheck for Ioqueue {
    fn check(&self, fields: &super::fields::BlockFields<'_>) -> Result<(), InputError> {
        for (policy, name, in_use) in [
            (self.timeout_scheduling, "Timeout scheduling", self.scheduling_timeout_scheme > 0),
            (self.priority_scheduling, "Priority scheduling", self.scheduling_priority_scheme),
        ] {
            if in_use && policy == 0 {
                return Err(fields.refuse(name, format!("a policy, as requests go to that queue: {}", policies(1))));
            }
        }
        Ok(())
    }
}

/// The number of a policy.
fn policy(bounds: std::ops::RangeInclusive<u8>) -> impl Fn(&Given<'_>) -> Result<u8, InputError> {
    move |given| {
        whole(bounds.clone())(given).map_err(|_| given.refuse(format!("a policy: {}", policies(*bounds.start()))))
    }
}

fn policies(from: u8) -> String {
    let named = POLICIES.iter().zip(1u8..).map(|(name, number)| format!("{number} {name}"));
    let none = (from == 0).then(|| "0 none".to_owned());
    none.into_iter().chain(named).collect::<Vec<_>>().join(", ")
}
