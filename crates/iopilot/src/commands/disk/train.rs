//! `iopilot disk train`: turns a disk into tables of times.

use super::journal::{JournaledDevice, TrainingJournal};
use crate::args::DiskTrainArgs;
use crate::commands::CommandContext;
use crate::commands::session::{self, load_disk};
use crate::progress::with_progress_bar;
use crate::render::{self, Alignment, Table, number, wrap};
use anyhow::Context as _;
use iopilot_block::{InputError, Nanos};
use iopilot_catalogue::{
    DeviceSpec, DiskSpec, ProbedCache, SimulatedCacheModel, TableForm, TableModel, TableShape, TableSpec, Trained,
    Training, queue_factors, three_tables,
};
use iopilot_device::{Synchronous, TimedDevice};
use iopilot_live::{BlockQueue, DiskIdentity, TimedDisk};
use iopilot_trace::Destination;
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, IsTerminal, Write as _};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What was trained, as `--json` prints it.
#[derive(Serialize)]
struct TrainingReport {
    requests: u64,
    device_s: f64,
    /// The length of the queue that the disk reorders; 1 for a disk that serves in order of arrival.
    queue_depth: usize,
    cache: Option<CacheReport>,
    tables: Vec<TableReport>,
}

/// The cache, as measured.
#[derive(Serialize)]
struct CacheReport {
    segments: u32,
    read_ahead_sequential_sectors: u32,
    read_ahead_random_sectors: u32,
    read_ahead_on_hit: bool,
}

/// How well a table is filled.
#[derive(Serialize)]
struct TableReport {
    table: &'static str,
    cells: usize,
    filled: usize,
    samples: u64,
    mean_us: f64,
}

/// The disk to train on, and what must be known of it in advance.
struct Subject {
    name: String,
    model: String,
    rotational: bool,
    /// The size of its cache, where that is known.
    cache_kib: Option<u64>,
    /// Whether it is a live disk, whose training takes real time.
    live: bool,
    /// Whether it may be written to.
    writes: bool,
}

/// Runs the command and returns the text to print.
pub(super) fn run(args: &DiskTrainArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--output", Some(&args.output))?;
    let cache_kib = args.cache_kib.map(u64::from);
    let path = Path::new(&args.disk);
    if std::fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device()) {
        let identity = DiskIdentity::of(&BlockQueue::open(path)?)?;
        let disk = TimedDisk::open(path, args.destroy_data, cache_kib.unwrap_or_default())?;
        let subject = Subject {
            name: identity.file_name(),
            model: identity.model,
            rotational: identity.rotational,
            cache_kib,
            live: true,
            writes: args.destroy_data,
        };
        // An error must come before the journal is begun.
        cache_to_find(args, &subject)?;
        let mut journal = TrainingJournal::open(&args.output, &training_line(args, &subject, disk.capacity()))?;
        if journal.known() > 0 {
            let known = number::short_count(journal.known() as f64);
            context.note(format_args!("resuming an interrupted training after {known} requests"));
        }
        let text = train(args, &subject, JournaledDevice { device: disk, journal: &mut journal }, context)?;
        journal.remove().context("removing the journal of the training")?;
        return Ok(text);
    }
    if args.destroy_data {
        let expected = "a live disk such as /dev/sdb, which alone has data to destroy";
        return Err(InputError::new("--destroy-data", format!("it with {}", args.disk), expected).into());
    }
    let spec = load_disk(&args.disk, context)?;
    let subject = Subject {
        cache_kib: cache_kib.or_else(|| self::cache_kib(&spec.device)),
        rotational: rotational(&spec),
        live: false,
        writes: true,
        name: spec.name.clone(),
        model: spec.model.clone(),
    };
    train(args, &subject, Synchronous::new(spec.build()?), context)
}

/// All that the requests of a training depend on.
fn training_line(args: &DiskTrainArgs, subject: &Subject, capacity: u64) -> String {
    let DiskTrainArgs { form, samples, hit_limit_us, seed, .. } = args;
    let kib = subject.cache_kib.unwrap_or_default();
    let what = if subject.writes { "reads and writes" } else { "reads" };
    format!(
        "iopilot disk train {} ({capacity} sectors, {what}) --form {form} --samples {samples} --cache-kib {kib} \
         --hit-limit-us {hit_limit_us} --seed {seed}",
        subject.name
    )
}

/// Reports the progress of a long training where no bar is shown.
struct Tenths {
    total: u64,
    done: Cell<u64>,
    shown: bool,
}

impl Tenths {
    fn count(&self, context: &CommandContext) {
        let before = self.done.get();
        self.done.set(before + 1);
        let tenths = |done: u64| 10 * done / self.total.max(1);
        if self.shown && tenths(before + 1) > tenths(before) {
            context.note(format_args!("{} % of the requests are done", 10 * tenths(before + 1)));
        }
    }
}

/// Trains on `device`, and writes the file.
fn train<D: TimedDevice>(
    args: &DiskTrainArgs,
    subject: &Subject,
    mut device: D,
    context: &CommandContext,
) -> anyhow::Result<String> {
    if device.capacity() > TableShape::LARGEST {
        let expected = format!("a disk of at most {} sectors", TableShape::LARGEST);
        return Err(InputError::new("disk", format!("{} sectors", device.capacity()), expected).into());
    }
    if subject.live && args.form == 3 {
        context.note("finding the sizes of the disk's cache first, which takes some minutes");
    }
    let (form, probed, cache) = form(args, subject, &mut device)?;
    let training = Training { form, samples: args.samples, seed: args.seed };
    let capacity = device.capacity();
    let total = if subject.writes { training.requests(capacity) } else { training.read_requests(capacity) };
    device.restart()?;
    if subject.live {
        let requests = number::short_count(total as f64);
        let what = if subject.writes { "reads and writes" } else { "reads" };
        context.note(format_args!("{requests} {what} follow; --samples makes them fewer"));
    }
    let tenths = Tenths { total, done: Cell::new(0), shown: subject.live && !io::stderr().is_terminal() };
    let trained = with_progress_bar(context.quiet, Some(total), |progress| {
        let count = || {
            progress.add(1);
            tenths.count(context);
        };
        if subject.writes { training.run(&mut device, count) } else { training.run_reads(&mut device, count) }
    })?;

    let tables = trained.tables.averaged(args.samples);
    device.restart()?;
    let factors = queue_factors(&mut device, &tables, args.seed)?;
    let queue_depth = factors.len().max(1);
    let model = TableModel { tables, cache, queue_depth: 1 };
    let Subject { name, .. } = subject;
    let how = if subject.writes { "" } else { ", reads only" };
    let table = DiskSpec {
        name: format!("{name}-table"),
        model: format!("{}, as tables", subject.model),
        sources: vec![format!("trained on {name}: {} samples a cell, seed {}{how}", args.samples, args.seed)],
        device: DeviceSpec::Table(Box::new(
            TableSpec::new(&model, subject.rotational, args.samples).with_queue(factors),
        )),
        provenance: BTreeMap::new(),
    };
    let written = || -> io::Result<()> {
        let (destination, mut file) = Destination::create(&args.output)?;
        file.write_all(table.to_toml().as_bytes())?;
        destination.commit(&file)
    };
    written().with_context(|| format!("writing {}", args.output.display()))?;
    context.note(format_args!("tables written to {}", args.output.display()));
    let report = report(&trained, queue_depth, probed);
    if args.json { render::json(&report) } else { Ok(text(&report, name, context)) }
}

/// The nominal size of the disk's cache in KiB, which is the step of the search for the real size; 0 for no cache.
fn cache_to_find(args: &DiskTrainArgs, subject: &Subject) -> Result<u64, InputError> {
    match subject.cache_kib {
        Some(kib) => Ok(kib),
        // An SSD counts as a disk without a cache: every read is a miss (GF 4.3.1).
        None if !subject.rotational || args.form == 2 => Ok(0),
        None => {
            let expected = "the size of the disk's cache in KiB, which its description does not give";
            Err(InputError::new("--cache-kib", "", expected))
        }
    }
}

/// The tables to train, the cache that was found in the disk, and the cache to simulate.
fn form<D: TimedDevice>(
    args: &DiskTrainArgs,
    subject: &Subject,
    device: &mut D,
) -> anyhow::Result<(TableForm, Option<ProbedCache>, SimulatedCacheModel)> {
    if args.form == 2 {
        return Ok((TableForm::Two, None, SimulatedCacheModel::NONE));
    }
    let kib = cache_to_find(args, subject)?;
    let limit = Nanos::from_micros(args.hit_limit_us.into());
    Ok(three_tables(device, kib, limit, args.seed)?)
}

fn rotational(spec: &DiskSpec) -> bool {
    match &spec.device {
        DeviceSpec::Mechanical(_) | DeviceSpec::Drive(_) | DeviceSpec::Hybrid(_) => true,
        DeviceSpec::Table(table) => table.rotational,
        DeviceSpec::Flash(_) | DeviceSpec::Ssd(_) => false,
    }
}

/// The cache's size as the maker gives it (GF 4.3.6).
fn cache_kib(device: &DeviceSpec) -> Option<u64> {
    match device {
        DeviceSpec::Mechanical(m) => Some(if m.cache.segments == 0 { 0 } else { m.cache.size_kib }),
        DeviceSpec::Hybrid(h) => Some(if h.disk.cache.segments == 0 { 0 } else { h.disk.cache.size_kib }),
        DeviceSpec::Drive(d) => Some(u64::from(d.buffer.segments) * u64::from(d.buffer.segment_sectors) / 2),
        DeviceSpec::Table(table) => {
            let cache = table.cache.as_ref()?;
            Some(u64::from(cache.read_segments + cache.write_segments) * cache.segment_sectors / 2)
        }
        DeviceSpec::Flash(_) | DeviceSpec::Ssd(_) => None,
    }
}

fn report(trained: &Trained, queue_depth: usize, probed: Option<ProbedCache>) -> TrainingReport {
    let table = |(name, table): (&'static str, &iopilot_catalogue::TimeTable)| {
        let coverage = table.coverage();
        let shape = table.shape();
        let cells = (0..shape.columns()).flat_map(|c| (0..iopilot_catalogue::TABLE_ROWS).map(move |r| (r, c)));
        let times = cells.filter_map(|(row, column)| table.cell(row, column)).map(Nanos::as_micros_f64);
        TableReport {
            table: name,
            cells: coverage.cells,
            filled: coverage.filled,
            samples: coverage.samples,
            mean_us: if coverage.filled == 0 { 0.0 } else { times.sum::<f64>() / coverage.filled as f64 },
        }
    };
    TrainingReport {
        requests: trained.requests,
        device_s: trained.time.as_secs_f64(),
        queue_depth,
        cache: probed.map(|p| CacheReport {
            segments: p.segments,
            read_ahead_sequential_sectors: p.read_ahead_sequential,
            read_ahead_random_sectors: p.read_ahead_random,
            read_ahead_on_hit: p.read_ahead_on_hit,
        }),
        tables: trained.tables.named().map(table).collect(),
    }
}

fn text(report: &TrainingReport, name: &str, context: &CommandContext) -> String {
    let minutes = report.device_s / 60.0;
    let requests = number::short_count(report.requests as f64);
    let line = format!("{requests} requests, which took {name} {} minutes of its own time", number::plain(minutes));
    let mut out = wrap(&line, context.terminal.width);
    if report.queue_depth > 1 {
        let line = format!("it chooses among {} requests in its queue", report.queue_depth);
        out.push_str(&wrap(&line, context.terminal.width));
    }
    if let Some(c) = &report.cache {
        let follows = if c.read_ahead_on_hit { "hits and misses" } else { "misses" };
        let line = format!(
            "the cache as found: {} segments, read-ahead of {} sectors behind a sequential read and {} around another, \
             after {follows}",
            c.segments, c.read_ahead_sequential_sectors, c.read_ahead_random_sectors
        );
        out.push_str(&wrap(&line, context.terminal.width));
    }
    let right = |title| (title, Alignment::Right);
    let mut rows = Table::new(&[
        ("table", Alignment::Left),
        right("cells"),
        right("filled"),
        right("samples a cell"),
        right("mean of its cells, µs"),
    ]);
    for t in report.tables.iter().filter(|t| t.filled > 0) {
        let share = t.filled as f64 / t.cells as f64;
        rows.row(vec![
            t.table.to_owned(),
            t.cells.to_string(),
            number::percent(share),
            number::plain(t.samples as f64 / t.filled as f64),
            number::plain(t.mean_us),
        ]);
    }
    let _ = write!(out, "\n{}", rows.render(context.terminal));
    out
}
