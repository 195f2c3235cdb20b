//! The table of a comparison.

use super::{COLUMNS, RunColumn, columns, measure, notes, ranking, self_replays};
use iopilot_compare::Comparison;
use iopilot_render::{Alignment, Terminal, fit, pad, wrap};
use std::fmt::Write;

/// The table of a comparison, the verdict and the notes. Best first, or in the order asked for.
pub(crate) fn comparison(comparison: &Comparison, best_first: bool, terminal: Terminal) -> String {
    let ranking = ranking(comparison);
    let best = ranking.first().copied();
    let order = if best_first { ranking } else { (0..comparison.runs.len()).collect() };
    let several = comparison.runs.len() > 1;
    let name =
        |i: usize| format!("{} {}", if several && Some(i) == best { '*' } else { ' ' }, comparison.runs[i].scheduler);
    let longest = order.iter().map(|&i| name(i).chars().count()).max().unwrap_or(0).max("  scheduler".len());

    let columns: Vec<(&RunColumn, Vec<String>, usize)> = columns(comparison)
        .map(|c| {
            let cells: Vec<String> = order.iter().map(|&i| (c.format)((c.value)(&comparison.runs[i]))).collect();
            let alone = !c.group.is_empty() && COLUMNS.iter().filter(|d| d.group == c.group).count() == 1;
            let head = c.title.len().max(if alone { c.group.len() } else { 0 });
            let width = cells.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(head);
            (c, cells, width)
        })
        .collect();
    let shown = choose(columns, longest, terminal.width, measure(comparison));
    let taken: usize = shown.iter().map(|c| c.2 + 2).sum();
    let name_width = longest.min(terminal.width.saturating_sub(taken).max(12));

    let mut out = self_replays(comparison, terminal);
    let _ = writeln!(out, "{}", terminal.faint(&groups(&shown, name_width)));
    let titles: String = shown.iter().map(|(c, _, w)| format!("  {}", pad(c.title, *w, Alignment::Right))).collect();
    let _ = writeln!(out, "{}", terminal.bold(&format!("{}{titles}", pad("  scheduler", name_width, Alignment::Left))));
    for (row, &i) in order.iter().enumerate() {
        let cells: String =
            shown.iter().map(|(_, cells, w)| format!("  {}", pad(&cells[row], *w, Alignment::Right))).collect();
        let line = format!("{}{cells}", pad(&fit(&name(i), name_width), name_width, Alignment::Left));
        let _ = writeln!(out, "{}", if several && Some(i) == best { terminal.good(&line) } else { line });
    }
    if several {
        let _ = write!(out, "\n{}", wrap(&comparison.verdict.text, terminal.width));
    }
    out.extend(notes(comparison, terminal));
    out
}

/// Drops columns until a row fits; the most expendable first. The verdict's own measure stays.
fn choose<'a>(
    mut columns: Vec<(&'a RunColumn, Vec<String>, usize)>,
    name_width: usize,
    width: usize,
    measure: &RunColumn,
) -> Vec<(&'a RunColumn, Vec<String>, usize)> {
    let expendable = |c: &RunColumn| if c.key == measure.key { 0 } else { c.expendable };
    while name_width + columns.iter().map(|c| c.2 + 2).sum::<usize>() > width {
        let Some(victim) =
            (0..columns.len()).filter(|&i| expendable(columns[i].0) > 0).max_by_key(|&i| expendable(columns[i].0))
        else {
            break;
        };
        columns.remove(victim);
    }
    columns
}

/// The line above the titles: each group's title over its columns.
fn groups(shown: &[(&RunColumn, Vec<String>, usize)], name_width: usize) -> String {
    let mut line = " ".repeat(name_width);
    let mut at = 0;
    while at < shown.len() {
        let group = shown[at].0.group;
        let end = at + shown[at..].iter().take_while(|c| c.0.group == group).count();
        let width = shown[at..end].iter().map(|c| c.2 + 2).sum::<usize>();
        let title = if group.len() + 2 <= width { group } else { "" };
        if group.is_empty() || end - at == 1 {
            line.push_str(&pad(title, width, Alignment::Right));
        } else {
            let dashes = (width - 2).saturating_sub(title.len() + 2);
            let _ = write!(line, "  {} {title} {}", "─".repeat(dashes / 2), "─".repeat(dashes - dashes / 2));
        }
        at = end;
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;

    fn lines(width: usize, best_first: bool) -> Vec<String> {
        let text = comparison(&sample_comparison(17), best_first, Terminal { width, colour: false });
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn everything_fits_in_120_columns() {
        let lines = lines(120, true);
        assert!(lines.iter().all(|l| l.chars().count() <= 120), "{lines:#?}");
        for c in columns(&sample_comparison(17)) {
            assert!(lines[1].split_whitespace().any(|w| w == c.title), "{} is missing: {}", c.title, lines[1]);
        }
        assert!(lines[0].contains("response ms"));
        assert_eq!(lines.iter().filter(|l| l.starts_with('*')).count(), 1);
    }

    #[test]
    fn a_narrow_terminal_loses_columns_but_not_the_measure() {
        for width in [30, 50, 80] {
            let lines = lines(width, true);
            assert!(lines.iter().all(|l| l.chars().count() <= width), "{width}: {lines:#?}");
            assert!(lines[1].contains("mean"), "{width}: {}", lines[1]);
        }
    }

    #[test]
    fn best_first_or_as_asked() {
        assert!(lines(120, true)[2].starts_with('*'));
        assert!(lines(120, false)[2].contains("noop"));
    }

    #[test]
    fn by_throughput_the_fastest_is_first_and_its_column_stays() {
        let mut c = sample_comparison(9);
        c.verdict.measure = "throughput_mb_s".into();
        let text = comparison(&c, true, Terminal { width: 35, colour: false });
        assert!(text.lines().nth(1).unwrap().contains("MB/s"), "{text}");
        let order = ranking(&c);
        assert!(order.windows(2).all(|w| c.runs[w[0]].throughput_mb_s >= c.runs[w[1]].throughput_mb_s));
    }

    #[test]
    fn without_colour_there_is_no_escape() {
        let coloured = comparison(&sample_comparison(3), true, Terminal { width: 120, colour: true });
        let plain = comparison(&sample_comparison(3), true, Terminal { width: 120, colour: false });
        assert!(coloured.contains("\x1b[") && !plain.contains('\x1b'));
    }
}
