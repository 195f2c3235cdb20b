//! [`run_system`]: a whole DiskSim configuration, from its file to a report.

use crate::params::System;
use crate::parse::Spec;
use crate::system::build::{SystemOptions, assemble};
use crate::system::report::SystemReport;
use crate::system::{RunError, TraceInput};
use iopilot_block::InputError;
use std::path::Path;

/// A parameter replaced by the command line: `COMPONENT:PARAMETER=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// A component, a range of them, `NAME*` or `*`.
    pub component: String,
    /// A parameter, optionally preceded by its nested block and a colon.
    pub parameter: String,
    /// The value, written as in the file.
    pub value: String,
}

impl std::str::FromStr for Override {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let wrong = || InputError::new("override", text, "COMPONENT:PARAMETER=VALUE");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let (component, parameter) = name.split_once(':').ok_or_else(wrong)?;
        let part = |s: &str| s.trim().to_owned();
        let this = Self { component: part(component), parameter: part(parameter), value: part(value) };
        if this.component.is_empty() || this.parameter.is_empty() || this.value.is_empty() {
            return Err(wrong());
        }
        Ok(this)
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct SystemRun {
    /// The figures.
    pub report: SystemReport,
    /// Harmless oddities in the file.
    pub warnings: Vec<InputError>,
}

/// Runs the configuration in the file at `path` under its synthetic load, or under a trace.
///
/// # Errors
/// If the file or the trace is wrong; names file and line.
pub fn run_system(
    path: &Path,
    overrides: &[Override],
    trace: Option<TraceInput>,
    options: &SystemOptions,
) -> Result<SystemRun, RunError> {
    let mut spec = Spec::load(path)?;
    for o in overrides {
        spec.override_parameter(&o.component, &o.parameter, &o.value)?;
    }
    let system = System::read(&spec)?;
    // An error without a line concerns the whole file.
    let in_file = |e: RunError| match e {
        RunError::Input(e) if e.source_name.is_empty() => RunError::Input(e.in_file(path.display())),
        e => e,
    };
    let mut assembled = assemble(&spec, &system, trace, options).map_err(in_file)?;
    let ending = assembled.simulation.run().map_err(in_file)?;
    assembled.simulation.finish()?;
    let report = SystemReport::new(&assembled, ending);
    Ok(SystemRun { report, warnings: system.warnings })
}
