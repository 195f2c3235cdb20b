//! The table of a comparison.

use super::{COLUMNS, RunColumn, columns, decides, notes, ranking, self_replays, spread_in_words};
use iopilot_compare::Comparison;
use iopilot_render::{Alignment, Terminal, fit, pad, wrap};
use std::fmt::Write;

/// The table of a comparison, the verdict and the notes. Best first, or in the order asked for.
pub(crate) fn comparison(comparison: &Comparison, best_first: bool, terminal: Terminal) -> String {
    let ranking = ranking(comparison);
    let order = if best_first { ranking } else { (0..comparison.runs.len()).collect() };
    let several = comparison.runs.len() > 1;
    let wins = |i: usize| several && comparison.verdict.winners.contains(&comparison.runs[i].scheduler);
    let name = |i: usize| format!("{} {}", if wins(i) { '*' } else { ' ' }, comparison.runs[i].scheduler);
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
    let shown = choose(columns, longest, terminal.width, |column| decides(comparison, column));
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
        let _ = writeln!(out, "{}", if wins(i) { terminal.good(&line) } else { line });
    }
    if let Some(words) = spread_in_words(comparison).filter(|_| shown.iter().any(|(c, ..)| c.key == "spread.percent")) {
        out += &terminal.faint(&wrap(&words, terminal.width));
    }
    if several {
        let _ = write!(out, "\n{}", wrap(&comparison.verdict.text, terminal.width));
    }
    out.extend(notes(comparison, terminal));
    out
}

/// Drops columns until a row fits; the most expendable first. Those that the verdict compares stay.
fn choose(
    mut columns: Vec<(&RunColumn, Vec<String>, usize)>,
    name_width: usize,
    width: usize,
    decides: impl Fn(&RunColumn) -> bool,
) -> Vec<(&RunColumn, Vec<String>, usize)> {
    let expendable = |c: &RunColumn| if decides(c) { 0 } else { c.expendable };
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
    use iopilot_sim::{RunReport, Spread};

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
    fn the_figure_that_decides_is_a_column() {
        let mut c = sample_comparison(3);
        for (run, task) in c.runs.iter_mut().zip([131.0, 150.0, 164.0]) {
            run.task_s_mean = Some(task);
            run.spread = Spread::of(&[run.clone(), RunReport { task_s_mean: Some(task + 2.0), ..run.clone() }]);
        }
        c.verdict.measure = "task_s_mean".into();
        let text = comparison(&c, true, Terminal { width: 60, colour: false });
        let [groups, titles, first, ..] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(groups.contains("task") && titles.contains(" s ") && first.contains("131"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("±%: half of the range of \"task s\" in 2 runs"), "{text}");
        // What decides between equals is shown, too.
        assert!(!titles.contains("each"), "{text}");
        c.verdict.decided_by = Some("process_wait_ms".into());
        let text = comparison(&c, true, Terminal { width: 60, colour: false });
        assert!(text.lines().nth(1).unwrap().contains("each"), "{text}");
    }

    #[test]
    fn the_star_is_at_what_the_verdict_calls_best() {
        let mut c = sample_comparison(3);
        c.verdict.winners = vec!["noop".into(), "deadline".into()];
        let starred = |c: &Comparison| {
            let text = comparison(c, true, Terminal { width: 120, colour: false });
            text.lines().filter_map(|l| l.strip_prefix("* ")).map(|l| l.split(' ').next().unwrap().to_owned()).collect()
        };
        let stars: Vec<String> = starred(&c);
        assert_eq!(stars.len(), 2, "{stars:?}");
        c.verdict.winners.clear();
        assert_eq!(starred(&c), Vec::<String>::new());
    }

    #[test]
    fn without_colour_there_is_no_escape() {
        let coloured = comparison(&sample_comparison(3), true, Terminal { width: 120, colour: true });
        let plain = comparison(&sample_comparison(3), true, Terminal { width: 120, colour: false });
        assert!(coloured.contains("\x1b[") && !plain.contains('\x1b'));
    }
}
