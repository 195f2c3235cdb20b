//! `iopilot disk probe`: identifies a disk by the times of reads.

use crate::args::DiskProbeArgs;
use crate::commands::CommandContext;
use crate::commands::session::{self, load_disk};
use crate::render::{self, Alignment, Table, number, wrap};
use anyhow::Context as _;
use iopilot_block::Nanos;
use iopilot_catalogue::{Measurement, Probe, Probed, probe_disk};
use iopilot_device::{Synchronous, TimedDevice};
use iopilot_live::{BlockQueue, DiskIdentity, TimedDisk};
use iopilot_trace::Destination;
use serde::Serialize;
use std::fmt::Write;
use std::io::Write as _;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The time limit for a live disk, s.
const LONGEST: u32 = 3600;

/// A value and its uncertainty.
#[derive(Clone, Copy, Serialize)]
struct Value {
    value: f64,
    uncertainty: f64,
}

/// What was found, as `--json` prints it.
#[derive(Serialize)]
struct ProbeReport {
    reads: u64,
    device_s: f64,
    noise_us: f64,
    capacity_sectors: u64,
    revolution_ms: Value,
    rpm: Value,
    heads: u32,
    band_cylinders: u32,
    cylinder_skew_revolutions: f64,
    head_skew_revolutions: Option<f64>,
    head_switch_ms: Option<Value>,
    read_overhead_ms: Option<Value>,
    hit_overhead_ms: Value,
    hit_rate_mb_s: Option<Value>,
    queue_depth: u32,
    cache: CacheReport,
    zones: Vec<ZoneReport>,
    seek: Vec<SeekReport>,
    assumed: &'static str,
}

#[derive(Serialize)]
struct CacheReport {
    segments: u32,
    read_ahead_sequential_sectors: u32,
    read_ahead_random_sectors: u32,
    read_ahead_on_hit: bool,
}

#[derive(Serialize)]
struct ZoneReport {
    first_sector: u64,
    sectors_per_track: u32,
}

#[derive(Serialize)]
struct SeekReport {
    cylinders: u32,
    ms: f64,
    uncertainty_ms: f64,
}

/// Runs the command and returns the text to print.
pub(super) fn run(args: &DiskProbeArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--output", args.output.as_ref())?;
    let path = Path::new(&args.disk);
    if std::fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device()) {
        let name = DiskIdentity::of(&BlockQueue::open(path)?)?.file_name();
        let limit = args.time_limit.unwrap_or(LONGEST);
        // Each test reads other addresses, so that the cache holds nothing from the previous test.
        let mut disk = TimedDisk::open(path, false, 0)?;
        if !disk.run_first() {
            context.note("the kernel grants no real-time priority: on a busy machine times scatter");
        }
        if !disk.keep_awake() {
            context.note("the kernel does not let this keep the CPUs awake (/dev/cpu_dma_latency): times scatter");
        }
        context.note(format_args!("reading {} for some minutes, at most {limit} s (--time-limit)", args.disk));
        return probe(args, &name, disk, Some(limit), context);
    }
    let spec = load_disk(&args.disk, context)?;
    probe(args, &spec.name, Synchronous::new(spec.build()?), args.time_limit, context)
}

/// Probes `device`, and writes the file.
fn probe<D: TimedDevice>(
    args: &DiskProbeArgs,
    name: &str,
    mut device: D,
    limit_s: Option<u32>,
    context: &CommandContext,
) -> anyhow::Result<String> {
    let probe = Probe {
        limit: Nanos::from_micros(args.hit_limit_us.into()),
        seed: args.seed,
        time: limit_s.map(|s| Nanos::from_secs(s.into())),
        ..Probe::default()
    };
    let found = probe_disk(&mut device, &probe).with_context(|| format!("probing {name}"))?;
    if let Some(output) = &args.output {
        let text = found.spec(&format!("{name}-probed")).to_toml();
        let written = || -> std::io::Result<()> {
            let (destination, mut file) = Destination::create(output)?;
            file.write_all(text.as_bytes())?;
            destination.commit(&file)
        };
        written().with_context(|| format!("writing {}", output.display()))?;
        context.note(format_args!("written to {}", output.display()));
    }
    let report = report(&found);
    if args.json { render::json(&report) } else { Ok(text(&report, name, context)) }
}

fn report(found: &Probed) -> ProbeReport {
    let ms = |m: Measurement| Value { value: m.value / 1e6, uncertainty: m.uncertainty / 1e6 };
    let rpm = 60e9 / found.period.value;
    ProbeReport {
        reads: found.requests,
        device_s: found.seconds,
        noise_us: found.noise / 1e3,
        capacity_sectors: found.capacity,
        revolution_ms: ms(found.period),
        rpm: Value { value: rpm, uncertainty: rpm * found.period.uncertainty / found.period.value },
        heads: found.heads,
        band_cylinders: found.band_cylinders,
        cylinder_skew_revolutions: found.cylinder_skew,
        head_skew_revolutions: found.head_skew,
        head_switch_ms: found.head_switch.map(ms),
        read_overhead_ms: found.overhead.map(ms),
        hit_overhead_ms: ms(found.hit),
        hit_rate_mb_s: found.rate.map(|r| Value { value: r.value, uncertainty: r.uncertainty }),
        queue_depth: found.queue.depth,
        cache: CacheReport {
            segments: found.cache.segments,
            read_ahead_sequential_sectors: found.cache.read_ahead_sequential,
            read_ahead_random_sectors: found.cache.read_ahead_random,
            read_ahead_on_hit: found.cache.read_ahead_on_hit,
        },
        zones: found
            .zones
            .iter()
            .map(|&(first_sector, sectors_per_track)| ZoneReport { first_sector, sectors_per_track })
            .collect(),
        seek: found
            .seek
            .iter()
            .map(|&(cylinders, m)| SeekReport { cylinders, ms: m.value / 1e6, uncertainty_ms: m.uncertainty / 1e6 })
            .collect(),
        assumed: Probed::ASSUMED,
    }
}

fn text(report: &ProbeReport, name: &str, context: &CommandContext) -> String {
    let reads = number::short_count(report.reads as f64);
    let minutes = number::plain(report.device_s / 60.0);
    let mut out = wrap(
        &format!("{reads} reads beside those of cache and queue; all took {name} {minutes} minutes of its own time"),
        context.terminal.width,
    );
    let mut rows =
        Table::new(&[("what", Alignment::Left), ("found", Alignment::Right), ("uncertainty", Alignment::Right)]);
    let mut row = |what: &str, found: String, off: String| rows.row(vec![what.to_owned(), found, off]);
    let digits = |v: Value| (format!("{:.4}", v.value), format!("{:.4}", v.uncertainty));
    let measured = |what: &str, value: Option<Value>, row: &mut dyn FnMut(&str, String, String)| match value.map(digits)
    {
        Some((value, off)) => row(what, value, off),
        None => row(what, "-".into(), "-".into()),
    };
    if report.noise_us >= 0.1 {
        row("noise of times, ms", format!("{:.4}", report.noise_us / 1e3), String::new());
    }
    measured("revolution, ms", Some(report.revolution_ms), &mut row);
    measured("revolutions a minute", Some(report.rpm), &mut row);
    row("requests in its queue", report.queue_depth.to_string(), String::new());
    row("cache segments", report.cache.segments.to_string(), "0".into());
    // Sizes are tried in blocks of 4 KiB.
    row("read-ahead, sequential, sectors", report.cache.read_ahead_sequential_sectors.to_string(), "8".into());
    row("read-ahead, random, sectors", report.cache.read_ahead_random_sectors.to_string(), "8".into());
    row("read-ahead goes on with hits", report.cache.read_ahead_on_hit.to_string(), String::new());
    measured("overhead of a hit, ms", Some(report.hit_overhead_ms), &mut row);
    measured("rate of hits, MB/s", report.hit_rate_mb_s, &mut row);
    measured("overhead of a miss, ms", report.read_overhead_ms, &mut row);
    row("heads", report.heads.to_string(), String::new());
    row("cylinders of a band", report.band_cylinders.to_string(), String::new());
    measured("head switch, ms", report.head_switch_ms, &mut row);
    let tracks = |zone: Option<&ZoneReport>| zone.map_or(0, |z| z.sectors_per_track);
    row("zones", report.zones.len().to_string(), String::new());
    row(
        "sectors per track, outside to inside",
        format!("{} to {}", tracks(report.zones.first()), tracks(report.zones.last())),
        String::new(),
    );
    let _ = write!(out, "\n{}", rows.render(context.terminal));
    let right = |title| (title, Alignment::Right);
    let mut seek = Table::new(&[right("seek, cylinders"), right("ms"), right("uncertainty")]);
    for s in &report.seek {
        seek.row(vec![s.cylinders.to_string(), format!("{:.4}", s.ms), format!("{:.4}", s.uncertainty_ms)]);
    }
    let _ = write!(out, "\n{}", seek.render(context.terminal));
    let _ = write!(out, "\n{}", wrap(&format!("assumed: {}", report.assumed), context.terminal.width));
    out
}
