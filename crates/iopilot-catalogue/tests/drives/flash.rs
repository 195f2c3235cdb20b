//! Solid-state drives against their data sheets, and against the protocol of a device.

use crate::rig::Rig;
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, DiskSpec, PreconditionSpec, SsdSpec};
use iopilot_device::{Completion, Device, DeviceRequest, FlashDrive, FlashStats};
use iopilot_testing::assert_documented;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn ssd(name: &str, change: impl Fn(&mut SsdSpec)) -> DiskSpec {
    let mut spec = Catalogue::get(name).expect("in the catalogue");
    let DeviceSpec::Ssd(ssd) = &mut spec.device else { panic!("{name} is an ssd") };
    change(ssd);
    spec.provenance.clear();
    spec
}

fn drive(rig: &Rig) -> &FlashDrive {
    let AnyDevice::Flash(drive) = &rig.device else { panic!("it is flash") };
    drive
}

/// Keeps `depth` requests in a drive; `next` generates them. Returns requests per second, without the first tenth.
fn load(spec: &DiskSpec, depth: u32, count: u64, mut next: impl FnMut(u64) -> (Op, u64, u32)) -> (f64, FlashStats) {
    let mut rig = Rig::new(spec);
    let (mut issued, mut done, mut since) = (0u64, 0u64, (0u64, Nanos::ZERO));
    let submit = |rig: &mut Rig, id: RequestId, issued: &mut u64, next: &mut dyn FnMut(u64) -> (Op, u64, u32)| {
        let (op, lba, sectors) = next(*issued);
        let request = DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(sectors), flags: Flags::empty() };
        *issued += 1;
        rig.device.submit(request, rig.now);
    };
    for id in 0..depth as usize {
        submit(&mut rig, RequestId::from_index(id), &mut issued, &mut next);
    }
    while done < count {
        assert!(rig.step(), "requests are lost");
        for completion in std::mem::take(&mut rig.out) {
            done += 1;
            if done == count / 10 {
                since = (done, rig.now);
            }
            submit(&mut rig, completion.id, &mut issued, &mut next);
        }
    }
    let rate = (done - since.0) as f64 / (rig.now - since.1).as_secs_f64();
    (rate, drive(&rig).stats())
}

fn random(span: u64, op: Op) -> impl FnMut(u64) -> (Op, u64, u32) {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    move |_| (op, random.random_range(0..span / 8) * 8, 8)
}

fn sequential(capacity: u64, op: Op) -> impl FnMut(u64) -> (Op, u64, u32) {
    move |i| (op, i * 256 % (capacity / 256 * 256), 256)
}

/// A data sheet's figures, measured as the sheet says: random 4 KiB and sequential 128 KiB, queued.
struct Sheet {
    name: &'static str,
    depth: u32,
    random_read: f64,
    random_write: f64,
    /// Random writes go to this many sectors, on a drive in this state.
    span: u64,
    state: PreconditionSpec,
    read_mb_s: f64,
    write_mb_s: f64,
}

const SHEETS: [Sheet; 3] = [
    Sheet {
        name: "ssd-160",
        depth: 32,
        random_read: 35_000.0,
        random_write: 8_600.0,
        span: 8_000_000_000 / 512,
        state: PreconditionSpec::Sequential,
        read_mb_s: 250.0,
        write_mb_s: 100.0,
    },
    Sheet {
        name: "ssd-64",
        depth: 32,
        random_read: 35_000.0,
        random_write: 3_300.0,
        span: 125_045_424,
        state: PreconditionSpec::Random,
        read_mb_s: 250.0,
        write_mb_s: 170.0,
    },
    Sheet {
        name: "micron-7600-max-6t4",
        depth: 256,
        random_read: 2_100_000.0,
        random_write: 675_000.0,
        span: 12_502_446_768,
        state: PreconditionSpec::Random,
        read_mb_s: 12_000.0,
        write_mb_s: 7_000.0,
    },
];

#[test]
fn drives_reach_what_their_sheets_say() {
    let mut table = String::from("| drive | load | sheet | model | error |\n|---|---|---|---|---|\n");
    let mut worst: f64 = 0.0;
    for s in &SHEETS {
        let spec = ssd(s.name, |d| d.precondition = s.state);
        let capacity = spec.capacity().expect("sound");
        let mb = |rate: f64| rate * 131_072.0 / 1e6;
        let fresh = ssd(s.name, |_| {});
        let rates = [
            ("random read, /s", s.random_read, load(&fresh, s.depth, 60_000, random(capacity, Op::Read)).0),
            ("random write, /s", s.random_write, load(&spec, s.depth, 200_000, random(s.span, Op::Write)).0),
            ("sequential read, MB/s", s.read_mb_s, mb(load(&fresh, 32, 10_000, sequential(capacity, Op::Read)).0)),
            ("sequential write, MB/s", s.write_mb_s, mb(load(&fresh, 32, 10_000, sequential(capacity, Op::Write)).0)),
        ];
        for (what, sheet, model) in rates {
            let error = model / sheet - 1.0;
            worst = worst.max(error.abs());
            table.push_str(&format!(
                "| `{}` | {what} | {sheet:.0} | {model:.0} | {:+.1} % |\n",
                s.name,
                (error * 1000.0).round() / 10.0 + 0.0
            ));
        }
    }
    assert!(worst < 0.1, "{table}");
    assert_documented("docs/lab/ssd.md", "sheets", &table);
}

#[test]
fn a_sector_takes_the_latency_of_the_table() {
    // GF Table 3.5: 65 and 85 us, 75 and 85 us.
    for (name, read, write) in [("ssd-160", 65.0, 85.0), ("ssd-64", 75.0, 85.0)] {
        let mut rig = Rig::new(&ssd(name, |_| {}));
        let (_, time) = rig.read(1_000_000, 1);
        assert!((time.as_micros_f64() - read).abs() < 0.5, "{name}: {time}");
        rig.wait(Nanos::from_millis(1));
        let (_, time) = rig.write(2_000_000, 1);
        assert!((time.as_micros_f64() - write).abs() < 0.5, "{name}: {time}");
    }
}

#[test]
fn a_read_takes_array_channel_and_link() {
    // 50 us, 4 KiB at 40 MB/s, 4 KiB at 250 MB/s.
    let mut rig = Rig::new(&ssd("ssd-160", |d| d.host.read_latency_us = 0.0));
    let (completion, time) = rig.read(80_000, 8);
    assert!((time.as_micros_f64() - (50.0 + 102.4 + 16.384)).abs() < 0.01, "{time}");
    assert!(!completion.service.cache_hit);
}

#[test]
fn what_was_never_written_or_was_discarded_takes_no_flash() {
    let mut rig = Rig::new(&ssd("ssd-160", |d| d.precondition = PreconditionSpec::Empty));
    assert!(rig.read(80_000, 8).0.service.cache_hit);
    let mut rig = Rig::new(&ssd("ssd-160", |_| {}));
    assert!(!rig.read(80_000, 8).0.service.cache_hit);
    rig.run(Op::Discard, 80_004, 12, Flags::empty());
    assert!(!rig.read(80_000, 8).0.service.cache_hit, "half a unit is not freed");
    assert!(rig.read(80_008, 8).0.service.cache_hit);
    assert_eq!(drive(&rig).stats().units_trimmed, 1);
}

#[test]
fn a_flush_waits_for_the_flash_and_not_with_capacitors() {
    for (protected, least, most) in [(false, 900.0, 3000.0), (true, 0.0, 200.0)] {
        let mut rig = Rig::new(&ssd("ssd-160", |d| d.buffer.power_loss_protected = protected));
        rig.write(4096, 3);
        let (_, time) = rig.run(Op::Flush, 0, 0, Flags::empty());
        let us = time.as_micros_f64();
        assert!(us >= least && us <= most, "protected {protected}: {us}");
        // A unit was written in part: the rest was read first, and half a row stays empty.
        let stats = drive(&rig).stats();
        let written = (stats.units_filled, stats.units_programmed, stats.units_padded);
        assert_eq!(written, if protected { (0, 0, 0) } else { (1, 1, 1) });
        let (_, fua) = rig.run(Op::Write, 8192, 8, Flags::FUA);
        assert!((fua.as_micros_f64() > 900.0) != protected, "{fua}");
    }
}

#[test]
fn writes_to_the_same_place_coalesce_and_are_read_from_the_buffer() {
    let mut rig = Rig::new(&ssd("ssd-64", |d| d.buffer.keep_kib = 64));
    for _ in 0..10 {
        rig.write(800, 8);
    }
    assert!(rig.read(800, 8).0.service.cache_hit);
    let stats = drive(&rig).stats();
    assert_eq!((stats.units_buffered, stats.units_coalesced, stats.units_programmed), (10, 9, 0));
}

#[test]
fn suspension_saves_a_read_from_waiting_for_a_program() {
    let slowest = |suspend| {
        // With one die, every read meets the programs.
        let spec = ssd("ssd-160", |d| {
            let n = &mut d.nand;
            (n.channels, n.chips_per_channel, n.dies_per_chip) = (1, 1, 1);
            n.suspend_us = suspend;
            d.capacity_sectors = 7_000_000;
            d.host.command_us = 0.0;
        });
        let mut rig = Rig::new(&spec);
        let mut slowest = Nanos::ZERO;
        for i in 0..200u64 {
            rig.write(i * 16, 16);
            slowest = slowest.max(rig.read(5_000_000 + i * 64, 8).1);
        }
        slowest.as_micros_f64()
    };
    let (waits, suspends) = (slowest(None), slowest(Some(20.0)));
    assert!(waits > 600.0, "{waits}");
    assert!(suspends < 500.0, "{suspends}");
}

fn small(seed: u64, planes: u32, cell: usize) -> DiskSpec {
    ssd("ssd-64", |d| {
        let n = &mut d.nand;
        (n.channels, n.chips_per_channel, n.dies_per_chip, n.planes_per_die) = (2, 1, 2, planes);
        (n.blocks_per_plane, n.pages_per_block, n.page_kib) = (24, 16, 8);
        n.independent_plane_reads = seed % 3 == 0;
        n.multi_plane = seed % 2 == 0;
        n.suspend_us = (seed % 5 < 3).then_some(10.0);
        n.read_us = vec![25.0; cell];
        n.program_us = (1..=cell).map(|bit| 200.0 * bit as f64).collect();
        n.cell = [iopilot_catalogue::CellSpec::Slc, iopilot_catalogue::CellSpec::Tlc][usize::from(cell > 1)];
        d.ftl.copy_back = false;
        d.ftl.placement_us = 3.0;
        (d.ftl.gc_low_blocks, d.ftl.gc_high_blocks) = (2, 4);
        d.buffer.size_kib = 64;
        d.buffer.keep_kib = [0, 16][(seed % 2) as usize];
        d.buffer.write_back = seed % 7 != 0;
        d.precondition =
            [PreconditionSpec::Empty, PreconditionSpec::Sequential, PreconditionSpec::Random][(seed % 3) as usize];
        let blocks = if n_multi(seed) { 24 } else { 24 * planes };
        let row = if n_multi(seed) { planes * 2 } else { 2 };
        d.capacity_sectors = u64::from(4 * (blocks - 6) * 15 * row) * 8;
        d.seed = seed;
    })
}

fn n_multi(seed: u64) -> bool {
    seed % 2 == 0
}

/// Runs all kinds of requests, several at a time. Completions come in order of time.
fn run(spec: &DiskSpec, seed: u64, count: usize) -> (Vec<Completion>, FlashStats) {
    let mut rig = Rig::new(spec);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let capacity = rig.device.capacity();
    let (mut all, mut inside) = (Vec::new(), 0);
    for _ in 0..count {
        while inside >= 32 || (inside > 0 && random.random_bool(0.3)) {
            assert!(rig.step(), "requests are lost");
            inside -= rig.out.len();
            all.append(&mut rig.out);
        }
        let sectors = if random.random_bool(0.6) { 8 } else { random.random_range(1..200) };
        let sectors = sectors.min(capacity as u32);
        let lba = random.random_range(0..=capacity - u64::from(sectors));
        let lba = if random.random_bool(0.7) { lba / 8 * 8 } else { lba };
        let (op, flags) = match random.random_range(0..40) {
            0 => (Op::Flush, Flags::empty()),
            1 => (Op::Discard, Flags::empty()),
            2 => (Op::Write, Flags::FUA),
            3 => (Op::Write, Flags::PREFLUSH),
            4..15 => (Op::Read, Flags::empty()),
            _ => (Op::Write, Flags::empty()),
        };
        rig.submit(op, lba, if op == Op::Flush { 0 } else { sectors }, flags);
        inside += 1;
    }
    rig.settle();
    all.append(&mut rig.out);
    assert_eq!(all.len(), count);
    (all, drive(&rig).stats())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_request_completes_once_and_runs_repeat(seed in any::<u64>(), planes in 1u32..3, tlc in any::<bool>()) {
        let spec = small(seed, planes, if tlc { 3 } else { 1 });
        let (completions, stats) = run(&spec, seed, 1500);
        prop_assert!(completions.windows(2).all(|w| w[0].at <= w[1].at));
        let mut ids: Vec<usize> = completions.iter().map(|c| c.id.index()).collect();
        ids.sort_unstable();
        prop_assert!(ids.iter().copied().eq(0..completions.len()));
        let (again, same) = run(&spec, seed, 1500);
        prop_assert_eq!(completions, again);
        prop_assert_eq!(stats, same);
    }

    /// Every accepted unit is programmed, coalesced or still in the buffer.
    #[test]
    fn units_are_conserved(seed in any::<u64>()) {
        let spec = small(seed, 2, 1);
        let (_, stats) = run(&spec, seed, 1000);
        let left = stats.units_buffered - stats.units_coalesced - stats.units_programmed;
        prop_assert!(left <= 64 / 4 + stats.units_trimmed + 200, "{:?}", stats);
        prop_assert!(stats.units_programmed + stats.units_coalesced <= stats.units_buffered);
    }
}

/// Drives as small and unusual as the checks accept.
fn odd() -> impl Strategy<Value = DiskSpec> {
    let geometry = (1u32..4, 1u32..3, 1u32..3, 1u32..5, 8u32..24, 2u32..20);
    // Page, unit, error-correction word.
    let sizes = [(1u32, 1, 1), (4, 4, 8), (4, 2, 4), (6, 3, 2), (16, 4, 8), (16, 16, 1), (64, 32, 64)];
    let sizes = proptest::sample::select(sizes.to_vec());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let rest = (2u32..5, 0u32..4, 0.0f64..1.0, 0u64..4, 0u8..6);
    (geometry, sizes, flags, rest).prop_map(|(geometry, sizes, flags, rest)| {
        ssd("ssd-64", |d| {
            let n = &mut d.nand;
            (
                n.channels,
                n.chips_per_channel,
                n.dies_per_chip,
                n.planes_per_die,
                n.blocks_per_plane,
                n.pages_per_block,
            ) = geometry;
            (n.page_kib, d.ftl.unit_kib, n.codeword_sectors) = sizes;
            (n.multi_plane, n.independent_plane_reads, d.ftl.copy_back, d.buffer.write_back, _) = flags;
            d.ftl.copy_back &= n.page_kib == d.ftl.unit_kib;
            n.suspend_us = flags.4.then_some(5.0);
            let (low, more, fill, keep, state) = rest;
            (d.ftl.gc_low_blocks, d.ftl.gc_high_blocks) = (low, low + more);
            d.ftl.wear_spread = (state > 2).then_some(1 + more);
            d.ftl.placement_us = fill;
            let row = if n.multi_plane { n.planes_per_die } else { 1 } * n.page_kib;
            d.buffer.size_kib = u64::from(row) * (2 + keep);
            d.buffer.keep_kib = u64::from(row) * keep;
            d.precondition = [PreconditionSpec::Empty, PreconditionSpec::Sequential, PreconditionSpec::Random]
                [usize::from(state % 3)];
            // All accepted sectors, or a part of them.
            let blocks = u64::from(n.blocks_per_plane * n.planes_per_die * n.page_kib / row);
            let used = blocks.saturating_sub(u64::from(low + more) + 2) * u64::from((n.pages_per_block - 1) * row);
            let dies = u64::from(n.channels * n.chips_per_channel * n.dies_per_chip);
            d.capacity_sectors = ((dies * used * 2) as f64 * if fill < 0.5 { 1.0 } else { fill }) as u64;
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn accepted_descriptions_serve_requests(spec in odd(), seed in any::<u64>()) {
        let read = DiskSpec::from_toml(&spec.to_toml(), "odd");
        prop_assume!(read.is_ok());
        let (completions, stats) = run(&read.unwrap(), seed, 400);
        prop_assert_eq!(completions.len(), 400);
        prop_assert!(stats.erases_max >= stats.erases_min);
    }
}

/// A buffer of six units holds one unit to write; the others were discarded. Writes that wait for space must be
/// admitted.
#[test]
fn discards_in_a_full_buffer_let_writes_in() {
    let spec = ssd("ssd-64", |d| {
        let n = &mut d.nand;
        (n.channels, n.chips_per_channel, n.dies_per_chip, n.planes_per_die) = (1, 1, 1, 1);
        (n.blocks_per_plane, n.pages_per_block, n.page_kib, n.codeword_sectors) = (21, 4, 4, 4);
        n.suspend_us = Some(5.0);
        d.ftl.copy_back = false;
        (d.ftl.unit_kib, d.ftl.gc_low_blocks, d.ftl.gc_high_blocks) = (2, 2, 5);
        d.ftl.wear_spread = None;
        (d.buffer.size_kib, d.buffer.keep_kib, d.buffer.write_back) = (12, 4, true);
        d.precondition = PreconditionSpec::Empty;
        (d.capacity_sectors, d.seed) = (336, 0);
    });
    let (completions, _) = run(&spec, 4_735_337_141_963_877_587, 400);
    assert_eq!(completions.len(), 400);
}

#[test]
fn a_full_drive_overwritten_at_random_slows_down() {
    // The write cliff: first the spare blocks are used up, then each write causes two to three moves.
    let spec = small(2, 1, 1);
    let capacity = spec.capacity().unwrap();
    let (_, first) = load(&spec, 8, capacity / 8 / 20, random(capacity, Op::Write));
    let (_, long) = load(&spec, 8, capacity / 8 * 6, random(capacity, Op::Write));
    assert!(long.write_amplification > 1.3, "{}", long.write_amplification);
    assert!(first.write_amplification < long.write_amplification + 0.3);
    assert!(long.erases > 0 && long.erases_max >= long.erases_min);
}

#[test]
fn contradictions_are_refused_by_name() {
    let refused = |change: fn(&mut SsdSpec)| {
        let spec = ssd("ssd-160", change);
        DiskSpec::from_toml(&spec.to_toml(), "f").unwrap_err().to_string()
    };
    let e = refused(|d| d.capacity_sectors = 340_000_000);
    assert!(e.contains("ssd.capacity_sectors: got 340000000, expected at most 33"), "{e}");
    let e = refused(|d| d.ftl.unit_kib = 3);
    assert!(e.contains("ssd.ftl.unit_kib: got 3, expected a divisor of the 4 KiB of a page"), "{e}");
    let e = refused(|d| d.nand.read_us = vec![1.0, 2.0, 3.0]);
    assert!(e.contains("ssd.nand.read_us: got 3 times, expected one time, or 2 for the bits of a cell"), "{e}");
    let e = refused(|d| d.ftl.gc_high_blocks = 2);
    assert!(e.contains("ssd.ftl.gc_high_blocks: got 2, expected blocks, not below gc_low_blocks"), "{e}");
    let e = refused(|d| d.buffer.size_kib = 8);
    assert!(e.contains("ssd.buffer.size_kib: got 8, expected KiB, two rows of pages at least, 16"), "{e}");
    let e = refused(|d| d.host.read_rate_mb_s = 0.0);
    assert!(e.contains("ssd.host.read_rate_mb_s: got 0"), "{e}");
    let text = Catalogue::toml("ssd-160").unwrap().replace("gc_low_blocks =", "gc_low_block =");
    let e = DiskSpec::from_toml(&text, "f").unwrap_err().to_string();
    assert!(e.contains("did you mean `gc_low_blocks`?"), "{e}");
}
