//! [`SyntheticGenerator`]: the requests of one synthetic process (DiskSim's `synthgen`).

use crate::params::RandomDistribution;
use crate::system::Rand48;
use iopilot_block::{Criticality, Op};

/// The parameters of one generator. Times in ms, addresses and sizes in blocks of 512 bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GeneratorConfig {
    /// Size of each device.
    pub(crate) capacity: u64,
    /// The targets of the requests, by index. One is drawn for every request that is neither sequential nor local.
    pub(crate) devices: Vec<u32>,
    /// Addresses and sizes are multiples of this many blocks.
    pub(crate) blocking_factor: u32,
    /// Probability that a request continues the previous one.
    pub(crate) sequential: f64,
    /// Probability that a request lies near the previous one.
    pub(crate) local: f64,
    /// Probability of a read.
    pub(crate) read: f64,
    /// Probability that the process waits for the request at once.
    pub(crate) time_critical: f64,
    /// Probability that the process waits for it after some more computation.
    pub(crate) time_limited: f64,
    /// That computation.
    pub(crate) time_limit: RandomDistribution,
    /// Time before a request that is neither sequential nor local.
    pub(crate) general_interarrival: RandomDistribution,
    /// Time before a sequential request.
    pub(crate) sequential_interarrival: RandomDistribution,
    /// Time before a local request.
    pub(crate) local_interarrival: RandomDistribution,
    /// Distance from the start of the previous request to that of a local one.
    pub(crate) local_distance: RandomDistribution,
    /// Sizes.
    pub(crate) size: RandomDistribution,
}

/// A request as a generator draws it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drawn {
    /// Computation before it is issued, ms.
    pub(crate) think: f64,
    /// Device or organisation, by index.
    pub(crate) device: u32,
    /// First block.
    pub(crate) lba: u64,
    /// Blocks.
    pub(crate) sectors: u32,
    /// Read or write.
    pub(crate) op: Op,
    /// Whether and when the process waits for it.
    pub(crate) criticality: Criticality,
}

/// A generator with its last request. It draws numbers in DiskSim's order.
#[derive(Clone, Debug)]
pub(crate) struct SyntheticGenerator {
    config: GeneratorConfig,
    /// Capacity in blocking units.
    units: i64,
    device: u32,
    start: i64,
    size: i64,
    op: Op,
}

/// The most draws before a generator counts as unsatisfiable.
const PATIENCE: u32 = 1_000_000;

impl SyntheticGenerator {
    /// A generator before its first draw. `config.devices` must not be empty, nor `config.blocking_factor` zero.
    pub(crate) fn new(config: GeneratorConfig) -> Self {
        let units = (config.capacity / u64::from(config.blocking_factor)) as i64;
        Self { config, units, device: 0, start: 0, size: 0, op: Op::Read }
    }

    /// Its parameters.
    pub(crate) fn config(&self) -> &GeneratorConfig {
        &self.config
    }

    /// The first request; `None` if no request fits the device.
    pub(crate) fn first(&mut self, random: &mut Rand48) -> Option<Drawn> {
        let think = self.general(random)?;
        Some(self.drawn(think, random))
    }

    /// The next request; `None` if no request fits the device.
    pub(crate) fn next(&mut self, random: &mut Rand48) -> Option<Drawn> {
        let (sequential, local) = (self.config.sequential, self.config.local);
        let kind = random.uniform();
        let think = if kind < sequential && self.start + 2 * self.size < self.units {
            self.start += self.size;
            time(&self.config.sequential_interarrival, random)?
        } else if kind >= sequential && kind < sequential + local {
            self.local(random)?
        } else {
            self.general(random)?
        };
        Some(self.drawn(think, random))
    }

    fn general(&mut self, random: &mut Rand48) -> Option<f64> {
        let think = time(&self.config.general_interarrival, random)?;
        self.device = self.config.devices[random.below(self.config.devices.len())];
        for _ in 0..PATIENCE {
            self.start = (random.uniform() * self.units as f64) as i64;
            self.size = self.draw_size(random);
            if self.size > 0 && self.start + self.size < self.units {
                self.draw_op(random);
                return Some(think);
            }
        }
        None
    }

    fn local(&mut self, random: &mut Rand48) -> Option<f64> {
        let think = time(&self.config.local_interarrival, random)?;
        let unit = i64::from(self.config.blocking_factor);
        for _ in 0..PATIENCE {
            let start = self.start.saturating_add(self.config.local_distance.draw(random) as i64 / unit);
            let size = self.draw_size(random);
            if size > 0 && start >= 0 && start.saturating_add(size) < self.units {
                (self.start, self.size) = (start, size);
                self.draw_op(random);
                return Some(think);
            }
        }
        None
    }

    /// In blocking units, rounded up. The division truncates, so small negative sizes become zero.
    fn draw_size(&self, random: &mut Rand48) -> i64 {
        let unit = i64::from(self.config.blocking_factor);
        // No size beyond the capacity is valid; the bound keeps the sums in range.
        let size = (self.config.size.draw(random) as i64).clamp(-self.units - unit, (self.units + 1) * unit);
        (size + unit - 1) / unit
    }

    fn draw_op(&mut self, random: &mut Rand48) {
        self.op = if random.uniform() < self.config.read { Op::Read } else { Op::Write };
    }

    fn drawn(&self, think: f64, random: &mut Rand48) -> Drawn {
        let class = random.uniform() - self.config.time_critical;
        let criticality = if class < 0.0 {
            Criticality::TimeCritical
        } else if class < self.config.time_limited {
            Criticality::TimeLimited
        } else {
            Criticality::TimeNonCritical
        };
        let unit = u64::from(self.config.blocking_factor);
        Drawn {
            think,
            device: self.device,
            lba: self.start as u64 * unit,
            sectors: u32::try_from(self.size as u64 * unit).unwrap_or(u32::MAX),
            op: self.op,
            criticality,
        }
    }
}

/// A non-negative time.
pub(crate) fn time(distribution: &RandomDistribution, random: &mut Rand48) -> Option<f64> {
    (0..PATIENCE).map(|_| distribution.draw(random)).find(|&t| t >= 0.0)
}
