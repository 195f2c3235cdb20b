//! How the CPUs spent their time over the run: a chart for each scheduler.

use super::host::parts;
use iopilot_block::{HostReport, HostTimes, OverTime};
use iopilot_render::Scale;
use iopilot_render::number::{percent, tick};
use iopilot_render::svg::{Frame, escape, line, px, steps};
use std::fmt::Write;

/// Charts that are drawn; more would hide what they show.
const CHARTS: usize = 4;

/// The charts of the first hosts on a common axis of time; none where nothing has happened.
pub(super) fn over_time(hosts: &[(&str, &HostReport)]) -> String {
    let shown = || hosts.iter().take(CHARTS).filter(|(_, host)| !host.over_time.idle.is_empty());
    let end = shown().map(|(_, host)| host.elapsed_s).fold(0.0, f64::max);
    let most = shown().filter_map(|(_, host)| host.over_time.dirty_pages.as_ref()?.iter().max()).max().copied();
    shown().fold(String::new(), |out, (name, host)| out + &chart(name, host, end, most))
}

fn chart(name: &str, host: &HostReport, end: f64, most_dirty: Option<u32>) -> String {
    let frame = Frame::new((1160.0, 150.0), 52.0, 8.0, 96.0, 26.0);
    let x = Scale::linear((0.0, end), frame.x_range());
    let y = Scale::linear((0.0, 1.0), frame.y_range());
    let over_time = &host.over_time;
    let count = over_time.idle.len();
    let at = |n: usize| x.at((n as f64 * over_time.interval_s).min(host.elapsed_s));
    let edges: Vec<f64> = (0..=count).map(at).collect();
    let mut out = frame.open(&format!("Where the time of the CPUs went over time under {name}"));
    out += &frame.x_axis(&x, 8, |v| format!("{} s", tick(v)));
    out += &frame.y_axis(&y, 2, |v| format!("{} %", tick(v * 100.0)));
    let mut below = vec![0.0; count];
    for ((what, seconds, colour), shares) in parts(&host.times).into_iter().zip(shares(over_time)) {
        let above: Vec<f64> = below.iter().zip(shares).map(|(below, share)| below + share).collect();
        // A share that is always zero has no area.
        if seconds > 0.0 {
            let heights = |shares: &[f64]| shares.iter().map(|&share| y.at(share)).collect::<Vec<_>>();
            let d = steps(&edges, &heights(&above), &heights(&below));
            let all = f64::from(host.cpus) * host.elapsed_s;
            let title = format!("{what}: {} in all", percent(seconds / all));
            let _ =
                write!(out, "<path fill=\"{colour}\" fill-opacity=\"0.45\" d=\"{d}\"><title>{title}</title></path>");
        }
        below = above;
    }
    if let (Some(dirty), Some(most)) = (&over_time.dirty_pages, most_dirty.filter(|&most| most > 0)) {
        let height = Scale::linear((0.0, f64::from(most)), frame.y_range());
        let ends = dirty.iter().zip(&edges[1..]).map(|(&pages, &edge)| (edge, height.at(f64::from(pages))));
        let d = line(std::iter::once((edges[0], height.at(0.0))).chain(ends));
        let _ = write!(out, "<path class=\"dirty\" d=\"{d}\"><title>dirty pages</title></path>");
        let (_, right) = frame.x_range();
        let (_, top) = frame.y_range();
        let text = format!("{most} dirty");
        let _ = write!(out, "<text x=\"{}\" y=\"{}\">{text}</text>", px(right + 7.0), px(top + 8.0));
    }
    if let Some(tasks_end) = host.tasks_end_s {
        let (bottom, top) = frame.y_range();
        let (at, title) = (px(x.at(tasks_end)), "the last task has ended");
        let _ = write!(
            out,
            "<path class=\"tasks-end\" d=\"M{at} {}V{}\"><title>{title}</title></path>",
            px(bottom),
            px(top)
        );
    }
    format!("<figure><figcaption><b>{}</b></figcaption>{out}</svg></figure>", escape(name))
}

/// The shares over time in the order of [`parts`].
fn shares(over_time: &OverTime) -> [&Vec<f64>; 5] {
    let OverTime { computation, other, false_computation, false_idle, idle, .. } = over_time;
    [computation, other, false_computation, false_idle, idle]
}

/// The legend: the colours of [`parts`], in the order of the charts from below.
pub(super) fn keys() -> String {
    let key = |(what, _, colour): super::host::TimeShare| format!("<b style=\"color:{colour}\">{what}</b> ");
    let keys: String = parts(&HostTimes::default()).into_iter().map(key).collect();
    format!("<p class=\"what\">{keys}</p>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(intervals: usize) -> HostReport {
        let over_time = OverTime {
            interval_s: 2.0,
            computation: vec![0.5; intervals],
            other: vec![0.25; intervals],
            false_computation: vec![0.0; intervals],
            false_idle: vec![0.25; intervals],
            idle: vec![0.0; intervals],
            dirty_pages: Some((0..intervals as u32).collect()),
        };
        let elapsed_s = 2.0 * intervals as f64;
        let times = HostTimes {
            computation_s: elapsed_s / 2.0,
            other_s: elapsed_s / 4.0,
            false_idle_s: elapsed_s / 4.0,
            ..HostTimes::default()
        };
        HostReport { cpus: 1, elapsed_s, tasks_end_s: Some(10.0), times, over_time, ..HostReport::default() }
    }

    #[test]
    fn each_part_of_the_time_has_an_area_and_dirty_pages_a_line() {
        let (one, two) = (host(10), host(20));
        let charts = over_time(&[("<clook>", &one), ("sptf", &two)]);
        assert_eq!((charts.matches("<figure>").count(), charts.matches("fill-opacity").count()), (2, 6));
        assert_eq!((charts.matches("class=\"dirty\"").count(), charts.matches("19 dirty").count()), (2, 2));
        assert_eq!(charts.matches("tasks-end").count(), 2);
        assert!(charts.contains("computation: 50.0 % in all") && !charts.contains("idle: 0"), "{charts}");
        assert!(charts.contains("&lt;clook&gt;") && !charts.contains("NaN"));
    }

    #[test]
    fn only_the_first_have_a_chart_and_nothing_makes_none() {
        let one = host(10);
        let hosts: Vec<(&str, &HostReport)> = ["a", "b", "c", "d", "e", "f"].map(|name| (name, &one)).to_vec();
        assert_eq!(over_time(&hosts).matches("<figure>").count(), 4);
        assert_eq!(over_time(&[("a", &HostReport::default())]), "");
    }
}
