//! A disk's predictions of positioning times agree with its service.

use crate::rig::{Rig, SHEET, bare, disk};
use iopilot_block::{Cached, Flags, Lba, Nanos, Op, Positions, Sectors};
use iopilot_catalogue::{Catalogue, DeviceSpec};
use iopilot_device::Device;

fn positions(rig: &Rig) -> &dyn Positions {
    rig.device.positions().expect("a disk knows its positions")
}

/// The moment at which the arm starts: the request arrives at `at`, and its command is processed first.
fn start(rig: &Rig, op: Op) -> Nanos {
    rig.now + Nanos(positions(rig).initiation(op) as u64)
}

#[test]
fn an_idle_disk_takes_as_long_as_it_said() {
    for name in ["hd-500-16", "wd1200bb", SHEET, "dg072a4951"] {
        let mut rig = Rig::new(&disk(name, bare));
        let mut place = rig.random(3);
        let mut last = None;
        for i in 0..400u64 {
            let op = if i % 3 == 0 { Op::Write } else { Op::Read };
            let (lba, sectors) = (Lba(place(700)), Sectors(1 + (i % 5) as u32 * 170));
            let at = start(&rig, op);
            let p = positions(&rig);
            let (positioning, access) = (p.positioning(lba, sectors, op, at), p.access(lba, sectors, op, at));
            assert!(last.is_none_or(|end| p.access_after(end, lba, sectors, op, at) == access), "{name}");
            last = Some(lba + sectors);
            let cylinders = p.arm(at).abs_diff(p.cylinder(lba));
            assert!(p.seek_at_least(cylinders) <= positioning && positioning < access);
            assert_eq!(p.cached(lba, sectors, op), Cached::None);
            let (done, time) = rig.run(op, lba.0, sectors.0, Flags::empty());
            let s = done.service;
            assert_eq!(s.cylinders, cylinders, "{name}");
            if op == Op::Read {
                let spent = (s.seek + s.rotation).0 as f64;
                assert!((spent - positioning).abs() < 5.0, "{name}: {positioning} said, {spent} took");
                // The last sector still has to cross the bus.
                let medium = (time - s.overhead).0 as f64;
                assert!((0.0..60e3).contains(&(medium - access)), "{name}: {access} said, {medium} took");
            }
            rig.wait(Nanos(i * 77_777));
        }
    }
}

#[test]
fn a_busy_disk_answers_for_the_moment_it_is_free() {
    let mut rig = Rig::new(&disk("hd-500-16", bare));
    let mut place = rig.random(4);
    for _ in 0..200 {
        let (first, second) = (place(8), place(8));
        rig.submit(Op::Read, first, 8, Flags::empty());
        let p = positions(&rig);
        let at = start(&rig, Op::Read);
        assert_eq!(p.arm(at), p.cylinder(Lba(first + 7)));
        let said = p.positioning(Lba(second), Sectors(8), Op::Read, at);
        let id = rig.submit(Op::Read, second, 8, Flags::empty());
        while rig.out.len() < 2 {
            assert!(rig.step());
        }
        let done = rig.out.iter().find(|c| c.id == id).expect("both are done");
        let took = (done.service.seek + done.service.rotation).0 as f64;
        assert!((took - said).abs() < 5.0, "{said} said, {took} took");
        rig.out.clear();
    }
}

#[test]
fn what_was_read_and_what_can_be_buffered_is_cached() {
    let mut rig = Rig::new(&disk("hd-500-16", |m| m.cache.write_segments = 2));
    rig.read(80_000, 64);
    rig.wait(Nanos::from_millis(50));
    let p = positions(&rig);
    assert_eq!(p.cached(Lba(80_000), Sectors(64), Op::Read), Cached::Full);
    assert_eq!(p.cached(Lba(80_032), Sectors(8000), Op::Read), Cached::Partial);
    assert_eq!(p.cached(Lba(5_000_000), Sectors(8), Op::Read), Cached::None);
    assert_eq!(p.cached(Lba(5_000_000), Sectors(8), Op::Write), Cached::Full);
    assert_eq!(p.cached(Lba(5_000_000), Sectors(1 << 20), Op::Write), Cached::None);
}

#[test]
fn only_what_has_an_arm_has_positions() {
    for name in Catalogue::names() {
        let spec = Catalogue::get(name).expect("in the catalogue");
        let mechanical =
            matches!(spec.device, DeviceSpec::Mechanical(_) | DeviceSpec::Drive(_) | DeviceSpec::Hybrid(_));
        assert_eq!(spec.build().expect("sound").positions().is_some(), mechanical, "{name}");
    }
}
