//! Properties of every policy on any queue.

use super::disk::{CAPACITY, Platters};
use super::*;
use iopilot_block::{Cached, Knowledge};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Arrival {
    gap_us: u64,
    op: Op,
    lba: u64,
    sectors: u32,
    criticality: Criticality,
    cached: Cached,
}

fn arrivals(most: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let lba = prop_oneof![4 => 0..CAPACITY - 100, 2 => 40_000u64..40_300, 1 => (0u64..40).prop_map(|n| 50_000 + 8 * n)];
    let op = prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)];
    let criticality = prop_oneof![
        Just(Criticality::TimeCritical),
        Just(Criticality::TimeLimited),
        Just(Criticality::TimeNonCritical)
    ];
    let cached = prop_oneof![8 => Just(Cached::None), 1 => Just(Cached::Partial), 1 => Just(Cached::Full)];
    let gap = prop_oneof![Just(0u64), 0u64..2_000, 0u64..100_000];
    let one =
        (gap, op, lba, 1u32..30, criticality, cached).prop_map(|(gap_us, op, lba, sectors, criticality, cached)| {
            Arrival { gap_us, op, lba, sectors, criticality, cached }
        });
    prop::collection::vec(one, 1..most)
}

fn policies() -> impl Strategy<Value = IoQueuePolicy> {
    (1u32..=28).prop_map(|number| IoQueuePolicy::from_number(number).expect("1 to 28"))
}

fn configs() -> impl Strategy<Value = IoQueueConfig> {
    let mapping = prop_oneof![
        Just(CylinderMapping::None),
        Just(CylinderMapping::Known(Knowledge::Exact)),
        Just(CylinderMapping::FromRequest),
        (1u64..500).prop_map(CylinderMapping::Average),
    ];
    let timeouts =
        (prop_oneof![Just(TimeoutScheme::Off), Just(TimeoutScheme::Full), Just(TimeoutScheme::HalfAndFull)], 0u64..200);
    let initiation = (0.0..2e6f64, 0.0..2e6f64, any::<bool>());
    let streams = (0u32..32, 0u32..60, 0u32..3);
    let numbers = (0.0..200.0f64, 0.0..1.0f64, 0.0..50.0f64, 0.0..50.0f64);
    ((policies(), policies(), policies()), mapping, timeouts, initiation, streams, numbers, any::<bool>()).prop_map(
        |(
            (policy, timeout_policy, priority_policy),
            mapping,
            (timeout_scheme, timeout),
            initiation,
            streams,
            n,
            priorities,
        )| {
            IoQueueConfig {
                policy,
                mapping,
                read_initiation: initiation.0,
                write_initiation: initiation.1,
                device_initiation: initiation.2,
                age_weight: n.0,
                max_wait: n.0,
                timeout_scheme,
                timeout: Nanos::from_millis(timeout),
                timeout_policy,
                priorities,
                priority_policy,
                streams: StreamScheme::from_bits(streams.0).expect("five bits"),
                max_concat: Sectors(streams.1),
                stream_gap: streams.2,
                capacity: CAPACITY,
                reversal: n.1,
                urgency_percent: n.2,
                slack_percent: n.3,
                ..IoQueueConfig::default()
            }
        },
    )
}

/// A policy's score by its plain rule.
fn score(rig: &Rig, request: &IoRequest, arrived: Nanos) -> f64 {
    let config = rig.queue.config();
    let policy = config.policy;
    let delay = if request.op == Op::Read { config.read_initiation } else { config.write_initiation };
    let at = rig.now + Nanos(delay.round() as u64);
    let access = matches!(policy, IoQueuePolicy::Satf | IoQueuePolicy::Watf | IoQueuePolicy::Asatf);
    let cache = matches!(
        policy,
        IoQueuePolicy::Spctf | IoQueuePolicy::Wpctf | IoQueuePolicy::Aspctf | IoQueuePolicy::PriAspctf
    );
    let time = match rig.disk.cached(request.lba, request.sectors, request.op) {
        Cached::Full if cache => 0.0,
        Cached::Partial if cache => 1e-3,
        _ if access => delay + rig.disk.access(request.lba, request.sectors, request.op, at),
        _ => delay + rig.disk.positioning(request.lba, request.sectors, request.op, at),
    };
    let age = rig.now.since(arrived).0 as f64;
    let (weight, max_wait) = (config.age_weight, config.max_wait * 1e6);
    let ages = request.criticality != Criticality::TimeNonCritical;
    match policy {
        IoQueuePolicy::Wptf | IoQueuePolicy::Wpctf | IoQueuePolicy::Watf if age < max_wait => {
            time * (max_wait - age) / max_wait
        }
        IoQueuePolicy::Wptf | IoQueuePolicy::Wpctf | IoQueuePolicy::Watf => max_wait - age,
        IoQueuePolicy::Asptf | IoQueuePolicy::Aspctf | IoQueuePolicy::Asatf => time - age * weight / 1e3,
        IoQueuePolicy::PriAsptf | IoQueuePolicy::PriAspctf if ages => time - age * weight / 1e3,
        _ => time,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Pruning by seek time and by age finds the same request as visiting every request.
    #[test]
    fn pruning_agrees_with_brute_force(
        arrivals in arrivals(60),
        age_weight in prop_oneof![Just(0.0), Just(6.0), 0.0..300.0f64],
        read_initiation in 0.0..2e6f64,
        write_initiation in 0.0..2e6f64,
        policy in (8u32..=21).prop_filter("by position", |n| !(17..=19).contains(n)),
    ) {
        let policy = IoQueuePolicy::from_number(policy).expect("listed");
        let config = IoQueueConfig {
            age_weight, max_wait: age_weight, read_initiation, write_initiation, ..IoQueueConfig::with_policy(policy)
        };
        let mut rig = Rig::new(config);
        let mut waiting: Vec<(IoRequest, Nanos)> = Vec::new();
        for (i, a) in arrivals.iter().enumerate() {
            rig.now += Nanos::from_micros(a.gap_us);
            let request = rig.request(a.op, a.lba, a.sectors);
            let request = IoRequest { criticality: a.criticality, ..request };
            rig.queue.insert(request, rig.now);
            waiting.push((request, rig.now));
            if a.cached != Cached::None && rig.disk.cached.iter().all(|c| c.0 != request.lba) {
                rig.disk.cached.push((request.lba, a.cached));
            }
            // Three requests arrive for each that is picked. Then all are picked.
            while i % 3 == 2 || i + 1 == arrivals.len() {
                let Some(pick) = rig.pick() else { break };
                let key = |(r, _): &(IoRequest, Nanos)| (Platters::location(r.lba), r.lba, r.id);
                let best = waiting
                    .iter()
                    .min_by(|a, b| score(&rig, &a.0, a.1).total_cmp(&score(&rig, &b.0, b.1)).then(key(a).cmp(&key(b))))
                    .map(|&(r, at)| (r.id, score(&rig, &r, at)))
                    .expect("one was picked");
                let at = waiting.iter().position(|(r, _)| r.id == pick.id).expect("it waits");
                let (request, arrived) = waiting.remove(at);
                prop_assert_eq!((pick.id, score(&rig, &request, arrived)), best);
                rig.now = rig.disk.serve(pick.lba, pick.sectors, pick.op, rig.now);
                rig.queue.completed(pick.id, rig.now, &mut Vec::new());
                if i + 1 < arrivals.len() {
                    break;
                }
            }
        }
        prop_assert!(waiting.is_empty() && rig.queue.is_empty());
    }

    /// With any parameters, each request is picked once, alone or as part of one pick that covers it.
    #[test]
    fn nothing_is_lost_or_picked_twice(arrivals in arrivals(80), config in configs(), depth in 1usize..5) {
        let mut rig = Rig::new(config);
        rig.disk.overhead = [0.3e6, 0.1e6];
        let mut open: Vec<Option<IoRequest>> = Vec::new();
        let mut device: Vec<IoPick> = Vec::new();
        for (i, a) in arrivals.iter().enumerate() {
            rig.now += Nanos::from_micros(a.gap_us);
            let request = rig.request(a.op, a.lba, a.sectors);
            let request = IoRequest { criticality: a.criticality, cylinder: Some(a.sectors), ..request };
            rig.queue.insert(request, rig.now);
            open.push(Some(request));
            if a.cached == Cached::Full {
                rig.queue.raise(request.id);
            }
            let last = i + 1 == arrivals.len();
            while device.len() < depth || last {
                let before = rig.queue.len();
                let Some(pick) = rig.pick() else {
                    prop_assert_eq!(before, 0, "requests wait, and none is picked");
                    break;
                };
                let (mut part, mut end, mut parts) = (Some(pick.id), pick.lba, 0);
                while let Some(id) = part {
                    let request = open[id.index()].expect("it waits");
                    prop_assert!(request.lba >= end && request.op == pick.op);
                    prop_assert!(parts == 0 || request.lba.0 - end.0 <= u64::from(rig.queue.config().stream_gap));
                    (part, end, parts) = (rig.queue.next_part(id), request.end(), parts + 1);
                }
                prop_assert_eq!(end, pick.lba + pick.sectors);
                prop_assert_eq!(rig.queue.len(), before - parts);
                prop_assert!(parts == 1 || pick.sectors <= rig.queue.config().max_concat);
                device.push(pick);
            }
            if i % 2 == 0 || last {
                for pick in device.drain(..) {
                    let mut also = vec![pick.id];
                    rig.now = rig.disk.serve(pick.lba, pick.sectors, pick.op, rig.now);
                    rig.queue.completed(pick.id, rig.now, &mut also);
                    for id in also {
                        prop_assert!(open[id.index()].take().is_some(), "each request completes once");
                    }
                }
            }
        }
        prop_assert!(open.iter().all(Option::is_none));
        prop_assert_eq!((rig.queue.len(), rig.queue.outstanding()), (0, 0));
    }
}
