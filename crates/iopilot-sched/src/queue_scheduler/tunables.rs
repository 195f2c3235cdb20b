//! The tunables of the schedulers that are an [`IoQueue`](crate::IoQueue).

use crate::tunables::{NoTunables, tunables};
use crate::{
    IoQueueConfig, IoQueuePolicy, OverlapScheme, StreamScheme, TimeoutScheme, Tunable, TunableError, Tunables,
};
use iopilot_block::{Nanos, Sectors};

/// Tunables that set parameters of a queue.
pub(crate) trait QueueTunables: Tunables + Default {
    /// `base` with the parameters that these tunables set.
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig;
}

tunables! {
    /// The tunables of `sptf`, `spctf`, `satf` and `tsps`.
    pub(crate) struct PositionTunables {
        /// The delay before the arm moves for a read, in addition to the disk's own command processing.
        read_initiation: f64, Us = 0.0, 0..=1_000_000;
        /// The same for a write.
        write_initiation: f64, Us = 0.0, 0..=1_000_000;
    }
}

tunables! {
    /// The tunables of `aged-sptf`.
    pub(crate) struct AgedTunables {
        /// How many microseconds are subtracted from a request's time for each millisecond of its wait.
        age_weight: f64, Thousandths = 6.0, 0..=1_000_000;
        /// A request that the disk's cache serves counts as no time (ASPCTF).
        cache_aware: bool, Bool = false, 0..=1;
        /// The transfer counts as well (ASATF); not together with the cache.
        access_time: bool, Bool = false, 0..=1;
        /// The delay before the arm moves for a read, in addition to the disk's own command processing.
        read_initiation: f64, Us = 0.0, 0..=1_000_000;
        /// The same for a write.
        write_initiation: f64, Us = 0.0, 0..=1_000_000;
    }
}

tunables! {
    /// The tunables of `weighted-sptf`.
    pub(crate) struct WeightedTunables {
        /// The wait at which a request's time has shrunk to zero; requests that wait longer go first, the oldest first.
        max_wait: u64, Ms = 1000, 0..=1_000_000_000;
        /// A request that the disk's cache serves counts as no time (WPCTF).
        cache_aware: bool, Bool = false, 0..=1;
        /// The transfer counts as well (WATF); not together with the cache.
        access_time: bool, Bool = false, 0..=1;
        /// The delay before the arm moves for a read, in addition to the disk's own command processing.
        read_initiation: f64, Us = 0.0, 0..=1_000_000;
        /// The same for a write.
        write_initiation: f64, Us = 0.0, 0..=1_000_000;
    }
}

tunables! {
    /// The tunables of `sptf-sw` and `sptf-rw`.
    pub(crate) struct SlackTunables {
        /// How much longer than the shortest positioning time counts as nearly the shortest, as a share of it.
        slack: f64, Factor = 0.4, 0..=1000;
        /// The delay before the arm moves for a read, in addition to the disk's own command processing.
        read_initiation: f64, Us = 0.0, 0..=1_000_000;
        /// The same for a write.
        write_initiation: f64, Us = 0.0, 0..=1_000_000;
    }
}

/// The tunables of `look-cyl`, `clook-cyl` and `sstf-cyl`: none.
#[derive(Clone, Debug, Default)]
pub(crate) struct CylinderTunables;

impl CylinderTunables {
    /// The description of each tunable.
    pub(crate) const SPECS: &'static [Tunable] = &[];
}

impl Tunables for CylinderTunables {
    fn specs(&self) -> &'static [Tunable] {
        Self::SPECS
    }

    fn get(&self, _: &str) -> Option<f64> {
        None
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        NoTunables.set(name, value)
    }
}

tunables! {
    /// The tunable of `vscan-cyl`.
    pub(crate) struct VscanCylTunables {
        /// The penalty of reversing the arm, as a share of the disk's cylinders.
        r: f64, Factor = 0.2, 0..=1;
    }
}

tunables! {
    /// The tunables of `ioqueue`.
    pub(crate) struct IoQueueTunables {
        /// The policy of the base queue, by number or name.
        policy: u64, Policy = 3, 1..=28;
        /// The share of the age that the aged policies (14 to 16, 20, 21) subtract; 1/1280 blocks per millisecond under policy 19.
        age_weight: f64, Thousandths = 6.0, 0..=1_000_000_000;
        /// The wait at which a request's time has shrunk to zero under the weighted policies (11 to 13).
        max_wait: f64, Ms = 1000.0, 0..=1_000_000_000;
        /// What happens to requests that wait too long: 0 nothing, 1 they move to the timeout queue (with priorities, to the priority queue), 2 they move to the timeout queue after half the time and to the priority queue after all of it.
        timeout_scheme: u64, Count = 0, 0..=2;
        /// The wait that is too long.
        timeout: u64, Ms = 500, 0..=1_000_000_000;
        /// The policy of the timeout queue.
        timeout_policy: u64, Policy = 1, 1..=28;
        /// Whether critical and limited requests have a queue that goes first.
        priorities: bool, Bool = false, 0..=1;
        /// The policy of the priority queue.
        priority_policy: u64, Policy = 1, 1..=28;
        /// A sum. 1 and 2: sequential reads and writes merge. 4, 8 and 16: a read, a write or any request that follows a queued one waits for it.
        stream_scheme: u64, Count = 0, 0..=31;
        /// The longest request that may result from a merge; 0 for no merges.
        max_concat: u64, Sectors = 0, 0..=4_294_967_295u64;
        /// Whether queued requests for the same blocks complete with a request (with a read, only reads): 0 no, 1 those queued at its completion, 2 those queued at its start.
        overlap: u64, Count = 0, 0..=2;
        /// The penalty of reversing the arm under V(R), as a share of the disk.
        reversal: f64, Factor = 0.2, 0..=1;
        /// How much longer than the shortest positioning time counts as nearly the shortest for policies 25 and 26, as a share of it.
        slack: f64, Factor = 0.0, 0..=1000;
        /// How much farther away, as a share of the disk, a read may be under policy 19.
        urgency: f64, Factor = 0.0, 0..=1000;
        /// The delay before the arm moves for a read, in addition to the disk's own command processing.
        read_initiation: f64, Us = 0.0, 0..=1_000_000;
        /// The same for a write.
        write_initiation: f64, Us = 0.0, 0..=1_000_000;
    }
}

fn initiation(mut config: IoQueueConfig, read_us: f64, write_us: f64) -> IoQueueConfig {
    (config.read_initiation, config.write_initiation) = (read_us * 1e3, write_us * 1e3);
    config
}

impl QueueTunables for PositionTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        initiation(base, self.read_initiation, self.write_initiation)
    }
}

impl QueueTunables for AgedTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        let policy = match (self.cache_aware, self.access_time) {
            (true, _) => IoQueuePolicy::Aspctf,
            (_, true) => IoQueuePolicy::Asatf,
            _ => base.policy,
        };
        let base = IoQueueConfig { policy, age_weight: self.age_weight, ..base };
        initiation(base, self.read_initiation, self.write_initiation)
    }
}

impl QueueTunables for WeightedTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        let policy = match (self.cache_aware, self.access_time) {
            (true, _) => IoQueuePolicy::Wpctf,
            (_, true) => IoQueuePolicy::Watf,
            _ => base.policy,
        };
        let base = IoQueueConfig { policy, max_wait: self.max_wait as f64, ..base };
        initiation(base, self.read_initiation, self.write_initiation)
    }
}

impl QueueTunables for SlackTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        let base = IoQueueConfig { slack_percent: 100.0 * self.slack, ..base };
        initiation(base, self.read_initiation, self.write_initiation)
    }
}

impl QueueTunables for CylinderTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        base
    }
}

impl QueueTunables for VscanCylTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        IoQueueConfig { reversal: self.r, ..base }
    }
}

impl QueueTunables for IoQueueTunables {
    fn apply(&self, base: IoQueueConfig) -> IoQueueConfig {
        let policy = |number: u64| IoQueuePolicy::from_number(number as u32).expect("the range of the tunable");
        let config = IoQueueConfig {
            policy: policy(self.policy),
            age_weight: self.age_weight,
            max_wait: self.max_wait,
            timeout_scheme: match self.timeout_scheme {
                0 => TimeoutScheme::Off,
                1 => TimeoutScheme::Full,
                _ => TimeoutScheme::HalfAndFull,
            },
            timeout: Nanos::from_millis(self.timeout),
            timeout_policy: policy(self.timeout_policy),
            priorities: self.priorities,
            priority_policy: policy(self.priority_policy),
            streams: StreamScheme::from_bits(self.stream_scheme as u32).expect("the range of the tunable"),
            max_concat: Sectors(self.max_concat as u32),
            overlap: match self.overlap {
                0 => OverlapScheme::Off,
                1 => OverlapScheme::AtCompletion,
                _ => OverlapScheme::AtStart,
            },
            reversal: self.reversal,
            slack_percent: 100.0 * self.slack,
            urgency_percent: 100.0 * self.urgency,
            ..base
        };
        initiation(config, self.read_initiation, self.write_initiation)
    }
}
