//! [`RedcapLivePlan`]: the disks, the loads, and the paths from the programs to a disk.

use super::load::{self, ShellLoad};
use super::memory_limit::MemoryLimit;
use super::rival::{CACHE, Rival};
use crate::mounts::FileSystemKind;

/// What the programs read through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadPath {
    /// The bare disk, with this read-ahead in KiB.
    Bare { read_ahead_kb: u32 },
    /// The bare disk, with as much more memory for the page cache as a REDCAP cache has.
    PageCache,
    /// The disk under another cache.
    Rival(Rival),
    /// The disk under REDCAP with an algorithm.
    Cached(&'static str),
}

impl ReadPath {
    pub(super) fn name(self) -> String {
        match self {
            Self::Bare { read_ahead_kb: READ_AHEAD } => "bare".to_owned(),
            Self::Bare { read_ahead_kb } => format!("bare, read_ahead_kb={read_ahead_kb}"),
            Self::PageCache => "larger page cache".to_owned(),
            Self::Rival(rival) => rival.name().to_owned(),
            Self::Cached(algorithm) => algorithm.to_owned(),
        }
    }

    /// What the path needs and this machine does not have; `None` if it can be measured. `memory` says why memory cannot
    /// be limited.
    fn missing(self, memory: Option<&str>) -> Option<String> {
        match self {
            Self::PageCache => memory.map(str::to_owned),
            Self::Rival(rival) => rival.missing(),
            Self::Bare { .. } | Self::Cached(_) => None,
        }
    }

    /// The memory limit of a load, including its page cache, bytes.
    pub(super) fn memory(self) -> u64 {
        MEMORY + if self == Self::PageCache { CACHE } else { 0 }
    }
}

/// The memory limit of a load, including its page cache, bytes: less than the files of most loads.
pub(super) const MEMORY: u64 = 128 << 20;
/// The kernel's default, KiB.
pub(super) const READ_AHEAD: u32 = 128;
pub(super) const BARE: ReadPath = ReadPath::Bare { read_ahead_kb: READ_AHEAD };
pub(super) const OFF: ReadPath = ReadPath::Cached("never");
pub(super) const ADAPTIVE: ReadPath = ReadPath::Cached("adaptive");
pub(super) const ALWAYS: ReadPath = ReadPath::Cached("always");

/// A disk and its file system.
pub(super) struct DiskUnderTest {
    pub(super) disk: &'static str,
    pub(super) depth: u32,
    pub(super) file_system: FileSystemKind,
}

/// The plan of a run: disks, paths and loads.
pub(super) struct RedcapLivePlan {
    pub(super) parts: Vec<DiskUnderTest>,
    pub(super) paths: Vec<ReadPath>,
    /// The paths that are left out, and the reasons.
    pub(super) left_out: Vec<String>,
    /// Whether a load's memory is limited to [`ReadPath::memory`].
    pub(super) limited: bool,
    pub(super) loads: &'static [ShellLoad],
    pub(super) runs: usize,
    /// The share of the files' full sizes.
    pub(super) share: f64,
}

impl RedcapLivePlan {
    pub(super) fn new(quick: bool) -> Self {
        let memory = MemoryLimit::new("probe", MEMORY).err().map(|e| format!("{e:#}"));
        Self::with(quick, memory.as_deref(), |path| path.missing(memory.as_deref()))
    }

    /// A plan without the paths for which `missing` gives a reason. `memory` says why memory cannot be limited.
    pub(super) fn with(quick: bool, memory: Option<&str>, missing: impl Fn(ReadPath) -> Option<String>) -> Self {
        let part = |disk, depth, file_system| DiskUnderTest { disk, depth, file_system };
        let shallow = part("hd-500-16", 4, FileSystemKind::Ext4);
        let others = [
            ReadPath::PageCache,
            ReadPath::Rival(Rival::NbdkitCache),
            ReadPath::Rival(Rival::NbdkitReadahead),
            ReadPath::Rival(Rival::DmCache),
        ];
        let (mut paths, mut left_out) = (vec![BARE], Vec::new());
        paths.extend((!quick).then_some(ReadPath::Bare { read_ahead_kb: 1024 }));
        for path in others {
            match missing(path) {
                Some(why) => left_out.push(format!("left out: {}: {why}", path.name())),
                None => paths.push(path),
            }
        }
        let limited = memory.is_none();
        if quick {
            paths.push(ALWAYS);
            return Self { parts: vec![shallow], paths, left_out, limited, loads: load::QUICK, runs: 1, share: 0.1 };
        }
        paths.extend([OFF, ADAPTIVE, ALWAYS]);
        let parts = vec![shallow, part("savvio-10k4-600g", 32, FileSystemKind::Xfs)];
        Self { parts, paths, left_out, limited, loads: load::ALL, runs: 5, share: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_left_out_with_a_note() {
        let missing = |path: ReadPath| {
            (path == ReadPath::Rival(Rival::DmCache)).then(|| "needs a kernel with dm-cache".to_owned())
        };
        let plan = RedcapLivePlan::with(false, None, missing);
        assert_eq!(plan.left_out, ["left out: dm-cache: needs a kernel with dm-cache"]);
        let names: Vec<String> = plan.paths.iter().map(|path| path.name()).collect();
        let others = ["larger page cache", "nbdkit cache", "nbdkit readahead+cache"];
        assert_eq!(
            names,
            [&["bare", "bare, read_ahead_kb=1024"], &others[..], &["never", "adaptive", "always"]].concat()
        );
        assert!(plan.limited && !RedcapLivePlan::with(true, Some("no cgroups"), missing).limited);
    }

    #[test]
    fn all_have_the_same_bytes_of_memory() {
        let with = |path: ReadPath| {
            path.memory() + if matches!(path, ReadPath::Rival(_) | ReadPath::Cached(_)) { CACHE } else { 0 }
        };
        let paths = [ReadPath::PageCache, ReadPath::Rival(Rival::NbdkitCache), ALWAYS, ADAPTIVE];
        assert!(paths.iter().all(|&path| with(path) == MEMORY + CACHE));
        assert_eq!(
            (with(BARE), ReadPath::PageCache.missing(Some("no cgroups"))),
            (MEMORY, Some("no cgroups".to_owned()))
        );
    }
}
