//! The columns of a comparison: the same on the terminal and in the page.

use iopilot_render::number::{plain, short_count};
use iopilot_sim::RunReport;

/// One column.
pub(crate) struct RunColumn {
    /// Its key in the JSON, which is also how a verdict names it.
    pub(crate) key: &'static str,
    /// A title over several columns; empty where there is none.
    pub(crate) group: &'static str,
    /// Its title.
    pub(crate) title: &'static str,
    /// What it means, with its unit.
    pub(crate) help: &'static str,
    /// Its value in a run.
    pub(crate) value: fn(&RunReport) -> f64,
    /// How it is printed.
    pub(crate) format: fn(f64) -> String,
    /// Whether a smaller value is better, a larger one, or neither.
    pub(crate) better: Better,
    /// A narrow terminal drops columns from the highest number down; 0 stays.
    pub(crate) expendable: u8,
    /// Whether it is shown only if the verdict compares it.
    pub(crate) on_demand: bool,
}

impl RunColumn {
    /// Its title with that of its group.
    pub(crate) fn full_title(&self) -> String {
        format!("{} {}", self.group, self.title).trim_start().to_owned()
    }
}

/// Whether smaller or larger values of a column are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
    /// Neither is.
    Neither,
}

/// All columns in the order they are printed.
pub(crate) const COLUMNS: &[RunColumn] = &[
    RunColumn {
        key: "throughput_mb_s",
        group: "",
        title: "MB/s",
        help: "throughput, 10^6 bytes a second",
        value: |r| r.throughput_mb_s,
        format: plain,
        better: Better::More,
        expendable: 1,
        on_demand: false,
    },
    RunColumn {
        key: "iops",
        group: "",
        title: "IOPS",
        help: "requests a second",
        value: |r| r.iops,
        format: plain,
        better: Better::More,
        expendable: 4,
        on_demand: false,
    },
    RunColumn {
        key: "wait_ms_mean",
        group: "wait",
        title: "ms",
        help: "how long processes wait, for each request they wait for, with the time they wait for a tag, ms",
        value: |r| if r.critical_requests > 0 { r.wait_ms_mean } else { f64::NAN },
        format: plain,
        better: Better::Less,
        expendable: 3,
        on_demand: false,
    },
    RunColumn {
        key: "process_wait_ms",
        group: "wait",
        title: "each",
        help: "how long a process waits for one of its requests, the geometric mean over processes, ms",
        value: |r| r.process_wait_ms,
        format: plain,
        better: Better::Less,
        expendable: 3,
        on_demand: true,
    },
    RunColumn {
        key: "task_s_mean",
        group: "task",
        title: "s",
        help: "mean time of the tasks, s",
        value: |r| r.task_s_mean.unwrap_or(f64::NAN),
        format: plain,
        better: Better::Less,
        expendable: 2,
        on_demand: false,
    },
    RunColumn {
        key: "spread.percent",
        group: "",
        title: "±%",
        help: "half of the range of the replays, in percent of the value that is compared",
        value: |r| r.spread.map_or(f64::NAN, |spread| spread.percent),
        format: plain,
        better: Better::Less,
        expendable: 2,
        on_demand: false,
    },
    RunColumn {
        key: "response_ms.mean",
        group: "response ms",
        title: "mean",
        help: "from arrival at the block layer to completion, ms",
        value: |r| r.response_ms.mean,
        format: plain,
        better: Better::Less,
        expendable: 0,
        on_demand: false,
    },
    RunColumn {
        key: "response_ms.p50",
        group: "response ms",
        title: "p50",
        help: "half of the requests took no longer, ms",
        value: |r| r.response_ms.p50,
        format: plain,
        better: Better::Less,
        expendable: 5,
        on_demand: false,
    },
    RunColumn {
        key: "response_ms.p95",
        group: "response ms",
        title: "p95",
        help: "95 % of the requests took no longer, ms",
        value: |r| r.response_ms.p95,
        format: plain,
        better: Better::Less,
        expendable: 6,
        on_demand: false,
    },
    RunColumn {
        key: "response_ms.p99",
        group: "response ms",
        title: "p99",
        help: "99 % of the requests took no longer, ms",
        value: |r| r.response_ms.p99,
        format: plain,
        better: Better::Less,
        expendable: 2,
        on_demand: false,
    },
    RunColumn {
        key: "response_ms.max",
        group: "response ms",
        title: "max",
        help: "the slowest request, ms",
        value: |r| r.response_ms.max,
        format: plain,
        better: Better::Less,
        expendable: 7,
        on_demand: false,
    },
    RunColumn {
        key: "service_ms.mean",
        group: "service",
        title: "ms",
        help: "mean time from issue to the device to completion, ms",
        value: |r| r.service_ms.mean,
        format: plain,
        better: Better::Less,
        expendable: 8,
        on_demand: false,
    },
    RunColumn {
        key: "queue_length_mean",
        group: "",
        title: "queue",
        help: "mean number of requests between arrival and completion",
        value: |r| r.queue_length_mean,
        format: plain,
        better: Better::Neither,
        expendable: 10,
        on_demand: false,
    },
    RunColumn {
        key: "seek_distance_mean_sectors",
        group: "seek",
        title: "sect",
        help: "mean distance between requests as dispatched, 512-byte sectors",
        value: |r| r.seek_distance_mean_sectors,
        format: short_count,
        better: Better::Less,
        expendable: 11,
        on_demand: false,
    },
    RunColumn {
        key: "merged",
        group: "",
        title: "merged",
        help: "requests that joined another",
        value: |r| r.merged as f64,
        format: short_count,
        better: Better::Neither,
        expendable: 9,
        on_demand: false,
    },
    RunColumn {
        key: "jain",
        group: "",
        title: "Jain",
        help: "Jain's fairness index of the processes' throughput: 1 is fair",
        value: |r| r.jain,
        format: |v| format!("{v:.3}"),
        better: Better::More,
        expendable: 3,
        on_demand: false,
    },
    RunColumn {
        key: "elapsed_s",
        group: "time",
        title: "s",
        help: "from the first arrival to the last completion, s",
        value: |r| r.elapsed_s,
        format: plain,
        better: Better::Less,
        expendable: 12,
        on_demand: false,
    },
];
