//! A disk with a flash cache.

use crate::rig::Rig;
use iopilot_block::{Flags, Nanos, Op};
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, DiskSpec, HybridSpec, HybridWriteSpec};
use iopilot_device::HybridStats;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn hybrid(change: impl Fn(&mut HybridSpec)) -> DiskSpec {
    let mut spec = Catalogue::get("momentus-xt-750g").expect("in the catalogue");
    let DeviceSpec::Hybrid(h) = &mut spec.device else { panic!("it is a hybrid") };
    change(h);
    spec.provenance.clear();
    spec
}

/// Removes the disk's own buffer, which would hide which part served a request.
fn bare(h: &mut HybridSpec) {
    h.disk.cache = Default::default();
}

fn stats(rig: &Rig) -> HybridStats {
    let AnyDevice::Hybrid(disk) = &rig.device else { panic!("it is a hybrid") };
    disk.stats()
}

#[test]
fn what_is_read_again_comes_from_flash() {
    let mut rig = Rig::new(&hybrid(bare));
    let times: Vec<f64> = (0..4u64)
        .map(|i| {
            rig.read(1_000_000 + 1_000_000 * (i % 2), 8);
            rig.wait(Nanos::from_millis(50));
            rig.read(7_000_000, 8).1.as_millis_f64()
        })
        .collect();
    // Twice from the disk, then from flash. The other two were also read twice.
    assert!(times[0] > 1.0 && times[1] > 1.0, "{times:?}");
    assert!(times[2] < 0.5 && times[3] < 0.5, "{times:?}");
    let s = stats(&rig);
    assert_eq!((s.read_hit_sectors, s.promoted_sectors), (2 * 8, 3 * 8));
}

#[test]
fn one_pass_over_the_disk_and_long_reads_leave_the_cache_alone() {
    let mut rig = Rig::new(&hybrid(bare));
    for i in 0..200 {
        rig.read(i * 128, 128);
    }
    for _ in 0..5 {
        rig.read(50_000_000, 1024);
    }
    assert_eq!(stats(&rig).promoted_sectors, 0);
}

#[test]
fn a_write_around_the_cache_drops_the_line_and_one_through_keeps_it() {
    for (write, hit) in [(HybridWriteSpec::Around, false), (HybridWriteSpec::Through, true)] {
        let mut rig = Rig::new(&hybrid(|h| {
            bare(h);
            h.hybrid.write = write;
        }));
        for _ in 0..3 {
            rig.read(4096, 8);
            rig.wait(Nanos::from_millis(50));
        }
        assert!(rig.read(4096, 8).0.service.cache_hit);
        let (_, time) = rig.write(4096, 8);
        assert!(time.as_millis_f64() > 1.0, "it is on the disk: {time}");
        assert_eq!(rig.read(4096, 8).0.service.cache_hit, hit, "{write:?}");
    }
}

#[test]
fn written_back_lines_reach_the_disk_when_it_is_idle() {
    let mut rig = Rig::new(&hybrid(|h| {
        bare(h);
        h.hybrid.write = HybridWriteSpec::Back;
        h.hybrid.dirty_limit_percent = 50.0;
        h.hybrid.destage_idle_ms = 100.0;
    }));
    for i in 0..20u64 {
        let (_, time) = rig.write(i * 1_000_000, 8);
        assert!(time.as_millis_f64() < 1.0, "{time}");
    }
    assert_eq!((stats(&rig).lines_dirty, stats(&rig).destaged_sectors), (20, 0));
    assert!(rig.read(3_000_000, 8).0.service.cache_hit);
    rig.wait(Nanos::from_millis(3000));
    let s = stats(&rig);
    assert_eq!((s.lines_dirty, s.destaged_sectors, s.lines_used), (0, 160, 20));
    // The lines stay in flash.
    assert!(rig.read(3_000_000, 8).0.service.cache_hit);
}

#[test]
fn a_read_that_needs_both_parts_gets_them() {
    let mut rig = Rig::new(&hybrid(|h| {
        bare(h);
        h.hybrid.write = HybridWriteSpec::Back;
        h.hybrid.dirty_limit_percent = 100.0;
        h.hybrid.destage_idle_ms = 1e6;
    }));
    rig.write(1024 + 16, 8);
    let (completion, time) = rig.read(1024, 64);
    assert!(!completion.service.cache_hit && time.as_millis_f64() > 1.0, "{time}");
    let s = stats(&rig);
    assert_eq!((s.read_hit_sectors, s.read_miss_sectors), (8, 56));
}

#[test]
fn pinned_sectors_are_in_flash_from_the_start() {
    let mut rig = Rig::new(&hybrid(|h| {
        bare(h);
        h.hybrid.pinned = vec![(0, 2048)];
    }));
    assert!(rig.read(1000, 64).0.service.cache_hit);
    rig.write(1000, 64);
    assert!(rig.read(1000, 64).0.service.cache_hit);
    assert!(!rig.read(1 << 20, 64).0.service.cache_hit);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All kinds of requests on a cache of a few lines: each completes once, runs are repeatable, and no dirty line is
    /// lost.
    #[test]
    fn every_request_completes_once(seed in any::<u64>(), mode in 0..3usize, line_kib in prop_oneof![Just(4u32), Just(64), Just(512)]) {
        let spec = hybrid(|h| {
            h.hybrid.write = [HybridWriteSpec::Around, HybridWriteSpec::Through, HybridWriteSpec::Back][mode];
            h.hybrid.line_kib = line_kib;
            h.hybrid.remembered_lines = 64;
            h.hybrid.promote_after = 1 + (seed % 3) as u32;
            h.hybrid.destage_idle_ms = 20.0;
            h.hybrid.dirty_limit_percent = 30.0;
            let iopilot_catalogue::HybridFlashSpec::Ssd(ssd) = &mut h.flash else { return };
            ssd.capacity_sectors = 40 * 2 * u64::from(line_kib);
        });
        let run = || {
            let mut rig = Rig::new(&spec);
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let (mut all, mut inside) = (Vec::new(), 0);
            for _ in 0..600 {
                while inside >= 32 || (inside > 0 && random.random_bool(0.4)) {
                    assert!(rig.step(), "requests are lost");
                    inside -= rig.out.len();
                    all.append(&mut rig.out);
                }
                let sectors = if random.random_bool(0.5) { 8 } else { random.random_range(1..300) };
                let lba: u64 = random.random_range(0..100 * 2 * u64::from(line_kib));
                let lba = if random.random_bool(0.6) { lba / 8 * 8 } else { lba };
                let (op, flags) = match random.random_range(0..40) {
                    0 => (Op::Flush, Flags::empty()),
                    1 => (Op::Discard, Flags::empty()),
                    2 => (Op::Write, Flags::FUA),
                    3 => (Op::Write, Flags::PREFLUSH),
                    4..24 => (Op::Read, Flags::empty()),
                    _ => (Op::Write, Flags::empty()),
                };
                rig.submit(op, lba, if op == Op::Flush { 0 } else { sectors }, flags);
                inside += 1;
            }
            rig.settle();
            all.append(&mut rig.out);
            (all, stats(&rig))
        };
        let (completions, counted) = run();
        prop_assert!(completions.windows(2).all(|w| w[0].at <= w[1].at));
        let mut ids: Vec<usize> = completions.iter().map(|c| c.id.index()).collect();
        ids.sort_unstable();
        prop_assert!(ids.iter().copied().eq(0..600));
        prop_assert_eq!(counted.lines_dirty, 0);
        prop_assert!(counted.lines_used <= 40);
        prop_assert_eq!((completions, counted), run());
    }
}

#[test]
fn contradictions_are_refused_by_name() {
    let refused =
        |change: fn(&mut HybridSpec)| DiskSpec::from_toml(&hybrid(change).to_toml(), "f").unwrap_err().to_string();
    let e = refused(|h| h.hybrid.line_kib = 48);
    assert!(e.contains("hybrid.line_kib: got 48, expected KiB, a power of two, 4 to 4096"), "{e}");
    let e = refused(|h| h.hybrid.pinned = vec![(1_465_149_000, 1000)]);
    assert!(e.contains("hybrid.pinned: got [1465149000, 1000], expected pairs"), "{e}");
    let e = refused(|h| h.hybrid.promote_after = 0);
    assert!(e.contains("hybrid.promote_after: got 0"), "{e}");
    let both = hybrid(|_| {}).to_toml()
        + "[flash]\ncapacity_sectors = 1000\nqueue_depth = 1\nparallelism = 1\n\
        read_latency_us = 1.0\nwrite_latency_us = 1.0\nread_rate_mb_s = 1.0\nwrite_rate_mb_s = 1.0\n";
    let e = DiskSpec::from_toml(&both, "f").unwrap_err().to_string();
    assert!(e.contains("flash: got a section, expected [ssd] or [flash], not both"), "{e}");
}
