use super::file_testing::*;
use crate::file_system::BLOCK_SECTORS;
use crate::*;
use iopilot_block::{Criticality, Lba, Nanos, Op, Sectors};

/// The address of requests that mark a time.
const MARK: Lba = Lba((1 << 21) - 8);

fn read(file: FileId, page: u64) -> FileCall {
    FileCall::Read { file, offset: page * BLOCK_BYTES, bytes: BLOCK_BYTES }
}

fn mark() -> ProgramEvent {
    let class = Criticality::TimeNonCritical;
    let (lba, sectors, flags) = (MARK, Sectors(8), iopilot_block::Flags::empty());
    ProgramEvent::after(Nanos::ZERO, Call::Io(RawIo { number: 0, op: Op::Read, lba, sectors, flags, class }))
}

fn of(run: &Run, op: Op, class: Criticality) -> usize {
    run.served.iter().filter(|served| (served.op, served.class) == (op, class)).count()
}

const MS: u64 = 1_000_000;

#[test]
fn a_sequential_reader_finds_the_next_page_read_ahead() {
    let pages = 100;
    let each = |page| ProgramEvent::after(Nanos(20 * MS), Call::File(read(FILE, page)));
    let events: Vec<ProgramEvent> = (0..pages).map(each).collect();
    let run = run(HostSettings::free(1), disk(pages * BLOCK_BYTES), vec![events], Nanos(5 * MS));
    assert_eq!(run.failure, None);
    // The first page, the inode, the indirect block of the thirteenth and later pages, and the thirteenth page.
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
fn a_faster_reader_waits_for_read_ahead() {
    let reads = (0..10).map(|page| ProgramEvent::after(Nanos(MS), Call::File(read(FILE, page))));
    let events = [file(FileCall::Open(FILE))].into_iter().chain(reads).collect();
    let run = run(HostSettings::free(1), disk(10 * BLOCK_BYTES), vec![events], Nanos(5 * MS));
    assert_eq!(run.report.limits.satisfied_percent, 0.0);
    assert_eq!(run.report.tasks[0].io_waits, 12, "the names and the inodes of the root and the file, too");
    assert!((run.report.tasks[0].elapsed_s - 0.061).abs() < 1e-9, "{}", run.report.tasks[0].elapsed_s);
}

#[test]
fn the_machine_sets_the_pages_read_ahead() {
    let pages = 40;
    let cache = CacheSettings { read_ahead: 4, ..HostSettings::free(1).cache };
    let settings = HostSettings { cache, ..HostSettings::free(1) };
    let each = |page| ProgramEvent::after(Nanos(100 * MS), Call::File(read(FILE, page)));
    let run = run(settings, disk(pages * BLOCK_BYTES), vec![(0..pages).map(each).collect()], Nanos(5 * MS));
    let layout = disk(pages * BLOCK_BYTES);
    let place = |page| Lba(layout.map(FILE, page).unwrap().block * BLOCK_SECTORS);
    let ahead = run.served.iter().filter(|served| served.class == Criticality::TimeLimited);
    // The thirteenth page needs an indirect block, which has not been read before.
    let all = (1..12).chain(13..pages).map(place);
    assert!(ahead.map(|served| served.lba).eq(all), "each once, in order: {:?}", run.served);
    let issued = |n: usize| run.served.iter().filter(|s| s.issued < Nanos(n as u64 * 100 * MS + 50 * MS)).count();
    assert_eq!(issued(1), 6, "the inode, the first page, and four ahead");
    assert_eq!(issued(2), 7, "and then one for each");
}

#[test]
fn a_random_reader_has_no_read_ahead() {
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
    // Ten pages, the group descriptor, the directory's names, and its inode.
    assert_eq!(data.len(), 13);
    assert!(data.iter().all(|s| s.issued >= Nanos::from_secs(1) && s.issued <= Nanos::from_secs(61)), "{data:?}");
    assert!(run.report.tasks[0].elapsed_s < 0.01, "the task does not wait for that");
}

#[test]
fn dirty_pages_of_a_removed_file_are_never_written() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 100 * BLOCK_BYTES };
    let removed = vec![file(write), file(FileCall::Remove(FILE))];
    let run = run(HostSettings::free(1), disk(0), vec![removed], Nanos(MS));
    assert!(run.served.iter().filter(|s| s.op == Op::Write).count() < 8, "{:?}", run.served);
}

#[test]
fn a_page_rewritten_during_its_write_back_is_not_lost() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 10 * BLOCK_BYTES };
    let calls = [write, FileCall::Sync, FileCall::Truncate(FILE), write].map(file).to_vec();
    // Metadata go first, and are on the disk long before the data.
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
fn blocks_of_a_removed_file_are_reused_once_none_of_their_requests_is_in_flight() {
    let write = |file| FileCall::Write { file, offset: 0, bytes: 10 * BLOCK_BYTES };
    let create = FileCall::Create { parent: FileId::ROOT, file: OTHER, kind: FileKind::Regular };
    let calls = [write(FILE), FileCall::Sync, FileCall::Remove(FILE), create, write(OTHER), FileCall::Sync];
    // Metadata go first, and are on the disk long before the data.
    let mut written = 0;
    let end = |class, now| {
        written += u64::from(class == Criticality::TimeNonCritical);
        now + if class == Criticality::TimeNonCritical && written > 2 { Nanos(50 * MS) } else { Nanos(MS) }
    };
    let run = run_on(HostSettings::free(1), disk(0), vec![calls.map(file).to_vec()], end);
    let data: Vec<&Served> = run.served.iter().filter(|s| s.completed == s.issued + Nanos(50 * MS)).collect();
    assert!(data.len() >= 20, "ten pages of each: {data:?}");
    let twice = data.iter().flat_map(|first| data.iter().map(move |second| (first, second)));
    let twice: Vec<_> =
        twice.filter(|(first, second)| first.lba == second.lba && first.issued < second.issued).collect();
    assert!(twice.len() >= 10, "OTHER has the blocks that FILE had: {data:?}");
    assert!(twice.iter().all(|(first, second)| first.completed <= second.issued), "{twice:?}");
    assert!(run.waited_for > 0, "the removal of FILE waits for its pages");
}

#[test]
fn dirty_metadata_of_a_removed_or_truncated_file_are_never_written() {
    let pages = 40;
    let write = FileCall::Write { file: FILE, offset: 0, bytes: pages * BLOCK_BYTES };
    let mut layout = disk(0);
    layout.write(FILE, pages * BLOCK_BYTES, &mut Vec::new()).unwrap();
    let indirect = layout.map(FILE, 12).unwrap().by.unwrap();
    let writes = |calls: &[FileCall]| {
        let run = run(HostSettings::free(1), disk(0), vec![calls.iter().copied().map(file).collect()], Nanos(MS));
        run.served.iter().filter(|s| s.op == Op::Write && s.lba == Lba(indirect * BLOCK_SECTORS)).count()
    };
    assert_eq!(writes(&[write]), 1);
    assert_eq!(writes(&[write, FileCall::Truncate(FILE)]), 0);
    assert_eq!(writes(&[write, FileCall::Remove(FILE)]), 0);
}

#[test]
fn a_page_changed_during_a_long_write_back_is_written_again() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: BLOCK_BYTES };
    let calls = [write, FileCall::Sync, write].map(file).to_vec();
    // The syncer wakes up in between, and finds nothing to write.
    let run = run_on(HostSettings::free(1), disk(0), vec![calls], |_, now| now + Nanos(2500 * MS));
    let mut layout = disk(0);
    layout.write(FILE, BLOCK_BYTES, &mut Vec::new()).unwrap();
    let block = layout.map(FILE, 0).unwrap().block;
    let writes = run.served.iter().filter(|s| s.op == Op::Write && s.lba == Lba(block * BLOCK_SECTORS));
    assert_eq!(writes.count(), 2, "{:?}", run.served);
    assert_eq!(run.unsaved, 0);
}

#[test]
fn after_fsync_the_file_is_on_the_disk() {
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
fn a_refused_call_is_an_error() {
    let events = vec![file(FileCall::Open(OTHER)), mark()];
    let run = run(HostSettings::free(1), disk(0), vec![events], Nanos(MS));
    let failure = run.failure.unwrap();
    assert!(failure.starts_with("process task (1000): got file 11 does not exist, expected"), "{failure}");
    assert!(run.served.is_empty());
}
