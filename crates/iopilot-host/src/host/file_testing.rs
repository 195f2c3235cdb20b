//! A host with files above a disk with known times, for tests.

use super::Host;
use super::tests::assert_adds_up;
use crate::*;
use iopilot_block::{Arrival, Criticality, EventQueue, HostReport, Lba, Nanos, Op, Source, Step};

pub(super) const FILE: FileId = FileId(10);
pub(super) const OTHER: FileId = FileId(11);

/// A request as the disk saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Served {
    pub(super) issued: Nanos,
    pub(super) completed: Nanos,
    pub(super) op: Op,
    pub(super) lba: Lba,
    pub(super) class: Criticality,
}

#[derive(Debug, PartialEq)]
pub(super) struct Run {
    pub(super) report: HostReport,
    pub(super) served: Vec<Served>,
    pub(super) failure: Option<String>,
    /// Requests for which a process began to wait after the issue.
    pub(super) waited_for: usize,
    /// Pages that are not on the disk at the end.
    pub(super) unsaved: u32,
}

/// A disk of 1 GiB with a file of `bytes`.
pub(super) fn disk(bytes: u64) -> Ufs {
    let mut ufs = Ufs::new(UfsSettings::default(), 1 << 21).unwrap();
    ufs.create(FileId::ROOT, FILE, FileKind::Regular, &mut Vec::new()).unwrap();
    ufs.write(FILE, bytes, &mut Vec::new()).unwrap();
    ufs
}

/// Runs scripts on a disk that serves one request after the other, each in `service`.
pub(super) fn run(settings: HostSettings, ufs: Ufs, scripts: Vec<Vec<ProgramEvent>>, service: Nanos) -> Run {
    let mut free = Nanos::ZERO;
    run_on(settings, ufs, scripts, |_, now| {
        free = free.max(now) + service;
        free
    })
}

/// Runs scripts on a disk; `end` gives the completion time of a request, by its class and issue time.
pub(super) fn run_on(
    settings: HostSettings,
    ufs: Ufs,
    scripts: Vec<Vec<ProgramEvent>>,
    end: impl FnMut(Criticality, Nanos) -> Nanos,
) -> Run {
    run_host(&mut host(settings, ufs, scripts), end, |_, _| {})
}

/// A host that runs scripts, each a task.
pub(super) fn host(settings: HostSettings, ufs: Ufs, scripts: Vec<Vec<ProgramEvent>>) -> Host {
    let task = |events| TaskSpec {
        name: "task".into(),
        program: Script::new(events).into(),
        start: Nanos::ZERO,
        is_task: true,
    };
    let setup = FileSetup { system: Box::new(ufs), cache: settings.cache, cached: Vec::new() };
    let host = Host::new(settings, scripts.into_iter().map(task).collect(), &[], HostEnd::NEVER).unwrap();
    host.with_files(setup).unwrap()
}

/// Runs a host; `check` sees each request as it is issued.
pub(super) fn run_host(
    host: &mut Host,
    end: impl FnMut(Criticality, Nanos) -> Nanos,
    check: impl FnMut(&Host, &Arrival),
) -> Run {
    run_host_with(host, end, check, |_, _| {})
}

/// The same; `before` sees the host before anything happens at a time.
pub(super) fn run_host_with(
    host: &mut Host,
    mut end: impl FnMut(Criticality, Nanos) -> Nanos,
    mut check: impl FnMut(&Host, &Arrival),
    mut before: impl FnMut(&mut Host, Nanos),
) -> Run {
    let (mut queue, mut served, mut waited_for) = (EventQueue::new(), Vec::new(), 0);
    let (mut steps, mut now) = (Vec::new(), Nanos::ZERO);
    loop {
        let next = [host.next_event(), queue.next_time()].into_iter().flatten().min();
        let Some(at) = next else { break };
        assert!(at >= now, "time never goes back");
        now = at;
        before(host, now);
        while let Some(due) = queue.pop_due(now) {
            host.completed(due.event, now);
        }
        host.advance(now, &mut steps);
        for step in steps.drain(..) {
            match step {
                Step::Request(arrival) => {
                    check(host, &arrival);
                    let completed = end(arrival.criticality, now);
                    queue.push(completed, arrival.handle);
                    let (op, lba, class) = (arrival.op, arrival.lba, arrival.criticality);
                    served.push(Served { issued: now, completed, op, lba, class });
                }
                Step::Waits(_) => waited_for += 1,
                Step::Start { .. } | Step::Exit(_) => {}
            }
        }
    }
    let failure = host.failure().map(|e| e.to_string());
    let unsaved = host.files.as_ref().map_or(0, |files| files.cache.unsaved());
    let report = host.host_report().unwrap();
    assert_adds_up(host, &report);
    Run { report, served, failure, waited_for, unsaved }
}

pub(super) fn file(call: FileCall) -> ProgramEvent {
    ProgramEvent::after(Nanos::ZERO, Call::File(call))
}
