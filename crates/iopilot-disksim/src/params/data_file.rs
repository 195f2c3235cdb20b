//! Data files named by parameters: their lines, with errors that name file and line.

use super::fields::Given;
use iopilot_block::InputError;

/// A text file.
pub(super) struct DataFile {
    pub(super) name: String,
    text: String,
}

impl DataFile {
    /// Opens the file that a parameter names.
    pub(super) fn open(given: &Given<'_>) -> Result<Self, InputError> {
        let name = super::fields::word(given)?;
        let path = given.files.find(given.place, given.name, &name)?;
        let bytes = std::fs::read(&path).map_err(|e| given.refuse(format!("a file that can be read ({e})")))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self { name: path.display().to_string(), text })
    }

    /// The lines, counted from 1, without surrounding white space.
    pub(super) fn lines(&self) -> impl Iterator<Item = DataLine<'_>> {
        self.text.lines().zip(1u64..).map(|(text, number)| DataLine { file: &self.name, number, text: text.trim() })
    }

    /// Refuses the whole file.
    pub(super) fn refuse(&self, field: &str, got: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(field, got, expected).in_file(&self.name)
    }
}

/// A line of a data file.
#[derive(Clone, Copy)]
pub(super) struct DataLine<'a> {
    file: &'a str,
    pub(super) number: u64,
    pub(super) text: &'a str,
}

impl<'a> DataLine<'a> {
    pub(super) fn refuse(&self, field: &str, got: &str, expected: impl Into<String>) -> InputError {
        InputError::new(field, got, expected).in_file(self.file).at_line(self.number)
    }

    /// Parses a number of the line.
    pub(super) fn parse<T: std::str::FromStr>(&self, field: &str, text: &str, expected: &str) -> Result<T, InputError> {
        text.trim().parse().map_err(|_| self.refuse(field, text.trim(), expected))
    }
}
