//! Tables on a terminal.

use crate::Terminal;
use std::fmt::Write;

/// The alignment of a column's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Rows under a header, two spaces between columns.
pub struct Table {
    alignment: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &[(&str, Alignment)]) -> Self {
        Self {
            alignment: columns.iter().map(|c| c.1).collect(),
            rows: vec![columns.iter().map(|c| c.0.to_owned()).collect()],
        }
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.alignment.len());
        self.rows.push(cells);
    }

    /// The lines; the last column is cut where the terminal ends.
    pub fn render(&self, terminal: Terminal) -> String {
        let width = |c: usize| self.rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.alignment.len()).map(width).collect();
        let mut out = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> =
                row.iter().zip(&widths).zip(&self.alignment).map(|((cell, &w), &a)| pad(cell, w, a)).collect();
            let line = fit(cells.join("  ").trim_end(), terminal.width);
            let _ = writeln!(out, "{}", if i == 0 { terminal.bold(&line) } else { line });
        }
        out
    }
}

/// `text` filled up with blanks to `width` columns.
pub fn pad(text: &str, width: usize, alignment: Alignment) -> String {
    match alignment {
        Alignment::Left => format!("{text:<width$}"),
        Alignment::Right => format!("{text:>width$}"),
    }
}

/// `text` in at most `width` columns, an ellipsis where something was cut.
pub fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// `text` in lines of at most `width` columns, broken between words.
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_left_numbers_are_right_and_nothing_is_wider_than_the_terminal() {
        let mut table = Table::new(&[("name", Alignment::Left), ("ms", Alignment::Right)]);
        table.row(vec!["bfq".into(), "1.5".into()]);
        let terminal = |width| Terminal { width, colour: false };
        assert_eq!(table.render(terminal(80)), "name   ms\nbfq   1.5\n");
        assert_eq!(table.render(terminal(5)), "name…\nbfq …\n");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two  three", 7), "one two\nthree\n");
    }
}
