//! Tests of external interrupts, initial states, pinned processes, and daemons.

mod stuck;

use super::*;
use crate::costs::{Costs, Preset};
use crate::external::{AnyArrivals, Arrivals, ExternalInterrupts, InterruptEffect};
use crate::names::WorkloadNames;
use crate::program::{AnyProgram, Call, Child, Program, ProgramEvent};
use iopilot_block::{HostReport, HostTimes, Source};
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: Nanos = Nanos::from_millis(1);
const DOOR: Key = 1;
const QUEUE: Key = 2;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// Interrupts at these times.
#[derive(Clone, Debug)]
struct List(VecDeque<Nanos>);

impl Arrivals for List {
    fn next(&mut self) -> Option<Nanos> {
        self.0.pop_front()
    }

    fn boxed(&self) -> Box<dyn Arrivals> {
        Box::new(self.clone())
    }
}

/// Interrupts with a fixed period, forever.
#[derive(Clone, Debug)]
struct Endless(Nanos, Nanos);

impl Arrivals for Endless {
    fn next(&mut self) -> Option<Nanos> {
        self.1 += self.0;
        Some(self.1)
    }

    fn boxed(&self) -> Box<dyn Arrivals> {
        Box::new(self.clone())
    }
}

/// A list of events, repeated forever.
#[derive(Clone, Debug)]
struct Round(Vec<ProgramEvent>, usize);

impl Program for Round {
    fn next(&mut self) -> ProgramEvent {
        self.1 += 1;
        self.0[(self.1 - 1) % self.0.len()].clone()
    }

    fn boxed(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

fn external(at: &[u64], handler: Nanos, effect: InterruptEffect) -> ExternalInterrupts {
    ExternalInterrupts {
        name: "network".into(),
        arrivals: AnyArrivals::new(List(at.iter().map(|&at| ms(at)).collect())),
        is_endless: false,
        cpu: 0,
        handler,
        effect,
        is_task: false,
    }
}

fn task(name: &str, events: Vec<ProgramEvent>) -> TaskSpec {
    TaskSpec { name: name.into(), program: Script::new(events).into(), start: Nanos::ZERO, is_task: true }
}

fn daemon(name: &str, events: Vec<ProgramEvent>) -> TaskSpec {
    let program = AnyProgram::new(Round(events, 0));
    TaskSpec { name: name.into(), program, start: Nanos::ZERO, is_task: false }
}

const DAEMON: Placement = Placement { cpu: None, state: InitialState::New, is_daemon: true };

fn after(time: u64, call: Call) -> ProgramEvent {
    ProgramEvent::after(ms(time), call)
}

fn computes(time: u64) -> Vec<ProgramEvent> {
    vec![after(time, Call::Exit)]
}

struct Run {
    report: HostReport,
    failure: Option<String>,
    end: Nanos,
}

impl Run {
    fn elapsed(&self) -> Vec<(&str, f64)> {
        self.report.tasks.iter().map(|task| (&*task.name, task.elapsed_s)).collect()
    }
}

/// Runs the tasks to the end, without a disk.
fn run(settings: HostSettings, tasks: Vec<(TaskSpec, Placement)>, externals: Vec<ExternalInterrupts>) -> Run {
    let (tasks, placements): (Vec<_>, Vec<_>) = tasks.into_iter().unzip();
    let mut host = Host::new(settings, tasks, &[(QUEUE, 4)], HostEnd::NEVER).unwrap();
    host.set_names(WorkloadNames::new("w.toml", vec![(DOOR, "door".into()), (QUEUE, "queue".into())], Vec::new()));
    for (p, placement) in placements.into_iter().enumerate() {
        host.place_process(p, placement).unwrap();
    }
    for external in externals {
        host.add_external(external).unwrap();
    }
    let (mut steps, mut now) = (Vec::new(), Nanos::ZERO);
    while let Some(at) = host.next_event() {
        assert!(at >= now, "time goes back");
        now = at;
        host.advance(now, &mut steps);
        assert!(host.next_event().is_none_or(|next| next > now), "not everything due was done");
        assert!(now < Nanos::from_secs(1000), "it does not end");
    }
    let failure = host.failure().map(|e| e.to_string());
    Run { report: host.report(), failure, end: now }
}

fn plain(tasks: Vec<TaskSpec>) -> Vec<(TaskSpec, Placement)> {
    tasks.into_iter().map(|task| (task, Placement::default())).collect()
}

fn sum(times: HostTimes) -> f64 {
    times.computation_s + times.other_s + times.false_computation_s + times.false_idle_s + times.idle_s
}

#[test]
fn interrupts_delay_the_computing_process() {
    let wakes = InterruptEffect::Wakeup { key: DOOR, all: true };
    let interrupts = external(&[2, 5, 9], MS, wakes);
    let run = run(HostSettings::free(1), plain(vec![task("a", computes(10))]), vec![interrupts]);
    // 10 ms of computation, and three handlers of 1 ms within it.
    assert_eq!((run.end, run.elapsed()), (ms(13), vec![("a", 0.013)]));
    let times = run.report.tasks[0].times;
    assert_eq!((times.computation_s, times.other_s), (0.010, 0.003));
    assert_eq!((run.report.external_interrupts, run.report.external_lost), (Some(3), None));
    assert_eq!(run.report.interrupts, 0, "those of requests are others");
}

#[test]
fn a_faster_cpu_handles_them_faster_and_another_one_not_at_all() {
    let interrupts = || external(&[1, 2], MS, InterruptEffect::Wakeup { key: DOOR, all: false });
    let fast = HostSettings { speed: 4.0, ..HostSettings::free(1) };
    assert_eq!(run(fast, plain(vec![task("a", computes(40))]), vec![interrupts()]).end, Nanos(10_500_000));
    let elsewhere = ExternalInterrupts { cpu: 1, ..interrupts() };
    let two = run(HostSettings::free(2), plain(vec![task("a", computes(10))]), vec![elsewhere]);
    assert_eq!(two.elapsed(), [("a", 0.010)]);
    assert!((two.report.times.other_s - 0.002).abs() < 1e-12, "{:?}", two.report);
}

#[test]
fn handlers_run_one_after_the_other() {
    // The second and the third interrupt come while the first is handled. The handlers end at 4, 7 and 10 ms; then the server
    // runs.
    let brings = InterruptEffect::Put { channel: QUEUE, bytes: 1 };
    let interrupts = ExternalInterrupts { is_task: true, ..external(&[1, 2, 3], ms(3), brings) };
    let get = || after(0, Call::Get { channel: QUEUE, bytes: 1 });
    let answer = || after(0, Call::Answer(QUEUE));
    let server = task("server", vec![get(), answer(), get(), answer(), get(), answer()]);
    let run = run(HostSettings::free(1), plain(vec![server]), vec![interrupts]);
    assert_eq!(run.elapsed(), [("network", 0.009), ("network", 0.008), ("network", 0.007), ("server", 0.010)]);
}

#[test]
fn a_flood_of_interrupts_is_handled() {
    let flood = external(&vec![1; 200_000], Nanos(1000), InterruptEffect::Nothing);
    let run = run(HostSettings::free(1), plain(vec![task("a", computes(2))]), vec![flood]);
    assert_eq!((run.end, run.report.external_interrupts), (ms(202), Some(200_000)));
}

#[test]
fn a_task_of_an_interrupt_lasts_from_its_arrival_to_its_answer() {
    let brings = InterruptEffect::Put { channel: QUEUE, bytes: 1 };
    let interrupts = ExternalInterrupts { is_task: true, ..external(&[10, 11], MS, brings) };
    let work = vec![
        after(0, Call::Get { channel: QUEUE, bytes: 1 }),
        after(5, Call::Answer(QUEUE)),
        after(2, Call::Compute),
        // Nothing is left to answer.
        after(0, Call::Answer(QUEUE)),
    ];
    let run = run(HostSettings::free(1), vec![(daemon("server", work), DAEMON)], vec![interrupts]);
    assert_eq!(run.failure, None, "a daemon may wait for more");
    // The first handler ends at 11 ms, but the second interrupt comes then. So the server starts at 12, and works until 17.
    // The second message is got at 19 and answered at 24.
    assert_eq!(run.elapsed(), [("network", 0.007), ("network", 0.013)]);
    let second = run.report.tasks[1].times;
    assert_eq!((second.computation_s, second.idle_s), (0.005, 0.0));
    assert!((sum(second) - 0.013).abs() < 1e-12, "all time is accounted for: {second:?}");
    assert_eq!(run.end, ms(26));
}

#[test]
fn bytes_without_room_are_lost() {
    let brings = InterruptEffect::Put { channel: QUEUE, bytes: 2 };
    let interrupts = ExternalInterrupts { is_task: true, ..external(&[1, 2, 3, 4], Nanos::ZERO, brings) };
    let get = |time| after(time, Call::Get { channel: QUEUE, bytes: 2 });
    let server = task("server", vec![get(10), after(0, Call::Answer(QUEUE)), get(0), after(0, Call::Answer(QUEUE))]);
    let run = run(HostSettings::free(1), plain(vec![server]), vec![interrupts]);
    assert_eq!((run.report.external_interrupts, run.report.external_lost), (Some(4), Some(2)));
    // The interrupts at 1 and 2 ms were not lost.
    assert_eq!(run.elapsed(), [("network", 0.009), ("network", 0.008), ("server", 0.010)]);
}

#[test]
fn a_message_got_in_pieces_is_got_with_its_last_byte() {
    let brings = InterruptEffect::Put { channel: QUEUE, bytes: 3 };
    let interrupts = ExternalInterrupts { is_task: true, ..external(&[1], Nanos::ZERO, brings) };
    let get = |bytes| after(1, Call::Get { channel: QUEUE, bytes });
    let events = vec![get(2), after(0, Call::Answer(QUEUE)), get(1), after(4, Call::Answer(QUEUE))];
    let run = run(HostSettings::free(1), plain(vec![task("server", events)]), vec![interrupts]);
    assert_eq!(run.elapsed(), [("network", 0.005), ("server", 0.006)], "at 1, 2 and 6 ms");
}

#[test]
fn an_endless_source_ends_when_all_but_daemons_have_exited() {
    let every = |period| ExternalInterrupts {
        arrivals: AnyArrivals::new(Endless(period, Nanos::ZERO)),
        is_endless: true,
        ..external(&[], Nanos::ZERO, InterruptEffect::Wakeup { key: DOOR, all: true })
    };
    let woken = daemon("woken", vec![after(0, Call::Sleep(DOOR)), after(1, Call::Compute)]);
    let naps = daemon("naps", vec![after(0, Call::Nap(ms(7)))]);
    let tasks = vec![(task("a", computes(20)), Placement::default()), (woken, DAEMON), (naps, DAEMON)];
    let run = run(HostSettings::free(2), tasks, vec![every(ms(3))]);
    assert_eq!((run.failure, run.report.external_interrupts), (None, Some(6)));
    assert_eq!(run.end, ms(20), "a nap of a daemon is no reason to go on");
}

#[test]
fn a_daemon_that_naps_before_it_answers_does_so() {
    let brings = InterruptEffect::Put { channel: QUEUE, bytes: 1 };
    let interrupts = ExternalInterrupts { is_task: true, ..external(&[1], Nanos::ZERO, brings) };
    let work = vec![
        after(0, Call::Get { channel: QUEUE, bytes: 1 }),
        after(0, Call::Nap(ms(8))),
        after(0, Call::Answer(QUEUE)),
    ];
    let run = run(HostSettings::free(1), vec![(daemon("server", work), DAEMON)], vec![interrupts]);
    assert_eq!((run.elapsed(), run.end), (vec![("network", 0.008)], ms(9)));
}

#[test]
fn processes_start_running_runnable_or_asleep() {
    let placed = |state| Placement { state, ..Placement::default() };
    let costs = Costs { switch_us: 1000.0, ..Costs::FREE };
    let tasks = vec![
        (task("runs", computes(4)), placed(InitialState::Running)),
        (task("could", computes(3)), placed(InitialState::Runnable)),
        (task("sleeps", computes(2)), placed(InitialState::Sleeping(DOOR))),
        (
            TaskSpec { start: ms(20), ..task("new", vec![after(1, Call::Wakeup { key: DOOR, all: true })]) },
            placed(InitialState::New),
        ),
    ];
    let run = run(HostSettings { costs, ..HostSettings::free(1) }, tasks, Vec::new());
    // The running process is on the CPU already: no switch. The switch to the runnable process lasts from 4 to 5, and it ends
    // at 8. The switch to the new process lasts from 20 to 21. It wakes the sleeper at 22, and exits: 23 to 25.
    assert_eq!(run.elapsed(), [("runs", 0.004), ("could", 0.008), ("new", 0.002), ("sleeps", 0.025)]);
    assert_eq!((run.report.context_switches, run.failure), (3, None));
}

#[test]
fn a_pinned_process_waits_for_its_cpu() {
    let pinned = |cpu| Placement { cpu: Some(cpu), ..Placement::default() };
    let tasks = || vec![task("a", computes(10)), task("b", computes(10)), task("c", computes(10))];
    let both_on_the_second = || vec![Placement::default(), pinned(1), pinned(1)];
    let placed = |placements: Vec<Placement>| {
        run(HostSettings::free(2), tasks().into_iter().zip(placements).collect(), Vec::new())
    };
    let run = placed(both_on_the_second());
    assert_eq!(run.elapsed(), [("a", 0.010), ("b", 0.010), ("c", 0.020)]);
    assert!((run.report.times.idle_s - 0.010).abs() < 1e-12, "the first CPU is idle while c waits: {:?}", run.report);
    // A process without a pin takes the first idle CPU, although it has run on none.
    let run = placed(vec![pinned(0), pinned(0), Placement::default()]);
    assert_eq!(run.elapsed(), [("a", 0.010), ("c", 0.010), ("b", 0.020)]);
}

#[test]
fn pinned_processes_take_turns_undisturbed_by_others() {
    let pinned = |cpu| Placement { cpu: Some(cpu), ..Placement::default() };
    let settings = HostSettings { quantum: ms(2), ..HostSettings::free(2) };
    let tasks = vec![
        (task("a", computes(4)), pinned(0)),
        (task("b", computes(4)), pinned(0)),
        (task("c", computes(9)), pinned(1)),
    ];
    let run = run(settings, tasks, Vec::new());
    assert_eq!(run.elapsed(), [("a", 0.006), ("b", 0.008), ("c", 0.009)]);
    assert_eq!(run.report.context_switches, 5, "c is never put off its CPU");
}

#[test]
fn a_child_inherits_the_cpu() {
    let program = Script::new(computes(5)).into();
    let child = Child { number: 1, name: "child".into(), program, first: false, holds_parent: false, is_task: true };
    let parent = vec![after(0, Call::Fork(child)), after(5, Call::Exit)];
    let pinned = Placement { cpu: Some(1), ..Placement::default() };
    let run = run(HostSettings::free(2), vec![(task("parent", parent), pinned)], Vec::new());
    assert_eq!(run.elapsed(), [("parent", 0.005), ("child", 0.010)]);
}

#[test]
fn missing_cpus_are_refused() {
    let host = || {
        Host::new(HostSettings::free(2), vec![task("a", computes(1)), task("b", computes(1))], &[], HostEnd::NEVER)
            .unwrap()
    };
    let pinned = Placement { cpu: Some(2), ..Placement::default() };
    let told = host().place_process(0, pinned).unwrap_err().to_string();
    assert_eq!(told, "cpu: got 2, a task on a CPU that is not there, expected a CPU of the machine's: 0 to 1");
    let mut host = host();
    let running = Placement { cpu: Some(1), state: InitialState::Running, is_daemon: false };
    host.place_process(0, running).unwrap();
    assert!(host.place_process(1, running).unwrap_err().to_string().starts_with("state: got running, where all"));
    let elsewhere =
        ExternalInterrupts { cpu: 9, ..external(&[1], MS, InterruptEffect::Wakeup { key: DOOR, all: true }) };
    assert_eq!(
        host.add_external(elsewhere).unwrap_err().to_string(),
        "cpu: got 9, expected a CPU of the machine's: 0 to 1"
    );
}

proptest! {
    /// With interrupts, pins and any initial states, all time is accounted for (asserted at the end of every task and answer).
    /// A second run gives the same results.
    #[test]
    fn all_time_is_accounted_for_with_interrupts(
        arrivals in prop::collection::vec(0u64..60, 0..20),
        (handler, clients) in (0u64..3_000_000, any::<bool>()),
        (cpus, cpu) in (1u16..4, 0u16..4),
        work in prop::collection::vec((0u64..4_000_000, 0u16..4, 0u8..4, any::<bool>()), 1..6),
        preset in prop::sample::select(vec![None, Some(Preset::Y1995), Some(Preset::Today)]),
    ) {
        let mut at = arrivals;
        at.sort_unstable();
        let costs = preset.map_or(Costs::FREE, Costs::of);
        let settings = HostSettings { costs, quantum: MS, ..HostSettings::free(cpus) };
        let effect = InterruptEffect::Put { channel: QUEUE, bytes: 1 };
        let network = ExternalInterrupts { is_task: clients, cpu: cpu % cpus, ..external(&at, Nanos(handler), effect) };
        let tasks = || {
            let mut running = 0;
            let mut tasks: Vec<_> = work.iter().map(|&(compute, own, state, serves)| {
                let compute = Nanos(compute);
                let events = vec![
                    ProgramEvent::after(compute, Call::Get { channel: QUEUE, bytes: 1 }),
                    ProgramEvent::after(compute, Call::Answer(QUEUE)),
                ];
                let task = if serves { daemon("server", events) } else { task("t", vec![ProgramEvent::after(compute, Call::Nap(MS)); 3]) };
                // At most one process starts as running, without a pin.
                running += u32::from(state == 3);
                let is_first = state == 3 && running == 1;
                let state = if is_first { InitialState::Running } else if state == 2 { InitialState::Runnable } else { InitialState::New };
                let cpu = (own < cpus && !is_first).then_some(own);
                (task, Placement { cpu, state, is_daemon: serves })
            }).collect();
            tasks.sort_by_key(|(_, placement)| placement.state != InitialState::Running);
            tasks
        };
        let first = run(settings.clone(), tasks(), vec![network.clone()]);
        prop_assert_eq!(first.failure, None);
        prop_assert_eq!(first.report.external_interrupts, Some(at.len() as u64));
        let all = f64::from(cpus) * first.end.as_secs_f64();
        prop_assert!((sum(first.report.times) - all).abs() < 1e-6, "{:?}", first.report);
        let served = first.report.tasks.iter().filter(|task| &*task.name == "network").count() as u64;
        let has_server = work.iter().any(|&(.., serves)| serves);
        let expected = if clients && has_server { at.len() as u64 - first.report.external_lost.unwrap_or(0) } else { 0 };
        prop_assert_eq!(served, expected, "{:?}", first.report);
        let again = run(settings, tasks(), vec![network]);
        prop_assert_eq!(first.report, again.report);
    }
}
