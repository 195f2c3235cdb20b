//! The flush machinery, on a device that serves one request at a time.

use super::*;
use iopilot_device::CacheControl;

/// [`Fixed`] with a write cache.
struct Cached {
    inner: Fixed,
    cache: CacheControl,
}

impl Device for Cached {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        let flushing = self.inner.queue.iter().any(|r| r.op == Op::Flush);
        let beside = !self.inner.queue.is_empty() && (flushing || request.op == Op::Flush);
        assert!(!self.cache.flush_drains || !beside, "nothing is sent beside a flush");
        self.inner.submit(request, now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.inner.advance(now, out);
    }

    fn capacity(&self) -> u64 {
        self.inner.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.inner.queue_depth()
    }

    fn cache_control(&self) -> CacheControl {
        self.cache
    }
}

const SCSI: CacheControl = CacheControl { volatile: true, fua: true, flush_drains: false };
const ATA: CacheControl = CacheControl { volatile: true, fua: false, flush_drains: true };
const NO_CACHE: CacheControl = CacheControl { volatile: false, fua: true, flush_drains: false };

fn write(ms: u64, process: u32, lba: u64, flags: Flags) -> ReplayRecord {
    ReplayRecord { flags: flags | Flags::SYNC, ..record(ms, process, Op::Write, lba, 8) }
}

/// The requests that the device gets for `records`: `F` for a flush, `W` for a write, `w` for a write past the cache, `R` for a
/// read.
fn sent(records: Vec<ReplayRecord>, cache: CacheControl, scheduler: &str) -> String {
    let inner = Fixed::new(Nanos::from_millis(10), 8);
    let log = inner.log.clone();
    let device = Cached { inner, cache };
    let config = RunConfig { log: true, ..RunConfig::default() };
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    let asked: Vec<Flags> = records.iter().map(|r| r.flags).collect();
    let report = run(Open::new(records), device, &spec, &config, &Progress::default()).unwrap();
    assert_eq!(report.requests, asked.len() as u64);
    let logged: Vec<Flags> = report.log.unwrap().iter().map(|r| r.flags).collect();
    assert_eq!(logged, asked, "requests are logged as they were submitted");
    let log = log.borrow();
    assert!(log.iter().all(|r| !r.flags.contains(Flags::PREFLUSH) || r.op == Op::Flush || !cache.volatile));
    let letter = |r: &DeviceRequest| match (r.op, r.flags.contains(Flags::FUA)) {
        (Op::Flush, _) => 'F',
        (Op::Write, true) => 'w',
        (Op::Write, false) => 'W',
        _ => 'R',
    };
    log.iter().map(letter).collect()
}

#[test]
fn a_journal_commit_is_a_flush_a_write_and_where_fua_is_missing_another_flush() {
    let commit = || vec![write(0, 1, 0, Flags::PREFLUSH | Flags::FUA)];
    for scheduler in ["none", "mq-deadline", "kyber", "bfq"] {
        assert_eq!(sent(commit(), SCSI, scheduler), "Fw", "{scheduler}");
        assert_eq!(sent(commit(), ATA, scheduler), "FWF", "{scheduler}");
        assert_eq!(sent(commit(), NO_CACHE, scheduler), "w", "{scheduler}");
    }
    assert_eq!(sent(vec![write(0, 1, 0, Flags::FUA)], ATA, "none"), "WF");
    assert_eq!(sent(vec![write(0, 1, 0, Flags::FUA)], SCSI, "none"), "w");
}

#[test]
fn a_flush_without_data_is_for_a_cache_only() {
    let flush = || vec![ReplayRecord { flags: Flags::SYNC, ..record(0, 1, Op::Flush, 0, 0) }];
    assert_eq!(sent(flush(), SCSI, "none"), "F");
    assert_eq!(sent(flush(), NO_CACHE, "none"), "", "nothing reaches the device");
}

#[test]
fn flushes_that_arrive_during_a_flush_are_merged() {
    // The first flush is sent at once. The five that arrive meanwhile wait for the second one.
    let flushes = || {
        let later = (1..6).map(|n| ReplayRecord { flags: Flags::SYNC, ..record(n, n as u32, Op::Flush, 0, 0) });
        std::iter::once(ReplayRecord { flags: Flags::SYNC, ..record(0, 9, Op::Flush, 0, 0) }).chain(later).collect()
    };
    assert_eq!(sent(flushes(), SCSI, "none"), "FF");
    assert_eq!(sent(flushes(), ATA, "mq-deadline"), "FF");
}

#[test]
fn ata_serves_nothing_beside_a_flush() {
    let mut records: Vec<_> = (0..6).map(|n| record(0, n, Op::Read, u64::from(n) * 1000, 8)).collect();
    records.push(ReplayRecord { flags: Flags::SYNC, ..record(1, 7, Op::Flush, 0, 0) });
    records.extend((0..6).map(|n| record(2, n, Op::Read, 100_000 + u64::from(n) * 1000, 8)));
    for scheduler in ["none", "mq-deadline", "kyber", "bfq"] {
        assert_eq!(sent(records.clone(), ATA, scheduler), "RRRRRRFRRRRRR", "{scheduler}");
    }
}

#[test]
fn an_old_kernel_leaves_flags_to_the_device() {
    let inner = Fixed::new(Nanos::from_millis(10), 1);
    let log = inner.log.clone();
    let device = Cached { inner, cache: SCSI };
    let spec = SchedulerSpec::parse("deadline").unwrap();
    let source = Open::new(vec![write(0, 1, 0, Flags::PREFLUSH | Flags::FUA)]);
    run(source, device, &spec, &RunConfig::default(), &Progress::default()).unwrap();
    assert_eq!(log.borrow().len(), 1);
    assert!(log.borrow()[0].flags.contains(Flags::PREFLUSH | Flags::FUA));
}
