//! The dashboard of `iopilot redcap status --tui`.

use super::{check_text, status_lines};
use iopilot_live::redcap::{self, RedcapAttachment, RedcapStatus};
use iopilot_render::number::{plain, short_count};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Gauge, Paragraph, Sparkline};
use std::path::Path;
use std::time::{Duration, Instant};

/// The polling period of the cache.
const PERIOD: Duration = Duration::from_secs(1);
/// Samples that are kept.
const REMEMBERED: usize = 240;

/// The change between two samples.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    reads: f64,
    disk_reads: f64,
    /// Share of the blocks asked for that came from the cache, in percent.
    hits: f64,
}

impl Second {
    fn between(before: &RedcapStatus, now: &RedcapStatus) -> Self {
        let seconds = (now.up_s - before.up_s).max(1e-3);
        let since = |of: fn(&RedcapStatus) -> u64| of(now).saturating_sub(of(before)) as f64;
        let asked = since(|s| s.cache.requested_blocks);
        Self {
            reads: since(|s| s.application.requests.read) / seconds,
            disk_reads: since(|s| s.disk.requests.read) / seconds,
            hits: if asked > 0.0 { 100.0 * since(|s| s.cache.hit_blocks) / asked } else { 0.0 },
        }
    }
}

/// Shows the dashboard until the user leaves it, or the disk is detached.
pub(super) fn show(state: &Path, which: &str) -> anyhow::Result<()> {
    let (attachment, mut status) = redcap::status(state, which)?;
    // Restores the terminal even after a panic.
    let mut terminal = ratatui::try_init()?;
    let mut past: Vec<Second> = Vec::new();
    let result = (|| -> anyhow::Result<()> {
        loop {
            terminal.draw(|frame| draw(frame, &attachment, &status, &past))?;
            let next = Instant::now() + PERIOD;
            while event::poll(next.saturating_duration_since(Instant::now()))? {
                let Event::Key(key) = event::read()? else { continue };
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                    _ => {}
                }
            }
            let now = redcap::status(state, which)?.1;
            past.push(Second::between(&status, &now));
            if past.len() > REMEMBERED {
                past.remove(0);
            }
            status = now;
        }
    })();
    ratatui::restore();
    result
}

/// The columns at which the values of [`status_lines`] and of [`check_text`] begin.
const FACTS: usize = 13;
const CHECKS: usize = 9;
/// Rows of decisions, and the fewer rows of a low terminal.
const DECISIONS: usize = 4;
const FEW_DECISIONS: usize = 2;
/// The least rows of the charts, and the rows of the help line.
const CHARTS: u16 = 6;
const HELP: u16 = 1;
/// A terminal of at least this many rows also has a memory bar.
const HIGH: u16 = 36;

fn draw(frame: &mut Frame<'_>, attachment: &RedcapAttachment, status: &RedcapStatus, past: &[Second]) {
    let wide = usize::from(frame.area().width.saturating_sub(2));
    let facts: Vec<Line<'_>> =
        status_lines(attachment, status).iter().flat_map(|line| wrapped(line, wide, FACTS)).map(Line::from).collect();
    let rows = |lines: &[Line<'_>]| u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let high = if frame.area().height >= HIGH { 3 } else { 0 };
    let left = frame.area().height.saturating_sub(rows(&facts) + high + CHARTS + HELP);
    let most = if usize::from(left) < DECISIONS + 2 { FEW_DECISIONS } else { DECISIONS };
    let checks = decisions(status, wide, most);
    let areas = Layout::vertical([
        Constraint::Length(rows(&facts)),
        Constraint::Length(high),
        Constraint::Min(CHARTS),
        Constraint::Length(rows(&checks)),
        Constraint::Length(HELP),
    ]);
    let [above, memory, charts, below, help] = areas.areas(frame.area());
    frame.render_widget(Paragraph::new(facts).block(Block::bordered().title(" iopilot redcap ")), above);
    let used = status.memory.used as f64 / status.memory.cap.max(1) as f64;
    let gauge = Gauge::default().ratio(used.clamp(0.0, 1.0)).block(Block::bordered().title(" memory "));
    frame.render_widget(gauge, memory);
    draw_past(frame, past, charts);
    frame.render_widget(Paragraph::new(checks).block(Block::bordered().title(" latest decisions ")), below);
    frame.render_widget(Line::from(" q: leave; the cache stays").dim(), help);
}

/// The latest decisions that fit into `most` rows, each whole.
fn decisions(status: &RedcapStatus, wide: usize, most: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for check in status.checks.iter().rev() {
        let check = wrapped(&check_text(check), wide, CHECKS);
        if lines.len() + check.len() > most {
            break;
        }
        lines.splice(..0, check.into_iter().map(Line::from));
    }
    lines.resize(most, Line::default());
    lines
}

/// A line in pieces of at most `wide` columns, cut between words. Those behind the first begin at column `indent`.
fn wrapped(line: &str, wide: usize, indent: usize) -> Vec<String> {
    // A very narrow terminal gets no indent.
    let indent = if wide > 2 * indent { indent } else { 0 };
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last + word.trim_end().chars().count() > wide && last > indent {
            lines.push(" ".repeat(indent));
        }
        if let Some(line) = lines.last_mut() {
            *line += word;
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

/// A title, and what its bars show.
type Chart = (String, fn(&Second) -> f64);

/// Reads a second above and below the cache, and hits, second by second. A chart needs two rows.
fn draw_past(frame: &mut Frame<'_>, past: &[Second], area: Rect) {
    let rows = Layout::vertical([Constraint::Ratio(1, 3); 3]).areas::<3>(area);
    let shown = &past[past.len().saturating_sub(usize::from(area.width))..];
    let last = shown.last().copied().unwrap_or_default();
    let charts: [Chart; 3] = [
        (format!("─ reads/s of applications, now {} ", short_count(last.reads)), |s| s.reads),
        (format!("─ reads/s of the disk, now {} ", short_count(last.disk_reads)), |s| s.disk_reads),
        (format!("─ from the cache, now {} % ", plain(last.hits)), |s| s.hits),
    ];
    for ((title, value), row) in charts.into_iter().zip(rows) {
        let block = Block::new().borders(Borders::TOP);
        let axis = format!(" {} s, a bar a second ", shown.len());
        let fits = title.chars().count() + axis.chars().count() < usize::from(row.width);
        let block = if fits { block.title_top(Line::from(axis).right_aligned()) } else { block };
        // In thousandths, as a bar is a whole number.
        let data: Vec<u64> = shown.iter().map(|second| (value(second) * 1e3) as u64).collect();
        frame.render_widget(Sparkline::default().data(data).block(block.title_top(title)), row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    #[test]
    fn a_dashboard_tells_what_the_cache_does_on_any_terminal() {
        let counts = json!({"read": 0, "write": 0, "flush": 0, "discard": 0});
        let distribution = json!({"mean": 1.5, "p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0});
        let attachment: RedcapAttachment = serde_json::from_value(json!({
            "device": "/dev/loop7", "name": "redcap0", "disk": "/dev/sdb", "size": 1 << 30, "settings": "512x128k",
            "algorithm": "adaptive", "cache": 1 << 26, "depth": 128, "scheduler": "none", "pid": 1, "served": true,
        }))
        .unwrap();
        let mut status: RedcapStatus = serde_json::from_value(json!({
            "up_s": 10.0, "state": "active", "model_incomplete": null,
            "application": {"requests": counts, "bytes": counts, "errors": counts, "read_ms": distribution,
                "write_ms": distribution, "in_flight": 0},
            "disk": {"requests": counts, "bytes": counts, "errors": counts, "prefetches": 0, "given_up": 0,
                "in_flight": 0},
            "cache": serde_json::to_value(iopilot_redcap::CacheCounters::default()).unwrap(),
            "memory": {"cap": 100, "limit": 100, "used": 50, "segments": 3, "locked": true, "shrinks": 0,
                "shrinks_under_pressure": true},
            "warm": {"read": 1, "left": 2, "kept": 3},
            "checks": (1..9).map(|at| json!({
                "at_s": at, "with_cache_ms": 1234.5, "without_cache_ms": 2345.6, "active": [true, at < 8],
            })).collect::<Vec<_>>(),
        }))
        .unwrap();
        let before = status.clone();
        status.up_s = 12.0;
        status.application.requests.read = 200;
        (status.cache.requested_blocks, status.cache.hit_blocks) = (400, 300);
        let past = [Second::between(&before, &status)];
        assert_eq!((past[0].reads, past[0].hits), (100.0, 75.0));
        for (width, height) in [(120, 40), (80, 30), (80, 24), (50, 30), (20, 5), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &attachment, &status, &past)).unwrap();
            let text: String = terminal.backend().buffer().content().iter().map(|c| c.symbol()).collect();
            if width >= 50 {
                // The ends of lines that are longer than 50 columns, and the latest decision.
                for part in
                    ["redcap0", "now 100", "now 75", "given up", "were used", "kept", "at 8 s", "to off", "q: leave"]
                {
                    assert!(text.contains(part), "{part} is not in {text}");
                }
            }
            assert_eq!(text.contains("50%"), height >= HIGH, "the memory");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_words_and_lined_up() {
        assert_eq!(wrapped("memory   1 of 2 used", 15, 9), ["memory   1 of 2", "used"]);
        assert_eq!(
            wrapped("memory   1 of 2 used, in all", 20, 9),
            ["memory   1 of 2", "         used, in", "         all"]
        );
        assert_eq!(wrapped("short", 80, 9), ["short"]);
        assert_eq!(wrapped("unbreakable", 4, 9), ["unbreakable"]);
    }
}
