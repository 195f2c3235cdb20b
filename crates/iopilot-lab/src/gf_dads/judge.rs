//! Judges the source's claims by the results.

use super::bench::{AS, CFQ, DEADLINE, NOOP, Run, SchedulerIndex, name};
use super::cells::{FlightResults, PairView};
use super::{BENCHMARKS, picture, tables};
use crate::{Claim, Outcome};

const IOR: usize = 0;
const LKR: usize = 1;
const SR512: usize = 2;
const TAC: usize = 3;
const SR8: usize = 4;
/// The autopilot follows the better scheduler if its time is within this many percent. The source gives no number; its
/// confidence intervals are within 5 %.
const NEAR: f64 = 10.0;
/// Why the autopilot may not follow the better scheduler.
const MODEL: &str = "the worse scheduler is kept through a benchmark, because it is pinned, or because the autopilot's \
                     model errs: with 2 processes on hd-500-32 (see the figures)";
const LATE: &str = "of time lost until the next check, of the model's errors, and of defaults that were pinned before";
const HARD: &str = "GF 4.6.1";
const SOLID: &str = "GF 4.6.2";

/// Tables, claims and notes.
pub(super) fn outcome(results: &FlightResults, quick: bool) -> Outcome {
    let views: Vec<PairView<'_>> = results.views().collect();
    let (ssd, hard): (Vec<PairView<'_>>, Vec<PairView<'_>>) = views.iter().partition(|v| v.disk.solid_state);
    let claims = [hard_disks(&hard), solid_state(&ssd), lasting(&hard, &ssd)];
    let claims = claims.into_iter().flatten().flatten().collect();
    let plan = results.plan;
    let mut notes = vec![
        format!(
            "up to {} processes read their whole files, and more processes read a smaller share each; one run of \
             each case, where the source has the mean of five",
            plan.files
        ),
        "a check takes no time here: the source's simulated disk sleeps for the times it simulates, so that its checks \
         are the seconds of collecting and about as many seconds of simulating apart"
            .to_owned(),
        "the disks serve one request at a time, in the order of the scheduler; the schedulers are those of 2.6.23, and \
         a change takes no longer than the queue takes to drain"
            .to_owned(),
        "DADS does not slow the disk down, as the source saw with 8k-SR, TAC and on SSDs: here it \
         takes none of the host's time"
            .to_owned(),
    ];
    if quick {
        let (files, seconds) = (plan.files, plan.interval.as_secs_f64());
        notes.push(format!("--quick: {files} files' worth of requests, a check each {seconds} s, rougher tables"));
    }
    Outcome { tables: tables::all(results), claims, notes, files: picture::all(results) }
}

fn hard_disks(views: &[PairView<'_>]) -> Vec<Option<Claim>> {
    let but_as_cfq: Vec<PairView<'_>> = views.iter().copied().filter(|v| v.pair != [CFQ, AS]).collect();
    let source = |what: &str| format!("{HARD}, {what}, Figures 4.4 to 4.8");
    vec![
        follows(&source("total"), views, None, MODEL),
        never_the_worse(&source("total"), views),
        surpasses(views),
        first_check(&source("IOR Read"), views),
        undecided(views),
        another_best(views),
        follows(&source("Linux Kernel Read"), views, Some(LKR), LATE),
        follows(&source("512k-SR"), views, Some(SR512), LATE),
        alike(&source("TAC"), views, TAC, &[1, 2, 4, 8, 16], 5.0, &[AS, CFQ, DEADLINE, NOOP]),
        follows(&source("8k-SR"), &but_as_cfq, Some(SR8), MODEL),
        alike(&format!("{HARD}, 8k-SR, Figure 4.6"), views, SR8, &[1, 2, 4, 8, 16, 32], 5.0, &[AS, CFQ]),
    ]
}

fn solid_state(views: &[PairView<'_>]) -> Vec<Option<Claim>> {
    let source = |what: &str| format!("{SOLID}, {what}, Figures 4.9 to 4.12");
    vec![
        follows(&source("total"), views, None, LATE),
        no_idling_is_best(&source("total"), views),
        alike(&source("IOR Read"), views, IOR, &[1, 2, 4, 8, 16, 32], 12.5, &[AS, CFQ, DEADLINE, NOOP]),
        stays_with_the_best(&source("Linux Kernel Read"), views),
        quiet(&source("512k-SR, TAC, 8k-SR"), views),
        never_pinned(&source("IOR Read"), views),
    ]
}

/// Our own claims, about longer trials.
fn lasting(hard: &[PairView<'_>], ssd: &[PairView<'_>]) -> Vec<Option<Claim>> {
    let follows = |what: &str, views: &[PairView<'_>]| {
        let views: Vec<PairView<'_>> = views.iter().map(|view| view.lasting()).collect();
        follows(&format!("trials that last, {what}"), &views, None, LATE)
    };
    vec![follows("hard disks", hard), follows("SSDs", ssd)]
}

/// A flight in a few words, such as `AS-Noop on hd-250-32 with 8`.
fn flight_name(view: &PairView<'_>, name: &str) -> String {
    format!("{name} on {} with {}", view.disk.name, view.processes)
}

/// The first of `names`, and the number of the others.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let first = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{first} and {} more", names.len() - SHOWN) } else { first }
}

/// All flights of `views`, with their names.
fn flights<'a>(views: &'a [PairView<'a>]) -> impl Iterator<Item = (&'a PairView<'a>, String, &'a Run)> {
    views.iter().flat_map(|view| view.flights().into_iter().map(move |(name, run)| (view, name, run)))
}

fn what(benchmark: Option<usize>) -> String {
    benchmark.map_or_else(|| "the whole test".to_owned(), |b| BENCHMARKS[b].to_string())
}

fn follows(source: &str, views: &[PairView<'_>], benchmark: Option<usize>, because: &str) -> Option<Claim> {
    let over = |view: &PairView<'_>, run: &Run| 100.0 * (run.of(benchmark) / view.best(benchmark) - 1.0);
    let all: Vec<(f64, String)> = flights(views).map(|(v, name, run)| (over(v, run), flight_name(v, &name))).collect();
    let worst = all.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let near = all.iter().filter(|(over, _)| *over <= NEAR).count();
    let mean = all.iter().map(|(over, _)| over).sum::<f64>() / all.len() as f64;
    Some(Claim::new(
        source,
        format!("over {} the autopilot follows the better of its two", what(benchmark)),
        format!("within {NEAR} % of the better alone, whichever scheduler the flight begins with"),
        format!("{near} of {} are, {mean:+.1} % on average, {:+.1} % at most ({})", all.len(), worst.0, worst.1),
        near == all.len(),
        because,
    ))
}

fn never_the_worse(source: &str, views: &[PairView<'_>]) -> Option<Claim> {
    let differ: Vec<PairView<'_>> =
        views.iter().copied().filter(|v| v.worst(None) > (1.0 + NEAR / 100.0) * v.best(None)).collect();
    let slow: Vec<String> = flights(&differ)
        .filter(|(v, _, run)| run.of(None) >= v.worst(None))
        .map(|(v, name, _)| flight_name(v, &name))
        .collect();
    let gains = flights(&differ).map(|(v, _, run)| 100.0 * (1.0 - run.of(None) / v.worst(None)));
    let count = 2 * differ.len();
    (count > 0).then(|| {
        Claim::new(
            source,
            format!("where the two differ by more than {NEAR} %, the autopilot is faster than the worse"),
            format!("each of {count}"),
            format!("{} are, by {:.1} % on average", count - slow.len(), gains.sum::<f64>() / count as f64),
            slow.is_empty(),
            listed(&slow),
        )
    })
}

fn surpasses(views: &[PairView<'_>]) -> Option<Claim> {
    let gain = |view: &PairView<'_>, run: &Run| 100.0 * (1.0 - run.of(None) / view.best(None));
    let all: Vec<(f64, String)> = flights(views).map(|(v, name, run)| (gain(v, run), flight_name(v, &name))).collect();
    let most = all.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let faster = all.iter().filter(|(gain, _)| *gain >= 1.0).count();
    Some(Claim::new(
        &format!("{HARD}, total, Figures 4.4, 4.5, 4.7"),
        "over the whole test the autopilot is in several cases faster than the better of the two, as no scheduler is \
         best in all benchmarks",
        "by 1 % or more in some; the source's by up to 7.4 %",
        format!("in {faster} of {}, by up to {:.1} % ({})", all.len(), most.0, most.1),
        faster > 0,
        "one scheduler is best in every benchmark here",
    ))
}

/// Deadline and Noop are slower than AS and CFQ at reading several files in sequence.
fn first_check(source: &str, views: &[PairView<'_>]) -> Option<Claim> {
    let mut late = Vec::new();
    let mut count = 0;
    for (view, name, run) in flights(views) {
        let [idling, other] = view.pair;
        let begins_badly = name.starts_with(self::name(other)) && other >= DEADLINE && idling < DEADLINE;
        if begins_badly && (2..32).contains(&view.processes) {
            count += 1;
            if !run.checks.first().is_some_and(|seen| seen.changed) {
                late.push(flight_name(view, &name));
            }
        }
    }
    (count > 0).then(|| {
        Claim::new(
            source,
            "a flight from Deadline or Noop changes to AS or CFQ at the first check",
            format!("each of {count} with 2 to 16 processes"),
            format!("{} do", count - late.len()),
            late.is_empty(),
            format!("the model predicts too small a gain: {}", listed(&late)),
        )
    })
}

fn undecided(views: &[PairView<'_>]) -> Option<Claim> {
    let many: Vec<PairView<'_>> = views.iter().copied().filter(|v| v.pair == [CFQ, AS] && v.processes >= 16).collect();
    let all: Vec<(String, usize)> = flights(&many)
        .map(|(v, name, run)| (flight_name(v, &name), run.during(IOR).filter(|check| check.pinned).count()))
        .collect();
    let pinned = all.iter().filter(|(_, pinned)| *pinned > 0).count();
    let changes: usize = flights(&many).map(|(.., run)| run.during(IOR).filter(|seen| seen.changed).count()).sum();
    (!all.is_empty()).then(|| {
        Claim::new(
            &format!("{HARD}, IOR Read, Figure 4.6"),
            "with 16 and 32 processes AS and CFQ are too much alike: changes follow each other until the default is \
             pinned",
            format!("pinned in each of {}", all.len()),
            format!("pinned in {pinned}; {changes} changes in all"),
            pinned == all.len(),
            "in the trials, too, the two seldom differ by more than 5 %, so that there are few changes",
        )
    })
}

fn another_best(views: &[PairView<'_>]) -> Option<Claim> {
    let mixed: Vec<&PairView<'_>> = views
        .iter()
        .filter(|v| v.pair[0] < DEADLINE && v.pair[1] >= DEADLINE && v.processes > 1 && v.disk.name != "hd-500-16")
        .collect();
    let other = mixed.iter().filter(|v| v.better(Some(IOR)) != v.better(Some(LKR))).count();
    (!mixed.is_empty()).then(|| {
        Claim::new(
            &format!("{HARD}, Linux Kernel Read, Figures 4.4, 4.5, 4.7, 4.8"),
            "the better scheduler for LKR is not the better one for IOR, except on HD-500-16",
            format!("in each of {} pairs with 2 or more processes", mixed.len()),
            format!("in {other}"),
            other == mixed.len(),
            "that holds in most pairs with AS; but CFQ is here the better for both",
        )
    })
}

/// The schedulers alone differ by at most `percent` in a benchmark.
fn alike(
    source: &str,
    views: &[PairView<'_>],
    benchmark: usize,
    processes: &[u32],
    percent: f64,
    schedulers: &[SchedulerIndex],
) -> Option<Claim> {
    let mut all: Vec<(f64, String)> = Vec::new();
    for view in views.iter().filter(|v| processes.contains(&v.processes)) {
        if view.pair.iter().all(|s| schedulers.contains(s)) {
            let apart = 100.0 * (view.worst(Some(benchmark)) / view.best(Some(benchmark)) - 1.0);
            let [a, b] = view.pair.map(name);
            all.push((apart, flight_name(view, &format!("{a} and {b}"))));
        }
    }
    let most = all.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let within = all.iter().filter(|(apart, _)| *apart <= percent).count();
    Some(Claim::new(
        source,
        format!("alone, the schedulers take about as long for {}", BENCHMARKS[benchmark]),
        format!("within {percent} % of each other in each of {} pairs", all.len()),
        format!("{within} are; {:.1} % at most ({})", most.0, most.1),
        within == all.len(),
        "a change of stream costs the modelled disk more, or sorting gains it more",
    ))
}

fn no_idling_is_best(source: &str, views: &[PairView<'_>]) -> Option<Claim> {
    let worse: Vec<String> = views
        .iter()
        .filter(|v| v.alone[1].of(None) > 1.01 * v.alone[0].of(None))
        .map(|v| flight_name(v, name(v.pair[0])))
        .collect();
    (!views.is_empty()).then(|| {
        Claim::new(
            source,
            "Noop and Deadline are best: AS and CFQ idle, which an SSD does not need",
            format!("as fast as the other scheduler, or faster, in each of {} pairs", views.len()),
            format!("in {}", views.len() - worse.len()),
            worse.is_empty(),
            format!("faster are {}", listed(&worse)),
        )
    })
}

fn stays_with_the_best(source: &str, views: &[PairView<'_>]) -> Option<Claim> {
    let several: Vec<PairView<'_>> = views.iter().copied().filter(|v| v.processes > 1).collect();
    let away = |run: &Run| !run.during(LKR).all(|seen| seen.next >= DEADLINE);
    let claim = "from the first check in LKR on, Noop or Deadline is in use, with 2 or more processes";
    in_each(source, claim, &several, away, "")
}

fn quiet(source: &str, views: &[PairView<'_>]) -> Option<Claim> {
    let changing = |run: &Run| [SR512, TAC, SR8].into_iter().any(|b| run.during(b).any(|seen| seen.changed));
    let claim = "there are no more changes in the last three benchmarks";
    in_each(
        source,
        claim,
        views,
        changing,
        "trials of some seconds can differ by 5 % where two schedulers are about alike: ",
    )
}

fn never_pinned(source: &str, views: &[PairView<'_>]) -> Option<Claim> {
    let pinned = |run: &Run| run.during(IOR).any(|check| check.pinned);
    in_each(source, "there is no changing back and forth that must be ended", views, pinned, "")
}

/// A claim about each flight of `views`; it names each flight that is an `exception`.
fn in_each(
    source: &str,
    claim: &str,
    views: &[PairView<'_>],
    exception: impl Fn(&Run) -> bool,
    because: &str,
) -> Option<Claim> {
    let exceptions: Vec<String> =
        flights(views).filter(|(_, _, run)| exception(run)).map(|(v, name, _)| flight_name(v, &name)).collect();
    let count = 2 * views.len();
    (count > 0).then(|| {
        Claim::new(
            source,
            claim,
            format!("in each of {count}"),
            format!("in {}", count - exceptions.len()),
            exceptions.is_empty(),
            format!("{because}{}", listed(&exceptions)),
        )
    })
}
