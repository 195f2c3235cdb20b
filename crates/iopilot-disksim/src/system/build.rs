//! From parameters to a [`Simulation`].

use super::driver::Driver;
use super::iomap::{IoMap, IoMapping};
use super::load::{SystemLoad, TraceLoad};
use super::organisation::{
    Addressing, BlockSpread, LogicalCopyChoice, LogicalOrganisation, LogicalRedundancy, OrganisationConfig,
    ParityRotation,
};
use super::processors::{LoadConfig, Processors};
use super::queue::queue_config;
use super::simulation::{AccessTimes, ArrivalLog, Simulation, SystemParts, SystemWarmUp, impossible};
use super::subsystem::{Built, average_cylinder, subsystem};
use super::trace::TraceInput;
use super::{GeneratorConfig, Rand48, RunError, SyntheticGenerator};
use crate::params::{self, AddressingMode, ComponentKind, DistributionScheme, RedundancyScheme, System};
use crate::parse::{FileLine, Spec};
use iopilot_block::{InputError, Nanos};
use iopilot_sched::IoQueueConfig;
use iopilot_scsi::Target;
use iopilot_trace::Destination;
use std::io::BufWriter;
use std::path::Path;

/// A simulation and the names of its parts.
pub(super) struct Assembled {
    pub(super) simulation: Simulation,
    pub(super) built: Built,
    pub(super) organisations: Vec<String>,
}

/// Options of the command line besides overrides.
#[derive(Debug, Default)]
pub struct SystemOptions {
    /// The seed, instead of the file's.
    pub seed: Option<u32>,
}

/// Assembles the system. With a trace, the synthetic load is not used.
pub(super) fn assemble(
    spec: &Spec,
    system: &System,
    trace: Option<TraceInput>,
    options: &SystemOptions,
) -> Result<Assembled, RunError> {
    let (subsystem, built) = subsystem(spec, system)?;
    let driver_component = built.driver;
    let ComponentKind::Iodriver(parameters) = &system.components[driver_component].params else {
        return Err(InputError::new("topology", "no driver", "a disksim_iodriver at its top").into());
    };
    let queue = queue_config(&parameters.scheduler, average_cylinder(system));
    let place = system.components[driver_component].place;
    let capacities: Vec<u64> = (0..subsystem.devices()).map(|d| subsystem.device(d).capacity()).collect();
    for device in 0..subsystem.devices() {
        check_positions(system, place, &queue, subsystem.positions(device).is_some(), &built.devices[device])?;
    }
    let limits = (0..subsystem.devices()).map(|d| (subsystem.limits(d), capacities[d])).collect();
    let driver = Driver::new(&queue, limits, parameters.use_queueing_in_subsystem);
    let access_times = match parameters.constant_access_time {
        params::AccessTime::Simulated => AccessTimes::Simulated,
        params::AccessTime::Constant(ms) => AccessTimes::Constant(Nanos::from_millis_f64(ms)),
        params::AccessTime::Traced => AccessTimes::Traced,
        params::AccessTime::TracedQueue => AccessTimes::TracedQueue,
        params::AccessTime::TracedBoth => AccessTimes::TracedBoth,
    };
    let organisations = organisations(system, &built, &capacities)?;
    let names = system.logorgs.iter().map(|l| l.name.clone()).collect();
    let random = Rand48::new(options.seed.unwrap_or_else(|| seed(spec, system)));
    let load = match trace {
        Some(input) => {
            let (map, time_scale) = mappings(system)?;
            SystemLoad::Trace(Box::new(TraceLoad::new(input, map, time_scale)))
        }
        None => synthetic(system, random.clone())?,
    };
    let (warm_up, log) = global(system)?;
    let parts = SystemParts { subsystem, capacities, driver, access_times, organisations, load, random, warm_up, log };
    Ok(Assembled { simulation: Simulation::new(parts), built, organisations: names })
}

/// Refuses a policy that needs positions if the device does not know them.
pub(super) fn check_positions(
    system: &System,
    place: FileLine,
    queue: &IoQueueConfig,
    known: bool,
    device: &str,
) -> Result<(), InputError> {
    if !queue.needs_positions() || known {
        return Ok(());
    }
    let got = format!("{} for {device}", queue.policy.name());
    let expected = "a policy by block (1 to 4): the positions of this device are not known";
    Err(system.files.refuse(place, "Scheduling policy", &got, expected))
}

/// The seed of the generator: the last-written of two, or the current time.
fn seed(spec: &Spec, system: &System) -> u32 {
    let Some(global) = &system.global else { return 0 };
    let block = spec.block("Global");
    let last = block.and_then(|block| {
        let seed_of = |name: &str| match name {
            "Init Seed" => global.init_seed,
            "Real Seed" => global.real_seed,
            _ => None,
        };
        block.params.iter().rev().find_map(|p| seed_of(&p.name))
    });
    if global.init_seed_with_time || global.real_seed_with_time {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        return now.map_or(0, |t| t.as_secs() as u32);
    }
    // The low 32 bits, as in srand48(3).
    last.or(global.real_seed).or(global.init_seed).unwrap_or(0) as u32
}

fn global(system: &System) -> Result<(SystemWarmUp, Option<ArrivalLog>), RunError> {
    let Some(global) = &system.global else { return Ok((SystemWarmUp::None, None)) };
    let warm_up = match (global.statistic_warm_up_time, global.statistic_warm_up_ios) {
        (Some(seconds), _) if seconds > 0.0 => SystemWarmUp::Time(Nanos::from_secs_f64(seconds)),
        (_, Some(requests)) if requests > 0 => SystemWarmUp::Requests(requests),
        _ => SystemWarmUp::None,
    };
    let log = match global.output_file_for_trace.as_deref() {
        // DiskSim treats 0 as none.
        None | Some("0") => None,
        Some(path) => {
            let fail = |e| InputError::new("Output file for trace", path, format!("a file that can be written: {e}"));
            let (destination, file) = Destination::create(Path::new(path)).map_err(fail)?;
            Some(ArrivalLog { destination, file: BufWriter::new(file) })
        }
    };
    Ok((warm_up, log))
}

fn organisations(system: &System, built: &Built, capacities: &[u64]) -> Result<Vec<LogicalOrganisation>, InputError> {
    if system.logorgs.is_empty() {
        return Err(InputError::new("disksim_logorg", "none", "a logical organisation for every request"));
    }
    let mut all = Vec::new();
    for logorg in &system.logorgs {
        let p = &logorg.params;
        let refuse = |field: &str, got: &str, expected: String| system.files.refuse(logorg.place, field, got, expected);
        let mut devices = Vec::with_capacity(p.devices.len());
        for name in &p.devices {
            let number =
                built.device(name).ok_or_else(|| refuse("devices", name, "a device that is in the topology".into()))?;
            devices.push(number as u32);
        }
        let Some(&first) = devices.first() else { return Err(refuse("devices", "none", "at least one".into())) };
        let blocks = capacities[first as usize];
        let smallest = devices.iter().map(|&d| capacities[d as usize]).min().unwrap_or(blocks);
        if smallest < blocks && p.distribution_scheme != DistributionScheme::Asis {
            let got = format!("devices of {blocks} and {smallest} blocks");
            return Err(refuse("devices", &got, "devices no smaller than the first".into()));
        }
        let spread = match p.distribution_scheme {
            DistributionScheme::Asis => BlockSpread::AsIs,
            DistributionScheme::Striped if p.stripe_unit > blocks => {
                let expected = format!("at most the {blocks} blocks of a device");
                return Err(refuse("Stripe unit", &p.stripe_unit.to_string(), expected));
            }
            DistributionScheme::Striped => BlockSpread::Striped(p.stripe_unit),
            DistributionScheme::Random => BlockSpread::Random,
            DistributionScheme::Ideal => BlockSpread::Ideal,
        };
        let parity = |rotation, rows| LogicalRedundancy::Parity {
            rotation,
            rows,
            read_modify_write: p.rmw_vs_reconstruct,
            synchronous: p.synch_writes_for_safety,
        };
        let redundancy = match p.redundancy_scheme {
            RedundancyScheme::Noredun => LogicalRedundancy::None,
            RedundancyScheme::Shadowed => LogicalRedundancy::Shadowed {
                copies: p.number_of_copies as usize,
                choice: match p.copy_choice_on_read {
                    params::CopyChoiceParam::Primary => LogicalCopyChoice::Primary,
                    params::CopyChoiceParam::Random => LogicalCopyChoice::Random,
                    params::CopyChoiceParam::RoundRobin => LogicalCopyChoice::RoundRobin,
                    params::CopyChoiceParam::ShortestDistance => LogicalCopyChoice::Nearest,
                    params::CopyChoiceParam::ShortestQueue => LogicalCopyChoice::ShortestQueue,
                    params::CopyChoiceParam::ShortestQueueDistance => LogicalCopyChoice::ShortestQueueThenNearest,
                },
            },
            RedundancyScheme::ParityDisk => parity(ParityRotation::LastDevice, 1),
            RedundancyScheme::ParityRotated => {
                let rotation = match p.parity_rotation_type {
                    params::ParityRotationType::LeftSymmetric => ParityRotation::LeftSymmetric,
                    params::ParityRotationType::LeftAsymmetric => ParityRotation::LeftAsymmetric,
                    params::ParityRotationType::RightAsymmetric => ParityRotation::RightAsymmetric,
                    params::ParityRotationType::RightSymmetric => ParityRotation::RightSymmetric,
                };
                parity(rotation, p.parity_stripe_unit / p.stripe_unit)
            }
        };
        let addressing = match p.addressing_mode {
            AddressingMode::Parts => Addressing::Parts,
            AddressingMode::Array => Addressing::Array,
        };
        all.push(LogicalOrganisation::new(OrganisationConfig { addressing, spread, redundancy, devices, blocks }));
    }
    Ok(all)
}

fn mappings(system: &System) -> Result<(IoMap, f64), InputError> {
    let Some(iosim) = &system.iosim else { return Ok((IoMap::default(), 1.0)) };
    let mut mappings = Vec::new();
    for map in &iosim.mappings {
        let device = index(system, &map.simdev)
            .ok_or_else(|| InputError::new("simdev", &map.simdev, "a device or a logical organisation"))?;
        let mapping = IoMapping { device, unit: map.loc_scale, size_scale: map.size_scale, offset: map.offset };
        mappings.push((map.tracedev, mapping));
    }
    Ok((IoMap::new(mappings), iosim.trace_time_scale))
}

/// The number of a device or an organisation. DiskSim uses only the position; devices are searched first.
fn index(system: &System, name: &str) -> Option<u32> {
    system.device(name).or_else(|| system.logorg(name)).map(|i| i as u32)
}

fn synthetic(system: &System, random: Rand48) -> Result<SystemLoad, RunError> {
    let Some(synthio) = &system.synthio else {
        let expected = "a synthetic load (disksim_synthio Synthio), or a trace";
        return Err(InputError::new("load", "none", expected).into());
    };
    let pf = system.pf.as_ref();
    let config = LoadConfig {
        requests: synthio.number_of_requests,
        end: Nanos::from_secs_f64(synthio.maximum_time.min(1e9)),
        system_call: synthio
            .system_call_with_each_request
            .then_some((synthio.think_time_from_call_to_request, synthio.think_time_from_request_to_return)),
        processors: pf.map_or(1, |pf| pf.number_of_processors as usize),
        time_scale: pf.map_or(1.0, |pf| pf.process_flow_time_scale),
    };
    let mut generators = Vec::with_capacity(synthio.generators.len());
    for g in &synthio.generators {
        let devices = g.devices.iter().map(|name| {
            index(system, name).ok_or_else(|| InputError::new("devices", name, "a device or a logical organisation"))
        });
        generators.push(SyntheticGenerator::new(GeneratorConfig {
            capacity: g.storage_capacity_per_device,
            devices: devices.collect::<Result<_, _>>()?,
            blocking_factor: u32::try_from(g.blocking_factor).unwrap_or(u32::MAX),
            sequential: g.probability_of_sequential_access,
            local: g.probability_of_local_access,
            read: g.probability_of_read_access,
            time_critical: g.probability_of_time_critical_request,
            time_limited: g.probability_of_time_limited_request,
            time_limit: g.time_limited_think_times,
            general_interarrival: g.general_inter_arrival_times,
            sequential_interarrival: g.sequential_inter_arrival_times,
            local_interarrival: g.local_inter_arrival_times,
            local_distance: g.local_distances,
            size: g.sizes,
        }));
    }
    let processors = Processors::new(config, generators, random).map_err(impossible)?;
    Ok(SystemLoad::Synthetic(Box::new(processors)))
}
