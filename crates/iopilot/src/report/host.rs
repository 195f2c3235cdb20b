//! What hosts did: where the time of their tasks went, their requests by class, time limits, and the page cache.

use super::over_time::{keys, over_time};
use crate::render::ranking;
use iopilot_block::{Criticality, HostReport, HostTimes, Op, ProcessKind};
use iopilot_compare::Comparison;
use iopilot_render::Scale;
use iopilot_render::number::{bytes, percent, plain, tick};
use iopilot_render::svg::{Frame, escape, px};
use std::fmt::Write;

/// Height of a row of the chart, and of its bar, px.
const ROW: f64 = 30.0;
const BAR: f64 = 22.0;
/// Pixels that a letter takes, at most on average.
const LETTER: f64 = 7.0;
/// Letters of a scheduler's name that fit beside its bar.
const NAME: usize = 30;

/// The hosts of all runs that have one, best first; `None` where there is none.
pub(super) fn hosts(comparison: &Comparison) -> Option<String> {
    let runs = ranking(comparison).into_iter().map(|i| &comparison.runs[i]);
    let hosts: Vec<(&str, &HostReport)> =
        runs.filter_map(|run| Some((run.scheduler.as_str(), run.host.as_ref()?))).collect();
    (!hosts.is_empty()).then(|| {
        bars(&hosts)
            + &over_time(&hosts)
            + &keys()
            + &ends(&hosts)
            + &processes(&hosts)
            + &classes(&hosts)
            + &caches(&hosts)
    })
}

/// A share of the time: its name, seconds and colour.
pub(super) type TimeShare = (&'static str, f64, &'static str);

/// The shares of the time.
pub(super) fn parts(times: &HostTimes) -> [TimeShare; 5] {
    [
        ("computation", times.computation_s, "var(--c2)"),
        ("other CPU", times.other_s, "var(--c0)"),
        ("false computation", times.false_computation_s, "var(--c3)"),
        ("false idle", times.false_idle_s, "var(--c1)"),
        ("idle", times.idle_s, "var(--grey)"),
    ]
}

/// The mean times of the tasks; of a host without tasks that ended, those of all its CPUs.
fn mean_times(host: &HostReport) -> HostTimes {
    if host.tasks.is_empty() {
        return host.times;
    }
    let mean = |of: fn(&HostTimes) -> f64| {
        host.tasks.iter().map(|task| of(&task.times)).sum::<f64>() / host.tasks.len() as f64
    };
    HostTimes {
        computation_s: mean(|times| times.computation_s),
        other_s: mean(|times| times.other_s),
        false_computation_s: mean(|times| times.false_computation_s),
        false_idle_s: mean(|times| times.false_idle_s),
        idle_s: mean(|times| times.idle_s),
    }
}

/// A stacked bar for each scheduler.
fn bars(hosts: &[(&str, &HostReport)]) -> String {
    let times: Vec<HostTimes> = hosts.iter().map(|(_, host)| mean_times(host)).collect();
    let whole = |times: &HostTimes| parts(times).iter().map(|part| part.1).sum::<f64>();
    let most = times.iter().map(whole).fold(0.0, f64::max);
    let longest = hosts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(NAME);
    let left = longest as f64 * LETTER + 16.0;
    let height = ROW * hosts.len() as f64;
    let frame = Frame::new((1160.0, height + 34.0), left, 4.0, 96.0, 26.0);
    let x = Scale::from_zero(if most > 0.0 { most } else { 1.0 }, frame.x_range());
    let mut out = frame.open("Where the time of the tasks went, on average");
    out += &frame.x_axis(&x, 8, |v| format!("{} s", tick(v)));
    for (i, ((name, host), times)) in hosts.iter().zip(&times).enumerate() {
        let top = 4.0 + ROW * i as f64;
        let middle = px(top + BAR * 0.5 + 4.0);
        let label = match name.chars().count() {
            0..=NAME => (*name).to_owned(),
            _ => name.chars().take(NAME - 1).chain(['…']).collect(),
        };
        let (start, _) = frame.x_range();
        let label = escape(&label);
        let _ = write!(out, "<text class=\"tick y\" x=\"{}\" y=\"{middle}\">{label}</text>", px(start - 7.0));
        let all = whole(times);
        let mut before = 0.0;
        for (what, seconds, colour) in parts(times).into_iter().filter(|part| part.1 > 0.0) {
            let (from, to) = (x.at(before), x.at(before + seconds));
            before += seconds;
            let share = percent(seconds / all);
            let _ = write!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" fill-opacity=\"0.35\"><title>{what}: {} s, {share}</title></rect>",
                px(from),
                px(top),
                px((to - from).max(0.5)),
                px(BAR),
                plain(seconds)
            );
            let text = format!("{what} {share}");
            if to - from > text.len() as f64 * LETTER + 8.0 {
                let _ = write!(out, "<text x=\"{}\" y=\"{middle}\">{text}</text>", px(from + 5.0));
            }
        }
        let end = px(x.at(before) + 7.0);
        let tasks = match host.tasks.len() {
            0 => "no task".to_owned(),
            1 => "1 task".to_owned(),
            n => format!("{n} tasks"),
        };
        let _ = write!(out, "<text x=\"{end}\" y=\"{middle}\"><title>{tasks}</title>{} s</text>", plain(all));
    }
    format!("<figure>{out}</svg></figure>")
}

/// Two end times of each run: when its tasks ended, and when all writing ended. Empty if no task ended in any run.
fn ends(hosts: &[(&str, &HostReport)]) -> String {
    let rows = hosts.iter().filter_map(|(name, host)| {
        let (tasks_end, after) = (host.tasks_end_s?, host.after_tasks?);
        let count = |n: u64| Some((n as f64, n.to_string()));
        let seconds = |s: f64| Some((s, format!("{} s", plain(s))));
        Some((
            *name,
            vec![seconds(tasks_end), count(after.dirty_pages), count(after.requests), seconds(host.elapsed_s)],
        ))
    });
    table(&["tasks ended after", "dirty pages then", "requests behind it", "all on the disk after"], rows)
}

/// Schedulers whose processes are shown, and how many names of each.
const SHOWN: (usize, usize) = (4, 12);

/// What the processes of each name did with their time.
fn processes(hosts: &[(&str, &HostReport)]) -> String {
    let rows = hosts.iter().take(SHOWN.0).flat_map(|(name, host)| {
        host.processes.iter().take(SHOWN.1).enumerate().map(move |(n, group)| {
            let seconds = |s: f64| Some((s, plain(s)));
            let count = |n: u64| Some((n as f64, n.to_string()));
            let what = match group.kind {
                ProcessKind::Task => "task",
                ProcessKind::Other => "process",
                ProcessKind::Kernel => "kernel",
            };
            let cells = vec![
                Some((n as f64, format!("{} <small>{what}</small>", escape(&group.name)))),
                count(group.count),
                seconds(group.life_s),
                seconds(group.computation_s),
                seconds(group.running_s - group.computation_s),
                seconds(group.runnable_s),
                seconds(group.io_wait_s),
                count(group.io_waits),
                seconds(group.other_wait_s),
            ];
            (*name, cells)
        })
    });
    let heads = [
        "processes",
        "count",
        "life s",
        "computes",
        "interrupted",
        "could run",
        "waits for I/O",
        "times",
        "waits else",
    ];
    table(&heads, rows)
}

const CLASSES: [(&str, Op, Criticality); 6] = [
    ("critical reads", Op::Read, Criticality::TimeCritical),
    ("limited reads", Op::Read, Criticality::TimeLimited),
    ("other reads", Op::Read, Criticality::TimeNonCritical),
    ("critical writes", Op::Write, Criticality::TimeCritical),
    ("limited writes", Op::Write, Criticality::TimeLimited),
    ("other writes", Op::Write, Criticality::TimeNonCritical),
];

/// Mean responses by class, and the time limits. Classes that no run has are left out.
fn classes(hosts: &[(&str, &HostReport)]) -> String {
    let of = |host: &HostReport, op: Op, class: Criticality| {
        host.classes.iter().find(|c| c.op == op && c.class == class).map(|c| (c.requests, c.response_ms.mean))
    };
    let shown: Vec<_> = CLASSES
        .into_iter()
        .filter(|&(_, op, class)| hosts.iter().any(|(_, host)| of(host, op, class).is_some()))
        .collect();
    let has_limits = hosts.iter().any(|(_, host)| host.limits.wanted + host.limits.unused > 0);
    let mut heads: Vec<&str> = shown.iter().map(|(title, ..)| *title).collect();
    if has_limits {
        heads.extend(["limit ms", "satisfied", "late ms", "never wanted"]);
    }
    let rows = hosts.iter().map(|(name, host)| {
        let mut cells: Vec<Cell> = shown
            .iter()
            .map(|&(_, op, class)| {
                let (requests, mean) = of(host, op, class)?;
                Some((mean, format!("<span title=\"{requests} requests\">{} ms</span>", plain(mean))))
            })
            .collect();
        if has_limits {
            let limits = &host.limits;
            let wanted = |value: f64, text: String| (limits.wanted > 0).then_some((value, text));
            let percentage = limits.satisfied_percent;
            cells.push(wanted(limits.limit_ms.mean, plain(limits.limit_ms.mean)));
            cells.push(wanted(percentage, percent(percentage / 100.0)));
            cells.push(wanted(limits.late_ms.mean, plain(limits.late_ms.mean)));
            cells.push(Some((limits.unused as f64, limits.unused.to_string())));
        }
        (*name, cells)
    });
    table(&heads, rows)
}

/// The page caches; nothing where no run has one.
fn caches(hosts: &[(&str, &HostReport)]) -> String {
    let rows = hosts.iter().filter_map(|(name, host)| {
        let cache = host.cache.as_ref()?;
        let looks = cache.hits + cache.misses;
        let found = cache.hits as f64 / looks.max(1) as f64;
        let count = |n: u64| Some((n as f64, n.to_string()));
        let cells = vec![
            Some((cache.pages as f64, bytes(cache.pages * 4096))),
            count(looks),
            Some((found, percent(found))),
            count(cache.read_ahead),
            count(cache.read_ahead_unused),
            count(cache.evictions),
            count(cache.written),
            Some((
                cache.throttled_s,
                format!("<span title=\"{} times\">{} s</span>", cache.throttled, plain(cache.throttled_s)),
            )),
        ];
        Some((*name, cells))
    });
    table(
        &[
            "page cache",
            "pages read",
            "found",
            "read ahead",
            "of them unused",
            "made room",
            "written",
            "waited for room",
        ],
        rows,
    )
}

/// A value to sort by and its text; `None` where there is nothing.
type Cell = Option<(f64, String)>;

/// A table in HTML; empty if it has no row.
fn table<'a>(heads: &[&str], rows: impl Iterator<Item = (&'a str, Vec<Cell>)>) -> String {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">scheduler</th>{heads}</tr></thead><tbody>"
    );
    for (name, cells) in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
        for cell in cells {
            let _ = match cell {
                Some((value, text)) => write!(out, "<td data-v=\"{value}\">{text}</td>"),
                None => write!(out, "<td></td>"),
            };
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;
    use iopilot_block::{
        AfterTasks, Distribution, OverTime, PageCacheReport, ProcessGroup, RequestClass, TaskReport, TimeLimits,
    };

    fn times(false_idle_s: f64) -> HostTimes {
        HostTimes { computation_s: 60.0, other_s: 20.0, false_computation_s: 0.5, false_idle_s, idle_s: 0.0 }
    }

    fn hosted() -> Comparison {
        let mut comparison = sample_comparison(2);
        let task = |false_idle_s: f64| TaskReport {
            name: "copytree".to_owned(),
            process: 1000,
            elapsed_s: 80.5 + false_idle_s,
            times: times(false_idle_s),
            io_waits: 100,
            io_wait_s: 20.0,
            runnable_s: 0.0,
        };
        let class = |op, class, requests, mean| RequestClass {
            op,
            class,
            requests,
            response_ms: Distribution { mean, ..Distribution::default() },
        };
        comparison.runs[1].scheduler = "prio(<clook>)".to_owned();
        comparison.runs[1].host = Some(HostReport {
            cpus: 1,
            elapsed_s: 250.0,
            tasks_end_s: Some(201.5),
            after_tasks: Some(AfterTasks { dirty_pages: 4321, requests: 4400 }),
            times: times(40.0),
            over_time: OverTime {
                interval_s: 128.0,
                computation: vec![0.5, 0.4],
                other: vec![0.1, 0.2],
                false_computation: vec![0.0, 0.1],
                false_idle: vec![0.4, 0.3],
                idle: vec![0.0, 0.0],
                dirty_pages: Some(vec![4000, 0]),
            },
            processes: vec![ProcessGroup {
                name: "<edit>".to_owned(),
                kind: ProcessKind::Task,
                count: 77,
                running_s: 30.0,
                computation_s: 28.5,
                ..ProcessGroup::default()
            }],
            tasks: vec![task(10.0), task(30.0)],
            classes: vec![
                class(Op::Read, Criticality::TimeCritical, 700, 12.5),
                class(Op::Write, Criticality::TimeNonCritical, 300, 88.0),
            ],
            limits: TimeLimits {
                wanted: 90,
                unused: 7,
                satisfied_percent: 75.0,
                limit_ms: Distribution { mean: 14.25, ..Distribution::default() },
                late_ms: Distribution { mean: 3.5, ..Distribution::default() },
            },
            cache: Some(PageCacheReport {
                pages: 8192,
                hits: 30,
                misses: 10,
                written: 345,
                throttled: 6,
                throttled_s: 2.25,
                ..PageCacheReport::default()
            }),
            ..HostReport::default()
        });
        comparison
    }

    #[test]
    fn a_run_with_a_host_has_its_times_its_ends_its_processes_its_classes_and_its_cache() {
        assert_eq!(hosts(&sample_comparison(2)), None);
        let page = hosts(&hosted()).unwrap();
        assert_eq!((page.matches("<figure>").count(), page.matches("<table").count()), (2, 4));
        // The mean of both tasks: 20 of 100.5 s. There is no idle time to be shown.
        assert_eq!(page.matches("<rect").count(), 4);
        for text in ["false idle: 20.0 s, 19.9", "computation: 60.0 s", "2 tasks", "critical reads", "other writes"] {
            assert!(page.contains(text), "{text} is missing: {page}");
        }
        for text in ["700 requests", "12.5 ms", "14.2", "75", ">7<", "33.6 MB", ">345<"] {
            assert!(page.contains(text), "{text} is missing: {page}");
        }
        for text in ["4000 dirty", "202 s", ">4321<", ">4400<", "&lt;edit&gt; <small>task", ">77<", ">1.50<", "2.25 s"]
        {
            assert!(page.contains(text), "{text} is missing: {page}");
        }
        assert!(!page.contains("limited reads"), "no run has any: {page}");
        assert!(page.contains("&lt;clook&gt;") && !page.contains("<clook>") && !page.contains("NaN"));
        // To look at it: IOPILOT_KEEP_REPORT=/tmp/page.html cargo test -p iopilot its_times
        if let Some(keep) = std::env::var_os("IOPILOT_KEEP_REPORT") {
            std::fs::write(keep, crate::report::html::page(&hosted(), "")).unwrap();
        }
    }

    #[test]
    fn a_host_that_did_nothing_has_no_broken_numbers() {
        let mut comparison = hosted();
        comparison.runs[1].host = Some(HostReport { cache: Some(PageCacheReport::default()), ..HostReport::default() });
        let page = hosts(&comparison).unwrap();
        assert!(!page.contains("NaN") && !page.contains("inf") && page.contains("no task"), "{page}");
    }
}
