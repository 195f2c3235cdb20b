//! Tables and claims.

use super::plan::{ADAPTIVE, ALWAYS, BARE, MEMORY, OFF, ReadPath, RedcapLivePlan};
use super::rival::CACHE;
use super::{Cell, picture};
use crate::{Claim, Outcome, ResultTable};

/// Student's t for 95 % on both sides, by degrees of freedom from 1.
const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
/// How much slower a load may be than on the same server without the cache, in percent.
const BESIDE_OFF: f64 = 1.0;
/// How much slower a load may be than on the bare disk, in percent.
const BESIDE_BARE: f64 = 3.0;
/// How much faster eight processes with trees must be, in percent.
const EIGHT: f64 = 50.0;

/// A mean, and half of its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConfidenceInterval {
    pub(super) mean: f64,
    pub(super) half: f64,
}

impl ConfidenceInterval {
    /// `None` if there are no values.
    fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Some(Self { mean, half: 0.0 });
        }
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let t = T.get(values.len() - 2).copied().unwrap_or(1.96);
        Some(Self { mean, half: t * (variance / n).sqrt() })
    }
}

/// The time of a load in each path, in seconds, if it did not fail. The first path is the bare disk.
pub(super) struct LoadTimes {
    pub(super) disk: &'static str,
    pub(super) load: &'static str,
    pub(super) means: Vec<Option<ConfidenceInterval>>,
}

impl LoadTimes {
    fn of(cell: &Cell) -> Self {
        let means = cell.seconds.iter().map(|seconds| ConfidenceInterval::of(seconds)).collect();
        Self { disk: cell.disk, load: cell.load, means }
    }

    /// The times of the other paths over that of the bare disk.
    pub(super) fn over_bare(&self) -> impl Iterator<Item = Option<ConfidenceInterval>> {
        let bare = self.means.first().copied().flatten().map_or(1.0, |bare| bare.mean);
        let over =
            move |path: ConfidenceInterval| ConfidenceInterval { mean: path.mean / bare, half: path.half / bare };
        self.means.iter().skip(1).map(move |path| path.map(over))
    }
}

/// `left_out` are loads. Each of `failures` names a load and the path in which it failed.
pub(super) fn outcome(plan: &RedcapLivePlan, cells: &[Cell], left_out: &[&str], failures: Vec<String>) -> Outcome {
    let names: Vec<String> = plan.paths.iter().map(|path| path.name()).collect();
    let mut columns = vec!["disk".to_owned(), "load".to_owned()];
    for name in &names {
        columns.extend([format!("{name}_s"), format!("{name}_half_s")]);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "seconds that each load took: mean, and half of its 95 % interval";
    let mut times = ResultTable::new("times", title, &columns);
    let rows: Vec<LoadTimes> = cells.iter().map(LoadTimes::of).collect();
    for LoadTimes { disk, load, means } in &rows {
        let mut row = vec![(*disk).into(), (*load).into()];
        let none = ConfidenceInterval { mean: f64::NAN, half: f64::NAN };
        row.extend(means.iter().map(|path| path.unwrap_or(none)).flat_map(|path| [path.mean.into(), path.half.into()]));
        times.row(row);
    }
    let mut notes =
        vec![format!("{} runs of each; a cache of {} MiB with segments of 128 KiB.", plan.runs, CACHE >> 20)];
    notes.push(match plan.limited {
        true => {
            format!("The loads had {} MiB of memory, the larger page cache {} MiB more.", MEMORY >> 20, CACHE >> 20)
        }
        false => "The loads had all the memory of the machine.".to_owned(),
    });
    notes.extend(plan.left_out.iter().cloned());
    notes.extend(failures);
    if !left_out.is_empty() {
        notes.push(format!("left out, as their programs are missing: {}", left_out.join(", ")));
    }
    Outcome { tables: vec![times], claims: claims(plan, cells), notes, files: vec![picture::of(&names, &rows)] }
}

fn claims(plan: &RedcapLivePlan, cells: &[Cell]) -> Vec<Claim> {
    let place = |path: ReadPath| plan.paths.iter().position(|w| *w == path);
    let (Some(bare), Some(off), Some(adaptive), Some(always)) =
        (place(BARE), place(OFF), place(ADAPTIVE), place(ALWAYS))
    else {
        return Vec::new();
    };
    let mean =
        |cell: &Cell, path: usize| ConfidenceInterval::of(&cell.seconds[path]).expect("only rivals are let fail");
    let gain = |cell: &Cell| 100.0 * (1.0 - mean(cell, adaptive).mean / mean(cell, off).mean);
    let eight: Vec<&Cell> = cells.iter().filter(|cell| cell.load == "find-cat-8").collect();
    let gains: Vec<String> = eight.iter().map(|cell| format!("{:.0} % on {}", gain(cell), cell.disk)).collect();
    let fast = Claim::new(
        "goal",
        "eight processes that read trees of small files are faster with the cache than without",
        format!("by {EIGHT} % at least"),
        gains.join(", "),
        eight.iter().all(|cell| gain(cell) >= EIGHT),
        WHY,
    );
    let slower = |than: usize, limit: f64| {
        let over = |cell: &&Cell| {
            let (with, without) = (mean(cell, adaptive), mean(cell, than));
            let allowed = (limit / 100.0 * without.mean).max(with.half.hypot(without.half));
            with.mean > without.mean + allowed
        };
        let told = |cell: &Cell| {
            let percent = 100.0 * (mean(cell, adaptive).mean / mean(cell, than).mean - 1.0);
            format!("{} on {} by {percent:.1} %", cell.load, cell.disk)
        };
        cells.iter().filter(over).map(told).collect::<Vec<String>>()
    };
    let harmless = |what: &str, than: usize, limit: f64| {
        let found = slower(than, limit);
        let ours = if found.is_empty() { "none is slower".to_owned() } else { found.join(", ") };
        let goal = format!("by {limit} % at most, or the 95 % interval, where that is wider");
        Claim::new("goal", format!("no load is slower with adaptive than {what}"), goal, ours, found.is_empty(), WHY)
    };
    let mixed: Vec<&Cell> = cells.iter().filter(|cell| cell.load == "trees-beside-random").collect();
    let less = |cell: &Cell, than: usize| 100.0 * (1.0 - mean(cell, adaptive).mean / mean(cell, than).mean);
    let told = |cell: &&Cell| {
        let (off, always) = (less(cell, off), less(cell, always));
        format!("on {} {off:.0} % less time than off, {always:.0} % less than on", cell.disk)
    };
    let by_region = Claim::new(
        "goal",
        "a mixture of trees and random reads is faster with adaptive than with the cache on, and than with it off",
        "on each disk, as the regions decide for themselves",
        mixed.iter().map(told).collect::<Vec<String>>().join("; "),
        mixed.iter().all(|cell| less(cell, off) > 0.0 && less(cell, always) > 0.0),
        WHY,
    );
    vec![
        fast,
        by_region,
        harmless("with the same server and the cache off", off, BESIDE_OFF),
        harmless("on the bare disk", bare, BESIDE_BARE),
    ]
}

const WHY: &str = "see the table `times`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_student() {
        let ConfidenceInterval { mean, half } = ConfidenceInterval::of(&[9.0, 10.0, 11.0, 10.0, 10.0]).unwrap();
        // The deviation is 0.7071, and 2.776 * 0.7071 / sqrt(5) is 0.878.
        assert!(mean == 10.0 && (half - 0.878).abs() < 1e-3, "{half}");
        assert_eq!(ConfidenceInterval::of(&[3.0]).unwrap().half, 0.0);
        assert!(ConfidenceInterval::of(&[]).is_none());
    }

    #[test]
    fn another_cache_that_failed_has_no_time_and_no_bar_and_the_rest_is_judged() {
        let plan = RedcapLivePlan::with(false, None, |_| None);
        let failed = plan.paths.iter().position(|path| matches!(path, ReadPath::Rival(_))).unwrap();
        let seconds = |n: usize| if n == failed { Vec::new() } else { vec![1.0, 1.1] };
        let cell = Cell { disk: "a", load: "find-cat-8", seconds: (0..plan.paths.len()).map(seconds).collect() };
        let outcome = outcome(&plan, &[cell], &[], vec!["it failed".to_owned()]);
        let numbers = outcome.tables[0].rows()[0][2..].iter().map(|cell| match cell {
            crate::outcome::Cell::Number(number) => number.is_finite(),
            other => panic!("{other:?}"),
        });
        let expected = (0..plan.paths.len()).flat_map(|n| [n != failed; 2]);
        assert!(numbers.eq(expected));
        assert_eq!(
            outcome.files[0].1.matches("class=\"bar\"").count(),
            plan.paths.len() - 2,
            "no bar for the bare disk, either"
        );
        assert!(outcome.notes.contains(&"it failed".to_owned()) && outcome.claims.len() == 4);
    }
}
