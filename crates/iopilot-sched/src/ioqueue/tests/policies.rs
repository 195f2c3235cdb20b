//! The choices of each policy, calculated by hand.

use super::disk::CAPACITY;
use super::*;
use iopilot_block::Cached;

#[test]
fn by_arrival_and_by_block() {
    let order = |policy, lbas: &[u64]| {
        let mut rig = Rig::policy(policy);
        rig.read(500);
        rig.serve();
        rig.reads(lbas);
        rig.order()
    };
    let lbas = [600, 400, 520, 100, 900];
    assert_eq!(order(IoQueuePolicy::Fcfs, &lbas), lbas);
    assert_eq!(order(IoQueuePolicy::ElevatorLbn, &lbas), [520, 600, 900, 400, 100]);
    assert_eq!(order(IoQueuePolicy::CycleLbn, &lbas), [520, 600, 900, 100, 400]);
    assert_eq!(order(IoQueuePolicy::SstfLbn, &lbas), [520, 600, 400, 100, 900]);
}

#[test]
fn sstf_alternates_between_up_and_down_at_equal_distances() {
    let mut rig = Rig::policy(IoQueuePolicy::SstfLbn);
    for expected in [[520, 482], [482, 520]] {
        rig.read(500);
        rig.serve();
        // The arm is after block 500.
        rig.reads(&[520, 482]);
        assert_eq!(rig.order(), expected);
    }
}

#[test]
fn vscan_turns_if_that_saves_a_fifth_of_the_disk() {
    let order = |lbas: &[u64]| {
        let mut rig = Rig::policy(IoQueuePolicy::VscanLbn);
        rig.read(50_000);
        rig.serve();
        rig.reads(lbas);
        rig.order()
    };
    assert_eq!(CAPACITY, 100_000);
    assert_eq!(order(&[49_000, 70_000]), [70_000, 49_000], "1,000 and a fifth against 20,000");
    assert_eq!(order(&[49_000, 72_000]), [49_000, 72_000]);
    let mut rig = Rig::policy(IoQueuePolicy::VscanCyl);
    rig.read(50_000);
    rig.serve();
    rig.reads(&[49_000, 70_000, 50_099, 50_001]);
    assert_eq!(rig.order(), [50_001, 50_099, 70_000, 49_000]);
}

#[test]
fn by_cylinder_the_rest_of_the_cylinder_comes_first() {
    let order = |policy| {
        let mut rig = Rig::policy(policy);
        rig.read(50_050);
        rig.serve();
        rig.reads(&[50_110, 50_120, 49_980, 49_920, 50_010, 50_060, 50_390]);
        rig.order()
    };
    assert_eq!(order(IoQueuePolicy::ElevatorCyl), [50_060, 50_010, 50_110, 50_120, 50_390, 49_920, 49_980]);
    assert_eq!(order(IoQueuePolicy::CycleCyl), [50_060, 50_110, 50_120, 50_390, 49_920, 49_980, 50_010]);
    // Cylinders 499 and 501 are equally far from 500: up first.
    assert_eq!(order(IoQueuePolicy::SstfCyl), [50_060, 50_010, 50_110, 50_120, 49_920, 49_980, 50_390]);
    assert_eq!(order(IoQueuePolicy::SdfApprox), [50_010, 50_060, 49_920, 49_980, 50_110, 50_120, 50_390]);
}

/// "In 4.0 strategies 0 to 4 give every request the same cylinder, so 5, 6, 7 equal policy 3."
#[test]
fn without_a_mapping_the_cylinder_policies_are_clook() {
    let lbas = [50_110, 50_120, 49_980, 49_920, 50_010, 50_060, 50_390];
    let order = |policy| {
        let mapping = CylinderMapping::from_number(1, 0, true).expect("a strategy");
        let mut rig = Rig::new(IoQueueConfig { mapping, ..IoQueueConfig::with_policy(policy) });
        assert!(!rig.queue.needs_positions());
        rig.read(50_050);
        rig.serve();
        rig.reads(&lbas);
        rig.order()
    };
    for policy in [IoQueuePolicy::ElevatorCyl, IoQueuePolicy::CycleCyl, IoQueuePolicy::SstfCyl] {
        assert_eq!(order(policy), order(IoQueuePolicy::CycleLbn), "{policy}");
    }
}

#[test]
fn mappings_from_the_request_and_by_average() {
    let mapping = CylinderMapping::FromRequest;
    let mut rig = Rig::new(IoQueueConfig { mapping, ..IoQueueConfig::with_policy(IoQueuePolicy::CycleCyl) });
    for (lba, cylinder) in [(1, 9), (2, 3), (3, 7)] {
        let request = rig.request(Op::Read, lba, 1);
        rig.queue.insert(IoRequest { cylinder: Some(cylinder), ..request }, Nanos::ZERO);
    }
    assert_eq!(rig.order(), [2, 3, 1]);
    let mapping = CylinderMapping::from_number(6, 50, false).expect("a strategy");
    let mut rig = Rig::new(IoQueueConfig { mapping, ..IoQueueConfig::with_policy(IoQueuePolicy::SstfCyl) });
    rig.reads(&[149, 60, 20]);
    assert_eq!(rig.order(), [20, 60, 149]);
}

#[test]
fn sptf_weighs_seek_against_rotation() {
    let mut rig = Rig::policy(IoQueuePolicy::Sptf);
    // From cylinder 0 at angle 0, block 9 of this track is 9 ms away. Cylinder 90 is a seek of 1.9 ms away, and its
    // sector 2 follows right then. Cylinder 200 is 3 ms away, and so is its sector 3.
    rig.reads(&[9, 9_002, 20_003]);
    assert_eq!(rig.pick().map(|p| p.lba), Some(Lba(9_002)));
    // With 0.2 ms of delay that sector is missed.
    let late = IoQueueConfig { read_initiation: 0.2e6, ..IoQueueConfig::with_policy(IoQueuePolicy::Sptf) };
    let mut rig = Rig::new(late);
    rig.reads(&[9, 9_002, 20_004]);
    assert_eq!(rig.pick().map(|p| p.lba), Some(Lba(20_004)));
    let own = IoQueueConfig { device_initiation: true, ..IoQueueConfig::with_policy(IoQueuePolicy::Sptf) };
    let mut rig = Rig::new(own);
    rig.disk.overhead = [0.2e6, 0.2e6];
    rig.reads(&[9, 9_002, 20_004]);
    assert_eq!(rig.pick().map(|p| p.lba), Some(Lba(20_004)));
}

#[test]
fn satf_counts_the_transfer() {
    let pick = |policy| {
        let mut rig = Rig::policy(policy);
        rig.put(Op::Read, 9_002, 8);
        rig.put(Op::Read, 20_004, 1);
        rig.pick().map(|p| p.lba.0)
    };
    assert_eq!(pick(IoQueuePolicy::Sptf), Some(9_002));
    assert_eq!(pick(IoQueuePolicy::Satf), Some(20_004));
}

#[test]
fn spctf_serves_cache_hits_first() {
    for policy in [IoQueuePolicy::Spctf, IoQueuePolicy::Wpctf, IoQueuePolicy::Aspctf, IoQueuePolicy::PriAspctf] {
        let mut rig = Rig::policy(policy);
        rig.queue.reconfigure(IoQueueConfig { age_weight: 6.0, max_wait: 6.0, ..rig.queue.config().clone() });
        rig.disk.cached = vec![(Lba(80_000), Cached::Full), (Lba(90_000), Cached::Partial)];
        rig.reads(&[9_002, 90_000, 80_000, 3]);
        assert_eq!(rig.pick().map(|p| p.lba.0), Some(80_000), "{policy}");
        assert_eq!(rig.pick().map(|p| p.lba.0), Some(90_000), "{policy}");
        assert_eq!(rig.pick().map(|p| p.lba.0), Some(9_002), "{policy}: 2 ms against 3");
    }
}

#[test]
fn age_outweighs_distance() {
    // An old request 9 ms away, and young ones 2 ms away.
    let served_old_after = |policy, weight| {
        let config = IoQueueConfig { age_weight: weight, max_wait: weight, ..IoQueueConfig::with_policy(policy) };
        let mut rig = Rig::new(config);
        let old = rig.read(9);
        for ms in 0..2000 {
            rig.now = Nanos::from_millis(10 * ms);
            rig.read(9_002);
            let pick = rig.pick().expect("two wait");
            rig.queue.completed(pick.id, rig.now, &mut Vec::new());
            if pick.id == old {
                return Some(10 * ms);
            }
        }
        None
    };
    assert_eq!(served_old_after(IoQueuePolicy::Sptf, 6.0), None);
    // 9 ms less 6 thousandths of the age is below 2 ms after 1,167 ms.
    assert_eq!(served_old_after(IoQueuePolicy::Asptf, 6.0), Some(1170));
    assert_eq!(served_old_after(IoQueuePolicy::PriAsptf, 6.0), Some(1170));
    // 9 (W - age) / W <= 2 from 7/9 of W on. Of equals, the lower block goes first.
    assert_eq!(served_old_after(IoQueuePolicy::Wptf, 900.0), Some(700));
    // A transfer of a millisecond each: 10 (W - age) / W <= 3.
    assert_eq!(served_old_after(IoQueuePolicy::Watf, 900.0), Some(630));
}

#[test]
fn noncritical_requests_do_not_age_under_the_priority_policies() {
    let mut rig = Rig::new(IoQueueConfig { age_weight: 6.0, ..IoQueueConfig::with_policy(IoQueuePolicy::PriAsptf) });
    let request = rig.request(Op::Write, 9, 1);
    rig.queue.insert(IoRequest { criticality: Criticality::TimeNonCritical, ..request }, rig.now);
    rig.wait_ms(100_000);
    rig.read(9_002);
    assert_eq!(rig.pick().map(|p| p.lba.0), Some(9_002));
}

#[test]
fn pri_vscan_weighs_distance_urgency_and_age() {
    let config = IoQueueConfig {
        capacity: CAPACITY,
        age_weight: 1280.0,
        urgency_percent: 3.0,
        distance_rule: DistanceRule::Nearest,
        ..IoQueueConfig::with_policy(IoQueuePolicy::PriVscanLbn)
    };
    let pick = |rule, read_at: u64, write_at: u64, write_age: u64| {
        let mut rig = Rig::new(IoQueueConfig { distance_rule: rule, ..config.clone() });
        rig.put(Op::Read, 50_000, 1);
        rig.pick();
        let request = rig.request(Op::Write, write_at, 1);
        rig.queue.insert(IoRequest { criticality: Criticality::TimeLimited, ..request }, rig.now);
        rig.wait_ms(write_age);
        rig.put(Op::Read, read_at, 1);
        rig.pick().map(|p| p.lba.0)
    };
    // A read counts as 3,000 blocks, a millisecond as one.
    assert_eq!(pick(DistanceRule::Nearest, 53_100, 50_050, 0), Some(50_050));
    assert_eq!(pick(DistanceRule::Nearest, 52_900, 50_050, 0), Some(52_900));
    assert_eq!(pick(DistanceRule::Nearest, 52_900, 50_050, 200), Some(50_050));
    assert_eq!(pick(DistanceRule::Elevator, 49_000, 95_000, 0), Some(95_000), "the read lies against the direction");
    assert_eq!(pick(DistanceRule::Cyclic, 49_000, 95_000, 0), Some(95_000));
    assert_eq!(pick(DistanceRule::Nearest, 49_000, 95_000, 0), Some(49_000));
}

#[test]
fn sdf_goes_from_the_last_request_or_from_the_arm() {
    let pick = |policy| {
        let mut rig = Rig::policy(policy);
        rig.read(50_000);
        rig.pick();
        // The arm did not move, as if the request was a cache hit.
        rig.reads(&[60_000, 1_000]);
        rig.pick().map(|p| p.lba.0)
    };
    assert_eq!(pick(IoQueuePolicy::SdfApprox), Some(60_000));
    assert_eq!(pick(IoQueuePolicy::SdfExact), Some(1_000));
}

#[test]
fn within_the_slack_the_shorter_seek_or_the_longer_rotation_wins() {
    let pick = |policy, slack_percent| {
        let mut rig = Rig::new(IoQueueConfig { slack_percent, ..IoQueueConfig::with_policy(policy) });
        // Times of 2 ms with 1.9 ms of seek, of 3 ms with 1.1 ms of seek, of 4 ms with 1 ms of seek and 3 ms of
        // rotation.
        rig.reads(&[9_002, 1_003, 104]);
        rig.pick().map(|p| p.lba.0)
    };
    for policy in [IoQueuePolicy::SptfRotOpt, IoQueuePolicy::SptfRotWeight, IoQueuePolicy::SptfSeekWeight] {
        assert_eq!(pick(policy, 0.0), Some(9_002));
    }
    assert_eq!(pick(IoQueuePolicy::SptfSeekWeight, 60.0), Some(1_003));
    assert_eq!(pick(IoQueuePolicy::SptfSeekWeight, 120.0), Some(104));
    assert_eq!(pick(IoQueuePolicy::SptfRotWeight, 60.0), Some(1_003));
    assert_eq!(pick(IoQueuePolicy::SptfRotOpt, 120.0), Some(9_002));
}

#[test]
fn a_tour_is_shorter_than_a_greedy_walk() {
    let total = |policy| {
        let mut rig = Rig::policy(policy);
        rig.reads(&[9_002, 20_004, 33_007, 48_001, 60_009, 61_002, 80_005, 99_000]);
        while rig.serve().is_some() {}
        rig.now
    };
    let (tour, greedy) = (total(IoQueuePolicy::Tsps), total(IoQueuePolicy::Satf));
    assert!(tour < greedy, "{tour} against {greedy}");
}

#[test]
fn a_batch_waits_until_it_is_whole() {
    let mut rig = Rig::policy(IoQueuePolicy::BatchFcfs);
    let put = |rig: &mut Rig, lba, batch| {
        let request = rig.request(Op::Read, lba, 1);
        rig.queue.insert(IoRequest { batch, ..request }, rig.now);
    };
    put(&mut rig, 10, Some(1));
    put(&mut rig, 5, Some(1));
    assert_eq!(rig.pick(), None);
    put(&mut rig, 7, Some(2));
    assert_eq!([rig.serve(), rig.serve(), rig.serve()], [Some(10), Some(5), None]);
    rig.queue.close_batch();
    assert_eq!(rig.serve(), Some(7));
    put(&mut rig, 3, None);
    assert_eq!(rig.serve(), Some(3));
}
