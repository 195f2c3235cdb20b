//! `carroll-postmark`: transactions on many small files (4.3.4, 4.3.6, 5.2, 5.4).

mod claims;
mod load;

use super::bench::{
    DISK, Depth, DiskConfiguration, RAID_DISK, RAID0_2, RAID0_4, RAID0_8, RAID5_3, RAID5_5, RAID5_8, RAID6_4, RAID6_6,
    RAID6_8, RAID10_2, RAID10_4, RAID10_8, mean,
};
use super::figure::{self, FigureLine, Panel};
use super::readers::{CarrollScheduler, TEN};
use crate::postmark::AllocationStyle;
use crate::{Experiment, Outcome, ResultTable, Setup};
use load::{PostmarkRuns, tps};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "carroll-postmark",
    source: "Carroll 5.2, 5.4",
    title: "a load like five instances of Postmark on EXT2 and XFS in outline, ten schedulers; and the queue depth",
    run,
};

/// The configurations of 4.3.3, on which Postmark ran as well (4.3.4).
const SHAPES: [&DiskConfiguration; 8] =
    [&DISK, &RAID_DISK, &RAID10_2, &RAID10_4, &RAID10_8, &RAID0_8, &RAID5_8, &RAID6_8];
const QUICK_SHAPES: [&DiskConfiguration; 4] = [&DISK, &RAID_DISK, &RAID10_4, &RAID10_8];
const SYSTEMS: [AllocationStyle; 2] = [AllocationStyle::Blocks, AllocationStyle::Extents];

/// Configurations and depths of 4.3.6.
const DEEP_SHAPES: [&DiskConfiguration; 12] = [
    &RAID0_2, &RAID0_4, &RAID0_8, &RAID10_2, &RAID10_4, &RAID10_8, &RAID5_3, &RAID5_5, &RAID5_8, &RAID6_4, &RAID6_6,
    &RAID6_8,
];
const QUICK_DEEP_SHAPES: [&DiskConfiguration; 2] = [&RAID0_2, &RAID5_3];
const DEPTHS: [u32; 8] = [1, 8, 16, 32, 64, 96, 128, 256];
const QUICK_DEPTHS: [u32; 4] = [1, 8, 32, 256];

/// Table 5.1: transactions per second of an instance on EXT2 and on XFS, averaged over the configurations.
fn table_5_1(who: CarrollScheduler) -> (f64, f64) {
    match who {
        CarrollScheduler::Noop => (2.49, 5.31),
        CarrollScheduler::Fifo => (1.84, 5.25),
        CarrollScheduler::Deadline => (2.78, 5.45),
        CarrollScheduler::Scan => (2.75, 4.85),
        CarrollScheduler::Sstf => (2.73, 4.88),
        CarrollScheduler::As => (2.35, 3.74),
        CarrollScheduler::AsNoAntic => (2.25, 4.32),
        CarrollScheduler::Cfq => (2.50, 4.46),
        CarrollScheduler::CfqNoIdle => (2.50, 4.46),
        CarrollScheduler::FifoDeep => (1.86, 5.38),
    }
}

/// The results: transactions per second of an instance.
struct Results {
    shapes: Vec<&'static DiskConfiguration>,
    /// By configuration, file system and scheduler.
    cells: Vec<f64>,
    deep_shapes: Vec<&'static DiskConfiguration>,
    depths: Vec<u32>,
    /// By configuration and depth.
    deep: Vec<f64>,
}

impl Results {
    fn run(setup: &Setup<'_>) -> anyhow::Result<Self> {
        let quick = setup.quick;
        let shapes = if quick { QUICK_SHAPES.to_vec() } else { SHAPES.to_vec() };
        let deep_shapes = if quick { QUICK_DEEP_SHAPES.to_vec() } else { DEEP_SHAPES.to_vec() };
        let depths = if quick { QUICK_DEPTHS.to_vec() } else { DEPTHS.to_vec() };
        let mut jobs: Vec<PostmarkRuns> = Vec::new();
        for &shape in &shapes {
            for system in SYSTEMS {
                let runs = TEN.map(|who| (who.spec(), who.depth()));
                jobs.push(PostmarkRuns { shape, spec: load::generic(shape, system, quick), runs: runs.to_vec() });
            }
        }
        for &shape in &deep_shapes {
            let runs = depths.iter().map(|&d| (CarrollScheduler::Deadline.spec(), Depth::Of(d)));
            jobs.push(PostmarkRuns { shape, spec: load::of_depth(quick), runs: runs.collect() });
        }
        let all = tps(&jobs, setup)?;
        let (cells, deep) = all.split_at((shapes.len() * SYSTEMS.len()).min(all.len()));
        Ok(Self { shapes, cells: cells.concat(), deep_shapes, depths, deep: deep.concat() })
    }

    /// The result on `shape`, under `system` and `who`.
    fn at(&self, shape: &DiskConfiguration, system: AllocationStyle, who: CarrollScheduler) -> f64 {
        let shape = self.shapes.iter().position(|s| s.key == shape.key).unwrap_or(0);
        let system = usize::from(system == SYSTEMS[1]);
        let who = TEN.iter().position(|&w| w == who).unwrap_or(0);
        self.cells[(shape * SYSTEMS.len() + system) * TEN.len() + who]
    }

    /// The average over the configurations.
    fn average(&self, system: AllocationStyle, who: CarrollScheduler) -> f64 {
        mean(self.shapes.iter().map(|s| self.at(s, system, who)))
    }

    /// The result under deadline on extents with a queue of `depth`.
    fn deep_at(&self, shape: &DiskConfiguration, depth: u32) -> f64 {
        let shape = self.deep_shapes.iter().position(|s| s.key == shape.key).unwrap_or(0);
        let depth = self.depths.iter().position(|&d| d == depth).unwrap_or(0);
        self.deep[shape * self.depths.len() + depth]
    }

    fn tables(&self) -> Vec<ResultTable> {
        let mut averages = ResultTable::new(
            "averages",
            "Transactions a second of an instance, averaged over the configurations (Table 5.1)",
            &["scheduler", "his_ext2", "ext2", "his_xfs", "xfs"],
        );
        for who in TEN {
            let (ext2, xfs) = table_5_1(who);
            averages.row(vec![
                who.key().into(),
                ext2.into(),
                self.average(AllocationStyle::Blocks, who).into(),
                xfs.into(),
                self.average(AllocationStyle::Extents, who).into(),
            ]);
        }
        let columns: Vec<&str> = ["machine", "system"].into_iter().chain(TEN.map(CarrollScheduler::key)).collect();
        let title = "Transactions a second of an instance (Figures 5.3 and 5.4)";
        let mut each = ResultTable::new("postmark", title, &columns);
        for shape in &self.shapes {
            for system in SYSTEMS {
                let head = [shape.key.into(), name(system).into()];
                let values = TEN.map(|who| self.at(shape, system, who).into());
                each.row(head.into_iter().chain(values).collect());
            }
        }
        let depths: Vec<String> = self.depths.iter().map(|d| format!("depth_{d}")).collect();
        let columns: Vec<&str> = ["machine"].into_iter().chain(depths.iter().map(String::as_str)).collect();
        let title = "Transactions a second of an instance by queue depth, deadline on extents (Figure 5.11)";
        let mut deep = ResultTable::new("depths", title, &columns);
        for shape in &self.deep_shapes {
            let values = self.depths.iter().map(|&d| self.deep_at(shape, d).into());
            deep.row([shape.key.into()].into_iter().chain(values).collect());
        }
        vec![averages, each, deep]
    }

    /// Transactions over the binary logarithm of the depth, with a panel for each RAID level.
    fn panels(&self) -> Vec<Panel> {
        let line = |shape: &DiskConfiguration| FigureLine {
            name: format!("{} disks", shape.disks),
            points: self.depths.iter().map(|&d| (f64::from(d).log2(), self.deep_at(shape, d))).collect(),
        };
        let level = |shape: &DiskConfiguration| shape.title.split(" (").next().unwrap_or_default().to_owned();
        let mut panels: Vec<Panel> = Vec::new();
        for shape in &self.deep_shapes {
            match panels.last_mut().filter(|p| p.title == level(shape)) {
                Some(panel) => panel.lines.push(line(shape)),
                None => panels.push(Panel { title: level(shape), lines: vec![line(shape)] }),
            }
        }
        panels
    }
}

fn name(system: AllocationStyle) -> &'static str {
    match system {
        AllocationStyle::Blocks => "ext2",
        AllocationStyle::Extents => "xfs",
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = Results::run(setup)?;
    // The legend names the first panel's lines: smallest, middle and largest array.
    let mut panels = results.panels();
    for (panel, names) in panels.iter_mut().zip([["smallest", "middle", "largest"]; 4]) {
        panel.lines.iter_mut().zip(names).for_each(|(line, name)| line.name = name.to_owned());
    }
    let title = "Transactions a second of an instance over the binary logarithm of the queue depth";
    Ok(Outcome {
        tables: results.tables(),
        claims: claims::of(&results),
        notes: vec![
            "not Postmark on real file systems: how files are placed, read ahead, cached and written back is assumed \
             (docs/lab/carroll.md); only ratios are compared"
                .to_owned(),
            format!("{} transactions of all instances are counted; Carroll counted 75,000", load::counted(setup.quick)),
        ],
        files: vec![("carroll-postmark.svg".to_owned(), figure::draw(title, &panels, 4))],
    })
}
