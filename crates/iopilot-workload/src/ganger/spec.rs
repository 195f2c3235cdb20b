//! [`GangerSpec`]: the TOML description of generators.

use super::distribution::Variable;
use crate::WorkloadError;
use iopilot_block::{InputError, Nanos, suggest};
use std::fs;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
    pub(super) generators: Vec<Generator>,
}

/// One `[[generator]]`. Sizes and distances are in sectors, times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Generator {
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
    /// Where it cannot be read, and as [`GangerSpec::from_toml`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, WorkloadError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| WorkloadError::Io { path: path.to_owned(), source })?;
        Self::from_toml(&text, &path.to_string_lossy())
    }

    /// Reads the description `text`, called `source_name` in messages.
    ///
    /// # Errors
    /// Where it is no TOML, a key is unknown or missing, or a value makes no sense.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, WorkloadError> {
        let document = Document { text, source_name };
        let table = DeTable::parse(text).map_err(|e| {
            let line = e.span().map_or(1, |span| document.line(span.start));
            InputError::new("TOML", e.message(), "valid TOML").in_file(source_name).at_line(line)
        })?;
        let top = Table { document: &document, table: table.get_ref(), line: 1 };
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

fn generator(document: &Document, item: &Spanned<DeValue>) -> Result<Generator, InputError> {
    let DeValue::Table(table) = item.get_ref() else {
        return Err(document.error(item, "generator", "a [[generator]] table"));
    };
    let t = Table { document, table, line: document.line(item.span().start) };
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
    let generator = Generator {
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

/// The text, for line numbers.
struct Document<'a> {
    text: &'a str,
    source_name: &'a str,
}

impl Document<'_> {
    fn line(&self, at: usize) -> u64 {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&b| b == b'\n').count() as u64 + 1
    }

    fn error(&self, value: &Spanned<DeValue>, key: &str, expected: impl Into<String>) -> InputError {
        let got = self.text.get(value.span()).unwrap_or_default();
        InputError::new(key, got, expected).in_file(self.source_name).at_line(self.line(value.span().start))
    }
}

/// A table, for typed access to its keys.
struct Table<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    line: u64,
}

impl Table<'_> {
    /// No keys but `known`.
    fn only(&self, known: &[&str]) -> Result<(), InputError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let expected = match suggest(name, known.iter().copied()) {
                    Some(near) => format!("`{near}`"),
                    None => format!("one of {}", known.join(", ")),
                };
                let line = self.document.line(key.span().start);
                let e = InputError::new(name, "an unknown key", expected);
                return Err(e.in_file(self.document.source_name).at_line(line));
            }
        }
        Ok(())
    }

    fn error(&self, key: &str, got: impl Into<String>, expected: &str) -> InputError {
        InputError::new(key, got, expected).in_file(self.document.source_name).at_line(self.line)
    }

    fn missing(&self, key: &str) -> InputError {
        self.error(key, "", "this key")
    }

    fn number(&self, key: &str, range: std::ops::RangeInclusive<f64>) -> Result<Option<f64>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match as_number(value.get_ref()).filter(|n| range.contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.document.error(value, key, format!("a number from {} to {}", range.start(), range.end()))),
        }
    }

    fn whole(&self, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let n = match value.get_ref() {
            DeValue::Integer(n) => u64::from_str_radix(n.as_str(), n.radix()).ok(),
            _ => None,
        };
        match n.filter(|n| range.contains(n)) {
            Some(n) => Ok(Some(n)),
            None if *range.end() == u64::MAX => {
                Err(self.document.error(value, key, format!("a whole number, at least {}", range.start())))
            }
            None => Err(self.document.error(
                value,
                key,
                format!("a whole number from {} to {}", range.start(), range.end()),
            )),
        }
    }

    /// A random variable that can be at least `bound`: a number, or a table.
    fn variable(&self, key: &str, bound: f64) -> Result<Option<Variable>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let variable = match value.get_ref() {
            DeValue::Table(table) => {
                let line = self.document.line(value.span().start);
                variable(key, value, &Table { document: self.document, table, line })?
            }
            other => Variable::constant(as_number(other).ok_or_else(|| {
                self.document.error(
                    value,
                    key,
                    "a number, or a table such as { distribution = \"exponential\", mean = 5.0 }",
                )
            })?),
        };
        if variable.can_reach(bound) {
            Ok(Some(variable))
        } else {
            Err(self.document.error(value, key, format!("values of at least {bound}")))
        }
    }
}

/// The distributions, and the keys of each; `base` may be left out.
const DISTRIBUTIONS: [(&str, &[&str]); 5] = [
    ("uniform", &["distribution", "min", "max"]),
    ("normal", &["distribution", "mean", "deviation"]),
    ("exponential", &["distribution", "mean", "base"]),
    ("poisson", &["distribution", "mean", "base"]),
    ("twovalue", &["distribution", "default", "second", "probability"]),
];

fn variable(key: &str, value: &Spanned<DeValue>, t: &Table) -> Result<Variable, InputError> {
    let names: Vec<&str> = DISTRIBUTIONS.iter().map(|d| d.0).collect();
    let kind = t.table.get("distribution").ok_or_else(|| t.document.error(value, key, "a key `distribution`"))?;
    let name = kind.get_ref().as_str().unwrap_or_default();
    let Some((_, keys)) = DISTRIBUTIONS.iter().find(|(known, _)| *known == name) else {
        let expected = match suggest(name, names.iter().copied()) {
            Some(near) => format!("`{near}`"),
            None => format!("one of {}", names.join(", ")),
        };
        return Err(t.document.error(kind, "distribution", expected));
    };
    t.only(keys)?;
    let get = |key: &str, range| t.number(key, range)?.ok_or_else(|| t.missing(key));
    let (any, positive) = (-1e15..=1e15, 0.0..=1e15);
    Ok(match name {
        "uniform" => {
            let (min, max) = (get("min", any.clone())?, get("max", any)?);
            if min > max {
                return Err(t.document.error(value, key, "a min that is not above max"));
            }
            Variable::Uniform { min, max }
        }
        "normal" => Variable::Normal { mean: get("mean", any)?, deviation: get("deviation", positive)? },
        "twovalue" => Variable::TwoValue {
            default: get("default", any.clone())?,
            second: get("second", any)?,
            probability: get("probability", 0.0..=1.0)?,
        },
        _ => {
            let (base, mean) = (t.number("base", any)?.unwrap_or(0.0), get("mean", positive)?);
            if name == "poisson" { Variable::Poisson { base, mean } } else { Variable::Exponential { base, mean } }
        }
    })
}

fn as_number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
        DeValue::Float(x) => x.as_str().parse().ok().filter(|x: &f64| x.is_finite()),
        _ => None,
    }
}
