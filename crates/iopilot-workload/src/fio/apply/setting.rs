//! The value of a setting as the type that an option takes.

use super::super::ini::Setting;
use super::super::value::{self, Amount};
use iopilot_block::{InputError, Nanos, suggest};

/// The words expected instead of `word`: the nearest of the known words, or all of them.
pub(super) fn one_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match suggest(word, known.clone()) {
        Some(near) => format!("`{near}`"),
        None => format!("one of {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

impl Setting {
    pub(super) fn text(&self, expected: &str) -> Result<&str, InputError> {
        self.value.as_deref().filter(|v| !v.is_empty()).ok_or_else(|| self.error(expected))
    }

    /// A flag; true for a key without a value.
    pub(super) fn flag(&self) -> Result<bool, InputError> {
        match self.value.as_deref() {
            None | Some("1" | "true") => Ok(true),
            Some("0" | "false") => Ok(false),
            Some(_) => Err(self.error("0 or 1")),
        }
    }

    pub(super) fn size(&self, kb_base: u64) -> Result<u64, InputError> {
        value::integer(self.text("a number")?, kb_base)
            .ok_or_else(|| self.error("a whole number such as 4096, 4k or 1m"))
    }

    pub(super) fn amount(&self, kb_base: u64) -> Result<Amount, InputError> {
        value::amount(self.text("a size")?, kb_base).ok_or_else(|| self.error("a size such as 64m, or 1% to 100%"))
    }

    /// A size from 0, or a percentage from 0.
    pub(super) fn place(&self, kb_base: u64) -> Result<Amount, InputError> {
        if self.value.as_deref().is_some_and(|v| v.trim() == "0%") {
            return Ok(Amount::Bytes(0));
        }
        self.amount(kb_base).map_err(|_| self.error("a size such as 64m, or 0% to 100%"))
    }

    pub(super) fn number(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, InputError> {
        let n = value::integer(self.text("a number")?, 1024).filter(|n| range.contains(n));
        n.ok_or_else(|| self.error(format!("a whole number from {} to {}", range.start(), range.end())))
    }

    pub(super) fn time(&self, default_unit: Nanos) -> Result<Nanos, InputError> {
        value::time(self.text("a time")?, default_unit)
            .ok_or_else(|| self.error("a time such as 10, 10s, 5ms or 100us"))
    }

    pub(super) fn choice<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, InputError> {
        let text = self.text("a value")?;
        let found = known.iter().find(|(name, _)| *name == text).map(|&(_, value)| value);
        found.ok_or_else(|| self.error(one_of(text, known.iter().map(|k| k.0).collect::<Vec<_>>())))
    }

    pub(super) fn directions<T: Clone>(
        &self,
        into: &mut [T; 3],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<(), InputError> {
        value::directions(self.text("a value")?, into, parse)
            .ok_or_else(|| self.error("READ,WRITE,TRIM values such as 4k or 4k,64k"))
    }
}
