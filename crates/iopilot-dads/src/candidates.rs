//! Candidates: schedulers, and grids of their tunables.

use iopilot_block::InputError;
use iopilot_sched::{SchedulerInfo, SchedulerSpec, split_outside_parentheses};

/// The most candidates. More would be a mistake: each one is simulated at each check.
const MOST: usize = 4096;

/// The candidates where none are named: all schedulers of Linux 6, and the variants that are known to matter.
///
/// | candidate | best for |
/// |---|---|
/// | `none` | flash; one process alone |
/// | `mq-deadline` | many random requests in flight on a hard disk |
/// | `kyber` | flash under writes that would make reads wait |
/// | `bfq` | many random readers on a hard disk with a shallow queue; priorities |
/// | `bfq:low_latency=0` | several processes that read sequentially on a hard disk |
/// | `bfq:strict_guarantees=1` | few sequential readers beside others, where the disk reorders too much |
pub const DEFAULT_CANDIDATES: &str = "none,mq-deadline,kyber,bfq,bfq:low_latency=0,bfq:strict_guarantees=1";

/// Reads a list of candidates, separated by commas: schedulers as `--scheduler` takes them, and grids, where a tunable
/// has several values. `none,mq-deadline:fifo_batch=1,16,64:writes_starved=1,2` are seven. Any part may be wrapped in
/// `prio(…)`.
///
/// # Errors
/// The error names the unknown scheduler or tunable, the value out of range, or the duplicate.
pub fn parse_candidates(lists: &[impl AsRef<str>]) -> Result<Vec<SchedulerSpec>, InputError> {
    let mut specs: Vec<SchedulerSpec> = Vec::new();
    for list in lists {
        for text in entries(list.as_ref()) {
            for point in points(&text)? {
                for spec in SchedulerSpec::parse_list(&point)? {
                    if specs.contains(&spec) {
                        return Err(InputError::new("candidates", format!("{spec} twice"), "each candidate once"));
                    }
                    specs.push(spec);
                }
            }
        }
    }
    Ok(specs)
}

/// Checks that there is a candidate, and that all are of one kernel.
///
/// # Errors
/// Where that is not so: no disk could change between them.
pub(crate) fn check_candidates(candidates: &[SchedulerSpec]) -> Result<(), InputError> {
    let Some(first) = candidates.first() else {
        return Err(InputError::new("candidates", "", "at least one scheduler"));
    };
    match candidates.iter().find(|c| c.lineage() != first.lineage()) {
        Some(other) => {
            let expected = format!("schedulers of one kernel, as {} is", first.name);
            Err(InputError::new("candidates", other.to_string(), expected))
        }
        None => Ok(()),
    }
}

/// Splits a list at its commas, but not between the values of one tunable.
fn entries(list: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for part in split_outside_parentheses(list, ',').into_iter().map(str::trim) {
        let first = part.split(':').next().unwrap_or_default().trim();
        let known = SchedulerInfo::of(first).is_some() || SchedulerSpec::group(first).is_some();
        match entries.last_mut() {
            Some(entry) if !known && entry.contains('=') && is_value(first) => {
                entry.push(',');
                entry.push_str(part);
            }
            _ => entries.push(part.to_owned()),
        }
    }
    entries
}

fn is_value(text: &str) -> bool {
    text.parse::<f64>().is_ok() || ["true", "false", "on", "off", "yes", "no"].contains(&text)
}

/// The points of a grid. The last tunable varies fastest; the tunables of `prio(…)` itself vary faster than those
/// inside it.
fn points(entry: &str) -> Result<Vec<String>, InputError> {
    let Some((inside, behind)) = SchedulerSpec::inside_prio(entry)? else { return plain_points(entry) };
    let mut points = Vec::new();
    for text in entries(inside) {
        for point in plain_points(&text)? {
            points.extend(plain_points(&format!("prio({point}){behind}"))?);
            check_number(&points, entry)?;
        }
    }
    Ok(points)
}

fn plain_points(entry: &str) -> Result<Vec<String>, InputError> {
    let mut parts = split_outside_parentheses(entry, ':').into_iter();
    let mut points = vec![parts.next().unwrap_or_default().to_owned()];
    for part in parts {
        let (key, values) = match part.split_once('=') {
            Some((key, values)) => (key, values.split(',').collect::<Vec<_>>()),
            None => (part, Vec::new()),
        };
        points = match values[..] {
            // The parser of schedulers reports the error.
            [] => points.into_iter().map(|point| format!("{point}:{key}")).collect(),
            _ => points.iter().flat_map(|point| values.iter().map(move |v| format!("{point}:{key}={v}"))).collect(),
        };
        check_number(&points, entry)?;
    }
    Ok(points)
}

fn check_number(points: &[String], entry: &str) -> Result<(), InputError> {
    if points.len() > MOST {
        return Err(InputError::new("candidates", entry, format!("at most {MOST} settings")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<String> {
        parse_candidates(&[list]).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tunable_with_several_values_is_a_grid() {
        assert_eq!(
            names("none, mq-deadline:fifo_batch=1,16:writes_starved=1,2, bfq:low_latency=off,on,kyber"),
            [
                "none",
                "mq-deadline:fifo_batch=1:writes_starved=1",
                "mq-deadline:fifo_batch=1:writes_starved=2",
                "mq-deadline:fifo_batch=16:writes_starved=1",
                "mq-deadline:fifo_batch=16:writes_starved=2",
                "bfq:low_latency=0",
                "bfq:low_latency=1",
                "kyber",
            ]
        );
    }

    #[test]
    fn grids_may_be_inside_and_outside_of_prio() {
        assert_eq!(
            names("clook,prio(clook,bfq:low_latency=off,on):aging_ms=0,15000,prio(none)"),
            [
                "clook",
                "prio(clook):aging_ms=0",
                "prio(clook):aging_ms=15000",
                "prio(bfq:low_latency=0):aging_ms=0",
                "prio(bfq:low_latency=0):aging_ms=15000",
                "prio(bfq:low_latency=1):aging_ms=0",
                "prio(bfq:low_latency=1):aging_ms=15000",
                "prio(none)",
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |list: &str| parse_candidates(&[list]).unwrap_err().to_string();
        assert!(error("none,16").contains("got 16"), "{}", error("none,16"));
        assert!(error("mq-deadline:fifo_bach=1,2").contains("did you mean `fifo_batch`"));
        assert_eq!(error("bfq,none,bfq"), "candidates: got bfq twice, expected each candidate once");
        assert_eq!(
            error("bfq:low_latency=0,0"),
            "candidates: got bfq:low_latency=0 twice, expected each candidate once"
        );
        let huge = format!(
            "bfq:slice_idle={0}:timeout_sync={0}",
            (1..100).map(|n| n.to_string()).collect::<Vec<_>>().join(",")
        );
        assert!(error(&huge).ends_with("expected at most 4096 settings"));
    }
}
