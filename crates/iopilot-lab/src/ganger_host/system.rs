//! `ganger-system`: the machine of 1995 under the tasks of 1995.

use super::tables::{CLASSES, IMPROVED, LIMITS, MEASURED, SYNRGEN};
use super::{Bench, Figures, Outcome, ResultTable, Runs, Setup, TASKS, change};
use crate::Claim;
use anyhow::Context;
use iopilot_block::{Criticality, HostReport, Op};
use iopilot_sim::RunReport;

/// The script sleeps twice for this long after a task (5.2). Clock interrupts are counted in that time, too.
const SLEEPS_S: f64 = 2.0 * 65.0;
/// The tolerated error in percent: small for the tasks that the HOST costs were fitted on, larger for the others.
const FITTED: [(&str, f64); 4] = [("compress", 5.0), ("uncompress", 15.0), ("copytree", 5.0), ("removetree", 15.0)];
const METRICS: [&str; 8] = [
    "elapsed_s",
    "cpu_utilization_percent",
    "interrupts",
    "requests",
    "io_waits",
    "io_wait_ms",
    "access_ms",
    "response_ms",
];

fn metrics(run: &RunReport) -> anyhow::Result<[f64; 8]> {
    let figures = Figures::of(run)?;
    let host = run.host.as_ref().context("a workload with a host")?;
    let interrupts = host.interrupts as f64 + 100.0 * (figures.elapsed_s + SLEEPS_S);
    Ok([
        figures.elapsed_s,
        100.0 * figures.task_cpu_s / figures.elapsed_s,
        interrupts,
        run.requests as f64,
        figures.io_waits,
        figures.wait_ms(),
        figures.service_ms,
        figures.response_ms,
    ])
}

/// The shares of a run's requests as in Table 7.2, in percent.
fn classes(run: &RunReport, host: &HostReport) -> [f64; 5] {
    use Criticality::{TimeCritical, TimeLimited, TimeNonCritical};
    let share = |op, class| {
        let of = host.classes.iter().filter(|c| (c.op, c.class) == (op, class));
        100.0 * of.map(|c| c.requests).sum::<u64>() as f64 / run.requests.max(1) as f64
    };
    [
        share(Op::Read, TimeCritical),
        share(Op::Read, TimeLimited),
        share(Op::Write, TimeCritical),
        share(Op::Write, TimeLimited),
        share(Op::Write, TimeNonCritical),
    ]
}

pub(super) fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let bench = Bench::new("", setup)?;
    let names: Vec<&str> = CLASSES.iter().map(|(name, _)| *name).collect();
    let names = if setup.quick { &names[..TASKS.len()] } else { &names[..] };
    let points = names.iter().flat_map(|&name| [(name, "clook"), (name, "fcfs")]).collect();
    let runs = Runs::new(&bench, points)?;
    let of = |name: &str, scheduler: &str| runs.of(name, scheduler);
    let mut tasks = ResultTable::new(
        "tasks",
        "Tables 5.4 to 5.7 under C-LOOK: measured in 1995, and ours",
        &["task", "metric", "measured", "ours", "difference_percent"],
    );
    let mut improved = ResultTable::new(
        "improvements",
        "Tables 5.8 to 5.11: by how many percent C-LOOK is better than FCFS",
        &["task", "elapsed", "ours_elapsed", "response", "ours_response", "access", "ours_access"],
    );
    let mut claims = Vec::new();
    for ((name, measured), better) in MEASURED.iter().zip(IMPROVED) {
        let (new, old) = (of(name, "clook")?, of(name, "fcfs")?);
        let ours = metrics(new)?;
        let mut worst: Vec<String> = Vec::new();
        let (_, allowed) = FITTED.iter().find(|(task, _)| task == name).context("each task")?;
        for ((metric, ours), measured) in METRICS.iter().zip(ours).zip(measured) {
            let difference = change(ours, *measured);
            tasks.row(vec![(*name).into(), (*metric).into(), (*measured).into(), ours.into(), difference.into()]);
            if difference.abs() > *allowed {
                worst.push(format!("{metric} {difference:+.0} %"));
            }
        }
        let source = format!("Table 5.{}", 4 + TASKS.iter().position(|task| task == name).unwrap_or(0));
        claims.push(Claim::new(
            &source,
            format!("{name} does what was measured"),
            format!("each figure within {allowed} %"),
            if worst.is_empty() { "all are".to_owned() } else { format!("not {}", worst.join(", ")) },
            worst.is_empty(),
            "the programs and the layout of the disk are rebuilt from these tables: the traces are lost",
        ));
        let interrupts = change(ours[2], measured[2]);
        claims.push(Claim::new(
            &source,
            format!("{name}: interrupts are ticks, one for a read that hits, three for another, six for a write"),
            "within 2 %",
            format!("{interrupts:+.1} %"),
            interrupts.abs() <= 2.0,
            "interrupts follow elapsed time, hits and requests, which differ",
        ));
        let (new, old) = (Figures::of(new)?, Figures::of(old)?);
        let gains = [
            -change(new.elapsed_s, old.elapsed_s),
            -change(new.response_ms, old.response_ms),
            -change(new.service_ms, old.service_ms),
        ];
        let cells = better.into_iter().zip(gains).flat_map(|(theirs, ours)| [theirs.into(), ours.into()]);
        improved.row(std::iter::once((*name).into()).chain(cells).collect());
        claims.push(Claim::new(
            &format!("Table 5.{}", 8 + TASKS.iter().position(|task| task == name).unwrap_or(0)),
            format!("C-LOOK shortens {name} by {} %", better[0]),
            "within 5 percentage points",
            format!("{:.1} %", gains[0]),
            (gains[0] - better[0]).abs() <= 5.0,
            "the bursts of writes are not the same",
        ));
    }
    let mut shares = ResultTable::new(
        "classes",
        "Table 7.2: requests by class, percent: theirs, ours",
        &[
            "workload",
            "read_critical",
            "ours_read_critical",
            "read_limited",
            "ours_read_limited",
            "write_critical",
            "ours_write_critical",
            "write_limited",
            "ours_write_limited",
            "noncritical",
            "ours_noncritical",
        ],
    );
    let mut limits = ResultTable::new(
        "limits",
        "Figures 7.1 to 7.6: time limits, theirs and ours",
        &["workload", "mean_ms", "ours_ms", "longest_ms", "ours_longest_ms", "satisfied_percent"],
    );
    for (name, theirs) in CLASSES.iter().filter(|(name, _)| names.contains(name)) {
        let run = of(name, "clook")?;
        let host = run.host.as_ref().context("a workload with a host")?;
        let ours = classes(run, host);
        let cells = theirs.iter().zip(ours).flat_map(|(theirs, ours)| [(*theirs).into(), ours.into()]);
        shares.row(std::iter::once((*name).into()).chain(cells).collect());
        let worst = theirs.iter().zip(ours).map(|(theirs, ours)| (ours - theirs).abs()).fold(0.0, f64::max);
        claims.push(Claim::new(
            "Table 7.2",
            format!("the classes of {name}"),
            "each share within 5 percentage points",
            format!("{worst:.1} at most"),
            worst <= 5.0,
            "the behaviour of its processes is rebuilt from this table and others",
        ));
        if let Some((_, mean, longest)) = LIMITS.iter().find(|(limited, ..)| limited == name) {
            let ours = &host.limits;
            let cells = [(*mean).into(), ours.limit_ms.mean.into(), (*longest).into(), ours.limit_ms.max.into()];
            let satisfied = [ours.satisfied_percent.into()];
            limits.row(std::iter::once((*name).into()).chain(cells).chain(satisfied).collect());
        }
    }
    let mut users = ResultTable::new(
        "synrgen",
        "Table 5.2: seconds of a task, and of these asleep",
        &["users", "elapsed_s", "ours_elapsed_s", "sleep_s", "ours_idle_s"],
    );
    for (count, elapsed, sleep) in SYNRGEN {
        let Ok(run) = of(&format!("synrgen:users={count}"), "clook") else { continue };
        let figures = Figures::of(run)?;
        let host = run.host.as_ref().context("a workload with a host")?;
        let idle = host.tasks.iter().map(|task| task.times.idle_s).sum::<f64>() / host.tasks.len().max(1) as f64;
        users.row(vec![u64::from(count).into(), elapsed.into(), figures.elapsed_s.into(), sleep.into(), idle.into()]);
    }
    let mut tables = vec![tasks, super::steps::table(&bench, &runs)?, improved, shares, limits];
    if !setup.quick {
        tables.extend([users, super::variants::table(&runs, setup)?]);
    }
    let notes = vec![
        "fitted on compress and copytree under C-LOOK; the others are held out".to_owned(),
        "interrupts: those of requests, and 100 of the clock a second over the task and the 130 s behind it".to_owned(),
    ];
    Ok(Outcome { tables, claims, notes, files: Vec::new() })
}
