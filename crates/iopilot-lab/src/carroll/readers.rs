//! The micro-benchmarks (4.3.3): ten schedulers, eight disk configurations, 32 to 256 processes.

use super::bench::{
    ArrayResult, ArrayRun, DISK, Depth, DiskConfiguration, RAID_DISK, RAID0_8, RAID5_8, RAID6_8, RAID10_2, RAID10_4,
    RAID10_8, random_readers, run_all,
};
use super::figure::{FigureLine, Panel};
use crate::{ResultTable, Setup};
use iopilot_sim::SimError;
use std::fmt::Write;

/// The ten schedulers of 4.3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CarrollScheduler {
    Noop,
    Fifo,
    /// FIFO with all requests at the device: Carroll's "bigq".
    FifoDeep,
    Deadline,
    Scan,
    Sstf,
    As,
    AsNoAntic,
    Cfq,
    CfqNoIdle,
}

use CarrollScheduler::*;

/// In the order of 4.3.2.
pub(super) const TEN: [CarrollScheduler; 10] =
    [Noop, Fifo, FifoDeep, Deadline, Scan, Sstf, As, AsNoAntic, Cfq, CfqNoIdle];

impl CarrollScheduler {
    /// The scheduler and its tunables, as on the command line. V(R) has no deadlines: Carroll says so (5.1.2).
    pub(super) fn spec(self) -> &'static str {
        match self {
            Noop => "noop",
            Fifo | FifoDeep => "fifo",
            Deadline => "deadline",
            Scan => "vr:rev_penalty=0:sync_expire=0:async_expire=0",
            Sstf => "vr:rev_penalty=1:sync_expire=0:async_expire=0",
            As => "as",
            AsNoAntic => "as:antic_expire=0",
            Cfq => "cfq",
            CfqNoIdle => "cfq:slice_idle=0",
        }
    }

    pub(super) fn depth(self) -> Depth {
        if self == FifoDeep { Depth::Deep } else { Depth::Shallow }
    }

    /// Its column in tables.
    pub(super) fn key(self) -> &'static str {
        match self {
            Noop => "noop",
            Fifo => "fifo",
            FifoDeep => "fifo_deep",
            Deadline => "deadline",
            Scan => "vr_scan",
            Sstf => "vr_sstf",
            As => "as",
            AsNoAntic => "as_no_antic",
            Cfq => "cfq",
            CfqNoIdle => "cfq_no_idle",
        }
    }
}

/// The eight configurations of 4.3.3.
const SHAPES: [&DiskConfiguration; 8] =
    [&DISK, &RAID_DISK, &RAID10_2, &RAID10_4, &RAID10_8, &RAID0_8, &RAID5_8, &RAID6_8];
const LOADS: [u32; 8] = [32, 64, 96, 128, 160, 192, 224, 256];
const QUICK_LOADS: [u32; 3] = [32, 96, 256];

/// The results for each configuration, number of processes and scheduler.
pub(super) struct ReaderResults {
    pub(super) loads: Vec<u32>,
    cells: Vec<ArrayResult>,
}

impl ReaderResults {
    /// Runs all combinations, with readers of `block` bytes.
    pub(super) fn run(block: &str, setup: &Setup<'_>) -> Result<Self, SimError> {
        let (loads, seconds) = if setup.quick { (&QUICK_LOADS[..], 1.0) } else { (&LOADS[..], seconds()) };
        let mut points = Vec::new();
        for shape in SHAPES {
            for &load in loads {
                points.extend(TEN.map(|who| ArrayRun {
                    shape,
                    depth: who.depth(),
                    scheduler: who.spec().to_owned(),
                    jobs: random_readers(load, block, seconds),
                    max_sectors_kb: None,
                }));
            }
        }
        Ok(Self { loads: loads.to_vec(), cells: run_all(&points, setup)? })
    }

    #[cfg(test)]
    pub(super) fn made_up(
        loads: &[u32],
        cell: impl Fn(&DiskConfiguration, u32, CarrollScheduler) -> ArrayResult,
    ) -> Self {
        let cell = &cell;
        let cells = SHAPES.into_iter().flat_map(|shape| {
            loads.iter().flat_map(move |&load| TEN.into_iter().map(move |who| cell(shape, load, who)))
        });
        Self { loads: loads.to_vec(), cells: cells.collect() }
    }

    /// The configurations.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &'static DiskConfiguration> {
        SHAPES.into_iter()
    }

    /// The configurations with several disks.
    pub(super) fn arrays(&self) -> impl Iterator<Item = &'static DiskConfiguration> {
        SHAPES.into_iter().filter(|s| s.disks > 1)
    }

    /// The result of `who` on `shape` under `load` processes, one of `loads`.
    pub(super) fn at(&self, shape: &DiskConfiguration, load: u32, who: CarrollScheduler) -> &ArrayResult {
        let shape = SHAPES.iter().position(|s| s.key == shape.key).unwrap_or(0);
        let load = self.loads.iter().position(|&l| l == load).unwrap_or(0);
        let who = TEN.iter().position(|&w| w == who).unwrap_or(0);
        &self.cells[(shape * self.loads.len() + load) * TEN.len() + who]
    }

    pub(super) fn mib_s(&self, shape: &DiskConfiguration, load: u32, who: CarrollScheduler) -> f64 {
        self.at(shape, load, who).mib_s
    }

    /// The bandwidth of `a` over that of `b`.
    pub(super) fn ratio(&self, shape: &DiskConfiguration, load: u32, a: CarrollScheduler, b: CarrollScheduler) -> f64 {
        self.mib_s(shape, load, a) / self.mib_s(shape, load, b)
    }

    /// The ratio at each configuration of `shapes` and each load.
    pub(super) fn ratios(
        &self,
        shapes: &[&'static DiskConfiguration],
        a: CarrollScheduler,
        b: CarrollScheduler,
    ) -> Vec<f64> {
        let of =
            |s: &&'static DiskConfiguration| self.loads.iter().map(|&l| self.ratio(s, l, a, b)).collect::<Vec<_>>();
        shapes.iter().flat_map(of).collect()
    }

    /// The highest bandwidth of all schedulers but `without`.
    pub(super) fn best(&self, shape: &DiskConfiguration, load: u32, without: &[CarrollScheduler]) -> f64 {
        let others = TEN.into_iter().filter(|w| !without.contains(w));
        others.map(|w| self.mib_s(shape, load, w)).fold(0.0, f64::max)
    }

    /// The smallest and the largest number of processes.
    pub(super) fn ends(&self) -> (u32, u32) {
        (self.loads.first().copied().unwrap_or(0), self.loads.last().copied().unwrap_or(0))
    }

    /// The loads above 32 processes, where requests wait in the host.
    pub(super) fn queued(&self) -> impl Iterator<Item = u32> {
        self.loads.iter().copied().filter(|&l| l > 32)
    }

    /// Bandwidth: a row for each configuration and load.
    pub(super) fn table(&self, title: &str) -> ResultTable {
        let columns: Vec<&str> = ["machine", "processes"].into_iter().chain(TEN.map(CarrollScheduler::key)).collect();
        let mut table = ResultTable::new("bandwidth", title, &columns);
        for shape in SHAPES {
            for &load in &self.loads {
                let values = TEN.map(|who| self.mib_s(shape, load, who).into());
                table.row([shape.key.into(), u64::from(load).into()].into_iter().chain(values).collect());
            }
        }
        table
    }

    /// Everything that was measured, as CSV.
    pub(super) fn csv(&self) -> String {
        let mut out =
            "machine,processes,scheduler,mib_s,mean_ms,stddev_ms,max_ms,process_bandwidth_stddev_share\n".to_owned();
        for shape in SHAPES {
            for &load in &self.loads {
                for who in TEN {
                    let m = self.at(shape, load, who);
                    let _ = writeln!(
                        out,
                        "{},{load},{},{},{},{},{},{}",
                        shape.key,
                        who.key(),
                        m.mib_s,
                        m.mean_ms,
                        m.stddev_ms,
                        m.max_ms,
                        m.unevenness
                    );
                }
            }
        }
        out
    }

    /// A panel for each configuration: bandwidth over processes.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let line = |shape: &'static DiskConfiguration, who: CarrollScheduler| FigureLine {
            name: who.key().replace('_', " "),
            points: self.loads.iter().map(|&l| (f64::from(l), self.mib_s(shape, l, who))).collect(),
        };
        SHAPES
            .into_iter()
            .map(|shape| Panel { title: shape.title.to_owned(), lines: TEN.map(|who| line(shape, who)).to_vec() })
            .collect()
    }
}

/// Simulated seconds of a run. Carroll ran 200.
pub(super) fn seconds() -> f64 {
    60.0
}
