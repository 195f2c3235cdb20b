//! Recognising text traces by their columns.

use crate::fields::{Fields, decimal, hexadecimal, integer};
use crate::format::detect::TextHead;
use iopilot_block::SECTOR_BYTES;

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

/// The three formats whose lines are five numbers. They differ in their values alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FiveNumbers {
    /// Times are whole numbers: MQSim.
    WholeTimes,
    /// Times have decimals, and the third and fourth column are multiples of 512 throughout: bytes, as in the
    /// millisecond cut of MSR Cambridge.
    Bytes,
    /// Times have decimals, and those columns are sectors: DiskSim.
    Sectors,
}

impl FiveNumbers {
    /// Which of them `head` is; `None` where its lines are not five numbers.
    pub(super) fn of(head: &TextHead<'_>) -> Option<Self> {
        let (mut whole, mut bytes) = (true, true);
        for line in head.lines() {
            let c = columns(line, None);
            // A damaged line does not change the format of those before it; the parser will name it.
            if c.len() != 5 || decimal(c[0], 6).is_none() {
                break;
            }
            let numbers = (integer(c[2]), integer(c[3]));
            let (Some(address), Some(size)) = numbers else { break };
            whole &= integer(c[0]).is_some();
            bytes &= address % SECTOR_BYTES == 0 && size % SECTOR_BYTES == 0;
        }
        let first = columns(head.first(), None);
        let numbers = first.len() == 5 && first[..4].iter().all(|f| decimal(f, 0).is_some());
        if !numbers || hexadecimal(first[4]).is_none() {
            return None;
        }
        Some(match (whole, bytes) {
            (true, _) => Self::WholeTimes,
            (false, true) => Self::Bytes,
            (false, false) => Self::Sectors,
        })
    }
}
