//! Drives of the catalogue with their time scaled.

use iopilot_block::{Flags, Lba, Nanos, Op, Positions, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue};
use iopilot_device::{Completion, Device, DeviceRequest, Scaled, SpeedFactor};

/// Serves reads and writes over the whole device, up to four at a time. Returns the completions.
fn served(mut device: impl Device, requests: u64) -> Vec<Completion> {
    let mut state = 99u64;
    let mut done = Vec::new();
    let (mut sent, mut now) = (0, Nanos::ZERO);
    while (done.len() as u64) < requests {
        while sent < requests && sent - (done.len() as u64) < u64::from(device.queue_depth().min(4)) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (op, id) = (if state >> 63 == 0 { Op::Read } else { Op::Write }, RequestId::from_index(sent as usize));
            let lba = Lba((state >> 20) % (device.capacity() - 64));
            device.submit(DeviceRequest { id, op, lba, sectors: Sectors(16), flags: Flags::empty() }, now);
            sent += 1;
        }
        now = device.next_event().expect("it has requests").max(now);
        let first = done.len();
        device.advance(now, &mut done);
        assert!(done[first..].iter().all(|c| c.at <= now), "not after the time it was advanced to");
        assert!(done.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order of time");
    }
    done
}

fn device(name: &str) -> AnyDevice {
    Catalogue::get(name).expect("it is in the catalogue").build().expect("it is sound")
}

#[test]
fn every_time_is_divided_by_the_factor() {
    for name in ["hp-c2247", "hd-250-32", "ssd-160", "momentus-xt-750g"] {
        let own = served(device(name), 400);
        for factor in [0.5, 1.0, 2.0, 3.7] {
            let speed = SpeedFactor::new(factor).expect("in range");
            let scaled = served(Scaled::new(device(name), speed), 400);
            let ids = |of: &[Completion]| of.iter().map(|c| c.id).collect::<Vec<_>>();
            assert_eq!(ids(&own), ids(&scaled), "{name}, {factor}: the same order");
            for (own, scaled) in own.iter().zip(&scaled) {
                let error = |own: Nanos, scaled: Nanos| (own.0 as f64 / factor - scaled.0 as f64).abs();
                // One nanosecond of rounding per request, for requests issued at a completion.
                assert!(error(own.at, scaled.at) < 1000.0, "{name}, {factor}: {own:?}, {scaled:?}");
                assert!(error(own.service.seek, scaled.service.seek) < 1000.0, "{name}, {factor}");
                assert_eq!(own.service.cache_hit, scaled.service.cache_hit);
            }
        }
    }
}

#[test]
fn a_factor_of_one_changes_nothing() {
    for name in ["hp-c2247", "ssd-160"] {
        assert_eq!(served(device(name), 200), served(Scaled::new(device(name), SpeedFactor::ONE), 200), "{name}");
    }
}

#[test]
fn positions_are_those_of_the_device_in_its_time() {
    let (own, fast) = (device("hp-c2247"), Scaled::new(device("hp-c2247"), SpeedFactor::new(2.0).expect("in range")));
    let (own, fast) = (own.positions().expect("it has an arm"), fast.positions().expect("it has an arm"));
    let at = Nanos::from_millis(7);
    assert_eq!(own.cylinder(Lba(100_000)), fast.cylinder(Lba(100_000)));
    let far = |p: &dyn Positions, at| p.positioning(Lba(100_000), Sectors(8), Op::Read, at);
    assert!((far(own, at * 2) / 2.0 - far(fast, at)).abs() < 1e-3);
    assert!((own.seek_at_least(100) / 2.0 - fast.seek_at_least(100)).abs() < 1e-3);
}
