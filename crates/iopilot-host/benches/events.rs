//! Events of a host per second on one core, above a device that takes 5 ms for each request.
//!
//! Criterion's `elem/s` is the figure of `docs/lab/speed.md`. An event is one of a program, a completed request, or a change
//! from one process to another.
#![allow(missing_docs)] // of what criterion's macros make

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Criticality, Flags, HostReport, Lba, Nanos, Op, Sectors, Source, SourceHandle, Step};
use iopilot_host::{
    Call, Child, FileCall, FileId, FileKind, FileSetup, FileSystem, Host, HostEnd, HostSettings, Preset, ProgramEvent,
    RawIo, Script, TaskSpec, Ufs, UfsSettings,
};
use std::collections::VecDeque;
use std::time::Duration;

const SERVICE: Nanos = Nanos::from_millis(5);
/// Sectors of the disk: 1 GiB.
const CAPACITY: u64 = 1 << 21;
const DIRECTORIES: u32 = 100;
const FILES_EACH: u32 = 20;
/// On average, a file of the kernel's sources (GF 2.5.2).
const FILE_BYTES: u64 = 12_000;
const RAW_REQUESTS: u64 = 20_000;

fn event(call: Call) -> ProgramEvent {
    ProgramEvent { compute: Nanos::from_micros(100), call }
}

fn host(programs: Vec<Vec<ProgramEvent>>) -> Host {
    let task = |events| TaskSpec {
        name: "task".into(),
        program: Script::new(events).into(),
        start: Nanos::ZERO,
        is_task: true,
    };
    let tasks = programs.into_iter().map(task).collect();
    Host::new(HostSettings::of(Preset::Y1995, 1), tasks, &[], HostEnd::NEVER).expect("the settings are sound")
}

/// `find -exec cat` over a tree that is not in the cache, one child a file (GF 2.5.2, LKR), and how many events its programs
/// have.
fn find_and_cat() -> (Host, u64) {
    let mut ufs = Ufs::new(UfsSettings::default(), CAPACITY).expect("the disk is large enough");
    let (mut events, mut next, mut of_children) = (Vec::new(), FileId::ROOT.0, 0);
    let mut create = |parent: FileId, kind: FileKind, bytes: u64| {
        next += 1;
        let file = FileId(next);
        ufs.create(parent, file, kind, &mut Vec::new()).expect("there is room");
        if bytes > 0 {
            ufs.write(file, bytes, &mut Vec::new()).expect("there is room");
        }
        file
    };
    for _ in 0..DIRECTORIES {
        let directory = create(FileId::ROOT, FileKind::Directory, 0);
        events.extend([FileCall::Open(directory), FileCall::ReadDir(directory)].map(|call| event(Call::File(call))));
        for _ in 0..FILES_EACH {
            let file = create(directory, FileKind::Regular, FILE_BYTES);
            let read = |offset| FileCall::Read { file, offset, bytes: 1 << 15 };
            // The last read finds the end.
            let cat = [FileCall::Open(file), read(0), read(FILE_BYTES)].map(|call| event(Call::File(call)));
            of_children += cat.len() as u64 + 1;
            let number = u64::from(file.0);
            let program = Script::new(cat).into();
            let child = Child { number, name: "cat".into(), program, first: true, holds_parent: false, is_task: false };
            events.extend([Call::Fork(child), Call::Wait(Some(number))].map(event));
        }
    }
    let count = events.len() as u64 + 1 + of_children;
    let host = host(vec![events]);
    let cache = HostSettings::of(Preset::Y1995, 1).cache;
    let setup = FileSetup { system: Box::new(ufs), cache, cached: Vec::new() };
    (host.with_files(setup).expect("the settings are sound"), count)
}

/// Four processes that send requests to the driver, compute meanwhile and wait for them, and how many events they have.
fn raw_requests() -> (Host, u64) {
    let program = |process: u64| {
        let request = move |number: u64| {
            let lba = Lba((number * 4 + process) * 8);
            let (op, sectors, flags, class) = (Op::Read, Sectors(8), Flags::empty(), Criticality::TimeLimited);
            let io = Call::Io(RawIo { number, op, lba, sectors, flags, class });
            [io, Call::Compute, Call::Await(number)].map(event)
        };
        (0..RAW_REQUESTS / 4).flat_map(request).collect()
    };
    (host((0..4).map(program).collect()), 3 * RAW_REQUESTS + 4)
}

/// Runs to the end above a device that serves one request after the other, and how many it served.
fn run(mut host: Host) -> (HostReport, u64) {
    let mut queue: VecDeque<(Nanos, SourceHandle)> = VecDeque::new();
    let (mut steps, mut free, mut served) = (Vec::new(), Nanos::ZERO, 0);
    loop {
        let done = queue.front().map(|&(at, _)| at);
        let Some(now) = host.next_event().into_iter().chain(done).min() else { break };
        if done == Some(now) {
            if let Some((_, handle)) = queue.pop_front() {
                host.completed(handle, now);
                served += 1;
            }
            continue;
        }
        host.advance(now, &mut steps);
        for step in steps.drain(..) {
            if let Step::Request(arrival) = step {
                free = free.max(now) + SERVICE;
                queue.push_back((free, arrival.handle));
            }
        }
    }
    let report = host.host_report().unwrap_or_default();
    (report, served)
}

fn events(c: &mut Criterion) {
    let mut group = c.benchmark_group("host-events");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for (name, (host, of_programs)) in [("find-and-cat", find_and_cat()), ("raw-requests", raw_requests())] {
        assert!(host.failure().is_none(), "every process can go on");
        let (report, served) = run(host.clone());
        group.throughput(Throughput::Elements(of_programs + served + report.context_switches));
        group.bench_function(name, |b| b.iter_batched(|| host.clone(), run, BatchSize::LargeInput));
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
