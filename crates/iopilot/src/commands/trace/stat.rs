//! `iopilot trace stat`.

use super::{read_options, tell_notes};
use crate::args::StatArgs;
use crate::commands::CommandContext;
use crate::render::{self, Alignment, Table};
use iopilot_render::Terminal;
use iopilot_render::number::{bytes, percent, plain, short_count};
use iopilot_trace::{
    DistributionSummary, Format, RecordedSystem, RequestCounts, TraceReader, TraceStats, TraceSummary,
};
use serde::Serialize;
use std::fmt::Write;

/// Rows of the tables of processes and devices; `--json` has all.
const ROWS: usize = 20;

/// Reads a trace once, and describes it.
pub(super) fn run(args: &StatArgs, context: &CommandContext) -> anyhow::Result<String> {
    let options = read_options(args.format.as_ref(), &args.columns, args.device, args.order)?;
    let mut reader = TraceReader::open(&args.trace, &options)?;
    let mut stats = TraceStats::new();
    for record in reader.by_ref() {
        stats.add(&record?);
    }
    let summary = stats.summary(reader.process_names(), reader.device_names());
    tell_notes(&reader, summary.counts.requests, context);
    if args.json {
        return render::json(&Described { summary: &summary, recorded_system: reader.recorded_system() });
    }
    Ok(text(&summary, reader.format(), reader.recorded_system(), context.terminal))
}

/// A trace's statistics and where it was recorded.
#[derive(Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    summary: &'a TraceSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_system: Option<&'a RecordedSystem>,
}

/// Where a trace was recorded, in a line.
fn recorded_on(system: &RecordedSystem) -> String {
    let model = system.model.as_ref().map_or(String::new(), |model| format!(" ({model})"));
    let mut facts = vec![format!("Linux {}", system.kernel), system.scheduler.clone()];
    facts.extend(system.queue.get("nr_requests").map(|n| format!("nr_requests {n}")));
    facts.extend(system.queue_depth.map(|depth| format!("queue depth {depth}")));
    facts.push(format!("{} CPUs", system.cpus));
    facts.extend(system.file_systems.iter().cloned());
    facts.extend((system.lost_events > 0).then(|| format!("{} events lost", system.lost_events)));
    facts.extend((system.incomplete > 0).then(|| format!("{} requests without a completion", system.incomplete)));
    format!("{}{model}: {}", system.device, facts.join(", "))
}

fn text(s: &TraceSummary, format: Format, system: Option<&RecordedSystem>, terminal: Terminal) -> String {
    let mut out = String::new();
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<14}{value}");
    };
    fact("format", format.to_string());
    if let Some(system) = system {
        fact("recorded on", recorded_on(system));
    }
    let c = &s.counts;
    let others = format!("{} flushes, {} discards", c.flushes, c.discards);
    fact("requests", format!("{} ({} reads, {} writes, {others})", c.requests, c.reads, c.writes));
    fact("bytes", format!("{} read, {} written", bytes(c.read_bytes), bytes(c.written_bytes)));
    fact("span", format!("{} s", plain(s.span_s)));
    fact("read share", percent(s.read_share));
    fact(
        "sequential",
        format!("{}, within a process {}", percent(s.sequential_share), percent(s.sequential_share_per_process)),
    );
    fact("footprint", format!("{}{}", bytes(s.footprint_bytes), if s.footprint_truncated { " or more" } else { "" }));
    fact("completions", format!("{} known", s.completed));

    let right = |title| (title, Alignment::Right);
    let mut spreads =
        Table::new(&[("", Alignment::Left), right("mean"), right("p50"), right("p95"), right("p99"), right("max")]);
    let mut spread = |name: &str, v: &DistributionSummary| {
        let cells = [v.mean, v.p50, v.p95, v.p99, v.max].map(|x| if x >= 1e5 { short_count(x) } else { plain(x) });
        spreads.row(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    spread("size, bytes", &s.size_bytes);
    spread("inter-arrival, µs", &s.inter_arrival_us);
    spread("seek, sectors", &s.seek_sectors);
    if let Some(d) = &s.response_ms {
        let cells = [d.mean, d.p50, d.p95, d.p99, d.max].map(plain);
        spreads.row(std::iter::once("response, ms".to_owned()).chain(cells).collect());
    }
    let _ = write!(out, "\n{}", spreads.render(terminal));

    let processes = s.processes.iter().map(|p| {
        let id = p.process.map_or_else(|| "others".to_owned(), |id| id.to_string());
        (format!("{id} {}", p.name.as_deref().unwrap_or_default()), &p.counts)
    });
    table(&mut out, "process", processes.collect(), terminal);
    let devices = s.devices.iter().map(|d| {
        let id = d.device.map_or_else(|| "others".to_owned(), |id| id.to_string());
        (format!("{id} {}", d.name.as_deref().unwrap_or_default()), &d.counts)
    });
    table(&mut out, "device", devices.collect(), terminal);
    out
}

/// The table of processes or devices, the busiest first. Empty where there is only one.
fn table(out: &mut String, title: &str, mut rows: Vec<(String, &RequestCounts)>, terminal: Terminal) {
    if rows.len() < 2 {
        return;
    }
    rows.sort_by_key(|(_, c)| std::cmp::Reverse(c.requests));
    let right = |title| (title, Alignment::Right);
    let mut table = Table::new(&[
        (title, Alignment::Left),
        right("requests"),
        right("reads"),
        right("writes"),
        right("read"),
        right("written"),
        right("sequential"),
    ]);
    for (name, c) in rows.iter().take(ROWS) {
        table.row(vec![
            name.trim().to_owned(),
            c.requests.to_string(),
            c.reads.to_string(),
            c.writes.to_string(),
            bytes(c.read_bytes),
            bytes(c.written_bytes),
            percent(c.sequential_share()),
        ]);
    }
    let _ = write!(out, "\n{}", table.render(terminal));
    if rows.len() > ROWS {
        let _ = writeln!(out, "… and {} more (--json lists all)", rows.len() - ROWS);
    }
}
