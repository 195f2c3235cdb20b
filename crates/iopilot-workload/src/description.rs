//! [`Document`] and [`TomlTable`]: descriptions in TOML that are read key by key, with errors that name the line.

use crate::fio::bytes;
use crate::ganger::Variable;
use iopilot_block::{InputError, suggest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML text, for line numbers in errors.
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    /// Its name in messages.
    pub(crate) source_name: &'a str,
}

impl<'a> Document<'a> {
    /// The description as a table.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>, InputError> {
        DeTable::parse(self.text).map_err(|e| {
            let line = e.span().map_or(1, |span| self.line(span.start));
            InputError::new("TOML", e.message(), "valid TOML").in_file(self.source_name).at_line(line)
        })
    }

    /// The line of a byte offset in the text, counted from 1.
    pub(crate) fn line(&self, at: usize) -> u64 {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&b| b == b'\n').count() as u64 + 1
    }

    /// The error that `value` of `key` is invalid.
    pub(crate) fn error(&self, value: &Spanned<DeValue>, key: &str, expected: impl Into<String>) -> InputError {
        let got = self.text.get(value.span()).unwrap_or_default();
        InputError::new(key, got, expected).in_file(self.source_name).at_line(self.line(value.span().start))
    }
}

/// A TOML table, for typed access to its keys.
pub(crate) struct TomlTable<'a> {
    pub(crate) document: &'a Document<'a>,
    pub(crate) table: &'a DeTable<'a>,
    pub(crate) line: u64,
}

impl<'a> TomlTable<'a> {
    /// `item` as a table; `name` is its name in messages.
    pub(crate) fn of(
        document: &'a Document<'a>,
        item: &'a Spanned<DeValue<'a>>,
        name: &str,
    ) -> Result<Self, InputError> {
        match item.get_ref() {
            DeValue::Table(table) => Ok(Self { document, table, line: document.line(item.span().start) }),
            _ => Err(document.error(item, name, "a table")),
        }
    }

    /// The list of tables called `key`; empty if it is missing.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<TomlTable<'a>>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| TomlTable::of(self.document, item, key)).collect(),
            _ => Err(self.document.error(value, key, "a list of tables")),
        }
    }

    /// Refuses keys other than `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), InputError> {
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

    /// The error that `key` is `got`.
    pub(crate) fn error(&self, key: &str, got: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(key, got, expected).in_file(self.document.source_name).at_line(self.line)
    }

    /// The error that the required `key` is missing.
    pub(crate) fn missing(&self, key: &str) -> InputError {
        self.error(key, "", "this key")
    }

    /// A number in a range.
    pub(crate) fn number(&self, key: &str, range: std::ops::RangeInclusive<f64>) -> Result<Option<f64>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match as_number(value.get_ref()).filter(|n| range.contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.document.error(value, key, format!("a number from {} to {}", range.start(), range.end()))),
        }
    }

    /// A whole number in a range.
    pub(crate) fn whole(&self, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, InputError> {
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

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(text)),
            _ => Err(self.document.error(value, key, "a text in quotes")),
        }
    }

    /// True or false.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(*flag)),
            _ => Err(self.document.error(value, key, "true or false")),
        }
    }

    /// Bytes in a range: a whole number, or a text with a unit of 1024 as in job files (`"64k"`).
    pub(crate) fn size(&self, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let bytes = match value.get_ref() {
            DeValue::Integer(n) => u64::from_str_radix(n.as_str(), n.radix()).ok(),
            DeValue::String(text) => bytes(text, 1024),
            _ => None,
        };
        match bytes.filter(|n| range.contains(n)) {
            Some(n) => Ok(Some(n)),
            None => {
                let expected = format!("bytes, or a text such as \"64k\", from {} to {}", range.start(), range.end());
                Err(self.document.error(value, key, expected))
            }
        }
    }

    /// A random variable that can be at least `bound`: a number, or a table.
    pub(crate) fn variable(&self, key: &str, bound: f64) -> Result<Option<Variable>, InputError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let variable = match value.get_ref() {
            DeValue::Table(table) => {
                let line = self.document.line(value.span().start);
                variable(key, value, &TomlTable { document: self.document, table, line })?
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

fn variable(key: &str, value: &Spanned<DeValue>, t: &TomlTable<'_>) -> Result<Variable, InputError> {
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

/// A number, whole or not.
pub(crate) fn as_number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
        DeValue::Float(x) => x.as_str().parse().ok().filter(|x: &f64| x.is_finite()),
        _ => None,
    }
}
