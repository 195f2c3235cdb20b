//! `carroll-cfq-idling`: what CFQ's idling costs on arrays, and when it stops (5.1, 6.4).

use super::bench::{
    ArrayResult, ArrayRun, DISK, Depth, DiskConfiguration, RAID_DISK, RAID0_8, RAID5_8, RAID6_8, RAID10_2, RAID10_4,
    RAID10_8, random_readers, run_all, span,
};
use crate::{Claim, Experiment, Outcome, ResultTable, Setup};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "carroll-cfq-idling",
    source: "Carroll 5.1, 6.4",
    title: "CFQ with and without idling (slice_idle=0), and whether it sees that the device queues",
    run,
};

const SHAPES: [&DiskConfiguration; 8] =
    [&DISK, &RAID_DISK, &RAID10_2, &RAID10_4, &RAID10_8, &RAID0_8, &RAID5_8, &RAID6_8];
const PROCESSES: [u32; 3] = [32, 128, 256];

/// The loads. Each comment gives the source or the purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// 4.3.3: each reader has one request at a time.
    Random,
    /// 4.3.3: 1 MiB in two requests, the kernel's largest by default.
    TwoHalves,
    /// As `TwoHalves`, but a driver takes 31 pages of 16 KiB in a request, as a controller with 31 scatter-gather
    /// entries does: three requests.
    ThreeParts,
    /// Eight requests at a time for each reader, so that many are at the device at once.
    Asynchronous,
    /// Sixteen sequential readers of 16 KiB, each in its own region. Idling is made for these (2.4.5).
    Streams,
}

const LOADS: [Load; 5] = [Load::Random, Load::TwoHalves, Load::ThreeParts, Load::Asynchronous, Load::Streams];

impl Load {
    fn key(self) -> &'static str {
        match self {
            Self::Random => "random 16 KiB",
            Self::TwoHalves => "1 MiB in 512 KiB",
            Self::ThreeParts => "1 MiB in 496 KiB",
            Self::Asynchronous => "random, 8 each",
            Self::Streams => "16 streams",
        }
    }

    /// Whether the load is one of Carroll's.
    fn is_his(self) -> bool {
        matches!(self, Self::Random | Self::TwoHalves | Self::ThreeParts)
    }

    fn processes(self) -> &'static [u32] {
        match self {
            Self::Random | Self::TwoHalves | Self::ThreeParts => &PROCESSES,
            Self::Asynchronous => &[32],
            Self::Streams => &[16],
        }
    }

    fn jobs(self, processes: u32, seconds: f64) -> String {
        match self {
            Self::Random => random_readers(processes, "16k", seconds),
            Self::TwoHalves | Self::ThreeParts => random_readers(processes, "1m", seconds),
            Self::Asynchronous => {
                format!("{}ioengine=libaio\niodepth=8\n", random_readers(processes, "16k", seconds))
            }
            Self::Streams => format!(
                "[streams]\nfilename=/dev/sdX\ndirect=1\nrw=read\nbs=16k\nnumjobs={processes}\noffset_increment=4g\nsize=4g\n\
                 runtime={}ms\ntime_based\n",
                (seconds * 1e3).round()
            ),
        }
    }

    fn max_sectors_kb(self) -> Option<u32> {
        (self == Self::ThreeParts).then_some(31 * 16)
    }
}

/// A load on a configuration, with idling and without.
struct Row {
    load: Load,
    shape: &'static DiskConfiguration,
    processes: u32,
    idling: ArrayResult,
    without: ArrayResult,
}

impl Row {
    /// The bandwidth with idling over that without.
    fn share(&self) -> f64 {
        self.idling.mib_s / self.without.mib_s
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let seconds = if setup.quick { 2.0 } else { 60.0 };
    let mut places = Vec::new();
    for load in LOADS {
        for shape in SHAPES {
            places.extend(load.processes().iter().filter(|&&p| !setup.quick || p <= 128).map(|&p| (load, shape, p)));
        }
    }
    let points: Vec<ArrayRun> = places
        .iter()
        .flat_map(|&(load, shape, processes)| {
            ["cfq", "cfq:slice_idle=0"].map(|scheduler| ArrayRun {
                shape,
                depth: Depth::Shallow,
                scheduler: scheduler.to_owned(),
                jobs: load.jobs(processes, seconds),
                max_sectors_kb: load.max_sectors_kb(),
            })
        })
        .collect();
    let measured = run_all(&points, setup)?;
    let rows: Vec<Row> = places
        .into_iter()
        .zip(measured.chunks_exact(2))
        .map(|((load, shape, processes), m)| Row { load, shape, processes, idling: m[0], without: m[1] })
        .collect();
    Ok(Outcome {
        tables: vec![table(&rows)],
        claims: claims(&rows),
        notes: vec![
            by_cut(&rows),
            format!("{seconds} simulated seconds a run; Carroll ran 200"),
            "the last two loads are not Carroll's".to_owned(),
        ],
        files: Vec::new(),
    })
}

fn table(rows: &[Row]) -> ResultTable {
    let mut table = ResultTable::new(
        "idling",
        "CFQ: MiB/s with idling and without, and the longest response",
        &["load", "machine", "processes", "cfq", "cfq_no_idle", "share", "max_s", "max_no_idle_s"],
    );
    for row in rows {
        table.row(vec![
            row.load.key().into(),
            row.shape.key.into(),
            u64::from(row.processes).into(),
            row.idling.mib_s.into(),
            row.without.mib_s.into(),
            row.share().into(),
            (row.idling.max_ms / 1e3).into(),
            (row.without.max_ms / 1e3).into(),
        ]);
    }
    table
}

fn claims(rows: &[Row]) -> Vec<Claim> {
    vec![never_better(rows), bimodal(rows), detection(rows), costs_arrays(rows), no_harm(rows)]
}

fn shares(rows: &[Row], of: impl Fn(&Row) -> bool) -> (f64, f64) {
    span(rows.iter().filter(|r| of(r)).map(Row::share))
}

fn never_better(rows: &[Row]) -> Claim {
    let (low, high) = shares(rows, |r| r.load.is_his());
    Claim::new(
        "Carroll 6.4",
        "CFQ without idling outperforms CFQ with it in all benchmarks",
        "the share left with idling never above 1.02",
        format!("{low:.2} to {high:.2}"),
        high <= 1.02,
        "idling gains somewhere",
    )
}

fn bimodal(rows: &[Row]) -> Claim {
    let shares: Vec<f64> = rows.iter().filter(|r| r.load.is_his()).map(Row::share).collect();
    let (good, poor) = (shares.iter().filter(|&&s| s >= 0.95).count(), shares.iter().filter(|&&s| s <= 0.7).count());
    Claim::new(
        "Carroll 5.1.2",
        "CFQ with idling is bimodal: about as good as without it, or very poor",
        "some shares of 0.95 and more, some of 0.7 and less, at least three quarters of all",
        format!("{good} and {poor} of {}", shares.len()),
        good > 0 && poor > 0 && 4 * (good + poor) >= 3 * shares.len(),
        "it is in between",
    )
}

/// What the two modes depend on here. Carroll found no clear correlation (5.1.2), so there is no claim to reproduce.
fn by_cut(rows: &[Row]) -> String {
    let two = shares(rows, |r| r.load == Load::TwoHalves);
    let three = shares(rows, |r| r.load == Load::ThreeParts);
    format!(
        "Carroll found no clear correlation between the benchmarks and the two modes; here the share is {:.2} to {:.2} \
         where a read is cut in two, {:.2} to {:.2} where the same read is cut in three",
        two.0, two.1, three.0, three.1
    )
}

fn detection(rows: &[Row]) -> Claim {
    let one = shares(rows, |r| r.load == Load::Random);
    let eight = shares(rows, |r| r.load == Load::Asynchronous);
    Claim::new(
        "Carroll 6.4",
        "CFQ fails to see that the device queues under certain loads: it would not idle for random reads if it did",
        "random reads one at a time at most 0.6, eight at a time, which it sees, at least 0.95",
        format!("at most {:.2}, at least {:.2}", one.1, eight.0),
        one.1 <= 0.6 && eight.0 >= 0.95,
        "CFQ sees it by other signs",
    )
}

fn costs_arrays(rows: &[Row]) -> Claim {
    let of = |disks: u32| shares(rows, |r| r.load == Load::Random && r.shape.disks == disks);
    let (one, eight) = (of(1), of(8));
    Claim::new(
        "Carroll 5.1.1",
        "idling costs arrays most, as all their disks wait",
        "random reads: the share with eight disks below half of that with one",
        format!("{:.2} to {:.2} with eight, {:.2} to {:.2} with one", eight.0, eight.1, one.0, one.1),
        eight.1 < one.0 / 2.0,
        "a single disk loses as much",
    )
}

fn no_harm(rows: &[Row]) -> Claim {
    let (low, high) = shares(rows, |r| r.load == Load::Streams);
    Claim::new(
        "Carroll 6.4",
        "there is no evidence that slice_idle=0 affects performance negatively",
        "for sequential streams, too, the share with idling is at most 1.02",
        format!("{low:.1} to {high:.1}"),
        high <= 1.02,
        "Carroll's loads have no sequential streams, for which idling is made (2.4.5); on streams it pays here, even \
         on eight disks, behind a controller that does not read ahead",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(share: impl Fn(Load, u32) -> f64) -> Vec<Row> {
        let measured = |mib_s| ArrayResult { mib_s, mean_ms: 1.0, stddev_ms: 1.0, max_ms: 1.0, unevenness: 0.0 };
        let row = |load: Load, shape: &'static DiskConfiguration| Row {
            load,
            shape,
            processes: 32,
            idling: measured(10.0 * share(load, shape.disks)),
            without: measured(10.0),
        };
        LOADS.into_iter().flat_map(|l| SHAPES.into_iter().map(move |s| row(l, s))).collect()
    }

    fn held(rows: &[Row]) -> Vec<bool> {
        claims(rows).iter().map(|c| c.not_because().is_none()).collect()
    }

    #[test]
    fn carrolls_account_holds_and_equality_does_not() {
        let his = rows(|load, disks| match load {
            Load::Random => 0.5 / f64::from(disks),
            Load::TwoHalves => 0.6,
            _ => 1.0,
        });
        assert_eq!(held(&his), [true; 5]);
        assert_eq!(held(&rows(|_, _| 1.0)), [true, false, false, false, true]);
        assert_eq!(held(&rows(|_, _| 2.0)), [false; 5]);
    }

    #[test]
    fn three_parts_are_31_pages_of_16_kib() {
        assert_eq!(Load::ThreeParts.max_sectors_kb(), Some(496));
        assert_eq!(1024u32.div_ceil(496), 3);
    }
}
