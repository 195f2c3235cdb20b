//! Properties of every drive under every workload.

use crate::rig::Rig;
use iopilot_block::{Flags, Nanos, Op, RequestId};
use iopilot_catalogue::{
    CacheSpec, DeviceSpec, DiskSpec, GeometrySpec, InterfaceSpec, LayoutSpec, MechanicalSpec, MechanicsSpec,
    PolicySpec, SeekSpec,
};
use iopilot_device::{Completion, Device};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Step {
    wait_us: u64,
    op: Op,
    place: f64,
    near: bool,
    sectors: u32,
    flags: Flags,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let op = prop_oneof![
        6 => Just(Op::Read), 6 => Just(Op::Write), 1 => Just(Op::Flush), 1 => Just(Op::Discard),
    ];
    let flags = prop_oneof![
        8 => Just(Flags::empty()),
        1 => Just(Flags::FUA),
        1 => Just(Flags::PREFLUSH),
        1 => Just(Flags::FUA | Flags::PREFLUSH),
    ];
    let wait = prop_oneof![3 => Just(0u64), 2 => 0u64..300, 1 => 0u64..30_000];
    let step = (wait, op, 0.0..1.0f64, any::<bool>(), 1u32..300, flags)
        .prop_map(|(wait_us, op, place, near, sectors, flags)| Step { wait_us, op, place, near, sectors, flags });
    prop::collection::vec(step, 1..120)
}

fn specs() -> impl Strategy<Value = DiskSpec> {
    let geometry = (1u32..6, 0u8..3, 1u32..40, 1u32..8, 20.0..200.0f64, 0.4..1.0f64, 20_000u64..3_000_000);
    let mechanics = (3000.0..15_000.0f64, 0.0..2.0f64, 0.0..1.0f64, 0.1..3.0f64, 0.34..0.73f64, 1.0..20.0f64);
    let interface = (5.0..600.0f64, 1u32..33, any::<bool>(), any::<bool>(), 0.0..0.5f64);
    let cache = (0u32..12, 0u32..4, 64u64..512, 0u32..128, 0u32..128, any::<bool>(), any::<bool>(), 0.0..5.0f64);
    (geometry, mechanics, interface, cache).prop_map(|(g, m, i, c)| {
        let (heads, layout, band, zones, outer, ratio, capacity) = g;
        let layout = [LayoutSpec::Cylinder, LayoutSpec::Serpentine, LayoutSpec::Banded][usize::from(layout)];
        let (rpm, head_switch, settle, single, share, more) = m;
        let full = single + more;
        let write_segments = c.1.min(c.0);
        let policy = if i.2 { PolicySpec::Sptf } else { PolicySpec::Fifo };
        DiskSpec {
            name: "random".into(),
            model: String::new(),
            sources: Vec::new(),
            provenance: BTreeMap::new(),
            device: DeviceSpec::Mechanical(Box::new(MechanicalSpec {
                geometry: GeometrySpec {
                    capacity_sectors: Some(capacity),
                    heads,
                    layout,
                    band_cylinders: (layout == LayoutSpec::Banded).then_some(band),
                    zones: Some(zones),
                    outer_rate_mb_s: Some(outer),
                    inner_rate_mb_s: Some(outer * ratio),
                    ..GeometrySpec::default()
                },
                mechanics: MechanicsSpec {
                    rotation_rpm: rpm,
                    initial_angle_revolutions: 0.3,
                    head_switch_ms: head_switch,
                    write_settle_ms: settle,
                    seek: SeekSpec {
                        single_cylinder_ms: Some(single),
                        average_ms: Some(single + (full - single) * share),
                        full_stroke_ms: Some(full),
                        ..SeekSpec::default()
                    },
                },
                interface: InterfaceSpec {
                    protocol: None,
                    rate_mb_s: i.0,
                    queue_depth: i.1,
                    queue_policy: policy,
                    age_limit_ms: (i.2 && i.3).then_some(20.0),
                    read_overhead_ms: i.4,
                    hit_overhead_ms: i.4 / 2.0,
                    write_overhead_ms: i.4 / 3.0,
                },
                cache: CacheSpec {
                    size_kib: u64::from(c.0) * c.2 / 2,
                    segments: c.0,
                    write_segments,
                    read_ahead_sequential_sectors: if c.0 == 0 { 0 } else { c.3.min(c.2 as u32 / 2) },
                    read_ahead_random_sectors: if c.0 == 0 { 0 } else { c.4.min(c.2 as u32 / 2) },
                    read_ahead_on_hit: c.5,
                    read_on_arrival: c.6,
                    write_back: write_segments > 0,
                    destage_idle_ms: c.7,
                },
            })),
        }
    })
}

struct Done {
    arrived: Nanos,
    completion: Completion,
}

/// Runs a workload within the queue depth and checks the protocol.
fn run(spec: &DiskSpec, steps: &[Step]) -> Vec<Done> {
    let mut rig = Rig::new(spec);
    let (capacity, depth) = (rig.device.capacity(), rig.device.queue_depth() as usize);
    let mut arrived: BTreeMap<RequestId, Nanos> = BTreeMap::new();
    let mut done = Vec::new();
    let mut last_end = 0;
    let mut latest = Nanos::ZERO;
    let mut collect = |rig: &mut Rig, arrived: &mut BTreeMap<RequestId, Nanos>| {
        for completion in std::mem::take(&mut rig.out) {
            assert!(completion.at <= rig.now && completion.at >= latest, "completions come in order of time");
            latest = completion.at;
            let arrived = arrived.remove(&completion.id).expect("each completes once");
            assert!(completion.at >= arrived);
            done.push(Done { arrived, completion });
        }
    };
    for step in steps {
        rig.wait(Nanos::from_micros(step.wait_us));
        collect(&mut rig, &mut arrived);
        while arrived.len() >= depth {
            assert!(rig.step(), "requests are outstanding and nothing will happen");
            collect(&mut rig, &mut arrived);
        }
        let sectors = if step.op == Op::Flush { 0 } else { u64::from(step.sectors).min(capacity) };
        let lba = if step.near { last_end } else { (step.place * capacity as f64) as u64 };
        let lba = lba.min(capacity - sectors);
        last_end = lba + sectors;
        let id = rig.submit(step.op, lba, sectors as u32, step.flags);
        arrived.insert(id, rig.now);
    }
    rig.settle();
    collect(&mut rig, &mut arrived);
    assert!(arrived.is_empty(), "lost: {arrived:?}");
    assert_eq!(rig.dirty(), 0, "an idle drive writes everything");
    assert_eq!(rig.device.next_event(), None);
    done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_completes_once_and_its_time_is_accounted_for(spec in specs(), steps in steps()) {
        for Done { arrived, completion } in run(&spec, &steps) {
            let s = completion.service;
            let parts = s.seek.0 + s.rotation.0 + s.transfer.0 + s.overhead.0;
            let whole = (completion.at - arrived).0;
            prop_assert!(parts <= whole + 4, "{parts} ns of {whole} ns: {s:?}");
            if s.cache_hit {
                prop_assert_eq!((s.seek, s.rotation, s.cylinders), (Nanos::ZERO, Nanos::ZERO, 0));
            }
        }
    }

    #[test]
    fn the_same_run_twice_is_the_same(spec in specs(), steps in steps()) {
        let list = |done: Vec<Done>| done.into_iter().map(|d| d.completion).collect::<Vec<_>>();
        prop_assert_eq!(list(run(&spec, &steps)), list(run(&spec, &steps)));
    }

    #[test]
    fn alone_on_a_drive_without_cache_a_request_takes_exactly_its_parts(
        spec in specs(),
        places in prop::collection::vec((0.0..1.0f64, 1u32..500, any::<bool>()), 1..20),
    ) {
        let mut spec = spec;
        if let DeviceSpec::Mechanical(m) = &mut spec.device {
            m.cache = CacheSpec::default();
        }
        let mut rig = Rig::new(&spec);
        let capacity = rig.device.capacity();
        for (place, sectors, write) in places {
            let lba = ((place * capacity as f64) as u64).min(capacity - u64::from(sectors));
            let op = if write { Op::Write } else { Op::Read };
            let (c, time) = rig.run(op, lba, sectors, Flags::empty());
            let s = c.service;
            let parts = s.seek.0 + s.rotation.0 + s.transfer.0 + s.overhead.0;
            prop_assert!(parts.abs_diff(time.0) <= 4, "{parts} of {}", time.0);
        }
    }

    #[test]
    fn a_description_survives_toml(spec in specs()) {
        prop_assert_eq!(DiskSpec::from_toml(&spec.to_toml(), "random").unwrap(), spec);
    }
}
