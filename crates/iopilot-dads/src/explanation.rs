//! [`explain`]: a decision as a sentence.

use crate::judge::Reason;
use crate::objective::Objective;
use iopilot_block::Nanos;

/// The decision as a sentence for a person.
pub(crate) fn explain(reason: &Reason, from: &str, to: &str, objective: Objective, change: Nanos) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let what = match objective {
        Objective::ServiceTime => "the time that requests take",
        Objective::BusyTime => "the disk's time",
        Objective::P99 => "the 99th percentile of response times",
        Objective::Throughput => "the time the whole takes",
        Objective::Fairness => "unfairness",
        Objective::BlockedTime => "the time that processes wait",
    };
    match reason {
        Reason::Idle => format!("Nothing was served: {from} stays."),
        Reason::Unsettled => format!("Processes came or went; the next window tells more: {from} stays."),
        Reason::Best => format!("{from} is the best of the candidates."),
        Reason::TooSmall { gain } => format!(
            "The best candidate would save {} of {what}, which is not worth a change of {:.0} ms: {from} stays.",
            percent(*gain),
            change.as_millis_f64()
        ),
        Reason::NotSure { gain, confidence: Some(sure) } => format!(
            "The best candidate seems to save {} of {what}, but that is only {} sure: {from} stays.",
            percent(*gain),
            percent(*sure)
        ),
        Reason::NotSure { gain, confidence: None } => format!(
            "The best candidate seems to save {} of {what}, but there were too few requests to be sure: {from} stays.",
            percent(*gain)
        ),
        Reason::ModelOff { error: Some(error) } => {
            format!("What was predicted for {from} is {} off what was measured: it stays.", percent(error.abs()))
        }
        Reason::ModelOff { error: None } => {
            format!("What was predicted for {from} could not be compared with what was measured: it stays.")
        }
        Reason::Better { gain } => {
            format!("{to} would have saved {} of {what}: it takes over from {from}.", percent(*gain))
        }
        Reason::Undelivered { promised, measured } => format!(
            "{from} was to save {} of {what} and took {} more: back to {to}.",
            percent(*promised),
            percent(-measured)
        ),
        Reason::Astray { times } => {
            format!(
                "{to} has gone astray: it takes {times:.1} times as long as it would begun anew. It is put in place anew."
            )
        }
        Reason::TooManyChanges => format!("Too many changes in a row: the default, {to}, is put in place and stays."),
        Reason::Pinned { left: 0 } => {
            format!("The default, {to}, stays; from the next check on, changes are allowed again.")
        }
        Reason::Pinned { left } => {
            format!("The default, {to}, stays until {left} more checks in a row would change nothing.")
        }
    }
}
