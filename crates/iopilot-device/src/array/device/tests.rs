use super::*;
use crate::array::{Failure, MappingRules, NvramModel, Organisation, RebuildModel, Redundancy, Rotation};
use crate::{ConstantDevice, CopyChoice, MirrorOrder, ServiceBreakdown};
use iopilot_block::{Flags, Lba, Op, RequestId, Sectors};

const MS: u64 = 1_000_000;

fn layout(members: u32, redundancy: Redundancy) -> ArrayLayout {
    ArrayLayout::new(&Organisation {
        members,
        member_sectors: 64 * 100,
        stripe_unit: Some(64),
        redundancy,
        use_remainder: false,
    })
    .unwrap()
}

fn raid5(members: u32) -> ArrayModel {
    let rotation = Rotation::LeftSymmetric;
    let rotated = Redundancy::Rotated { checks: 1, rotation, parity_unit: None };
    ArrayModel::new(layout(members, rotated), MappingRules::default())
}

fn raid1() -> ArrayModel {
    let rules = MappingRules { copy_choice: CopyChoice::First, ..MappingRules::default() };
    ArrayModel::new(layout(2, Redundancy::Mirrored { copies: 2, order: MirrorOrder::Adjacent }), rules)
}

/// Members that take a millisecond for every request, one at a time.
fn array(model: ArrayModel) -> Array<ConstantDevice> {
    let member = ConstantDevice::simple(64 * 100, 1, Nanos(MS), 0.0);
    let members = vec![member; model.layout.members() as usize];
    Array::new(model, members, None).unwrap()
}

fn submit(array: &mut Array<ConstantDevice>, id: usize, op: Op, lba: u64, sectors: u32, at: u64) {
    let flags = Flags::empty();
    let request = DeviceRequest { id: RequestId::from_index(id), op, lba: Lba(lba), sectors: Sectors(sectors), flags };
    array.submit(request, Nanos(at));
}

/// Runs to the end; returns each completion with its time in ms.
fn run(array: &mut Array<ConstantDevice>) -> Vec<(usize, f64)> {
    let mut out = Vec::new();
    while let Some(at) = array.next_event() {
        array.advance(at, &mut out);
    }
    assert!(array.operations.is_empty());
    out.iter().map(|c| (c.id.index(), c.at.as_millis_f64())).collect()
}

#[test]
fn members_work_in_parallel_and_a_small_write_takes_two_rounds() {
    let mut a = array(raid5(5));
    submit(&mut a, 0, Op::Read, 0, 256, 0);
    submit(&mut a, 1, Op::Write, 2560, 8, 0);
    assert_eq!(run(&mut a), [(0, 1.0), (1, 3.0)], "the write's data lie on member 0, behind the read");
}

#[test]
fn overlapping_updates_of_parity_take_turns() {
    let mut a = array(raid5(5));
    // The same sectors of two units of one stripe, and other sectors of a third.
    submit(&mut a, 0, Op::Write, 0, 8, 0);
    submit(&mut a, 1, Op::Write, 64, 8, 0);
    submit(&mut a, 2, Op::Write, 128 + 32, 8, 0);
    // 2 shares the parity member with 0 but not its lock: read at 2 ms, written after 0's at 4 ms.
    assert_eq!(run(&mut a), [(0, 3.0), (2, 4.0), (1, 6.0)]);
}

#[test]
fn the_controller_adds_its_overhead_and_the_bus_is_shared() {
    let mut model = raid5(5);
    (model.command, model.bus_ns_per_byte) = (Nanos(MS / 2), MS as f64 / 4096.0);
    let mut a = array(model);
    submit(&mut a, 0, Op::Read, 0, 8, 0);
    submit(&mut a, 1, Op::Read, 64, 8, 0);
    submit(&mut a, 2, Op::Write, 1024, 8, 0);
    // The write's data use the bus first, at 0.5 ms.
    let done = run(&mut a);
    assert_eq!(done, [(0, 2.5), (1, 3.5), (2, 3.5)]);
}

#[test]
fn the_write_cache_answers_at_once_and_destages_full_stripes() {
    let mut model = raid5(5);
    let nvram = NvramModel {
        sectors: 512,
        destage_above: 0.5,
        destage_to: 0.5,
        destage_idle: Nanos(10 * MS),
        destage_depth: 1,
    };
    model.nvram = Some(nvram);
    let mut a = array(model);
    let mut out = Vec::new();
    for i in 0..32 {
        submit(&mut a, i, Op::Write, i as u64 * 8, 8, 0);
    }
    a.advance(Nanos::ZERO, &mut out);
    assert_eq!(out.len(), 32, "all are complete at once");
    assert_eq!(a.dirty_sectors(), 256);
    submit(&mut a, 40, Op::Read, 80, 16, 0);
    a.advance(Nanos::ZERO, &mut out);
    assert!(out.len() == 33 && out[32].service.cache_hit, "reads of buffered sectors are hits");
    // Idle for 10 ms: the stripe is whole, so it needs no reads, and one destage is enough.
    assert_eq!(a.next_event(), Some(Nanos(10 * MS)));
    run(&mut a);
    assert_eq!(a.dirty_sectors(), 0);
    assert!(a.members.iter().all(|m| m.device.next_event().is_none()));
}

#[test]
fn writes_wait_for_room_in_the_cache() {
    let mut model = raid5(5);
    let nvram = NvramModel {
        sectors: 256,
        destage_above: 1.0,
        destage_to: 0.5,
        destage_idle: Nanos(10 * MS),
        destage_depth: 1,
    };
    model.nvram = Some(nvram);
    let mut a = array(model);
    submit(&mut a, 0, Op::Write, 0, 256, 0);
    submit(&mut a, 1, Op::Write, 256, 8, 0);
    submit(&mut a, 2, Op::Write, 512, 300, 0);
    assert_eq!(run(&mut a), [(0, 0.0), (1, 1.0), (2, 3.0)], "2 is larger than the cache and passes it");
}

#[test]
fn a_read_that_is_lost_with_its_member_is_computed_from_the_others() {
    let mut model = raid5(5);
    model.failures = vec![Failure { member: 0, at: Nanos(MS / 2) }];
    let mut a = array(model);
    submit(&mut a, 0, Op::Read, 0, 8, 0);
    submit(&mut a, 1, Op::Read, 64, 8, 0);
    assert_eq!(run(&mut a), [(1, 1.0), (0, 2.0)], "one millisecond each after the failure and behind the other");
    assert!(a.health().is_lost(0, 0));

    let mut model = raid1();
    model.failures = vec![Failure { member: 0, at: Nanos(MS / 2) }];
    let mut a = array(model);
    submit(&mut a, 0, Op::Read, 0, 8, 0);
    submit(&mut a, 1, Op::Write, 64, 8, 0);
    assert_eq!(run(&mut a), [(1, 1.0), (0, 2.0)], "the write completes with the remaining copy");
}

#[test]
fn a_rebuild_ends_and_serves_throughout() {
    let mut model = raid5(5);
    model.failures = vec![Failure { member: 3, at: Nanos::ZERO }];
    model.rebuild = Some(RebuildModel { spares: 1, rate: None, chunk: 640, delay: Nanos::ZERO });
    let mut a = array(model);
    submit(&mut a, 0, Op::Read, 3 * 64, 8, 0);
    let done = run(&mut a);
    assert_eq!(done.len(), 1);
    // Ten chunks of ten units, each read and then written. The read waits for the first, and finds its unit rebuilt.
    assert_eq!((done[0], a.rebuilt_at()), ((0, 3.0), Some(Nanos(20 * MS))));
    assert!(!a.health().is_degraded());

    let mut model = a.model().clone();
    model.rebuild = Some(RebuildModel { spares: 1, rate: Some(32_768_000.0), chunk: 640, delay: Nanos(MS) });
    let mut a = array(model);
    run(&mut a);
    assert_eq!(a.rebuilt_at(), Some(Nanos((1 + 9 * 10 + 2) * MS)), "10 ms for each 327,680 bytes");
}

#[test]
fn flushes_reach_every_member_and_preflush_goes_first() {
    let mut a = array(raid5(3));
    submit(&mut a, 0, Op::Flush, 0, 0, 0);
    assert_eq!(run(&mut a), [(0, 1.0)]);
    let request = DeviceRequest {
        id: RequestId::from_index(1),
        op: Op::Write,
        lba: Lba(0),
        sectors: Sectors(128),
        flags: Flags::PREFLUSH | Flags::FUA,
    };
    a.submit(request, Nanos(MS));
    assert_eq!(run(&mut a), [(1, 3.0)]);
}

#[test]
fn the_breakdown_follows_the_last_of_each_phase() {
    let mut a = array(raid5(5));
    submit(&mut a, 0, Op::Write, 0, 8, 0);
    let mut out = Vec::new();
    while let Some(at) = a.next_event() {
        a.advance(at, &mut out);
    }
    let expected = ServiceBreakdown { overhead: Nanos(2 * MS), ..ServiceBreakdown::default() };
    assert_eq!(out[0].service, expected, "old data and parity, then new");
}

#[test]
fn contradictions_are_named() {
    let member = ConstantDevice::simple(64 * 100, 1, Nanos(MS), 0.0);
    let error = |model: ArrayModel, members: usize| {
        Array::new(model, vec![member.clone(); members], None).map(|_| ()).unwrap_err().to_string()
    };
    assert!(error(raid5(5), 4).contains("members: got 4, expected the 5 of the layout"));
    let failures = [0, 1].map(|member| Failure { member, at: Nanos::ZERO }).to_vec();
    assert!(error(ArrayModel { failures, ..raid5(5) }, 5).contains("failed: got [0, 1], expected members that"));
    assert!(error(ArrayModel { queue_depth: 0, ..raid5(5) }, 5).contains("queue_depth: got 0"));
}
