//! `carroll-deep-queue`: how many requests the device should be given (3.3, 4.3.2, 5.1, 6.2).

use super::bench::{
    ArrayResult, ArrayRun, DISK, Depth, DiskConfiguration, RAID0_2, RAID0_8, RAID5_8, RAID10_2, random_readers,
    run_all, span,
};
use super::figure::{self, FigureLine, Panel};
use super::readers::CarrollScheduler;
use crate::{Claim, Experiment, Outcome, ResultTable, Setup};
use iopilot_device::Device;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "carroll-deep-queue",
    source: "Carroll 3.3, 4.3.2",
    title: "256 readers with 1 to 512 requests at the device: FIFO that leaves all to it against scheduling in the host",
    run,
};

const SHAPES: [&DiskConfiguration; 5] = [&DISK, &RAID10_2, &RAID0_2, &RAID0_8, &RAID5_8];
const DEPTHS: [u32; 10] = [1, 2, 8, 16, 32, 64, 96, 128, 256, 512];
const QUICK_DEPTHS: [u32; 4] = [1, 8, 32, 512];
/// The schedulers that never leave the device idle on purpose.
const WHO: [CarrollScheduler; 5] = [
    CarrollScheduler::Fifo,
    CarrollScheduler::Deadline,
    CarrollScheduler::Scan,
    CarrollScheduler::AsNoAntic,
    CarrollScheduler::CfqNoIdle,
];
const PROCESSES: u32 = 256;
const BLOCKS: [&str; 2] = ["16k", "1m"];

struct Results {
    depths: Vec<u32>,
    /// By block size, configuration, depth and scheduler.
    cells: Vec<ArrayResult>,
}

impl Results {
    fn run(setup: &Setup<'_>) -> anyhow::Result<Self> {
        let (depths, seconds) = if setup.quick { (&QUICK_DEPTHS[..], 1.0) } else { (&DEPTHS[..], seconds()) };
        let mut points = Vec::new();
        for block in BLOCKS {
            for shape in SHAPES {
                for &depth in depths {
                    points.extend(WHO.map(|who| ArrayRun {
                        shape,
                        depth: Depth::Of(depth),
                        scheduler: who.spec().to_owned(),
                        jobs: random_readers(PROCESSES, block, seconds),
                        max_sectors_kb: None,
                    }));
                }
            }
        }
        Ok(Self { depths: depths.to_vec(), cells: run_all(&points, setup)? })
    }

    fn at(&self, block: &str, shape: &DiskConfiguration, depth: u32, who: CarrollScheduler) -> f64 {
        let block = BLOCKS.iter().position(|&b| b == block).unwrap_or(0);
        let shape = SHAPES.iter().position(|s| s.key == shape.key).unwrap_or(0);
        let depth = self.depths.iter().position(|&d| d == depth).unwrap_or(0);
        let who = WHO.iter().position(|&w| w == who).unwrap_or(0);
        self.cells[((block * SHAPES.len() + shape) * self.depths.len() + depth) * WHO.len() + who].mib_s
    }

    fn deepest(&self) -> u32 {
        self.depths.last().copied().unwrap_or(1)
    }

    /// How far apart the schedulers are: the best over the worst.
    fn spread(&self, block: &str, shape: &DiskConfiguration, depth: u32) -> f64 {
        let (low, high) = span(WHO.map(|who| self.at(block, shape, depth, who)));
        high / low
    }

    fn table(&self) -> ResultTable {
        let columns: Vec<&str> =
            ["block", "machine", "depth"].into_iter().chain(WHO.map(CarrollScheduler::key)).collect();
        let title =
            format!("{PROCESSES} readers at random places: MiB/s by the requests that the device is given at once");
        let mut table = ResultTable::new("depths", title, &columns);
        for block in BLOCKS {
            for shape in SHAPES {
                for &depth in &self.depths {
                    let values = WHO.map(|who| self.at(block, shape, depth, who).into());
                    let head = [block.into(), shape.key.into(), u64::from(depth).into()];
                    table.row(head.into_iter().chain(values).collect());
                }
            }
        }
        table
    }

    fn panels(&self) -> Vec<Panel> {
        let line = |block: &str, shape: &DiskConfiguration, who: CarrollScheduler| FigureLine {
            name: who.key().replace('_', " "),
            points: self.depths.iter().map(|&d| (f64::from(d).log2(), self.at(block, shape, d, who))).collect(),
        };
        let panel = |block: &'static str, shape: &DiskConfiguration| Panel {
            title: format!("{}, {}", shape.title, if block == "1m" { "1 MiB" } else { "16 KiB" }),
            lines: WHO.map(|who| line(block, shape, who)).to_vec(),
        };
        BLOCKS.into_iter().flat_map(|b| SHAPES.into_iter().map(move |s| panel(b, s))).collect()
    }
}

/// Simulated seconds of a run.
fn seconds() -> f64 {
    40.0
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = Results::run(setup)?;
    let depth = super::bench::machine(&RAID0_8, Depth::Deep)?.device().queue_depth();
    let title = "MiB/s of 256 readers over the binary logarithm of the queue depth";
    Ok(Outcome {
        tables: vec![results.table()],
        claims: claims(&results),
        notes: vec![
            format!("{} simulated seconds a run", if setup.quick { 1.0 } else { seconds() }),
            format!("the controller takes {depth} requests, a disk 64; deeper queues than that are as deep"),
        ],
        files: vec![("carroll-deep-queue.svg".to_owned(), figure::draw(title, &results.panels(), 5))],
    })
}

fn claims(r: &Results) -> Vec<Claim> {
    vec![
        deep_queue_negates(r),
        deep_fifo_beats_the_host(r),
        idle_disks(),
        idle_disks_of_two(),
        depth_32_feeds_the_disks(r),
    ]
}

fn deep_queue_negates(r: &Results) -> Claim {
    let arrays = || SHAPES.into_iter().filter(|s| s.disks > 1);
    let (_, deep) = span(arrays().map(|s| r.spread("16k", s, r.deepest())));
    let (shallow, _) = span(arrays().map(|s| r.spread("16k", s, 32)));
    Claim::new(
        "Carroll 3.3",
        "with all requests at the controller the schedulers cannot be told apart: all degenerate to FIFO",
        "16 KiB, arrays: with 512 best over worst at most 1.03, with 32 at least 1.2",
        format!("at most {deep:.3}, at least {shallow:.2}"),
        deep <= 1.03 && shallow >= 1.2,
        "some requests still wait in the host",
    )
}

fn deep_fifo_beats_the_host(r: &Results) -> Claim {
    let lead = |s: &'static DiskConfiguration| {
        let best = span(WHO.map(|who| r.at("16k", s, 32, who))).1;
        (s, r.at("16k", s, r.deepest(), CarrollScheduler::Fifo) / best)
    };
    let leads: Vec<(&DiskConfiguration, f64)> = SHAPES.into_iter().filter(|s| s.disks > 1).map(lead).collect();
    let ratios: Vec<String> = leads.iter().map(|(s, lead)| format!("{} {lead:.2}", s.key)).collect();
    Claim::new(
        "Carroll 5.1.1",
        "random readers: FIFO with the deepest queue beats scheduling in the host with 32 on arrays",
        "over the best of the others at least 1.05 on each",
        ratios.join(", "),
        leads.iter().all(|l| l.1 >= 1.05),
        "two disks sort 128 requests, the host all 256, so that with 256 processes the host has the better choice; \
         with fewer the disks have (see carroll-random)",
    )
}

/// For `requests` at random places on `disks`: the probability that some disk has none, and the expected share of disks
/// with none.
fn idle(disks: u32, requests: u32) -> (f64, f64) {
    let none = |k: u32| (1.0 - f64::from(k) / f64::from(disks)).powi(requests as i32);
    // By inclusion and exclusion over the sets of k idle disks.
    let mut choose = 1.0;
    let mut any = 0.0;
    for k in 1..=disks {
        choose *= f64::from(disks - k + 1) / f64::from(k);
        any += if k % 2 == 1 { choose * none(k) } else { -choose * none(k) };
    }
    (any, none(1))
}

fn idle_disks() -> Claim {
    let (any, share) = idle(8, 32);
    Claim::new(
        "Carroll 4.3.2",
        "32 random requests leave one of eight disks idle with a probability of 11 %, which costs 1.5 % of the \
         bandwidth",
        "11 %, 1.5 % (by simulation; within 1 and 0.25 points)",
        format!("{:.1} %, {:.1} % (exactly)", 100.0 * any, 100.0 * share),
        (any - 0.11).abs() <= 0.01 && (share - 0.015).abs() <= 0.0025,
        "Carroll counted differently",
    )
}

fn idle_disks_of_two() -> Claim {
    let (any, _) = idle(2, 8);
    Claim::new(
        "Carroll 6.2",
        "8 random requests leave one of two disks idle with a probability of about 1 %",
        "about 1 % (within 0.5 points)",
        format!("{:.1} %", 100.0 * any),
        (any - 0.01).abs() <= 0.005,
        "Carroll counted differently",
    )
}

fn depth_32_feeds_the_disks(r: &Results) -> Claim {
    let of = |s: &DiskConfiguration| {
        r.at("16k", s, 32, CarrollScheduler::Fifo) / r.at("16k", s, r.deepest(), CarrollScheduler::Fifo)
    };
    let (eight, two) = (of(&RAID0_8), of(&RAID0_2));
    Claim::new(
        "Carroll 4.3.2",
        "32 is deep enough that practically no bandwidth is lost to idle disks",
        "FIFO with 32 at least 0.97 of that with 512, eight disks",
        format!("{eight:.2}; {two:.2} with two disks"),
        eight >= 0.97,
        "the disks are busy, but four requests for each leave them less to choose from than 32; Carroll counts idle \
         disks only",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_disks_are_counted_as_by_hand() {
        // Two disks, three requests: all on one with 2 * 1/8.
        let (any, share) = idle(2, 3);
        assert!((any - 0.25).abs() < 1e-12 && (share - 0.125).abs() < 1e-12);
        assert_eq!(idle(1, 5), (0.0, 0.0));
        // Fewer requests than disks leave one idle for certain.
        assert!((idle(3, 2).0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn claims_of_an_effect_fail_if_depth_has_none() {
        let measured = |mib_s| ArrayResult { mib_s, mean_ms: 1.0, stddev_ms: 1.0, max_ms: 1.0, unevenness: 0.0 };
        let depths = vec![1, 8, 32, 512];
        let n = BLOCKS.len() * SHAPES.len() * depths.len() * WHO.len();
        let r = Results { depths, cells: vec![measured(10.0); n] };
        let held: Vec<bool> = claims(&r).iter().map(|c| c.not_because().is_none()).collect();
        assert_eq!(held, [false, false, true, true, true]);
    }
}
