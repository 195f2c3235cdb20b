//! What `iopilot tune` prints: the finalists on each load, and what to do.

use super::{Alignment, COLUMNS, Table, Terminal, wrap};
use iopilot_render::number::plain;
use iopilot_tune::{DiskClass, HeldOut, TuneReport, TuneRow, TunedClass, TunedLoad};
use std::fmt::Write;
use std::path::Path;

/// The key of the 99th percentile of waiting.
const TAIL: &str = "wait_ms_p99";
/// The key of throughput.
const THROUGHPUT: &str = "throughput_mb_s";

/// The tables and what to do with them. `rules` is where the udev rules were written.
pub(crate) fn tuned(report: &TuneReport, rules: Option<&Path>, terminal: Terminal) -> String {
    let mut out = String::new();
    for class in &report.classes {
        for load in &class.loads {
            out += &table(class, load, terminal);
        }
        out += &advice(class, rules, terminal);
        out.push('\n');
    }
    let TuneReport { requests, budget_requests, seed, .. } = report;
    let spent = format!(
        "{requests} requests simulated, of a budget of {budget_requests}. --requests {budget_requests} --seed {seed} finds the same \
         again, on any machine."
    );
    out + &terminal.faint(&wrap(&spent, terminal.width))
}

fn table(class: &TunedClass, load: &TunedLoad, terminal: Terminal) -> String {
    let measured = match COLUMNS.iter().find(|column| column.key == load.measure) {
        Some(column) => column.full_title(),
        None => "p99 ms".to_owned(),
    };
    let right = |title| (title, Alignment::Right);
    let mut titles = vec![("", Alignment::Left), right(measured.as_str()), right("±%"), right("gain %")];
    let others: Vec<&str> = [THROUGHPUT, TAIL].into_iter().filter(|key| *key != load.measure).collect();
    titles.extend(others.iter().map(|key| right(if *key == THROUGHPUT { "MB/s" } else { "p99 ms" })));
    titles.push(("settings", Alignment::Left));
    let mut rows = Table::new(&titles);
    let mut order: Vec<usize> = (0..load.rows.len()).collect();
    order.sort_by(|&a, &b| load.rows[b].gain_percent.total_cmp(&load.rows[a].gain_percent));
    for at in order {
        let row = &load.rows[at];
        let star = if at == class.best { '*' } else { ' ' };
        let front = if class.front.contains(&at) { 'o' } else { ' ' };
        let gain = if at == class.defaults { "-".to_owned() } else { format!("{:+.1}", row.gain_percent) };
        let mut cells = vec![format!("{star}{front}"), plain(row.value), plain(row.spread_percent), gain];
        let value = |key: &&str| if *key == THROUGHPUT { row.throughput_mb_s } else { row.wait_ms_p99 };
        cells.extend(others.iter().map(|key| plain(value(key))));
        cells.push(if at == class.defaults { format!("{} (kernel's defaults)", row.name()) } else { row.name() });
        rows.row(cells);
    }
    let clipped = if load.clipped { format!(", the first {} requests", load.requests) } else { String::new() };
    let mut out = format!("{} on {}{clipped}\n", load.load, load.disk);
    out += &rows.render(terminal);
    let words = format!(
        "gain: in percent of the kernel's defaults, by {}, which decides. ±%: half of its range in {} runs, in percent. o: on the \
         front: no other row has both more throughput and a lower 99th percentile of waiting (p99).",
        load.measure_words, load.replays
    );
    let _ = writeln!(out, "{}", terminal.faint(&wrap(&words, terminal.width)));
    out
}

/// The class in words.
fn title(class: &DiskClass) -> String {
    let kind = if class.rotational { "disks that turn" } else { "disks without moving parts" };
    class.model.as_ref().map_or_else(|| kind.to_owned(), |model| format!("{kind} ({model})"))
}

fn advice(class: &TunedClass, rules: Option<&Path>, terminal: Terminal) -> String {
    let rows = |at: usize| class.loads.iter().map(move |load| &load.rows[at]);
    let Some(best) = rows(class.best).next() else { return String::new() };
    let mut text = if class.best == class.defaults {
        format!("For {}: the kernel's defaults are as good as anything that was found.", title(&class.class))
    } else {
        let spread = match rows(class.best).all(|row| row.beyond_spread) {
            true => "beyond the spread of the runs",
            false if class.loads.len() > 1 => "but within the spread of the runs on some load",
            false => "but within the spread of the runs",
        };
        let mean = if class.loads.len() > 1 { ", the geometric mean of the loads" } else { "" };
        let gain = class.gain_percent;
        format!(
            "For {}: {} is best, {gain:.1} % better than the kernel's defaults{mean}, {spread}.",
            title(&class.class),
            best.name()
        )
    };
    text += &match &class.held_out {
        Some(held_out) => held(held_out),
        None => " How much of that is luck is not known: a trace is too short to be divided.".to_owned(),
    };
    let mut out = wrap(&text, terminal.width);
    if let Some(cached) = class.cached.and_then(|at| rows(at).next()) {
        out += &wrap(&cache(cached), terminal.width);
    }
    if class.best != class.defaults {
        out += "\nUntil the next boot, as root (sdX is the disk):\n";
        class.shell.iter().for_each(|line| out += &format!("  {line}\n"));
        match rules {
            Some(path) => {
                let _ = writeln!(out, "At each boot: copy {} to /etc/udev/rules.d.", path.display());
            }
            None => {
                out += "At each boot, as a file in /etc/udev/rules.d (--udev FILE writes it):\n";
                class.udev_rule.lines().for_each(|line| out += &format!("  {line}\n"));
            }
        }
    }
    let _ = writeln!(
        out,
        "For the autopilot, which chooses between the best of each scheduler:\n  iopilot dads run /dev/sdX --candidates {}",
        class.dads_candidates
    );
    out
}

/// How much of the gain is gone elsewhere.
fn held(held_out: &HeldOut) -> String {
    let (chosen_on, judged_on) = match held_out.judged_on.as_str() {
        "second half" => ("the first half", "the second half"),
        _ => ("these seeds", "other seeds"),
    };
    format!(
        " Held out: {}, chosen on {chosen_on}, gains {:.1} % there and {:.1} % on {judged_on}. So {:.1} points of the gain were \
         luck, or a difference between the two.",
        held_out.settings, held_out.chosen_gain_percent, held_out.judged_gain_percent, held_out.luck_points
    )
}

/// The cache, and how it is attached.
fn cache(row: &TuneRow) -> String {
    let redcap = row.redcap.as_deref().unwrap_or_default();
    let geometry = redcap.split(',').next().unwrap_or_default();
    let size = geometry.split_once('x').and_then(|(segments, size)| {
        let kib: u64 = size.trim_end_matches(['k', 'K']).parse().ok()?;
        Some((segments.parse::<u64>().ok()? * kib / 1024, kib))
    });
    let attach = size
        .map_or(String::new(), |(mib, kib)| format!(": iopilot redcap attach /dev/sdX --size {mib}M --segment {kib}K"));
    format!("A cache in RAM above the queue gains {:.1} % over the kernel's defaults{attach}", row.gain_percent)
}
