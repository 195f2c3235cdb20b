//! Tables and claims.

mod ranking;

use super::choices::Choices;
use super::figures::FidelityFigures;
use super::record::CellRecordings;
use super::simulate::CellSimulations;
use super::{Cell, NR_REQUESTS, Plan, SCHEDULERS};
use crate::outcome::Cell as Value;
use crate::{Claim, Outcome, ResultTable};

/// Share of choices that must agree, in percent.
const SAME: f64 = 99.0;
/// How much a replay may differ, in percent: the mean and the throughput, and then the 99th percentile.
const REPLAYED: f64 = 5.0;
const REPLAYED_P99: f64 = 15.0;
/// How much a prediction may differ, in percent.
const PREDICTED: f64 = 10.0;

/// One of [`FidelityFigures`].
type Figure = fn(&FidelityFigures) -> f64;

const MEAN_MS: Figure = |f| f.mean_ms;
const MB_S: Figure = |f| f.mb_s;
const P99_MS: Figure = |f| f.p99_ms;

/// A cell with all results, by scheduler.
struct Known<'a> {
    cell: Cell,
    recorded: &'a [CellRecordings],
    simulated: &'a [CellSimulations],
    kernel: [FidelityFigures; SCHEDULERS.len()],
    spread_percent: [f64; SCHEDULERS.len()],
}

impl<'a> Known<'a> {
    fn new(recorded: &'a [CellRecordings], simulated: &'a [CellSimulations]) -> Self {
        let kernel: [(FidelityFigures, f64); SCHEDULERS.len()] = std::array::from_fn(|s| recorded[s].kernel());
        let (spread_percent, kernel) = (kernel.map(|(_, spread)| spread), kernel.map(|(figures, _)| figures));
        Self { cell: recorded[0].cell, recorded, simulated, kernel, spread_percent }
    }

    fn name(&self) -> Vec<Value> {
        let Cell { pattern, processes, depth } = self.cell;
        vec![pattern.to_string().into(), u64::from(processes).into(), u64::from(depth).into()]
    }

    /// How far the replay under `scheduler` is off, in percent.
    fn replayed(&self, scheduler: usize, figure: Figure) -> f64 {
        percent(figure(&self.simulated[scheduler].replayed), figure(&self.kernel[scheduler]))
    }

    /// How far the prediction of `to` from recordings under `from` is off, in percent.
    fn predicted(&self, from: usize, to: usize, figure: Figure) -> f64 {
        percent(figure(&self.simulated[from].predicted[to]), figure(&self.kernel[to]))
    }
}

fn percent(simulated: f64, measured: f64) -> f64 {
    100.0 * (simulated / measured - 1.0)
}

/// Counts the errors within a limit.
struct Within {
    limit: f64,
    /// Sorted.
    errors: Vec<f64>,
}

impl Within {
    fn new(limit: f64, errors: impl Iterator<Item = f64>) -> Self {
        let mut errors: Vec<f64> = errors.map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        Self { limit, errors }
    }

    fn count(&self) -> usize {
        self.errors.iter().filter(|&&e| e <= self.limit).count()
    }

    fn claim(&self, source: &str, what: &str, because: &str) -> Claim {
        let all = self.errors.len();
        let median = self.errors.get(all / 2).copied().unwrap_or_default();
        let worst = self.errors.last().copied().unwrap_or_default();
        let ours = format!("{} of {all}; median {median:.1} %, worst {worst:.1} %", self.count());
        Claim::new(source, what, format!("within {} % in each", self.limit), ours, self.count() == all, because)
    }
}

pub(super) fn outcome(plan: &Plan, recorded: &[CellRecordings], simulated: &[CellSimulations]) -> Outcome {
    let groups = recorded.chunks(SCHEDULERS.len()).zip(simulated.chunks(SCHEDULERS.len()));
    let known: Vec<Known<'_>> = groups.map(|(r, s)| Known::new(r, s)).collect();
    let tables = vec![
        choices_table(&known),
        cells(&known),
        predicted("predicted", "throughput", MB_S, &known),
        predicted("predicted_mean", "mean I/O time", MEAN_MS, &known),
    ];
    Outcome { tables, claims: claims(&known), notes: notes(plan, &known), files: Vec::new() }
}

fn notes(plan: &Plan, known: &[Known<'_>]) -> Vec<String> {
    let late = known.iter().flat_map(|k| k.recorded).flat_map(|r| &r.recordings).map(|r| r.path.late_us);
    let (count, sum) = late.fold((0, 0.0), |(count, sum), late| (count + 1, sum + late));
    let mean = sum / f64::from(count);
    vec![
        format!(
            "The disk is {} of {} GiB, {} recordings of each cell and scheduler; its answers were {mean:.0} us late on \
             average.",
            plan.disk,
            plan.size >> 30,
            plan.recordings,
        ),
        "(a) choices: given are the times at which the kernel's scheduler got requests and completions, and was asked. \
         It is made to follow the kernel after each difference."
            .to_owned(),
        "(b) cells: given are the recorded times of the CPUs and of the path through the loop device and FUSE, and the \
         angle of the medium; the scheduler is the recorded one."
            .to_owned(),
        format!(
            "(c) predicted: as by `iopilot compare`, given only the trace, the disk's name, and what the kernel \
             shows: its depth, and nr_requests = {NR_REQUESTS}."
        ),
    ]
}

fn choices_of(known: &[Known<'_>], scheduler: usize) -> Choices {
    known.iter().map(|k| k.simulated[scheduler].choices).fold(Choices::default(), |a, b| a + b)
}

fn choices_table(known: &[Known<'_>]) -> ResultTable {
    let title = "(a) requests chosen as the kernel chose, given the times at which it was asked";
    let mut table = ResultTable::new("choices", title, &["scheduler", "choices", "same_percent"]);
    for (s, scheduler) in SCHEDULERS.iter().enumerate().skip(1) {
        let choices = choices_of(known, s);
        table.row(vec![(*scheduler).into(), choices.all.into(), choices.percent().into()]);
    }
    table
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
        "mean_ms",
        "mean_percent",
        "kernel_mb_s",
        "mb_s",
        "mb_s_percent",
        "kernel_p99_ms",
        "p99_ms",
        "p99_percent",
        "same_choices_percent",
    ];
    let title = "(b) the kernel, and a replay under the same scheduler, given the recorded times";
    let mut table = ResultTable::new("cells", title, &columns);
    for k in known {
        for (s, scheduler) in SCHEDULERS.iter().enumerate() {
            let (real, ours) = (&k.kernel[s], &k.simulated[s].replayed);
            let mut row = k.name();
            row.extend([(*scheduler).into(), k.recorded[s].recordings.len().into()]);
            for (nth, figure) in [MEAN_MS, MB_S, P99_MS].into_iter().enumerate() {
                row.push(figure(real).into());
                row.extend((nth == 0).then_some(Value::from(k.spread_percent[s])));
                row.extend([figure(ours), k.replayed(s, figure)].map(Value::from));
            }
            row.push(k.simulated[s].choices.percent().into());
            table.row(row);
        }
    }
    table
}

fn predicted(name: &'static str, what: &str, figure: Figure, known: &[Known<'_>]) -> ResultTable {
    let columns: Vec<&str> =
        ["pattern", "processes", "depth", "recorded_under"].into_iter().chain(SCHEDULERS).collect();
    let title = format!("(c) {what} as `iopilot compare` predicts it, without recorded times: percent off");
    let mut table = ResultTable::new(name, title, &columns);
    for k in known {
        for (from, scheduler) in SCHEDULERS.iter().enumerate() {
            let mut row = k.name();
            row.push((*scheduler).into());
            row.extend((0..SCHEDULERS.len()).map(|to| Value::from(k.predicted(from, to, figure))));
            table.row(row);
        }
    }
    table
}

fn claims(known: &[Known<'_>]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (s, scheduler) in SCHEDULERS.iter().enumerate().skip(1) {
        let choices = choices_of(known, s);
        let (share, what) = (choices.percent(), format!("{scheduler} chooses what the kernel chooses"));
        let ours = format!("{share:.2} % of {}", choices.all);
        let because = "the kernel chooses on several CPUs at once, each some microseconds before or after the recorded \
                       time; requests that arrive in between change the choice";
        claims.push(Claim::new("(a)", what, format!("{SAME} %"), ours, share >= SAME, because));
    }
    let each = || known.iter().flat_map(|k| (0..SCHEDULERS.len()).map(move |s| (k, s)));
    let replayed = |limit, figure| Within::new(limit, each().map(|(k, s)| k.replayed(s, figure)));
    let because = "under none it is not known which sleeper a freed tag woke, nor when each CPU chose; a replay that \
                   once departs from the kernel does not return to it, and few reads give no mean of what is random";
    claims.push(replayed(REPLAYED, MEAN_MS).claim("(b)", "the mean I/O time of a replay is the kernel's", because));
    claims.push(replayed(REPLAYED, MB_S).claim("(b)", "the throughput of a replay is the kernel's", because));
    let p99 = "the 99th percentile of the I/O time of a replay is the kernel's";
    claims.push(replayed(REPLAYED_P99, P99_MS).claim("(b)", p99, because));
    let pairs = || each().flat_map(|(k, from)| (0..SCHEDULERS.len()).map(move |to| (k, from, to)));
    let predicted = |figure| Within::new(PREDICTED, pairs().map(|(k, from, to)| k.predicted(from, to, figure)));
    let because = "the costs of the CPUs and of the path to a virtual disk are not given, nor which task is faster to \
                   a freed tag, nor the angle of the medium";
    claims.push(predicted(MB_S).claim("(c)", "the predicted throughput is the kernel's", because));
    claims.push(predicted(MEAN_MS).claim("(c)", "the predicted mean I/O time is the kernel's", because));
    claims.push(ranking::claim(known));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_whatever_their_sign() {
        let within = Within::new(5.0, [-6.0, 1.0, -2.0, 5.0].into_iter());
        assert_eq!(within.count(), 3);
        let claim = within.claim("(b)", "what", "why");
        assert_eq!(claim.ours(), "3 of 4; median 5.0 %, worst 6.0 %");
        assert_eq!(claim.not_because(), Some("why"));
    }
}
