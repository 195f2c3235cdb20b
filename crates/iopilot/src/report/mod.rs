//! The page of a comparison: one self-contained HTML file with charts.
//!
//! Everything is drawn here as inline SVG; the page loads nothing, and without its script loses only the choice of
//! which schedulers are in colour.

mod emphasis;
mod flight;
mod host;
mod html;
mod lines;
mod over_time;
pub(crate) mod pictures;
mod redcap;
mod seeks;
mod validation;

use iopilot_calibrate::{Replayed, Validation};
use iopilot_compare::Comparison;
use iopilot_dads::SchedulerCheck;
use iopilot_trace::{Destination, TraceError};
use std::io::Write;
use std::path::Path;

/// Writes the page of `comparison` to `path`, whole or not at all.
///
/// # Errors
/// Where the file cannot be written.
pub(crate) fn write(path: &Path, comparison: &Comparison, command: &str) -> Result<(), TraceError> {
    write_page(path, &html::page(comparison, command))
}

/// Writes the page of a flight, whole or not at all: the comparison with each scheduler alone, and what was decided when.
///
/// # Errors
/// Where the file cannot be written.
pub(crate) fn write_flight(
    path: &Path,
    comparison: &Comparison,
    checks: &[SchedulerCheck],
    command: &str,
) -> Result<(), TraceError> {
    write_page(path, &html::page_of("Flight of the autopilot", comparison, &flight::section(checks), command))
}

/// Writes the page of a validation to `path`, whole or not at all.
///
/// # Errors
/// Where the file cannot be written.
pub(crate) fn write_validation(
    path: &Path,
    title: &str,
    validation: &Validation,
    replayed: &[Replayed],
    command: &str,
) -> Result<(), TraceError> {
    write_page(path, &validation::page(title, validation, replayed, command))
}

fn write_page(path: &Path, page: &str) -> Result<(), TraceError> {
    let whole_or_nothing = || {
        let (destination, mut file) = Destination::create(path)?;
        file.write_all(page.as_bytes())?;
        destination.commit(&file)
    };
    whole_or_nothing().map_err(|e| TraceError::io(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;

    #[test]
    fn is_written_whole_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write(&path, &sample_comparison(17), "iopilot compare").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        // To look at the page: IOPILOT_KEEP_REPORT=/tmp/page.html cargo test -p iopilot written_whole
        if let Some(keep) = std::env::var_os("IOPILOT_KEEP_REPORT") {
            std::fs::write(keep, text).unwrap();
        }
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let e = write(Path::new("/nonexistent/x.html"), &sample_comparison(1), "").unwrap_err();
        assert!(e.to_string().contains("/nonexistent/x.html"));
    }
}
