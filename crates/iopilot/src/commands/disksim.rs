//! `iopilot disksim`: runs DiskSim configurations unchanged.

use super::CommandContext;
use crate::args::{DisksimCommand, DisksimRunArgs};
use crate::render::{self, Alignment, Table};
use iopilot_disksim::system::{
    Override, RunError, SystemOptions, SystemReport, TimeDistribution, TraceFormat, TraceInput, run_system,
};
use iopilot_render::Terminal;
use std::fmt::Write;
use std::path::Path;

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &DisksimCommand, context: &CommandContext) -> anyhow::Result<String> {
    let DisksimCommand::Run(args) = command;
    let overrides = args.set.iter().map(|text| text.parse::<Override>()).collect::<Result<Vec<_>, _>>()?;
    let trace = match &args.trace {
        Some(path) => Some(TraceInput::open(path, trace_format(args, path)?)?),
        None => None,
    };
    let options = SystemOptions { seed: args.seed };
    let run = run_system(&args.file, &overrides, trace, &options).map_err(|e| match e {
        RunError::Input(e) => anyhow::Error::from(e),
        RunError::Trace(e) => e.into(),
        RunError::Io(e) => e.into(),
    })?;
    for warning in &run.warnings {
        context.note(format_args!("note: {warning}"));
    }
    if args.json { render::json(&run.report) } else { Ok(table(&run.report, context.terminal)) }
}

fn trace_format(args: &DisksimRunArgs, path: &Path) -> anyhow::Result<TraceFormat> {
    if let Some(name) = &args.trace_format {
        return Ok(name.parse()?);
    }
    if path.as_os_str() == "-" {
        return Ok(TraceFormat::Ascii);
    }
    Ok(iopilot_trace::detect(path)?.into())
}

fn table(report: &SystemReport, terminal: Terminal) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} requests in {:.3} s; ended: {}; {} still under way\n",
        report.requests,
        report.simulated_ms / 1e3,
        ended(&report.ended),
        report.outstanding
    );
    let mut times = Table::new(&columns("ms", &["mean", "std", "p50", "p95", "p99", "max"]));
    let several = report.overall.response_ms != report.response_ms;
    let mut rows = vec![("response", &report.response_ms), ("access", &report.access_ms), ("queue", &report.queue_ms)];
    if several {
        rows.push(("request", &report.overall.response_ms));
        rows.push(("  reads", &report.overall.read_response_ms));
        rows.push(("  writes", &report.overall.write_response_ms));
    }
    for (name, t) in rows {
        times.row(std::iter::once(name.to_owned()).chain(figures(t)).collect());
    }
    out += &times.render(terminal);
    out += "\nresponse = access + queue: of the driver's accesses to devices.";
    if several {
        out += " request: of whole requests, with all their accesses.";
    }
    out += "\n\n";
    let mut devices = Table::new(&columns("device", &["requests", "reads", "response", "p95", "access", "queue"]));
    for d in &report.devices {
        devices.row(vec![
            d.name.clone(),
            d.requests.to_string(),
            d.reads.to_string(),
            ms(d.response_ms.mean),
            ms(d.response_ms.p95),
            ms(d.access_ms.mean),
            ms(d.queue_ms.mean),
        ]);
    }
    out += &devices.render(terminal);
    if report.organisations.len() > 1 {
        out += "\n";
        let mut table = Table::new(&columns("organisation", &["requests", "reads", "response", "p95"]));
        for o in &report.organisations {
            let t = &o.response_ms;
            table.row(vec![o.name.clone(), o.requests.to_string(), o.reads.to_string(), ms(t.mean), ms(t.p95)]);
        }
        out += &table.render(terminal);
    }
    if !report.caches.is_empty() {
        out += "\n";
        let names = ["reads", "hits", "writes", "hits", "fills", "blocks", "write-backs", "blocks"];
        let mut table = Table::new(&columns("cache", &names));
        for c in &report.caches {
            let counts = [c.reads, c.read_hits, c.writes, c.write_hits, c.fills, c.filled_blocks];
            let more = [c.write_backs, c.written_back_blocks];
            let cells = counts.iter().chain(&more).map(u64::to_string);
            table.row(std::iter::once(c.name.clone()).chain(cells).collect());
        }
        out += &table.render(terminal);
    }
    if !report.buses.is_empty() {
        out += "\n";
        let mut table = Table::new(&columns("bus", &["in use", "won", "wait ms", "max"]));
        for b in &report.buses {
            table.row(vec![
                b.name.clone(),
                format!("{:.1} %", b.utilization * 100.0),
                b.acquisitions.to_string(),
                ms(b.wait_ms.mean),
                ms(b.wait_ms.max),
            ]);
        }
        out += &table.render(terminal);
    }
    out
}

fn ended(why: &str) -> &str {
    match why {
        "load" => "all requests were generated",
        "trace" => "the trace is over",
        "idle" => "no process had anything to do for 50 s",
        _ => "an organisation had 10,000 requests outstanding",
    }
}

fn columns<'a>(first: &'a str, numbers: &[&'a str]) -> Vec<(&'a str, Alignment)> {
    let numbers = numbers.iter().map(|&name| (name, Alignment::Right));
    std::iter::once((first, Alignment::Left)).chain(numbers).collect()
}

fn figures(t: &TimeDistribution) -> impl Iterator<Item = String> {
    [t.mean, t.std, t.p50, t.p95, t.p99, t.max].into_iter().map(ms)
}

fn ms(value: f64) -> String {
    format!("{value:.3}")
}
