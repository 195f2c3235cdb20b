//! Random scenarios: arrivals, merges, priorities, exits, tunables, depth.

use super::{Bench, CAPACITY, Event, Io};
use iopilot_block::{Criticality, Flags, Nanos, Op, PriorityClass, ProcessId};
use iopilot_sched::SchedulerInfo;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The random parameters of a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub requests: usize,
    pub depth: usize,
    /// Mean time between arrivals, in microseconds.
    pub gap_us: u64,
    /// How many sectors the requests are spread over.
    pub span: u64,
    pub max_sectors: u32,
    pub nomerges: u8,
    /// Whether a process may begin to wait for a noncritical request.
    pub waits: bool,
}

/// Scenarios from calm to overloaded, from dense (many merges) to sparse.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    let span = prop_oneof![Just(200u64), Just(5_000), Just(CAPACITY - 300)];
    let gap = prop_oneof![Just(10u64), Just(1_000), Just(8_000), Just(30_000)];
    (any::<u64>(), 1usize..200, 1usize..9, gap, span, 16u32..2048, 0u8..3).prop_map(
        |(seed, requests, depth, gap_us, span, max_sectors, nomerges)| Scenario {
            seed,
            requests,
            depth,
            gap_us,
            span,
            max_sectors,
            nomerges,
            waits: true,
        },
    )
}

/// The scheduler with each tunable at its default or anywhere in the useful part of its range.
pub fn random_spec(info: &SchedulerInfo, seed: u64) -> String {
    let mut rng = Pcg64Mcg::seed_from_u64(seed ^ 0x5eed);
    let mut spec = info.name.to_owned();
    for t in info.tunables {
        if rng.random_bool(0.5) {
            continue;
        }
        // A little more than ten times the default: extreme, and still short enough for a test.
        let max = t.max.min(10.0 * t.default + 10.0);
        let value = if rng.random_bool(0.2) { t.min } else { rng.random_range(t.min..=max) };
        let value = if t.integer { value.round().clamp(t.min, max) } else { value };
        spec.push_str(&format!(":{}={value}", t.name));
    }
    spec
}

impl Scenario {
    /// A bench with all arrivals and exits scheduled.
    pub fn bench(&self, spec: &str) -> Bench {
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        let mut bench = Bench::new(spec, self.depth);
        bench.limits.max_sectors = self.max_sectors;
        bench.limits.nomerges = self.nomerges;
        // Criticalities and waits have a generator of their own, so that the requests are the same without them.
        let mut criticality_rng = Pcg64Mcg::seed_from_u64(self.seed ^ 0x3a17);
        let mut now = Nanos::ZERO;
        let mut ends = [0u64; 8];
        for number in 0..self.requests {
            if rng.random_bool(0.7) {
                now += Nanos::from_micros(rng.random_range(0..2 * self.gap_us));
            }
            let process = rng.random_range(1..7u32);
            let sectors = rng.random_range(1..=16u32);
            let lba = match rng.random_range(0..4) {
                0 => ends[process as usize],                                        // after its last request
                1 => ends[process as usize].saturating_sub(u64::from(sectors) + 8), // possibly before it
                _ => rng.random_range(0..self.span),
            };
            ends[process as usize] = lba + u64::from(sectors);
            let mut io = Io::read(process, lba, sectors);
            io.op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Discard][rng.random_range(0..6)];
            for (flag, p) in [(Flags::SYNC, 0.2), (Flags::META, 0.1), (Flags::NO_MERGE, 0.05), (Flags::FUA, 0.02)] {
                if rng.random_bool(p) {
                    io.flags |= flag;
                }
            }
            io.cpu = rng.random_range(0..2);
            // A process rarely changes its priority.
            let draw = if rng.random_bool(0.05) { rng.random_range(0..6) } else { process };
            let class = match draw {
                1 => PriorityClass::RealTime,
                2 => PriorityClass::Idle,
                3 | 4 => PriorityClass::BestEffort,
                _ => PriorityClass::None,
            };
            io = io.class(class, (draw % 8) as u8);
            io.criticality = [Criticality::TimeCritical, Criticality::TimeLimited, Criticality::TimeNonCritical]
                [criticality_rng.random_range(0..3)];
            if self.waits && criticality_rng.random_bool(0.2) {
                let later = Nanos::from_micros(criticality_rng.random_range(0..20 * self.gap_us));
                bench.at(now + later, Event::Wait(number));
            }
            bench.submit(now, io);
            if rng.random_bool(0.02) {
                bench.at(now + Nanos::from_micros(rng.random_range(0..4000)), Event::Exit(ProcessId(process)));
            }
        }
        bench
    }
}
