//! The thesis' tables.

/// A table of 5.4 to 5.7, as measured: elapsed seconds, CPU utilization in percent, interrupts, requests, waits, and
/// the mean times of a wait, an access and a response in milliseconds.
pub(super) const MEASURED: [(&str, [f64; 8]); 4] = [
    ("compress", [198.0, 81.3, 61225.0, 10844.0, 370.0, 69.2, 6.43, 53.3]),
    ("uncompress", [144.0, 62.4, 79513.0, 10983.0, 166.0, 284.0, 8.32, 1076.0]),
    ("copytree", [89.5, 19.3, 62872.0, 8995.0, 4584.0, 15.2, 11.1, 147.0]),
    ("removetree", [18.2, 15.1, 21756.0, 1176.0, 1103.0, 13.5, 13.9, 15.6]),
];

/// The reads of each task, and how many of them the disk's buffer served (Tables 7.2 to 7.5). None is known for
/// `removetree`.
pub(super) const BUFFER_HITS: [(&str, u64, u64); 4] =
    [("compress", 7645, 6886), ("uncompress", 2856, 2460), ("copytree", 3949, 144), ("removetree", 19, 0)];

/// Tables 5.8 to 5.11, as measured: by how many percent C-LOOK is better than FCFS in elapsed time, response and access
/// time.
pub(super) const IMPROVED: [[f64; 3]; 4] = [[3.0, 9.2, 4.2], [10.4, 65.2, 17.8], [6.1, 38.2, 6.8], [-0.2, 0.3, 0.1]];

/// Table 7.2, percent of all requests: reads time-critical and time-limited; writes time-critical, time-limited and
/// time-noncritical.
pub(super) const CLASSES: [(&str, [f64; 5]); 9] = [
    ("compress", [0.9, 69.6, 0.3, 0.0, 29.2]),
    ("uncompress", [1.1, 24.9, 0.3, 0.0, 73.7]),
    ("copytree", [7.8, 36.1, 6.8, 2.0, 47.3]),
    ("removetree", [1.4, 0.2, 93.4, 0.0, 4.9]),
    ("synrgen:users=1", [1.8, 2.5, 25.8, 2.1, 67.8]),
    ("synrgen:users=2", [2.8, 3.1, 25.5, 2.0, 66.6]),
    ("synrgen:users=4", [3.6, 6.8, 23.0, 1.9, 64.7]),
    ("synrgen:users=8", [4.6, 10.5, 24.8, 2.1, 57.9]),
    ("synrgen:users=16", [8.8, 11.6, 25.7, 2.8, 51.0]),
];

/// Figures 7.1 to 7.6: the mean time limit in milliseconds, and the longest.
pub(super) const LIMITS: [(&str, f64, f64); 6] = [
    ("compress", 25.8, 611.0),
    ("uncompress", 111.0, 144_000.0),
    ("copytree", 60.1, 155_000.0),
    ("synrgen:users=16", 51.7, 3180.0),
    ("synrgen:users=8", 24.8, 493.0),
    ("synrgen:users=4", 52.6, 5960.0),
];

/// Table 5.2: the elapsed seconds of a task, and the seconds that the task sleeps.
pub(super) const SYNRGEN: [(u32, f64, f64); 5] =
    [(1, 2.37, 2.02), (2, 3.02, 2.60), (4, 3.19, 2.74), (8, 3.25, 2.71), (16, 3.26, 2.55)];

/// A column of Tables 7.3 to 7.8.
#[derive(Clone, Copy)]
pub(super) struct PublishedColumn {
    pub(super) elapsed_s: f64,
    pub(super) false_idle_s: f64,
    pub(super) io_wait_s: f64,
    pub(super) service_ms: f64,
}

const fn column(elapsed_s: f64, false_idle_s: f64, io_wait_s: f64, service_ms: f64) -> PublishedColumn {
    PublishedColumn { elapsed_s, false_idle_s, io_wait_s, service_ms }
}

/// The schedulers of those tables.
pub(super) const SCHEDULERS: [&str; 4] = ["clook", "prio(clook)", "fcfs", "prio(fcfs)"];

/// Tables 7.3 to 7.8, with the schedulers above.
pub(super) const CRITICALITY: [(&str, &str, [PublishedColumn; 4]); 6] = [
    (
        "compress",
        "7.3",
        [
            column(194.3, 20.8, 23.8, 6.5),
            column(194.1, 20.7, 22.5, 12.4),
            column(199.7, 26.0, 29.3, 6.7),
            column(194.7, 21.3, 23.1, 12.6),
        ],
    ),
    (
        "uncompress",
        "7.4",
        [
            column(147.5, 39.6, 51.0, 8.0),
            column(103.8, 3.9, 4.3, 12.1),
            column(171.1, 62.0, 75.9, 9.9),
            column(104.0, 4.3, 4.8, 13.6),
        ],
    ),
    (
        "copytree",
        "7.5",
        [
            column(92.7, 63.4, 72.1, 10.9),
            column(73.0, 47.5, 52.8, 11.6),
            column(107.7, 77.3, 87.4, 12.1),
            column(74.2, 48.6, 53.9, 12.8),
        ],
    ),
    (
        "synrgen:users=16",
        "7.6",
        [
            column(3.26, 0.22, 0.33, 13.8),
            column(3.12, 0.13, 0.19, 14.7),
            column(3.39, 0.32, 0.45, 15.1),
            column(3.12, 0.14, 0.19, 15.8),
        ],
    ),
    (
        "synrgen:users=8",
        "7.7",
        [
            column(3.25, 0.16, 0.20, 14.3),
            column(3.20, 0.12, 0.14, 14.7),
            column(3.32, 0.20, 0.26, 15.6),
            column(3.21, 0.12, 0.15, 15.9),
        ],
    ),
    (
        "synrgen:users=4",
        "7.8",
        [
            column(3.19, 0.12, 0.14, 14.3),
            column(3.17, 0.10, 0.11, 14.5),
            column(3.23, 0.15, 0.17, 15.9),
            column(3.17, 0.10, 0.11, 16.0),
        ],
    ),
];
