//! Seek plots: where on the disk each dispatched request was, over time; one small drawing a scheduler.

use super::emphasis::Emphasis;
use super::lines::identity;
use crate::render::{measure, ranking};
use iopilot_block::SECTOR_BYTES;
use iopilot_compare::Comparison;
use iopilot_render::Scale;
use iopilot_render::number::tick;
use iopilot_render::svg::{Frame, dots, escape};
use iopilot_sim::{RunReport, SeekPoint};
use std::fmt::Write;

/// Dots in one drawing; more hide one another and make the page heavy.
const DOTS: usize = 4000;

/// All plots, best first, on common axes.
pub(super) fn seeks(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    let points = || comparison.runs.iter().flat_map(|r| &r.series.seeks);
    let end = points().map(|p| p.time_s).fold(0.0, f64::max);
    let (low, high) = points().fold((u64::MAX, 0), |(l, h), p| (l.min(p.lba), h.max(p.lba)));
    let unit = Unit::of((high.saturating_sub(low.min(high))) as f64 * SECTOR_BYTES as f64);
    let frame = Frame::new((360.0, 190.0), 58.0, 8.0, 8.0, 26.0);
    let x = Scale::linear((0.0, end), frame.x_range());
    let (bottom, top) = (unit.offset(low.min(high)), unit.offset(high));
    let margin = (top - bottom) * 0.04;
    let y = Scale::linear(((bottom - margin).max(0.0), top + margin), frame.y_range());
    let axes = frame.x_axis(&x, 4, |v| format!("{} s", tick(v)))
        + &frame.y_axis(&y, 4, |v| format!("{} {}", tick(v), unit.name));

    let mut out = String::new();
    for i in ranking(comparison) {
        let run = &comparison.runs[i];
        let share = run.series.seeks.len().div_ceil(DOTS).max(1);
        let of = |write: bool| {
            let kept = run.series.seeks.iter().step_by(share).filter(move |p| p.write == write);
            dots(kept.map(|p: &SeekPoint| (x.at(p.time_s), y.at(unit.offset(p.lba)))))
        };
        let role = emphasis[i].role.map_or(String::new(), |r| format!(" <em>{r}</em>"));
        let _ = write!(
            out,
            "<figure {}><figcaption><b>{}</b>{role}<span>{}</span></figcaption>{}{axes}\
             <path class=\"dot read\" d=\"{}\"/><path class=\"dot write\" d=\"{}\"/></svg></figure>",
            identity("seek", i, &emphasis[i]),
            escape(&run.scheduler),
            value(comparison, run),
            frame.open(&format!("Seek plot of {}", run.scheduler)),
            of(false),
            of(true),
        );
    }
    out
}

/// The run's value of the verdict's measure, with its unit.
fn value(comparison: &Comparison, run: &RunReport) -> String {
    let column = measure(comparison);
    let unit = match column.key {
        "response_ms.mean" => "ms mean",
        "wait_ms_mean" => "ms waited",
        _ => column.title,
    };
    format!("{} {unit}", (column.format)((column.value)(run)))
}

/// What offsets are shown in.
struct Unit {
    name: &'static str,
    bytes: f64,
}

impl Unit {
    fn of(span: f64) -> Self {
        let (name, bytes) = match span {
            s if s >= 2e9 => ("GB", 1e9),
            s if s >= 2e6 => ("MB", 1e6),
            _ => ("kB", 1e3),
        };
        Self { name, bytes }
    }

    fn offset(&self, lba: u64) -> f64 {
        lba as f64 * SECTOR_BYTES as f64 / self.bytes
    }
}
