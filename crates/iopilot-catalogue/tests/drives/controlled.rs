//! A drive behind a controller with a cache.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue, ControllerSpec, WritePolicySpec};
use iopilot_device::{Device, DeviceRequest};
use iopilot_scsi::ControlledDrive;

fn disk() -> AnyDevice {
    Catalogue::get("hp-c2247").expect("it is in the catalogue").build().expect("it is sound")
}

fn controlled(spec: &ControllerSpec) -> ControlledDrive {
    spec.build(&disk()).expect("it is of type drive")
}

fn request(id: usize, op: Op, lba: u64, sectors: u32) -> DeviceRequest {
    DeviceRequest { id: RequestId::from_index(id), op, lba: Lba(lba), sectors: Sectors(sectors), flags: Flags::empty() }
}

/// Serves one request. Returns its time, and whether it hit the cache.
fn serve(drive: &mut ControlledDrive, request: DeviceRequest, now: &mut Nanos) -> (Nanos, bool) {
    let (began, mut done) = (*now, Vec::new());
    drive.submit(request, began);
    while done.is_empty() {
        *now = drive.next_event().expect("a request is under way").max(*now);
        drive.advance(*now, &mut done);
    }
    assert_eq!((done.len(), done[0].id), (1, request.id));
    (done[0].at - began, done[0].service.cache_hit)
}

#[test]
fn writes_are_done_in_the_cache_unless_the_policy_or_the_request_says_otherwise() {
    let time = |write, flags| {
        let mut drive = controlled(&ControllerSpec { write, ..ControllerSpec::default() });
        let mut now = Nanos::ZERO;
        serve(&mut drive, DeviceRequest { flags, ..request(0, Op::Write, 100_000, 16) }, &mut now).0
    };
    assert_eq!(time(WritePolicySpec::Back, Flags::empty()), Nanos::ZERO);
    assert_eq!(time(WritePolicySpec::Through, Flags::empty()), Nanos::ZERO);
    assert!(time(WritePolicySpec::Synchronous, Flags::empty()) > Nanos::from_millis(5));
    assert!(time(WritePolicySpec::Back, Flags::FUA) > Nanos::from_millis(5));
}

#[test]
fn what_was_read_or_written_is_in_the_cache_and_a_flush_has_nothing_to_do() {
    let mut drive = controlled(&ControllerSpec::default());
    let mut now = Nanos::ZERO;
    let (first, hit) = serve(&mut drive, request(0, Op::Read, 100_000, 16), &mut now);
    assert!(first > Nanos::from_millis(5) && !hit);
    assert_eq!(serve(&mut drive, request(1, Op::Read, 100_000, 16), &mut now), (Nanos::ZERO, true));
    serve(&mut drive, request(2, Op::Write, 500_000, 16), &mut now);
    assert_eq!(serve(&mut drive, request(3, Op::Read, 500_000, 16), &mut now), (Nanos::ZERO, true));
    assert_eq!(serve(&mut drive, request(4, Op::Flush, 0, 0), &mut now).0, Nanos::ZERO);
    let cache = drive.cache();
    assert_eq!((cache.reads, cache.read_hits, cache.writes, cache.write_backs), (3, 2, 1, 0));
    assert!(!drive.cache_control().volatile);
}

/// Ganger, Figure 6.8: with flushing in idle time, reads find clean space in the cache. On demand, they wait until a
/// dirty line has been written to the disk.
#[test]
fn reads_after_a_pause_are_faster_where_idle_time_was_used() {
    let read_after_a_burst = |flush_idle_ms| {
        let mut drive = controlled(&ControllerSpec { flush_idle_ms, ..ControllerSpec::default() });
        let mut now = Nanos::ZERO;
        for i in 0..128 {
            serve(&mut drive, request(0, Op::Write, i * 16_000, 16), &mut now);
        }
        now += Nanos::from_secs(30);
        drive.advance(now, &mut Vec::new());
        let mut sum = 0.0;
        for i in 0..40 {
            let (took, _) = serve(&mut drive, request(1, Op::Read, i * 16_000 + 64, 8), &mut now);
            sum += took.as_millis_f64() / 40.0;
        }
        sum
    };
    let (demand, idle) = (read_after_a_burst(None), read_after_a_burst(Some(500.0)));
    assert!(idle < 0.7 * demand, "{idle} ms in idle time, {demand} on demand");
}

#[test]
fn requests_beyond_the_cache_are_served_in_pieces_and_complete_once() {
    let mut drive = controlled(&ControllerSpec { cache_kib: 32, ..ControllerSpec::default() });
    let mut now = Nanos::ZERO;
    for op in [Op::Read, Op::Write] {
        serve(&mut drive, request(7, op, 64, 1000), &mut now);
    }
    assert_eq!(drive.cache().filled, 1000);
    assert!(drive.cache().reads > 10, "in pieces of 24 KiB");
}
