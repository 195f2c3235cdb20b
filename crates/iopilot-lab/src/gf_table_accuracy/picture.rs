//! The difference along the test, as in GF Figures 3.7 and 3.22.

use super::measure::AccuracyCase;
use super::{SAMPLES, Variant};
use crate::gf::GfBenchmark;
use iopilot_render::Scale;
use iopilot_render::number::{short_count, tick};
use iopilot_render::svg::{Frame, escape, line, px};
use std::fmt::Write;

const SIZE: (f64, f64) = (900.0, 320.0);
/// A colour for each number of samples. Most eyes tell them apart.
const COLOURS: [&str; 4] = ["#cc79a7", "#e69f00", "#0072b2", "#009e73"];
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#808892}.name{font-size:14px;fill:#5d6570}\
    .tick{text-anchor:middle}.y{text-anchor:end}.grid,.axis,.minor{stroke:#80889255;fill:none}\
    .end{stroke:#808892;stroke-dasharray:4 4;fill:none}.line{fill:none;stroke-width:1.4;stroke-linejoin:round}";

/// The file's name and content.
pub(super) fn of(case: &AccuracyCase) -> (String, String) {
    let name = case.subject.name().replace(", ", "-").replace(' ', "-").to_lowercase();
    (format!("gf-table-accuracy-{name}-{}.svg", case.processes), draw(case))
}

fn draw(case: &AccuracyCase) -> String {
    let lines: Vec<(usize, &[(f64, f64)])> = (0..SAMPLES.len())
        .filter_map(|i| {
            let learning = Variant::learning(SAMPLES[i]);
            let of = case.along.iter().find(|(variant, _)| *variant == learning)?;
            Some((i, of.1.as_slice()))
        })
        .collect();
    let values = || lines.iter().flat_map(|(_, points)| points.iter().map(|p| p.1));
    let (low, high) = values().fold((-1.0f64, 1.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let frame = Frame::new(SIZE, 56.0, 34.0, 20.0, 34.0);
    let last = case.ends.last().copied().unwrap_or(1) as f64;
    let x = Scale::linear((0.0, last), frame.x_range());
    let y = Scale::linear((low, high), frame.y_range());
    let title = format!(
        "{}, {} {}: difference of the I/O time over the last {} requests",
        case.subject.name(),
        case.processes,
        if case.processes == 1 { "process" } else { "processes" },
        case.window
    );
    let (w, h) = SIZE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">\
         <title>{title}</title><style>{STYLE}</style><text class=\"name\" x=\"12\" y=\"20\">{title}</text>",
        title = escape(&title)
    );
    out += &frame.x_axis(&x, 8, short_count);
    out += &frame.y_axis(&y, 6, |v| format!("{} %", tick(v)));
    let mut begins = 0.0;
    for (benchmark, &end) in GfBenchmark::ALL.iter().zip(&case.ends) {
        let (from, to) = (x.at(begins), x.at(end as f64));
        let (bottom, top) = frame.y_range();
        let _ = write!(out, "<path class=\"end\" d=\"M{} {}V{}\"/>", px(to), px(top), px(bottom));
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{}\" y=\"{}\">{benchmark}</text>",
            px((from + to) / 2.0),
            px(top + 12.0)
        );
        begins = end as f64;
    }
    for (i, points) in lines {
        let path = line(points.iter().map(|&(at, value)| (x.at(at), y.at(value))));
        let _ = write!(out, "<path class=\"line\" stroke=\"{}\" d=\"{path}\"/>", COLOURS[i]);
        let left = px(frame.x_range().1 - 64.0 * (SAMPLES.len() - i) as f64);
        let _ = write!(out, "<text x=\"{left}\" y=\"20\" style=\"fill:{}\">VD {}</text>", COLOURS[i], SAMPLES[i]);
    }
    out + "</svg>\n"
}
