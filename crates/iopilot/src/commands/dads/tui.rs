//! The dashboard of `iopilot dads run --tui`.

use super::status::{doing, last_decision};
use iopilot_live::dads::{CheckSummary, Daemon, DiskStatus};
use iopilot_render::number::{plain, short_count};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Sparkline, Table, Wrap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The polling period of the disks and the keyboard.
const PERIOD: Duration = Duration::from_millis(250);

/// Shows the dashboard until the user leaves it, a signal arrives or no disk is left.
pub(super) fn show(daemon: &Daemon, stop: &AtomicBool) -> anyhow::Result<()> {
    // Restores the terminal even after a panic.
    let mut terminal = ratatui::try_init()?;
    let mut chosen = 0;
    let result = (|| -> std::io::Result<()> {
        while daemon.tick(PERIOD) && !stop.load(Ordering::Relaxed) {
            let disks = daemon.status().disks;
            terminal.draw(|frame| draw(frame, &disks, chosen))?;
            while event::poll(Duration::ZERO)? {
                let Event::Key(key) = event::read()? else { continue };
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                    KeyCode::Tab | KeyCode::Down => chosen = (chosen + 1) % disks.len().max(1),
                    KeyCode::BackTab | KeyCode::Up => chosen = (chosen + disks.len().max(1) - 1) % disks.len().max(1),
                    _ => {}
                }
            }
        }
        Ok(())
    })();
    ratatui::restore();
    Ok(result?)
}

/// Narrower terminals stack the panes.
const SIDE_BY_SIDE: u16 = 70;

fn draw(frame: &mut Frame<'_>, disks: &[DiskStatus], chosen: usize) {
    let width = frame.area().width;
    let rows = u16::try_from(disks.len()).unwrap_or(u16::MAX).saturating_add(3).min(frame.area().height / 3);
    let areas =
        Layout::vertical([Constraint::Length(rows), Constraint::Min(8), Constraint::Length(6), Constraint::Length(1)]);
    let [list, candidates, decision, help] = areas.areas(frame.area());
    frame.render_widget(overview(disks, chosen, width), list);
    if let Some(disk) = disks.get(chosen) {
        let panes = match width >= SIDE_BY_SIDE {
            true => Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]),
            false => Layout::vertical([Constraint::Percentage(40), Constraint::Percentage(60)]),
        };
        let [costs, past] = panes.areas(candidates);
        draw_costs(frame, disk, costs);
        draw_past(frame, disk, past);
        let words = Paragraph::new(last_decision(disk)).wrap(Wrap { trim: true });
        frame.render_widget(words.block(Block::bordered().title(" last decision ")), decision);
    }
    let keys = match width >= SIDE_BY_SIDE {
        true => " q ends the flight and puts every scheduler back   tab: next disk",
        false => " q: end the flight   tab: next disk",
    };
    frame.render_widget(Line::from(keys).dim(), help);
}

/// The columns of the overview, most important first: title, width, content.
type Column = (&'static str, u16, fn(&DiskStatus) -> String);
const COLUMNS: [Column; 10] = [
    ("disk", 7, |disk| disk.device.clone()),
    ("scheduler", 14, |disk| disk.scheduler.clone()),
    ("doing", 10, |disk| doing(disk).to_owned()),
    ("IOPS", 6, |disk| short_count(disk.iops)),
    ("ms", 6, |disk| plain(disk.latency_ms)),
    ("inside", 6, |disk| disk.pending.to_string()),
    ("model", 8, |disk| {
        let off = disk.last.as_ref().and_then(|c| c.model_error_percent);
        off.map_or("-".to_owned(), |percent| format!("{percent:.1} %"))
    }),
    ("changes", 7, |disk| disk.changes.to_string()),
    ("requests", 10, |disk| disk.requests.to_string()),
    ("lost", 6, |disk| disk.lost_events.to_string()),
];

/// One line for each disk, with as many columns as there is room for.
fn overview(disks: &[DiskStatus], chosen: usize, width: u16) -> Table<'static> {
    let mut room = width.saturating_sub(1);
    let mut columns: Vec<&Column> = Vec::new();
    for column in &COLUMNS {
        let Some(left) = room.checked_sub(column.1 + 1) else { break };
        room = left;
        columns.push(column);
    }
    let row = |(i, disk): (usize, &DiskStatus)| {
        let cells = columns.iter().map(|(_, _, content)| content(disk));
        Row::new(cells).style(if i == chosen { Style::new().reversed() } else { Style::new() })
    };
    let titles = Row::new(columns.iter().map(|(title, ..)| *title)).bold();
    let widths: Vec<Constraint> = columns.iter().map(|(_, width, _)| Constraint::Length(*width)).collect();
    Table::new(disks.iter().enumerate().map(row).collect::<Vec<_>>(), widths)
        .header(titles)
        .block(Block::bordered().title(" iopilot dads "))
}

/// The predicted cost of each candidate; the longest bar is the worst.
fn draw_costs(frame: &mut Frame<'_>, disk: &DiskStatus, area: Rect) {
    let block = Block::bordered().title(format!(" cost by {} (less is better) ", disk.objective));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let Some(check) = &disk.last else { return };
    let worst = check.candidates.iter().map(|c| c.cost).fold(f64::MIN_POSITIVE, f64::max);
    let mut order: Vec<_> = check.candidates.iter().collect();
    order.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    for (candidate, y) in order.into_iter().zip(0..inside.height) {
        let line = Rect { x: inside.x, y: inside.y + y, width: inside.width, height: 1 };
        let in_use = candidate.scheduler == check.decision;
        let gauge = Gauge::default()
            .ratio((candidate.cost / worst).clamp(0.0, 1.0))
            .label(format!("{}{}  {:.4}", if in_use { "* " } else { "" }, candidate.scheduler, candidate.cost))
            .gauge_style(if in_use { Style::new().green() } else { Style::new().blue() });
        frame.render_widget(gauge, line);
    }
}

/// Requests per second and how long they took, check by check, above the time.
fn draw_past(frame: &mut Frame<'_>, disk: &DiskStatus, area: Rect) {
    let [upper, lower] = Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area);
    let wide = usize::from(area.width.saturating_sub(2));
    let last = &disk.history[disk.history.len().saturating_sub(wide)..];
    // In thousandths, as a bar is a whole number.
    let thousandths = |value: &dyn Fn(&CheckSummary) -> f64| -> Vec<u64> {
        last.iter().map(|check| (value(check) * 1e3) as u64).collect()
    };
    let chart = |data: Vec<u64>, title: String| {
        let block = Block::bordered().title(title).title_bottom(Line::from(axis(last)));
        Sparkline::default().data(data).block(block)
    };
    let (iops, ms) = (short_count(disk.iops), plain(disk.latency_ms));
    frame.render_widget(chart(thousandths(&|check| check.iops), format!(" IOPS, now {iops} ")), upper);
    frame.render_widget(chart(thousandths(&|check| check.latency_ms), format!(" ms each, now {ms} ")), lower);
}

/// The axis below the bars of `checks`: a mark at the first, and one at the last.
fn axis(checks: &[CheckSummary]) -> String {
    let (Some(first), Some(last)) = (checks.first(), checks.last()) else { return String::new() };
    let began = format!("-{:.0} s", last.at_s - first.at_s);
    let gap = checks.len().saturating_sub(began.chars().count() + "now".len());
    if gap > 0 { format!("{began}{}now", "─".repeat(gap)) } else { format!("{began} to now") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_dads::{CandidateCost, DecisionReason, SchedulerCheck};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_dashboard_tells_load_costs_and_the_decision_on_any_terminal() {
        let cost = |scheduler: &str, cost| CandidateCost { scheduler: scheduler.to_owned(), cost, judged: cost };
        let check = SchedulerCheck {
            at_s: 5.0,
            requests: 10,
            tried: 10,
            scheduler: "none".into(),
            candidates: vec![cost("none", 2.0), cost("bfq", 1.0)],
            measured_cost: Some(2.1),
            model_error_percent: Some(-4.8),
            change_estimate_s: 0.02,
            predicted_gain_percent: None,
            measured_gain_percent: None,
            decision: "bfq".into(),
            reason: DecisionReason::Better { gain: 0.5 },
            why: "bfq would have saved half.".into(),
        };
        let past = |n: u32| CheckSummary {
            at_s: f64::from(5 * n),
            scheduler: "bfq".into(),
            measured: None,
            predicted: None,
            best: None,
            requests: 100,
            iops: 100.0 + f64::from(n),
            latency_ms: 7.25,
        };
        let disk = DiskStatus {
            device: "sda".into(),
            scheduler: "bfq".into(),
            last: Some(check),
            history: (0..30).map(past).collect(),
            iops: 158.4,
            latency_ms: 405.1,
            ..DiskStatus::default()
        };
        for (width, height) in [(120, 30), (80, 24), (50, 30), (20, 5), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, std::slice::from_ref(&disk), 0)).unwrap();
            let text: String = terminal.backend().buffer().content().iter().map(|c| c.symbol()).collect();
            if width >= 50 {
                let all = ["sda", "* bfq  1.0000", "none  2.0000", "bfq would have saved half.", "now 158", "now 405"];
                for part in all.into_iter().chain(["IOPS", "-145 s──", "─now", "tab: next disk"]) {
                    assert!(text.contains(part), "{part} is not in {text}");
                }
            }
            assert!(width < 80 || text.contains("-4.8 %"), "{text}");
        }
    }
}
