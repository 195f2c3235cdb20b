//! `redcap-live`: REDCAP over virtual disks under real programs, beside the bare disk and the same server with the cache off.

mod judge;
mod load;
mod memory_limit;
mod picture;
mod rival;
mod stage;

use super::{Experiment, Outcome, Setup};
use crate::mounts::FileSystemKind;
use iopilot_live::Signals;
use load::ShellLoad;
use memory_limit::MemoryLimit;
use rival::Rival;
use stage::Stage;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-live",
    source: "GF 2.5",
    title: "REDCAP over virtual disks: real programs, with and without the cache (needs root)",
    run,
};

/// What the programs read through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The bare disk, with this read-ahead in KiB.
    Bare { read_ahead_kb: u32 },
    /// The bare disk, with as much more memory for the page cache as a REDCAP cache has.
    PageCache,
    /// The disk under another cache.
    Rival(Rival),
    /// The disk under REDCAP with an algorithm.
    Cached(&'static str),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Bare { read_ahead_kb: READ_AHEAD } => "bare".to_owned(),
            Self::Bare { read_ahead_kb } => format!("bare, read_ahead_kb={read_ahead_kb}"),
            Self::PageCache => "larger page cache".to_owned(),
            Self::Rival(rival) => rival.name().to_owned(),
            Self::Cached(algorithm) => algorithm.to_owned(),
        }
    }

    /// What the way needs and this machine does not have; `None` if it can be measured. `memory` says why memory cannot
    /// be limited.
    fn missing(self, memory: Option<&str>) -> Option<String> {
        match self {
            Self::PageCache => memory.map(str::to_owned),
            Self::Rival(rival) => rival.missing(),
            Self::Bare { .. } | Self::Cached(_) => None,
        }
    }

    /// The memory limit of a load, including its page cache, bytes.
    fn memory(self) -> u64 {
        MEMORY + if self == Self::PageCache { CACHE } else { 0 }
    }
}

/// The size of each cache, bytes.
const CACHE: u64 = 64 << 20;
/// The memory limit of a load, including its page cache, bytes: less than the files of most loads.
const MEMORY: u64 = 128 << 20;
/// The kernel's default, KiB.
const READ_AHEAD: u32 = 128;
const BARE: Way = Way::Bare { read_ahead_kb: READ_AHEAD };
const OFF: Way = Way::Cached("never");
const RIG: Way = Way::Cached("rig");
const ALWAYS: Way = Way::Cached("always");

/// A disk and its file system.
struct Part {
    disk: &'static str,
    depth: u32,
    file_system: FileSystemKind,
}

/// What is measured.
struct Plan {
    parts: Vec<Part>,
    ways: Vec<Way>,
    /// The ways that are left out, and the reasons.
    left_out: Vec<String>,
    /// Whether a load's memory is limited to [`Way::memory`].
    limited: bool,
    loads: &'static [ShellLoad],
    runs: usize,
    /// The share of the files' full sizes.
    share: f64,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let memory = MemoryLimit::new("probe", MEMORY).err().map(|e| format!("{e:#}"));
        Self::with(quick, memory.as_deref(), |way| way.missing(memory.as_deref()))
    }

    /// A plan without the ways for which `missing` gives a reason. `memory` says why memory cannot be limited.
    fn with(quick: bool, memory: Option<&str>, missing: impl Fn(Way) -> Option<String>) -> Self {
        let part = |disk, depth, file_system| Part { disk, depth, file_system };
        let shallow = part("hd-500-16", 4, FileSystemKind::Ext4);
        let others = [
            Way::PageCache,
            Way::Rival(Rival::NbdkitCache),
            Way::Rival(Rival::NbdkitReadahead),
            Way::Rival(Rival::DmCache),
        ];
        let (mut ways, mut left_out) = (vec![BARE], Vec::new());
        ways.extend((!quick).then_some(Way::Bare { read_ahead_kb: 1024 }));
        for way in others {
            match missing(way) {
                Some(why) => left_out.push(format!("left out: {}: {why}", way.name())),
                None => ways.push(way),
            }
        }
        let limited = memory.is_none();
        if quick {
            ways.push(ALWAYS);
            return Self { parts: vec![shallow], ways, left_out, limited, loads: load::QUICK, runs: 1, share: 0.1 };
        }
        ways.extend([OFF, RIG, ALWAYS]);
        let parts = vec![shallow, part("savvio-10k4-600g", 32, FileSystemKind::Xfs)];
        Self { parts, ways, left_out, limited, loads: load::ALL, runs: 5, share: 1.0 }
    }
}

/// A load, with its times in seconds in each way.
struct Cell {
    disk: &'static str,
    load: &'static str,
    /// In the order of [`Plan::ways`]; empty if the load failed.
    seconds: Vec<Vec<f64>>,
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan::new(setup.quick);
    let signals = Signals::catch()?;
    let (loads, without): (Vec<&ShellLoad>, Vec<&ShellLoad>) = plan.loads.iter().partition(|load| load.can_run());
    let (mut cells, mut failures) = (Vec::new(), Vec::new());
    for part in &plan.parts {
        let stage = Stage::set(part, plan.share, setup.seed)?;
        for load in &loads {
            let mut seconds = vec![Some(Vec::new()); plan.ways.len()];
            // The ways take turns, so that changes of the machine affect all of them.
            for _ in 0..plan.runs {
                for (way, place) in plan.ways.iter().zip(&mut seconds) {
                    let Some(seconds) = place else { continue };
                    match stage.run(load, *way, plan.limited, &signals) {
                        Ok(took) => seconds.push(took),
                        // A failure of another cache does not end the experiment.
                        Err(e) if matches!(way, Way::Rival(_)) && signals.caught().is_none() => {
                            failures.push(format!("{} failed under {} on {}: {e:#}", way.name(), load.name, part.disk));
                            *place = None;
                        }
                        Err(e) => return Err(e),
                    }
                }
            }
            let seconds = seconds.into_iter().map(Option::unwrap_or_default).collect();
            cells.push(Cell { disk: part.disk, load: load.name, seconds });
            setup.progress.add(1);
        }
    }
    let left_out: Vec<&str> = without.iter().map(|load| load.name).collect();
    Ok(judge::outcome(&plan, &cells, &left_out, failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_lacks_is_left_out_in_a_line_and_the_rest_stays() {
        let missing = |way: Way| (way == Way::Rival(Rival::DmCache)).then(|| "needs a kernel with dm-cache".to_owned());
        let plan = Plan::with(false, None, missing);
        assert_eq!(plan.left_out, ["left out: dm-cache: needs a kernel with dm-cache"]);
        let names: Vec<String> = plan.ways.iter().map(|way| way.name()).collect();
        let others = ["larger page cache", "nbdkit cache", "nbdkit readahead+cache"];
        assert_eq!(names, [&["bare", "bare, read_ahead_kb=1024"], &others[..], &["never", "rig", "always"]].concat());
        assert!(plan.limited && !Plan::with(true, Some("no cgroups"), missing).limited);
    }

    #[test]
    fn all_have_the_same_bytes_of_memory() {
        let with = |way: Way| way.memory() + if matches!(way, Way::Rival(_) | Way::Cached(_)) { CACHE } else { 0 };
        let ways = [Way::PageCache, Way::Rival(Rival::NbdkitCache), ALWAYS, RIG];
        assert!(ways.iter().all(|&way| with(way) == MEMORY + CACHE));
        assert_eq!((with(BARE), Way::PageCache.missing(Some("no cgroups"))), (MEMORY, Some("no cgroups".to_owned())));
    }
}
