use super::*;

fn estimator(text: &str) -> Estimator {
    Estimator::new(&RedcapSpec::parse(text).unwrap())
}

fn v1() -> Estimator {
    estimator("algorithm=v1")
}

/// A read: blocks and times of its hits, misses and prefetches. Times in microseconds.
fn read(hits: (u64, u64), misses: (u64, u64), prefetch: (u64, u64)) -> Sums {
    Sums {
        hit_blocks: hits.0,
        hit_time: Nanos::from_micros(hits.1),
        miss_blocks: misses.0,
        miss_time: Nanos::from_micros(misses.1),
        prefetch_blocks: prefetch.0,
        prefetch_time: Nanos::from_micros(prefetch.1),
        ..Sums::default()
    }
}

/// A read while inactive: blocks that would have been hits and the disk's time for them, misses, and blocks that would have
/// been prefetched.
fn inactive(hits: (u64, u64), misses: (u64, u64), prefetched: u64) -> Sums {
    let disk_hit_time = Nanos::from_micros(hits.1);
    Sums { disk_hit_time, ..read((hits.0, 0), misses, (prefetched, 0)) }
}

fn add(estimator: &mut Estimator, n: u32, read: Sums, active: bool) -> Vec<ActivationVerdict> {
    (0..n).filter_map(|_| estimator.add(read, active)).collect()
}

/// A read that makes a check good by far; [`bad`] makes it bad by far.
fn good() -> Sums {
    read((9, 1), (1, 8_000), (0, 0))
}

fn bad() -> Sums {
    read((0, 0), (1, 8_000), (31, 2_000))
}

fn sides(verdict: &ActivationVerdict) -> (u64, u64, bool) {
    (verdict.with_cache.0 / 1_000, verdict.without_cache.0 / 1_000, verdict.good)
}

/// The reads after which `n` reads were checked.
fn check_points(estimator: &mut Estimator, n: u32, read: Sums) -> Vec<u32> {
    (1..=n).filter(|_| estimator.add(read, true).is_some()).collect()
}

#[test]
fn active_hits_would_have_cost_what_misses_cost() {
    // 2.6: 100 reads with 3 hits of 10 us in all, a wait of 5 us, 2 misses of 8 ms, 30 prefetched of 12 ms.
    let mut e = v1();
    let one = Sums { wait_time: Nanos::from_micros(5), ..read((3, 10), (2, 8_000), (30, 12_000)) };
    let checks = add(&mut e, 100, one, true);
    // 2.2: 100 * (10 + 5 + 12000); 2.6: 800000 * 300 / 200.
    assert_eq!(sides(&checks[0]), (1_201_500, 1_200_000, false));
    // A microsecond less for each prefetch in 15 of them, and both sides are equal: 2.9 has "less or equal".
    let mut e = v1();
    let fifteen_less = Sums { prefetch_time: Nanos::from_micros(11_985), ..one };
    assert_eq!(sides(&add(&mut e, 100, fifteen_less, true)[0]), (1_200_000, 1_200_000, true));
}

#[test]
fn misses_of_the_last_inactive_period_are_carried_over_and_halved() {
    let mut e = v1();
    e.switched(false);
    // Inactive: 100 misses a block each of 4 ms; a hit each of 4 ms; nothing known of prefetches.
    assert!(add(&mut e, 100, inactive((1, 4_000), (1, 4_000), 0), false)[0].active);
    e.switched(true);
    let one = read((1, 0), (1, 8_000), (1, 1_000));
    // 2.5: (800 + 400 ms) * 100 / (100 + 100), then with 200 ms and 50, then 100 ms and 25.
    let checks = add(&mut e, 300, one, true);
    let estimates: Vec<u64> = checks.iter().map(|check| check.without_cache.0 / 1_000).collect();
    assert_eq!(estimates, [600_000, 666_666, 720_000]);
    // Without carry, 2.6.
    let mut e = estimator("algorithm=v0");
    e.switched(false);
    add(&mut e, 100, inactive((1, 4_000), (1, 4_000), 0), false);
    e.switched(true);
    assert_eq!(add(&mut e, 100, one, true)[0].without_cache, Nanos::from_millis(800));
}

#[test]
fn inactive_costs_come_from_the_last_active_period() {
    let mut e = v1();
    // Active: 200 hits of 1 ms, waits of 0.2 ms, 1000 prefetched of 500 ms.
    let one = Sums { wait_time: Nanos::from_micros(2), ..read((2, 10), (1, 8_000), (10, 5_000)) };
    add(&mut e, 99, one, true);
    e.add(one, true);
    e.switched(false);
    let checks = add(&mut e, 100, inactive((4, 300), (1, 8_000), 1), false);
    // 2.10: 1000 * 400 / 200 = 2000; 2.11: 200 * 400 / 200 = 400; 2.12: 500000 * 100 / 1000 = 50000.
    assert_eq!(sides(&checks[0]), (52_400, 30_000, false));
    let checks = add(&mut e, 100, inactive((4, 524), (1, 8_000), 1), false);
    assert_eq!(sides(&checks[0]), (52_400, 52_400, true));
    assert!(checks[0].active, "one good check turns it on");
}

#[test]
fn a_cache_that_was_never_active_has_a_calibrated_copy_cost() {
    let mut e = estimator("algorithm=v1,copy_us_per_kib=0.5");
    e.switched(false);
    let checks = add(&mut e, 100, inactive((1, 100), (2, 4_000), 3), false);
    // 2 us a block of 4 KiB; prefetches at the cost of misses: 400 ms * 300 / 200.
    assert_eq!(sides(&checks[0]), (200 + 600_000, 10_000, false));
    // No misses either: at the cost of the hits.
    let mut e = estimator("algorithm=v1,copy_us_per_kib=0");
    e.switched(false);
    assert_eq!(sides(&add(&mut e, 100, inactive((2, 100), (0, 0), 3), false)[0]), (15_000, 10_000, false));
}

#[test]
fn corner_cases_of_an_active_cache() {
    // Nothing but hits is good, even if they are slow.
    assert!(add(&mut v1(), 100, read((1, 50), (0, 0), (0, 0)), true)[0].good);
    // No hits is bad if anything was prefetched, and good otherwise.
    assert!(!add(&mut v1(), 100, read((0, 0), (1, 8_000), (31, 1)), true)[0].good);
    assert!(add(&mut v1(), 100, read((0, 0), (32, 8_000), (0, 0)), true)[0].good);
    // Nothing but hits and prefetches: the last cost of a block counts.
    let mut e = estimator("algorithm=v0");
    add(&mut e, 100, read((1, 1), (1, 1_000), (0, 0)), true);
    let hits = read((1, 1), (0, 0), (1, 500));
    for check in add(&mut e, 200, hits, true) {
        assert_eq!(sides(&check), (50_100, 100_000, true));
    }
    // Copies that take longer than the disk are bad, even without prefetches.
    assert_eq!(sides(&add(&mut v1(), 100, read((1, 50), (1, 8), (0, 0)), true)[0]), (5_000, 800, false));
}

#[test]
fn four_good_checks_double_the_interval_up_to_200() {
    let mut e = v1();
    let expected: Vec<u32> = (1..=4).map(|i| 100 * i).chain((1..=9).map(|i| 400 + 200 * i)).collect();
    assert_eq!(check_points(&mut e, 2_200, good()), expected);
    assert_eq!(check_points(&mut estimator("algorithm=v1,interval=fixed"), 1_000, good()).len(), 10);
}

#[test]
fn the_first_bad_check_halves_the_interval_and_the_second_turns_it_off() {
    let mut e = v1();
    // D20: the earliest is read 150.
    let checks: Vec<(u32, bool)> = (1..=150).filter_map(|n| Some((n, e.add(bad(), true)?.active))).collect();
    assert_eq!(checks, [(100, true), (150, false)]);
    // A good check in between starts a new row. The interval stays 50 until four good ones double it.
    let mut e = v1();
    add(&mut e, 100, bad(), true);
    assert_eq!(check_points(&mut e, 300, Sums { prefetch_time: Nanos::ZERO, ..good() })[..1], [50]);
    let mut e = v1();
    add(&mut e, 100, bad(), true);
    // The window still has 50 bad reads at 50 of the good ones: 100 ms against 3.2 s.
    let checks = add(&mut e, 50, good(), true);
    assert_eq!((checks.len(), checks[0].good), (1, true));
    // At 50 the interval cannot be halved again.
    assert_eq!(check_points(&mut e, 50, Sums { prefetch_time: Nanos::from_secs(9), ..bad() }), [50]);
}

#[test]
fn the_sums_are_of_100_reads_whatever_the_interval() {
    let mut e = v1();
    add(&mut e, 100, bad(), true);
    let checks = add(&mut e, 50, read((1, 0), (1, 8_000), (0, 0)), true);
    // 50 bad reads with 2 ms of prefetch each are still in the window, with 50 of the new.
    assert_eq!(sides(&checks[0]), (100_000, 400_000, true));
}

#[test]
fn a_change_resets_the_interval_to_100() {
    let mut e = v1();
    add(&mut e, 150, bad(), true);
    e.switched(false);
    assert_eq!(add(&mut e, 250, inactive((0, 0), (1, 8_000), 31), false).len(), 2, "fixed at 100 while inactive");
    e.switched(true);
    assert_eq!(check_points(&mut e, 100, good()), [100]);
}

#[test]
fn rows_of_good_and_bad_checks_end_with_the_other_kind() {
    let mut e = v1();
    // Fifty reads of each kind in turn, so that the window is half good and half bad: the kind with more time decides.
    let dear = Sums { prefetch_time: Nanos::from_secs(9), ..bad() };
    let cheap = Sums { prefetch_time: Nanos::ZERO, ..good() };
    add(&mut e, 100, dear, true);
    for _ in 0..5 {
        add(&mut e, 50, cheap, true);
        let good = add(&mut e, 50, cheap, true);
        let bad = add(&mut e, 50, dear, true);
        assert_eq!((good[0].good, bad[0].good, bad[0].active), (true, false, true), "one bad check in a row");
    }
}

#[test]
fn each_four_good_checks_double_the_interval_once() {
    let mut e = v1();
    add(&mut e, 100, bad(), true);
    // From 50: four checks, then four of 100 each, and then 200.
    let expected: Vec<u32> =
        (1..=4).map(|i| 50 * i).chain((1..=4).map(|i| 200 + 100 * i)).chain([800, 1_000]).collect();
    assert_eq!(check_points(&mut e, 1_000, good()), expected);
}

#[test]
fn a_change_forgets_reads_and_rows_of_before() {
    let mut e = v1();
    add(&mut e, 150, bad(), true);
    e.switched(false);
    e.switched(true);
    // Two bad checks in a row again.
    let checks: Vec<_> = (1..=150).filter_map(|n| Some((n, e.add(bad(), true)?.active))).collect();
    assert_eq!(checks, [(100, true), (150, false)]);
    e.switched(false);
    e.switched(true);
    // The sums are of reads of this time alone.
    assert_eq!(sides(&add(&mut e, 100, read((1, 7), (1, 9), (1, 1)), true)[0]), (800, 900, true));
}
