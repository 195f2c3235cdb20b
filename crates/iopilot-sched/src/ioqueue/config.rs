//! [`IoQueueConfig`]: the parameters of a queue.

use super::policy::{IoQueuePolicy, PolicyOrder};
use iopilot_block::{Knowledge, Nanos, Sectors};

/// The mapping of blocks to cylinders, for the policies by cylinder. SPTF and SDF policies know the true cylinder in
/// any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CylinderMapping {
    /// All blocks are on one cylinder.
    None,
    /// The device's map, of which the queue knows this much.
    Known(Knowledge),
    /// The cylinder that each request names ([`IoRequest::cylinder`](crate::IoRequest::cylinder)); 0 if it names none.
    FromRequest,
    /// The block number divided by this many sectors, at least 1.
    Average(u64),
}

impl CylinderMapping {
    /// Strategy `number` of DiskSim's `Cylinder mapping strategy`. `average` is the mean number of sectors per
    /// cylinder, for strategy 6. `None` for an unknown number.
    ///
    /// `as_disksim_4` selects what DiskSim 4.0 really does: strategies 0 to 4 put all requests on one cylinder, so that
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

/// The treatment of requests that have waited long (`Scheduling timeout scheme`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeoutScheme {
    /// 0: they stay.
    #[default]
    Off,
    /// 1: after the timeout they move to the timeout queue, or, with priorities, to the priority queue.
    Full,
    /// 2: after half the timeout they move to the timeout queue, after the whole timeout to the priority queue.
    HalfAndFull,
}

/// Which waiting requests for the same blocks complete with a request (`Overlapping request scheme`). A read completes
/// only reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlapScheme {
    /// 0: none.
    #[default]
    Off,
    /// 1: those in the queue at its completion.
    AtCompletion,
    /// 2: those in the queue when it started.
    AtStart,
}

/// How requests of a sequential stream stay together (`Sequential stream scheme`, its five bits in order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamScheme {
    /// 1: sequential reads merge.
    pub concatenate_reads: bool,
    /// 2: sequential writes merge.
    pub concatenate_writes: bool,
    /// 4: a read that follows a waiting one waits for it.
    pub sequence_reads: bool,
    /// 8: a write that follows a waiting one waits for it.
    pub sequence_writes: bool,
    /// 16: any request that follows a waiting one waits for it.
    pub sequence_any: bool,
}

impl StreamScheme {
    /// The scheme with this sum of bits; `None` if the sum is above 31.
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
    /// 2: against the present direction, the size of the disk is added.
    #[default]
    Elevator,
    /// 3: upwards, continuing from the top to the bottom.
    Cyclic,
    /// 4: in either direction.
    Nearest,
}

/// The parameters of an [`IoQueue`](crate::IoQueue). Numbers and names in brackets are DiskSim's.
#[derive(Clone, Debug, PartialEq)]
pub struct IoQueueConfig {
    /// The policy of the base queue (`Scheduling policy`).
    pub policy: IoQueuePolicy,
    /// `Cylinder mapping strategy`.
    pub mapping: CylinderMapping,
    /// From the choice of a read to the moment the arm moves, ns (`Read initiation delay`). SPTF policies look ahead by
    /// this delay, and count it.
    pub read_initiation: f64,
    /// The same for a write.
    pub write_initiation: f64,
    /// Whether the device's own delay is added to these two.
    pub device_initiation: bool,
    /// The weight of age (`Timeout time/weight`): the share of the age that an aged policy subtracts, in thousandths;
    /// for [`IoQueuePolicy::PriVscanLbn`], in 1/1280 blocks per millisecond.
    pub age_weight: f64,
    /// After how many milliseconds a weighted policy serves a request first (also `Timeout time/weight`).
    pub max_wait: f64,
    /// `Scheduling timeout scheme`.
    pub timeout_scheme: TimeoutScheme,
    /// The timeout of that scheme. DiskSim has it in seconds in `Timeout time/weight`.
    pub timeout: Nanos,
    /// The policy of the timeout queue (`Timeout scheduling`).
    pub timeout_policy: IoQueuePolicy,
    /// Whether critical and limited requests have a queue of their own that goes first (`Scheduling priority scheme`).
    pub priorities: bool,
    /// The policy of the priority queue (`Priority scheduling`).
    pub priority_policy: IoQueuePolicy,
    /// `Sequential stream scheme`.
    pub streams: StreamScheme,
    /// The longest request that may result from a merge (`Maximum concat size`); 0 for no merges.
    pub max_concat: Sectors,
    /// How many blocks a read may skip and still follow its predecessor (`Sequential stream diff maximum`).
    pub stream_gap: u32,
    /// `Overlapping request scheme`.
    pub overlap: OverlapScheme,
    /// Blocks on the device, for V(R) by block.
    pub capacity: u64,
    /// R of V(R): the cost of reversing, as a share of the disk.
    pub reversal: f64,
    /// How [`IoQueuePolicy::PriVscanLbn`] measures distance.
    pub distance_rule: DistanceRule,
    /// Percent of the disk that an urgent request may be farther away under [`IoQueuePolicy::PriVscanLbn`] (the number
    /// in `Priority scheduling` of DiskSim).
    pub urgency_percent: f64,
    /// How much longer than the shortest time is nearly the shortest, in percent ([`IoQueuePolicy::SptfRotWeight`],
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
    /// The default with this `policy`.
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
