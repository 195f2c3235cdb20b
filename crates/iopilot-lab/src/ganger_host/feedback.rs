//! `ganger-feedback`: the predictions of three models of a workload when the storage changes.

use super::{Bench, CACHED, Figures, MACHINE, Outcome, ResultTable, Setup, TASKS, change};
use crate::Claim;
use crate::figure::{self, FigureLine, Panel};
use anyhow::Context;
use iopilot_compare::traced;
use iopilot_workload::Workload;
use rayon::prelude::*;

/// The mean response times in milliseconds that the models predict.
#[derive(Clone, Copy, Debug, Default)]
struct Models {
    open: f64,
    closed: f64,
    system: f64,
    /// Requests that the closed model keeps outstanding.
    population: u32,
}

impl Models {
    /// By how many percent each differs from `before`.
    fn change(&self, before: &Self) -> [f64; 3] {
        [change(self.open, before.open), change(self.closed, before.closed), change(self.system, before.system)]
    }
}

/// A storage subsystem: a machine and a scheduler.
type Storage<'a> = (&'a Bench, &'a str);

/// The models' predictions for `to` from a trace taken on `from`; and those for `from` itself.
fn models(name: &str, from: Storage<'_>, to: Storage<'_>, speed: f64) -> anyhow::Result<[Models; 2]> {
    let workload = from.0.workload(name)?;
    let mut base = from.0.run(&workload, from.1, true)?;
    let ([open, closed], population) = traced(&workload, &mut base, speed);
    let response =
        |workload: &Workload, at: Storage<'_>| anyhow::Ok(Figures::of_any(&at.0.run(workload, at.1, false)?));
    let on = |at: Storage<'_>| {
        anyhow::Ok(Models {
            open: response(&open, at)?,
            closed: response(&closed, at)?,
            system: response(&workload, at)?,
            population,
        })
    };
    Ok([on(from)?, on(to)?])
}

const SOURCES: [&str; 2] = ["Figures 6.1 to 6.4 (a)", "Figures 6.1 to 6.4 (b)"];
const BECAUSE: &str = "the bursts of the rebuilt workloads are not those of the lost traces";

/// Storage of other speeds (Figure 6.5).
const SPEEDS: [f64; 6] = [0.5, 0.75, 1.0, 1.25, 1.5, 2.0];

pub(super) fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let bench = Bench::new("", setup)?;
    let mut outcome = Outcome::default();
    scheduling(&bench, &mut outcome)?;
    speed(setup, &bench, &mut outcome)?;
    collapsing(setup, &bench, &mut outcome)?;
    flushing(setup, &mut outcome)?;
    cache_awareness(setup, &bench, &mut outcome)?;
    outcome.notes.push("the open and the closed model replay the requests of a run of the system model".to_owned());
    Ok(outcome)
}

/// Another scheduler (6.3.1).
fn scheduling(bench: &Bench, outcome: &mut Outcome) -> anyhow::Result<()> {
    let changes = [("fcfs", "clook"), ("clook", "fcfs")];
    let points: Vec<(&str, usize)> = TASKS.into_iter().flat_map(|name| [(name, 0), (name, 1)]).collect();
    let found: Vec<[Models; 2]> = points
        .par_iter()
        .map(|&(name, at)| models(name, (bench, changes[at].0), (bench, changes[at].1), 1.0))
        .collect::<anyhow::Result<_>>()?;
    let mut table = ResultTable::new(
        "scheduling",
        "Change of the mean response with the scheduler, percent",
        &["task", "from", "to", "population", "open", "closed", "system"],
    );
    for (&(name, at), [before, after]) in points.iter().zip(&found) {
        let [open, closed, system] = after.change(before);
        let (from, to) = changes[at];
        table.row(vec![
            name.into(),
            from.into(),
            to.into(),
            u64::from(before.population).into(),
            open.into(),
            closed.into(),
            system.into(),
        ]);
        let over = open.abs() + 0.5 >= system.abs();
        let under = closed.abs() <= system.abs() + 0.5;
        outcome.claims.push(Claim::new(
            SOURCES[at],
            format!("{name}, {from} to {to}: the open model over-estimates, the closed one under-estimates"),
            "the size of the change: open at least, closed at most that of the system model",
            format!("open {open:+.1} %, closed {closed:+.1} %, system {system:+.1} %"),
            over && under,
            BECAUSE,
        ));
    }
    outcome.tables.push(table);
    Ok(())
}

/// Storage that is faster or slower (Figure 6.5).
fn speed(setup: &Setup<'_>, bench: &Bench, outcome: &mut Outcome) -> anyhow::Result<()> {
    let speeds: Vec<(f64, Bench)> = SPEEDS
        .into_iter()
        .map(|speed| anyhow::Ok((speed, Bench::new(&format!("[device]\nspeed = {speed:?}\n"), setup)?)))
        .collect::<anyhow::Result<_>>()?;
    let points: Vec<(&str, &(f64, Bench))> =
        TASKS.into_iter().flat_map(|name| speeds.iter().map(move |speed| (name, speed))).collect();
    let found: Vec<[Models; 2]> = points
        .par_iter()
        .map(|&(name, (_, other))| models(name, (bench, "fcfs"), (other, "fcfs"), 1.0))
        .collect::<anyhow::Result<_>>()?;
    let mut table = ResultTable::new(
        "speed",
        "Mean response on storage of another speed, ms, and the open model's error",
        &["task", "speed", "open_ms", "system_ms", "error_percent"],
    );
    let mut panels: Vec<Panel> = Vec::new();
    for (&(name, &(speed, _)), [_, after]) in points.iter().zip(&found) {
        let error = change(after.open, after.system);
        table.row(vec![name.into(), speed.into(), after.open.into(), after.system.into(), error.into()]);
        if panels.last().is_none_or(|panel| panel.title != name) {
            let line = |name: &str| FigureLine { name: name.to_owned(), points: Vec::new() };
            panels.push(Panel { title: name.to_owned(), lines: vec![line("open, ms"), line("system, ms")] });
        }
        if let Some(panel) = panels.last_mut() {
            panel.lines[0].points.push((speed, after.open));
            panel.lines[1].points.push((speed, after.system));
        }
    }
    let error = |name: &str, speed: f64| {
        let at = points.iter().position(|&(task, (s, _))| task == name && *s == speed);
        at.and_then(|at| found.get(at)).map(|[_, after]| change(after.open, after.system)).context("a run of each")
    };
    for name in TASKS {
        let (slow, fast) = (error(name, 0.5)?, error(name, 2.0)?);
        outcome.claims.push(Claim::new(
            "Figure 6.5",
            format!("{name}: the open model errs far more on slower storage than on faster storage"),
            "error at half the speed larger than at twice the speed, which is 30 % at most",
            format!("{slow:+.0} % at half, {fast:+.0} % at twice the speed"),
            slow.abs() > fast.abs() && fast.abs() <= 30.0,
            BECAUSE,
        ));
    }
    outcome.tables.push(table);
    let title = "Mean response over the storage's speed";
    outcome.files.push(("ganger-feedback-speed.svg".to_owned(), figure::draw(title, &panels, 2)));
    Ok(())
}

/// Requests for the same blocks become one request (Figures 6.6 and 6.7).
fn collapsing(setup: &Setup<'_>, bench: &Bench, outcome: &mut Outcome) -> anyhow::Result<()> {
    let fast = Bench::of(&MACHINE.replace("preset = ", "speed = 2.0\npreset = "), setup)?;
    let (from, to) = ("ioqueue:policy=3", "ioqueue:policy=3:overlap=1");
    let known =
        [("removetree", 1.0, -7.0), ("removetree", 2.0, -99.0), ("copytree", 1.0, 0.0), ("copytree", 2.0, -45.0)];
    let mut table = ResultTable::new(
        "collapsing",
        "Change of the mean response with request collapsing, percent",
        &["task", "cpu_speed", "their_open", "open", "system"],
    );
    for (name, speed, theirs) in known {
        let [before, after] = models(name, (bench, from), (bench, to), speed)?;
        let open = change(after.open, before.open);
        let host = if speed == 1.0 { bench } else { &fast };
        let workload = host.workload(name)?;
        let system = change(
            Figures::of_any(&host.run(&workload, to, false)?),
            Figures::of_any(&host.run(&workload, from, false)?),
        );
        table.row(vec![name.into(), speed.into(), theirs.into(), open.into(), system.into()]);
        outcome.claims.push(Claim::new(
            if name == "removetree" { "Figure 6.6" } else { "Figure 6.7" },
            format!("{name}, CPU {speed} times as fast: collapsing has no effect, contrary to the open model"),
            "system within 1 %",
            format!("system {system:+.1} %, open {open:+.1} % (theirs {theirs:+.0} %)"),
            system.abs() <= 1.0,
            BECAUSE,
        ));
    }
    outcome.tables.push(table);
    Ok(())
}

/// A controller writes its cache out when no request is in flight (Figure 6.8).
fn flushing(setup: &Setup<'_>, outcome: &mut Outcome) -> anyhow::Result<()> {
    let idle = Bench::of(CACHED, setup)?;
    let demand = Bench::of(&CACHED.replace("flush_idle_ms = 500\n", ""), setup)?;
    let users = if setup.quick { &[4][..] } else { &[2, 4, 8, 16][..] };
    let found: Vec<[Models; 2]> = users
        .par_iter()
        .map(|users| models(&format!("synrgen:users={users}"), (&demand, "clook"), (&idle, "clook"), 1.0))
        .collect::<anyhow::Result<_>>()?;
    let mut table = ResultTable::new(
        "flushing",
        "Change of the mean response with flushing in idle times, percent",
        &["users", "population", "open", "closed", "system"],
    );
    for (users, [before, after]) in users.iter().zip(&found) {
        let [open, closed, system] = after.change(before);
        let population = u64::from(before.population);
        table.row(vec![(*users as u64).into(), population.into(), open.into(), closed.into(), system.into()]);
        outcome.claims.push(Claim::new(
            "Figure 6.8",
            format!("{users} programmers: flushing in idle times helps much, and the closed model misses that"),
            "system 45 to 97 % less, closed within 1 %",
            format!("system {system:+.0} %, closed {closed:+.1} %"),
            (-97.5..=-45.0).contains(&system) && closed.abs() <= 1.0,
            BECAUSE,
        ));
    }
    outcome.tables.push(table);
    Ok(())
}

/// The scheduler knows what is in the disk's buffer (Figures 6.9 and 6.10).
fn cache_awareness(setup: &Setup<'_>, bench: &Bench, outcome: &mut Outcome) -> anyhow::Result<()> {
    let fast = Bench::of(&MACHINE.replace("preset = ", "speed = 2.0\npreset = "), setup)?;
    let known = [("compress", [17.0, 21.0], [-8.0, 17.0]), ("copytree", [0.6, 0.0], [-6.0, 3.2])];
    let mut table = ResultTable::new(
        "cache_awareness",
        "Change of the mean response from SPTF to SPCTF, percent",
        &["task", "cpu_speed", "their_open", "open", "closed", "their_system", "system"],
    );
    for (name, slow, quick) in known {
        for (speed, [their_open, their_system]) in [(1.0, slow), (2.0, quick)] {
            let [before, after] = models(name, (bench, "sptf"), (bench, "spctf"), speed)?;
            let [open, closed, mut system] = after.change(&before);
            if speed != 1.0 {
                let workload = fast.workload(name)?;
                system = change(
                    Figures::of_any(&fast.run(&workload, "spctf", false)?),
                    Figures::of_any(&fast.run(&workload, "sptf", false)?),
                );
            }
            table.row(vec![
                name.into(),
                speed.into(),
                their_open.into(),
                open.into(),
                closed.into(),
                their_system.into(),
                system.into(),
            ]);
            outcome.claims.push(Claim::new(
                if name == "compress" { "Figure 6.9" } else { "Figure 6.10" },
                format!("{name}, CPU {speed} times as fast: knowing the buffer does harm"),
                format!("{their_system:+.1} %, the same sign or within 2 %"),
                format!("system {system:+.1} %, open {open:+.1} %, closed {closed:+.1} %"),
                system >= -2.0,
                BECAUSE,
            ));
        }
    }
    outcome.tables.push(table);
    Ok(())
}
