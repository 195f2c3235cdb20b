//! Charts with one line a scheduler: response times, throughput, queue length.

use super::emphasis::Emphasis;
use iopilot_compare::Comparison;
use iopilot_render::Scale;
use iopilot_render::number::{tick, time_tick};
use iopilot_render::svg::{Frame, escape, line, px};
use iopilot_sim::RunReport;
use std::fmt::Write;

/// Intervals shown over time; finer series are averaged. More would be narrower than the line.
const INTERVALS: usize = 160;
/// Pixels between two labels, so that they do not overlap.
const LABEL_HEIGHT: f64 = 15.0;

/// Pixels between a label and its line.
const LABEL_GAP: f64 = 6.0;
/// Pixels that a letter of a label takes, at most on average.
const LETTER_WIDTH: f64 = 7.5;

/// One scheduler's line in pixels, and where its label goes.
struct Line<'a> {
    run: usize,
    name: &'a str,
    emphasis: &'a Emphasis,
    points: Vec<(f64, f64)>,
}

/// The attributes of an element that belong to one run: `class`, `data-run` and colour.
pub(super) fn identity(class: &str, run: usize, emphasis: &Emphasis) -> String {
    match emphasis.colour {
        Some(c) => format!("class=\"{class} on\" data-run=\"{run}\" style=\"--c:var(--c{c})\""),
        None => format!("class=\"{class}\" data-run=\"{run}\""),
    }
}

/// The cumulative distribution of response times over a logarithmic axis.
pub(super) fn response(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    let frame = Frame::new((560.0, 340.0), 52.0, 12.0, 16.0, 40.0);
    let x = response_scale(comparison, &frame);
    let y = Scale::linear((0.0, 1.0), frame.y_range());
    let points = |r: &RunReport| {
        let cdf = r.series.response.cdf();
        let start = cdf.first().map(|(t, _)| (t.as_millis_f64(), 0.0));
        let shares = cdf.into_iter().map(|(t, share)| (t.as_millis_f64(), share));
        start.into_iter().chain(shares).map(|(ms, share)| (x.at(ms), y.at(share))).collect()
    };
    let lines = collect(comparison, emphasis, points);
    let axes = frame.x_axis(&x, 6, time_tick) + &frame.y_axis(&y, 5, |v| format!("{} %", tick(v * 100.0)));
    let labels = crossing_labels(&lines, &frame, |rank| y.at(0.30 + 0.13 * (rank % 5) as f64));
    format!("{}{axes}{}{labels}</svg>", frame.open("Cumulative distribution of response times"), draw(&lines))
}

/// The share of requests that took longer, both axes logarithmic: the tail.
pub(super) fn tail(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    let frame = Frame::new((560.0, 340.0), 58.0, 12.0, 16.0, 40.0);
    let x = response_scale(comparison, &frame);
    let most = comparison.runs.iter().map(|r| r.series.response.count()).max().unwrap_or(0).max(10);
    let floor = (1.0 / most as f64).max(1e-6);
    let y = Scale::log((floor, 1.0), frame.y_range());
    let points = |r: &RunReport| {
        let cdf = r.series.response.cdf();
        let start = cdf.first().map(|(t, _)| (t.as_millis_f64(), 1.0));
        let longer = cdf.into_iter().map(|(t, share)| (t.as_millis_f64(), (1.0 - share).max(floor)));
        start.into_iter().chain(longer).map(|(ms, share)| (x.at(ms), y.at(share))).collect()
    };
    let lines = collect(comparison, emphasis, points);
    let axes = frame.x_axis(&x, 6, time_tick) + &frame.y_axis(&y, 5, |v| format!("{} %", tick(v * 100.0)));
    let (bottom, top) = frame.y_range();
    let labels = crossing_labels(&lines, &frame, |rank| bottom - (0.16 + 0.11 * (rank % 5) as f64) * (bottom - top));
    format!("{}{axes}{}{labels}</svg>", frame.open("Share of requests that took longer"), draw(&lines))
}

/// Megabytes completed a second, over time.
pub(super) fn throughput(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    let values = |r: &RunReport| {
        let width = r.series.interval_s;
        average(&r.series.bytes.iter().map(|&b| b as f64 / 1e6 / width).collect::<Vec<_>>())
    };
    over_time(comparison, emphasis, "Throughput over time, MB/s", values)
}

/// Requests between arrival and completion, over time.
pub(super) fn queue(comparison: &Comparison, emphasis: &[Emphasis]) -> String {
    over_time(comparison, emphasis, "Requests in the block layer and the device over time", |r| {
        average(&r.series.queue_length)
    })
}

/// A series as at most [`INTERVALS`] means, with how many intervals each holds.
fn average(values: &[f64]) -> (usize, Vec<f64>) {
    let group = values.len().div_ceil(INTERVALS).max(1);
    (group, values.chunks(group).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect())
}

fn over_time(
    comparison: &Comparison,
    emphasis: &[Emphasis],
    title: &str,
    values: impl Fn(&RunReport) -> (usize, Vec<f64>),
) -> String {
    let frame = Frame::new((1160.0, 300.0), 52.0, 12.0, 150.0, 40.0);
    let series: Vec<_> = comparison.runs.iter().map(values).collect();
    let max = series.iter().flat_map(|s| &s.1).copied().fold(0.0, f64::max);
    let end = comparison.runs.iter().map(|r| r.elapsed_s).fold(0.0, f64::max);
    let x = Scale::linear((0.0, end), frame.x_range());
    let y = Scale::from_zero(max, frame.y_range());
    let lines: Vec<Line<'_>> = comparison
        .runs
        .iter()
        .enumerate()
        .map(|(run, r)| {
            let (group, means) = &series[run];
            let width = r.series.interval_s * *group as f64;
            let at = |(i, &v): (usize, &f64)| (x.at(((i as f64 + 0.5) * width).min(r.elapsed_s)), y.at(v));
            Line {
                run,
                name: &r.scheduler,
                emphasis: &emphasis[run],
                points: means.iter().enumerate().map(at).collect(),
            }
        })
        .collect();
    let axes = frame.x_axis(&x, 8, |v| format!("{} s", tick(v))) + &frame.y_axis(&y, 5, tick);
    let labels = end_labels(&lines, &frame);
    format!("{}{axes}{}{labels}</svg>", frame.open(title), draw(&lines))
}

/// One axis for both charts of response times: from the fastest 0.1 % to the slowest request of all.
fn response_scale(comparison: &Comparison, frame: &Frame) -> Scale {
    let filled = || comparison.runs.iter().map(|r| &r.series.response).filter(|h| h.count() > 0);
    let low = filled().map(|h| h.quantile(0.001).as_millis_f64()).fold(f64::INFINITY, f64::min);
    let high = filled().map(|h| h.quantile(1.0).as_millis_f64()).fold(0.0, f64::max);
    Scale::log((if low.is_finite() { low.max(1e-4) } else { 0.1 }, high.max(1e-3)), frame.x_range())
}

fn collect<'a>(
    comparison: &'a Comparison,
    emphasis: &'a [Emphasis],
    points: impl Fn(&RunReport) -> Vec<(f64, f64)>,
) -> Vec<Line<'a>> {
    let line = |(run, r): (usize, &'a RunReport)| Line {
        run,
        name: &r.scheduler,
        emphasis: &emphasis[run],
        points: points(r),
    };
    comparison.runs.iter().enumerate().map(line).collect()
}

/// The lines, with the grey ones below the others.
fn draw(lines: &[Line<'_>]) -> String {
    let mut order: Vec<&Line<'_>> = lines.iter().collect();
    order.sort_by_key(|l| std::cmp::Reverse(l.emphasis.colour.map_or(usize::MAX, |c| c)));
    order.iter().fold(String::from("<g>"), |mut out, l| {
        let d = line(l.points.iter().copied());
        let _ = write!(
            out,
            "<g {}><title>{}</title><path d=\"{d}\"/></g>",
            identity("run", l.run, l.emphasis),
            escape(l.name)
        );
        out
    }) + "</g>"
}

/// A label beside each line, each at a height of its own. Labels of the faster half are left of their lines, the others
/// right, as far as they fit.
fn crossing_labels(lines: &[Line<'_>], frame: &Frame, height: impl Fn(usize) -> f64) -> String {
    let mut order: Vec<&Line<'_>> = lines.iter().filter(|l| !l.points.is_empty()).collect();
    let middle = height(2);
    order.sort_by(|a, b| {
        let key = |l: &Line<'_>| (l.emphasis.colour.is_none(), crossing(&l.points, middle));
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let coloured = order.iter().filter(|l| l.emphasis.colour.is_some()).count();
    order.iter().enumerate().fold(String::new(), |mut out, (rank, l)| {
        let y = height(rank);
        let at = crossing(&l.points, y);
        let left = is_left(at, l.name, rank < coloured.div_ceil(2), frame);
        let x = at + if left { -LABEL_GAP } else { LABEL_GAP };
        let _ = write!(
            out,
            "<text {} x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
            identity("label", l.run, l.emphasis),
            px(x),
            px(y + 4.0),
            if left { "end" } else { "start" },
            escape(l.name)
        );
        out
    })
}

/// Whether the label `name` of a line that passes at `x` goes to the left of it: as `wanted`, unless it would run over the edge.
fn is_left(x: f64, name: &str, wanted: bool, frame: &Frame) -> bool {
    let width = LABEL_GAP + LETTER_WIDTH * name.chars().count() as f64;
    match wanted {
        true => x - width >= frame.plot.0 || x + width > frame.size.0,
        false => x + width > frame.size.0,
    }
}

/// The x coordinate at which a monotonic line passes the height `y`.
fn crossing(points: &[(f64, f64)], y: f64) -> f64 {
    let passes = |w: &&[(f64, f64)]| (w[0].1 - y) * (w[1].1 - y) <= 0.0;
    match points.windows(2).find(passes) {
        Some([(x0, y0), (x1, y1)]) if (y1 - y0).abs() > 1e-9 => x0 + (x1 - x0) * (y - y0) / (y1 - y0),
        Some([(x0, _), ..]) => *x0,
        _ => points.last().map_or(0.0, |p| p.0),
    }
}

/// A label for each line in the right margin, moved apart, with a thin leader from the line's end.
fn end_labels(lines: &[Line<'_>], frame: &Frame) -> String {
    let right = frame.plot.2;
    let ends: Vec<_> = lines.iter().filter_map(|l| l.points.last().map(|&(x, y)| (l, x, y))).collect();
    let shown: Vec<f64> = ends.iter().filter(|(l, ..)| l.emphasis.colour.is_some()).map(|e| e.2).collect();
    let mut places = spread(&shown, frame.plot.1 + 6.0, frame.plot.3).into_iter();
    ends.iter().fold(String::from("<g class=\"ends\">"), |mut out, &(l, x, y)| {
        let place = if l.emphasis.colour.is_some() { places.next().unwrap_or(y) } else { y };
        let _ = write!(
            out,
            "<g {} data-x=\"{}\" data-y=\"{}\"><path class=\"leader\" d=\"M{} {}L{} {}H{}\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
            identity("label", l.run, l.emphasis),
            px(x),
            px(y),
            px(x),
            px(y),
            px(right + 2.0),
            px(place),
            px(right + 8.0),
            px(right + 11.0),
            px(place + 4.0),
            escape(l.name)
        );
        out
    }) + "</g>"
}

/// Heights as near to `wanted` as [`LABEL_HEIGHT`] between neighbours allows, within `top` to `bottom` where they fit.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut places = wanted.to_vec();
    let mut next = top;
    for &i in &order {
        places[i] = places[i].max(next);
        next = places[i] + LABEL_HEIGHT;
    }
    let mut limit = bottom;
    for &i in order.iter().rev() {
        places[i] = places[i].min(limit);
        limit = places[i] - LABEL_HEIGHT;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let places = spread(&[100.0, 101.0, 20.0, 299.0, 298.0], 10.0, 300.0);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|w| w[1] - w[0] >= LABEL_HEIGHT - 1e-9), "{places:?}");
        assert!(places[0] < places[1] && places[4] < places[3]);
        assert!(sorted[4] <= 300.0);
    }

    #[test]
    fn a_line_is_labelled_where_it_passes() {
        let rising = [(0.0, 100.0), (10.0, 50.0), (20.0, 0.0)];
        assert_eq!(crossing(&rising, 75.0), 5.0);
        assert_eq!(crossing(&[(3.0, 9.0), (3.0, 9.0)], 9.0), 3.0);
    }

    #[test]
    fn a_label_stays_within_the_picture() {
        let frame = Frame::new((560.0, 340.0), 58.0, 12.0, 16.0, 40.0);
        let is_left = |x, wanted| is_left(x, "mq-deadline", wanted, &frame);
        assert!(is_left(300.0, true) && !is_left(300.0, false), "as wanted");
        assert!(is_left(540.0, false), "no room at the right");
        assert!(!is_left(70.0, true), "nor over the axis");
    }

    #[test]
    fn a_long_series_is_averaged_and_keeps_its_mean() {
        let values: Vec<f64> = (0..1600).map(f64::from).collect();
        let (group, means) = average(&values);
        assert_eq!((group, means.len()), (10, 160));
        assert!((means.iter().sum::<f64>() / 160.0 - 799.5).abs() < 1e-9);
    }
}
