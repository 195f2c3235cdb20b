//! Figures of several panels with a line for each scheduler, as a self-contained SVG file.

use iopilot_render::Scale;
use iopilot_render::number::tick;
use iopilot_render::svg::{Frame, escape, line, px};
use std::fmt::Write;

/// Lines of one panel.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<FigureLine>,
}

/// A line of a panel. Lines of one name look alike in all panels.
#[derive(Clone, Debug)]
pub(super) struct FigureLine {
    pub(super) name: String,
    /// In order of x.
    pub(super) points: Vec<(f64, f64)>,
}

const PANEL: (f64, f64) = (330.0, 220.0);
const HEAD: f64 = 62.0;
/// Distance of the legend's entries.
const ENTRY: f64 = 118.0;
/// Ten colours that most eyes tell apart; dashes help the other eyes.
const COLOURS: [&str; 10] =
    ["#7f7f7f", "#000000", "#d55e00", "#0072b2", "#009e73", "#56b4e9", "#cc79a7", "#8c5aa8", "#e69f00", "#b8860b"];
const DASHES: [&str; 3] = ["", "6 3", "2 2"];
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#808892}.name{font-size:14px;fill:#5d6570}\
    .tick{text-anchor:middle}.y{text-anchor:end}.grid,.axis,.minor{stroke:#80889240;fill:none}\
    .line{fill:none;stroke-width:1.6;stroke-linejoin:round}";

/// Draws `panels`, `columns` in each row, with the legend above. Values start at zero, and each panel has its own
/// scale.
pub(super) fn draw(title: &str, panels: &[Panel], columns: usize) -> String {
    let columns = columns.max(1);
    let rows = panels.len().div_ceil(columns);
    let (w, h) = (PANEL.0 * columns as f64, HEAD + PANEL.1 * rows as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">\
         <title>{title}</title><style>{STYLE}</style><text class=\"name\" x=\"12\" y=\"20\">{title}</text>",
        title = escape(title)
    );
    let names: Vec<&str> = panels.first().map_or(Vec::new(), |p| p.lines.iter().map(|l| l.name.as_str()).collect());
    let across = ((w - 12.0) / ENTRY).floor().max(1.0) as usize;
    for (i, name) in names.iter().enumerate() {
        let (x, y) = (12.0 + ENTRY * (i % across) as f64, 38.0 + 15.0 * (i / across) as f64);
        let _ = write!(
            out,
            "<path {} d=\"M{} {}h20\"/><text x=\"{}\" y=\"{}\">{}</text>",
            look(i),
            px(x),
            px(y - 4.0),
            px(x + 25.0),
            px(y),
            escape(name)
        );
    }
    for (i, panel) in panels.iter().enumerate() {
        let (x, y) = (PANEL.0 * (i % columns) as f64, HEAD + PANEL.1 * (i / columns) as f64);
        let _ = write!(out, "<g transform=\"translate({} {})\">{}</g>", px(x), px(y), inside(panel));
    }
    out + "</svg>\n"
}

fn inside(panel: &Panel) -> String {
    let frame = Frame::new(PANEL, 44.0, 26.0, 14.0, 28.0);
    let points = || panel.lines.iter().flat_map(|l| &l.points);
    let (low, high) = points().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.0), h.max(p.0)));
    let x = Scale::linear(if low <= high { (low, high) } else { (0.0, 1.0) }, frame.x_range());
    let y = Scale::from_zero(points().map(|p| p.1).fold(0.0, f64::max), frame.y_range());
    let mut out = format!("<text class=\"name\" x=\"{}\" y=\"17\">{}</text>", px(frame.plot.0), escape(&panel.title));
    out += &frame.x_axis(&x, 5, tick);
    out += &frame.y_axis(&y, 4, tick);
    for (i, curve) in panel.lines.iter().enumerate() {
        let d = line(curve.points.iter().map(|&(a, b)| (x.at(a), y.at(b))));
        let _ = write!(out, "<path {} d=\"{d}\"/>", look(i));
    }
    out
}

fn look(i: usize) -> String {
    let dash = match DASHES[i % DASHES.len()] {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    };
    format!("class=\"line\" stroke=\"{}\"{dash}", COLOURS[i % COLOURS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_are_in_rows_and_names_are_escaped() {
        let line = |name: &str| FigureLine { name: name.to_owned(), points: vec![(32.0, 1.0), (256.0, 2.0)] };
        let panel = |title: &str| Panel { title: title.to_owned(), lines: vec![line("<a>"), line("b")] };
        let svg = draw("t & u", &[panel("one"), panel("two"), panel("three")], 2);
        assert!(svg.contains("width=\"660\" height=\"502\""), "{svg}");
        assert!(svg.contains("t &amp; u") && svg.contains("&lt;a&gt;") && !svg.contains("<a>"));
        assert_eq!(svg.matches("class=\"line\"").count(), 2 + 3 * 2);
        assert!(svg.contains("translate(0 282)") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn without_values_there_are_no_broken_numbers() {
        let svg = draw("", &[Panel { title: String::new(), lines: Vec::new() }], 0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
