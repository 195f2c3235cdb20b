//! The service order of drives with a queue.

use crate::rig::Rig;
use iopilot_block::{Flags, Op};
use iopilot_catalogue::{Catalogue, DeviceSpec, DiskSpec, PolicySpec};
use std::collections::HashMap;

/// The disks of the catalogue that order their queue.
fn with_a_queue() -> impl Iterator<Item = DiskSpec> {
    Catalogue::names().map(|name| Catalogue::get(name).expect("in the catalogue")).filter(|spec| match &spec.device {
        DeviceSpec::Mechanical(m) => m.interface.queue_policy == PolicySpec::Sptf,
        DeviceSpec::Hybrid(h) => h.disk.interface.queue_policy == PolicySpec::Sptf,
        _ => false,
    })
}

/// The times of `count` sequential reads of `sectors` from `lba`, with `depth` in flight; ms, ascending.
fn sequential(spec: &DiskSpec, lba: u64, sectors: u32, depth: u64, count: u64) -> Vec<f64> {
    let mut rig = Rig::new(spec);
    let mut issued = HashMap::new();
    let mut sent = 0;
    let mut times = Vec::new();
    while (times.len() as u64) < count {
        while sent < count && issued.len() < depth as usize {
            let at = lba + sent * u64::from(sectors);
            issued.insert(rig.submit(Op::Read, at, sectors, Flags::empty()), rig.now);
            sent += 1;
        }
        assert!(rig.step(), "a request was lost");
        for done in std::mem::take(&mut rig.out) {
            let at = issued.remove(&done.id).expect("it was sent");
            times.push((done.at - at).as_millis_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Every request is served after those before it: nearly all take the time of the whole queue.
#[test]
fn a_sequential_reader_is_served_in_order() {
    for spec in with_a_queue() {
        for (depth, sectors) in [(8, 512), (16, 512), (32, 512), (16, 128), (32, 256)] {
            let times = sequential(&spec, 0, sectors, depth, 6000);
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let (p99, most) = (times[times.len() * 99 / 100], times[times.len() - 1]);
            let what = format!("{}, depth {depth}, {sectors} sectors: {mean:.2}, {p99:.2}, {most:.2} ms", spec.name);
            assert!(p99 < 2.0 * mean && most < mean + 25.0, "{what}");
        }
    }
}

/// A stream beside random readers: when the arm returns to the stream, it continues with the first waiting request.
#[test]
fn an_interrupted_stream_continues_in_order() {
    for spec in with_a_queue() {
        let mut rig = Rig::new(&spec);
        let mut random = rig.random(3);
        let mut streams = HashMap::new();
        let (mut sent, mut served) = (0, Vec::new());
        while served.len() < 2000 {
            while streams.len() < 16 {
                streams.insert(rig.submit(Op::Read, sent * 512, 512, Flags::empty()), sent);
                sent += 1;
                if sent % 16 == 0 {
                    let lba = random(8);
                    rig.submit(Op::Read, lba, 8, Flags::empty());
                }
            }
            assert!(rig.step(), "a request was lost");
            for done in std::mem::take(&mut rig.out) {
                served.extend(streams.remove(&done.id));
            }
        }
        assert!(served.is_sorted(), "{}", spec.name);
    }
}
