//! Tables and claims.

mod chance;
mod ranking;
mod summary;

use super::measure::{KNOWN, Measured, Path, Spread, mean_and_errors};
use super::picks::Picks;
use super::predict::{Figures, Predicted};
use super::race::{kept, median};
use super::{Cell, Plan, SCHEDULERS, requests};
use crate::outcome::Cell as Value;
use crate::{Claim, Outcome, ResultTable};
use iopilot_block::Nanos;

/// What a simulation may be off by, in percent.
const MEAN: f64 = 5.0;
const P99: f64 = 15.0;
const CROSS: f64 = 10.0;
/// What is compared.
const MEAN_MS: fn(&Figures) -> f64 = |f| f.mean_ms;
const MB_S: fn(&Figures) -> f64 = |f| f.mb_s;
const P99_MS: fn(&Figures) -> f64 = |f| f.p99_ms;
/// Share of choices that must agree, in percent.
const SAME: f64 = 99.0;

/// A cell with everything that is known of it, by scheduler.
struct Known<'a> {
    cell: Cell,
    kernel: [Figures; SCHEDULERS.len()],
    /// Each recording by itself.
    recordings: [Vec<Figures>; SCHEDULERS.len()],
    /// By how much their mean responses differ.
    spread: [Spread; SCHEDULERS.len()],
    /// How late the virtual disk was, us.
    late: [f64; SCHEDULERS.len()],
    predicted: [&'a Predicted; SCHEDULERS.len()],
}

impl<'a> Known<'a> {
    fn new(measured: &[Measured], predicted: &'a [Predicted]) -> Self {
        let late = |s: usize| {
            let all = measured[s].recordings.iter().map(|r| mean_us(&r.path.late));
            all.sum::<f64>() / measured[s].recordings.len() as f64
        };
        let recordings: [Vec<Figures>; SCHEDULERS.len()] = std::array::from_fn(|s| measured[s].figures());
        Self {
            cell: measured[0].cell,
            kernel: std::array::from_fn(|s| Figures::mean(&recordings[s])),
            recordings,
            spread: std::array::from_fn(|s| measured[s].spread()),
            late: std::array::from_fn(late),
            predicted: std::array::from_fn(|s| &predicted[s]),
        }
    }

    fn name(&self) -> [Value; 3] {
        let Cell { pattern, processes, depth } = self.cell;
        [pattern.to_string().into(), u64::from(processes).into(), u64::from(depth).into()]
    }

    /// Simulated under `to`, from what was recorded under `from`.
    fn simulated(&self, from: usize, to: usize) -> Figures {
        Figures::mean(&self.predicted[from].under[to])
    }

    /// The standard error of how far off simulations under `to` are, from what was recorded under `from`, in percent of what the kernel did.
    fn error_percent(&self, (from, to): (usize, usize), figure: fn(&Figures) -> f64) -> f64 {
        let ours = Figures::parts(&self.predicted[from].under[to]);
        let real = Figures::parts(&self.recordings[to]);
        100.0 * error_of_difference(&ours, &real, figure) / figure(&self.kernel[to])
    }

    /// By how many percent the kernel has more throughput under `a` than under `b`, and the standard error of that.
    fn more(&self, a: usize, b: usize) -> (f64, f64) {
        let of = |s: usize| Figures::parts(&self.recordings[s]);
        let error = error_of_difference(&of(a), &of(b), MB_S);
        (percent(self.kernel[a].mb_s, self.kernel[b].mb_s), 100.0 * error / self.kernel[b].mb_s)
    }
}

/// The standard error of the difference of the means of `a` and `b`, turn by turn. The recordings of a turn read the same places, so that
/// each stands beside the other; where one has more of them, all are taken by themselves.
fn error_of_difference(a: &[Figures], b: &[Figures], figure: fn(&Figures) -> f64) -> f64 {
    if a.len() == b.len() {
        let off: Vec<f64> = a.iter().zip(b).map(|(a, b)| figure(a) - figure(b)).collect();
        return mean_and_errors(&off).2;
    }
    let [a, b] = [a, b].map(|all| mean_and_errors(&all.iter().map(figure).collect::<Vec<_>>()).2);
    a.hypot(b)
}

fn mean_us(times: &[Nanos]) -> f64 {
    times.iter().map(|t| t.as_micros_f64()).sum::<f64>() / times.len().max(1) as f64
}

fn percent(simulated: f64, measured: f64) -> f64 {
    100.0 * (simulated / measured - 1.0)
}

/// How many of some errors are within a limit.
struct Within {
    limit: f64,
    errors: Vec<f64>,
}

impl Within {
    fn new(limit: f64, errors: impl Iterator<Item = f64>) -> Self {
        Self { limit, errors: errors.map(f64::abs).collect() }
    }

    fn count(&self) -> usize {
        self.errors.iter().filter(|&&e| e <= self.limit).count()
    }

    fn holds(&self) -> bool {
        self.count() == self.errors.len()
    }

    /// In percent; 0 where there are none.
    fn median_and_worst(&self) -> (f64, f64) {
        let mut sorted = self.errors.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        (median, sorted.last().copied().unwrap_or_default())
    }

    fn text(&self) -> String {
        let (median, worst) = self.median_and_worst();
        format!("{} of {}; median {median:.1} %, worst {worst:.1} %", self.count(), self.errors.len())
    }
}

pub(super) fn outcome(plan: &Plan, measured: &[Measured], predicted: &[Predicted]) -> Outcome {
    let groups = measured.chunks(SCHEDULERS.len()).zip(predicted.chunks(SCHEDULERS.len()));
    let known: Vec<Known<'_>> = groups.map(|(m, p)| Known::new(m, p)).collect();
    let mean = |of: fn(&Path) -> &[Nanos]| {
        let paths = measured.iter().flat_map(|m| &m.recordings).map(|r| &r.path);
        mean_us(&paths.flat_map(|path| of(path).iter().copied()).collect::<Vec<_>>())
    };
    let race = |depth: &u32| {
        let under_none = |m: &&Measured| SCHEDULERS[m.scheduler] == "none" && m.cell.depth == *depth;
        let recordings = measured.iter().filter(under_none).flat_map(|m| &m.recordings);
        let share = median(recordings.filter_map(|recording| kept(&recording.records)).collect())?;
        Some(format!("with {depth} tags {:.0} % (median of recordings)", 100.0 * share))
    };
    let races: Vec<String> = plan.depths.iter().filter_map(race).collect();
    let made = || measured.iter().map(|m| m.recordings.len());
    let notes = vec![
        format!(
            "The disk is {} of {} GiB; each figure is the mean of {} to {} recordings, {} in all: until the standard error of \
             the kernel's mean is {KNOWN} %.",
            plan.disk,
            plan.size >> 30,
            made().min().unwrap_or_default(),
            made().max().unwrap_or_default(),
            made().sum::<usize>(),
        ),
        format!(
            "Requests are {:.0} us under way to the disk and {:.0} us back, of which it is late {:.0} us (means of all).",
            mean(|p| &p.there),
            mean(|p| &p.back),
            mean(|p| &p.late),
        ),
        format!("Of the tags that others slept for under none their tasks kept {}.", races.join(", ")),
    ];
    Outcome {
        tables: vec![
            summary::table(&known),
            cells(&known),
            across("across", "throughput", MB_S, &known),
            across("across_mean", "the mean I/O time", MEAN_MS, &known),
            order(&known),
        ],
        claims: claims(&known),
        notes,
        files: vec![("kernel-fidelity-requests.csv".to_owned(), requests::table(measured))],
    }
}

fn cells(known: &[Known<'_>]) -> ResultTable {
    let columns = [
        "pattern",
        "processes",
        "depth",
        "scheduler",
        "recordings",
        "kernel_mean_ms",
        "kernel_spread_percent",
        "kernel_error_percent",
        "disk_late_us",
        "mean_ms",
        "mean_percent",
        "mean_error_percent",
        "kernel_mb_s",
        "mb_s",
        "mb_s_percent",
        "mb_s_error_percent",
        "kernel_p99_ms",
        "p99_ms",
        "p99_percent",
        "p99_error_percent",
        "same_picks_percent",
    ];
    let mut table = ResultTable::new("cells", "the kernel, and a simulation of what was recorded", &columns);
    for k in known {
        for (s, scheduler) in SCHEDULERS.iter().enumerate() {
            let (real, ours) = (k.kernel[s], k.simulated(s, s));
            let mut row = k.name().to_vec();
            row.extend([(*scheduler).into(), k.recordings[s].len().into()]);
            row.extend([real.mean_ms, k.spread[s].deviation, k.spread[s].error, k.late[s]].map(Value::from));
            for (nth, figure) in [MEAN_MS, MB_S, P99_MS].into_iter().enumerate() {
                let (real, ours) = (figure(&real), figure(&ours));
                row.extend((nth > 0).then_some(Value::from(real)));
                row.extend([ours, percent(ours, real), k.error_percent((s, s), figure)].map(Value::from));
            }
            row.push(k.predicted[s].picks.percent().into());
            table.row(row);
        }
    }
    table
}

fn across(name: &'static str, what: &str, figure: fn(&Figures) -> f64, known: &[Known<'_>]) -> ResultTable {
    let columns = ["pattern", "processes", "depth", "recorded_under", "none", "mq-deadline", "kyber", "bfq"];
    let title = format!("{what} simulated from a recording under another scheduler, off by so many percent");
    let mut table = ResultTable::new(name, title, &columns);
    for k in known {
        for (from, scheduler) in SCHEDULERS.iter().enumerate() {
            let mut row = k.name().to_vec();
            row.push((*scheduler).into());
            let off = |to: usize| Value::from(percent(figure(&k.simulated(from, to)), figure(&k.kernel[to])));
            row.extend((0..SCHEDULERS.len()).map(off));
            table.row(row);
        }
    }
    table
}

fn order(known: &[Known<'_>]) -> ResultTable {
    let mut table =
        ResultTable::new("picks", "requests chosen as the kernel chose", &["scheduler", "picks", "percent"]);
    for (s, scheduler) in SCHEDULERS.iter().enumerate() {
        let all: Picks = known.iter().map(|k| k.predicted[s].picks).sum();
        table.row(vec![(*scheduler).into(), all.all.into(), all.percent().into()]);
    }
    table
}

fn claims(known: &[Known<'_>]) -> Vec<Claim> {
    let each = || known.iter().flat_map(|k| (0..SCHEDULERS.len()).map(move |s| (k, s)));
    let off = |figure: fn(&Figures) -> f64| {
        each().map(move |(k, s)| percent(figure(&k.simulated(s, s)), figure(&k.kernel[s])))
    };
    let crossed = || {
        let pairs = (0..SCHEDULERS.len()).flat_map(|a| (0..SCHEDULERS.len()).map(move |b| (a, b)));
        let pairs: Vec<_> = pairs.filter(|(a, b)| a != b).collect();
        known.iter().flat_map(move |k| pairs.clone().into_iter().map(move |(from, to)| (k, from, to)))
    };
    let claim = |what: &str, within: &Within, because: &str| {
        let goal = format!("within {} % in each", within.limit);
        Claim::new("goal", what, goal, within.text(), within.holds(), because)
    };
    let cells = "the table `cells` names them; beside each is how far the kernel's own recordings are apart";
    let mut claims = vec![
        claim("the mean I/O time is the kernel's", &Within::new(MEAN, off(MEAN_MS)), cells),
        claim("throughput is the kernel's", &Within::new(MEAN, off(MB_S)), cells),
        claim("the 99th percentile of the I/O time is the kernel's", &Within::new(P99, off(P99_MS)), cells),
        chance::own(known),
    ];
    let foreseen = [
        ("throughput is foreseen from a recording under another", MB_S, "the table `across` names them"),
        ("the mean I/O time is foreseen from a recording under another", MEAN_MS, "the table `across_mean` names them"),
    ];
    for (what, figure, because) in foreseen as [(_, fn(&Figures) -> f64, _); 2] {
        let far = crossed().map(|(k, from, to)| percent(figure(&k.simulated(from, to)), figure(&k.kernel[to])));
        claims.push(claim(what, &Within::new(CROSS, far), because));
    }
    claims.push(chance::across(known));
    claims.push(ranking::claim(known));
    for (s, scheduler) in SCHEDULERS.iter().enumerate().skip(1) {
        let all: Picks = known.iter().map(|k| k.predicted[s].picks).sum();
        if all.all == 0 {
            continue;
        }
        let share = all.percent();
        let ours = format!("{share:.2} % of {}", all.all);
        let what = format!("{scheduler} picks what the kernel picks");
        claims.push(Claim::new("goal", what, format!("{SAME} %"), ours, share >= SAME, "see docs/validation.md"));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_of_a_turn_stand_beside_each_other_where_there_are_as_many() {
        let of = |all: &[f64]| all.iter().map(|&mean_ms| Figures { mean_ms, ..Figures::default() }).collect::<Vec<_>>();
        let [fast, slow] = [of(&[1.0, 9.0, 5.0]), of(&[2.0, 10.0, 6.0])];
        assert_eq!(error_of_difference(&fast, &slow, MEAN_MS), 0.0, "one longer in each turn");
        // Deviations of 4 and 2, of three and four.
        let more = of(&[4.0, 4.0, 8.0, 8.0]);
        let expected = (16.0 / 3.0 + 16.0 / 3.0 / 4.0f64).sqrt();
        assert!((error_of_difference(&fast, &more, MEAN_MS) - expected).abs() < 1e-9);
    }
}
