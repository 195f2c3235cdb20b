use super::file_testing::*;
use crate::*;
use iopilot_block::{AfterTasks, Criticality, Lba, Nanos, Op, ProcessKind, Sectors, Source};

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn a_run_ends_with_its_tasks_and_again_when_all_is_on_the_disk() {
    let create = FileCall::Create { parent: FileId::ROOT, file: OTHER, kind: FileKind::Regular };
    let write = FileCall::Write { file: OTHER, offset: 0, bytes: 10 * BLOCK_BYTES };
    let run = run(HostSettings::free(1), disk(0), vec![vec![file(create), file(write)]], ms(1));
    let report = &run.report;
    assert_eq!(report.tasks_end_s, Some(report.tasks[0].elapsed_s));
    // Ten pages, the group descriptor, the directory's names, and its inode.
    assert_eq!(report.after_tasks, Some(AfterTasks { dirty_pages: 13, requests: 13 }));
    let last = run.served.iter().map(|served| served.completed).max().unwrap();
    assert!((report.elapsed_s - last.as_secs_f64()).abs() < 1e-9, "{} and {last}", report.elapsed_s);
    let over_time = &report.over_time;
    let dirty = over_time.dirty_pages.as_ref().unwrap();
    // The syncer writes metadata at the first second, and the pages within a minute.
    assert_eq!(dirty[0], 13, "after {} s", over_time.interval_s);
    assert!(dirty.windows(2).all(|two| two[0] >= two[1]), "{dirty:?}");
    assert_eq!(dirty.last(), Some(&0));
    assert_eq!(dirty.len(), over_time.idle.len());
    let [task, syncer] = &report.processes[..] else { panic!("{:?}", report.processes) };
    assert_eq!((&*task.name, task.kind, task.count), ("task", ProcessKind::Task, 1));
    assert_eq!((&*syncer.name, syncer.kind, syncer.life_s), ("syncer", ProcessKind::Kernel, report.elapsed_s));
}

#[test]
fn waiting_for_room_is_throttling() {
    let cache = CacheSettings::of_1995(1 << 20);
    let settings = HostSettings { cache, ..HostSettings::free(1) };
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 1000 * BLOCK_BYTES };
    let run = run(settings, disk(0), vec![vec![file(write)]], ms(1));
    let (cache, task) = (run.report.cache.as_ref().unwrap(), &run.report.processes[0]);
    assert!(cache.throttled > 700 && task.io_waits >= cache.throttled, "{cache:?}");
    assert!(
        (cache.throttled_s - 1e-3 * cache.throttled as f64).abs() < 0.01,
        "each for a page to be written: {cache:?}"
    );
    assert_eq!(task.throttled_s, cache.throttled_s);
}

#[test]
fn processes_of_one_name_are_one_group() {
    let child = |number| {
        let class = Criticality::TimeCritical;
        let (lba, sectors, flags) = (Lba(8 * number), Sectors(8), iopilot_block::Flags::empty());
        let read = Call::Io(RawIo { number: 0, op: Op::Read, lba, sectors, flags, class });
        let program =
            Script::new(vec![ProgramEvent::after(ms(2), read), ProgramEvent::after(ms(1), Call::Exit)]).into();
        let child = Child { number, name: "child".into(), program, first: false, holds_parent: false, is_task: false };
        ProgramEvent::after(ms(1), Call::Fork(child))
    };
    let wait = || ProgramEvent::after(Nanos::ZERO, Call::Wait(None));
    let events = vec![child(1), child(2), child(3), wait(), wait(), wait()];
    let run = run(HostSettings::free(1), disk(0), vec![events], ms(5));
    let [task, _, children] = &run.report.processes[..] else { panic!("{:?}", run.report.processes) };
    assert_eq!((&*children.name, children.kind, children.count), ("child", ProcessKind::Other, 3));
    assert_eq!((children.io_waits, children.other_waits), (3, 0));
    assert!(
        (children.computation_s - 0.009).abs() < 1e-9 && (task.computation_s - 0.003).abs() < 1e-9,
        "{task:?} {children:?}"
    );
    assert!((run.report.tasks[0].times.computation_s - 0.012).abs() < 1e-9, "the task has its children's, too");
}

#[test]
fn a_restarted_report_leaves_out_earlier_work() {
    let write = FileCall::Write { file: FILE, offset: 0, bytes: 400 * BLOCK_BYTES };
    let events =
        vec![file(write), ProgramEvent::after(ms(700), Call::Nap(ms(2000))), ProgramEvent::after(ms(300), Call::Exit)];
    let settings = HostSettings { cache: CacheSettings::of_1995(1 << 20), ..HostSettings::of(Preset::Y1995, 1) };
    let whole = run(settings.clone(), disk(0), vec![events.clone()], ms(4)).report;
    let mut host = host(settings, disk(0), vec![events]);
    let mut free = Nanos::ZERO;
    let mut restarts = Some(Nanos::from_millis_f64(1000.0 * whole.tasks_end_s.unwrap()).saturating_sub(ms(2650)));
    let serves = |_, now| {
        free = free.max(now) + ms(4);
        free
    };
    let restart = |host: &mut Host, now| {
        if let Some(at) = restarts.take_if(|at| *at <= now) {
            host.restart_report(at);
        }
    };
    let late = run_host_with(&mut host, serves, |_, _| {}, restart).report;
    let task = &late.processes[0];
    assert!((task.life_s - 2.65).abs() < 1e-6 && task.other_waits == 1 && task.throttled_s == 0.0, "{task:?}");
    assert!((0.6..0.7).contains(&task.computation_s) && whole.processes[0].computation_s > 1.0, "{task:?}");
    assert!((late.tasks_end_s.unwrap() - 2.65).abs() < 1e-6, "{:?}", late.tasks_end_s);
    assert!(late.tasks.is_empty(), "it began before");
    assert_eq!(late.after_tasks.unwrap().dirty_pages, whole.after_tasks.unwrap().dirty_pages);
}
