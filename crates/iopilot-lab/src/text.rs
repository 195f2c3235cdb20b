//! An outcome as text for a terminal.

use super::outcome::{Cell, ResultTable};
use super::{Experiment, Outcome};
use iopilot_render::Terminal;
use iopilot_render::{Alignment, Table, number, wrap};
use std::fmt::Write;

/// The indent of a claim's lines.
const INDENT: usize = 4;

/// Tables, claims and notes.
pub fn text(experiment: &Experiment, outcome: &Outcome, terminal: Terminal) -> String {
    let mut out = wrap(&format!("{} ({}): {}", experiment.name, experiment.source, experiment.title), terminal.width);
    for table in &outcome.tables {
        let _ = write!(out, "\n{}", wrap(table.title(), terminal.width));
        out.push_str(&render(table, terminal));
    }
    if !outcome.claims.is_empty() {
        let held = outcome.claims.iter().filter(|c| c.not_because().is_none()).count();
        let _ = writeln!(out, "\n{} of {} claims reproduced", held, outcome.claims.len());
    }
    for claim in &outcome.claims {
        let told = wrap(&format!("{}: {}", claim.source(), claim.claim()), terminal.width.saturating_sub(15).max(20));
        let (mark, paint): (_, fn(Terminal, &str) -> String) = match claim.not_because() {
            None => ("reproduced", Terminal::good),
            Some(_) => ("NOT reproduced", Terminal::bold),
        };
        for (i, line) in told.lines().enumerate() {
            let mark = if i == 0 { mark } else { "" };
            let _ = writeln!(out, "{} {line}", paint(terminal, &format!("{mark:<14}")));
        }
        indented(&mut out, &format!("goal: {}; ours: {}", claim.goal(), claim.ours()), terminal);
        if let Some(because) = claim.not_because() {
            indented(&mut out, &format!("because {because}"), terminal);
        }
    }
    if !outcome.notes.is_empty() {
        out.push('\n');
    }
    for note in &outcome.notes {
        out.push_str(&terminal.faint(&wrap(&format!("note: {note}"), terminal.width)));
    }
    out
}

fn indented(out: &mut String, text: &str, terminal: Terminal) {
    for line in wrap(text, terminal.width.saturating_sub(INDENT).max(20)).lines() {
        let _ = writeln!(out, "{:INDENT$}{line}", "");
    }
}

/// Columns of text are aligned left, columns with a number right.
fn render(results: &ResultTable, terminal: Terminal) -> String {
    let columns: Vec<(&str, Alignment)> = results
        .columns()
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let words = results.rows().iter().all(|row| matches!(row[i], Cell::Text(_)));
            (name.as_str(), if words { Alignment::Left } else { Alignment::Right })
        })
        .collect();
    let mut table = Table::new(&columns);
    for row in results.rows() {
        table.row(row.iter().map(shown).collect());
    }
    table.render(terminal)
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Number(value) => number::plain(*value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Claim;
    use super::*;

    fn outcome() -> Outcome {
        let mut table = ResultTable::new("times", "Times of everything", &["disk", "read_ms"]);
        table.row(vec!["a".into(), 1.5.into()]);
        table.row(vec!["b".into(), f64::NAN.into()]);
        let claims = vec![
            Claim::new("GF 1", "it is fast", "1 ms", "0.9 ms", true, ""),
            Claim::new("GF 2", "it is very fast", "0.1 ms", "0.9 ms", false, "the arm is slow"),
        ];
        Outcome { tables: vec![table], claims, notes: vec!["one seed".into()], files: Vec::new() }
    }

    #[test]
    fn every_claim_is_printed_with_its_verdict() {
        let experiment = Experiment { name: "x", source: "GF", title: "t", run: |_| Ok(outcome()) };
        let text = text(&experiment, &outcome(), Terminal { width: 60, colour: false });
        assert!(text.contains("1 of 2 claims reproduced"), "{text}");
        assert!(text.contains("\nreproduced     GF 1: it is fast\n    goal: 1 ms; ours: 0.9 ms\n"), "{text}");
        assert!(text.contains("\nNOT reproduced GF 2: it is very fast\n"), "{text}");
        assert!(text.contains("    because the arm is slow\n"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 60), "{text}");
    }
}
