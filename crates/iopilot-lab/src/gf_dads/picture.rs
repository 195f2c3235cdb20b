//! One disk's results as GF Figures 4.4 to 4.12 show them: lines for the schedulers alone, bars for the autopilot.

use super::cells::{FlightResults, PairView};
use super::{BENCHMARKS, Pair, bench};
use iopilot_render::Scale;
use iopilot_render::number::tick;
use iopilot_render::svg::{Frame, escape, line, px};
use std::fmt::Write;

const PANEL: (f64, f64) = (200.0, 128.0);
/// The margin left of the panels for the names of the pairs, and the margin above them.
const LEFT: f64 = 14.0;
const HEAD: f64 = 58.0;
/// Colours that most eyes tell apart: for flights that begin with the first scheduler, and with the second.
const COLOURS: [&str; 2] = ["#0072b2", "#e69f00"];
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#808892}.name{font-size:14px;fill:#5d6570}\
    .tick{text-anchor:middle}.y{text-anchor:end}.grid,.axis,.minor{stroke:#80889240;fill:none}\
    .line{fill:none;stroke:#d55e00;stroke-width:1.4;stroke-linejoin:round}.dash{stroke:#5d6570;stroke-dasharray:5 3}";

/// For each disk the file's name and content.
pub(super) fn all(results: &FlightResults) -> Vec<(String, String)> {
    results.disks.iter().map(|disk| (format!("gf-dads-{}.svg", disk.name), draw(results, &disk.name))).collect()
}

fn draw(results: &FlightResults, disk: &str) -> String {
    let views: Vec<PairView<'_>> = results.views().filter(|v| v.disk.name == disk).collect();
    let pairs: Vec<Pair> =
        results.plan.pairs.iter().map(|p| p.0).filter(|pair| views.iter().any(|v| v.pair == *pair)).collect();
    let columns = BENCHMARKS.len() + 1;
    let (w, h) = (LEFT + PANEL.0 * columns as f64, HEAD + PANEL.1 * pairs.len() as f64);
    let title = format!("{disk}: times of the benchmarks as shares of the slowest, by processes");
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">\
         <title>{title}</title><style>{STYLE}</style><text class=\"name\" x=\"12\" y=\"20\">{title}</text>",
        title = escape(&title)
    );
    out += &legend();
    for (row, &pair) in pairs.iter().enumerate() {
        let of_pair: Vec<PairView<'_>> = views.iter().copied().filter(|v| v.pair == pair).collect();
        for column in 0..columns {
            let benchmark = column.checked_sub(1);
            let what = benchmark.map_or_else(|| "TOTAL".to_owned(), |b| BENCHMARKS[b].to_string());
            let [a, b] = pair.map(bench::name);
            let (x, y) = (LEFT + PANEL.0 * column as f64, HEAD + PANEL.1 * row as f64);
            let _ = write!(
                out,
                "<g transform=\"translate({} {})\">{}</g>",
                px(x),
                px(y),
                panel(&format!("{a}, {b}: {what}"), &of_pair, benchmark)
            );
        }
    }
    out + "</svg>\n"
}

fn legend() -> String {
    let mut out = String::new();
    let alone = [("line", "the first alone"), ("line dash", "the second alone")];
    for (i, (class, name)) in alone.into_iter().enumerate() {
        let x = 12.0 + 140.0 * i as f64;
        let _ =
            write!(out, "<path class=\"{class}\" d=\"M{x} 38h20\"/><text x=\"{}\" y=\"42\">{name}</text>", x + 25.0);
    }
    let flown = ["autopilot, begun with the first", "autopilot, begun with the second"];
    for (i, (name, colour)) in flown.into_iter().zip(COLOURS).enumerate() {
        let x = 292.0 + 220.0 * i as f64;
        let _ = write!(
            out,
            "<rect x=\"{x}\" y=\"33\" width=\"20\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"42\">{name}</text>",
            x + 25.0
        );
    }
    out
}

/// `views` are of one pair, by processes.
fn panel(title: &str, views: &[PairView<'_>], benchmark: Option<usize>) -> String {
    let frame = Frame::new(PANEL, 34.0, 22.0, 8.0, 24.0);
    let (left, right) = frame.x_range();
    let y = Scale::linear((0.0, 1.0), frame.y_range());
    let slot = (right - left) / views.len().max(1) as f64;
    let bottom = frame.y_range().0;
    let mut out = format!("<text x=\"{}\" y=\"15\">{}</text>", px(left), escape(title));
    out += &frame.y_axis(&y, 4, tick);
    let share = |view: &PairView<'_>, seconds: f64| {
        let all = view.alone.iter().chain(&view.flown);
        seconds / all.map(|run| run.of(benchmark)).fold(f64::MIN_POSITIVE, f64::max)
    };
    let centre = |i: usize| left + slot * (i as f64 + 0.5);
    for (i, view) in views.iter().enumerate() {
        for (which, colour) in COLOURS.into_iter().enumerate() {
            let top = y.at(share(view, view.flown[which].of(benchmark)));
            let x = centre(i) + if which == 0 { -0.36 * slot } else { 0.0 };
            let (width, height) = (0.36 * slot, bottom - top);
            let _ = write!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"/>",
                px(x),
                px(top),
                px(width),
                px(height)
            );
        }
        let at = bottom + 15.0;
        let _ = write!(out, "<text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>", px(centre(i)), px(at), view.processes);
    }
    for (which, class) in ["line", "line dash"].into_iter().enumerate() {
        let points = views.iter().enumerate().map(|(i, v)| (centre(i), y.at(share(v, v.alone[which].of(benchmark)))));
        let _ = write!(out, "<path class=\"{class}\" d=\"{}\"/>", line(points));
    }
    out
}
