//! Recognising text traces by their columns.

use crate::fields::{Fields, integer};
use crate::head::TextHead;

/// The columns of a line: between `separator`s, or between blanks. Sixteen at most.
pub(super) fn columns(line: &[u8], separator: Option<u8>) -> Vec<&[u8]> {
    let mut fields = match separator {
        Some(separator) => Fields::separated(line, separator),
        None => Fields::blank_separated(line),
    };
    std::iter::from_fn(|| fields.optional()).take(16).collect()
}

/// One row of comma-separated values.
pub(super) struct CsvRow<'a>(pub(super) Vec<&'a [u8]>);

impl<'a> CsvRow<'a> {
    /// The first row of `head` behind its header; `None` where it has no commas.
    pub(super) fn first(head: &TextHead<'a>) -> Option<Self> {
        let row = head.first_row();
        row.contains(&b',').then(|| Self(columns(row, Some(b','))))
    }

    /// Whether all of these columns are whole numbers.
    pub(super) fn numbers(&self, at: &[usize]) -> bool {
        at.iter().all(|&at| self.0.get(at).is_some_and(|f| integer(f).is_some()))
    }

    /// Whether a column is one of these letters.
    pub(super) fn letter(&self, at: usize, of: &[u8]) -> bool {
        self.0.get(at).is_some_and(|f| f.len() == 1 && of.contains(&f[0]))
    }

    /// Whether a column is one of these words, in either case.
    pub(super) fn word(&self, at: usize, of: &[&[u8]]) -> bool {
        self.0.get(at).is_some_and(|f| of.iter().any(|word| f.eq_ignore_ascii_case(word)))
    }
}
