//! Tests of processes on CPUs, above a disk with known times.

use super::*;
use crate::costs::{Costs, Preset};
use crate::cpu_scheduler::CpuScheduler;
use crate::program::{Call, Child, ProgramEvent, RawIo, Script};
use crate::settings::{IdleLoop, InterruptCpu};
use iopilot_block::{Criticality, EventQueue, Flags, HostReport, HostTimes, Lba, Op, ProcessGroup, Sectors, Source};
use proptest::prelude::*;

pub(super) const MS: Nanos = Nanos::from_millis(1);

pub(super) fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn io(number: u64, op: Op, class: Criticality) -> Call {
    let (lba, sectors, flags) = (Lba(number * 8), Sectors(8), Flags::empty());
    Call::Io(RawIo { number, op, lba, sectors, flags, class })
}

pub(super) fn read(number: u64) -> Call {
    io(number, Op::Read, Criticality::TimeCritical)
}

pub(super) fn task(name: &str, events: Vec<ProgramEvent>) -> TaskSpec {
    TaskSpec { name: name.into(), program: Script::new(events).into(), start: Nanos::ZERO, is_task: true }
}

/// The results of a run.
pub(super) struct Run {
    pub(super) report: HostReport,
    /// When each request was issued.
    issued: Vec<Nanos>,
    waited_for: Vec<u64>,
    stuck: Option<String>,
    pub(super) end: Nanos,
}

/// Runs the tasks above a disk that serves every request in `service`, all in parallel.
pub(super) fn run(settings: HostSettings, tasks: Vec<TaskSpec>, service: Nanos) -> Run {
    run_host(Host::new(settings, tasks, &[], HostEnd::NEVER).unwrap(), service)
}

fn run_host(mut host: Host, service: Nanos) -> Run {
    let (mut disk, mut steps, mut now) = (EventQueue::new(), Vec::new(), Nanos::ZERO);
    let (mut issued, mut waited_for) = (Vec::new(), Vec::new());
    loop {
        let (own, done) = (host.next_event(), disk.next_time());
        let Some(at) = own.into_iter().chain(done).min() else { break };
        assert!(at >= now, "time goes back");
        now = at;
        if done == Some(at) {
            if let Some(done) = disk.pop() {
                host.completed(done.event, now);
            }
            continue;
        }
        host.advance(now, &mut steps);
        let is_left_waiting = host.processes.iter().any(|process| process.state == ProcessState::Runnable);
        assert!(!is_left_waiting || !host.cpus.iter().any(Cpu::is_idle), "a CPU is idle while a process is runnable");
        for step in steps.drain(..) {
            match step {
                Step::Request(arrival) => {
                    issued.push(now);
                    disk.push(now + service, arrival.handle);
                }
                Step::Waits(handle) => waited_for.push(handle.0),
                Step::Start { .. } | Step::Exit(_) => {}
            }
        }
    }
    let stuck = host.failure().map(|e| e.to_string());
    let report = host.report();
    // A host with a CPU for each process counts nothing.
    if host.reports() {
        assert_adds_up(&host, &report);
    }
    Run { report, issued, waited_for, stuck, end: now }
}

/// Asserts that all time of each interval, and of each process, is accounted for.
#[track_caller]
pub(super) fn assert_adds_up(host: &Host, report: &HostReport) {
    let mut all = CpuTotals::default();
    for (length, times) in host.time_line.intervals(host.now) {
        assert_eq!(times.sum().0, length.0 * host.cpus.len() as u64, "{times:?}");
        all += *times;
    }
    // The work of a CPU at a restart of the report is divided with a small rounding difference.
    let near = |of: fn(&CpuTotals) -> Nanos| of(&all).0.abs_diff(of(&(host.totals - host.unreported)).0) < 10;
    assert!(near(|t| t.process) && near(|t| t.kernel) && near(|t| t.false_computation), "{all:?}");
    assert!(near(|t| t.false_idle) && near(|t| t.idle), "{all:?}");
    let sum = |of: fn(&ProcessGroup) -> f64| report.processes.iter().map(of).sum::<f64>();
    assert!((sum(|group| group.computation_s) - report.times.computation_s).abs() < 1e-6, "{report:?}");
    for group in &report.processes {
        let parts = group.running_s + group.runnable_s + group.io_wait_s + group.other_wait_s;
        assert!((parts - group.life_s).abs() < 1e-6, "{group:?}");
        assert!(group.computation_s <= group.running_s + 1e-9 && group.throttled_s <= group.io_wait_s, "{group:?}");
    }
}

fn times(computation_s: f64, false_idle_s: f64) -> HostTimes {
    HostTimes { computation_s, false_idle_s, ..HostTimes::default() }
}

#[test]
fn a_process_that_waits_for_a_read_leaves_the_cpu_falsely_idle() {
    let events = vec![ProgramEvent::after(ms(10), read(1)), ProgramEvent::after(ms(10), Call::Exit)];
    let run = run(HostSettings::free(1), vec![task("a", events)], ms(5));
    assert_eq!((run.issued, run.end), (vec![ms(10)], ms(25)));
    assert_eq!(run.report.tasks[0].times, times(0.020, 0.005));
    assert_eq!((run.report.tasks[0].io_waits, run.report.tasks[0].io_wait_s), (1, 0.005));
    assert_eq!(run.report.classes[0].requests, 1);
}

#[test]
fn another_process_computes_meanwhile() {
    let reader = vec![ProgramEvent::after(ms(10), read(1)), ProgramEvent::after(ms(10), Call::Exit)];
    let computes = vec![ProgramEvent::after(ms(20), Call::Exit)];
    // The reader computes until 10 ms and waits until 15; the other process computes from 10 to 30.
    let run = run(HostSettings::free(1), vec![task("reader", reader), task("computes", computes)], ms(5));
    let [computes, reader] = &run.report.tasks[..] else { panic!("two tasks") };
    assert_eq!((&*computes.name, computes.elapsed_s, computes.runnable_s), ("computes", 0.030, 0.010));
    assert_eq!((reader.elapsed_s, reader.runnable_s, reader.times.false_idle_s), (0.040, 0.015, 0.0));
    assert!((reader.times.other_s - 0.020).abs() < 1e-12, "the other's computation: {reader:?}");
}

#[test]
fn a_process_that_may_preempt_does_not_wait_for_the_other() {
    let reader = vec![ProgramEvent::after(ms(10), read(1)), ProgramEvent::after(ms(10), Call::Exit)];
    let computes = vec![ProgramEvent::after(ms(20), Call::Exit)];
    let settings = HostSettings { io_preempts: true, ..HostSettings::free(1) };
    let run = run(settings, vec![task("reader", reader), task("computes", computes)], ms(5));
    let elapsed: Vec<_> = run.report.tasks.iter().map(|task| (&*task.name, task.elapsed_s)).collect();
    assert_eq!(elapsed, [("reader", 0.025), ("computes", 0.040)]);
}

#[test]
fn computing_processes_take_turns_of_a_quantum() {
    let computes = |n| vec![ProgramEvent::after(ms(n), Call::Exit)];
    let one = run(HostSettings::free(1), vec![task("a", computes(250)), task("b", computes(150))], MS);
    // a 0-100, b 100-200, a 200-300, b 300-350, a 350-400.
    let elapsed: Vec<_> = one.report.tasks.iter().map(|task| (&*task.name, task.elapsed_s)).collect();
    assert_eq!(elapsed, [("b", 0.350), ("a", 0.400)]);
    assert_eq!(one.report.context_switches, 5);
    let both = vec![task("a", computes(250)), task("b", computes(150))];
    assert_eq!(run(HostSettings::free(2), both, MS).end, ms(250), "two CPUs");
}

#[test]
fn a_fast_cpu_takes_less_time_and_the_clock_more() {
    let computes = || vec![task("a", vec![ProgramEvent::after(ms(100), Call::Exit)])];
    let fast = HostSettings { speed: 4.0, ..HostSettings::free(1) };
    assert_eq!(run(fast, computes(), MS).end, ms(25));
    let costs = Costs { hz: 100, tick_us: 1000.0, ..Costs::FREE };
    let ticking = run(HostSettings { costs, ..HostSettings::free(1) }, computes(), MS);
    // Clock interrupts take a tenth of the time.
    assert!((ticking.end.as_secs_f64() - 0.1 / 0.9).abs() < 1e-8, "{}", ticking.end);
    assert!((ticking.report.times.other_s - 0.1 / 9.0).abs() < 1e-8);
    assert_eq!(ticking.report.ticks, 11);
}

#[test]
fn what_a_wait_costs_is_false_computation() {
    let costs = Costs { switch_us: 20.0, block_us: 15.0, wake_us: 15.0, refill_us: 10.0, irq_us: 275.0, ..Costs::FREE };
    let settings = HostSettings { costs, ..HostSettings::free(1) };
    let reader = || vec![ProgramEvent::after(ms(10), read(1)), ProgramEvent::after(ms(10), Call::Exit)];
    let alone = run(settings.clone(), vec![task("a", reader())], ms(5)).report;
    // At the start it enters an empty CPU. Later it resumes without a switch, because no other process has run.
    assert_eq!(alone.context_switches, 1);
    assert!((alone.tasks[0].times.false_computation_s - 15e-6).abs() < 1e-12, "{alone:?}");
    let two =
        run(settings, vec![task("a", reader()), task("b", vec![ProgramEvent::after(ms(100), Call::Exit)])], ms(5));
    assert_eq!(two.report.context_switches, 4);
    let falsely = two.report.times.false_computation_s;
    assert!((falsely - 45e-6).abs() < 1e-12, "{falsely}: once to sleep, once in again");
}

#[test]
fn a_request_that_is_wanted_late_is_satisfied_and_one_wanted_early_is_waited_for() {
    let prefetch = |number| io(number, Op::Read, Criticality::TimeLimited);
    let events = vec![
        ProgramEvent::after(ms(1), prefetch(1)),
        ProgramEvent::after(ms(8), Call::Await(1)),
        ProgramEvent::after(ms(1), prefetch(2)),
        ProgramEvent::after(ms(2), Call::Await(2)),
        ProgramEvent::after(ms(1), prefetch(3)),
        ProgramEvent::after(ms(9), Call::Exit),
    ];
    let run = run(HostSettings::free(1), vec![task("a", events)], ms(5));
    let limits = run.report.limits;
    assert_eq!((limits.wanted, limits.unused, limits.satisfied_percent), (2, 1, 50.0));
    assert!((limits.limit_ms.mean - 5.0).abs() < 0.02 && (limits.late_ms.mean - 3.0).abs() < 0.02, "{limits:?}");
    assert_eq!(run.waited_for.len(), 1, "the block layer hears of the second");
    assert_eq!(run.end, ms(1 + 8 + 1 + 5 + 1 + 9));
}

#[test]
fn processes_on_their_own_cpus_do_not_wait_and_have_no_report() {
    let prefetch = io(2, Op::Read, Criticality::TimeLimited);
    let events = || {
        vec![
            ProgramEvent::after(ms(10), read(1)),
            ProgramEvent::after(ms(10), prefetch.clone()),
            ProgramEvent::after(ms(2), Call::Await(2)),
            ProgramEvent::after(ms(1), Call::Exit),
        ]
    };
    let late = TaskSpec { start: ms(3), ..task("late", events()) };
    let tasks = vec![late, task("a", events()), task("b", events())];
    let mut host = Host::on_own_cpus(tasks, HostEnd::NEVER).unwrap();
    let cpus: Vec<_> = host.processes.iter().map(|process| process.last_cpu).collect();
    assert_eq!(cpus, [Some(0), Some(1), Some(2)]);
    assert!(!host.thinks_from_block_layer());
    assert_eq!((host.waiting(), host.host_report(), host.lateness()), (None, None, None));
    let run = run_host(host, ms(5));
    // 10 ms, then 5 of the read, 10 ms, then 2 and the remaining 3 of the other read, 1 ms.
    assert_eq!(run.issued, [10, 10, 13, 25, 25, 28].map(ms));
    assert_eq!((run.end, run.stuck), (ms(3 + 31), None));
    assert!(run.waited_for.is_empty() && run.report.tasks.is_empty());
    assert!(Host::on_own_cpus(Vec::new(), HostEnd::NEVER).is_err());
    let program = Script::new(vec![]).into();
    let child = Child { number: 1, name: "c".into(), program, first: false, holds_parent: false, is_task: false };
    let parent =
        task("parent", vec![ProgramEvent::after(ms(1), Call::Fork(child)), ProgramEvent::after(ms(9), Call::Exit)]);
    let refused = run_host(Host::on_own_cpus(vec![parent], HostEnd::NEVER).unwrap(), ms(5));
    assert_eq!(refused.end, ms(1));
    assert!(refused.stuck.unwrap().starts_with("processes: got one that starts a child"));
}

#[test]
fn requests_without_computation_between_them_have_distinct_times_unless_a_wait_separates_them() {
    let aside = |number| ProgramEvent::after(Nanos::ZERO, io(number, Op::Write, Criticality::TimeNonCritical));
    let waits = |number| ProgramEvent::after(Nanos::ZERO, read(number));
    let events =
        vec![aside(1), aside(2), waits(3), waits(4), aside(5), ProgramEvent::after(ms(1), Call::Await(5)), aside(6)];
    let run = run(HostSettings::free(1), vec![task("a", events)], ms(5));
    let ns: Vec<u64> = run.issued.iter().map(|at| at.0).collect();
    // The fifth request is complete after the millisecond and four more of waiting.
    let third = 2 + ms(5).0;
    assert_eq!(ns[..5], [0, 1, 2, third, third + ms(5).0]);
    assert_eq!(ns[5], third + ms(10).0);
}

#[test]
fn processes_wait_for_channels_locks_and_children() {
    let child = |number, events| {
        let program = Script::new(events).into();
        Call::Fork(Child { number, name: "child".into(), program, first: false, holds_parent: false, is_task: false })
    };
    let producer = vec![
        ProgramEvent::after(ms(2), Call::Put { channel: 1, bytes: 10 }),
        ProgramEvent::after(ms(1), Call::Lock(5)),
        ProgramEvent::after(ms(3), Call::Unlock(5)),
    ];
    let events = vec![
        ProgramEvent::after(Nanos::ZERO, child(1, producer)),
        ProgramEvent::after(Nanos::ZERO, Call::Get { channel: 1, bytes: 10 }),
        ProgramEvent::after(ms(2), Call::Lock(5)),
        ProgramEvent::after(ms(1), Call::Unlock(5)),
        ProgramEvent::after(Nanos::ZERO, Call::Wait(None)),
        ProgramEvent::after(ms(1), Call::Nap(ms(4))),
    ];
    let run = run(HostSettings::free(2), vec![task("parent", events)], MS);
    // The bytes come at 2 ms. The child has the lock from 3 to 6, the parent until 7. The nap lasts from 8 to 12.
    assert_eq!((run.end, run.stuck), (ms(12), None));
    let all = run.report.tasks[0].times;
    assert!((all.computation_s - 0.010).abs() < 1e-12, "with the child's: {all:?}");
}

#[test]
fn a_process_that_is_never_woken_is_named() {
    let run = run(HostSettings::free(1), vec![task("sleeper", vec![ProgramEvent::after(MS, Call::Sleep(7))])], MS);
    assert_eq!(
        run.stuck.as_deref(),
        Some("processes: got no event that is left, expected a wake-up, as sleeper (1000) waits for a wake-up on 7")
    );
}

fn event() -> impl Strategy<Value = ProgramEvent> {
    let class =
        prop::sample::select(vec![Criticality::TimeCritical, Criticality::TimeLimited, Criticality::TimeNonCritical]);
    let call = prop_oneof![
        4 => (0u64..6, any::<bool>(), class).prop_map(|(n, write, class)| io(n, if write { Op::Write } else { Op::Read }, class)),
        2 => (0u64..6).prop_map(Call::Await),
        1 => Just(Call::AwaitAll),
        1 => (0u64..5_000_000).prop_map(|time| Call::Nap(Nanos(time))),
        1 => (0u64..2, any::<bool>()).prop_map(|(key, all)| Call::Wakeup { key, all }),
        1 => (0u64..2, 1u64..50_000).prop_map(|(channel, bytes)| Call::Put { channel, bytes }),
        1 => Just(Call::Compute),
        1 => Just(Call::Fork(Child {
            number: 1,
            name: "child".into(),
            program: Script::new(vec![ProgramEvent::after(MS, read(1))]).into(),
            first: true,
            holds_parent: false,
            is_task: false,
        })),
        1 => Just(Call::Wait(None)),
    ];
    (0u64..3_000_000, call).prop_map(|(compute, call)| ProgramEvent::after(Nanos(compute), call))
}

fn settings() -> impl Strategy<Value = HostSettings> {
    let presets = vec![None, Some(Preset::Y1995), Some(Preset::Y2005), Some(Preset::Today)];
    let schedulers = vec![CpuScheduler::RoundRobin, CpuScheduler::Svr4, CpuScheduler::Fair];
    let interrupt_cpus = vec![InterruptCpu::First, InterruptCpu::Issuer, InterruptCpu::RoundRobin];
    let choices = (
        prop::sample::select(presets),
        prop::sample::select(schedulers),
        prop::sample::select(interrupt_cpus),
        prop::sample::select(vec![IdleLoop::Process, IdleLoop::Last]),
    );
    // On slow CPUs, long turns are used up, too.
    let speed = prop::sample::select(vec![1.0, 0.1]);
    (1u16..4, speed, choices, any::<bool>(), any::<bool>()).prop_map(
        |(cpus, speed, (preset, scheduler, interrupt_cpu, idle_loop), io_preempts, kernel_preemption)| HostSettings {
            speed,
            costs: preset.map_or(Costs::FREE, Costs::of),
            scheduler,
            interrupt_cpu,
            io_preempts,
            kernel_preemption,
            idle_loop,
            quantum: ms(2),
            ..HostSettings::free(cpus)
        },
    )
}

proptest! {
    /// For any processes, CPUs and schedulers: all time is accounted for (asserted at the end of every task), every request is
    /// served once, all tasks end, and no CPU idles while a process waits for one. A second run gives the same results.
    #[test]
    fn all_time_is_accounted_for(
        scripts in prop::collection::vec(prop::collection::vec(event(), 0..25), 1..6),
        settings in settings(),
        service in 0u64..10_000_000,
    ) {
        let requests = |events: &Vec<ProgramEvent>| events.iter().filter(|e| matches!(e.call, Call::Io(_) | Call::Fork(_))).count();
        let all: usize = scripts.iter().map(requests).sum();
        let tasks = || scripts.iter().map(|events| task("t", events.clone())).collect::<Vec<_>>();
        let first = run(settings.clone(), tasks(), Nanos(service));
        // Puts may find no room, because no process takes anything out.
        let stuck = first.stuck.is_some();
        prop_assert!(stuck || first.report.tasks.len() == scripts.len());
        prop_assert!(stuck || first.issued.len() == all);
        let served: u64 = first.report.classes.iter().map(|class| class.requests).sum();
        prop_assert_eq!(served as usize, first.issued.len());
        let HostTimes { computation_s, other_s, false_computation_s, false_idle_s, idle_s } = first.report.times;
        let sum = computation_s + other_s + false_computation_s + false_idle_s + idle_s;
        prop_assert!((sum - f64::from(settings.cpus) * first.end.as_secs_f64()).abs() < 1e-6, "{:?}", first.report);
        let again = run(settings, tasks(), Nanos(service));
        prop_assert_eq!(first.report, again.report);
    }
}
