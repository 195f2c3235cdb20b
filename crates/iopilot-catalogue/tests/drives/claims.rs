//! The behaviour of drives that papers and data sheets claim.

use crate::rig::{Rig, SHEET, bare, disk};
use iopilot_block::{Flags, Nanos, Op};
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, PolicySpec};
use iopilot_device::Device;

const NAMES: [&str; 7] =
    ["st3400620as", "wd1200bb", "dg072a4951", SHEET, "savvio-10k4-600g", "constellation2-1t", "ultrastar-hc310-4t"];

#[test]
fn random_reads_wait_half_a_revolution() {
    // GF Tables 2.1, 3.1 and 4.1: 4.16 ms at 7200 rpm.
    for (name, expected_ms) in [("st3400620as", 4.1667), ("dg072a4951", 3.0), (SHEET, 5.5556)] {
        let mut rig = Rig::new(&disk(name, bare));
        let mut next = rig.random(1);
        let mut sum = 0.0;
        let count = 10_000;
        for _ in 0..count {
            sum += rig.read(next(8), 8).0.service.rotation.as_millis_f64();
        }
        let mean = sum / f64::from(count);
        assert!((mean / expected_ms - 1.0).abs() < 0.02, "{name}: {mean}");
    }
}

#[test]
fn the_average_seek_is_the_data_sheets() {
    // The average over pairs of cylinders, as makers define it, is exact. The average over random blocks is a little
    // lower, because outer tracks hold more of them.
    for name in NAMES {
        let spec = disk(name, bare);
        let DeviceSpec::Mechanical(m) = &spec.device else { unreachable!() };
        let Some(average) = m.mechanics.seek.average_ms else { continue };
        let mut rig = Rig::new(&spec);
        let mut next = rig.random(2);
        let count = 10_000;
        let mut sum = 0.0;
        for _ in 0..count {
            sum += rig.read(next(8), 8).0.service.seek.as_millis_f64();
        }
        let mean = sum / f64::from(count);
        assert!(mean < average * 1.01 && mean > average * 0.93, "{name}: {mean} for {average}");
    }
}

#[test]
fn sequential_reads_stream_at_the_rate_of_the_medium_and_the_outer_zone_is_faster() {
    for name in Catalogue::names() {
        let spec = Catalogue::get(name).unwrap();
        let DeviceSpec::Mechanical(m) = &spec.device else { continue };
        let mut rig = Rig::new(&spec);
        rig.stream(Op::Read, 0, 256, 4); // the arm is now there
        let outer = rig.stream(Op::Read, 1024, 256, 800);
        let last = rig.device.capacity() - 256 * 404;
        rig.stream(Op::Read, last, 256, 4);
        let inner = rig.stream(Op::Read, last + 1024, 256, 400);
        assert!(outer > inner * 1.2, "{name}: {outer} outside, {inner} inside");
        let (Some(o), Some(i)) = (m.geometry.outer_rate_mb_s, m.geometry.inner_rate_mb_s) else { continue };
        // Losing a revolution at each track would halve the rate.
        assert!((outer / o - 1.0).abs() < 0.02, "{name}: {outer} for {o} outside");
        assert!((inner / i - 1.0).abs() < 0.04, "{name}: {inner} for {i} inside");
    }
}

#[test]
fn sequential_writes_stream_with_write_back_and_lose_a_revolution_each_without() {
    let mut back = Rig::new(&disk("st3400620as", |_| {}));
    let rate = back.stream(Op::Write, 0, 256, 800);
    assert!(rate > 0.9 * 78.3, "{rate}");
    let mut through = Rig::new(&disk("st3400620as", |m| {
        m.cache.write_back = false;
        m.cache.write_segments = 0;
    }));
    let rate = through.stream(Op::Write, 0, 256, 100);
    // The next request comes just too late: it waits one revolution plus the angle of its 256 of some 1,490 sectors.
    let expected = 256.0 * 512.0 / 1e6 / (8.333e-3 * (1.0 + 256.0 / 1490.0));
    assert!((rate / expected - 1.0).abs() < 0.03, "{rate} for {expected}");
}

#[test]
fn a_transfer_over_several_tracks_takes_the_sectors_and_the_skews() {
    let mut rig = Rig::new(&disk(SHEET, bare));
    // Five tracks of 96 sectors, four head switches with a skew of 14 sectors.
    let (c, _) = rig.read(0, 480);
    let sector = 60e3 / 5400.0 / 96.0;
    let bus = 512.0 / 10e3;
    let expected = (480.0 + 4.0 * 14.0) * sector + bus;
    assert!((c.service.transfer.as_millis_f64() - expected).abs() < 0.01, "{} for {expected}", c.service.transfer);
}

#[test]
fn a_slow_bus_is_the_limit_and_a_fast_one_overlaps_the_medium() {
    let time = |rate| {
        let mut rig = Rig::new(&disk(SHEET, |m| {
            bare(m);
            m.interface.rate_mb_s = rate;
        }));
        rig.read(0, 96).0.service.transfer.as_millis_f64()
    };
    let medium = 60e3 / 5400.0;
    assert!((time(100.0) - medium - 0.512 / 100.0).abs() < 0.001, "only the last sector is left: {}", time(100.0));
    assert!((time(1.0) - 96.0 * 0.512).abs() < 0.2, "{}", time(1.0));
}

#[test]
fn reading_again_hits_the_cache_in_the_time_gf_measured() {
    // GF 4.3.1: 0.15 to 0.22 ms for a 4 kB hit, about 8 ms for a miss.
    let mut rig = Rig::new(&Catalogue::get("hd-320-16").unwrap());
    let (miss, _) = rig.read(1_000_000, 8);
    assert!(!miss.service.cache_hit);
    rig.read(300_000_000, 8);
    let (hit, time) = rig.read(1_000_000, 8);
    assert!(hit.service.cache_hit && hit.service.seek == Nanos::ZERO && hit.service.rotation == Nanos::ZERO);
    assert!((Nanos::from_micros(150)..Nanos::from_micros(220)).contains(&time), "{time}");
}

#[test]
fn the_capturing_programs_of_gf_find_the_segments_and_read_ahead_sizes_of_table_4_2() {
    // GF 4.3.6: N reads 400 MB apart, then the block behind each. All hit if there are N segments.
    for (name, segments) in [("hd-320-16", 64), ("hd-500-16", 20), ("hd-250-32", 63)] {
        let spec = disk(name, |m| {
            m.cache.write_back = false;
            m.cache.write_segments = 0;
        });
        let hits = |n: u64| {
            let mut rig = Rig::new(&spec);
            let lba = |k: u64| k * 819_200;
            for k in 0..n {
                rig.read(lba(k), 8);
                rig.wait(Nanos::from_millis(50));
            }
            (0..n).all(|k| rig.read(lba(k) + 8, 8).0.service.cache_hit)
        };
        assert!(hits(segments) && !hits(segments + 1), "{name}");
    }
    // One random read, then one that ends `s` sectors behind it.
    let spec = Catalogue::get("hd-320-16").unwrap();
    let held = |first: u64, reads: u64, s: u64| {
        let mut rig = Rig::new(&spec);
        rig.read(400_000_000, 8);
        for i in 0..reads {
            rig.read(first + 8 * i, 8);
        }
        rig.wait(Nanos::from_millis(50));
        rig.read(first + 8 * reads - 8 + s, 8).0.service.cache_hit
    };
    assert!(held(5_000_000, 1, 96) && !held(5_000_000, 1, 104), "96 sectors behind a random read");
    assert!(held(5_000_000, 3, 256) && !held(5_000_000, 3, 264), "256 behind sequential ones");
}

#[test]
fn strided_reads_within_the_read_ahead_hit() {
    // GF 3.4.2, 8 kB strided read: 4 kB read, 4 kB skipped.
    let mut rig = Rig::new(&Catalogue::get("hd-500-32").unwrap());
    let hits = (0..100).filter(|i| rig.read(7_000_000 + i * 16, 8).0.service.cache_hit).count();
    assert!(hits > 90, "{hits}");
}

#[test]
fn backward_reads_hit_what_passed_before() {
    let mut rig = Rig::new(&Catalogue::get("hd-500-32").unwrap());
    let hits = (0..200).filter(|i| rig.read(9_000_000 - i * 8, 8).0.service.cache_hit).count();
    assert!(hits > 100, "{hits}");
}

/// Hits of interleaved readers, each of which reads a block `step` sectors from its last one.
fn hits_in_turns(readers: u64, step: i64) -> usize {
    let mut rig = Rig::new(&Catalogue::get("hd-500-16").expect("in the catalogue"));
    let turn = |i: i64| (0..readers).map(move |r| (9_000_000 + r * 100_000_000).wrapping_add_signed(i * step));
    let mut hits = |lba: &u64| {
        rig.wait(Nanos::from_millis(3));
        rig.read(*lba, 8).0.service.cache_hit
    };
    (0..200).flat_map(turn).filter(|lba| hits(lba)).count()
}

#[test]
fn a_reader_continues_in_its_segment_while_others_read_in_between() {
    // GF 4.3.1: the read-ahead of a segment that was hit doubles, whatever reads come in between. Backward; and 4 kB of
    // 16.
    for (step, hits) in [(-8, 0.9), (32, 0.9)] {
        let alone = hits_in_turns(1, step) as f64;
        for readers in [2, 8] {
            let each = hits_in_turns(readers, step) as f64 / readers as f64;
            println!("step {step}: {alone} hits of 200 alone, {each} of {readers} readers");
            assert!(each >= hits * alone, "step {step}: {alone} alone, {each} of {readers}");
        }
    }
}

#[test]
fn write_back_acknowledges_at_once_and_writes_when_idle() {
    let mut rig = Rig::new(&Catalogue::get("st3400620as").unwrap());
    let (c, time) = rig.write(123_456_000, 8);
    assert!(c.service.cache_hit && time < Nanos::from_micros(200), "{time}");
    assert_eq!(rig.dirty(), 8);
    rig.settle();
    assert_eq!(rig.dirty(), 0);
}

#[test]
fn writing_after_read_ahead_never_waits_for_a_fraction_of_a_nanosecond() {
    // Read-ahead that ended a thousandth of a nanosecond after an event once stopped the clock.
    let mut rig = Rig::new(&Catalogue::get("hd-500-32").unwrap());
    let mut next = rig.random(9);
    for _ in 0..5000 {
        rig.read(next(8), 8);
        rig.write(next(8), 8);
        rig.settle();
        assert_eq!(rig.dirty(), 0);
        rig.out.clear();
    }
}

#[test]
fn a_full_write_buffer_slows_random_writes_to_the_medium() {
    // GF 4.3.1: a burst saturates the cache, as if there were no cache.
    let mut rig = Rig::new(&Catalogue::get("st3400620as").unwrap());
    let mut next = rig.random(4);
    let times: Vec<f64> = (0..400).map(|_| rig.write(next(8), 8).1.as_millis_f64()).collect();
    assert!(times[..4].iter().all(|&t| t < 0.3), "{:?}", &times[..4]);
    let mean = times[100..].iter().sum::<f64>() / 300.0;
    assert!(mean > 5.0 && mean < 16.0, "{mean}");
}

#[test]
fn a_flush_returns_when_all_before_it_is_on_the_medium() {
    let mut rig = Rig::new(&Catalogue::get("st3400620as").unwrap());
    let mut next = rig.random(5);
    for _ in 0..4 {
        rig.write(next(8), 8);
    }
    assert!(rig.dirty() > 0);
    let (_, time) = rig.run(Op::Flush, 0, 0, Flags::empty());
    assert!(time > Nanos::from_millis(5));
    assert_eq!(rig.dirty(), 0);
    let (_, time) = rig.run(Op::Flush, 0, 0, Flags::empty());
    assert!(time < Nanos::from_millis(1), "nothing to flush: {time}");
}

#[test]
fn forced_writes_bypass_the_buffer() {
    let mut rig = Rig::new(&Catalogue::get("st3400620as").unwrap());
    rig.write(5000, 8);
    let (c, time) = rig.run(Op::Write, 700_000_000, 8, Flags::FUA);
    assert!(!c.service.cache_hit && time > Nanos::from_millis(1));
    // With a flush first, buffered writes reach the medium before it.
    rig.settle();
    rig.write(9000, 8);
    let (_, time) = rig.run(Op::Write, 700_000_000, 8, Flags::FUA | Flags::PREFLUSH);
    assert!(time > Nanos::from_millis(10) && rig.dirty() == 0, "{time}");
}

#[test]
fn shortest_positioning_time_first_beats_first_come() {
    // Seltzer et al. 1990: three to four times at best.
    let run = |policy| {
        let mut rig = Rig::new(&disk("st3400620as", |m| {
            m.interface.queue_policy = policy;
            m.interface.age_limit_ms = None;
        }));
        rig.saturate(32, 5000, 6)
    };
    let (fifo, sptf) = (run(PolicySpec::Fifo), run(PolicySpec::Sptf));
    assert!(fifo / sptf > 2.0 && fifo / sptf < 4.5, "{fifo} against {sptf}");
}

#[test]
fn an_age_limit_bounds_the_wait() {
    let slowest = |limit| {
        let mut rig = Rig::new(&disk("st3400620as", |m| m.interface.age_limit_ms = limit));
        let mut next = rig.random(7);
        let mut arrived = std::collections::HashMap::new();
        let mut slowest = Nanos::ZERO;
        for _ in 0..32 {
            arrived.insert(rig.submit(Op::Read, next(8), 8, Flags::empty()), rig.now);
        }
        for _ in 0..20_000 {
            rig.step();
            for c in std::mem::take(&mut rig.out) {
                slowest = slowest.max(c.at - arrived[&c.id]);
                arrived.insert(rig.submit(Op::Read, next(8), 8, Flags::empty()), rig.now);
            }
        }
        slowest
    };
    let (free, bound) = (slowest(None), slowest(Some(300.0)));
    assert!(bound < free && bound < Nanos::from_millis(600), "{bound} against {free}");
}

#[test]
fn geometry_derived_from_capacity_and_rates_matches_the_manuals() {
    // Tracks of a surface from the manuals. The descriptions do not use them, except for the rates of the
    // Constellation.2.
    for (name, tracks) in
        [("savvio-10k4-600g", 147_620.0), ("constellation-es3-4t", 320_800.0), ("constellation2-1t", 165_800.0)]
    {
        let AnyDevice::Mechanical(disk) = Catalogue::get(name).unwrap().build().unwrap() else {
            panic!("{name} is mechanical")
        };
        let cylinders = f64::from(disk.model().mechanics.geometry.cylinders());
        assert!((cylinders / tracks - 1.0).abs() < 0.01, "{name}: {cylinders}");
    }
}

#[test]
fn flash_is_a_latency_and_a_bandwidth() {
    let mut rig = Rig::new(&Catalogue::get("ssd-160-simple").unwrap());
    let (_, time) = rig.read(12_345, 8);
    assert!((time.as_micros_f64() - (65.0 + 4096.0 / 250.0)).abs() < 0.01, "{time}");
    let rate = {
        let start = rig.now;
        for i in 0..32 {
            rig.submit(Op::Write, i * 2048, 2048, Flags::empty());
        }
        rig.settle();
        32.0 * 1.048_576 / (rig.now - start).as_secs_f64()
    };
    assert!((rate / 100.0 - 1.0).abs() < 0.01, "{rate}");
}
