//! Several requests at once, and any combination of parameters.

use super::*;
use iopilot_sched::{IoQueueConfig, IoQueuePolicy, OverlapScheme};
use proptest::prelude::*;

#[test]
fn requests_are_served_in_order_and_the_arm_is_released_by_the_preseeking_level() {
    let ends = |preseek| {
        let mut rig = Rig::new(|m| {
            (m.queue_depth, m.preseek) = (2, preseek);
            m.buffer.segments = 4;
            blocks_cost(m, 0.2);
            m.overheads.read_completion = 3.0 * MS;
        });
        let first = rig.send(Op::Read, 50, 10, 0.0);
        let second = rig.send(Op::Read, 260, 1, 0.0);
        (rig.end(first), rig.end(second))
    };
    // The first: medium until 6.0, bus from 5.1 to 7.1, done at 10.1. The second passes at 9.0, 19.0 ... and takes 2 ms
    // of seek.
    let (first, second) = ends(Preseek::Acknowledged);
    assert_ms!(first, 10.1);
    assert_ms!(second, 19.1 + 0.2 + 3.0);
    // The arm leaves at 6.0; its block, read at 9.1, waits for the bus.
    let (first, second) = ends(Preseek::Media);
    assert_ms!(first, 10.1);
    assert_ms!(second, 10.1 + 0.2 + 3.0);
}

#[test]
fn the_queue_has_its_own_policy() {
    let order = |policy| {
        let mut rig = Rig::new(|m| {
            (m.queue_depth, m.queue) = (8, IoQueueConfig::with_policy(policy));
            m.buffer.segments = 9;
        });
        // First a request on cylinder 0, which keeps the arm busy while the others arrive.
        let mut all = vec![rig.send(Op::Read, 50, 1, 0.0)];
        all.extend([1800, 400, 1000].map(|lba| rig.send(Op::Read, lba, 1, 0.1)));
        let mut ends: Vec<(f64, usize)> = all.into_iter().map(|id| (rig.end(id), id.index())).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.into_iter().map(|(_, i)| i).collect::<Vec<_>>()
    };
    assert_eq!(order(IoQueuePolicy::Fcfs), [0, 1, 2, 3]);
    assert_eq!(order(IoQueuePolicy::SstfLbn), [0, 2, 3, 1]);
    assert_eq!(order(IoQueuePolicy::ElevatorLbn), [0, 2, 3, 1]);
    // At 5.1 on cylinder 0: 400 is there at 7.475 and passes at 16, 1000 at 8.6 and 15, 1800 at 10.1 and 17. At 15.1 on
    // cylinder 5: 400 at 17.85 and 26, 1800 at 18.225 and 27.
    assert_eq!(order(IoQueuePolicy::Sptf), [0, 3, 2, 1]);
}

#[test]
fn a_request_for_the_same_blocks_is_done_with_the_first() {
    let ends = |overlap| {
        let mut rig = Rig::new(|m| {
            (m.queue_depth, m.buffer.caching) = (4, false);
            m.queue = IoQueueConfig { overlap, ..IoQueueConfig::default() };
        });
        let first = rig.send(Op::Read, 50, 5, 0.0);
        let same = rig.send(Op::Read, 50, 5, 0.1);
        (rig.end(first), rig.end(same))
    };
    let (first, same) = ends(OverlapScheme::Off);
    assert!(same > first + 9.0, "{first} {same}");
    let (first, same) = ends(OverlapScheme::AtCompletion);
    assert_ms!(same, first);
}

#[test]
fn shortest_positioning_time_first_is_the_fastest() {
    let mean = |policy| {
        let mut rig = Rig::new(|m| {
            (m.queue_depth, m.queue) = (8, IoQueueConfig::with_policy(policy));
            m.buffer.segments = 9;
        });
        let mut inside: Vec<RequestId> = (0..8).map(|i| rig.send(Op::Read, i * 241 % 2000, 1, 0.0)).collect();
        for i in 8..400u64 {
            let ends: Vec<RequestId> = loop {
                let done: Vec<_> = rig.out.drain(..).map(|c| c.id).collect();
                if !done.is_empty() {
                    break done;
                }
                rig.now = rig.drive.next_event().expect("requests are inside");
                rig.drive.advance(rig.now, &mut rig.out);
            };
            inside.retain(|id| !ends.contains(id));
            let now = rig.now.as_millis_f64();
            inside.push(rig.send(Op::Read, i * 7919 % 2000, 1, now));
        }
        rig.now.as_millis_f64() / 392.0
    };
    let (fcfs, sstf, sptf) = (mean(IoQueuePolicy::Fcfs), mean(IoQueuePolicy::SstfLbn), mean(IoQueuePolicy::Sptf));
    // Seeks are short here: knowing them alone helps little, and knowing the rotation halves the time.
    assert!(sptf < 0.6 * fcfs && sptf < 0.6 * sstf, "{fcfs} {sstf} {sptf}");
}

#[test]
fn slow_writes_in_a_queue_end() {
    let mut rig = Rig::new(|m| m.queue_depth = 8);
    let all: Vec<_> = (0..8).map(|i| rig.send(Op::Write, i * 150, 5, 0.0)).collect();
    let ends: Vec<f64> = all.into_iter().map(|id| rig.end(id)).collect();
    assert!(ends.windows(2).all(|w| w[0] < w[1]), "{ends:?}");
}

prop_compose! {
    fn buffers()(
        segments in 1u32..5, segment_blocks in prop::sample::select(vec![1u32, 7, 32, 150]), write_segments in 1u32..4,
        separate_write_segment: bool, caching: bool, low in 0u8..5, high in 0u8..5, water_by_request: bool, direct: bool,
    ) -> DriveBufferModel {
        let (low_water, high_water) = (f64::from(low) / 4.0, f64::from(high) / 4.0);
        DriveBufferModel {
            segments, segment_blocks, write_segments, separate_write_segment, caching, low_water, high_water,
            water_by_request, direct,
        }
    }
}

prop_compose! {
    fn reads()(
        ahead in prop::sample::select(vec![
            ReadAheadRule::None, ReadAheadRule::Track, ReadAheadRule::Cylinder, ReadAheadRule::Segment, ReadAheadRule::Adaptive,
            ReadAheadRule::WholeTrack,
        ]),
        min_ahead in prop::sample::select(vec![0u32, 5, 60]), max_ahead in prop::sample::select(vec![0u32, 30, 300]),
        keep in prop::sample::select(vec![KeepRequested::Drop, KeepRequested::Keep, KeepRequested::Overwrite]),
        flags in prop::array::uniform10(any::<bool>()),
    ) -> ReadModel {
        let [ahead_on_hit, immediate, free_blocks, stop_in_sector, almost_hits, partial_at_once, sneaky_full,
            sneaky_partial, sneaky_intermediate, hits_on_written] = flags;
        ReadModel {
            ahead, min_ahead, max_ahead, keep, ahead_on_hit, immediate, free_blocks, stop_in_sector, almost_hits,
            partial_at_once, sneaky_full, sneaky_partial, sneaky_intermediate, hits_on_written,
        }
    }
}

prop_compose! {
    fn writes()(
        fast in prop::sample::select(vec![FastWrite::Off, FastWrite::Alone, FastWrite::Always]),
        flags in prop::array::uniform7(any::<bool>()), least in 0u8..4,
    ) -> WriteModel {
        let [immediate, combine, prebuffering, stops_prefetch, waits_for_prefetch, extra, sequential_overhead] =
            flags;
        let extra_disconnect = extra.then_some(ExtraDisconnect {
            command: 0.6 * MS, disconnect: 0.1 * MS, away: MS, second_disconnect: 0.2 * MS, seek_delta: 0.3 * MS,
            buffered_first: [10, 15],
        });
        let min_seek_delay = f64::from(least) * MS;
        WriteModel {
            fast, immediate, combine, prebuffering, sequential_overhead, min_seek_delay, stops_prefetch, waits_for_prefetch,
            extra_disconnect,
        }
    }
}

prop_compose! {
    fn models()(
        buffer in buffers(), read in reads(), write in writes(), never_disconnect: bool, hold_read: bool,
        hold_write: bool, block in prop::sample::select(vec![0.0, 0.03, 0.1, 0.7]),
        preseek in prop::sample::select(vec![Preseek::Acknowledged, Preseek::Sent, Preseek::Media]),
        queue_depth in 1u32..9, policy in 1u32..29, overlap in 0u8..3, overhead in prop::sample::select(vec![0.0, 0.123]),
    ) -> DriveModel {
        let block = block * MS;
        let (either, once) = (After::either(overhead * MS), overhead * MS);
        DriveModel {
            mechanics: mechanics(),
            buffer, read, write,
            bus: BusPolicy {
                never_disconnect, hold_read, hold_write, block_times: BlockTimes { read: block, write: block },
            },
            overheads: Overheads {
                per_request: once, read_hit: either, read_miss: either, write_hit: either, write_miss: either,
                read_completion: once, write_completion: once, data_preparation: once, first_reselect: once,
                other_reselect: once, read_disconnect: either, write_disconnect: once,
            },
            preseek, queue_depth,
            queue: IoQueueConfig {
                overlap: [OverlapScheme::Off, OverlapScheme::AtCompletion, OverlapScheme::AtStart][usize::from(overlap)],
                age_weight: 20.0,
                max_wait: 20.0,
                ..IoQueueConfig::with_policy(IoQueuePolicy::from_number(policy).unwrap_or(IoQueuePolicy::Fcfs))
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn whatever_the_parameters_every_request_ends_once_and_in_order(
        model in models(),
        requests in prop::collection::vec((0u8..8, 0u64..40, 0u64..1800, 1u32..130, 0u32..30_000), 1..40),
    ) {
        let mut drive = SingleDrive::new(model.clone());
        let (mut now, mut out, mut inside) = (Nanos::ZERO, Vec::new(), Vec::new());
        let (mut sent, mut last, mut previous_end) = (0usize, Nanos::ZERO, 0u64);
        let mut left = requests.into_iter();
        let mut next = left.next();
        let mut steps = 0;
        loop {
            steps += 1;
            prop_assert!(steps < 200_000, "no end: {} inside", inside.len());
            if let Some((kind, near, far, sectors, wait)) = next.filter(|_| inside.len() < model.queue_depth as usize) {
                // Many requests continue, or come close to, the previous one.
                let lba = if kind % 2 == 0 { (previous_end + near).saturating_sub(10 * (near % 3)) } else { far };
                let lba = lba.min(2000 - u64::from(sectors));
                previous_end = lba + u64::from(sectors);
                let op = match kind { 0..4 => Op::Read, 4..7 => Op::Write, _ => Op::Flush };
                let id = RequestId::from_index(sent);
                sent += 1;
                now += Nanos(u64::from(wait) * 1000 * u64::from(kind % 3));
                while let Some(at) = drive.next_event().filter(|&at| at < now) {
                    drive.advance(at, &mut out);
                }
                let sectors = if op == Op::Flush { 0 } else { sectors };
                let flags = Flags::empty();
                drive.submit(DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(sectors), flags }, now);
                inside.push(id);
                next = left.next();
            } else if let Some(at) = drive.next_event() {
                prop_assert!(at >= last);
                now = now.max(at);
                drive.advance(now, &mut out);
            } else {
                let d = drive.drive();
                let slots: Vec<_> = d.live.iter().map(|&i| &d.slots[i]).collect();
                let state = (slots, &d.pending, &d.segments, &d.stream, d.holder, d.link, d.asked, d.on_bus);
                prop_assert!(inside.is_empty(), "lost: {inside:?}: {state:?}");
                break;
            }
            for completion in out.drain(..) {
                prop_assert!(completion.at >= last && completion.at <= now);
                last = completion.at;
                let place = inside.iter().position(|&id| id == completion.id);
                prop_assert!(place.is_some(), "completed twice");
                inside.swap_remove(place.unwrap());
            }
        }
    }
}
