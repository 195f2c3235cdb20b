//! Reads the parameters of a block: which are allowed, which are required, and their valid values.

use crate::parse::{Block, FileLine, ParameterFiles, Value, expected_name};
use iopilot_block::InputError;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A module whose parameters are a struct.
pub trait Module: Sized {
    /// The type of its blocks.
    const MODULE: &'static str;
    /// The names of its parameters in DiskSim 4.0.
    const PARAMETERS: &'static [&'static str];

    /// Reads a block of this type.
    ///
    /// # Errors
    /// Names file, line and parameter: one that is unknown, missing, ill-typed, out of range, or contradicts another.
    fn read(files: &ParameterFiles, block: &Block) -> Result<Self, InputError>;
}

/// Checks of several parameters of a module together.
pub(super) trait ModuleCheck {
    /// Refuses values that contradict each other.
    fn check(&self, _fields: &BlockFields<'_>) -> Result<(), InputError> {
        Ok(())
    }
}

/// The parameters of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockFields<'a> {
    pub(super) files: &'a ParameterFiles,
    pub(super) block: &'a Block,
}

impl<'a> BlockFields<'a> {
    /// Wraps a block of a module with the parameters `known`.
    pub(super) fn new(
        files: &'a ParameterFiles,
        block: &'a Block,
        module: &str,
        known: &[&str],
    ) -> Result<Self, InputError> {
        if block.module != module {
            return Err(files.refuse(block.place, "type", block.module, format!("a block of type {module}")));
        }
        check_names(files, block, known)?;
        Ok(Self { files, block })
    }

    /// An optional parameter.
    pub(super) fn maybe<T>(
        &self,
        name: &str,
        rule: impl FnOnce(&Given<'a>) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        let Some(param) = self.block.param(name) else { return Ok(None) };
        let given = Given { files: self.files, name: &param.name, place: param.place, value: &param.value };
        rule(&given).map(Some)
    }

    /// A required parameter.
    pub(super) fn need<T>(
        &self,
        name: &str,
        rule: impl FnOnce(&Given<'a>) -> Result<T, InputError>,
    ) -> Result<T, InputError> {
        self.maybe(name, rule)?.ok_or_else(|| self.missing(name, &format!("a value; {} needs it", self.block.title())))
    }

    /// Reports that `name` is missing.
    pub(super) fn missing(&self, name: &str, expected: &str) -> InputError {
        self.files.refuse(self.block.place, name, "", expected)
    }

    /// Reports that the value of `name` contradicts others.
    pub(super) fn refuse(&self, name: &str, expected: impl Into<String>) -> InputError {
        match self.block.param(name) {
            Some(param) => self.files.refuse(param.place, name, param.value.describe(), expected),
            None => self.missing(name, &expected.into()),
        }
    }

    /// The position of a parameter in the block; inherited ones come first.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.block.params.iter().position(|p| &*p.name == name)
    }
}

/// Refuses parameters that a block's module does not have.
pub(super) fn check_names(files: &ParameterFiles, block: &Block, known: &[&str]) -> Result<(), InputError> {
    match block.params.iter().find(|p| !known.contains(&&*p.name)) {
        None => Ok(()),
        Some(param) => {
            let what = format!("a parameter of {}", block.module);
            let expected = expected_name(&what, &param.name, known.iter().copied());
            Err(files.refuse(param.place, "parameter", &*param.name, expected))
        }
    }
}

/// A value, with its context for errors.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) files: &'a ParameterFiles,
    pub(super) name: &'a str,
    pub(super) place: FileLine,
    pub(super) value: &'a Value,
}

impl<'a> Given<'a> {
    pub(super) fn refuse(&self, expected: impl Into<String>) -> InputError {
        self.files.refuse(self.place, self.name, self.value.describe(), expected)
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<impl ExactSizeIterator<Item = Given<'a>> + use<'a>, InputError> {
        let Value::List(items) = self.value else { return Err(self.refuse("a list, [ ... ]")) };
        let given = *self;
        Ok(items.iter().map(move |(place, value)| Given { place: *place, value, ..given }))
    }

    /// A number, with or without a decimal point.
    pub(super) fn number(&self) -> Result<f64, InputError> {
        match self.value {
            Value::Int(value) => Ok(*value as f64),
            Value::Float(value) => Ok(*value),
            _ => Err(self.refuse("a number, written like 3, 1.5 or 1.5e+3")),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, InputError> {
        match self.value {
            Value::Word(word) => Ok(word),
            _ => Err(self.refuse("a word")),
        }
    }

    pub(super) fn integer(&self) -> Result<i64, InputError> {
        match self.value {
            Value::Int(value) => Ok(*value),
            _ => Err(self.refuse("a whole number")),
        }
    }
}

/// 0 or 1.
pub(super) fn flag(given: &Given<'_>) -> Result<bool, InputError> {
    match given.value {
        Value::Int(0) => Ok(false),
        Value::Int(1) => Ok(true),
        _ => Err(given.refuse("0 or 1")),
    }
}

/// A whole number within bounds.
pub(super) fn whole<T>(bounds: RangeInclusive<T>) -> impl Fn(&Given<'_>) -> Result<T, InputError>
where
    T: TryFrom<i64> + PartialOrd + Display + Copy,
{
    move |given| {
        let value = T::try_from(given.integer()?).ok().filter(|value| bounds.contains(value));
        value.ok_or_else(|| given.refuse(format!("a whole number, {} to {}", bounds.start(), bounds.end())))
    }
}

/// A non-negative whole number.
pub(super) fn count(given: &Given<'_>) -> Result<u64, InputError> {
    u64::try_from(given.integer()?).map_err(|_| given.refuse("a whole number of at least 0"))
}

/// A whole number of at least 1.
pub(super) fn positive(given: &Given<'_>) -> Result<u64, InputError> {
    count(given).ok().filter(|&n| n > 0).ok_or_else(|| given.refuse("a whole number of at least 1"))
}

/// A number within bounds.
pub(super) fn real(bounds: RangeInclusive<f64>) -> impl Fn(&Given<'_>) -> Result<f64, InputError> {
    move |given| {
        let value = given.number()?;
        if bounds.contains(&value) {
            return Ok(value);
        }
        Err(given.refuse(format!("a number, {} to {}", bounds.start(), bounds.end())))
    }
}

/// The longest time that a parameter accepts, ms: some 11 days.
const MAX_MS: f64 = 1e9;

/// Milliseconds.
pub(super) fn ms(given: &Given<'_>) -> Result<f64, InputError> {
    let value = given.number()?;
    let fits = (0.0..=MAX_MS).contains(&value);
    if fits { Ok(value) } else { Err(given.refuse("milliseconds, not negative")) }
}

/// Milliseconds that may be negative.
pub(super) fn signed_ms(given: &Given<'_>) -> Result<f64, InputError> {
    let value = given.number()?;
    let fits = value.abs() <= MAX_MS;
    if fits { Ok(value) } else { Err(given.refuse("milliseconds, up to 1e9")) }
}

/// Milliseconds, or -1 for never.
pub(super) fn ms_or_never(given: &Given<'_>) -> Result<Option<f64>, InputError> {
    match given.number()? {
        -1.0 => Ok(None),
        _ => ms(given).map(Some).map_err(|_| given.refuse("milliseconds, or -1.0 for never")),
    }
}

/// A probability or a share.
pub(super) fn fraction(given: &Given<'_>) -> Result<f64, InputError> {
    real(0.0..=1.0)(given)
}

/// A word: the name of a file or a component.
pub(super) fn word(given: &Given<'_>) -> Result<String, InputError> {
    match given.value {
        // The name of a file may be a number.
        Value::Int(value) => Ok(value.to_string()),
        _ => given.text().map(str::to_owned),
    }
}

/// Names of components.
pub(super) fn names(given: &Given<'_>) -> Result<Vec<String>, InputError> {
    let names: Vec<_> = given.items()?.map(|item| name(&item)).collect::<Result<_, _>>()?;
    if names.is_empty() { Err(given.refuse("at least one name")) } else { Ok(names) }
}

/// The name of a component.
pub(super) fn name(given: &Given<'_>) -> Result<String, InputError> {
    let text = given.text()?;
    if text.contains("..") {
        return Err(given.refuse("a name; a range has white space around its `..`"));
    }
    Ok(text.to_owned())
}

/// A list, with each item read by `rule`.
pub(super) fn list<T>(
    rule: impl Fn(&Given<'_>) -> Result<T, InputError>,
) -> impl Fn(&Given<'_>) -> Result<Vec<T>, InputError> {
    move |given| given.items()?.map(|item| rule(&item)).collect()
}

/// A nested block.
pub(super) fn block<M: Module>(given: &Given<'_>) -> Result<M, InputError> {
    match given.value {
        Value::Block(block) => M::read(given.files, block),
        _ => Err(given.refuse(format!("a block, {} {{ ... }}", M::MODULE))),
    }
}

/// The value that `rule` reads, for an optional parameter.
pub(super) fn some<T>(
    rule: impl Fn(&Given<'_>) -> Result<T, InputError>,
) -> impl Fn(&Given<'_>) -> Result<Option<T>, InputError> {
    move |given| rule(given).map(Some)
}
