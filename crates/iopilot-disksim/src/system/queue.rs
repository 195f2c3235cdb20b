//! From `disksim_ioqueue` to the configuration of a queue.

use crate::params::Ioqueue;
use iopilot_block::{Nanos, Sectors};
use iopilot_sched::{
    CylinderMapping, DistanceRule, IoQueueConfig, IoQueuePolicy, OverlapScheme, StreamScheme, TimeoutScheme,
};

/// The queue that the parameters describe, following the manual where DiskSim 4.0 departs from it. `average` is the
/// mean number of sectors per cylinder. All numbers are within their ranges.
pub(crate) fn queue_config(queue: &Ioqueue, average: u64) -> IoQueueConfig {
    let policy = |number: u8| IoQueuePolicy::from_number(number.into()).unwrap_or(IoQueuePolicy::Fcfs);
    IoQueueConfig {
        policy: policy(queue.scheduling_policy),
        mapping: CylinderMapping::from_number(queue.cylinder_mapping_strategy.into(), average, false)
            .unwrap_or(CylinderMapping::None),
        read_initiation: queue.read_initiation_delay * 1e6,
        write_initiation: queue.write_initiation_delay * 1e6,
        age_weight: queue.timeout_time_weight as f64,
        max_wait: queue.timeout_time_weight as f64,
        timeout_scheme: match queue.scheduling_timeout_scheme {
            1 => TimeoutScheme::Full,
            2 => TimeoutScheme::HalfAndFull,
            _ => TimeoutScheme::Off,
        },
        timeout: Nanos::from_secs(queue.timeout_time_weight.min(1_000_000_000)),
        timeout_policy: policy(queue.timeout_scheduling),
        priorities: queue.scheduling_priority_scheme,
        priority_policy: policy(queue.priority_scheduling),
        streams: StreamScheme::from_bits(queue.sequential_stream_scheme.into()).unwrap_or_default(),
        max_concat: Sectors(u32::try_from(queue.maximum_concat_size).unwrap_or(u32::MAX)),
        stream_gap: u32::try_from(queue.sequential_stream_diff_maximum).unwrap_or(u32::MAX),
        overlap: match queue.overlapping_request_scheme {
            1 => OverlapScheme::AtCompletion,
            2 => OverlapScheme::AtStart,
            _ => OverlapScheme::Off,
        },
        // The policy V(R) by block interprets these two as numbers.
        distance_rule: match queue.timeout_scheduling {
            3 => DistanceRule::Cyclic,
            4 => DistanceRule::Nearest,
            _ => DistanceRule::Elevator,
        },
        urgency_percent: queue.priority_scheduling.into(),
        ..IoQueueConfig::default()
    }
}
