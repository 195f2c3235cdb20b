//! The dashboard of `iopilot dads run --tui`.

use super::status::doing;
use iopilot_live::dads::{Daemon, DiskStatus};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Sparkline, Table, Wrap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two looks at the disks and the keyboard.
const PERIOD: Duration = Duration::from_millis(250);

/// Shows the dashboard until the user leaves it, a signal comes or no disk is flown any more.
pub(super) fn show(daemon: &Daemon, stop: &AtomicBool) -> anyhow::Result<()> {
    // Gives the terminal back also after a panic.
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

fn draw(frame: &mut Frame<'_>, disks: &[DiskStatus], chosen: usize) {
    let rows = u16::try_from(disks.len()).unwrap_or(u16::MAX).saturating_add(3).min(frame.area().height / 3);
    let areas =
        Layout::vertical([Constraint::Length(rows), Constraint::Min(8), Constraint::Length(6), Constraint::Length(1)]);
    let [list, candidates, decision, help] = areas.areas(frame.area());
    frame.render_widget(overview(disks, chosen), list);
    if let Some(disk) = disks.get(chosen) {
        let [costs, past] =
            Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(candidates);
        draw_costs(frame, disk, costs);
        draw_past(frame, disk, past);
        let why = disk.error.clone().or_else(|| disk.last.as_ref().map(|c| c.why.clone()));
        let text = why.unwrap_or_else(|| format!("The first check comes after {} s.", disk.interval_s));
        let words = Paragraph::new(text).wrap(Wrap { trim: true }).block(Block::bordered().title(" last decision "));
        frame.render_widget(words, decision);
    }
    frame.render_widget(Line::from(" q ends the flight and puts every scheduler back   tab: next disk").dim(), help);
}

fn overview(disks: &[DiskStatus], chosen: usize) -> Table<'static> {
    let row = |(i, disk): (usize, &DiskStatus)| {
        let off = disk.last.as_ref().and_then(|c| c.model_error_percent);
        let cells = [
            disk.device.clone(),
            disk.scheduler.clone(),
            doing(disk).to_owned(),
            disk.requests.to_string(),
            disk.pending.to_string(),
            disk.changes.to_string(),
            off.map_or("-".to_owned(), |percent| format!("{percent:.1} %")),
            disk.lost_events.to_string(),
        ];
        Row::new(cells).style(if i == chosen { Style::new().reversed() } else { Style::new() })
    };
    let titles = ["disk", "scheduler", "doing", "requests", "inside", "changes", "model off", "lost"];
    let widths = [10, 24, 12, 12, 8, 8, 10, 8].map(Constraint::Length);
    Table::new(disks.iter().enumerate().map(row), widths)
        .header(Row::new(titles).bold())
        .block(Block::bordered().title(" iopilot dads "))
}

/// The predicted cost of each candidate; the longest bar is the worst.
fn draw_costs(frame: &mut Frame<'_>, disk: &DiskStatus, area: Rect) {
    let block = Block::bordered().title(format!(" predicted cost by {} (less is better) ", disk.objective));
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

/// The measured costs of the last checks, and their numbers of requests.
fn draw_past(frame: &mut Frame<'_>, disk: &DiskStatus, area: Rect) {
    let [upper, lower] = Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area);
    let wide = usize::from(area.width.saturating_sub(2));
    let last = &disk.history[disk.history.len().saturating_sub(wide)..];
    // In thousandths: a bar is a whole number.
    let costs: Vec<u64> = last.iter().map(|p| (p.measured.unwrap_or(0.0) * 1e3) as u64).collect();
    let requests: Vec<u64> = last.iter().map(|p| p.requests).collect();
    let chart =
        |data: Vec<u64>, title: &'static str| Sparkline::default().data(data).block(Block::bordered().title(title));
    frame.render_widget(chart(costs, " measured cost, check by check "), upper);
    frame.render_widget(chart(requests, " requests, check by check "), lower);
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_dads::{CandidateCost, Check, Reason};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_dashboard_tells_disks_costs_and_the_decision() {
        let cost = |scheduler: &str, cost| CandidateCost { scheduler: scheduler.to_owned(), cost, judged: cost };
        let check = Check {
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
            reason: Reason::Better { gain: 0.5 },
            why: "bfq would have saved half.".into(),
        };
        let disk =
            DiskStatus { device: "sda".into(), scheduler: "bfq".into(), last: Some(check), ..DiskStatus::default() };
        for (width, height) in [(100, 30), (20, 5), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, std::slice::from_ref(&disk), 0)).unwrap();
            let text: String = terminal.backend().buffer().content().iter().map(|c| c.symbol()).collect();
            if width == 100 {
                for part in ["sda", "* bfq  1.0000", "none  2.0000", "bfq would have saved half.", "-4.8 %"] {
                    assert!(text.contains(part), "{part} is not in {text}");
                }
            }
        }
    }
}
