//! What REDCAP caches did: when each was in use, what its checks compared, and what became of reads and blocks.

use iopilot_compare::Comparison;
use iopilot_render::Scale;
use iopilot_render::number::{percent, short_count, tick};
use iopilot_render::svg::{Frame, escape, line, px};
use iopilot_sim::{RedcapReport, RunReport};
use std::fmt::Write;

/// Height of the bar that shows when the cache was in use, and of those that show shares, px.
const BAR: f64 = 14.0;
const ROW: f64 = 26.0;
/// Pixels that a letter takes, at most on average.
const LETTER: f64 = 7.0;

/// The caches of all runs that have one, in the runs' order; `None` where there is none.
pub(super) fn caches(comparison: &Comparison) -> Option<String> {
    let figures: String = comparison.runs.iter().filter_map(|run| Some(figure(run, run.redcap.as_ref()?))).collect();
    (!figures.is_empty()).then_some(figures)
}

fn figure(run: &RunReport, redcap: &RedcapReport) -> String {
    let counters = &redcap.counters;
    let active = counters.reads - counters.inactive_reads;
    format!(
        "<figure><figcaption><b>{}</b><span>in use for {} of the reads, turned on or off {} times{}</span></figcaption>{}{}</figure>",
        escape(&run.scheduler),
        percent(active as f64 / counters.reads.max(1) as f64),
        redcap.state.len().saturating_sub(1),
        if redcap.off_percent > 0.0 {
            format!("; at the end {} of the disk was left alone", percent(redcap.off_percent / 100.0))
        } else {
            String::new()
        },
        over_time(run, redcap),
        shares(redcap)
    )
}

/// When it was in use, and both sides of each decision.
fn over_time(run: &RunReport, redcap: &RedcapReport) -> String {
    let checks = &redcap.checks;
    let height = if checks.is_empty() { 0.0 } else { 170.0 };
    let frame = Frame::new((1160.0, 60.0 + height), 52.0, 26.0, 16.0, 34.0 - if checks.is_empty() { 4.0 } else { 0.0 });
    let end = checks.last().map_or(0.0, |check| check.time_s).max(run.elapsed_s);
    let x = Scale::linear((0.0, end), frame.x_range());
    let mut out = frame.open(&format!("When the cache of {} was in use, and what its checks compared", run.scheduler));
    let ends = redcap.state.iter().skip(1).map(|change| change.time_s).chain([end]);
    for (change, until) in redcap.state.iter().zip(ends) {
        let (left, right) = (x.at(change.time_s), x.at(until));
        let (class, title) = if change.active { ("in-use", "in use") } else { ("not-in-use", "not in use") };
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"4\" width=\"{}\" height=\"{BAR}\"><title>{title} from {} s to {} s</title></rect>",
            px(left),
            px((right - left).max(0.5)),
            tick(change.time_s),
            tick(until)
        );
    }
    out += &frame.x_axis(&x, 8, |v| format!("{} s", tick(v)));
    if !checks.is_empty() {
        let most = checks.iter().map(|check| check.with_cache_ms.max(check.without_cache_ms)).fold(0.0, f64::max);
        let y = Scale::from_zero(most, frame.y_range());
        out += &frame.y_axis(&y, 4, tick);
        let sides = [
            ("without", checks.iter().map(|check| (check.time_s, check.without_cache_ms)).collect::<Vec<_>>()),
            ("with", checks.iter().map(|check| (check.time_s, check.with_cache_ms)).collect()),
        ];
        for (class, side) in sides {
            let d = line(side.iter().map(|&(at, ms)| (x.at(at), y.at(ms))));
            let _ = write!(out, "<path class=\"cost {class}\" d=\"{d}\"/>");
        }
    }
    out + "</svg>"
}

/// A part of a whole: its name, count and colour.
type Part = (&'static str, u64, &'static str);

const GOOD: &str = "var(--c2)";
const FAIR: &str = "var(--c0)";
const POOR: &str = "var(--c1)";
const IDLE: &str = "var(--grey)";

fn shares(redcap: &RedcapReport) -> String {
    let counters = &redcap.counters;
    let rows: [(&str, Vec<Part>); 3] = [
        (
            "reads",
            vec![
                ("hits", counters.hits, GOOD),
                ("waits", counters.waits, FAIR),
                ("partial misses", counters.partial_misses, "var(--c4)"),
                ("misses of holes", counters.hole_misses, "var(--c3)"),
                ("misses", counters.misses, POOR),
                ("whole segments", counters.whole_segments, IDLE),
                ("passed by", counters.pass_bys, "var(--c5)"),
            ],
        ),
        (
            "blocks",
            vec![("from the cache", counters.hit_blocks, GOOD), ("from the disk", counters.missed_blocks, POOR)],
        ),
        (
            "prefetched",
            vec![
                ("used", counters.used_blocks, GOOD),
                ("given up", counters.dropped_blocks, IDLE),
                (
                    "not used",
                    counters.prefetched_blocks.saturating_sub(counters.used_blocks + counters.dropped_blocks),
                    POOR,
                ),
            ],
        ),
    ];
    let frame = Frame::new((1160.0, ROW * rows.len() as f64 + 8.0), 84.0, 4.0, 96.0, 4.0);
    let mut out = frame.open("What became of reads and of blocks");
    for (i, (name, parts)) in rows.iter().enumerate() {
        let whole: u64 = parts.iter().map(|part| part.1).sum();
        let x = Scale::linear((0.0, whole.max(1) as f64), frame.x_range());
        let top = 4.0 + ROW * i as f64;
        let (left, right) = frame.x_range();
        let middle = px(top + BAR * 0.5 + 8.0);
        let _ = write!(out, "<text class=\"tick y\" x=\"{}\" y=\"{middle}\">{name}</text>", px(left - 7.0));
        let _ = write!(out, "<text x=\"{}\" y=\"{middle}\">{}</text>", px(right + 7.0), short_count(whole as f64));
        let mut before = 0;
        for &(what, count, colour) in parts.iter().filter(|part| part.1 > 0) {
            let (from, to) = (x.at(before as f64), x.at((before + count) as f64));
            before += count;
            let share = percent(count as f64 / whole as f64);
            let _ = write!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" fill-opacity=\"0.35\"><title>{what}: {count}, {share}</title></rect>",
                px(from),
                px(top),
                px((to - from).max(0.5)),
                px(ROW - 6.0)
            );
            let label = format!("{what} {share}");
            if to - from > label.len() as f64 * LETTER + 8.0 {
                let _ = write!(out, "<text x=\"{}\" y=\"{middle}\">{label}</text>", px(from + 5.0));
            }
        }
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;
    use iopilot_redcap::{CacheCounters, CacheGeometry, Miss};
    use iopilot_sim::{CheckReport, DiskView, StateChange};

    fn cached() -> Comparison {
        let mut comparison = sample_comparison(2);
        let check = |time_s: f64, active| CheckReport {
            time_s,
            reads: 100,
            with_cache_ms: 8.0 * time_s,
            without_cache_ms: 20.0,
            active,
            off_percent: 0.0,
            geometry: CacheGeometry::default(),
            miss: Miss::Split,
            predicted_ms: None,
            measured_ms: None,
        };
        comparison.runs[1].scheduler = "cfq + 64x128k,algorithm=<v2>".to_owned();
        comparison.runs[1].redcap = Some(RedcapReport {
            settings: "64x128k,algorithm=v2".to_owned(),
            off_percent: 25.0,
            geometry: CacheGeometry::default(),
            counters: CacheCounters {
                reads: 1000,
                inactive_reads: 250,
                hits: 700,
                misses: 50,
                requested_blocks: 800,
                hit_blocks: 740,
                missed_blocks: 60,
                prefetched_blocks: 1550,
                used_blocks: 740,
                dropped_blocks: 10,
                ..CacheCounters::default()
            },
            state: vec![
                StateChange { time_s: 0.0, active: true },
                StateChange { time_s: 3.0, active: false },
                StateChange { time_s: 5.0, active: true },
            ],
            checks: vec![check(1.0, [true, true]), check(3.0, [true, false]), check(5.0, [false, true])],
            disk: DiskView::default(),
        });
        comparison
    }

    #[test]
    fn a_run_with_a_cache_has_its_states_its_checks_and_its_shares() {
        assert_eq!(caches(&sample_comparison(2)), None);
        let page = caches(&cached()).unwrap();
        assert_eq!(page.matches("<figure>").count(), 1);
        assert_eq!((page.matches("\"in-use\"").count(), page.matches("\"not-in-use\"").count()), (2, 1));
        assert_eq!((page.matches("cost with\"").count(), page.matches("cost without\"").count()), (1, 1));
        for text in
            ["hits: 700, 93", "used: 740", "given up: 10", "not used: 800", "from the disk: 60", "75", "2 times"]
        {
            assert!(page.contains(text), "{text} is missing: {page}");
        }
        assert!(page.contains("&lt;v2&gt;") && !page.contains("<v2>") && !page.contains("NaN"));
        // To look at it: IOPILOT_KEEP_REPORT=/tmp/page.html cargo test -p iopilot its_states
        if let Some(keep) = std::env::var_os("IOPILOT_KEEP_REPORT") {
            std::fs::write(keep, crate::report::html::page(&cached(), "")).unwrap();
        }
    }

    #[test]
    fn a_cache_that_did_nothing_has_no_broken_numbers() {
        let mut comparison = cached();
        let redcap = comparison.runs[1].redcap.as_mut().unwrap();
        redcap.checks.clear();
        redcap.counters = CacheCounters::default();
        let page = caches(&comparison).unwrap();
        assert!(!page.contains("NaN") && !page.contains("inf") && !page.contains("cost with"), "{page}");
    }
}
