//! Tables, claims and the timeline.

use super::Row;
use super::benchmark::Benchmark;
use super::plan::DadsLivePlan;
use crate::outcome::Cell;
use crate::{Claim, Outcome, ResultTable};

/// By how much the autopilot may be slower than the best scheduler, in percent.
const NEAR: f64 = 5.0;
/// The difference between two runs of a benchmark under one scheduler, in percent.
const ALIKE: f64 = 5.0;

pub(super) fn outcome(plan: &DadsLivePlan, rows: &[Row], mixed: &[Row]) -> Outcome {
    let (_, flown) = sorted(rows);
    let (_, flown_mixed) = sorted(mixed);
    let notes = vec![
        format!(
            "{} processes on ext4 on {} with {} requests in the disk; a check every {} s, on {} requests at least.",
            plan.load.processes,
            plan.disk,
            plan.depth,
            plan.interval.as_secs_f64(),
            plan.trial_requests
        ),
        "The file system is mounted anew before each benchmark, outside its time.".to_owned(),
    ];
    Outcome {
        tables: vec![
            times("times", plan.benchmarks, rows),
            changes("changes", &flown),
            times("mixed", plan.mixed, mixed),
            changes("mixed-changes", &flown_mixed),
        ],
        claims: claims(plan, rows, mixed),
        notes,
        files: vec![
            ("dads-live-timeline.svg".to_owned(), timeline(plan.benchmarks, rows)),
            ("dads-live-mixed.svg".to_owned(), timeline(plan.mixed, mixed)),
            ("dads-live-audit.jsonl".to_owned(), audit(&flown)),
            ("dads-live-mixed-audit.jsonl".to_owned(), audit(&flown_mixed)),
        ],
    }
}

/// The rows under one scheduler, and the rows with the autopilot.
fn sorted(rows: &[Row]) -> (Vec<&Row>, Vec<&Row>) {
    rows.iter().partition(|row| row.changes.is_none())
}

fn name(row: &Row) -> String {
    match &row.changes {
        None => row.scheduler.to_owned(),
        Some(_) => format!("DADS from {}", row.scheduler),
    }
}

fn times(table: &'static str, benchmarks: &[Benchmark], rows: &[Row]) -> ResultTable {
    let columns: Vec<String> = benchmarks.iter().map(|b| format!("{b}_s")).collect();
    let mut names = vec!["run"];
    names.extend(columns.iter().map(String::as_str));
    names.extend(["total_s", "changes"]);
    let mut table = ResultTable::new(table, "seconds that each benchmark took", &names);
    for row in rows {
        let mut cells = vec![name(row).into()];
        cells.extend(row.times.iter().map(|t| Cell::from(t.as_secs_f64())));
        cells.push(row.total_s().into());
        cells.push(row.changes.as_ref().map_or("".into(), |changes| changes.len().into()));
        table.row(cells);
    }
    table
}

fn changes(table: &'static str, flown: &[&Row]) -> ResultTable {
    let columns = ["run", "at_s", "from", "to", "promised_percent", "measured_percent", "why"];
    let mut table = ResultTable::new(table, "what the autopilot did", &columns);
    let number = |n: Option<f64>| n.map_or(Cell::from(""), Cell::from);
    for row in flown {
        for c in row.changes.iter().flatten() {
            table.row(vec![
                name(row).into(),
                c.at_s.into(),
                c.from.as_str().into(),
                c.to.as_str().into(),
                number(c.promised),
                number(c.measured),
                c.reason.as_str().into(),
            ]);
        }
    }
    table
}

/// The audits of all flights, each line with the name of its flight.
fn audit(flown: &[&Row]) -> String {
    let line = |row: &Row, line: &str| format!("{{\"run\":\"{}\",{}\n", name(row), line.trim_start_matches('{'));
    flown.iter().flat_map(|row| row.audit.lines().map(|text| line(row, text))).collect()
}

fn claims(plan: &DadsLivePlan, rows: &[Row], mixed: &[Row]) -> Vec<Claim> {
    let (fixed, flown) = sorted(rows);
    let best = least(&fixed);
    let off: Vec<f64> = flown.iter().map(|row| 100.0 * (row.total_s() / best - 1.0)).collect();
    let gains: Vec<String> =
        flown.iter().zip(&off).map(|(row, off)| format!("{:+.1} % from {}", off, row.scheduler)).collect();
    let seen = "the table `changes` lists what the autopilot did, and the timeline shows when";
    let near = Claim::new(
        "goal",
        "the whole row takes no longer than under the best single scheduler, whichever scheduler the flight starts \
         from",
        format!("{NEAR} % at most"),
        gains.join(", "),
        off.iter().all(|&off| off <= NEAR),
        seen,
    );
    // How much slower than under every single scheduler the autopilot's worst benchmark is, in percent.
    let slower = |row: &Row| -> f64 {
        let by = |b: usize| {
            let slowest = fixed.iter().map(|alone| alone.times[b]).max().unwrap_or_default();
            100.0 * (row.times[b].as_secs_f64() / slowest.as_secs_f64() - 1.0)
        };
        (0..plan.benchmarks.len()).map(by).fold(f64::MIN, f64::max)
    };
    let worst: Vec<f64> = flown.iter().map(|row| slower(row)).collect();
    let count = worst.iter().filter(|&&by| by > ALIKE).count();
    let most = worst.iter().copied().fold(f64::MIN, f64::max);
    let never = Claim::new(
        "GF 4.6",
        "the autopilot is never the slowest on a benchmark",
        format!("never more than {ALIKE} % slower (two runs differ by that) than the slowest scheduler alone"),
        format!("{count} of {} flights are slower on at least one; at most {most:+.1} %", flown.len()),
        count == 0,
        seen,
    );
    let (fixed, flown) = sorted(mixed);
    let (best, ours) = (least(&fixed), flown.iter().map(|row| row.total_s()).fold(0.0, f64::max));
    let ideal: f64 = (0..plan.mixed.len())
        .map(|b| fixed.iter().map(|row| row.times[b].as_secs_f64()).fold(f64::MAX, f64::min))
        .sum();
    let all: Vec<String> = flown.iter().map(|row| format!("{:.1} s from {}", row.total_s(), row.scheduler)).collect();
    let beats = Claim::new(
        "goal",
        "on a mixed row the autopilot beats every single scheduler",
        format!("less than {best:.1} s; the best times of all benchmarks add up to {ideal:.1} s"),
        all.join(", "),
        ours < best,
        "the table `mixed-changes` lists what the autopilot did",
    );
    vec![near, never, beats]
}

/// The shortest time of a row, in seconds.
fn least(rows: &[&Row]) -> f64 {
    rows.iter().map(|row| row.total_s()).fold(f64::MAX, f64::min)
}

/// One bar for each run, one colour for each benchmark, and a mark at each change of scheduler.
fn timeline(benchmarks: &[Benchmark], rows: &[Row]) -> String {
    const COLOURS: [&str; 5] = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677"];
    const LEFT: f64 = 170.0;
    const WIDTH: f64 = 900.0;
    let longest = rows.iter().map(Row::total_s).fold(0.0, f64::max);
    let x = |s: f64| LEFT + s / longest * WIDTH;
    let height = 60 + 34 * rows.len();
    let mut parts = vec![format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"12\">\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
        LEFT + WIDTH + 60.0
    )];
    for (n, b) in benchmarks.iter().enumerate() {
        let at = LEFT + 110.0 * n as f64;
        let colour = COLOURS[n % COLOURS.len()];
        parts.push(format!(
            "<rect x=\"{at}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{}\" y=\"19\">{b}</text>",
            at + 17.0
        ));
    }
    for (n, row) in rows.iter().enumerate() {
        let y = 40 + 34 * n;
        parts.push(format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", LEFT - 8.0, y + 12, name(row)));
        let mut began = 0.0;
        for (b, time) in row.times.iter().enumerate() {
            let end = began + time.as_secs_f64();
            parts.push(format!(
                "<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"14\" fill=\"{}\"/>",
                x(began),
                x(end) - x(began),
                COLOURS[b % COLOURS.len()]
            ));
            began = end;
        }
        parts.push(format!("<text x=\"{:.1}\" y=\"{}\">{began:.1} s</text>", x(began) + 5.0, y + 12));
        for c in row.changes.iter().flatten() {
            let at = x(c.at_s);
            parts.push(format!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"black\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" font-size=\"9\">{}</text>",
                y - 3,
                y + 17,
                y + 26,
                c.to
            ));
        }
    }
    parts.push("</svg>\n".to_owned());
    parts.join("\n")
}
