//! `iopilot disk`: the catalogue.

mod cliff;
mod journal;
mod plot;
mod probe;
mod train;

use super::CommandContext;
use super::session::{self, load_disk};
use crate::args::DiskCommand;
use crate::render::{self, Alignment, Table, number, wrap};
use anyhow::Context as _;
use iopilot_block::{InputError, SECTOR_BYTES};
use iopilot_catalogue::{Catalogue, DeviceError, DeviceSpec, DiskSpec, MarkCounts};
use iopilot_trace::Destination;
use serde::Serialize;
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A disk, as `list --json` prints it.
#[derive(Serialize)]
struct Entry {
    name: String,
    model: String,
    capacity_bytes: u64,
    rotational: bool,
    rpm: Option<f64>,
    average_seek_ms: Option<f64>,
    queue_depth: u32,
    cache_kib: Option<u64>,
    values_from: MarkCounts,
}

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &DiskCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        DiskCommand::List { markdown: true, .. } => Ok(Catalogue::markdown()?),
        DiskCommand::List { json, .. } => {
            let entries =
                Catalogue::names().map(|name| entry(&Catalogue::get(name)?)).collect::<Result<Vec<_>, _>>()?;
            if *json { render::json(&entries) } else { Ok(list(&entries, context)) }
        }
        DiskCommand::Show { disk, json: true, .. } => render::json(&table(&load_disk(disk, context)?)?),
        DiskCommand::Show { disk, toml: true, .. } => match Catalogue::toml(disk) {
            // The catalogue's own text, with its comments.
            Some(text) => Ok(text.to_owned()),
            None => Ok(load_disk(disk, context)?.to_toml()),
        },
        DiskCommand::Show { disk, .. } => show(&load_disk(disk, context)?, context),
        DiskCommand::Convert { spec, output } => convert(spec, output.as_ref(), context),
        DiskCommand::Plot { disk, output, seed } => plot::run(disk, output, *seed, context),
        DiskCommand::Probe(args) => probe::run(args, context),
        DiskCommand::Train(args) => train::run(args, context),
        DiskCommand::Calibrate(args) => super::calibrate::run(args, context),
        DiskCommand::Validate(args) => super::disk_validate::run(args, context),
    }
}

/// Converts a DiskSim drive to TOML. Returns the text if no output file is named.
fn convert(spec: &Path, output: Option<&PathBuf>, context: &CommandContext) -> anyhow::Result<String> {
    if !iopilot_disksim::is_disksim_file(spec) {
        return Err(InputError::new("spec", spec.display().to_string(), "a .diskspecs or .parv file").into());
    }
    session::check_writable("--output", output)?;
    let text = load_disk(&spec.display().to_string(), context)?.to_toml();
    let Some(output) = output else { return Ok(text) };
    let written = || -> std::io::Result<()> {
        let (destination, mut file) = Destination::create(output)?;
        file.write_all(text.as_bytes())?;
        destination.commit(&file)
    };
    written().with_context(|| format!("writing {}", output.display()))?;
    context.note(format_args!("drive written to {}", output.display()));
    Ok(String::new())
}

fn entry(spec: &DiskSpec) -> Result<Entry, DeviceError> {
    let (queue_depth, rpm, average_seek_ms, cache_kib) = match &spec.device {
        DeviceSpec::Mechanical(m) => (
            m.interface.queue_depth,
            Some(m.mechanics.rotation_rpm),
            m.mechanics.seek.average_ms,
            Some(m.cache.size_kib),
        ),
        DeviceSpec::Flash(f) => (f.queue_depth, None, None, None),
        DeviceSpec::Table(t) => (t.queue_depth, None, None, None),
        DeviceSpec::Hybrid(h) => (
            h.disk.interface.queue_depth,
            Some(h.disk.mechanics.rotation_rpm),
            h.disk.mechanics.seek.average_ms,
            Some(h.disk.cache.size_kib),
        ),
        DeviceSpec::Ssd(s) => (s.host.queue_depth, None, None, Some(s.buffer.size_kib)),
        DeviceSpec::Drive(d) => {
            let sectors = u64::from(d.buffer.segments) * u64::from(d.buffer.segment_sectors);
            (d.queue_depth, Some(d.mechanics.rotation_rpm), None, Some(sectors / 2))
        }
    };
    Ok(Entry {
        name: spec.name.clone(),
        model: spec.model.clone(),
        capacity_bytes: spec.capacity()? * SECTOR_BYTES,
        rotational: rpm.is_some(),
        rpm,
        average_seek_ms,
        queue_depth,
        cache_kib,
        values_from: spec.mark_counts(),
    })
}

fn list(entries: &[Entry], context: &CommandContext) -> String {
    let (left, right) = (|title| (title, Alignment::Left), |title| (title, Alignment::Right));
    let mut table = Table::new(&[
        left("name"),
        right("capacity"),
        right("rpm"),
        right("seek ms"),
        right("depth"),
        right("cache KiB"),
        right("sheet"),
        right("paper"),
        right("derived"),
        left("model"),
    ]);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for e in entries {
        table.row(vec![
            e.name.clone(),
            number::bytes(e.capacity_bytes),
            or_dash(e.rpm.map(|v| format!("{v:.0}"))),
            or_dash(e.average_seek_ms.map(number::tick)),
            e.queue_depth.to_string(),
            or_dash(e.cache_kib.map(|v| v.to_string())),
            e.values_from.data_sheet.to_string(),
            e.values_from.paper.to_string(),
            e.values_from.derived.to_string(),
            e.model.clone(),
        ]);
    }
    table.render(context.terminal)
}

/// The description: every parameter with the source of its value.
fn show(spec: &DiskSpec, context: &CommandContext) -> anyhow::Result<String> {
    let terminal = context.terminal;
    let mut out = format!("{}  {}\n", terminal.bold(&spec.name), spec.model);
    let _ = writeln!(out, "  {}", number::bytes(spec.capacity()? * SECTOR_BYTES));
    for source in &spec.sources {
        out.push_str(&wrap(&format!("source: {source}"), terminal.width));
    }
    let MarkCounts { data_sheet, paper, derived } = spec.mark_counts();
    if data_sheet + paper + derived > 0 {
        let counts = format!("values: {data_sheet} from a data sheet, {paper} from a paper, {derived} derived");
        out.push_str(&wrap(&counts, terminal.width));
    }
    let description = table(spec)?;
    for (section, parameters) in &description {
        let (Some(parameters), false) = (parameters.as_table(), section == "provenance") else { continue };
        let _ = writeln!(out, "\n{}", terminal.bold(section));
        let mut rows =
            Table::new(&[("  parameter", Alignment::Left), ("value", Alignment::Left), ("source", Alignment::Left)]);
        leaves(section, parameters, &mut |key, value| {
            let origin = spec.provenance.get(key).cloned().unwrap_or_else(|| "-".to_owned());
            let key = key.strip_prefix(section.as_str()).unwrap_or(key).trim_start_matches('.');
            rows.row(vec![format!("  {key}"), value, origin]);
        });
        out.push_str(&rows.render(terminal));
    }
    Ok(out)
}

/// Calls `each` with the dotted key and the value of all parameters under `prefix`; a list counts as one.
fn leaves(prefix: &str, table: &toml::Table, each: &mut impl FnMut(&str, String)) {
    for (key, value) in table {
        let key = format!("{prefix}.{key}");
        match value {
            toml::Value::Table(inner) => leaves(&key, inner, each),
            // Only short lists are shown in full, such as the times of a cell's pages.
            toml::Value::Array(items) if items.len() <= 4 && items.iter().all(|i| i.is_float() || i.is_integer()) => {
                each(&key, items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
            }
            toml::Value::Array(items) => each(&key, format!("{} entries (--toml lists them)", items.len())),
            toml::Value::String(text) => each(&key, text.clone()),
            other => each(&key, other.to_string()),
        }
    }
}

fn table(spec: &DiskSpec) -> anyhow::Result<toml::Table> {
    spec.to_toml().parse().context("reading the description back")
}
