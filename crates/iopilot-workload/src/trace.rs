//! [`TraceWorkload`]: a recorded trace, read for replay.

mod recording;

pub use recording::{Recording, RecordingMetrics};

use super::AnySource;
use super::replay::{Closed, Dependent, Open, ReplayMode, ReplayRecord};
use crate::WorkloadError;
use iopilot_block::{Criticality, InputError, Lba, Nanos, Sectors, suggest};
use iopilot_trace::{
    ColumnLayout, Dependencies, Format, InferOptions, ReadOptions, Stall, TraceReader, TraceRecord, infer,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// What to do with requests past the end of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressFit {
    /// They are an error.
    #[default]
    Error,
    /// Their addresses wrap around.
    Wrap,
}

impl FromStr for AddressFit {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        match name {
            "error" => Ok(Self::Error),
            "wrap" => Ok(Self::Wrap),
            _ => {
                let near = suggest(name, ["error", "wrap"]).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
                Err(InputError::new("fit", name, format!("error or wrap{near}")))
            }
        }
    }
}

/// How to read a trace for replay.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// How to replay it. If not set: dependent where the trace allows that, else open.
    pub mode: Option<ReplayMode>,
    /// Requests outstanding in closed replay.
    pub population: u32,
    /// Only this device of a trace of several.
    pub device: Option<u32>,
    /// The columns of a text that is in no known format ([`ReadOptions::columns`]).
    pub columns: Option<ColumnLayout>,
    /// How many records late a record may be and still be sorted in ([`ReadOptions::reorder`]).
    pub reorder: Option<usize>,
    /// Requests at the beginning that are not read.
    pub skip: u64,
    /// The most requests to read after them.
    pub limit: Option<u64>,
    /// What to do with requests past the end of the disk.
    pub fit: AddressFit,
    /// Requests that asynchronous processes keep in flight, if the trace understates it.
    pub window: Option<u32>,
    /// Stretches arrival times (open) or think times (dependent).
    pub time_scale: f64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            mode: None,
            population: 32,
            device: None,
            columns: None,
            reorder: None,
            skip: 0,
            limit: None,
            fit: AddressFit::default(),
            window: None,
            time_scale: 1.0,
        }
    }
}

/// A recorded trace, read for replay.
#[derive(Clone, Debug)]
pub struct TraceWorkload {
    name: String,
    format: Format,
    mode: ReplayMode,
    population: u32,
    time_scale: f64,
    /// Not `Arc<[_]>`: that would copy the records.
    records: Arc<Vec<ReplayRecord>>,
    dependencies: Option<Arc<Dependencies>>,
    recording: Arc<Recording>,
    notes: Vec<String>,
}

/// The number of records that decide whether a trace shows which process waited for which request.
const PROBE: usize = 1000;

impl TraceWorkload {
    /// Reads the trace in `path` for a disk of `capacity` sectors.
    ///
    /// # Errors
    /// If an option is out of range, or the trace is unreadable or does not fit the disk.
    pub fn load(
        path: &Path,
        format: Option<Format>,
        options: &TraceOptions,
        capacity: u64,
    ) -> Result<Self, WorkloadError> {
        if !(0.0..=1e6).contains(&options.time_scale) {
            return Err(InputError::new("time-scale", options.time_scale.to_string(), "a factor from 0 to 1e6").into());
        }
        if options.population == 0 {
            return Err(InputError::new("population", "0", "at least 1").into());
        }
        let name = path.display().to_string();
        let capacity_if_strict = (options.fit == AddressFit::Error).then_some(capacity);
        let read = ReadOptions {
            format,
            device: options.device,
            columns: options.columns.clone(),
            capacity: capacity_if_strict,
            reorder: options.reorder,
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::open(path, &read)?;
        let format = reader.format();
        let mut load = Loading { capacity, devices: BTreeSet::new(), wrapped: 0 };
        let limit = options.limit.unwrap_or(u64::MAX);
        let mut full = Vec::new();
        let mut records = Vec::new();
        // Dependencies need the whole record; other modes need a third of it.
        let mut keep_full = options.mode.is_none_or(|mode| mode == ReplayMode::Dependent);
        for _ in 0..options.skip {
            let Some(record) = reader.next() else { break };
            record?;
        }
        for _ in 0..limit {
            let Some(record) = reader.next() else { break };
            let mut record = record?;
            load.place(&mut record);
            if keep_full {
                full.push(record);
                if full.len() == PROBE && options.mode.is_none() && !tells_causes(&full) {
                    keep_full = false;
                    records.extend(full.drain(..).map(|r| ReplayRecord::from(&r)));
                }
            } else {
                records.push(ReplayRecord::from(&record));
            }
        }
        let mut notes = load.notes();
        notes.extend(reader.notes().lines());
        let mut dependencies = None;
        let mut recording = Recording { system: reader.recorded_system().cloned(), observed: None };
        if keep_full {
            let lost = recording::complete(&mut full);
            if lost > 0 {
                notes.push(format!(
                    "{lost} requests that processes wait for have no completion in the trace: a likely one was assumed"
                ));
            }
            let inferred = infer(&full, &InferOptions { in_flight: options.window, ..InferOptions::default() });
            let inferred = inferred.map(|mut found| {
                let stalls = found.remove_stalls(&full);
                recording.observed = RecordingMetrics::of(&full, Some(&found), &stalls);
                notes.extend(stalls_note(&stalls));
                found
            });
            if inferred.is_err() {
                recording.observed = RecordingMetrics::of(&full, None, &[]);
            }
            // In place, so that both lists of a long trace are never in memory at once.
            records = full.into_iter().map(|r| ReplayRecord::from(&r)).collect();
            match inferred {
                Ok(found) => {
                    // The inference says more exactly than the flags which read-ahead a process waits for.
                    for (record, i) in records.iter_mut().zip(0..) {
                        if found.is_blocking(i) {
                            record.criticality = Criticality::TimeCritical;
                        }
                    }
                    dependencies = Some(Arc::new(found));
                }
                Err(why) if options.mode == Some(ReplayMode::Dependent) => {
                    return Err(InputError::new("mode", "dependent", format!("open or closed: {why}"))
                        .in_file(name)
                        .into());
                }
                Err(_) => {}
            }
        }
        let mode =
            options.mode.unwrap_or(if dependencies.is_some() { ReplayMode::Dependent } else { ReplayMode::Open });
        if options.mode.is_none() && mode == ReplayMode::Open {
            notes.push(
                "the trace does not show which process waited for which request: replayed at its arrival times (open)"
                    .to_owned(),
            );
        }
        if records.is_empty() {
            return Err(InputError::new("trace", "no requests", "at least one").in_file(name).into());
        }
        if mode == ReplayMode::Open && options.time_scale != 1.0 {
            for r in &mut records {
                r.arrival = Nanos((r.arrival.0 as f64 * options.time_scale) as u64);
            }
        }
        Ok(Self {
            name,
            format,
            mode,
            population: options.population,
            time_scale: options.time_scale,
            records: Arc::new(records),
            dependencies: dependencies.filter(|_| mode == ReplayMode::Dependent),
            recording: Arc::new(recording),
            notes,
        })
    }

    /// The requests of a run called `name`, at their arrival times (open) or with `population` outstanding (closed).
    pub fn of_run(name: &str, records: &[TraceRecord], mode: ReplayMode, population: u32) -> Self {
        Self {
            name: name.to_owned(),
            format: Format::Parquet,
            mode,
            population,
            time_scale: 1.0,
            records: Arc::new(records.iter().map(ReplayRecord::from).collect()),
            dependencies: None,
            recording: Arc::default(),
            notes: Vec::new(),
        }
    }

    /// The same trace with redrawn think times ([`Dependencies::redrawn`]); a pure function of `seed`. `None` if the replay is
    /// not dependent, so that there is nothing to draw.
    #[must_use]
    pub fn redrawn(&self, seed: u64) -> Option<Self> {
        let dependencies = self.dependencies.as_ref()?.redrawn(seed);
        Some(Self { dependencies: Some(Arc::new(dependencies)), ..self.clone() })
    }

    /// What the trace shows of its recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it is empty. A loaded trace never is.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether any process waits for any request.
    pub fn has_waiters(&self) -> bool {
        self.records.iter().any(|r| r.criticality == Criticality::TimeCritical)
    }

    /// How it is replayed.
    pub fn mode(&self) -> ReplayMode {
        self.mode
    }

    /// Notes for the user on how it was read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A source that replays it.
    pub fn source(&self) -> AnySource<'_> {
        match (self.mode, &self.dependencies) {
            (ReplayMode::Dependent, Some(deps)) => {
                AnySource::Dependent(Dependent::new(&self.records[..], deps.as_ref(), self.time_scale))
            }
            (ReplayMode::Closed, _) => AnySource::Closed(Closed::new(&self.records[..], self.population)),
            _ => AnySource::Open(Open::new(&self.records[..])),
        }
    }
}

/// A note for the user on the stalls removed from think times.
fn stalls_note(stalls: &[Stall]) -> Option<String> {
    let longest = stalls.iter().max_by_key(|stall| stall.duration)?;
    let (ms, at) = (longest.duration.as_secs_f64() * 1e3, longest.end.as_secs_f64());
    let many = if stalls.len() == 1 { "a stall".to_owned() } else { format!("{} stalls", stalls.len()) };
    Some(format!(
        "{many} of the machine left out of think times: the longest, of {ms:.0} ms, ends at {at:.2} s, where {} processes go on \
         together",
        longest.processes
    ))
}

/// Whether most of `records` have completion times and processes.
fn tells_causes(records: &[TraceRecord]) -> bool {
    records.iter().filter(|r| r.completion.is_some() && r.process.is_some()).count() * 2 > records.len()
}

/// Findings while the records are read.
struct Loading {
    capacity: u64,
    devices: BTreeSet<u32>,
    wrapped: u64,
}

impl Loading {
    /// Fits a record onto the disk. A record past its end gets here only if addresses are to be folded.
    fn place(&mut self, record: &mut TraceRecord) {
        self.devices.insert(record.device);
        let sectors = u64::from(record.sectors.0);
        if record.lba.0.saturating_add(sectors) <= self.capacity {
            return;
        }
        record.sectors = Sectors(sectors.min(self.capacity) as u32);
        record.lba = Lba((record.lba.0 % self.capacity).min(self.capacity - u64::from(record.sectors.0)));
        self.wrapped += 1;
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.devices.len() > 1 {
            let n = self.devices.len();
            notes.push(format!("the trace has {n} devices; all of them go to this one disk (--device N picks one)"));
        }
        if self.wrapped > 0 {
            notes.push(format!("{} requests lay past the end of the disk; their addresses were folded", self.wrapped));
        }
        notes
    }
}
