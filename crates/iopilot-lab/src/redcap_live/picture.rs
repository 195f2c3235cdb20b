//! A bar chart: the time of each load over its time on the bare disk.

use super::judge::LoadTimes;
use iopilot_render::Scale;
use iopilot_render::number::tick;
use iopilot_render::svg::{Frame, escape, px};
use std::fmt::Write;

const TITLE: &str = "REDCAP on a live disk: the time of each load, over that on the bare disk";
/// The size of a panel. There is one for each disk, with a group of bars for each load.
const PANEL: (f64, f64) = (1080.0, 230.0);
const HEAD: f64 = 30.0;
/// The width of a legend entry, and the distance of the legend's lines.
const ENTRY: (f64, f64) = (190.0, 16.0);
/// The share of a group's width that its bars take.
const SHARE: f64 = 0.8;
/// Eight colours that most eyes tell apart.
const COLOURS: [&str; 8] = ["#b0b6be", "#e69f00", "#56b4e9", "#cc79a7", "#8c5aa8", "#6b7280", "#009e73", "#d55e00"];
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#808892}.name{font-size:14px;fill:#5d6570}\
    .tick{text-anchor:middle}.y{text-anchor:end}.grid,.axis{stroke:#80889240;fill:none}\
    .bare{stroke:#808892;stroke-dasharray:5 3;fill:none}.half{stroke:#5d6570;fill:none}";

/// The file's name and content. `paths` are the paths of each row's means; the first is the bare disk.
pub(super) fn of(paths: &[String], rows: &[LoadTimes]) -> (String, String) {
    ("redcap-live.svg".to_owned(), draw(paths, rows))
}

fn draw(paths: &[String], rows: &[LoadTimes]) -> String {
    let panels: Vec<&[LoadTimes]> = rows.chunk_by(|a, b| a.disk == b.disk).collect();
    let across = (PANEL.0 / ENTRY.0) as usize;
    let shown = paths.len().saturating_sub(1);
    let head = HEAD + ENTRY.1 * shown.div_ceil(across) as f64;
    let (w, h) = (PANEL.0, head + PANEL.1 * panels.len() as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">\
         <title>{TITLE}</title><style>{STYLE}</style><text class=\"name\" x=\"12\" y=\"20\">{TITLE}</text>"
    );
    for (i, name) in paths.iter().skip(1).enumerate() {
        let (x, y) = (12.0 + ENTRY.0 * (i % across) as f64, HEAD + 10.0 + ENTRY.1 * (i / across) as f64);
        let (colour, name) = (colour(i, shown), escape(name));
        let _ = write!(out, "<rect fill=\"{colour}\" x=\"{x}\" y=\"{}\" width=\"12\" height=\"10\"/>", px(y - 9.0));
        let _ = write!(out, "<text x=\"{}\" y=\"{}\">{name}</text>", px(x + 17.0), px(y));
    }
    // All disks have one scale, so that they can be compared.
    let highest =
        rows.iter().flat_map(LoadTimes::over_bare).flatten().map(|bar| bar.mean + bar.half).fold(1.0, f64::max);
    for (i, rows) in panels.into_iter().enumerate() {
        let y = px(head + PANEL.1 * i as f64);
        let _ = write!(out, "<g transform=\"translate(0 {y})\">{}</g>", inside(shown, rows, highest));
    }
    out + "</svg>\n"
}

/// The last three are REDCAP, whatever paths are left out.
fn colour(bar: usize, shown: usize) -> &'static str {
    let from_end = shown - bar;
    if from_end <= 3 { COLOURS[COLOURS.len() - from_end] } else { COLOURS[bar % (COLOURS.len() - 3)] }
}

/// The panel of a disk.
fn inside(shown: usize, rows: &[LoadTimes], highest: f64) -> String {
    let frame = Frame::new(PANEL, 44.0, 26.0, 14.0, 28.0);
    let y = Scale::from_zero(highest, frame.y_range());
    let (left, right) = frame.x_range();
    let group = (right - left) / rows.len() as f64;
    let wide = group * SHARE / shown as f64;
    let disk = rows.first().map_or("", |row| row.disk);
    let mut out = format!("<text class=\"name\" x=\"{}\" y=\"17\">{}</text>", px(left), escape(disk));
    out += &frame.y_axis(&y, 4, tick);
    for (n, row) in rows.iter().enumerate() {
        let begin = left + group * n as f64;
        // A path that failed has no bar.
        let bars = row.over_bare().enumerate().filter_map(|(i, bar)| Some((i, bar?)));
        for (i, bar) in bars {
            let (x, top) = (begin + group * (1.0 - SHARE) / 2.0 + wide * i as f64, y.at(bar.mean));
            let _ = write!(
                out,
                "<rect class=\"bar\" fill=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                colour(i, shown),
                px(x),
                px(top),
                px(wide - 1.0),
                px(y.at(0.0) - top)
            );
            if bar.half > 0.0 {
                let (high, low) = (y.at(bar.mean + bar.half), y.at(bar.mean - bar.half));
                let middle = px(x + (wide - 1.0) / 2.0);
                let _ = write!(out, "<path class=\"half\" d=\"M{middle} {}V{}\"/>", px(high), px(low));
            }
        }
        let (x, below) = (px(begin + group / 2.0), px(frame.plot.3 + 17.0));
        let _ = write!(out, "<text class=\"tick\" x=\"{x}\" y=\"{below}\">{}</text>", escape(row.load));
    }
    let _ = write!(out, "<path class=\"axis\" d=\"M{} {}H{}\"/>", px(left), px(frame.plot.3), px(right));
    let _ = write!(out, "<path class=\"bare\" d=\"M{} {}H{}\"/>", px(left), px(y.at(1.0)), px(right));
    out
}

#[cfg(test)]
mod tests {
    use super::super::judge::ConfidenceInterval;
    use super::*;

    fn row(disk: &'static str, load: &'static str, means: [f64; 4]) -> LoadTimes {
        LoadTimes { disk, load, means: means.map(|mean| Some(ConfidenceInterval { mean, half: 0.1 * mean })).into() }
    }

    #[test]
    fn bars_are_in_groups_and_as_high_as_their_time_over_that_of_the_bare_disk() {
        let paths = ["bare", "never", "adaptive", "always"].map(str::to_owned);
        let rows = [row("a", "<x>", [2.0, 2.0, 1.0, 4.0]), row("a", "y", [1.0; 4]), row("b", "x", [1.0; 4])];
        let (name, svg) = of(&paths, &rows);
        assert_eq!(name, "redcap-live.svg");
        assert!(svg.contains("width=\"1080\" height=\"506\"") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!((svg.matches("class=\"bar\"").count(), svg.matches("class=\"half\"").count()), (9, 9));
        assert!(svg.contains("&lt;x&gt;") && !svg.contains("<x>"));
        // The bare disk's own bars would all be 1: a line stands for them.
        assert_eq!(svg.matches("class=\"bare\"").count(), 2);
        let height = |bar: &str| bar.split("height=\"").nth(1)?.split('"').next()?.parse::<f64>().ok();
        let heights: Vec<f64> = svg.split("class=\"bar\"").skip(1).filter_map(height).collect();
        assert!(
            (heights[0] - 2.0 * heights[1]).abs() < 0.3 && (heights[2] - 2.0 * heights[0]).abs() < 0.3,
            "{heights:?}"
        );
    }

    #[test]
    fn one_run_has_no_interval_and_colours_do_not_depend_on_what_is_left_out() {
        let paths = ["bare", "always"].map(str::to_owned);
        let mean = |mean| Some(ConfidenceInterval { mean, half: 0.0 });
        let rows = [LoadTimes { disk: "a", load: "x", means: vec![mean(2.0), mean(1.0)] }];
        let svg = of(&paths, &rows).1;
        assert!(!svg.contains("class=\"half\"") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!((colour(0, 1), colour(4, 5), colour(7, 8)), (COLOURS[7], COLOURS[7], COLOURS[7]));
        assert!(!of(&paths, &[]).1.contains("NaN"));
    }
}
