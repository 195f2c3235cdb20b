//! [`Workload`]: any workload.

use crate::builtin_programs::BuiltinProgramsSpec;
use crate::fio::{FioJobs, FioSource};
use crate::ganger::{self, GangerSpec};
use crate::text_file::read_text;
use crate::trace::{Recording, TraceOptions, TraceWorkload};
use crate::user_programs::UserProgramsSpec;
use crate::{AnySource, WorkloadError};
use iopilot_block::InputError;
use iopilot_host::HostSettings;
use iopilot_trace::Format;
use serde::Serialize;
use std::path::Path;

/// How to read a workload.
#[derive(Clone, Debug, Default)]
pub struct WorkloadOptions {
    /// The kind of the file: `fio`, `ganger`, `programs`, or the name of a trace format. If not set, name and content decide.
    pub format: Option<String>,
    /// For traces.
    pub trace: TraceOptions,
}

/// Any workload.
#[derive(Clone, Debug)]
pub enum Workload {
    /// A recorded trace.
    Trace(TraceWorkload),
    /// A fio job file.
    Fio {
        /// The file.
        name: String,
        /// Its jobs.
        jobs: FioJobs,
    },
    /// A description for Ganger's generator.
    Ganger {
        /// The file.
        name: String,
        /// The generators.
        spec: GangerSpec,
    },
    /// Built-in programs on a host with a file system, by name.
    BuiltinPrograms(BuiltinProgramsSpec),
    /// A user's programs, described in a file.
    UserPrograms {
        /// The file.
        name: String,
        /// What it describes.
        spec: UserProgramsSpec,
    },
}

/// A workload in a few words.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadSummary {
    /// The file, or what generated it.
    pub name: String,
    /// The trace format, `fio`, `ganger`, or `programs`.
    pub kind: String,
    /// For traces: `open`, `closed` or `dependent`.
    pub mode: Option<String>,
    /// The random seed, where one is used.
    pub seed: Option<u64>,
    /// Notes for the user: ignored options, a fallback of the replay mode, folded addresses.
    pub notes: Vec<String>,
}

/// The kind of a file.
#[derive(Clone, Copy)]
enum Kind {
    Fio,
    Ganger,
    Programs,
    /// A trace, with its format if that is known before it is read.
    Trace(Option<Format>),
}

const FIO: &str = "fio";
const GANGER: &str = "ganger";
const PROGRAMS: &str = "programs";

/// The kinds that are not traces: name, kind, and file endings. A TOML file describes generators, unless it says that it
/// describes programs.
const KINDS: &[(&str, Kind, &[&str])] =
    &[(FIO, Kind::Fio, &["fio", "job"]), (GANGER, Kind::Ganger, &["toml"]), (PROGRAMS, Kind::Programs, &[])];

impl Workload {
    /// Reads the workload in `path` for a disk of `capacity` sectors: a fio job file (`*.fio`), a description of generators or
    /// of programs (`*.toml`), or a trace. `-` is standard input: a trace, unless the options name another kind. If there is no
    /// such file, `path` may name built-in programs, with keys ([`BuiltinProgramsSpec`]).
    ///
    /// # Errors
    /// Names the file, line and field that is invalid or does not fit the disk.
    pub fn load(path: &Path, options: &WorkloadOptions, capacity: u64) -> Result<Self, WorkloadError> {
        let name = path.display().to_string();
        if options.format.is_none() && !path.exists() && BuiltinProgramsSpec::is_name(&name) {
            let spec = BuiltinProgramsSpec::parse(&name)?;
            spec.source(None, capacity, 0)?;
            return Ok(Self::BuiltinPrograms(spec));
        }
        match kind(path, options.format.as_deref())? {
            Kind::Fio => {
                let jobs = FioJobs::load(path)?;
                FioSource::new(&jobs, capacity, 0)?;
                Ok(Self::Fio { name, jobs })
            }
            kind @ (Kind::Ganger | Kind::Programs) => {
                let text = read_text(path)?;
                let is_programs = matches!(kind, Kind::Programs);
                if is_programs || (options.format.is_none() && UserProgramsSpec::is_in(&text)) {
                    let spec = UserProgramsSpec::from_toml(&text, &name)?;
                    spec.check_disk(capacity)?;
                    return Ok(Self::UserPrograms { name, spec });
                }
                let spec = GangerSpec::from_toml(&text, &name)?;
                ganger::on_own_cpus(&spec, capacity, 0)?;
                Ok(Self::Ganger { name, spec })
            }
            Kind::Trace(format) => TraceWorkload::load(path, format, &options.trace, capacity).map(Self::Trace),
        }
    }

    /// The source of its requests for a disk of `capacity` sectors. Generators share the CPUs of `host`; without a host, each
    /// of their processes has its own CPU.
    ///
    /// # Errors
    /// If it does not fit the disk.
    pub fn source(
        &self,
        capacity: u64,
        host: Option<&HostSettings>,
        seed: u64,
    ) -> Result<AnySource<'_>, WorkloadError> {
        Ok(match self {
            Self::Trace(trace) => trace.source(),
            Self::Fio { jobs, .. } => AnySource::Fio(FioSource::new(jobs, capacity, seed)?),
            Self::Ganger { spec, .. } => AnySource::Host(match host {
                Some(host) => ganger::on_host(spec, host, capacity, seed)?,
                None => ganger::on_own_cpus(spec, capacity, seed)?,
            }),
            Self::BuiltinPrograms(spec) => AnySource::Host(spec.source(host, capacity, seed)?),
            Self::UserPrograms { spec, .. } => AnySource::Host(spec.source(host, capacity, seed)?),
        })
    }

    /// The number of requests, if that is known before the run.
    pub fn requests(&self) -> Option<u64> {
        match self {
            Self::Trace(trace) => Some(trace.len() as u64),
            _ => None,
        }
    }

    /// Notes for the user on how it was read.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Trace(trace) => trace.notes(),
            Self::Fio { jobs, .. } => jobs.notes(),
            Self::Ganger { .. } | Self::BuiltinPrograms(_) | Self::UserPrograms { .. } => &[],
        }
    }

    /// Whether this and `other` can be recordings of one load: both are traces replayed in the same mode, or synthetic loads of
    /// the same kind.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Trace(a), Self::Trace(b)) => a.mode() == b.mode(),
            (Self::Fio { .. }, Self::Fio { .. })
            | (Self::Ganger { .. }, Self::Ganger { .. })
            | (Self::BuiltinPrograms(_), Self::BuiltinPrograms(_))
            | (Self::UserPrograms { .. }, Self::UserPrograms { .. }) => true,
            _ => false,
        }
    }

    /// What a recorded trace shows of its recording; `None` for other workloads.
    pub fn recording(&self) -> Option<&Recording> {
        match self {
            Self::Trace(trace) => Some(trace.recording()),
            _ => None,
        }
    }

    /// The workload in a few words.
    pub fn summary(&self, seed: u64) -> WorkloadSummary {
        let (name, kind, mode, seed) = match self {
            Self::BuiltinPrograms(spec) => (spec.to_string(), PROGRAMS.to_owned(), None, Some(seed)),
            Self::Trace(t) => (t.name().to_owned(), t.format().to_string(), Some(t.mode().to_string()), None),
            Self::Fio { name, .. } => (name.clone(), FIO.to_owned(), None, Some(seed)),
            Self::Ganger { name, .. } => (name.clone(), GANGER.to_owned(), None, Some(seed)),
            Self::UserPrograms { name, .. } => (name.clone(), PROGRAMS.to_owned(), None, Some(seed)),
        };
        WorkloadSummary { name, kind, mode, seed, notes: self.notes().to_vec() }
    }
}

/// The kind of the file `path`: the kind called `format`, else the one of its ending, else a trace.
fn kind(path: &Path, format: Option<&str>) -> Result<Kind, InputError> {
    let find = |matches: &dyn Fn(&str, &[&str]) -> bool| {
        KINDS.iter().find(|(name, _, endings)| matches(name, endings)).map(|&(_, kind, _)| kind)
    };
    let Some(format) = format else {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        return Ok(find(&|_, endings| endings.contains(&ending)).unwrap_or(Kind::Trace(None)));
    };
    match find(&|name, _| name == format) {
        Some(kind) => Ok(kind),
        None => format.parse().map(|format| Kind::Trace(Some(format))),
    }
}
