//! [`explain`]: a decision as a sentence.

use crate::judge::DecisionReason;
use crate::objective::Objective;
use iopilot_block::Nanos;

/// The decision as a sentence for a person.
pub(crate) fn explain(reason: &DecisionReason, from: &str, to: &str, objective: Objective, change: Nanos) -> String {
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
        DecisionReason::Idle => format!("Nothing was served: {from} stays."),
        DecisionReason::Unsettled => format!("Processes came or went; the next window tells more: {from} stays."),
        DecisionReason::Best => format!("{from} is the best of the candidates."),
        DecisionReason::TooSmall { gain } => format!(
            "The best candidate would save {} of {what}, which is not worth a change of {:.0} ms: {from} stays.",
            percent(*gain),
            change.as_millis_f64()
        ),
        DecisionReason::NotSure { gain, confidence: Some(sure) } => format!(
            "The best candidate seems to save {} of {what}, but that is only {} sure: {from} stays.",
            percent(*gain),
            percent(*sure)
        ),
        DecisionReason::NotSure { gain, confidence: None } => format!(
            "The best candidate seems to save {} of {what}, but there were too few requests to be sure: {from} stays.",
            percent(*gain)
        ),
        DecisionReason::ModelOff { error: Some(error) } => {
            format!("What was predicted for {from} is {} off what was measured: it stays.", percent(error.abs()))
        }
        DecisionReason::ModelOff { error: None } => {
            format!("What was predicted for {from} could not be compared with what was measured: it stays.")
        }
        DecisionReason::Better { gain } => {
            format!("{to} would have saved {} of {what}: it takes over from {from}.", percent(*gain))
        }
        DecisionReason::Undelivered { promised, measured } => format!(
            "{from} was to save {} of {what} and took {} more: back to {to}.",
            percent(*promised),
            percent(-measured)
        ),
        DecisionReason::Degraded { times } => {
            format!(
                "{to} has degraded: it takes {times:.1} times as long as it would freshly installed. It is reinstalled."
            )
        }
        DecisionReason::Trial { gain, seconds } if *gain > 0.0 => {
            format!("{to} is expected to save {} of {what}: it is tried on the disk for {seconds} s.", percent(*gain))
        }
        DecisionReason::Trial { seconds, .. } => {
            format!("{to} may be better than {from}: it is tried on the disk for {seconds} s.")
        }
        DecisionReason::Adopted { gain } => {
            format!("On the disk {to} saves {} of {what}: it is kept.", percent(*gain))
        }
        DecisionReason::Aborted { gain } if *gain < 0.0 => {
            format!("On the disk {from} takes {} more than {to}: back to {to}.", percent(-gain))
        }
        DecisionReason::Aborted { .. } => format!("On the disk {from} is not better than {to}: back to {to}."),
        DecisionReason::Retry { attempt } => {
            format!("Put in place under load, {to} is slower than it can be: installation {attempt}.")
        }
        DecisionReason::Budget => {
            format!("Another candidate may be better, but trials have taken their share of the time: {from} stays.")
        }
        DecisionReason::Settling => format!("{from} was put in place a moment ago: it is watched."),
        DecisionReason::Home if from == to => {
            format!("The disk is idle: {to} is reinstalled, as it works better if it is in place before a load.")
        }
        DecisionReason::Home => {
            format!("The disk is idle: {to}, which suits the loads seen so far, is put in place for the next one.")
        }
        DecisionReason::TooManyChanges => {
            format!("Too many changes in a row: the default, {to}, is put in place and stays.")
        }
        DecisionReason::Pinned { left: 0 } => {
            format!("The default, {to}, stays; from the next check on, changes are allowed again.")
        }
        DecisionReason::Pinned { left } => {
            format!("The default, {to}, stays until {left} more checks in a row would change nothing.")
        }
    }
}
