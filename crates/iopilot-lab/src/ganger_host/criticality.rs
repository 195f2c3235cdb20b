//! `ganger-criticality`: requests that a process waits for go first.

use super::tables::{CRITICALITY, SCHEDULERS};
use super::{Bench, Figures, Outcome, ResultTable, Runs, Setup, change};
use crate::Claim;
use crate::figure::{self, FigureLine, Panel};

/// With aging, a noncritical request goes to the front after 15 s (7.4).
const AGED: &str = "prio(clook):aging_ms=15000";
/// A cache smaller than what copytree writes.
const STARVED: &str = "[cache]\nmib = 2\n";

pub(super) fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let bench = Bench::new("", setup)?;
    let starved = Bench::new(STARVED, setup)?;
    let rows = if setup.quick { &CRITICALITY[..3] } else { &CRITICALITY[..] };
    let points = rows
        .iter()
        .flat_map(|&(name, ..)| SCHEDULERS.into_iter().chain([AGED]).map(move |scheduler| (name, scheduler)))
        .collect();
    let runs = Runs::new(&bench, points)?;
    let of = |name: &str, scheduler: &str| runs.of(name, scheduler);
    let mut cells = ResultTable::new(
        "cells",
        "Tables 7.3 to 7.8: theirs, ours",
        &[
            "workload",
            "scheduler",
            "elapsed_s",
            "ours_elapsed_s",
            "false_idle_s",
            "ours_false_idle_s",
            "io_wait_s",
            "ours_io_wait_s",
            "service_ms",
            "ours_service_ms",
            "ours_response_ms",
        ],
    );
    let mut gains = ResultTable::new(
        "gains",
        "Elapsed time with criticality compared with that without, percent",
        &[
            "workload",
            "clook",
            "ours_clook",
            "fcfs",
            "ours_fcfs",
            "times_response",
            "aged_clook",
            "longest_s",
            "aged_longest_s",
        ],
    );
    let mut claims = Vec::new();
    let mut panels = Vec::new();
    for &(name, table, columns) in rows {
        let mut ours = Vec::new();
        for (scheduler, theirs) in SCHEDULERS.into_iter().zip(columns) {
            let run = of(name, scheduler)?;
            let figures = Figures::of(run)?;
            cells.row(vec![
                name.into(),
                scheduler.into(),
                theirs.elapsed_s.into(),
                figures.elapsed_s.into(),
                theirs.false_idle_s.into(),
                figures.false_idle_s.into(),
                theirs.io_wait_s.into(),
                figures.io_wait_s.into(),
                theirs.service_ms.into(),
                figures.service_ms.into(),
                figures.response_ms.into(),
            ]);
            ours.push(figures);
        }
        let [base, critical, fcfs, critical_fcfs] = ours[..] else { continue };
        let gain = |new: f64, old: f64| change(new, old);
        let theirs = gain(columns[1].elapsed_s, columns[0].elapsed_s);
        let found = gain(critical.elapsed_s, base.elapsed_s);
        let theirs_fcfs = gain(columns[3].elapsed_s, columns[2].elapsed_s);
        let found_fcfs = gain(critical_fcfs.elapsed_s, fcfs.elapsed_s);
        let times = critical.response_ms / base.response_ms;
        let aged_run = of(name, AGED)?;
        let aged = Figures::of(aged_run)?;
        let longest = of(name, "prio(clook)")?.response_ms.max / 1e3;
        gains.row(vec![
            name.into(),
            theirs.into(),
            found.into(),
            theirs_fcfs.into(),
            found_fcfs.into(),
            times.into(),
            gain(aged.elapsed_s, base.elapsed_s).into(),
            longest.into(),
            (aged_run.response_ms.max / 1e3).into(),
        ]);
        let source = format!("Table {table}");
        let because = "how writes and reads come together at the disk depends on the lost layout and cache";
        let near = (found - theirs).abs() <= (theirs.abs() / 2.0).max(3.0);
        let goal = format!("{theirs:+.1} %, within half of it or 3 points");
        claims.push(Claim::new(
            &source,
            format!("{name}: elapsed time under C-LOOK with criticality compared with that without"),
            goal,
            format!("{found:+.1} %, the mean response times {times:.1}"),
            near,
            because,
        ));
        claims.push(Claim::new(
            &source,
            format!("{name} is never slower with criticality"),
            "by 1 % at most",
            format!("{found:+.1} % under C-LOOK, {found_fcfs:+.1} % under FCFS"),
            found <= 1.0 && found_fcfs <= 1.0,
            because,
        ));
        let order = change(critical_fcfs.elapsed_s, critical.elapsed_s);
        claims.push(Claim::new(
            &source,
            format!("{name}: with criticality, FCFS is as good as C-LOOK"),
            "within 3 %",
            format!("{order:+.1} %, without it {:+.1} %", change(fcfs.elapsed_s, base.elapsed_s)),
            order.abs() <= 3.0,
            because,
        ));
        let points = |of: fn(&Figures) -> f64| ours.iter().zip(1..).map(|(f, n)| (f64::from(n), of(f))).collect();
        panels.push(Panel {
            title: format!("{name}: C-LOOK, with criticality; FCFS, with criticality"),
            lines: vec![
                FigureLine { name: "elapsed s".to_owned(), points: points(|f| f.elapsed_s) },
                FigureLine { name: "false idle s".to_owned(), points: points(|f| f.false_idle_s) },
            ],
        });
    }
    claims.push(aging("uncompress", &runs)?);
    let workload = starved.workload("copytree")?;
    let hurt = [starved.run(&workload, "clook", false)?, starved.run(&workload, "prio(clook)", false)?];
    let [without, with] = [Figures::of(&hurt[0])?, Figures::of(&hurt[1])?];
    let slower = change(with.elapsed_s, without.elapsed_s);
    claims.push(Claim::new(
        "7.2",
        "where memory is smaller than what is written, criticality hurts",
        "copytree with 2 MiB of cache is slower",
        format!("{slower:+.1} %"),
        slower > 0.0,
        "a process that needs a free page writes one itself, which is time-critical",
    ));
    let title = "Tasks with and without criticality";
    Ok(Outcome {
        tables: vec![cells, gains],
        claims,
        notes: vec!["times_response: by how much the mean response of all requests grows".to_owned()],
        files: vec![("ganger-criticality.svg".to_owned(), figure::draw(title, &panels, 3))],
    })
}

/// Aging bounds the longest response, and costs some of the gain (7.4).
fn aging(name: &str, runs: &Runs) -> anyhow::Result<Claim> {
    let of = |scheduler| runs.of(name, scheduler);
    let [base, critical, aged] = [of("clook")?, of("prio(clook)")?, of(AGED)?];
    let elapsed = |run| Figures::of(run).map(|figures| figures.elapsed_s);
    let (base, with, with_aging) = (elapsed(base)?, elapsed(critical)?, elapsed(aged)?);
    let lost = 100.0 * (with_aging - with) / (base - with);
    let (longest, bounded) = (critical.response_ms.max / 1e3, aged.response_ms.max / 1e3);
    Ok(Claim::new(
        "7.4",
        format!("aging after 15 s bounds the longest response of {name} and costs about 30 % of the gain"),
        "shorter, and 15 to 45 % lost",
        format!("{bounded:.1} s instead of {longest:.1} s, {lost:.0} % lost"),
        bounded < longest && (15.0..=45.0).contains(&lost),
        "few requests wait so long here",
    ))
}
