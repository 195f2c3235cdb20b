//! The array as a device: with any failures, each request completes exactly once, and a rebuild ends.

use super::organisations;
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{
    Array, ArrayLayout, ArrayModel, Completion, ConstantDevice, ConstantModel, CopyChoice, Device, DeviceRequest,
    Failure, MappingRules, NvramModel, Organisation, RebuildModel, Redundancy,
};
use iopilot_sched::{IoQueueConfig, IoQueuePolicy};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[derive(Clone, Debug)]
struct Setting {
    organisation: Organisation,
    copy_choice: CopyChoice,
    depth: u32,
    member_depth: u32,
    policy: Option<IoQueuePolicy>,
    nvram: Option<NvramModel>,
    /// When the members that may fail do fail.
    failing: Vec<u64>,
    rebuild: Option<RebuildModel>,
    seed: u64,
}

fn settings() -> impl Strategy<Value = Setting> {
    let copy_choice = prop_oneof![
        Just(CopyChoice::First),
        Just(CopyChoice::RoundRobin),
        Just(CopyChoice::Nearest),
        Just(CopyChoice::ShortestThenNearest),
    ];
    let nvram =
        (1u64..400, 0.0..1.0f64, 0.0..1.0f64, 0u64..20_000, 1u32..5).prop_map(|(sectors, above, to, idle, depth)| {
            NvramModel {
                sectors,
                destage_above: above,
                destage_to: above * to,
                destage_idle: Nanos::from_micros(idle),
                destage_depth: depth,
            }
        });
    let rebuild =
        (0u32..3, prop::option::of(1e5..1e8f64), 1u64..64, 0u64..9000).prop_map(|(spares, rate, chunk, delay)| {
            RebuildModel { spares, rate, chunk, delay: Nanos::from_micros(delay) }
        });
    let failing = prop::collection::vec(prop_oneof![Just(0u64), 0u64..60_000], 0..3);
    let parts = (
        organisations(),
        copy_choice,
        1u32..12,
        1u32..5,
        prop::option::of(prop_oneof![
            Just(IoQueuePolicy::ElevatorLbn),
            Just(IoQueuePolicy::SstfLbn),
            Just(IoQueuePolicy::Fcfs)
        ]),
        prop::option::of(nvram),
        failing,
        prop::option::of(rebuild),
        any::<u64>(),
    );
    parts.prop_map(|(organisation, copy_choice, depth, member_depth, policy, nvram, failing, rebuild, seed)| {
        let rebuild = rebuild.filter(|_| organisation.redundancy != Redundancy::None);
        Setting { organisation, copy_choice, depth, member_depth, policy, nvram, failing, rebuild, seed }
    })
}

/// The array, and how many members will have failed.
fn build(setting: &Setting) -> (Array<ConstantDevice>, usize) {
    let layout = ArrayLayout::new(&setting.organisation).expect("sound");
    let rules = MappingRules { copy_choice: setting.copy_choice, seed: setting.seed, ..MappingRules::default() };
    let mut rng = Pcg64Mcg::seed_from_u64(setting.seed);
    let mut lost = Vec::new();
    let mut failures = Vec::new();
    for &at in &setting.failing {
        let member = rng.random_range(0..layout.members());
        if !lost.contains(&member) && layout.survives(&[&lost[..], &[member]].concat()) {
            lost.push(member);
            failures.push(Failure { member, at: Nanos::from_micros(at) });
        }
    }
    let members = (0..layout.members())
        .map(|_| {
            ConstantDevice::new(ConstantModel {
                capacity: setting.organisation.member_sectors,
                queue_depth: rng.random_range(1..6),
                parallelism: rng.random_range(1..4),
                read_latency: Nanos::from_micros(rng.random_range(0..900)),
                write_latency: Nanos::from_micros(rng.random_range(0..900)),
                read_ns_per_byte: rng.random_range(0.0..20.0),
                write_ns_per_byte: rng.random_range(0.0..20.0),
            })
        })
        .collect();
    let model = ArrayModel {
        queue_depth: setting.depth,
        member_queue_depth: setting.member_depth,
        member_queue: setting.policy.map(IoQueueConfig::with_policy),
        command: Nanos::from_micros(rng.random_range(0..200)),
        bus_ns_per_byte: rng.random_range(0.0..5.0),
        nvram: setting.nvram,
        failures,
        rebuild: setting.rebuild,
        ..ArrayModel::new(layout, rules)
    };
    let count = lost.len();
    (Array::new(model, members, None).expect("sound"), count)
}

/// Sends random requests within the queue depth, to the end; every request completes once and after its submission.
fn run(setting: &Setting, requests: usize) -> (Array<ConstantDevice>, usize, Vec<(Completion, Nanos)>) {
    let (mut array, failed) = build(setting);
    let mut rng = Pcg64Mcg::seed_from_u64(setting.seed ^ 77);
    let capacity = array.capacity();
    let (mut now, mut submitted, mut outstanding) = (Nanos::ZERO, Vec::new(), 0);
    let mut done = Vec::new();
    let mut out = Vec::new();
    loop {
        while outstanding < array.queue_depth() && submitted.len() < requests && rng.random_bool(0.7) {
            let sectors = rng.random_range(1..=40.min(capacity));
            let op = match rng.random_range(0..20) {
                0 => Op::Flush,
                1 => Op::Discard,
                2..=10 => Op::Write,
                _ => Op::Read,
            };
            let flags = if rng.random_bool(0.1) { Flags::PREFLUSH | Flags::FUA } else { Flags::empty() };
            let request = DeviceRequest {
                id: RequestId::from_index(submitted.len()),
                op,
                lba: Lba(rng.random_range(0..=capacity - sectors)),
                sectors: Sectors(if op == Op::Flush { 0 } else { sectors as u32 }),
                flags: if op == Op::Write { flags } else { Flags::empty() },
            };
            array.submit(request, now);
            submitted.push(now);
            outstanding += 1;
        }
        let Some(at) = array.next_event() else {
            if submitted.len() == requests {
                break;
            }
            continue;
        };
        assert!(at >= now, "time goes back");
        now = at;
        array.advance(now, &mut out);
        for completion in out.drain(..) {
            assert!(completion.at <= now && completion.at >= submitted[completion.id.index()]);
            outstanding -= 1;
            done.push((completion, submitted[completion.id.index()]));
        }
    }
    assert_eq!(outstanding, 0, "requests were lost");
    (array, failed, done)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_request_completes_once_whatever_fails(setting in settings()) {
        let (array, failed, done) = run(&setting, 120);
        let mut ids: Vec<_> = done.iter().map(|(c, _)| c.id.index()).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..120).collect::<Vec<_>>());
        prop_assert_eq!(array.dirty_sectors(), 0, "all was destaged in the end");
        // A member with a spare is intact again.
        let spares = array.model().rebuild.map_or(0, |rebuild| rebuild.spares as usize);
        prop_assert_eq!(array.health().lost().count(), failed.saturating_sub(spares));
        prop_assert_eq!(array.rebuilt_at().is_some(), failed.min(spares) > 0);
        for (completion, submitted) in &done {
            // One path through the phases is no longer than the total.
            let s = completion.service;
            let sum = s.seek + s.rotation + s.transfer + s.overhead;
            prop_assert!(sum.0 <= (completion.at - *submitted).0 + 4, "{s:?} in {}", completion.at - *submitted);
        }
    }

    #[test]
    fn a_run_is_a_pure_function_of_its_setting(setting in settings()) {
        let (_, _, first) = run(&setting, 60);
        let (_, _, second) = run(&setting, 60);
        prop_assert_eq!(first, second);
    }
}
