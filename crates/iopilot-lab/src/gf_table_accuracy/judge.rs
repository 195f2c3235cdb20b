//! Judges the source's claims by the measurements.

use super::measure::AccuracyCase;
use super::tables::{differences, means, of_the_source, percent};
use super::{PROCESSES, SAMPLES, Subject, Variant, WAYS, Way, picture};
use crate::gf::GfBenchmark;
use crate::outcome::Cell;
use crate::{Claim, Outcome, ResultTable};

const BENCHMARKS: usize = GfBenchmark::ALL.len();
/// The configuration that the source chooses.
const BEST: Variant = Variant::learning(64);
const NO_SIZE: Variant = Variant { by_size: false, ..BEST };

/// The number of cells beyond a goal that are named.
const NAMED: usize = 6;

/// Why a table disk that gets copies differs from the disk.
const OUT_OF_STEP: &str = "it gets a request when the disk's process issues it, and idles in vain for requests that \
                           the disk serves later: so processes take turns in another order than at the disk, which \
                           passes through the files as they lie, and it seeks farther";
/// Why a table disk in a closed loop differs, if it is ahead of the disk.
const AHEAD: &str = "once it is ahead of the disk it serves hits, many in the time that the disk takes for one miss, \
                     and learns that miss afterwards: so it gets further ahead";

/// Tables, claims and notes.
pub(super) fn outcome(cases: &[AccuracyCase], quick: bool) -> Outcome {
    let mut claims = vec![after_tac(cases)];
    for subject in Subject::ALL {
        claims.extend([whole(cases, subject), each(cases, subject)]);
        claims.extend([in_step(cases, subject), closed_loop(cases, subject), model_alone(cases, subject)]);
    }
    claims.extend([samples(cases), backwards(cases), small_part(cases), size(cases), alike_on_ssd(cases), hits(cases)]);
    let too_large = cases.iter().map(|case| case.too_large_percent).fold(0.0, f64::max);
    let mut notes = vec![
        "VD is the table-based disk. It has a scheduler and a queue of its own and learns while both run, as the \
         source's does; in step: it learns the time of a request once it has served that request, too; same order: it \
         serves what the disk served, in that order; closed loop: its processes resume when it has served them (GF \
         4.2), not when the disk has; off line: it learns nothing while it runs; three tables: with a simulated cache \
         (GF 4.3.1)"
            .to_owned(),
        "the source's disks and files are not at hand: the disk is the catalogue's st3400620as, the SSD its ssd-160"
            .to_owned(),
        format!("up to {too_large:.1} % of the requests are larger than the last row of the tables, as in the source"),
    ];
    if quick {
        notes.push("--quick: a thirtieth of the requests, and tables trained with one sample a cell".to_owned());
    }
    Outcome {
        tables: vec![means(cases), differences(cases), largest(cases)],
        claims,
        notes,
        files: cases.iter().map(picture::of).collect(),
    }
}

/// Names of cases, and by how many percent the mean time differs.
type Cells = Vec<(String, f64)>;

fn cells(cases: &[AccuracyCase], subject: Subject, variant: Variant) -> Cells {
    let mut cells = Vec::new();
    for case in cases.iter().filter(|case| case.subject == subject) {
        for (_, means) in case.virtual_disks.iter().filter(|(v, _)| *v == variant) {
            cells.extend((0..BENCHMARKS).map(|b| {
                let name = format!("{} with {}", GfBenchmark::ALL[b], case.processes);
                (name, percent(means.of_us(b), case.real.of_us(b)))
            }));
        }
    }
    cells
}

/// The same for all numbers of samples.
fn cells_of_all(cases: &[AccuracyCase], subject: Subject, way: Way) -> Cells {
    let of = |samples| {
        let cells = cells(cases, subject, way(samples)).into_iter();
        cells.map(move |(name, d)| (format!("{name}, {samples} samples"), d))
    };
    SAMPLES.into_iter().flat_map(of).collect()
}

/// For each way to set the table disk up, by samples: the largest difference of a benchmark's mean.
fn largest(cases: &[AccuracyCase]) -> ResultTable {
    let title = "Largest difference of a benchmark's mean I/O time with 1, 8 and 32 processes, %, by samples a cell";
    let mut columns = vec!["device".to_owned(), "goal".to_owned(), "virtual disk".to_owned()];
    columns.extend(SAMPLES.map(|samples| samples.to_string()));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = ResultTable::new("largest", title, &columns);
    for subject in Subject::ALL {
        for (name, way) in WAYS {
            let mut row: Vec<Cell> = vec![subject.name().into(), subject.goal().into(), name.into()];
            row.extend(SAMPLES.map(|samples| Cell::from(sizes(&cells(cases, subject, way(samples))).1)));
            table.row(row);
        }
    }
    table
}

/// The mean of the differences' sizes, and the largest.
fn sizes(cells: &Cells) -> (f64, f64) {
    let sizes = cells.iter().map(|(_, d)| d.abs());
    (sizes.clone().sum::<f64>() / cells.len() as f64, sizes.fold(0.0, f64::max))
}

fn where_in(subject: Subject) -> &'static str {
    if subject == Subject::Ssd { "GF 3.6.3" } else { "GF 3.5.1" }
}

fn of(subject: Subject) -> &'static str {
    match subject {
        Subject::Disk => "a disk with its cache on",
        Subject::CacheOff => "a disk with its cache off",
        Subject::Ssd => "an SSD",
    }
}

fn after_tac(cases: &[AccuracyCase]) -> Claim {
    let mut cells = cells(cases, Subject::Disk, BEST);
    cells.retain(|(name, _)| !name.starts_with("TAC"));
    let (mean, most) = sizes(&cells);
    Claim::new(
        "GF 3.5.1",
        "once TAC is over, with 64 samples a cell the table disk differs by less than 5 % on average",
        "below 5 % on average over the other four benchmarks",
        format!("{mean:.2} % on average, {most:.2} % at most"),
        mean < 5.0,
        "see the table",
    )
}

fn whole(cases: &[AccuracyCase], subject: Subject) -> Claim {
    let goal = subject.goal();
    let mut texts = Vec::new();
    let mut held = true;
    for case in cases.iter().filter(|case| case.subject == subject) {
        for (_, means) in case.virtual_disks.iter().filter(|(v, _)| *v == BEST) {
            let d = percent(means.all_us(), case.real.all_us());
            held &= d.abs() <= goal;
            texts.push(format!("{d:+.3} % with {}", case.processes));
        }
    }
    Claim::new(
        where_in(subject),
        format!("over the whole test the mean I/O time is that of {}", of(subject)),
        format!("within {goal} % for 1, 8 and 32 processes"),
        texts.join(", "),
        held,
        OUT_OF_STEP,
    )
}

/// Names the cells beyond the goal.
fn beyond(cells: &Cells, goal: f64) -> Vec<String> {
    cells.iter().filter(|(_, d)| d.abs() > goal).map(|(name, d)| format!("{name} ({d:+.2} %)")).collect()
}

fn each(cases: &[AccuracyCase], subject: Subject) -> Claim {
    let goal = subject.goal();
    let cells = cells(cases, subject, BEST);
    let (mean, most) = sizes(&cells);
    let beyond = beyond(&cells, goal);
    let source: Vec<f64> = PROCESSES
        .into_iter()
        .flat_map(|n| of_the_source(subject, n))
        .filter(|(samples, _)| *samples == 64)
        .flat_map(|(_, differences)| differences)
        .collect();
    let within = source.iter().filter(|d| d.abs() <= goal).count();
    let its_own = match source.len() {
        0 => String::new(),
        n => format!("; of the source's own {n}, {within} are"),
    };
    let why = match subject {
        Subject::Disk => {
            "after a miss the disk is ahead of the table disk, which meanwhile learns from hits that it has still to \
             serve itself: faster, as the source's was"
        }
        Subject::CacheOff => OUT_OF_STEP,
        Subject::Ssd => "its scheduler serves and merges in another order than the disk's",
    };
    Claim::new(
        where_in(subject),
        format!("in every benchmark it is that of {}", of(subject)),
        format!("each of {} means within {goal} %{its_own}", cells.len()),
        format!("{} are; {mean:.3} % on average, {most:.2} % at most", cells.len() - beyond.len()),
        beyond.is_empty(),
        format!("{why}: {}", beyond.join(", ")),
    )
}

fn in_step(cases: &[AccuracyCase], subject: Subject) -> Claim {
    let what = "the same, learning in step";
    with_all_samples(cases, subject, Variant::in_step, what, OUT_OF_STEP)
}

fn closed_loop(cases: &[AccuracyCase], subject: Subject) -> Claim {
    let what = "the same, in a closed loop and learning in step";
    with_all_samples(cases, subject, Variant::closed_in_step, what, AHEAD)
}

fn model_alone(cases: &[AccuracyCase], subject: Subject) -> Claim {
    let what = "the same, serving in the same order: the tables alone";
    with_all_samples(cases, subject, Variant::same_order, what, "a cell changes with every sample")
}

/// A claim about each benchmark's mean with each number of samples.
fn with_all_samples(cases: &[AccuracyCase], subject: Subject, way: Way, what: &str, why: &str) -> Claim {
    let goal = subject.goal();
    let cells = cells_of_all(cases, subject, way);
    let (mean, most) = sizes(&cells);
    let mut beyond = beyond(&cells, goal);
    let within = cells.len() - beyond.len();
    let held = beyond.is_empty();
    if beyond.len() > NAMED {
        let more = beyond.len() - NAMED;
        beyond.truncate(NAMED);
        beyond.push(format!("{more} more"));
    }
    Claim::new(
        where_in(subject),
        format!("{what}: in every benchmark it is that of {}", of(subject)),
        format!("each of {} means, with 8, 16, 32 and 64 samples a cell, within {goal} %", cells.len()),
        format!("{within} are; {mean:.3} % on average, {most:.2} % at most"),
        held,
        format!("{why}: {}", beyond.join(", ")),
    )
}

fn samples(cases: &[AccuracyCase]) -> Claim {
    let of = |samples| sizes(&cells(cases, Subject::Disk, Variant::learning(samples))).0;
    let by = SAMPLES.map(|samples| (samples, of(samples)));
    let texts: Vec<String> = by.iter().map(|(samples, mean)| format!("{mean:.2} % with {samples}")).collect();
    let best = by.iter().all(|(_, mean)| *mean >= of(64));
    Claim::new(
        "GF 3.5.1",
        "64 samples a cell follow the disk best",
        "the smallest difference of the four on average",
        texts.join(", "),
        best,
        "all four are as close: the mean of many requests hides how much a single prediction varies",
    )
}

fn backwards(cases: &[AccuracyCase]) -> Claim {
    let mut tac: Cells =
        SAMPLES.iter().flat_map(|&samples| cells(cases, Subject::Disk, Variant::learning(samples))).collect();
    tac.retain(|(name, _)| name.starts_with("TAC"));
    let (low, high) = tac.iter().fold((f64::MAX, f64::MIN), |(l, h), (_, d)| (l.min(*d), h.max(*d)));
    let source = PROCESSES.into_iter().flat_map(|n| of_the_source(Subject::Disk, n)).map(|(_, d)| d[0]);
    let (least, most) = source.fold((f64::MAX, f64::MIN), |(l, h), d| (l.min(d), h.max(d)));
    Claim::new(
        "GF 3.5.1",
        "reading backwards, the table disk is faster than the disk, the more so the fewer samples",
        format!("below 0 % with any number of samples; the source's are {least:+.1} % to {most:+.1} %"),
        format!("{low:+.1} % to {high:+.1} %"),
        high < 0.0,
        "a short run learns the mixture of hits and misses from too few of them",
    )
}

fn small_part(cases: &[AccuracyCase]) -> Claim {
    let shares: Vec<(u32, f64)> = cases
        .iter()
        .filter(|case| case.subject == Subject::Disk)
        .map(|case| (case.processes, 100.0 * case.cells.0 as f64 / case.cells.1 as f64))
        .collect();
    let texts: Vec<String> = shares.iter().map(|(n, share)| format!("{share:.1} % with {n}")).collect();
    Claim::new(
        "GF 3.5.1, Figure 3.8",
        "only a small part of the cells is used and updated, even with 32 processes",
        "below 10 % of the cells of reads",
        texts.join(", "),
        shares.iter().all(|(_, share)| *share < 10.0),
        "the benchmarks reach farther here",
    )
}

fn size(cases: &[AccuracyCase]) -> Claim {
    let ((with, _), (without, most)) =
        (sizes(&cells(cases, Subject::Disk, BEST)), sizes(&cells(cases, Subject::Disk, NO_SIZE)));
    Claim::new(
        "GF 3.5.1",
        "leaving out the size of requests ruins it",
        "a difference at least ten times as large on average",
        format!("{without:.0} % on average and {most:.0} % at most, against {with:.2} %"),
        without >= 10.0 * with,
        "the sizes that occur are too much alike",
    )
}

fn alike_on_ssd(cases: &[AccuracyCase]) -> Claim {
    let by = SAMPLES.map(|samples| sizes(&cells(cases, Subject::Ssd, Variant::learning(samples))));
    let (low, high) = by.iter().fold((f64::MAX, 0.0f64), |(l, h), (mean, _)| (l.min(*mean), h.max(*mean)));
    let most = by.iter().fold(0.0f64, |m, (_, most)| m.max(*most));
    Claim::new(
        "GF 3.6.3",
        "of an SSD the four numbers of samples differ negligibly, and the largest difference is 1.7 %",
        "within 0.1 % of each other on average, none above 1.7 %",
        format!("{low:.3} % to {high:.3} % on average, {most:.3} % at most"),
        high - low <= 0.1 && most <= 1.7,
        "the SSD's times vary with what came before",
    )
}

fn hits(cases: &[AccuracyCase]) -> Claim {
    let both: Vec<(u32, (f64, f64))> = cases.iter().filter_map(|c| Some((c.processes, c.hits_percent?))).collect();
    let texts = both.iter().map(|(n, (real, simulated))| format!("{simulated:.1} % of {real:.1} % with {n}"));
    Claim::new(
        "GF 4.3.1",
        "the simulated cache of the form with three tables hits about as often as the disk's",
        "within 5 points of a hundred",
        texts.collect::<Vec<_>>().join(", "),
        !both.is_empty() && both.iter().all(|(_, (real, simulated))| (real - simulated).abs() <= 5.0),
        "the disk's read-ahead is its maker's, the simulated one follows a few rules",
    )
}
