//! Waiting times and starvation under the text-book algorithms (Carroll 2.2.5).

mod common;

use common::{Bench, CAPACITY, Disk, Event, Io};
use iopilot_block::{Histogram, Nanos};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The response times of `n` processes for `secs` seconds. Each reads at a random position as soon as its last read is
/// complete.
fn random_readers(spec: &str, n: u32, secs: u64) -> (Histogram, Bench) {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let mut bench = Bench::new(spec, 1);
    // These algorithms optimize seeks, so seeks take most of the time.
    bench.disk = Disk { half_turn: Nanos::from_micros(500), full_stroke: Nanos::from_millis(40), ..Disk::default() };
    let mut place = move || rng.random_range(0..CAPACITY - 8);
    for p in 0..n {
        bench.submit(Nanos::ZERO, Io::read(p, place(), 8));
    }
    let mut times = Histogram::new();
    bench.run(Nanos::from_secs(secs), |done, out| {
        times.record(done.response());
        out.push((Nanos::from_micros(10), Event::Submit(Io::read(done.io.process.0, place(), 8))));
    });
    (times, bench)
}

/// Geist's findings, as Carroll (2.2.5) reports them: R trades the mean for the variance, V(0.2) beats both ends, and
/// from 0.4 on nothing changes.
#[test]
fn a_larger_r_lowers_the_variance_and_a_smaller_one_the_mean() {
    let measure = |r: f64, n: u32| {
        let (times, _) = random_readers(&format!("vscan:r={r}"), n, 600);
        (times.mean_ms(), times.stddev_ms())
    };
    let [sstf, v02, scan] = [0.0, 0.2, 1.0].map(|r| measure(r, 6));
    assert!(sstf.0 < v02.0 && v02.0 < scan.0, "mean of 6: {sstf:?}, {v02:?}, {scan:?}");
    assert!(sstf.1 > 1.1 * v02.1 && v02.1 > scan.1, "deviation of 6: {sstf:?}, {v02:?}, {scan:?}");
    let [sstf, v02, v04, scan] = [0.0, 0.2, 0.4, 1.0].map(|r| measure(r, 16));
    assert!(v02.0 < sstf.0 && v02.0 < scan.0, "mean of 16: {sstf:?}, {v02:?}, {scan:?}");
    assert!((v04.0 / scan.0 - 1.0).abs() < 0.001 && (v04.1 / scan.1 - 1.0).abs() < 0.001, "{v04:?}, {scan:?}");
}

/// FCFS is the slowest; the others are close to each other.
#[test]
fn ordering_by_position_beats_order_of_arrival() {
    let rate = |spec| random_readers(spec, 32, 200).0.count();
    let fcfs = rate("fcfs");
    for spec in ["sstf", "scan", "look", "cscan", "clook", "vscan", "vr"] {
        assert!(rate(spec) > fcfs * 5 / 4, "{spec}: {} against {fcfs}", rate(spec));
    }
}

/// Two processes keep the arm of SSTF at one end of the disk. A request at the other end waits as long as they
/// continue. The elevators serve it within a sweep, `vr` within its deadline.
#[test]
fn sstf_starves_and_the_others_do_not() {
    let wait_for_the_far_one = |spec: &str| {
        let mut bench = Bench::new(spec, 1);
        let mut rng = Pcg64Mcg::seed_from_u64(9);
        for p in 1..=2 {
            bench.submit(Nanos::ZERO, Io::read(p, u64::from(p) * 1000, 8));
        }
        bench.submit(Nanos::from_millis(1), Io::read(9, CAPACITY - 100, 8));
        let mut far = None;
        bench.run(Nanos::from_secs(30), |done, out| {
            if done.io.process.0 == 9 {
                far = Some(done.response());
            } else {
                let again = Io::read(done.io.process.0, rng.random_range(0..10_000), 8);
                out.push((Nanos::from_micros(10), Event::Submit(again)));
            }
        });
        far
    };
    assert_eq!(wait_for_the_far_one("sstf"), None);
    assert_eq!(wait_for_the_far_one("vscan:r=0"), None);
    for spec in ["fcfs", "scan", "look", "cscan", "clook", "vscan:r=1"] {
        assert!(wait_for_the_far_one(spec).is_some_and(|w| w < Nanos::from_millis(100)), "{spec}");
    }
    assert_eq!(wait_for_the_far_one("sptf"), None);
    assert_eq!(wait_for_the_far_one("aged-sptf:age_weight=0"), None);
    // The seek of about 10 ms is outweighed at 6 us a millisecond.
    let aged = wait_for_the_far_one("aged-sptf").expect("age saves it");
    assert!((800.0..2500.0).contains(&aged.as_millis_f64()), "{aged}");
    let weighted = wait_for_the_far_one("weighted-sptf:max_wait=600").expect("age saves it");
    assert!((300.0..620.0).contains(&weighted.as_millis_f64()), "{weighted}");
    let timed_out = "ioqueue:policy=SPTF_OPT:timeout_scheme=1:timeout=500";
    let timed_out = wait_for_the_far_one(timed_out).expect("the timeout queue saves it");
    assert!((500.0..530.0).contains(&timed_out.as_millis_f64()), "{timed_out}");
    let tour = wait_for_the_far_one("tsps").expect("it is in the next batch");
    assert!(tour < Nanos::from_millis(200), "{tour}");
    let vr = wait_for_the_far_one("vr:rev_penalty=1").expect("its deadline saves it");
    // 500 ms, and the rest of a batch of 16.
    assert!((500.0..700.0).contains(&vr.as_millis_f64()), "{vr}");
}
