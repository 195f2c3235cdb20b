//! The tables of the measurements.

use super::measure::{AccuracyCase, BenchmarkMeans};
use super::{SAMPLES, Subject, source};
use crate::ResultTable;
use crate::gf::GfBenchmark;
use crate::outcome::Cell;

const BENCHMARKS: usize = GfBenchmark::ALL.len();

/// By how many percent `ours` differs from `real`.
pub(super) fn percent(ours: f64, real: f64) -> f64 {
    100.0 * (ours / real - 1.0)
}

fn table(name: &'static str, title: &str, first: &[&str], unit: &str, last: &[&str]) -> ResultTable {
    let benchmarks = GfBenchmark::ALL.map(|b| format!("{b}_{unit}"));
    let all = format!("all_{unit}");
    let mut columns = first.to_vec();
    columns.extend(benchmarks.iter().map(String::as_str));
    columns.push(&all);
    columns.extend(last);
    ResultTable::new(name, title, &columns)
}

/// Mean I/O times, as in GF Tables 3.2 and 3.3.
pub(super) fn means(cases: &[AccuracyCase]) -> ResultTable {
    let title = "Mean I/O time of a request, µs";
    let mut table = table("means", title, &["device", "processes", "disk"], "us", &["requests"]);
    for case in cases {
        let mut row = |name: String, means: &BenchmarkMeans| {
            let mut cells: Vec<Cell> = vec![case.subject.name().into(), u64::from(case.processes).into(), name.into()];
            cells.extend((0..BENCHMARKS).map(|b| Cell::from(means.of_us(b))));
            cells.extend([means.all_us().into(), means.requests().into()]);
            table.row(cells);
        };
        row("real".to_owned(), &case.real);
        case.virtual_disks.iter().for_each(|(variant, means)| row(variant.name(), means));
    }
    table
}

/// Differences from the real disk, ours and the source's.
pub(super) fn differences(cases: &[AccuracyCase]) -> ResultTable {
    let title = "Difference of the mean I/O time of a request from the real disk's, %; GF: the source's own tables";
    let mut table = table("differences", title, &["device", "processes", "disk", "goal"], "%", &[]);
    for case in cases {
        let mut row = |name: String, of: &dyn Fn(usize) -> f64, all: f64| {
            let mut cells: Vec<Cell> = vec![
                case.subject.name().into(),
                u64::from(case.processes).into(),
                name.into(),
                case.subject.goal().into(),
            ];
            cells.extend((0..BENCHMARKS).map(|b| Cell::from(of(b))));
            cells.push(all.into());
            table.row(cells);
        };
        for (variant, means) in &case.virtual_disks {
            let of = |b: usize| percent(means.of_us(b), case.real.of_us(b));
            row(variant.name(), &of, percent(means.all_us(), case.real.all_us()));
        }
        for (samples, differences) in of_the_source(case.subject, case.processes) {
            // The source does not give its mean over all requests.
            row(format!("GF VD {samples}"), &|b| differences[b], f64::NAN);
        }
    }
    table
}

/// The source's own differences in percent, by samples. There are none for the SSD, because the source has no table of
/// it.
pub(super) fn of_the_source(subject: Subject, processes: u32) -> Vec<(u32, [f64; BENCHMARKS])> {
    let against = |real: &[f64; BENCHMARKS], ours: &[f64; BENCHMARKS]| {
        let mut out = [0.0; BENCHMARKS];
        for (b, out) in out.iter_mut().enumerate() {
            *out = percent(ours[b], real[b]);
        }
        out
    };
    match subject {
        Subject::Disk => source::CACHE_ON
            .iter()
            .filter(|(n, _)| *n == processes)
            .flat_map(|(_, [real, ours @ ..])| SAMPLES.into_iter().zip(ours).map(|(s, o)| (s, against(real, o))))
            .collect(),
        Subject::CacheOff => source::CACHE_OFF
            .iter()
            .filter(|(n, _)| *n == processes)
            .map(|(_, [real, ours])| (64, against(real, ours)))
            .collect(),
        Subject::Ssd => Vec::new(),
    }
}
