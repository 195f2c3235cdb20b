use crate::*;
use iopilot_block::{Criticality, EventQueue, HostReport, Lba, Nanos, Op, Sectors, Source, Step};
use proptest::prelude::*;
use std::collections::BTreeMap;

const FILE: FileId = FileId(10);
const OTHER: FileId = FileId(11);
/// The place of requests that mark a moment.
const MARK: Lba = Lba((1 << 21) - 8);

/// A request as the disk saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Served {
    issued: Nanos,
    completed: Nanos,
    op: Op,
    lba: Lba,
    class: Criticality,
}

#[derive(Debug, PartialEq)]
struct Run {
    report: HostReport,
    served: Vec<Served>,
    failure: Option<String>,
}

/// A disk of 1 GiB with a file of so many bytes.
fn disk(bytes: u64) -> Ufs {
    let mut ufs = Ufs::new(UfsSettings::default(), 1 << 21).unwrap();
    ufs.create(FileId::ROOT, FILE, FileKind::Regular, &mut Vec::new()).unwrap();
    ufs.write(FILE, bytes, &mut Vec::new()).unwrap();
    ufs
}

/// Runs scripts over a disk that serves one request after the other, each in `service`.
fn run(settings: HostSettings, ufs: Ufs, scripts: Vec<Vec<Event>>, service: Nanos) -> Run {
    let mut free = Nanos::ZERO;
    run_on(settings, ufs, scripts, |_, now| {
        free = free.max(now) + service;
        free
    })
}

/// Runs scripts over a disk that completes a request of a class, issued at a time, when `end` says.
fn run_on(
    settings: HostSettings,
    ufs: Ufs,
    scripts: Vec<Vec<Event>>,
    mut end: impl FnMut(Criticality, Nanos) -> Nanos,
) -> Run {
    let task = |events| TaskSpec {
        name: "task".into(),
        program: Script::new(events).into(),
        start: Nanos::ZERO,
        is_task: true,
    };
    let setup = FileSetup { system: Box::new(ufs), cache: settings.cache, cached: Vec::new() };
    let host = Host::new(settings, scripts.into_iter().map(task).collect(), &[], HostEnd::NEVER).unwrap();
    let mut host = host.with_files(setup).unwrap();
    let (mut queue, mut served) = (EventQueue::new(), Vec::new());
    let (mut steps, mut now) = (Vec::new(), Nanos::ZERO);
    loop {
        let next = [host.next_event(), queue.next_time()].into_iter().flatten().min();
        let Some(at) = next else { break };
        assert!(at >= now, "time goes on");
        now = at;
        while let Some(due) = queue.pop_due(now) {
            host.completed(due.event, now);
        }
        host.advance(now, &mut steps);
        for step in steps.drain(..) {
            if let Step::Request(arrival) = step {
                let completed = end(arrival.criticality, now);
                queue.push(completed, arrival.handle);
                let (op, lba, class) = (arrival.op, arrival.lba, arrival.criticality);
                served.push(Served { issued: now, completed, op, lba, class });
            }
        }
    }
    let failure = host.failure().map(|e| e.to_string());
    Run { report: host.host_report().unwrap(), served, failure }
}

fn file(call: FileCall) -> Event {
    Event::after(Nanos::ZERO, Call::File(call))
}

fn read(file: FileId, page: u64) -> FileCall {
    FileCall::Read { file, offset: page * BLOCK_BYTES, bytes: BLOCK_BYTES }
}

fn mark() -> Event {
    let class = Criticality::TimeNonCritical;
    let (lba, sectors, flags) = (MARK, Sectors(8), iopilot_block::Flags::empty());
    Event::after(Nanos::ZERO, Call::Io(RawIo { number: 0, op: Op::Read, lba, sectors, flags, class }))
}

fn of(run: &Run, op: Op, class: Criticality) -> usize {
    run.served.iter().filter(|served| (served.op, served.class) == (op, class)).count()
}

const MS: u64 = 1_000_000;

#[test]
fn who_reads_in_order_finds_the_next_page_read_ahead() {
    let pages = 100;
    let each = |page| Event::after(Nanos(20 * MS), Call::File(read(FILE, page)));
    let events: Vec<Event> = (0..pages).map(each).collect();
    let run = run(HostSettings::free(1), disk(pages * BLOCK_BYTES), vec![events], Nanos(5 * MS));
    assert_eq!(run.failure, None);
    // The first page, the inode, the block that says where the thirteenth and later pages are, and the thirteenth.
    assert_eq!(of(&run, Op::Read, Criticality::TimeCritical), 4);
    assert_eq!(of(&run, Op::Read, Criticality::TimeLimited), pages as usize - 2);
    let limits = &run.report.limits;
    assert_eq!((limits.wanted, limits.satisfied_percent), (98, 100.0));
    assert!((limits.limit_ms.mean - 20.0).abs() < 0.5, "as long as a page is worked on: {}", limits.limit_ms.mean);
    let cache = run.report.cache.as_ref().unwrap();
    assert_eq!((cache.hits, cache.misses, cache.read_ahead_used), (98, 2, 98));
    // The access time of the inode.
    assert_eq!(of(&run, Op::Write, Criticality::TimeNonCritical) as u64, cache.written);
}

#[test]
fn a_faster_reader_waits_for_what_is_read_ahead() {
    let reads = (0..10).map(|page| Event::after(Nanos(MS), Call::File(read(FILE, page))));
    let events = [file(FileCall::Open(FILE))].into_iter().chain(reads).collect();
    let run = run(HostSettings::free(1), disk(10 * BLOCK_BYTES), vec![events], Nanos(5 * MS));
    assert_eq!(run.report.limits.satisfied_percent, 0.0);
    assert_eq!(run.report.tasks[0].io_waits, 12, "the names and the inodes of the root and the file, too");
    assert!((run.report.tasks[0].elapsed_s - 0.061).abs() < 1e-9, "{}", run.report.tasks[0].elapsed_s);
}

#[test]
fn who_jumps_about_has_nothing_read_ahead() {
    let events = [7, 3, 9, 1].map(|page| file(read(FILE, page))).to_vec();
    let run = run(HostSettings::free(1), disk(12 * BLOCK_BYTES), vec![events], Nanos(MS));
    assert_eq!(of(&run, Op::Read, Criticality::TimeLimited), 0);
    assert_eq!(of(&run, Op::Read, Criticality::TimeCritical), 5, "the inode, too");
}

#[test]
fn data_are_written_by_the_syncer_within_a_minute_and_a_new_inode_at_once() {
    let create = FileCall::Create { parent: FileId::ROOT, file: OTHER, kind: FileKind::Regular };
    let write = FileCall::Write { file: OTHER, offset: 0, bytes: 10 * BLOCK_BYTES };
    let run = run(HostSettings::free(1), disk(0), vec![vec![file(create), file(write)]], Nanos(MS));
    assert_eq!(of(&run, Op::Write, Criticality::TimeCritical), 1, "the inode");
    let data: Vec<&Served> = run.served.iter().filter(|s| s.class == Criticality::TimeNonCritical).collect();
    // Ten pages, the block of the group, the names of the directory, and its inode.
    assert_eq!(data.len(), 13);
    assert!(data.iter().all(|s| s.issued >= Nanos::from_secs(1) && s.issued <= Nanos::from_secs(61)), "{data:?}");
    assert!(run.report.tasks[0].elapsed_s < 0.01, "the task does not wait for that");
}

#[test]
fn what_is_removed_before_is_never_written() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 100 * BLOCK_BYTES };
    let removed = vec![file(write), file(FileCall::Remove(FILE))];
    let run = run(HostSettings::free(1), disk(0), vec![removed], Nanos(MS));
    assert!(run.served.iter().filter(|s| s.op == Op::Write).count() < 8, "{:?}", run.served);
}

#[test]
fn what_is_written_again_while_the_old_is_on_its_way_is_not_lost() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 10 * BLOCK_BYTES };
    let calls = [write, FileCall::Sync, FileCall::Truncate(FILE), write].map(file).to_vec();
    // Metadata, which go first, are there long before the data.
    let mut written = 0;
    let end = |class, now| {
        written += u64::from(class == Criticality::TimeNonCritical);
        now + if class == Criticality::TimeNonCritical && written > 2 { Nanos(50 * MS) } else { Nanos(MS) }
    };
    let run = run_on(HostSettings::free(1), disk(0), vec![calls], end);
    let data = |served: &&Served| served.op == Op::Write && served.class == Criticality::TimeNonCritical;
    assert!(run.served.iter().filter(data).count() >= 20, "ten pages, twice: {:?}", run.served);
}

#[test]
fn what_fsync_returned_for_is_on_the_disk() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 50 * BLOCK_BYTES };
    let events = vec![file(write), file(FileCall::Fsync(FILE)), mark()];
    let ufs = disk(0);
    let run = run(HostSettings::of(Preset::Y1995, 1), ufs, vec![events], Nanos(3 * MS));
    let marked = run.served.iter().find(|s| s.lba == MARK).unwrap().issued;
    let written = run.served.iter().filter(|s| s.op == Op::Write && s.completed <= marked).count();
    assert!(written >= 51, "all pages and the inode: {written}");
}

#[test]
fn a_full_cache_makes_writers_wait() {
    let cache = CacheSettings::of_1995(1 << 20);
    let settings = HostSettings { cache, ..HostSettings::free(1) };
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 1000 * BLOCK_BYTES };
    let run = run(settings, disk(0), vec![vec![file(write)]], Nanos(MS));
    assert!(of(&run, Op::Write, Criticality::TimeCritical) > 700, "{:?}", run.report.classes);
    assert!(run.report.tasks[0].io_waits > 700);
}

#[test]
fn a_call_that_cannot_be_done_is_said_to_be() {
    let events = vec![file(FileCall::Open(OTHER)), mark()];
    let run = run(HostSettings::free(1), disk(0), vec![events], Nanos(MS));
    let failure = run.failure.unwrap();
    assert!(failure.starts_with("process task (1000): got file 11 does not exist, expected"), "{failure}");
    assert!(run.served.is_empty());
}

fn call() -> impl Strategy<Value = FileCall> {
    let bytes = || 0u64..300_000;
    prop_oneof![
        3 => (bytes(), 1u64..20_000).prop_map(|(offset, bytes)| FileCall::Read { file: FILE, offset, bytes }),
        3 => (bytes(), 1u64..20_000).prop_map(|(offset, bytes)| FileCall::Write { file: FILE, offset, bytes }),
        1 => Just(FileCall::Open(FILE)),
        1 => Just(FileCall::ReadDir(FileId::ROOT)),
        1 => Just(FileCall::Truncate(FILE)),
        1 => Just(FileCall::Fsync(FILE)),
        1 => Just(FileCall::Sync),
    ]
}

proptest! {
    /// Whatever processes do with files: all end, all that is dirty is written in the end, no block has two requests at once,
    /// and the same comes out again.
    #[test]
    fn files_end_up_on_the_disk(
        scripts in prop::collection::vec(prop::collection::vec((0u64..5_000_000, call()), 0..20), 1..5),
        old in 0u64..200_000,
        cpus in 1u16..3,
        preset in prop::sample::select(vec![None, Some(Preset::Y1995), Some(Preset::Today)]),
        mib in 1u64..4,
        service in 0u64..30_000_000,
    ) {
        let settings = HostSettings {
            costs: preset.map_or(Costs::FREE, Costs::of),
            cache: CacheSettings::of_1995(mib << 20),
            ..HostSettings::free(cpus)
        };
        let all = || scripts.iter().map(|script| {
            script.iter().map(|&(compute, call)| Event::after(Nanos(compute), Call::File(call))).collect()
        }).collect::<Vec<Vec<Event>>>();
        let first = run(settings.clone(), disk(old), all(), Nanos(service));
        prop_assert_eq!(&first.failure, &None);
        prop_assert_eq!(first.report.tasks.len(), scripts.len());
        let mut under_way: BTreeMap<u64, Nanos> = BTreeMap::new();
        for served in &first.served {
            let before = under_way.insert(served.lba.0, served.completed);
            prop_assert!(before.is_none_or(|end| end <= served.issued), "{:?}", served);
        }
        let report = &first.report;
        let classes: u64 = report.classes.iter().map(|class| class.requests).sum();
        prop_assert_eq!(classes, first.served.len() as u64);
        let sum = report.times.computation_s + report.times.other_s + report.times.false_computation_s
            + report.times.false_idle_s + report.times.idle_s;
        prop_assert!((sum - f64::from(cpus) * report.elapsed_s).abs() < 1e-6);
        prop_assert_eq!(&first, &run(settings, disk(old), all(), Nanos(service)));
    }
}
