//! Properties that hold for any calls on files.

use super::Host;
use super::file_testing::*;
use crate::file_system::BLOCK_SECTORS;
use crate::*;
use iopilot_block::{Arrival, Nanos, SourceHandle};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The number of a process' own files. The last is in the process' own directory, the others in the root directory.
const OWN: u32 = 3;
const PROCESSES: u32 = 4;

/// The random parts of a call: which call, on which of the process' files, and where.
#[derive(Clone, Copy, Debug)]
struct Choice {
    compute: Nanos,
    what: u8,
    file: u32,
    offset: u64,
    bytes: u64,
}

fn choice() -> impl Strategy<Value = Choice> {
    (0u64..5_000_000, 0u8..14, 0..=OWN, 0u64..300_000, 1u64..40_000)
        .prop_map(|(compute, what, file, offset, bytes)| Choice { compute: Nanos(compute), what, file, offset, bytes })
}

fn directory(process: u32) -> FileId {
    FileId(100 + process)
}

fn own(process: u32, file: u32) -> FileId {
    FileId(200 + OWN * process + file)
}

/// Calls of a process that all succeed: on a file that all share, and on its own files and directory. With `shares_names` it
/// also creates and removes a file that others create and remove. Then a call may be refused.
fn script(process: u32, choices: &[Choice], shares_names: bool) -> Vec<ProgramEvent> {
    let mut there: BTreeSet<FileId> = [FileId::ROOT, FILE].into();
    let directory = directory(process);
    let mut call = |choice: &Choice| {
        let &Choice { what, offset, bytes, .. } = choice;
        let file = if choice.file == OWN { FILE } else { own(process, choice.file) };
        let parent = if choice.file == OWN - 1 && there.contains(&directory) { directory } else { FileId::ROOT };
        let is_empty = !there.contains(&own(process, OWN - 1));
        match what {
            0 => FileCall::Sync,
            1 => FileCall::ReadDir(parent),
            2 | 3 if is_empty && there.remove(&directory) => FileCall::Remove(directory),
            2 | 3 if there.insert(directory) => {
                FileCall::Create { parent: FileId::ROOT, file: directory, kind: FileKind::Directory }
            }
            4 if shares_names => FileCall::Remove(OTHER),
            5 if shares_names => FileCall::Create { parent: FileId::ROOT, file: OTHER, kind: FileKind::Regular },
            _ if there.insert(file) => FileCall::Create { parent, file, kind: FileKind::Regular },
            6 if file != FILE => {
                there.remove(&file);
                FileCall::Remove(file)
            }
            7 => FileCall::Truncate(file),
            8 => FileCall::Fsync(file),
            9 => FileCall::Open(file),
            10 | 11 => FileCall::Read { file, offset, bytes },
            _ => FileCall::Write { file, offset, bytes },
        }
    };
    choices.iter().map(|choice| ProgramEvent::after(choice.compute, Call::File(call(choice)))).collect()
}

/// All files that can exist.
fn files() -> impl Iterator<Item = FileId> {
    let of = |process| (0..OWN).map(move |file| own(process, file)).chain([directory(process)]);
    [FileId::ROOT, FILE, OTHER].into_iter().chain((0..PROCESSES).flat_map(of))
}

fn layout(host: &Host) -> &dyn FileSystem {
    &*host.files.as_ref().unwrap().system
}

/// The blocks of a file without its inode: data, and metadata.
fn blocks(system: &dyn FileSystem, file: FileId) -> (Vec<u64>, Vec<u64>) {
    let data = (0..).map_while(|page| system.map(file, page)).map(|mapping| mapping.block).collect();
    let is_directory = system.list(file, &mut Vec::new()).is_ok();
    (if is_directory { Vec::new() } else { data }, own_metadata(system, file))
}

fn own_metadata(system: &dyn FileSystem, file: FileId) -> Vec<u64> {
    let mut metadata = Vec::new();
    system.own_metadata(file, &mut metadata);
    metadata
}

/// Whether a request is for the present content of its block.
fn is_of_owner(host: &Host, arrival: &Arrival) -> bool {
    let SourceHandle(handle) = arrival.handle;
    let Some(key) = host.requests.get(handle as usize).page else { return false };
    let (system, block) = (layout(host), arrival.lba.0 / BLOCK_SECTORS);
    if !key.is_metadata() {
        return system.map(key.file(), key.page()).is_some_and(|mapping| mapping.block == block);
    }
    // The superblock, the group descriptor, and inodes.
    let is_fixed = block % UfsSettings::default().group_blocks < 130;
    is_fixed || files().any(|file| own_metadata(system, file).contains(&block))
}

proptest! {
    /// For any calls on files: all processes end, and all dirty pages are written in the end. A block never has two requests at
    /// once, and each request is for the block's content at its issue. So the last write stays. No block is in two files, and
    /// the free and used blocks are all blocks. A second run gives the same results.
    #[test]
    fn files_end_up_on_the_disk(
        choices in prop::collection::vec(prop::collection::vec(choice(), 0..40), 1..=PROCESSES as usize),
        shares_names in prop::bool::weighted(0.2),
        old in 0u64..200_000,
        cpus in 1u16..3,
        preset in prop::sample::select(vec![None, Some(Preset::Y1995), Some(Preset::Today)]),
        read_ahead in 0u32..5,
        mib in 1u64..4,
        service in 0u64..30_000_000,
        at_once in any::<bool>(),
    ) {
        let settings = HostSettings {
            costs: preset.map_or(Costs::FREE, Costs::of),
            cache: CacheSettings { read_ahead, ..CacheSettings::of_1995(mib << 20) },
            ..HostSettings::free(cpus)
        };
        let scripts = || choices.iter().zip(0..).map(|(choices, p)| script(p, choices, shares_names)).collect();
        let run = || {
            let mut host = host(settings.clone(), disk(old), scripts());
            let mut free = Nanos::ZERO;
            let end = |_, now| {
                free = if at_once { now } else { free.max(now) } + Nanos(service);
                free
            };
            let mut strangers = Vec::new();
            let check = |host: &Host, arrival: &Arrival| {
                if !is_of_owner(host, arrival) {
                    strangers.push(*arrival);
                }
            };
            let run = run_host(&mut host, end, check);
            (host, run, strangers)
        };
        let (host, first, strangers) = run();
        prop_assert!(strangers.is_empty(), "{strangers:?}");
        prop_assert!(shares_names || first.failure.is_none(), "{:?}", first.failure);
        let report = &first.report;
        prop_assert_eq!(report.tasks.len(), choices.len());
        prop_assert!(first.failure.is_some() || first.unsaved == 0, "{} pages", first.unsaved);
        let mut in_flight: BTreeMap<u64, Nanos> = BTreeMap::new();
        for served in &first.served {
            let before = in_flight.insert(served.lba.0, served.completed);
            prop_assert!(before.is_none_or(|end| end <= served.issued), "{served:?}");
        }
        let mut used = BTreeSet::new();
        for file in files() {
            let (data, metadata) = blocks(layout(&host), file);
            for block in data.into_iter().chain(metadata) {
                prop_assert!(used.insert(block), "block {block} is in two files");
            }
        }
        let empty = Ufs::new(UfsSettings::default(), 1 << 21).unwrap();
        // The root's first block.
        prop_assert_eq!(empty.free_blocks() + 1, layout(&host).free_blocks() + used.len() as u64);
        let classes: u64 = report.classes.iter().map(|class| class.requests).sum();
        prop_assert_eq!(classes, first.served.len() as u64);
        let sum = report.times.computation_s + report.times.other_s + report.times.false_computation_s
            + report.times.false_idle_s + report.times.idle_s;
        prop_assert!((sum - f64::from(cpus) * report.elapsed_s).abs() < 1e-6);
        prop_assert_eq!(&first, &run().1);
    }
}
