//! Whether what is off is so by the chance of the recordings.
//!
//! Where the kernel does not agree with itself, no simulation agrees with all that it did. What the recordings leave open is told by how
//! much they differ in how far off they are.

use super::{CROSS, Known, MB_S, MEAN, MEAN_MS, P99, P99_MS, SCHEDULERS, percent};
use crate::Claim;
use crate::kernel_fidelity::predict::Figures;

/// A figure's name, what it may be off by, in percent, and the figure.
type Compared = (&'static str, f64, fn(&Figures) -> f64);

/// So many standard errors are no proof.
pub(super) const ERRORS: f64 = 2.0;

/// By how much a difference is beyond its goal for certain, in percent; 0 or less where it need not be.
pub(super) fn beyond(off: f64, error: f64, goal: f64) -> f64 {
    off.abs() - ERRORS * error - goal
}

/// From a recording under the same scheduler.
pub(super) fn own(known: &[Known<'_>]) -> Claim {
    let compared = [("mean", MEAN, MEAN_MS), ("throughput", MEAN, MB_S), ("p99", P99, P99_MS)];
    let pairs: Vec<(usize, usize)> = (0..SCHEDULERS.len()).map(|s| (s, s)).collect();
    claim(known, "what is further off may be so by the chance of the recordings", &compared, &pairs)
}

/// From a recording under another.
pub(super) fn across(known: &[Known<'_>]) -> Claim {
    let compared = [("throughput", CROSS, MB_S), ("mean", CROSS, MEAN_MS)];
    let pairs = (0..SCHEDULERS.len()).flat_map(|from| (0..SCHEDULERS.len()).map(move |to| (from, to)));
    let pairs: Vec<(usize, usize)> = pairs.filter(|(from, to)| from != to).collect();
    claim(known, "what is foreseen further off may be so by the chance of the recordings", &compared, &pairs)
}

fn claim(known: &[Known<'_>], what: &str, compared: &[Compared], pairs: &[(usize, usize)]) -> Claim {
    let (mut told, mut certain) = (Vec::new(), Vec::new());
    for &(name, goal, figure) in compared {
        let before = certain.len();
        for k in known {
            for &(from, to) in pairs {
                let off = percent(figure(&k.simulated(from, to)), figure(&k.kernel[to]));
                let error = k.error_percent((from, to), figure);
                if beyond(off, error, goal) > 0.0 {
                    certain.push(format!("{name} of {}: {off:+.1} %, standard error {error:.1} %", place(k, from, to)));
                }
            }
        }
        told.push(format!("{name} {} of {}", certain.len() - before, known.len() * pairs.len()));
    }
    Claim::new(
        "goal",
        what,
        format!("none beyond its goal by more than {ERRORS} standard errors"),
        format!("beyond it are: {}", told.join(", ")),
        certain.is_empty(),
        certain.join("; "),
    )
}

fn place(k: &Known<'_>, from: usize, to: usize) -> String {
    let (cell, under) = (k.cell, SCHEDULERS[to]);
    let from = if from == to { String::new() } else { format!(" from {}", SCHEDULERS[from]) };
    format!("{} with {} on {} under {under}{from}", cell.pattern, cell.processes, cell.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_certain_where_its_errors_leave_it_beyond_the_goal() {
        assert!(beyond(-21.0, 5.0, 5.0) > 0.0);
        assert!(beyond(-21.0, 9.0, 5.0) < 0.0);
        assert!(beyond(5.1, 0.0, 5.0) > 0.0 && beyond(4.9, 0.0, 5.0) < 0.0);
    }
}
