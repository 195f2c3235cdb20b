//! [`ColumnLayout`]: which columns a text has.

use iopilot_block::{InputError, suggest};
use std::str::FromStr;

/// Which columns a text has, and what is between them.
///
/// Three ways to write it: names between commas, for lines with commas (`time_us,op,lba,sectors`); names between blanks,
/// for lines with blanks; a format of `blkparse -f` (`%D %T.%t %p %a %d %S %n`), for what that prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    separator: Separator,
    items: Vec<Item>,
}

/// What is between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    Blanks,
    /// The layout's own text.
    Literal,
}

/// One piece of a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Column(Column),
    /// Text between columns, with its blanks at both ends taken away; empty where it was nothing else.
    Text(Vec<u8>),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// A part of the arrival, in units of 10^this nanoseconds; several add up.
    Time(u32),
    Completion(u32),
    Latency(u32),
    Device,
    Major,
    Minor,
    Cpu,
    Pid,
    Command,
    Action,
    Op,
    /// 1 for a read, 0 for a write.
    Read,
    /// 1 for a write, 0 for a read.
    Write,
    /// A SCSI operation code in hexadecimal.
    Opcode,
    Lba,
    Offset,
    Sectors,
    Bytes,
    Ignored,
}

/// The names of columns.
const NAMES: &[(&str, Column)] = &[
    ("time_s", Column::Time(9)),
    ("time_ms", Column::Time(6)),
    ("time_us", Column::Time(3)),
    ("time_100ns", Column::Time(2)),
    ("time_ns", Column::Time(0)),
    ("completion_s", Column::Completion(9)),
    ("completion_ms", Column::Completion(6)),
    ("completion_us", Column::Completion(3)),
    ("completion_ns", Column::Completion(0)),
    ("latency_s", Column::Latency(9)),
    ("latency_ms", Column::Latency(6)),
    ("latency_us", Column::Latency(3)),
    ("latency_ns", Column::Latency(0)),
    ("device", Column::Device),
    ("major", Column::Major),
    ("minor", Column::Minor),
    ("cpu", Column::Cpu),
    ("pid", Column::Pid),
    ("command", Column::Command),
    ("action", Column::Action),
    ("op", Column::Op),
    ("read", Column::Read),
    ("write", Column::Write),
    ("opcode", Column::Opcode),
    ("lba", Column::Lba),
    ("offset", Column::Offset),
    ("sectors", Column::Sectors),
    ("bytes", Column::Bytes),
    ("-", Column::Ignored),
];

/// The letters of `blkparse -f`, as blkparse(1) has them. Letters that say nothing about a request are skipped.
const LETTERS: &[(char, Column)] = &[
    ('a', Column::Action),
    ('c', Column::Cpu),
    ('C', Column::Command),
    ('d', Column::Op),
    ('D', Column::Device),
    ('e', Column::Ignored),
    ('g', Column::Ignored),
    ('M', Column::Major),
    ('m', Column::Minor),
    ('N', Column::Bytes),
    ('n', Column::Sectors),
    ('p', Column::Pid),
    ('P', Column::Ignored),
    ('s', Column::Ignored),
    ('S', Column::Lba),
    ('t', Column::Time(0)),
    ('T', Column::Time(9)),
    ('u', Column::Ignored),
    ('U', Column::Ignored),
    ('z', Column::Ignored),
];

impl Column {
    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, column)| *column == self).map_or("column", |(name, _)| name)
    }
}

impl ColumnLayout {
    pub(super) fn separator(&self) -> Separator {
        self.separator
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    fn has(&self, column: Column) -> bool {
        self.items.contains(&Item::Column(column))
    }

    /// Whether lines are events (queued, issued, completed), not requests.
    pub(crate) fn has_actions(&self) -> bool {
        self.has(Column::Action)
    }

    fn check(self, text: &str) -> Result<Self, InputError> {
        let time = self.items.iter().any(|item| matches!(item, Item::Column(Column::Time(_))));
        let wanted: [(&str, &[Column]); 3] = [
            ("lba or offset", &[Column::Lba, Column::Offset]),
            ("sectors or bytes", &[Column::Sectors, Column::Bytes]),
            ("op, read, write or opcode", &[Column::Op, Column::Read, Column::Write, Column::Opcode]),
        ];
        let missing = if time { None } else { Some("time_s, time_ms, time_us or time_ns") };
        let counted = |columns: &[Column]| columns.iter().filter(|c| self.has(**c)).count();
        let missing =
            missing.or(wanted.iter().find(|(_, columns)| counted(columns) != 1).map(|(expected, _)| *expected));
        match missing {
            None => Ok(self),
            Some(expected) => Err(InputError::new("columns", text, format!("exactly one of {expected}"))),
        }
    }
}

impl FromStr for ColumnLayout {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let of = |separator, items| Self { separator, items }.check(text);
        if text.contains('%') {
            return of(Separator::Literal, literal(text)?);
        }
        let separator = if text.contains(',') { Separator::Comma } else { Separator::Blanks };
        let names: Vec<&str> = match separator {
            Separator::Comma => text.split(',').map(str::trim).collect(),
            _ => text.split_whitespace().collect(),
        };
        let items = names.into_iter().map(|name| named(name).map(Item::Column)).collect::<Result<_, _>>()?;
        of(separator, items)
    }
}

fn named(name: &str) -> Result<Column, InputError> {
    let found = NAMES.iter().find(|(known, _)| *known == name).map(|&(_, column)| column);
    found.ok_or_else(|| {
        let all = NAMES.iter().map(|(known, _)| *known);
        let expected = match suggest(name, all.clone()) {
            Some(near) => format!("{near} (or another of {})", all.collect::<Vec<_>>().join(" ")),
            None => format!("one of {}", all.collect::<Vec<_>>().join(" ")),
        };
        InputError::new("columns", name, expected)
    })
}

/// A format of `blkparse -f`: `%`, perhaps `-`, perhaps a width, a letter.
fn literal(text: &str) -> Result<Vec<Item>, InputError> {
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    let mut items = Vec::new();
    let mut rest = text.trim_end_matches('\n');
    while !rest.is_empty() {
        let Some(at) = rest.find('%') else {
            items.push(Item::Text(rest.trim().as_bytes().to_vec()));
            break;
        };
        if at > 0 {
            items.push(Item::Text(rest[..at].trim().as_bytes().to_vec()));
        }
        let after = rest[at + 1..].trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        let mut letters = after.chars();
        let letter = letters.next();
        let column = letter.and_then(|l| LETTERS.iter().find(|(known, _)| *known == l)).map(|&(_, column)| column);
        let column = column.ok_or_else(|| {
            let got = letter.map_or("% at the end".to_owned(), |l| format!("%{l}"));
            let known: String = LETTERS.iter().map(|(l, _)| *l).collect();
            InputError::new("columns", got, format!("% and one of the letters of blkparse -f: {known}"))
        })?;
        items.push(Item::Column(column));
        rest = letters.as_str();
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_a_time_a_place_a_length_and_an_operation() {
        let e = |text: &str| text.parse::<ColumnLayout>().unwrap_err().to_string();
        assert!(e("op,lba,sectors").contains("exactly one of time_s"));
        assert!(e("time_s,op,lba,offset,sectors").contains("exactly one of lba or offset"));
        assert!(e("time_s,op,lba").contains("exactly one of sectors or bytes"));
        assert!(e("time_s,lba,sectors").contains("exactly one of op, read"));
        assert!(e("tine_s,op,lba,sectors").starts_with("columns: got tine_s, expected time_s (or"));
        assert!(e("%T %q").starts_with("columns: got %q, expected % and one of the letters"));
        assert!(e("").contains("exactly one of"));
        let layout: ColumnLayout = "%D %2c %8s %5T.%9t %5p %2a %3d %S + %n\\n".parse().unwrap();
        assert!(layout.has_actions());
        assert_eq!(layout.items().iter().filter(|i| matches!(i, Item::Column(_))).count(), 10);
    }
}
