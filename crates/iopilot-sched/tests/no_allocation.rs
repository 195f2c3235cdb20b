//! In the steady state no scheduler allocates per request: its memory grows to the largest number of requests and
//! processes at one time.

mod common;

use iopilot_block::{Criticality, Flags, Lba, Nanos, Op, ProcessId, Request, Requests, Sectors};
use iopilot_sched::{Dispatch, Environment, MergeLimits, SCHEDULERS, Scheduler, SchedulerSpec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::VecDeque;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all calls go to the system's allocator. The counter is a plain thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Keeps 32 requests queued, `device` of them at the device, for `n` requests of `processes` that come and go.
fn run(
    scheduler: &mut impl Scheduler,
    rqs: &mut Requests,
    device: &mut VecDeque<iopilot_block::RequestId>,
    now: &mut Nanos,
    n: u64,
) {
    let limits = MergeLimits::default();
    let mut seed = 1u64;
    for i in 0..n {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lba = (seed >> 40) % 60_000;
        let process = ProcessId((i / 7 % 12) as u32);
        let op = if seed >> 63 == 0 { Op::Read } else { Op::Write };
        let mut rq = Request::new(op, Lba(lba), Sectors(8), process);
        rq.flags.set(Flags::SYNC, seed >> 62 & 1 == 0);
        rq.criticality = if op == Op::Read { Criticality::TimeCritical } else { Criticality::TimeNonCritical };
        (rq.arrived, rq.inserted) = (*now, *now);
        let id = rqs.insert(rq);
        if scheduler.try_merge(rqs, id, &limits, *now).is_none() {
            scheduler.insert(rqs, id, *now);
        }
        if i % 97 == 0 {
            scheduler.process_exited(process, *now);
        }
        *now += Nanos::from_micros(500);
        while scheduler.queued() > 32 || (device.is_empty() && scheduler.queued() > 0) {
            match scheduler.dispatch_at(rqs, *now, Some(&common::Disk::default())) {
                Dispatch::Request(id) => {
                    rqs[id].issued = *now;
                    device.push_back(id);
                }
                Dispatch::WaitUntil(at) if device.is_empty() => {
                    *now = at;
                    continue;
                }
                _ => {}
            }
            if device.len() < 4 && scheduler.queued() <= 32 {
                break;
            }
            *now += Nanos::from_millis(1);
            let Some(done) = device.pop_front() else { continue };
            scheduler.completed(rqs, done, *now);
            assert_eq!(scheduler.collapsed(), None, "nothing collapses here");
            let mut next = Some(done);
            while let Some(part) = next {
                next = rqs.next_part(part);
                rqs.remove(part);
            }
        }
    }
}

/// The policies that are no scheduler's default, and the schemes.
fn queues() -> impl Iterator<Item = SchedulerSpec> {
    let policies = (1..=28).map(|policy| format!("ioqueue:policy={policy}"));
    let schemes = "ioqueue:priorities=1:timeout_scheme=2:timeout=3:stream_scheme=31:max_concat=64".to_owned();
    policies.chain([schemes]).map(|text| SchedulerSpec::parse(&text).expect("a known scheduler"))
}

#[test]
fn schedulers_do_not_allocate_in_the_steady_state() {
    let common = SchedulerSpec::all().into_iter().map(|spec| (spec, 20_000));
    // Fewer for the queues, as some of their policies are slow.
    let others = SchedulerSpec::positional().into_iter().chain(queues()).map(|spec| (spec, 2_000));
    let prio = SchedulerSpec::parse_list("prio(all):aging_ms=20").expect("a list").into_iter();
    let prio = prio.map(|spec| (spec, 10_000));
    for (spec, requests) in common.chain(others).chain(prio) {
        let mut scheduler = spec.build(&Environment { cpus: 2, ..Environment::default() }).expect("defaults are valid");
        let (mut rqs, mut device, mut now) = (Requests::new(), VecDeque::new(), Nanos::ZERO);
        run(&mut scheduler, &mut rqs, &mut device, &mut now, 2 * requests);
        let before = ALLOCATIONS.with(Cell::get);
        run(&mut scheduler, &mut rqs, &mut device, &mut now, requests);
        let after = ALLOCATIONS.with(Cell::get);
        // A list may grow once more. An allocation per request, or per fifty requests, is an error.
        assert!(after - before < 20, "{} allocated {} times in {requests} requests", spec, after - before);
    }
    assert!(SCHEDULERS.len() > 10);
}
