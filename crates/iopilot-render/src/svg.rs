//! The few pieces of SVG that the charts are made of.

use crate::scale::Scale;
use std::fmt::Write;

/// `text` with the characters that mean something in HTML and SVG replaced.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A coordinate with one decimal, without a needless `.0`.
pub fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        _ => format!("{:.1}", tenths as f64 / 10.0),
    }
}

/// The `d` of a line through `points`; points within half a pixel of the one before are left out.
pub fn line(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    let mut last: Option<(f64, f64)> = None;
    let mut skipped = None;
    for (x, y) in points {
        if let Some((lx, ly)) = last {
            if (x - lx).abs() < 0.5 && (y - ly).abs() < 0.5 {
                skipped = Some((x, y));
                continue;
            }
        }
        let _ = write!(d, "{}{} {}", if last.is_none() { 'M' } else { 'L' }, px(x), px(y));
        last = Some((x, y));
        skipped = None;
    }
    if let Some((x, y)) = skipped {
        let _ = write!(d, "L{} {}", px(x), px(y));
    }
    d
}

/// The `d` of an area between two lines of steps: `edges` has the left edge of each step and the right one of the last, `tops` and
/// `bottoms` the heights of each. Empty where there is no step.
pub fn steps(edges: &[f64], tops: &[f64], bottoms: &[f64]) -> String {
    let count = tops.len().min(bottoms.len()).min(edges.len().saturating_sub(1));
    let (Some(first), Some(last)) = (bottoms.first(), count.checked_sub(1)) else { return String::new() };
    let mut d = format!("M{} {}", px(edges[0]), px(*first));
    let mut height = String::new();
    for n in 0..count {
        let next = px(tops[n]);
        if next != height {
            let _ = write!(d, "V{next}");
            height = next;
        }
        // Equal steps are one.
        if n == last || px(tops[n + 1]) != height {
            let _ = write!(d, "H{}", px(edges[n + 1]));
        }
    }
    height.clear();
    for n in (0..count).rev() {
        let next = px(bottoms[n]);
        if next != height {
            let _ = write!(d, "V{next}");
            height = next;
        }
        if n == 0 || px(bottoms[n - 1]) != height {
            let _ = write!(d, "H{}", px(edges[n]));
        }
    }
    d + "Z"
}

/// The `d` that draws a dot at each point, for a stroke with round caps; points that share a pixel are drawn once.
pub fn dots(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut pixels: Vec<(i64, i64)> =
        points.into_iter().map(|(x, y)| (x.round() as i64, (y * 2.0).round() as i64)).collect();
    pixels.sort_unstable();
    pixels.dedup();
    pixels.iter().fold(String::new(), |mut d, &(x, y)| {
        let _ = write!(d, "M{x} {}h0", px(y as f64 / 2.0));
        d
    })
}

/// The drawing area of a chart with its two axes.
pub struct Frame {
    /// Width and height of the whole drawing.
    pub size: (f64, f64),
    /// Left, top, right and bottom edge of the plot within it.
    pub plot: (f64, f64, f64, f64),
}

impl Frame {
    /// A drawing of `size` whose plot leaves `left`, `top`, `right` and `bottom` pixels around it.
    pub fn new(size: (f64, f64), left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Self { size, plot: (left, top, size.0 - right, size.1 - bottom) }
    }

    /// The pixels of the horizontal axis, left to right.
    pub fn x_range(&self) -> (f64, f64) {
        (self.plot.0, self.plot.2)
    }

    /// The pixels of the vertical axis, bottom to top.
    pub fn y_range(&self) -> (f64, f64) {
        (self.plot.3, self.plot.1)
    }

    /// The opening tag, with a description for those who cannot see the drawing.
    pub fn open(&self, label: &str) -> String {
        let (w, h) = self.size;
        format!("<svg viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{}\">", escape(label))
    }

    /// Vertical grid lines with the labels below.
    pub fn x_axis(&self, scale: &Scale, count: usize, label: impl Fn(f64) -> String) -> String {
        let (left, top, right, bottom) = self.plot;
        let mut out = String::new();
        for v in scale.minor_ticks() {
            let x = px(scale.at(v));
            let _ = write!(out, "<path class=\"minor\" d=\"M{x} {}V{}\"/>", px(top), px(bottom));
        }
        for v in scale.ticks(count) {
            let x = px(scale.at(v));
            let _ = write!(out, "<path class=\"grid\" d=\"M{x} {}V{}\"/>", px(top), px(bottom + 4.0));
            let _ = write!(out, "<text class=\"tick\" x=\"{x}\" y=\"{}\">{}</text>", px(bottom + 17.0), label(v));
        }
        let _ = write!(out, "<path class=\"axis\" d=\"M{} {}H{}\"/>", px(left), px(bottom), px(right));
        out
    }

    /// Horizontal grid lines with the labels at the left.
    pub fn y_axis(&self, scale: &Scale, count: usize, label: impl Fn(f64) -> String) -> String {
        let (left, _, right, _) = self.plot;
        scale.ticks(count).into_iter().fold(String::new(), |mut out, v| {
            let y = scale.at(v);
            let _ = write!(out, "<path class=\"grid\" d=\"M{} {}H{}\"/>", px(left), px(y), px(right));
            let _ = write!(
                out,
                "<text class=\"tick y\" x=\"{}\" y=\"{}\">{}</text>",
                px(left - 7.0),
                px(y + 4.0),
                label(v)
            );
            out
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_skip_what_nobody_could_see_but_keep_the_end() {
        assert_eq!(line([(0.0, 0.0), (0.1, 0.1), (10.0, 5.25), (10.0, 5.3)]), "M0 0L10 5.3L10 5.3");
        assert_eq!(line([]), "");
    }

    #[test]
    fn an_area_of_steps_goes_there_above_and_back_below() {
        let edges = [0.0, 10.0, 20.0, 25.0];
        assert_eq!(steps(&edges, &[5.0, 5.0, 2.0], &[9.0, 9.0, 9.0]), "M0 9V5H20V2H25V9H0Z");
        assert_eq!(steps(&edges, &[5.0, 4.0, 2.0], &[9.0, 8.0, 9.0]), "M0 9V5H10V4H20V2H25V9H20V8H10V9H0Z");
        assert_eq!(steps(&[], &[], &[]), "");
        assert_eq!(steps(&[3.0], &[], &[]), "");
    }

    #[test]
    fn dots_on_one_pixel_are_drawn_once() {
        assert_eq!(dots([(1.0, 1.0), (1.2, 1.1), (3.0, 0.5)]), "M1 1h0M3 0.5h0");
    }

    #[test]
    fn markup_in_names_is_harmless() {
        assert_eq!(escape("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(px(3.04), "3");
        assert_eq!(px(-0.26), "-0.3");
        assert_eq!(px(12.25), "12.3");
    }
}
