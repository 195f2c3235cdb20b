//! Every format in the table has a row on its page, and a sample.
#![allow(clippy::unwrap_used)]

mod common;

use common::samples;
use iopilot_trace::Format;

const PAGE: &str = include_str!("../../../docs/reference/trace-formats.md");

#[test]
fn the_page_has_a_row_for_every_format() {
    for format in Format::ALL {
        let spec = format.spec();
        let begin = format!("| `{}` | ", spec.name);
        let row = PAGE.lines().find(|line| line.starts_with(&begin));
        let row = row
            .unwrap_or_else(|| panic!("docs/reference/trace-formats.md: no row `{begin}{} | … | … |`", spec.summary));
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells[1], spec.summary, "docs/reference/trace-formats.md, {format}: second column");
        let written = !matches!(cells.last(), None | Some(&""));
        assert_eq!(written, format.is_writable(), "docs/reference/trace-formats.md, {format}: column \"written\"");
    }
}

#[test]
fn the_page_has_no_format_that_is_not_there() {
    let table = PAGE.lines().skip_while(|line| !line.starts_with("| name |")).skip(2);
    for row in table.take_while(|line| line.starts_with('|')) {
        let name = row.split('`').nth(1).unwrap_or_default();
        assert!(name.parse::<Format>().is_ok(), "docs/reference/trace-formats.md: `{name}` is in no table of formats");
    }
}

#[test]
fn every_format_has_a_sample() {
    let samples = samples();
    for format in Format::ALL {
        let has_one = samples.iter().any(|(of, ..)| of == format);
        assert!(has_one, "{format}: give its SPEC a sample, or put one into crates/iopilot-trace/samples/{format}.bin");
    }
}
