//! Pictures of one disk, each an SVG file of its own: the seek curve, the zones, service times.

use iopilot_device::Mechanics;
use iopilot_render::Scale;
use iopilot_render::number::{short_count, tick};
use iopilot_render::svg::{Frame, escape, line, px};
use std::fmt::Write;

/// A file on its own has no page to take colours from; these suit light and dark surroundings.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#808892}.name{font-size:14px;fill:#5d6570}\
    .tick{text-anchor:middle}.y{text-anchor:end}.grid,.axis,.minor{stroke:#80889255;fill:none}\
    .minor{stroke:#80889222}.line{fill:none;stroke-width:1.8;stroke-linejoin:round}\
    .reads{stroke:#0072b2}.writes{stroke:#d55e00}.label.reads{fill:#0072b2;stroke:none}\
    .label.writes{fill:#d55e00;stroke:none}";
const SIZE: (f64, f64) = (640.0, 320.0);

/// One line of a picture.
struct Curve {
    class: &'static str,
    points: Vec<(f64, f64)>,
}

/// Seek time (ms) over distance (cylinders), for reads and for writes with their settling.
pub(crate) fn seek_curve(name: &str, mechanics: &Mechanics) -> String {
    let cylinders = mechanics.geometry.cylinders().max(2);
    // The start of the curve bends most: every cylinder there, then steps too short to see.
    let distances: Vec<u32> = (1..cylinders).filter(|d| *d < 400 || d % (cylinders / 400).max(1) == 0).collect();
    let settle = mechanics.write_settle;
    let time = |d: u32, write: bool| {
        let settle = if write { settle } else { 0.0 };
        (mechanics.seek.time_of(d, write) + settle).max(0.0) / 1e6
    };
    let curve = |write| distances.iter().map(|&d| (f64::from(d), time(d, write))).collect::<Vec<(f64, f64)>>();
    let curves = [Curve { class: "reads", points: curve(false) }, Curve { class: "writes", points: curve(true) }];
    let (x, y) = ((0.0, f64::from(cylinders - 1)), top(&curves));
    draw(&format!("{name}: seek time, ms, over distance, cylinders"), x, y, &curves, short_count, tick)
}

/// Sectors per track over the cylinder.
pub(crate) fn zones(name: &str, mechanics: &Mechanics) -> String {
    let mut points = Vec::new();
    for zone in mechanics.geometry.zones() {
        let sectors = f64::from(zone.per_turn);
        points.extend([(f64::from(zone.first_cylinder), sectors), (f64::from(zone.last_cylinder) + 1.0, sectors)]);
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let end = points.last().map_or(1.0, |p| p.0);
    let curves = [Curve { class: "reads", points }];
    let y = top(&curves);
    draw(
        &format!("{name}: sectors per track over cylinder, outermost first"),
        (0.0, end),
        y,
        &curves,
        short_count,
        tick,
    )
}

/// The cumulative distribution of service times, ms; each list is sorted here.
pub(crate) fn service_times(name: &str, mut reads: Vec<f64>, mut writes: Vec<f64>) -> String {
    let cdf = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let n = times.len() as f64;
        times.iter().enumerate().map(|(i, &t)| (t, (i + 1) as f64 / n)).collect::<Vec<_>>()
    };
    let curves =
        [Curve { class: "reads", points: cdf(&mut reads) }, Curve { class: "writes", points: cdf(&mut writes) }];
    let longest = curves.iter().filter_map(|c| c.points.last()).map(|p| p.0).fold(0.0, f64::max);
    let title = format!("{name}: random 8 KiB, one at a time: share served within, ms");
    draw(&title, (0.0, longest), 1.0, &curves, tick, |v| format!("{} %", tick(v * 100.0)))
}

/// MB/s of random writes over what has been written, in capacities of the drive.
pub(crate) fn write_cliff(name: &str, points: Vec<(f64, f64)>) -> String {
    let end = points.last().map_or(1.0, |p| p.0.ceil());
    let curves = [Curve { class: "writes", points }];
    let y = top(&curves);
    let title = format!("{name}: random 4 KiB writes, MB/s, over capacities written, from empty");
    draw(&title, (0.0, end), y, &curves, tick, tick)
}

fn top(curves: &[Curve]) -> f64 {
    curves.iter().flat_map(|c| &c.points).map(|p| p.1).fold(0.0, f64::max)
}

/// A picture with its axes; where there are two curves they are named.
fn draw(
    title: &str,
    x: (f64, f64),
    y_max: f64,
    curves: &[Curve],
    x_label: impl Fn(f64) -> String,
    y_label: impl Fn(f64) -> String,
) -> String {
    let frame = Frame::new(SIZE, 56.0, 34.0, 20.0, 34.0);
    let (x, y) = (Scale::linear(x, frame.x_range()), Scale::from_zero(y_max, frame.y_range()));
    let (w, h) = SIZE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">\
         <title>{title}</title><style>{STYLE}</style><text class=\"name\" x=\"12\" y=\"20\">{title}</text>",
        title = escape(title)
    );
    out += &frame.x_axis(&x, 8, x_label);
    out += &frame.y_axis(&y, 5, y_label);
    for (i, curve) in curves.iter().enumerate() {
        let points = curve.points.iter().map(|&(a, b)| (x.at(a), y.at(b)));
        let _ = write!(out, "<path class=\"line {}\" d=\"{}\"/>", curve.class, line(points));
        if curves.len() > 1 {
            let place = (frame.x_range().1 - 60.0, frame.y_range().0 - 30.0 + 16.0 * i as f64);
            let (lx, ly) = (px(place.0), px(place.1));
            let _ = write!(out, "<text class=\"label {0}\" x=\"{lx}\" y=\"{ly}\">{0}</text>", curve.class);
        }
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_inject_markup_and_an_empty_picture_has_no_broken_numbers() {
        let picture = service_times("<b>", vec![3.0, 1.0, 2.0], Vec::new());
        assert!(picture.contains("&lt;b&gt;") && !picture.contains("<b>"));
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
    }

    #[test]
    fn the_distribution_ends_at_all_requests_and_its_longest_time() {
        let picture = service_times("d", vec![4.0, 2.0], vec![1.0]);
        let frame = Frame::new(SIZE, 56.0, 34.0, 20.0, 34.0);
        let end = format!("L{} {}\"", px(frame.x_range().1), px(frame.y_range().1));
        assert!(picture.contains(&end), "{picture}");
    }
}
