//! How a failure is told: one line on standard error, and an exit code.

use iopilot_block::InputError;
use iopilot_device::DeviceError;
use iopilot_sim::SimError;
use iopilot_trace::{RecordError, TraceError};
use std::io::ErrorKind;

/// A run that failed.
pub(crate) const FAILED: u8 = 1;
/// Bad input or usage.
pub(crate) const BAD_INPUT: u8 = 2;

/// The exit code of `error`.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    let names_nothing = |e: &RecordError| matches!(e, RecordError::Device { .. } | RecordError::Command { .. });
    let bad_input = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<InputError>()
            || cause.is::<DeviceError>()
            || cause.is::<TraceError>()
            || cause.downcast_ref::<SimError>().is_some_and(SimError::is_bad_input)
            || cause.downcast_ref::<RecordError>().is_some_and(names_nothing)
    };
    if error.chain().any(bad_input) { BAD_INPUT } else { FAILED }
}

/// Whether nobody reads standard output any more, as in `iopilot … | head`: the reader had what it wanted.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|c| c.downcast_ref::<std::io::Error>()).any(|e| e.kind() == ErrorKind::BrokenPipe)
}

/// The error and its causes in one line. A cause that the line already tells is not repeated.
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
    let text = error.to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let parts: Vec<String> = message.split("\n\n").map(squeeze).filter(|p| !p.is_empty()).collect();
    parts.join("; ").trim_start_matches("error: ").replace("; tip: ", "; ")
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
    fn bad_input_is_told_from_a_failed_run() {
        let bad = anyhow::Error::from(InputError::new("scheduler", "nop", "noop")).context("reading");
        assert_eq!(exit_code(&bad), BAD_INPUT);
        assert_eq!(exit_code(&anyhow::anyhow!("stuck")), FAILED);
    }

    #[test]
    fn a_line_tells_every_cause_once() {
        let e = anyhow::anyhow!("no\nspace").context("writing x: no space").context("report");
        assert_eq!(one_line(&e), "report: writing x: no space");
    }

    #[test]
    fn usage_errors_take_one_line() {
        for args in [&["iopilot", "compare"][..], &["iopilot", "compar"], &["iopilot", "demo", "--threads", "0"]] {
            let line = usage_line(&Cli::try_parse_from(args).unwrap_err());
            assert!(!line.contains('\n') && !line.contains("Usage") && !line.starts_with("error"), "{line}");
        }
    }
}
