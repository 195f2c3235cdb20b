//! [`FioJob`]: one section of a job file, with its options resolved.

use super::ini::SettingOrigin;
use super::value::Amount;
use iopilot_block::{IoPriority, Nanos, PriorityClass};

/// Index of a direction in the `READ,WRITE,TRIM` arrays.
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;
pub(super) const TRIM: usize = 2;

/// `rw=`: the directions and whether offsets are random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pattern {
    pub(super) used: [bool; 3],
    pub(super) random: bool,
}

impl Pattern {
    pub(super) fn is_mixed(self) -> bool {
        self.used[READ] && self.used[WRITE]
    }

    /// The directions in use.
    pub(super) fn directions(self) -> impl Iterator<Item = usize> {
        (0..3).filter(move |&d| self.used[d])
    }
}

/// `bs=`, `bsrange=` or `bssplit=`: lengths in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BlockSizes {
    /// Multiples of the first up to the second.
    Range(u64, u64),
    /// (Length, percent), percents adding up to 100.
    Split(Vec<(u64, f64)>),
}

impl BlockSizes {
    pub(super) fn min(&self) -> u64 {
        match self {
            Self::Range(low, _) => *low,
            Self::Split(parts) => parts.iter().map(|&(size, _)| size).min().unwrap_or(0),
        }
    }

    pub(super) fn max(&self) -> u64 {
        match self {
            Self::Range(_, high) => *high,
            Self::Split(parts) => parts.iter().map(|&(size, _)| size).max().unwrap_or(0),
        }
    }
}

/// `random_distribution=`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OffsetDistribution {
    Uniform,
    Zipf {
        theta: f64,
        center: Option<f64>,
    },
    Pareto {
        h: f64,
        center: Option<f64>,
    },
    Normal {
        deviation_percent: f64,
        center: f64,
    },
    /// (Percent of accesses, size) for each direction.
    Zoned([Vec<(f64, Amount)>; 3]),
}

/// `rw_sequencer=`: what the requests between two random offsets do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sequencer {
    Sequential,
    Identical,
}

/// `file_service_type=`: which file is next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileService {
    RoundRobin,
    Sequential,
    Random,
}

/// `ioengine=`, as far as it matters for when requests are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FioEngine {
    /// One request at a time.
    Sync,
    /// `iodepth` requests at a time; an fsync stops the job until it is done.
    Async,
    /// `iodepth` requests at a time, fsync being one of them (`io_uring`).
    AsyncFlush,
}

/// Which other jobs end with a job (`exitall`, `exit_what`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ExitWhat {
    Group,
    /// The running jobs; jobs behind the next stonewall still run.
    Stonewall,
    All,
}

/// All options of one job. Defaults are fio's.
#[derive(Clone, Debug)]
pub(super) struct FioJob {
    pub(super) name: String,
    pub(super) origin: SettingOrigin,
    pub(super) kb_base: u64,

    pub(super) pattern: Pattern,
    /// Bytes added to each sequential offset.
    pub(super) skip: i64,
    /// Requests for each random offset.
    pub(super) per_offset: u64,
    pub(super) sequencer: Sequencer,
    pub(super) blocks: [BlockSizes; 3],
    pub(super) bs_is_seq_rand: bool,
    pub(super) align: [Option<u64>; 3],
    pub(super) read_percent: u64,
    pub(super) spread: OffsetDistribution,
    /// `random_distribution=` as it was written.
    pub(super) spread_text: String,
    pub(super) random_map: bool,
    pub(super) lfsr: bool,
    pub(super) random_percent: [u64; 3],
    pub(super) randrepeat: bool,
    pub(super) randseed: u64,

    pub(super) filename: Option<String>,
    pub(super) filename_format: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) filesize: Option<u64>,
    pub(super) nrfiles: u64,
    pub(super) service: FileService,
    /// Requests to one file before the next is chosen.
    pub(super) per_file: u64,
    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) number_ios: Option<u64>,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) offset_align: u64,

    pub(super) engine: FioEngine,
    pub(super) engine_name: String,
    pub(super) iodepth: u64,
    pub(super) batch: u64,
    pub(super) complete_min: u64,
    pub(super) complete_max: u64,
    pub(super) low: u64,
    pub(super) direct: bool,
    pub(super) sync: bool,
    pub(super) fsync: u64,
    pub(super) fdatasync: u64,
    pub(super) end_fsync: bool,

    pub(super) numjobs: u64,
    pub(super) loops: u64,
    pub(super) runtime: Option<Nanos>,
    pub(super) time_based: bool,
    pub(super) ramp: Nanos,
    pub(super) start_delay: (Nanos, Nanos),
    pub(super) stonewall: bool,
    pub(super) new_group: bool,
    pub(super) wait_for: Option<String>,
    pub(super) exitall: bool,
    pub(super) exit_what: ExitWhat,

    pub(super) thinktime: Nanos,
    pub(super) thinktime_spin: Nanos,
    pub(super) thinktime_blocks: Option<u64>,
    pub(super) thinktime_issue: bool,
    pub(super) thinktime_iotime: Nanos,
    pub(super) rate: [u64; 3],
    pub(super) rate_iops: [u64; 3],
    pub(super) poisson: bool,
    pub(super) rate_ignores_thinktime: bool,

    pub(super) prio: Option<u8>,
    pub(super) prioclass: Option<PriorityClass>,
    pub(super) nice: i8,
    pub(super) cmdprio_percent: [u64; 3],
    pub(super) cmdprio: IoPriority,
    pub(super) cpus: Vec<u16>,
    pub(super) cpus_split: bool,
}

impl FioJob {
    pub(super) fn new(name: &str, origin: SettingOrigin) -> Self {
        let fixed = BlockSizes::Range(4096, 4096);
        Self {
            name: name.to_owned(),
            origin,
            kb_base: 1024,
            pattern: Pattern { used: [true, false, false], random: false },
            skip: 0,
            per_offset: 1,
            sequencer: Sequencer::Sequential,
            blocks: [fixed.clone(), fixed.clone(), fixed],
            bs_is_seq_rand: false,
            align: [None; 3],
            read_percent: 50,
            spread: OffsetDistribution::Uniform,
            spread_text: "random".to_owned(),
            random_map: true,
            lfsr: false,
            random_percent: [100; 3],
            randrepeat: true,
            randseed: 0,
            filename: None,
            filename_format: None,
            directory: None,
            filesize: None,
            nrfiles: 1,
            service: FileService::RoundRobin,
            per_file: 1,
            size: None,
            io_size: None,
            number_ios: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: 0,
            engine: FioEngine::Sync,
            engine_name: "psync".to_owned(),
            iodepth: 1,
            batch: 1,
            complete_min: 1,
            complete_max: 0,
            low: 0,
            direct: false,
            sync: false,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            numjobs: 1,
            loops: 1,
            runtime: None,
            time_based: false,
            ramp: Nanos::ZERO,
            start_delay: (Nanos::ZERO, Nanos::ZERO),
            stonewall: false,
            new_group: false,
            wait_for: None,
            exitall: false,
            exit_what: ExitWhat::Group,
            thinktime: Nanos::ZERO,
            thinktime_spin: Nanos::ZERO,
            thinktime_blocks: None,
            thinktime_issue: false,
            thinktime_iotime: Nanos::ZERO,
            rate: [0; 3],
            rate_iops: [0; 3],
            poisson: false,
            rate_ignores_thinktime: false,
            prio: None,
            prioclass: None,
            nice: 0,
            cmdprio_percent: [0; 3],
            cmdprio: IoPriority { class: PriorityClass::RealTime, level: 0 },
            cpus: Vec::new(),
            cpus_split: false,
        }
    }

    /// The most requests in flight.
    pub(super) fn depth(&self) -> u64 {
        // Trims are synchronous system calls whatever the engine.
        if self.engine == FioEngine::Sync || self.pattern.used[TRIM] { 1 } else { self.iodepth }
    }

    /// The smallest block of the directions in use, in bytes.
    pub(super) fn min_block(&self) -> u64 {
        self.pattern.directions().map(|d| self.sizes(d).min()).min().unwrap_or(0)
    }

    /// The largest block of the directions in use, in bytes.
    pub(super) fn max_block(&self) -> u64 {
        self.pattern.directions().map(|d| self.sizes(d).max()).max().unwrap_or(0)
    }

    /// The lengths of direction `d`; with `bs_is_seq_rand`, those of random or sequential requests.
    fn sizes(&self, d: usize) -> &BlockSizes {
        let random = if self.pattern.random { WRITE } else { READ };
        &self.blocks[if self.bs_is_seq_rand { random } else { d }]
    }

    /// The alignment of random offsets of direction `d`, in bytes.
    pub(super) fn alignment(&self, d: usize) -> u64 {
        self.align[d].unwrap_or_else(|| self.sizes(d).min())
    }

    /// Whether each block is visited once before any is visited again.
    pub(super) fn uses_map(&self) -> bool {
        self.pattern.random && self.random_map && self.spread == OffsetDistribution::Uniform && self.align == [None; 3]
    }

    /// The priority of the job. With a level only, the class is best effort, as in fio. With neither, the level follows from
    /// the nice value.
    pub(super) fn priority(&self) -> IoPriority {
        match (self.prioclass, self.prio) {
            (None, None) => IoPriority { class: PriorityClass::None, level: ((i16::from(self.nice) + 20) / 5) as u8 },
            (None | Some(PriorityClass::None), level) => {
                IoPriority { class: PriorityClass::BestEffort, level: level.unwrap_or(0) }
            }
            (Some(class), level) => IoPriority { class, level: level.unwrap_or(0) },
        }
    }
}
