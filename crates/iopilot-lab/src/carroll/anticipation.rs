//! `carroll-anticipation`: one reader of runs among random readers (4.3.5, 5.3, Table 5.2).

mod claims;
mod window;

use super::bench::{
    ArrayRun, DISK, Depth, DiskConfiguration, RAID_DISK, RAID0_2, RAID0_4, RAID0_8, RAID5_3, RAID5_5, RAID5_8,
    RAID10_2, RAID10_4, RAID10_8, run_all,
};
use super::figure::{self, FigureLine, Panel};
use crate::{Experiment, Outcome, ResultTable, Setup};
use window::AnticipationWindow;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "carroll-anticipation",
    source: "Carroll 5.3",
    title: "a reader of runs that thinks among random readers: AS with and without anticipation (Table 5.2)",
    run,
};

/// A row of Table 5.2: the largest think time (µs) for which anticipation gains, and the number of random readers at
/// which, with that think time, both ways are equally fast.
struct Row(&'static DiskConfiguration, u32, u32);

const TABLE_5_2: [Row; 11] = [
    Row(&DISK, 2000, 32),
    Row(&RAID_DISK, 2000, 22),
    Row(&RAID10_2, 1000, 35),
    Row(&RAID0_2, 1000, 28),
    Row(&RAID0_4, 1000, 28),
    Row(&RAID5_3, 1000, 12),
    Row(&RAID10_4, 500, 28),
    Row(&RAID5_5, 500, 10),
    Row(&RAID10_8, 100, 16),
    Row(&RAID0_8, 100, 4),
    Row(&RAID5_8, 100, 4),
];

/// Think times, µs, and random readers (4.3.5).
const THINK_US: [u32; 10] = [0, 100, 500, 1000, 2000, 4000, 6000, 8000, 10_000, 20_000];
const LOADS: [u32; 7] = [1, 4, 16, 32, 64, 96, 128];
const QUICK_THINK_US: [u32; 4] = [100, 1000, 2000, 8000];
const QUICK_LOADS: [u32; 4] = [1, 4, 16, 32];

/// The variants of AS (Table 4.7).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    /// Anticipation, queue depth 32.
    With,
    Without,
    /// Anticipation, with as many requests as the device takes.
    DeepWith,
    DeepWithout,
    /// Anticipation of at most 4 ms: a tick of a kernel with 250 a second, in place of 6.7 ms.
    OneTick,
}

impl Test {
    const ALL: [Self; 5] = [Self::With, Self::Without, Self::DeepWith, Self::DeepWithout, Self::OneTick];

    fn scheduler(self) -> &'static str {
        match self {
            Self::With | Self::DeepWith => "as",
            Self::Without | Self::DeepWithout => "as:antic_expire=0",
            Self::OneTick => "as:antic_expire=4",
        }
    }

    fn depth(self) -> Depth {
        if matches!(self, Self::DeepWith | Self::DeepWithout) { Depth::Deep } else { Depth::Shallow }
    }

    /// The think times of a test: all for the table, a few for the claims about depth.
    fn takes(self, think_us: u32) -> bool {
        match self {
            Self::With | Self::Without => true,
            Self::DeepWith | Self::DeepWithout => [100, 1000, 8000].contains(&think_us),
            Self::OneTick => (500..=6000).contains(&think_us),
        }
    }
}

/// The results, in MiB/s.
struct Results {
    think_us: Vec<u32>,
    loads: Vec<u32>,
    /// By configuration, think time, load and test; `None` where the combination was not run.
    cells: Vec<Option<f64>>,
}

impl Results {
    fn run(setup: &Setup<'_>) -> anyhow::Result<Self> {
        let (think_us, loads, seconds) = if setup.quick {
            (&QUICK_THINK_US[..], &QUICK_LOADS[..], 0.5)
        } else {
            (&THINK_US[..], &LOADS[..], seconds())
        };
        let (mut points, mut places) = (Vec::new(), Vec::new());
        for Row(shape, ..) in TABLE_5_2 {
            for &think in think_us {
                for &load in loads {
                    for test in Test::ALL {
                        let run = test.takes(think);
                        places.push(run.then_some(points.len()));
                        if run {
                            points.push(ArrayRun {
                                shape,
                                depth: test.depth(),
                                scheduler: test.scheduler().to_owned(),
                                jobs: jobs(think, load, seconds),
                                max_sectors_kb: None,
                            });
                        }
                    }
                }
            }
        }
        let measured = run_all(&points, setup)?;
        let cells = places.into_iter().map(|p| p.and_then(|i| measured.get(i)).map(|m| m.mib_s)).collect();
        Ok(Self { think_us: think_us.to_vec(), loads: loads.to_vec(), cells })
    }

    /// MiB/s on `shape` with `load` random readers; `None` where the combination was not run.
    fn at(&self, shape: &DiskConfiguration, think_us: u32, load: u32, test: Test) -> Option<f64> {
        let shape = TABLE_5_2.iter().position(|row| row.0.key == shape.key)?;
        let think = self.think_us.iter().position(|&t| t == think_us)?;
        let load = self.loads.iter().position(|&l| l == load)?;
        let test = Test::ALL.iter().position(|&t| t == test)?;
        *self.cells.get(((shape * self.think_us.len() + think) * self.loads.len() + load) * Test::ALL.len() + test)?
    }

    /// `a`'s bandwidth over `b`'s.
    fn ratio(&self, shape: &DiskConfiguration, think_us: u32, load: u32, a: Test, b: Test) -> Option<f64> {
        Some(self.at(shape, think_us, load, a)? / self.at(shape, think_us, load, b)?)
    }

    /// The gain of anticipation at each load: bandwidth with it over bandwidth without.
    fn gains(&self, shape: &DiskConfiguration, think_us: u32, with: Test) -> Vec<(u32, f64)> {
        let gain = |&l: &u32| self.ratio(shape, think_us, l, with, Test::Without).map(|g| (l, g));
        self.loads.iter().filter_map(gain).collect()
    }

    fn window(&self, shape: &DiskConfiguration, with: Test) -> AnticipationWindow {
        AnticipationWindow::of(&self.think_us, |think| self.gains(shape, think, with))
    }

    fn table(&self) -> ResultTable {
        let mut table = ResultTable::new(
            "window",
            "The largest think time for which anticipation gains 5 % at any load, and the random readers up to which \
             it gains with Carroll's think time (Table 5.2); the last but one with anticipation of at most 4 ms",
            &[
                "machine",
                "disks",
                "his_think_us",
                "think_us",
                "think_us_of_4_ms",
                "his_readers",
                "readers_at_his_think",
                "largest_gain_percent",
            ],
        );
        for Row(shape, think, readers) in TABLE_5_2 {
            let best = self.think_us.iter().flat_map(|&t| self.gains(shape, t, Test::With)).map(|g| g.1);
            table.row(vec![
                shape.key.into(),
                u64::from(shape.disks).into(),
                u64::from(think).into(),
                think_time(self.window(shape, Test::With).think_us).into(),
                think_time(self.window(shape, Test::OneTick).think_us).into(),
                u64::from(readers).into(),
                window::crossing(&self.gains(shape, think, Test::With)).to_string().into(),
                (100.0 * (best.fold(0.0, f64::max) - 1.0)).into(),
            ]);
        }
        table
    }

    fn csv(&self) -> String {
        let mut out = "machine,think_us,random_readers,as,as_no_antic,as_deep,as_no_antic_deep,as_4_ms\n".to_owned();
        for Row(shape, ..) in TABLE_5_2 {
            for &think in &self.think_us {
                for &load in &self.loads {
                    let cells =
                        Test::ALL.map(|t| self.at(shape, think, load, t).map_or(String::new(), |v| v.to_string()));
                    out.push_str(&format!("{},{think},{load},{}\n", shape.key, cells.join(",")));
                }
            }
        }
        out
    }

    /// A panel for each configuration: bandwidth over random readers for think times of 0.1, 1 and 8 ms.
    fn panels(&self) -> Vec<Panel> {
        let line = |shape: &DiskConfiguration, think: u32, test: Test, name: &str| FigureLine {
            name: format!("{} ms, {name}", f64::from(think) / 1e3),
            points: self.loads.iter().filter_map(|&l| Some((f64::from(l), self.at(shape, think, l, test)?))).collect(),
        };
        let panel = |Row(shape, ..): &Row| Panel {
            title: shape.title.to_owned(),
            lines: [100, 1000, 8000]
                .into_iter()
                .flat_map(|t| [line(shape, t, Test::With, "with"), line(shape, t, Test::Without, "without")])
                .collect(),
        };
        TABLE_5_2.iter().map(panel).collect()
    }
}

/// A think time as text; `none` for `None`.
fn think_time(think_us: Option<u32>) -> String {
    think_us.map_or("none".to_owned(), |t| t.to_string())
}

/// Simulated seconds of a run. Carroll ran 200.
fn seconds() -> f64 {
    30.0
}

/// A process that reads runs of 64 blocks of 16 KiB and thinks after each run, and `random` readers of one block at a
/// random place.
fn jobs(think_us: u32, random: u32, seconds: f64) -> String {
    format!(
        "[global]\ndirect=1\nbs=16k\nnorandommap\nruntime={}ms\ntime_based\n\
         [runs]\nrw=randread:64\nthinktime={think_us}us\n[random]\nrw=randread\nnumjobs={random}\n",
        (seconds * 1e3).round()
    )
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = Results::run(setup)?;
    let title = "Anticipation: MiB/s over random readers, with and without, for think times of 0.1, 1 and 8 ms";
    Ok(Outcome {
        tables: vec![results.table()],
        claims: claims::of(&results),
        notes: vec![
            format!("{} simulated seconds a run; Carroll ran 200", if setup.quick { 0.5 } else { seconds() }),
            "antic_expire is 6 ms here; the kernel's is a 150th of a second in whole ticks, 6.7 ms by Carroll's table \
             2.3"
            .to_owned(),
        ],
        files: vec![
            ("carroll-anticipation.svg".to_owned(), figure::draw(title, &results.panels(), 4)),
            ("carroll-anticipation-runs.csv".to_owned(), results.csv()),
        ],
    })
}
