//! `disksim_synthio`: synthetic load and its generators.

use super::fields::{BlockFields, Given, ModuleCheck, block, flag, fraction, list, ms, names, positive, real};
use super::module::module;
use iopilot_block::InputError;

/// A random variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RandomDistribution {
    /// A uniform distribution.
    Uniform {
        /// The lower bound.
        min: f64,
        /// The upper bound.
        max: f64,
    },
    /// A normal distribution.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation; the manual of DiskSim 4.0 calls it variance.
        deviation: f64,
    },
    /// An exponential variable plus `base`.
    Exponential {
        /// The constant.
        base: f64,
        /// The mean of the exponential part.
        mean: f64,
    },
    /// A Poisson variable plus `base`.
    Poisson {
        /// The constant.
        base: f64,
        /// The mean of the Poisson part.
        mean: f64,
    },
    /// One of two values.
    TwoValue {
        /// The usual value.
        default: f64,
        /// The other value.
        second: f64,
        /// The probability of the other value.
        probability: f64,
    },
}

/// `[ kind, number, number ]`
fn distribution(given: &Given<'_>) -> Result<RandomDistribution, InputError> {
    const KINDS: &str = "[ uniform, min, max ], [ normal, mean, deviation ], [ exponential, base, mean ], \
        [ poisson, base, mean ] or [ twovalue, default, second, probability ]";
    let mut items = given.items()?;
    let kind = items.next().ok_or_else(|| given.refuse(KINDS))?;
    let name = kind.text().map_err(|_| kind.refuse(KINDS))?;
    let numbers = items.map(|item| real(-1e15..=1e15)(&item)).collect::<Result<Vec<_>, _>>()?;
    let distribution = match (name, numbers.as_slice()) {
        ("uniform", &[min, max]) if min <= max => RandomDistribution::Uniform { min, max },
        ("normal", &[mean, deviation]) if deviation >= 0.0 => RandomDistribution::Normal { mean, deviation },
        ("exponential", &[base, mean]) if mean >= 0.0 => RandomDistribution::Exponential { base, mean },
        ("poisson", &[base, mean]) if mean >= 0.0 => RandomDistribution::Poisson { base, mean },
        ("twovalue", &[default, second, probability]) if (0.0..=1.0).contains(&probability) => {
            RandomDistribution::TwoValue { default, second, probability }
        }
        ("uniform" | "normal" | "exponential" | "poisson" | "twovalue", _) => {
            let expected = format!("{KINDS}, with min at most max, no negative mean or deviation, a probability");
            return Err(kind.refuse(expected));
        }
        _ => return Err(kind.refuse(KINDS)),
    };
    Ok(distribution)
}

/// A distribution of times, which must be able to give a non-negative value.
fn times(given: &Given<'_>) -> Result<RandomDistribution, InputError> {
    let times = distribution(given)?;
    let never = match times {
        RandomDistribution::Uniform { max, .. } => max < 0.0,
        RandomDistribution::Normal { mean, deviation } => mean < -3.0 * deviation,
        RandomDistribution::Exponential { base, mean } | RandomDistribution::Poisson { base, mean } => {
            base < 0.0 && mean == 0.0
        }
        RandomDistribution::TwoValue { default, second, probability } => {
            (default < 0.0 || probability == 1.0) && (second < 0.0 || probability == 0.0)
        }
    };
    if never { Err(given.refuse("times that are not all negative")) } else { Ok(times) }
}

module! {
    /// Synthetic load.
    Synthio = "disksim_synthio" {
        /// The run ends when this many requests have been generated.
        number_of_requests: u64 = "Number of I/O requests to generate", positive;
        /// The run ends at this time, s.
        maximum_time: f64 = "Maximum time of trace generated", maximum_time;
        /// Whether a system call surrounds each request.
        system_call_with_each_request: bool = "System call/return with each request", flag;
        /// Computation between call and request, ms.
        think_time_from_call_to_request: f64 = "Think time from call to request", ms;
        /// Computation between request and return, ms.
        think_time_from_request_to_return: f64 = "Think time from request to return", ms;
        /// The processes.
        generators: Vec<Synthgen> = "Generators", list(block);
    }
}

fn maximum_time(given: &Given<'_>) -> Result<f64, InputError> {
    real(f64::MIN_POSITIVE..=1e15)(given).map_err(|_| given.refuse("seconds, more than 0"))
}

impl ModuleCheck for Synthio {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.generators.is_empty() {
            return Err(fields.refuse("Generators", "at least one"));
        }
        Ok(())
    }
}

module! {
    /// A process that issues requests (Ganger A.2).
    Synthgen = "disksim_synthgen" {
        /// The part of each device that is used, in blocks from the first one.
        storage_capacity_per_device: u64 = "Storage capacity per device", positive;
        /// Devices or organisations. Only their positions count, not their kind.
        devices: Vec<String> = "devices", names;
        /// Blocks of a unit of address and length.
        blocking_factor: u64 = "Blocking factor", positive;
        /// Probability that a request continues the previous one.
        probability_of_sequential_access: f64 = "Probability of sequential access", fraction;
        /// Probability that a request is near the previous one.
        probability_of_local_access: f64 = "Probability of local access", fraction;
        /// Probability of a read.
        probability_of_read_access: f64 = "Probability of read access", fraction;
        /// Probability that the process waits for the request at once.
        probability_of_time_critical_request: f64 = "Probability of time-critical request", fraction;
        /// Probability that the process waits for the request after some computation.
        probability_of_time_limited_request: f64 = "Probability of time-limited request", fraction;
        /// That computation, ms.
        time_limited_think_times: RandomDistribution = "Time-limited think times", times;
        /// The time before a request that is neither sequential nor local, ms.
        general_inter_arrival_times: RandomDistribution = "General inter-arrival times", times;
        /// The time before a sequential request, ms.
        sequential_inter_arrival_times: RandomDistribution = "Sequential inter-arrival times", times;
        /// The time before a local request, ms.
        local_inter_arrival_times: RandomDistribution = "Local inter-arrival times", times;
        /// The distance of a local request from the start of the previous request, blocks.
        local_distances: RandomDistribution = "Local distances", distribution;
        /// Lengths, blocks.
        sizes: RandomDistribution = "Sizes", distribution;
    }
}

impl ModuleCheck for Synthgen {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.probability_of_sequential_access + self.probability_of_local_access > 1.0 + 1e-9 {
            let expected = "together with Probability of sequential access at most 1";
            return Err(fields.refuse("Probability of local access", expected));
        }
        if self.probability_of_time_critical_request + self.probability_of_time_limited_request > 1.0 + 1e-9 {
            let expected = "together with Probability of time-critical request at most 1";
            return Err(fields.refuse("Probability of time-limited request", expected));
        }
        if self.blocking_factor > self.storage_capacity_per_device {
            return Err(fields.refuse("Blocking factor", "at most Storage capacity per device"));
        }
        Ok(())
    }
}
