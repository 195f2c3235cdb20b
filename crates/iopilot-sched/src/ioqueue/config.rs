//! [`IoQueueConfig`]: all parameters of a queue.

use super::policy::{IoQueuePolicy, PolicyOrder};
use iopilot_block::{Knowledge, Nanos, Sectors};

/// Which cylinder a queue takes a block to lie on, for the policies that go by cylinder. SPTF and SDF policies know the
/// true one whatever is set here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CylinderMapping {
    /// All blocks lie on one.
    None,
    /// As the device's map says, known to some degree.
    Known(Knowledge),
    /// As each request says ([`IoRequest::cylinder`](crate::IoRequest::cylinder)); 0 where it does not.
    FromRequest,
    /// The block number divided by this many sectors, at least 1.
    Average(u64),
}

impl CylinderMapping {
    /// Strategy `number` of DiskSim's `Cylinder mapping strategy`; `average` is the mean sectors per cylinder for 6.
    /// `None` for a number there is not.
    ///
    /// With `as_disksim_4` what DiskSim 4.0 really does: strategies 0 to 4 put all requests on one cylinder, so that
    /// the policies by cylinder order by block.
    pub fn from_number(number: u32, average: u64, as_disksim_4: bool) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1..=4 if as_disksim_4 => Self::None,
            1 | 2 => Self::Known(Knowledge::Zones),
            3 => Self::Known(Knowledge::Slips),
            4 => Self::Known(Knowledge::Exact),
            5 => Self::FromRequest,
            6 => Self::Average(average.max(1)),
            _ => return None,
        })
    }
}

/// What becomes of requests that have waited long (`Scheduling timeout scheme`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeoutScheme {
    /// 0: nothing.
    #[default]
    Off,
    /// 1: after the timeout they go to the timeout queue, or, where priorities are on, to the priority queue.
    Full,
    /// 2: after half of it they go to the timeout queue, after all of it to the priority queue.
    HalfAndFull,
}

/// What else is done when a request is (`Overlapping request scheme`): waiting requests for the same blocks. A read
/// finishes reads only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlapScheme {
    /// 0: nothing.
    #[default]
    Off,
    /// 1: those that are there at its completion.
    AtCompletion,
    /// 2: those that were there when it started.
    AtStart,
}

/// How requests of a sequential stream stay together (`Sequential stream scheme`, its five bits in order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamScheme {
    /// 1: reads that follow each other become one.
    pub concatenate_reads: bool,
    /// 2: writes do.
    pub concatenate_writes: bool,
    /// 4: a read behind a waiting one waits for it.
    pub sequence_reads: bool,
    /// 8: a write behind a waiting one waits for it.
    pub sequence_writes: bool,
    /// 16: any request behind a waiting one waits for it.
    pub sequence_any: bool,
}

impl StreamScheme {
    /// From the sum of bits.
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits < 32).then_some(Self {
            concatenate_reads: bits & 1 != 0,
            concatenate_writes: bits & 2 != 0,
            sequence_reads: bits & 4 != 0,
            sequence_writes: bits & 8 != 0,
            sequence_any: bits & 16 != 0,
        })
    }

    pub(super) fn sequences(&self) -> bool {
        self.sequence_reads || self.sequence_writes || self.sequence_any
    }
}

/// How [`IoQueuePolicy::PriVscanLbn`] measures distance (its number is the `Timeout scheduling` of DiskSim).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistanceRule {
    /// 2: against the present direction the whole disk is added.
    #[default]
    Elevator,
    /// 3: upwards, from the top on to the bottom.
    Cyclic,
    /// 4: the nearest either way.
    Nearest,
}

/// All parameters of an [`IoQueue`](crate::IoQueue). Numbers and names in brackets are DiskSim's.
#[derive(Clone, Debug, PartialEq)]
pub struct IoQueueConfig {
    /// Of the base queue (`Scheduling policy`).
    pub policy: IoQueuePolicy,
    /// `Cylinder mapping strategy`.
    pub mapping: CylinderMapping,
    /// From the choice of a read to the moment the arm moves, ns (`Read initiation delay`): SPTF policies look so far
    /// ahead, and count it.
    pub read_initiation: f64,
    /// The same of a write.
    pub write_initiation: f64,
    /// Whether the device's own delay is added to these two.
    pub device_initiation: bool,
    /// The weight of age (`Timeout time/weight`): thousandths of the age that an aged policy subtracts, 1/1280 blocks per
    /// millisecond for [`IoQueuePolicy::PriVscanLbn`].
    pub age_weight: f64,
    /// After how many milliseconds a weighted policy's request goes first (`Timeout time/weight` as well).
    pub max_wait: f64,
    /// `Scheduling timeout scheme`.
    pub timeout_scheme: TimeoutScheme,
    /// Of the timeout scheme; DiskSim writes it in seconds into `Timeout time/weight`.
    pub timeout: Nanos,
    /// Of the timeout queue (`Timeout scheduling`).
    pub timeout_policy: IoQueuePolicy,
    /// Whether critical and limited requests have a queue of their own that goes first (`Scheduling priority scheme`).
    pub priorities: bool,
    /// Of the priority queue (`Priority scheduling`).
    pub priority_policy: IoQueuePolicy,
    /// `Sequential stream scheme`.
    pub streams: StreamScheme,
    /// Up to which length requests become one (`Maximum concat size`); 0 for never.
    pub max_concat: Sectors,
    /// How many blocks a read may skip and still follow the one before (`Sequential stream diff maximum`).
    pub stream_gap: u32,
    /// `Overlapping request scheme`.
    pub overlap: OverlapScheme,
    /// Blocks on the device, for V(R) by block.
    pub capacity: u64,
    /// R of V(R): the cost of reversing, as a share of the disk.
    pub reversal: f64,
    /// How [`IoQueuePolicy::PriVscanLbn`] measures distance.
    pub distance_rule: DistanceRule,
    /// Percent of the disk that an urgent request may be farther away under [`IoQueuePolicy::PriVscanLbn`] (the number in
    /// `Priority scheduling` of DiskSim).
    pub urgency_percent: f64,
    /// How much longer than the shortest, in percent, is nearly the shortest ([`IoQueuePolicy::SptfRotWeight`],
    /// [`IoQueuePolicy::SptfSeekWeight`]).
    pub slack_percent: f64,
}

impl Default for IoQueueConfig {
    /// First come, first served; everything else off, V(0.2).
    fn default() -> Self {
        Self {
            policy: IoQueuePolicy::Fcfs,
            mapping: CylinderMapping::Known(Knowledge::Exact),
            read_initiation: 0.0,
            write_initiation: 0.0,
            device_initiation: false,
            age_weight: 0.0,
            max_wait: 0.0,
            timeout_scheme: TimeoutScheme::Off,
            timeout: Nanos::ZERO,
            timeout_policy: IoQueuePolicy::Fcfs,
            priorities: false,
            priority_policy: IoQueuePolicy::Fcfs,
            streams: StreamScheme::default(),
            max_concat: Sectors(0),
            stream_gap: 0,
            overlap: OverlapScheme::Off,
            capacity: 0,
            reversal: 0.2,
            distance_rule: DistanceRule::Elevator,
            urgency_percent: 0.0,
            slack_percent: 0.0,
        }
    }
}

impl IoQueueConfig {
    /// Everything off but `policy`.
    pub fn with_policy(policy: IoQueuePolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Whether the queue can only work with a device's [`Positions`](iopilot_block::Positions).
    pub fn needs_positions(&self) -> bool {
        let timeouts = self.timeout_scheme != TimeoutScheme::Off;
        let priorities = self.priorities || self.timeout_scheme == TimeoutScheme::HalfAndFull;
        self.asks(self.policy)
            || timeouts && self.asks(self.timeout_policy)
            || priorities && self.asks(self.priority_policy)
    }

    fn asks(&self, policy: IoQueuePolicy) -> bool {
        match policy.order() {
            PolicyOrder::Arrival | PolicyOrder::Block => false,
            PolicyOrder::Mapped => {
                policy == IoQueuePolicy::VscanCyl || matches!(self.mapping, CylinderMapping::Known(_))
            }
            PolicyOrder::Exact => true,
        }
    }
}
