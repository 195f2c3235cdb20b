//! Tests of which process has a CPU, when, and at what cost.

use super::tests::{MS, Run, ms, read, run, task};
use crate::costs::Costs;
use crate::cpu_scheduler::{CpuScheduler, FairSettings};
use crate::program::{Call, Child, ProgramEvent, Script};
use crate::settings::{HostSettings, IdleLoop, InterruptCpu};
use iopilot_block::{Nanos, TaskReport};

fn of(scheduler: CpuScheduler, cpus: u16) -> HostSettings {
    HostSettings { scheduler, ..HostSettings::free(cpus) }
}

fn computes(n: u64) -> Vec<ProgramEvent> {
    vec![ProgramEvent::after(ms(n), Call::Exit)]
}

/// `count` reads, each after a time of computation.
fn reads(count: u64, each: Nanos) -> Vec<ProgramEvent> {
    (0..count).map(|n| ProgramEvent::after(each, read(n))).collect()
}

fn named<'a>(run: &'a Run, name: &str) -> &'a TaskReport {
    run.report.tasks.iter().find(|task| task.name == name).unwrap()
}

#[test]
fn under_svr4_a_reader_preempts_a_computing_process() {
    let runnable = |scheduler| {
        let both = vec![task("reader", reads(20, MS)), task("computes", computes(3000))];
        named(&run(of(scheduler, 1), both, ms(5)), "reader").runnable_s
    };
    assert_eq!(runnable(CpuScheduler::Svr4), 0.0, "it pre-empts at once");
    assert!(runnable(CpuScheduler::RoundRobin) > 20.0 * 0.090, "it waits for the end of each quantum");
}

#[test]
fn under_svr4_no_process_starves() {
    // Two readers keep the CPU busy for 10 s, at the highest priority.
    let readers = ["a", "b"].map(|name| task(name, reads(1000, ms(5))));
    let all = readers.into_iter().chain([task("computes", computes(50))]).collect();
    let run = run(of(CpuScheduler::Svr4, 1), all, MS);
    // It needs 3 s to rise to their priority, and 1 s after each quantum of 20 ms.
    let elapsed = named(&run, "computes").elapsed_s;
    assert!((3.0..6.0).contains(&elapsed), "{elapsed} s");
    assert!(run.end > ms(10_000));
}

#[test]
fn under_svr4_quanta_of_a_computing_process_get_longer() {
    let two = || vec![task("a", computes(2000)), task("b", computes(2000))];
    let run = run(of(CpuScheduler::Svr4, 1), two(), MS);
    // Each has 61, 74 and 88 ms, then 100 ms each time: the rest of 2 s are 18.
    assert_eq!(run.report.context_switches, 2 * (3 + 18));
}

#[test]
fn under_fair_two_computing_processes_share_to_within_a_latency() {
    let two = vec![task("a", computes(500)), task("b", computes(500))];
    let run = run(of(CpuScheduler::Fair, 1), two, MS);
    let [first, last] = &run.report.tasks[..] else { panic!("two tasks") };
    assert!((last.elapsed_s - 1.0).abs() < 1e-9);
    assert!(first.elapsed_s >= 1.0 - 0.006, "{} s", first.elapsed_s);
    let turns = run.report.context_switches;
    assert!((330..=336).contains(&turns), "turns of 3 ms: {turns}");
}

#[test]
fn under_fair_a_woken_process_has_its_credit_and_no_more() {
    let nap = || ProgramEvent::after(Nanos::ZERO, Call::Nap(ms(200)));
    let ends = |events: Vec<ProgramEvent>| {
        let both = vec![task("sleeper", events), task("computes", computes(400))];
        named(&run(of(CpuScheduler::Fair, 1), both, MS), "sleeper").elapsed_s
    };
    // It pre-empts, and runs for its credit of 3 ms and a share of 3 ms at most.
    assert_eq!(ends(vec![nap(), ProgramEvent::after(ms(2), Call::Exit)]), 0.202, "not starved");
    let long = ends(vec![nap(), ProgramEvent::after(ms(50), Call::Exit)]) - 0.2;
    assert!((0.100 - 0.009..=0.100).contains(&long), "half of the CPU: {long} s");
}

#[test]
fn under_fair_an_idle_cpu_pulls_from_another() {
    // Two processes on each of two CPUs. One CPU has finished both of its own after 20 ms.
    let all = [("a", 100), ("b", 10), ("c", 100), ("d", 10)].map(|(name, n)| task(name, computes(n)));
    let run = run(of(CpuScheduler::Fair, 2), all.into(), MS);
    assert!(run.end <= ms(114), "220 ms on two CPUs in {}", run.end);
}

/// How long a reader waits for the CPU when its request completes during another process' system call of 20 ms.
fn waits_for_system_call(settings: HostSettings) -> f64 {
    let costs = Costs { syscall_us: 20_000.0, ..Costs::FREE };
    // The reader's system call lasts until 20 ms, its request until 25 ms; the other's system call lasts from 21 to 41 ms.
    let reader = vec![ProgramEvent::after(Nanos::ZERO, read(1)), ProgramEvent::after(MS, Call::Exit)];
    let other =
        vec![ProgramEvent::after(MS, Call::Wakeup { key: 1, all: true }), ProgramEvent::after(ms(50), Call::Exit)];
    let both = vec![task("reader", reader), task("other", other)];
    named(&run(HostSettings { costs, ..settings }, both, ms(5)), "reader").runnable_s
}

#[test]
fn code_of_the_kernel_is_preempted_only_where_it_may_be() {
    // No turn ends by itself.
    let fair = FairSettings { latency: ms(1000), ..FairSettings::of(1) };
    for settings in [
        of(CpuScheduler::Svr4, 1),
        HostSettings { io_preempts: true, ..of(CpuScheduler::RoundRobin, 1) },
        HostSettings { io_preempts: true, fair, ..of(CpuScheduler::Fair, 1) },
    ] {
        let scheduler = settings.scheduler;
        let waits = |kernel_preemption| waits_for_system_call(HostSettings { kernel_preemption, ..settings.clone() });
        assert_eq!((waits(true), waits(false)), (0.0, 0.016), "{scheduler:?}");
    }
}

#[test]
fn a_child_that_goes_first_takes_its_parents_place() {
    for scheduler in CpuScheduler::ALL {
        let program = Script::new(computes(5)).into();
        let child = Child { number: 1, name: "child".into(), program, first: true, holds_parent: false, is_task: true };
        let parent = vec![ProgramEvent::after(MS, Call::Fork(child)), ProgramEvent::after(ms(20), Call::Exit)];
        let fair = FairSettings { latency: ms(1000), ..FairSettings::of(1) };
        let settings = HostSettings { fair, ..of(scheduler, 1) };
        let run = run(settings, vec![task("parent", parent), task("other", computes(50))], MS);
        let child = named(&run, "child");
        assert_eq!((child.elapsed_s, child.runnable_s), (0.005, 0.0), "{scheduler:?}: before its parent and the other");
    }
}

#[test]
fn a_quantum_that_ends_in_kernel_code_ends_after_it() {
    let costs = Costs { syscall_us: 20_000.0, ..Costs::FREE };
    // The quantum ends at 100 ms; the system call lasts from 90 to 110 ms.
    let caller =
        vec![ProgramEvent::after(ms(90), Call::Wakeup { key: 1, all: true }), ProgramEvent::after(ms(100), Call::Exit)];
    let first_turn = |kernel_preemption| {
        let settings = HostSettings { costs: costs.clone(), kernel_preemption, ..of(CpuScheduler::RoundRobin, 1) };
        let both = vec![task("caller", caller.clone()), task("other", computes(10))];
        named(&run(settings, both, MS), "other").runnable_s
    };
    assert_eq!((first_turn(true), first_turn(false)), (0.100, 0.110));
}

#[test]
fn with_an_idle_process_resuming_costs_a_switch() {
    let falsely = |idle_loop| {
        let costs = Costs { switch_us: 20.0, block_us: 15.0, refill_us: 10.0, ..Costs::FREE };
        let settings = HostSettings { costs, idle_loop, ..HostSettings::free(1) };
        let run = run(settings, vec![task("a", reads(1, MS))], ms(5));
        (run.report.context_switches, (1e6 * run.report.times.false_computation_s).round())
    };
    assert_eq!(falsely(IdleLoop::Last), (1, 15.0));
    assert_eq!(falsely(IdleLoop::Process), (2, 15.0 + 20.0 + 10.0));
}

#[test]
fn interrupts_are_handled_by_the_configured_cpu() {
    let delayed = |interrupt_cpu| {
        let costs = Costs { irq_us: 1000.0, ..Costs::FREE };
        let settings = HostSettings { costs, interrupt_cpu, ..HostSettings::free(2) };
        // The first CPU computes, the second issues ten requests.
        let both = vec![task("computes", computes(100)), task("reads", reads(10, MS))];
        (1e3 * named(&run(settings, both, MS), "computes").elapsed_s).round() - 100.0
    };
    let all = [InterruptCpu::First, InterruptCpu::RoundRobin, InterruptCpu::Issuer];
    assert_eq!(all.map(delayed), [10.0, 5.0, 0.0]);
}
