//! Which schedulers a chart shows in colour, and which in grey.
//!
//! Six colours can be told apart, by the colour-blind too; seventeen cannot. Up to six schedulers all get a colour;
//! of more, the best, the worst, the kernel's default and the next best do, and the page lets the reader choose others.

use iopilot_compare::Comparison;
use iopilot_sched::KERNEL_DEFAULT;
use iopilot_sim::RunReport;

/// Colours the style sheet defines, `--c0` to `--c5`.
pub(crate) const COLOURS: usize = 6;

/// Of more than [`COLOURS`] schedulers, how many are in colour at first.
const CHOSEN: usize = 4;

/// How one run stands among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Emphasis {
    /// Its colour, where it has one.
    pub(crate) colour: Option<usize>,
    /// `best`, `worst` or `default`, if it is one of these.
    pub(crate) role: Option<&'static str>,
}

/// The emphasis of each run, in the order of the runs.
pub(crate) fn of(comparison: &Comparison) -> Vec<Emphasis> {
    let runs = &comparison.runs;
    let ranking = crate::render::ranking(comparison);
    let default = runs.iter().position(|r| r.scheduler == KERNEL_DEFAULT);
    let (best, worst) = (ranking.first().copied(), ranking.last().copied());
    let mut coloured: Vec<usize> = if runs.len() <= COLOURS {
        ranking
    } else {
        [best, worst, default].into_iter().flatten().chain(ranking.iter().skip(1).copied()).collect()
    };
    let mut seen = Vec::new();
    coloured.retain(|i| {
        !seen.contains(i) && {
            seen.push(*i);
            true
        }
    });
    coloured.truncate(if runs.len() <= COLOURS { COLOURS } else { CHOSEN });
    let role = |i: usize| match Some(i) {
        _ if runs.len() < 2 => None,
        _ if comparison.verdict.winners.contains(&runs[i].scheduler) => Some("best"),
        i if i == worst && !comparison.verdict.winners.is_empty() => Some("worst"),
        i if i == default => Some("kernel default"),
        _ => None,
    };
    let emphasis =
        |(i, _): (usize, &RunReport)| Emphasis { colour: coloured.iter().position(|&c| c == i), role: role(i) };
    runs.iter().enumerate().map(emphasis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;

    #[test]
    fn few_are_all_coloured_and_many_are_not() {
        let few = of(&sample_comparison(4));
        assert!(few.iter().all(|e| e.colour.is_some()));
        let many = of(&sample_comparison(17));
        assert_eq!(many.iter().filter(|e| e.colour.is_some()).count(), CHOSEN);
        assert_eq!(many.iter().filter(|e| e.role == Some("best")).count(), 1);
        assert_eq!(many.iter().filter(|e| e.role == Some("worst")).count(), 1);
    }

    #[test]
    fn no_colour_is_given_twice() {
        let mut colours: Vec<_> = of(&sample_comparison(17)).iter().filter_map(|e| e.colour).collect();
        colours.sort_unstable();
        assert_eq!(colours, (0..colours.len()).collect::<Vec<_>>());
    }

    #[test]
    fn a_single_run_is_neither_best_nor_worst() {
        assert_eq!(of(&sample_comparison(1)), [Emphasis { colour: Some(0), role: None }]);
    }
}
