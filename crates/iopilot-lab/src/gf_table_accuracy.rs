//! How well the table-based disk follows a disk (GF 3.5.1, 3.6.3; GF is González-Férez' thesis of 2012).
//!
//! A disk serves the benchmarks in a row under CFQ. The *table disk* gets a copy of each request when it arrives. It
//! has its own queue with a scheduler of the same kind. Its tables were trained off line, and learn from every request
//! that the disk has served by then. The experiment compares the mean times of a request in the two devices, benchmark
//! by benchmark. Three variants separate the error of the tables from that of this arrangement: tables that learn in
//! step, a table disk in a closed loop, and one that serves in the disk's order.
//!
//! The thesis calls the table disk a virtual disk, and so do the names in the results (`VD`).

mod in_step;
mod judge;
mod learning_table_disk;
mod measure;
mod picture;
mod service;
mod shadow;
mod sizeless;
mod source;
mod tables;

use super::{Experiment, Outcome, Setup};
use iopilot_catalogue::{Catalogue, DeviceSpec, DiskSpec};

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

/// The disk that the tables follow.
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

    /// How much the table disk may differ, in percent: GF 3.5.1, 3.6.3.
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

/// What the table disk learns while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Learning {
    No,
    /// All requests that the disk has served by then (GF 3.2.1).
    InTime,
    /// The requests that both disks have served by then.
    InStep,
}

/// A set-up of the table disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    /// Samples kept in a cell.
    samples: u32,
    /// What it learns while it runs.
    learning: Learning,
    /// Whether the tables distinguish the sizes of requests; always so with `same_order` or `three`.
    by_size: bool,
    /// Whether the table disk serves in the disk's order, and has no scheduler of its own.
    same_order: bool,
    /// Whether the table disk has three tables and a simulated cache (GF 4.3.1); otherwise it has two tables.
    three: bool,
    /// Whether processes resume when the table disk has served them (GF 4.2); otherwise, when the disk has.
    closed: bool,
}

impl Variant {
    /// As in the source.
    const fn learning(samples: u32) -> Self {
        Self { samples, learning: Learning::InTime, by_size: true, same_order: false, three: false, closed: false }
    }

    const fn in_step(samples: u32) -> Self {
        Self { learning: Learning::InStep, ..Self::learning(samples) }
    }

    const fn closed_in_step(samples: u32) -> Self {
        Self { closed: true, ..Self::in_step(samples) }
    }

    const fn same_order(samples: u32) -> Self {
        Self { same_order: true, ..Self::learning(samples) }
    }

    fn name(self) -> String {
        let Self { samples, learning, by_size, same_order, three, closed } = self;
        let mut name = format!("VD {samples}");
        let parts = [
            (three, ", three tables"),
            (learning == Learning::No, ", off line"),
            (!by_size, ", no size"),
            (same_order, ", same order"),
            (closed, ", closed loop"),
            (learning == Learning::InStep, ", in step"),
        ];
        for (holds, what) in parts {
            if holds {
                name.push_str(what);
            }
        }
        name
    }
}

/// A way to set the table disk up, by the number of samples kept in a cell.
type Way = fn(u32) -> Variant;

/// The ways that are tried with each number of samples.
const WAYS: [(&str, Way); 4] = [
    ("beside the disk, as in GF", Variant::learning),
    ("beside the disk, in step", Variant::in_step),
    ("closed loop, in step", Variant::closed_in_step),
    ("same order", Variant::same_order),
];

/// The source's four variants, then those that the source does not have.
fn variants(subject: Subject) -> Vec<Variant> {
    let mut variants: Vec<Variant> = WAYS.iter().flat_map(|(_, way)| SAMPLES.map(way)).collect();
    let best = Variant::learning(64);
    variants.push(Variant { closed: true, ..best });
    variants.push(Variant { learning: Learning::No, ..best });
    if subject == Subject::Disk {
        variants.push(Variant { by_size: false, ..best });
        variants.push(Variant { three: true, ..best });
        variants.push(Variant { three: true, closed: true, ..best });
        variants.push(Variant { three: true, learning: Learning::No, ..best });
    }
    variants
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let measured = measure::all(setup)?;
    Ok(judge::outcome(&measured, setup.quick))
}
