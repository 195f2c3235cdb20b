//! [`InputError`]: the one shape in which every crate reports bad input.

use std::fmt;

/// An error in a user's input. Displays as one line: `FILE:LINE: FIELD: got X, expected Y`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct InputError {
    /// The file, device or option it came from; empty if there is none.
    pub source_name: String,
    /// The 1-based line; for binary files the 1-based record; `None` if the input has neither.
    pub line: Option<u64>,
    /// The field: a column, a key, a parameter.
    pub field: String,
    /// What was found, shortened.
    pub got: String,
    /// What would have been right.
    pub expected: String,
}

impl InputError {
    /// `field` is `got`, not `expected`. Add the place with [`InputError::in_file`] and [`InputError::at_line`].
    pub fn new(field: impl Into<String>, got: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            field: shortened(&field.into(), 60),
            got: shortened(&got.into(), 60),
            // Long enough for every list of names. A user's text may be longer.
            expected: shortened(&expected.into(), 1000),
            ..Self::default()
        }
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(mut self, name: impl fmt::Display) -> Self {
        self.source_name = name.to_string();
        self
    }

    /// Names the line (or record), counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

/// A user's text without control characters, cut to at most `most` characters.
fn shortened(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_control() { '.' } else { c };
    match text.char_indices().nth(most) {
        None => text.chars().map(plain).collect(),
        Some(_) => text.chars().take(most - 3).map(plain).chain("...".chars()).collect(),
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source_name.is_empty(), self.line) {
            (true, None) => {}
            (true, Some(line)) => write!(f, "line {line}: ")?,
            (false, None) => write!(f, "{}: ", self.source_name)?,
            (false, Some(line)) => write!(f, "{}:{line}: ", self.source_name)?,
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        write!(f, "got {}, expected {}", if self.got.is_empty() { "nothing" } else { &self.got }, self.expected)
    }
}

impl std::error::Error for InputError {}

/// The one of `known` that is nearest to `word`, if one is near enough to be a likely misspelling.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(&word, &k.to_ascii_lowercase()), k))
        .filter(|&(distance, k)| distance <= 1 + k.len().min(word.len()) / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line_that_names_file_line_field_and_expectation() {
        let e = InputError::new("sectors", "-8\n", "a length above 0").in_file("a.trace").at_line(17);
        assert_eq!(e.to_string(), "a.trace:17: sectors: got -8., expected a length above 0");
        assert!(InputError::new("x", "y".repeat(500), "z").to_string().len() < 90);
        assert!(!InputError::new("a quoted\nkey", "y", "z\n").to_string().contains('\n'));
        assert!(InputError::new("x", "y", "z".repeat(5000)).to_string().len() < 1100);
    }

    #[test]
    fn suggests_only_a_likely_misspelling() {
        assert_eq!(suggest("deadlien", ["noop", "deadline", "cfq"]), Some("deadline"));
        assert_eq!(suggest("zfs", ["noop", "deadline"]), None);
    }
}
