//! The tables and claims of the flights.

use super::flights::ChangingFlight;
use crate::{Claim, Outcome, ResultTable};
use std::collections::BTreeSet;

/// The goals, in percent of the time of the best candidate alone.
const MOST_FLIGHTS: f64 = 3.0;
const ALL_FLIGHTS: f64 = 10.0;
const NOTHING_MATTERS: f64 = 0.5;

/// Where a missed goal is explained.
const BECAUSE: &str = "a bfq that works is taken for one installed in vain, or one that was installed in vain is kept; \
                       docs/lab/dads-changing.md has the worst flights";

/// The regrets of some flights, in percent.
struct Regrets(Vec<f64>);

impl Regrets {
    fn of<'a>(flights: impl Iterator<Item = &'a ChangingFlight>) -> Self {
        let mut sorted: Vec<f64> = flights.map(ChangingFlight::regret).collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The least regret that `percent` of the flights do not exceed.
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    fn worst(&self) -> f64 {
        self.percentile(100)
    }

    /// How many percent of the flights do not exceed `limit`.
    fn within(&self, limit: f64) -> f64 {
        100.0 * self.0.iter().filter(|&&regret| regret <= limit).count() as f64 / self.0.len() as f64
    }
}

/// The outcome of the experiment.
pub(super) fn outcome(flights: &[ChangingFlight]) -> Outcome {
    Outcome {
        tables: vec![by_disk(flights), by_load(flights), steady(flights), single(flights)],
        claims: claims(flights),
        notes: [
            "on a solid-state drive each load reads and writes more, by a factor of its own, so that a flight lasts 20 s",
            "the time under light use comes from the arrivals: there, the mean response time says what a flight lost",
        ]
        .map(str::to_owned)
        .to_vec(),
        files: Vec::new(),
    }
}

/// The values of `key` in order of the flights, each once.
fn distinct(flights: &[ChangingFlight], key: fn(&ChangingFlight) -> &'static str) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    flights.iter().map(key).filter(|&name| seen.insert(name)).collect()
}

fn by_disk(flights: &[ChangingFlight]) -> ResultTable {
    let mut table = ResultTable::new(
        "disks",
        "Longer than the best candidate alone, by disk, over the loads that change",
        &["disk", "flights", "mean_percent", "percentile_90_percent", "worst_percent", "changes"],
    );
    let changing: Vec<&ChangingFlight> = flights.iter().filter(|f| f.load.changes).collect();
    let mut row = |name: &str, of: Vec<&ChangingFlight>| {
        let regrets = Regrets::of(of.iter().copied());
        table.row(vec![
            name.into(),
            of.len().into(),
            regrets.mean().into(),
            regrets.percentile(90).into(),
            regrets.worst().into(),
            of.iter().map(|f| f.changes).sum::<usize>().into(),
        ]);
    };
    for disk in distinct(flights, |f| f.disk) {
        row(disk, changing.iter().copied().filter(|f| f.disk == disk).collect());
    }
    row("all", changing);
    table
}

fn by_load(flights: &[ChangingFlight]) -> ResultTable {
    let mut table = ResultTable::new(
        "loads",
        "Longer than the best candidate alone, by load",
        &["load", "disk", "best_alone", "seconds", "mean_percent", "worst_percent", "changes"],
    );
    for load in distinct(flights, |f| f.load.name) {
        for disk in distinct(flights, |f| f.disk) {
            let of: Vec<&ChangingFlight> = flights.iter().filter(|f| f.load.name == load && f.disk == disk).collect();
            let regrets = Regrets::of(of.iter().copied());
            let best: BTreeSet<&str> = of.iter().map(|f| f.best.as_str()).collect();
            table.row(vec![
                load.into(),
                disk.into(),
                best.into_iter().collect::<Vec<_>>().join(", ").into(),
                (of.iter().map(|f| f.best_s).sum::<f64>() / of.len() as f64).into(),
                regrets.mean().into(),
                regrets.worst().into(),
                of.iter().map(|f| f.changes).sum::<usize>().into(),
            ]);
        }
    }
    table
}

/// The loads for which nothing matters.
fn steady(flights: &[ChangingFlight]) -> ResultTable {
    let mut table = ResultTable::new(
        "steady",
        "Where no scheduler matters: the worst of the flights beside the best candidate alone for each figure",
        &["load", "disk", "longer_percent", "slower_response_percent"],
    );
    let worst = |of: &[&ChangingFlight], figure: fn(&ChangingFlight) -> f64| {
        of.iter().map(|f| figure(f)).fold(f64::NEG_INFINITY, f64::max)
    };
    for load in distinct(flights, |f| f.load.name) {
        for disk in distinct(flights, |f| f.disk) {
            let is_here = |f: &&ChangingFlight| !f.load.changes && f.load.name == load && f.disk == disk;
            let of: Vec<&ChangingFlight> = flights.iter().filter(is_here).collect();
            if !of.is_empty() {
                let (longer, slower) =
                    (worst(&of, ChangingFlight::regret), worst(&of, ChangingFlight::response_regret));
                table.row(vec![load.into(), disk.into(), longer.into(), slower.into()]);
            }
        }
    }
    table
}

fn single(flights: &[ChangingFlight]) -> ResultTable {
    let mut table = ResultTable::new(
        "flights",
        "Each flight beside the best candidate alone",
        &["load", "disk", "seed", "elapsed_s", "best_alone", "best_s", "regret_percent", "changes", "changing_s"],
    );
    for f in flights {
        table.row(vec![
            f.load.name.into(),
            f.disk.into(),
            f.seed.into(),
            f.elapsed_s.into(),
            f.best.as_str().into(),
            f.best_s.into(),
            f.regret().into(),
            f.changes.into(),
            f.changing_s.into(),
        ]);
    }
    table
}

fn claims(flights: &[ChangingFlight]) -> Vec<Claim> {
    let changing = Regrets::of(flights.iter().filter(|f| f.load.changes));
    let steady = Regrets::of(flights.iter().filter(|f| !f.load.changes));
    let claim =
        |claim: &str, goal: String, ours: String, holds: bool| Claim::new("iopilot", claim, goal, ours, holds, BECAUSE);
    vec![
        claim(
            "nine of ten flights over changing loads take hardly longer than the best candidate alone",
            format!("90 % of them at most +{MOST_FLIGHTS} %"),
            format!(
                "{:.0} % of {}; 90 % at most {:+.1} %",
                changing.within(MOST_FLIGHTS),
                changing.0.len(),
                changing.percentile(90)
            ),
            changing.percentile(90) <= MOST_FLIGHTS,
        ),
        claim(
            "no flight over a changing load takes much longer",
            format!("all at most +{ALL_FLIGHTS} %"),
            format!("{:.0} % of them; at most {:+.1} %", changing.within(ALL_FLIGHTS), changing.worst()),
            changing.worst() <= ALL_FLIGHTS,
        ),
        claim(
            "flights over changing loads gain on average",
            "mean at most 0 %".to_owned(),
            format!("{:+.1} %", changing.mean()),
            changing.mean() <= 0.0,
        ),
        claim(
            "a load for which nothing matters loses nothing",
            format!("all at most +{NOTHING_MATTERS} %"),
            format!("at most {:+.2} %", steady.worst()),
            steady.worst() <= NOTHING_MATTERS,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_least_regret_that_so_many_do_not_exceed() {
        let regrets = Regrets((1..=10).map(f64::from).collect());
        assert_eq!([10, 85, 90, 91, 100].map(|p| regrets.percentile(p)), [1.0, 9.0, 9.0, 10.0, 10.0]);
        assert_eq!((regrets.mean(), regrets.worst(), regrets.within(3.0)), (5.5, 10.0, 30.0));
    }
}
