use super::*;
use crate::{
    AllocationPolicy, Arbitration, BusModel, CacheDeviceModel, ControllerCacheModel, ControllerModel, FlushPolicy,
    MemoryCacheModel, Ownership, Prefetch, ReplacementPolicy, SimpleDisk, SimpleDiskModel, SmartModel, WriteScheme,
};
use iopilot_block::{Flags, Lba, Op, Sectors};
use iopilot_sched::IoQueueConfig;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn disk(never_disconnect: bool) -> SimpleDisk {
    SimpleDisk::new(SimpleDiskModel {
        capacity: 10_000,
        queue_depth: 8,
        command_overhead: Nanos(MS),
        access_time: Nanos(10 * MS),
        block_time: 0.0,
        message_latency: Nanos(MS / 10),
        never_disconnect,
    })
}

fn request(id: usize, op: Op, lba: u64, sectors: u32) -> DeviceRequest {
    DeviceRequest { id: RequestId::from_index(id), op, lba: Lba(lba), sectors: Sectors(sectors), flags: Flags::empty() }
}

fn scsi_bus() -> BusModel {
    BusModel { block_times: crate::BlockTimes { read: 50_000.0, write: 50_000.0 }, ..BusModel::default() }
}

fn shared() -> BusModel {
    BusModel { ownership: Ownership::Shared, ..BusModel::default() }
}

/// `disks` on one SCSI bus below one controller.
fn one_bus(model: ControllerModel, disks: usize) -> Subsystem<SimpleDisk> {
    let mut b = SubsystemBuilder::new();
    let top = b.bus(None, shared());
    let controller = b.controller(top, model);
    let bus = b.bus(Some(controller), scsi_bus());
    for _ in 0..disks {
        b.device(bus, disk(false));
    }
    b.build().unwrap()
}

fn pass_through(ms: f64) -> ControllerModel {
    ControllerModel::PassThrough { delay: Nanos::from_millis_f64(ms) }
}

fn memory(cache: MemoryCacheModel) -> ControllerModel {
    ControllerModel::Smart(Box::new(SmartModel {
        delay: Nanos::ZERO,
        block_time: 0.0,
        interleaved: false,
        queue_depth: 8,
        per_device: 1,
        queue: IoQueueConfig::default(),
        cache: ControllerCacheModel::Memory(cache),
    }))
}

/// Sends all requests at their times; returns (id, completion) in order of completion.
fn run(s: &mut Subsystem<SimpleDisk>, requests: &[(u64, usize, DeviceRequest)]) -> Vec<(usize, u64)> {
    let mut out = Vec::new();
    let mut waiting = requests.iter().peekable();
    for steps in 0.. {
        assert!(steps < 1_000_000, "it goes on for ever");
        let arrival = waiting.peek().map(|(at, ..)| Nanos(*at));
        match (arrival, s.next_event()) {
            (Some(at), event) if event.is_none_or(|e| at <= e) => {
                let (_, device, request) = waiting.next().unwrap();
                s.submit(*device, *request, at);
            }
            (_, Some(at)) => s.advance(at, &mut out),
            (_, None) => break,
        }
    }
    out.iter().map(|c| (c.id.index(), c.at.0)).collect()
}

#[test]
fn a_read_is_command_access_and_transfer() {
    let mut s = one_bus(pass_through(0.0), 1);
    // The access begins after the command, and the disk disconnects meanwhile. Then reconnection 0.1, data of 8
    // blocks 0.4, completion 0.1.
    assert_eq!(run(&mut s, &[(0, 0, request(7, Op::Read, 0, 8))]), [(7, 11_600_000)]);
    // A write: ready 0.1, data 0.4, access 10, reconnection 0.1, completion 0.1.
    let mut s = one_bus(pass_through(0.0), 1);
    assert_eq!(run(&mut s, &[(0, 0, request(7, Op::Write, 0, 8))]), [(7, 11_700_000)]);
}

#[test]
fn a_disk_that_keeps_the_bus_saves_the_reconnection() {
    let mut b = SubsystemBuilder::new();
    let top = b.bus(None, shared());
    let controller = b.controller(top, pass_through(0.0));
    let bus = b.bus(Some(controller), scsi_bus());
    b.device(bus, disk(true));
    let mut s = b.build().unwrap();
    assert_eq!(run(&mut s, &[(0, 0, request(0, Op::Read, 0, 8))]), [(0, 11_500_000)]);
}

#[test]
fn a_controller_delays_every_message_both_ways() {
    // Command, disconnection (not waited for), reconnection up and down, completion up.
    let mut s = one_bus(pass_through(1.0), 1);
    assert_eq!(run(&mut s, &[(0, 0, request(0, Op::Read, 0, 8))]), [(0, 11_600_000 + 4 * MS)]);
    let chip = ControllerModel::Scsi53c700 { delay: Nanos(MS / 2), block_time: 100_000.0 };
    // Half a millisecond for each of the same steps, and the slower of the two block times.
    let mut s = one_bus(chip, 1);
    assert_eq!(run(&mut s, &[(0, 0, request(0, Op::Read, 0, 8))]), [(0, 12_000_000 + 2 * MS)]);
}

#[test]
fn two_disks_on_one_bus_overlap_their_accesses_and_not_their_data() {
    let mut s = one_bus(pass_through(0.0), 2);
    let both = [(0, 0, request(0, Op::Read, 0, 100)), (0, 1, request(1, Op::Read, 0, 100))];
    // The second command waits until the first disk leaves the bus at 1.1; its access ends at 12.1, while the first
    // one's data of 5 ms have the bus from 11.1 to 16.2.
    assert_eq!(run(&mut s, &both), [(0, 16_200_000), (1, 16_200_000 + 5_200_000)]);
}

#[test]
fn the_chip_handles_one_command_at_a_time() {
    let chip = ControllerModel::Scsi53c700 { delay: Nanos::ZERO, block_time: 0.0 };
    let mut s = one_bus(chip, 3);
    let all: Vec<_> = (0..3).map(|i| (0, i, request(i, Op::Read, 0, 8))).collect();
    let done = run(&mut s, &all);
    assert_eq!(done.len(), 3);
    assert_eq!(done[0], (0, 11_600_000));
}

#[test]
fn a_cache_serves_cached_and_written_blocks() {
    let mut s = one_bus(memory(MemoryCacheModel { size: 1024, max_request: 64, ..MemoryCacheModel::default() }), 1);
    let t = 100 * MS;
    let done = run(
        &mut s,
        &[
            (0, 0, request(0, Op::Read, 0, 8)),
            (t, 0, request(1, Op::Read, 2, 4)),
            (2 * t, 0, request(2, Op::Write, 500, 8)),
            (3 * t, 0, request(3, Op::Read, 500, 8)),
            (4 * t, 0, request(4, Op::Read, 496, 8)),
        ],
    );
    let missed = 11_600_000;
    assert_eq!(done, [(0, missed), (1, t), (2, 2 * t), (3, 3 * t), (4, 4 * t + 11_400_000)]);
    let report = s.cache_report(ControllerIndex(0)).unwrap();
    assert_eq!((report.reads, report.read_hits, report.writes, report.fills, report.filled), (4, 2, 1, 2, 12));
}

#[test]
fn a_dirty_victim_is_written_back_first_with_its_neighbours() {
    // Four lines of 8 blocks; requests of up to 16.
    let model = MemoryCacheModel {
        size: 32,
        line: 8,
        lock_granularity: 8,
        max_request: 16,
        flush_cluster: 2,
        ..MemoryCacheModel::default()
    };
    let mut s = one_bus(memory(model.clone()), 1);
    let t = 100 * MS;
    let writes = |n: u64| (0..n).map(move |i| (i * t, 0, request(i as usize, Op::Write, 8 * i, 8)));
    let mut requests: Vec<_> = writes(4).collect();
    requests.push((4 * t, 0, request(4, Op::Read, 800, 8)));
    let done = run(&mut s, &requests);
    // Two lines are written in one access (11.7 ms and 0.4 for 8 more blocks), then the read goes out.
    assert_eq!(done[4], (4, 4 * t + 12_100_000 + 11_600_000));
    let report = s.cache_report(ControllerIndex(0)).unwrap();
    assert_eq!((report.write_backs, report.written_back), (1, 16));
    // With skipped dirty lines, all of them are written back, and the read waits for the first.
    let mut s = one_bus(memory(MemoryCacheModel { allocation: AllocationPolicy::SkipDirty, ..model }), 1);
    let done = run(&mut s, &requests);
    assert_eq!(done[4].0, 4);
    assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().written_back, 32);
}

#[test]
fn write_schemes_differ_in_when_the_host_is_told() {
    let at = |scheme| {
        let model =
            MemoryCacheModel { size: 1024, max_request: 64, write_scheme: scheme, ..MemoryCacheModel::default() };
        let mut s = one_bus(memory(model), 1);
        let done = run(&mut s, &[(0, 0, request(0, Op::Write, 0, 8))]);
        (done[0].1, s.cache_report(ControllerIndex(0)).unwrap().write_backs)
    };
    assert_eq!(at(WriteScheme::Synchronous), (11_700_000, 1));
    assert_eq!(at(WriteScheme::WriteThrough), (0, 1));
    assert_eq!(at(WriteScheme::WriteBack), (0, 0));
}

#[test]
fn idle_and_periodic_flushes_write_everything_back() {
    let base = MemoryCacheModel { size: 1024, max_request: 64, ..MemoryCacheModel::default() };
    for model in [
        MemoryCacheModel { idle_delay: Some(Nanos(5 * MS)), ..base.clone() },
        MemoryCacheModel { flush: FlushPolicy::Periodic(Nanos(50 * MS)), ..base },
    ] {
        let mut s = one_bus(memory(model), 1);
        // After the read the device becomes idle; the writes are far apart.
        run(
            &mut s,
            &[
                (0, 0, request(0, Op::Write, 0, 8)),
                (0, 0, request(1, Op::Write, 640, 8)),
                (0, 0, request(2, Op::Read, 6400, 8)),
            ],
        );
        assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().written_back, 16);
    }
}

/// 16 lines of 64 blocks; lines are taken in order. Six writes at time 0 make lines 0 to 5 dirty.
fn written_back_by(flush_wakeups: u32, at_ms: &[u64]) -> Vec<u64> {
    let flush = FlushPolicy::Periodic(Nanos(400 * MS));
    let model = MemoryCacheModel { size: 1024, max_request: 64, flush, flush_wakeups, ..MemoryCacheModel::default() };
    let mut s = one_bus(memory(model), 1);
    for i in 0..6 {
        s.submit(0, request(i, Op::Write, 640 * i as u64, 8), Nanos::ZERO);
    }
    let mut done = Vec::new();
    let written = |&at: &u64| {
        s.advance(Nanos(at * MS), &mut done);
        s.cache_report(ControllerIndex(0)).unwrap().written_back
    };
    at_ms.iter().map(written).collect()
}

#[test]
fn a_periodic_flush_looks_at_a_fraction_of_the_lines_each_time() {
    assert_eq!(written_back_by(1, &[399, 400]), [0, 48], "all at once");
    // Four times in 400 ms, each time four lines of sixteen: 0 to 3 after 100 ms, 4 and 5 after 200 ms.
    assert_eq!(written_back_by(4, &[99, 100, 199, 200, 1000]), [0, 32, 32, 48, 48]);
    // After each 50 ms two lines.
    assert_eq!(written_back_by(8, &[49, 50, 99, 100, 150]), [0, 16, 16, 32, 48]);
    // More often than there are lines: of 32 checks every second one finds a line.
    assert_eq!(written_back_by(32, &[13, 25, 38, 50, 75]), [0, 8, 8, 16, 24]);
}

#[test]
fn operations_that_arrive_when_idle_add_no_flushes() {
    let flush = FlushPolicy::Periodic(Nanos(100 * MS));
    let model = MemoryCacheModel { size: 1024, max_request: 64, flush, ..MemoryCacheModel::default() };
    let mut s = one_bus(memory(model), 1);
    let mut done = Vec::new();
    for (i, at) in [0, 10, 20, 105].into_iter().enumerate() {
        s.advance(Nanos(at * MS), &mut done);
        s.submit(0, request(i, Op::Write, 640 * i as u64, 8), Nanos(at * MS));
    }
    let mut written = |at: u64| {
        s.advance(Nanos(at * MS), &mut done);
        s.cache_report(ControllerIndex(0)).unwrap().written_back
    };
    // The period counts from time 0, regardless of when the operations came.
    assert_eq!([105, 199, 200, 300].map(&mut written), [24, 24, 32, 32]);
}

#[test]
fn partial_flushes_stop_when_nothing_is_dirty() {
    let flush = FlushPolicy::Periodic(Nanos(400 * MS));
    let model =
        MemoryCacheModel { size: 1024, max_request: 64, flush, flush_wakeups: 4, ..MemoryCacheModel::default() };
    let mut s = one_bus(memory(model), 1);
    let writes: Vec<_> = (0..16).map(|i| (0, 0, request(i, Op::Write, 640 * i as u64, 8))).collect();
    // The run returns when there are no more events.
    run(&mut s, &writes);
    assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().written_back, 128);
}

#[test]
fn on_an_interleaved_bus_hits_share_the_rate() {
    let done = |interleaved| {
        let cache = MemoryCacheModel { size: 1024, max_request: 64, ..MemoryCacheModel::default() };
        let ControllerModel::Smart(model) = memory(cache) else { panic!("a smart one") };
        // 0.1 ms for a block.
        let model = SmartModel { block_time: 100_000.0, interleaved, ..*model };
        let mut s = one_bus(ControllerModel::Smart(Box::new(model)), 1);
        let late = 100 * MS;
        let requests = [
            (0, 0, request(0, Op::Write, 0, 32)),
            (late, 0, request(1, Op::Read, 0, 32)),
            (late + MS, 0, request(2, Op::Read, 0, 8)),
        ];
        let mut done = run(&mut s, &requests);
        done.sort_unstable();
        [done[1].1 - late, done[2].1 - late]
    };
    // 3.2 ms for the first; 0.8 ms for the second, after it.
    assert_eq!(done(false), [3_200_000, 4_000_000]);
    // The second comes when 2.2 ms are left, and ends after 1.6 ms at half the rate; then 1.4 ms are left.
    assert_eq!(done(true), [4_000_000, 2_600_000]);
}

#[test]
fn hits_may_restart_the_idle_time() {
    let written_back = |idle_counts_host, requests: &[(u64, usize, DeviceRequest)]| {
        let idle =
            MemoryCacheModel { idle_delay: Some(Nanos(500 * MS)), idle_counts_host, ..MemoryCacheModel::default() };
        let mut s = one_bus(memory(MemoryCacheModel { size: 1024, max_request: 64, ..idle }), 1);
        run(&mut s, requests);
        s.cache_report(ControllerIndex(0)).unwrap().written_back
    };
    // Writes that fit the cache never touch the device.
    let writes = [(0, 0, request(0, Op::Write, 0, 8)), (0, 0, request(1, Op::Write, 640, 8))];
    assert_eq!((written_back(false, &writes), written_back(true, &writes)), (0, 16));
    // A hit 400 ms after the last access restarts the idle time; the run still writes back the dirty data.
    let hit = 400 * MS;
    let more =
        [(0, 0, request(0, Op::Write, 0, 8)), (0, 0, request(1, Op::Read, 0, 8)), (hit, 0, request(2, Op::Read, 0, 8))];
    assert_eq!(written_back(true, &more), 8);
}

#[test]
fn an_arrival_stops_idle_write_back_after_the_current_run() {
    let idle =
        MemoryCacheModel { idle_delay: Some(Nanos(500 * MS)), idle_counts_host: true, ..MemoryCacheModel::default() };
    let mut s = one_bus(memory(MemoryCacheModel { size: 1024, max_request: 64, ..idle }), 1);
    let mut done = Vec::new();
    for (i, lba) in [0, 640, 1280, 1920].into_iter().enumerate() {
        s.submit(0, request(i, Op::Write, lba, 8), Nanos::ZERO);
    }
    // Each run takes some 11.5 ms: the second is in progress when a read arrives.
    let arrival = Nanos(515 * MS);
    s.advance(arrival, &mut done);
    s.submit(0, request(9, Op::Read, 0, 8), arrival);
    s.advance(Nanos(900 * MS), &mut done);
    assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().written_back, 16);
    s.advance(Nanos(2_000 * MS), &mut done);
    assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().written_back, 32, "half a second after it, on it goes");
    assert_eq!((done.len(), done.last().map(|c| c.service.cache_hit)), (5, Some(true)));
}

#[test]
fn one_write_can_go_through_a_write_back_cache() {
    let mut s = one_bus(memory(MemoryCacheModel { size: 1024, max_request: 64, ..MemoryCacheModel::default() }), 1);
    let through = DeviceRequest { flags: Flags::FUA, ..request(0, Op::Write, 0, 8) };
    let done = run(&mut s, &[(0, 0, through), (100 * MS, 0, request(1, Op::Write, 640, 8))]);
    assert_eq!(
        done,
        [(0, 11_700_000), (1, 100 * MS)],
        "done when it is on the device; the other when it is in the cache"
    );
    assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().written_back, 8);
}

#[test]
fn prefetch_brings_the_rest_of_the_line() {
    let model = MemoryCacheModel {
        size: 1024,
        max_request: 64,
        read_prefetch: Prefetch { front: true, rest: true },
        ..MemoryCacheModel::default()
    };
    let mut s = one_bus(memory(model), 1);
    let done = run(&mut s, &[(0, 0, request(0, Op::Read, 20, 8)), (100 * MS, 0, request(1, Op::Read, 0, 64))]);
    assert_eq!(done[1], (1, 100 * MS));
    assert_eq!(s.cache_report(ControllerIndex(0)).unwrap().filled, 64);
}

#[test]
fn a_cache_device_takes_writes_and_repeated_reads() {
    let mut b = SubsystemBuilder::new();
    let top = b.bus(None, shared());
    let cache = CacheDeviceModel {
        size: 1000,
        max_request: 64,
        write_scheme: WriteScheme::WriteBack,
        idle_delay: Some(Nanos(5 * MS)),
        cache: 1,
        cached: 0,
    };
    let model = SmartModel {
        delay: Nanos::ZERO,
        block_time: 0.0,
        interleaved: false,
        queue_depth: 8,
        per_device: 1,
        queue: IoQueueConfig::default(),
        cache: ControllerCacheModel::Device(cache),
    };
    let controller = b.controller(top, ControllerModel::Smart(Box::new(model)));
    let bus = b.bus(Some(controller), scsi_bus());
    b.device(bus, disk(false));
    let fast = SimpleDiskModel { access_time: Nanos(MS), ..disk(false).model().to_owned() };
    b.device(bus, SimpleDisk::new(fast));
    let mut s = b.build().unwrap();
    let t = 100 * MS;
    let done = run(
        &mut s,
        &[
            (0, 0, request(0, Op::Read, 0, 8)),
            (t, 0, request(1, Op::Read, 0, 8)),
            (2 * t, 0, request(2, Op::Write, 100, 8)),
            (3 * t, 0, request(3, Op::Write, 2000, 8)),
        ],
    );
    assert_eq!(done, [(0, 11_600_000), (1, t + 2_600_000), (2, 2 * t + 2_700_000), (3, 3 * t + 11_700_000)]);
    let report = s.cache_report(controller).unwrap();
    assert_eq!((report.reads, report.read_hits, report.writes, report.write_hits), (2, 1, 2, 1));
    assert_eq!(report.written_back, 8, "the dirty run is copied back when the disk is idle");
}

fn any_cache() -> impl Strategy<Value = MemoryCacheModel> {
    let policies = (0u8..4, any::<bool>(), 0u8..3, any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (prop_oneof![Just(0u32), Just(1), Just(8), Just(24)], 0u32..3, 0u32..3, 20u64..60, 1u32..6, 0u32..4);
    let times = (prop::option::of(0u64..40), prop::option::of(1u64..60), any::<(bool, bool, bool, bool)>());
    (policies, sizes, times, any::<bool>()).prop_map(|(policies, sizes, times, no_cache)| {
        let (replacement, skip, scheme, shared, line_by_line, idle_counts_host) = policies;
        let (line, bits, locks, lines, cluster, gather) = sizes;
        let (idle, period, prefetch) = times;
        let unit = line.max(1);
        let divisor = |n: u32| [1, unit, if unit % 4 == 0 { 4 } else { 1 }][n as usize];
        let size = if no_cache { 0 } else { lines * u64::from(unit) };
        MemoryCacheModel {
            size,
            segments: vec![0.5, 0.5],
            line,
            bit_granularity: divisor(bits),
            lock_granularity: divisor(locks),
            shared_read_locks: shared,
            max_request: (unit * 2).max(16),
            replacement: [
                ReplacementPolicy::Fifo,
                ReplacementPolicy::SegmentedLru,
                ReplacementPolicy::Random,
                ReplacementPolicy::Lifo,
            ][replacement as usize],
            allocation: if skip { AllocationPolicy::SkipDirty } else { AllocationPolicy::Strict },
            write_scheme: [WriteScheme::Synchronous, WriteScheme::WriteThrough, WriteScheme::WriteBack]
                [scheme as usize],
            flush: period.map_or(FlushPolicy::OnDemand, |p| FlushPolicy::Periodic(Nanos(p * MS))),
            flush_wakeups: cluster % 3 + 1,
            idle_delay: idle.map(|p| Nanos(p * MS)),
            idle_counts_host,
            flush_cluster: cluster,
            read_prefetch: Prefetch { front: prefetch.0, rest: prefetch.1 },
            write_prefetch: Prefetch { front: prefetch.2, rest: prefetch.3 },
            line_by_line,
            max_gather: gather,
            seed: 3,
        }
    })
}

fn any_requests(most: u32) -> impl Strategy<Value = Vec<(u64, usize, Op, u64, u32)>> {
    let one = (0u64..30, 0usize..3, any::<bool>(), 0u64..400, 1u32..=most);
    prop::collection::vec(one, 1..80).prop_map(|all| {
        let mut at = 0;
        let each = |(gap, device, read, lba, sectors): (u64, usize, bool, u64, u32)| {
            at += gap * MS / 2;
            (at, device, if read { Op::Read } else { Op::Write }, lba, sectors)
        };
        all.into_iter().map(each).collect()
    })
}

/// Every request completes once, not before it arrived.
fn conserves(s: &mut Subsystem<SimpleDisk>, requests: &[(u64, usize, Op, u64, u32)]) -> Result<(), TestCaseError> {
    let sent: Vec<_> = requests
        .iter()
        .enumerate()
        .map(|(i, &(at, device, op, lba, sectors))| (at, device % s.devices(), request(i, op, lba, sectors)))
        .collect();
    let done = run(s, &sent);
    let mut seen = vec![0; sent.len()];
    for (id, at) in done {
        seen[id] += 1;
        prop_assert!(at >= sent[id].0);
    }
    prop_assert!(seen.iter().all(|&n| n == 1), "{:?}", seen);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_in_a_cache(model in any_cache(), requests in any_requests(16), devices in 1usize..4) {
        prop_assume!(model.fault().is_none());
        conserves(&mut one_bus(memory(model), devices), &requests)?;
    }

    #[test]
    fn nothing_is_lost_on_buses(
        kind in 0usize..4,
        delay in 0u64..3,
        arbitration in 0u8..3,
        time in 0u64..2,
        levels in 1usize..4,
        exclusive in any::<bool>(),
        never in any::<bool>(),
        requests in any_requests(40),
    ) {
        let mut b = SubsystemBuilder::new();
        let arbitration = [Arbitration::SlotPriority, Arbitration::Fifo, Arbitration::RoundRobin][arbitration as usize];
        let ownership = if exclusive { Ownership::Exclusive } else { Ownership::Shared };
        let model = BusModel { arbitration, ownership, arbitration_time: Nanos(time * MS), ..scsi_bus() };
        let mut bus = b.bus(None, shared());
        for level in 0..levels {
            let model_of_controller = match kind {
                n if n != level => ControllerModel::PassThrough { delay: Nanos(delay * MS) },
                _ => ControllerModel::Scsi53c700 { delay: Nanos(delay * MS), block_time: 1.0 },
            };
            let controller = b.controller(bus, model_of_controller);
            bus = b.bus(Some(controller), model);
        }
        for _ in 0..3 {
            b.device(bus, disk(never));
        }
        conserves(&mut b.build().unwrap(), &requests)?;
    }
}
