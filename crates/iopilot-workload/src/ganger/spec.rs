//! [`GangerSpec`]: the TOML description of generators.

use super::distribution::Variable;
use crate::WorkloadError;
use crate::description::{Document, TomlTable};
use iopilot_block::{InputError, Nanos};
use std::fs;
use std::path::Path;
use toml::Spanned;
use toml::de::DeValue;

const TOP_KEYS: [&str; 3] = ["requests", "duration_s", "generator"];
const GENERATOR_KEYS: [&str; 17] = [
    "name",
    "processes",
    "start_s",
    "requests",
    "first_sector",
    "capacity_sectors",
    "blocking_factor",
    "read_probability",
    "sequential_probability",
    "local_probability",
    "time_critical_probability",
    "time_limited_probability",
    "time_limit_ms",
    "general_time_ms",
    "sequential_time_ms",
    "local_time_ms",
    "local_distance_sectors",
];
const SIZE_KEY: &str = "size_sectors";
const MAX_PROCESSES: u64 = 16_384;

/// The description of a synthetic workload: generators, and when to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct GangerSpec {
    pub(super) source_name: String,
    /// Requests of all generators together.
    pub(super) requests: Option<u64>,
    pub(super) duration: Option<Nanos>,
    pub(super) generators: Vec<GeneratorSpec>,
}

/// One `[[generator]]`. Sizes and distances are in sectors, times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GeneratorSpec {
    pub(super) line: u64,
    pub(super) name: String,
    pub(super) processes: u64,
    pub(super) start: Nanos,
    /// Requests of each of its processes.
    pub(super) requests: Option<u64>,
    pub(super) first_sector: u64,
    pub(super) capacity: Option<u64>,
    pub(super) blocking_factor: u64,
    pub(super) read: f64,
    pub(super) sequential: f64,
    pub(super) local: f64,
    pub(super) critical: f64,
    pub(super) limited: f64,
    pub(super) time_limit: Variable,
    pub(super) general_time: Variable,
    pub(super) sequential_time: Variable,
    pub(super) local_time: Variable,
    pub(super) local_distance: Variable,
    pub(super) size: Variable,
}

impl GangerSpec {
    /// Reads the description in the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, and as [`GangerSpec::from_toml`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, WorkloadError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| WorkloadError::Io { path: path.to_owned(), source })?;
        Self::from_toml(&text, &path.to_string_lossy())
    }

    /// Reads the description `text`, called `source_name` in messages.
    ///
    /// # Errors
    /// If it is not TOML, a key is unknown or missing, or a value is invalid.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, WorkloadError> {
        let document = Document { text, source_name };
        let table = document.parse()?;
        let top = TomlTable { document: &document, table: table.get_ref(), line: 1 };
        top.only(&TOP_KEYS)?;
        let generators = match top.table.get("generator") {
            Some(value) => match value.get_ref() {
                DeValue::Array(items) => {
                    items.iter().map(|item| generator(&document, item)).collect::<Result<Vec<_>, _>>()?
                }
                _ => return Err(document.error(value, "generator", "[[generator]] tables").into()),
            },
            None => Vec::new(),
        };
        if generators.is_empty() {
            return Err(InputError::new("generator", "", "at least one [[generator]] table")
                .in_file(source_name)
                .into());
        }
        let spec = Self {
            source_name: source_name.to_owned(),
            requests: top.whole("requests", 1..=u64::MAX)?,
            duration: top.number("duration_s", 1e-9..=1e9)?.map(Nanos::from_secs_f64),
            generators,
        };
        if let (None, None, Some(endless)) =
            (spec.requests, spec.duration, spec.generators.iter().find(|g| g.requests.is_none()))
        {
            let e = InputError::new("requests", "", "an end: requests or duration_s at the top, or requests here");
            return Err(e.in_file(source_name).at_line(endless.line).into());
        }
        Ok(spec)
    }
}

fn generator(document: &Document, item: &Spanned<DeValue>) -> Result<GeneratorSpec, InputError> {
    let DeValue::Table(table) = item.get_ref() else {
        return Err(document.error(item, "generator", "a [[generator]] table"));
    };
    let t = TomlTable { document, table, line: document.line(item.span().start) };
    let keys: Vec<&str> = GENERATOR_KEYS.into_iter().chain([SIZE_KEY]).collect();
    t.only(&keys)?;
    let name = match t.table.get("name") {
        Some(name) => name.get_ref().as_str().ok_or_else(|| document.error(name, "name", "a text"))?,
        None => "generator",
    };
    let share = |key: &str| t.number(key, 0.0..=1.0).map(|p| p.unwrap_or(0.0));
    let general_time = t.variable("general_time_ms", 0.0)?.ok_or_else(|| t.missing("general_time_ms"))?;
    let time = |key: &str| t.variable(key, 0.0).map(|v| v.unwrap_or_else(|| general_time.clone()));
    let blocking_factor = t.whole("blocking_factor", 1..=1 << 20)?.unwrap_or(1);
    let generator = GeneratorSpec {
        line: t.line,
        name: name.to_owned(),
        processes: t.whole("processes", 1..=MAX_PROCESSES)?.unwrap_or(1),
        start: Nanos::from_secs_f64(t.number("start_s", 0.0..=1e9)?.unwrap_or(0.0)),
        requests: t.whole("requests", 1..=u64::MAX)?,
        first_sector: t.whole("first_sector", 0..=u64::MAX)?.unwrap_or(0),
        capacity: t.whole("capacity_sectors", 1..=u64::MAX)?,
        blocking_factor,
        read: t.number("read_probability", 0.0..=1.0)?.ok_or_else(|| t.missing("read_probability"))?,
        sequential: share("sequential_probability")?,
        local: share("local_probability")?,
        critical: share("time_critical_probability")?,
        limited: share("time_limited_probability")?,
        time_limit: t.variable("time_limit_ms", 0.0)?.unwrap_or(Variable::constant(0.0)),
        sequential_time: time("sequential_time_ms")?,
        local_time: time("local_time_ms")?,
        general_time,
        local_distance: t.variable("local_distance_sectors", f64::MIN)?.unwrap_or(Variable::constant(0.0)),
        size: t.variable(SIZE_KEY, 1.0)?.ok_or_else(|| t.missing(SIZE_KEY))?,
    };
    let sum = |a: &str, b: &str, sum: f64| {
        if sum <= 1.0 + 1e-9 { Ok(()) } else { Err(t.error(a, format!("{sum} with {b}"), "a sum of at most 1")) }
    };
    sum("sequential_probability", "local_probability", generator.sequential + generator.local)?;
    sum("time_critical_probability", "time_limited_probability", generator.critical + generator.limited)?;
    if generator.local > 0.0 && !t.table.contains_key("local_distance_sectors") {
        return Err(t.missing("local_distance_sectors"));
    }
    if generator.limited > 0.0 && !t.table.contains_key("time_limit_ms") {
        return Err(t.missing("time_limit_ms"));
    }
    Ok(generator)
}
