//! How a failure is reported: one line on standard error, and an exit code.

use clap::error::{ContextKind, ContextValue};
use iopilot_block::InputError;
use iopilot_catalogue::DeviceError;
use iopilot_live::LiveError;
use iopilot_sim::SimError;
use iopilot_trace::TraceError;
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A run that failed.
pub(crate) const FAILED: u8 = 1;
/// Bad input or usage.
pub(crate) const BAD_INPUT: u8 = 2;

/// The user's command failed. Its exit code becomes ours, and no message is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandFailed(u8);

impl CommandFailed {
    /// As in a shell: the exit code, or 128 plus the number of the signal that killed the command.
    pub(crate) fn with(status: ExitStatus) -> Self {
        let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
        Self(code.and_then(|c| u8::try_from(c).ok()).unwrap_or(FAILED))
    }
}

impl fmt::Display for CommandFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the command failed")
    }
}

impl std::error::Error for CommandFailed {}

/// Whether the reason has already been printed, so that only the exit code remains.
pub(crate) fn was_reported(error: &anyhow::Error) -> bool {
    error.is::<CommandFailed>()
}

/// The exit code of `error`.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(&CommandFailed(code)) = error.downcast_ref() {
        return code;
    }
    let bad_input = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<InputError>()
            || cause.is::<DeviceError>()
            || cause.is::<TraceError>()
            || cause.downcast_ref::<SimError>().is_some_and(SimError::is_bad_input)
            || cause.downcast_ref::<LiveError>().is_some_and(LiveError::is_bad_input)
    };
    if error.chain().any(bad_input) { BAD_INPUT } else { FAILED }
}

/// Whether the reader of standard output has gone, as in `iopilot … | head`.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|c| c.downcast_ref::<std::io::Error>()).any(|e| e.kind() == ErrorKind::BrokenPipe)
}

/// The error and its causes in one line. A cause that the line already names is not repeated.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = squeeze(&cause.to_string());
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
    }
    line
}

/// A usage error of the argument parser in one line.
pub(crate) fn usage_line(error: &clap::Error) -> String {
    if let Some(line) = wrong_value(error) {
        return line;
    }
    let text = error.to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let parts: Vec<String> = message.split("\n\n").map(squeeze).filter(|p| !p.is_empty()).collect();
    parts.join("; ").trim_start_matches("error: ").replace("; tip: ", "; ")
}

/// A value that an option does not take, reported as other bad input is.
fn wrong_value(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        Some(ContextValue::Strings(s)) => Some(s.join(", ")),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg)?;
    let option = option.split_whitespace().next()?;
    let got = text(ContextKind::InvalidValue).filter(|v| !v.is_empty())?;
    let expected = match text(ContextKind::ValidValue).filter(|v| !v.is_empty()) {
        Some(values) => format!("one of {values}"),
        None => {
            let reason = std::error::Error::source(error)?.to_string();
            match reason.split_once(" is not in ").and_then(|(_, range)| range.split_once("..")) {
                // The upper end is what fits in the number's type.
                Some((from, _)) => format!("a whole number from {from}"),
                None => format!("a number ({reason})"),
            }
        }
    };
    Some(InputError::new(option, got, expected).to_string())
}

/// `text` with every run of white space made a single space.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn bad_input_was_reported_from_a_failed_run() {
        let bad = anyhow::Error::from(InputError::new("scheduler", "nop", "noop")).context("reading");
        assert_eq!(exit_code(&bad), BAD_INPUT);
        assert_eq!(exit_code(&anyhow::anyhow!("stuck")), FAILED);
    }

    #[test]
    fn a_line_names_every_cause_once() {
        let e = anyhow::anyhow!("no\nspace").context("writing x: no space").context("report");
        assert_eq!(one_line(&e), "report: writing x: no space");
    }

    #[test]
    fn a_wrong_value_was_reported_as_other_bad_input_is() {
        let line = |args: &str| usage_line(&Cli::try_parse_from(args.split(' ')).unwrap_err());
        let base = "iopilot compare t --disk d";
        assert_eq!(line(&format!("{base} --limit 0")), "--limit: got 0, expected a whole number from 1");
        assert_eq!(line(&format!("{base} --mode x")), "--mode: got x, expected one of open, closed, dependent");
        assert!(line(&format!("{base} --seed x")).starts_with("--seed: got x, expected a number"));
    }

    #[test]
    fn a_command_that_fails_gives_its_code() {
        let of = |raw| exit_code(&CommandFailed::with(ExitStatus::from_raw(raw)).into());
        assert_eq!((of(3 << 8), of(9)), (3, 137));
    }

    #[test]
    fn usage_errors_take_one_line() {
        for args in [&["iopilot", "compare"][..], &["iopilot", "compar"], &["iopilot", "demo", "--threads", "0"]] {
            let line = usage_line(&Cli::try_parse_from(args).unwrap_err());
            assert!(!line.contains('\n') && !line.contains("Usage") && !line.starts_with("error"), "{line}");
        }
    }
}
