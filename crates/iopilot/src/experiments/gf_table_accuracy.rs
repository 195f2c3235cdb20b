//! How well the table-based disk follows a disk (GF 3.5.1, 3.6.3).
//!
//! A disk serves the benchmarks in a row under CFQ. The virtual disk gets a copy of each request when it arrives, has a
//! scheduler of the same kind with a queue of its own, and takes its times from tables that were trained off line and go
//! on learning from every request that the disk has served by then. Compared are the mean times of a request in the two
//! devices, benchmark by benchmark.

mod judge;
mod measure;
mod picture;
mod shadow;
mod source;
mod tables;
mod virtual_disk;

use super::{Experiment, Outcome, Setup};
use iopilot_device::{Catalogue, DeviceSpec, DiskSpec};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "gf-table-accuracy",
    source: "GF 3.5.1, 3.6.3",
    title: "the table-based disk follows a disk that it learns from",
    run,
};

/// Processes of the source's tables.
const PROCESSES: [u32; 3] = [1, 8, 32];
/// Samples kept in a cell.
const SAMPLES: [u32; 4] = [8, 16, 32, 64];

/// The device that the tables follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// The disk of the clean file system.
    Disk,
    /// The same with its cache switched off.
    CacheOff,
    /// The SSD that was studied.
    Ssd,
}

impl Subject {
    const ALL: [Self; 3] = [Self::Disk, Self::CacheOff, Self::Ssd];

    fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::CacheOff => "disk, cache off",
            Self::Ssd => "SSD",
        }
    }

    /// By how many percent the virtual disk may differ: GF 3.5.1, 3.6.3.
    fn goal(self) -> f64 {
        match self {
            Self::Disk => 5.0,
            Self::CacheOff => 0.2,
            Self::Ssd => 0.3,
        }
    }

    fn spec(self) -> anyhow::Result<DiskSpec> {
        let mut spec = Catalogue::get(if self == Self::Ssd { "ssd-160" } else { "st3400620as" })?;
        if let (Self::CacheOff, DeviceSpec::Mechanical(m)) = (self, &mut spec.device) {
            m.cache.segments = 0;
            m.cache.write_segments = 0;
            m.cache.write_back = false;
            m.cache.read_ahead_sequential_sectors = 0;
            m.cache.read_ahead_random_sectors = 0;
            m.cache.read_ahead_on_hit = false;
            m.cache.read_on_arrival = false;
        }
        spec.provenance.clear();
        Ok(spec)
    }
}

/// How the virtual disk is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    /// Samples kept in a cell.
    samples: u32,
    /// Whether it learns while it runs.
    on_line: bool,
    /// Whether it knows the size of requests.
    by_size: bool,
    /// Whether it serves in the disk's order, and has no scheduler of its own.
    same_order: bool,
    /// Whether it has three tables and a simulated cache (GF 4.3.1), else two.
    three: bool,
    /// Whether its processes go on when it has served them (GF 4.2), else when the disk has.
    closed: bool,
}

impl Variant {
    const fn learning(samples: u32) -> Self {
        Self { samples, on_line: true, by_size: true, same_order: false, three: false, closed: false }
    }

    fn name(self) -> String {
        let Self { samples, on_line, by_size, same_order, three, closed } = self;
        let mut name = format!("VD {samples}");
        let parts = [
            (three, ", three tables"),
            (!on_line, ", off line"),
            (!by_size, ", no size"),
            (same_order, ", same order"),
            (closed, ", closed loop"),
        ];
        for (holds, what) in parts {
            if holds {
                name.push_str(what);
            }
        }
        name
    }
}

/// The four of the source, then what it leaves out or compares with.
fn variants(subject: Subject) -> Vec<Variant> {
    let mut variants = SAMPLES.map(Variant::learning).to_vec();
    let best = Variant::learning(64);
    variants.push(Variant { same_order: true, ..best });
    variants.push(Variant { closed: true, ..best });
    variants.push(Variant { on_line: false, ..best });
    if subject == Subject::Disk {
        variants.push(Variant { by_size: false, ..best });
        variants.push(Variant { three: true, ..best });
        variants.push(Variant { three: true, closed: true, ..best });
        variants.push(Variant { three: true, on_line: false, ..best });
    }
    variants
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let measured = measure::all(setup)?;
    Ok(judge::outcome(&measured, setup.quick))
}
