//! In the steady state, a request allocates nothing.

use iopilot_block::{Arrival, Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, SourceHandle};
use iopilot_redcap::{PartTimes, Redcap, RedcapAction, RedcapSpec};
use rand::{Rng, SeedableRng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: the system's allocator does all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads and writes at random, each done before the next.
fn run(
    cache: &mut Redcap,
    requests: u64,
    rng: &mut rand_pcg::Pcg64Mcg,
    buffers: &mut [Vec<RedcapAction>; 2],
    now: &mut u64,
) {
    let [out, again] = buffers;
    for handle in 0..requests {
        let op = if rng.random_range(0..8) == 0 { Op::Write } else { Op::Read };
        *now += 1_000;
        let io = Arrival {
            handle: SourceHandle(handle),
            op,
            lba: Lba(rng.random_range(0..100_000)),
            sectors: Sectors(rng.random_range(1..300)),
            flags: Flags::empty(),
            process: ProcessId(1),
            priority: IoPriority::default(),
            criticality: Criticality::default(),
            cpu: 0,
        };
        cache.submit(&io, Nanos(*now), out);
        while !out.is_empty() {
            std::mem::swap(out, again);
            for action in again.drain(..) {
                match action {
                    RedcapAction::Send(part) => {
                        let (dispatched, completed) = (Nanos(*now), Nanos(*now + 500));
                        let times = PartTimes { inserted: dispatched, dispatched, completed, merged: Sectors(0) };
                        cache.served(part.id, times, out);
                    }
                    RedcapAction::Copy { copy, .. } => cache.copied(copy, Nanos(*now), out),
                    RedcapAction::Done { .. } | RedcapAction::Raise { .. } => {}
                }
            }
        }
    }
}

#[test]
fn requests_allocate_nothing_in_the_steady_state() {
    for algorithm in ["always", "v1", "v2", "never"] {
        for miss in ["split", "combined"] {
            let spec = RedcapSpec::parse(&format!("64x64k,algorithm={algorithm},miss={miss}")).unwrap();
            let mut cache = Redcap::new(&spec, 200_000).unwrap();
            if algorithm == "always" {
                // Prefetches wait.
                cache.set_queue_limit(1);
            }
            let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
            let (mut buffers, mut now) = ([const { Vec::new() }; 2], 0);
            buffers.iter_mut().for_each(|buffer| buffer.reserve(1_000));
            // Up to the most checks that are kept.
            run(&mut cache, 1_000_000, &mut rng, &mut buffers, &mut now);
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            run(&mut cache, 100_000, &mut rng, &mut buffers, &mut now);
            assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "{spec}");
        }
    }
}
