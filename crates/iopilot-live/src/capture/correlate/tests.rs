//! The paths of bios through the block layer, as events show them.

use super::*;

const GIVE_UP: Nanos = Nanos::from_secs(120);

struct Script {
    correlator: BioCorrelator,
    out: Vec<TraceRecord>,
}

/// Arrival, issue, completion, lba and sectors of a record.
type Seen = (u64, Option<u64>, Option<u64>, u64, u32);

impl Script {
    fn new() -> Self {
        Self::delivering(Delivery::InOrder)
    }

    fn delivering(when: Delivery) -> Self {
        Self { correlator: BioCorrelator::new(Tasks::default(), true, GIVE_UP, when), out: Vec::new() }
    }

    fn event(mut self, time: u64, what: BlockEventKind) -> Self {
        let time = Nanos(1_000_000 + time);
        self.correlator.take(&BlockEvent { time, cpu: 1, pid: u32::MAX, comm: *b"reader\0\0\0\0\0\0\0\0\0\0", what });
        self.correlator.emit(time, |r| self.out.push(r));
        self
    }

    fn queue(self, time: u64, rwbs: &str, lba: u64, sectors: u32) -> Self {
        self.event(time, BlockEventKind::Queued(io(rwbs, lba, sectors)))
    }

    fn issue(self, time: u64, rwbs: &str, lba: u64, sectors: u32) -> Self {
        self.event(time, BlockEventKind::Issued(io(rwbs, lba, sectors)))
    }

    fn complete(self, time: u64, rwbs: &str, lba: u64, sectors: u32) -> Self {
        self.event(time, BlockEventKind::Completed(io(rwbs, lba, sectors)))
    }

    fn records(mut self) -> Vec<Seen> {
        self.correlator.finish(|r| self.out.push(r));
        let t = |t: Option<Nanos>| t.map(|t| t.0);
        self.out.iter().map(|r| (r.arrival.0, t(r.issue), t(r.completion), r.lba.0, r.sectors.0)).collect()
    }
}

fn io(rwbs: &str, lba: u64, sectors: u32) -> BlockIo {
    let (op, flags) = crate::capture::event::parse_rwbs(rwbs.as_bytes()).unwrap();
    BlockIo { op, flags, lba: Lba(lba), sectors: Sectors(sectors), priority: None }
}

#[test]
fn merged_bios_share_issue_and_completion() {
    let script = Script::new()
        .queue(0, "R", 8, 8)
        .queue(1, "R", 16, 8)
        .queue(2, "R", 0, 8)
        .queue(3, "W", 8, 8)
        .issue(10, "R", 0, 24)
        .complete(50, "R", 0, 24);
    assert_eq!(script.out.len(), 3, "emitted as soon as nothing before them is in flight");
    let expected = [
        (0, Some(10), Some(50), 8, 8),
        (1, Some(10), Some(50), 16, 8),
        (2, Some(10), Some(50), 0, 8),
        (3, None, None, 8, 8),
    ];
    assert_eq!(script.records(), expected);
}

#[test]
fn merges_and_insertions_into_the_scheduler_are_recorded() {
    let mut script = Script::new()
        .queue(0, "R", 8, 8)
        .queue(1, "R", 16, 8)
        .event(1, BlockEventKind::Merged(io("R", 16, 8)))
        .event(4, BlockEventKind::Inserted(io("R", 8, 16)))
        .queue(5, "R", 24, 8)
        .event(5, BlockEventKind::Merged(io("R", 24, 8)))
        .issue(10, "R", 8, 24)
        .complete(50, "R", 8, 24);
    let seen: Vec<_> = script.out.drain(..).map(|r| (r.lba.0, r.inserted.map(|t| t.0), r.merged)).collect();
    assert_eq!(seen, [(8, Some(4), Some(false)), (16, Some(4), Some(true)), (24, None, Some(true))]);
}

#[test]
fn a_split_bio_is_as_many_records_as_the_scheduler_sees() {
    let split = |lba, at| BlockEventKind::Split { op: Op::Read, lba: Lba(lba), at: Lba(at) };
    let script = Script::new()
        .queue(0, "RA", 100, 25)
        .event(1, split(100, 110))
        .event(2, split(110, 120))
        .issue(3, "RA", 100, 10)
        .issue(4, "RA", 110, 15)
        .complete(9, "RA", 110, 15)
        .complete(20, "RA", 100, 10);
    let expected = [(0, Some(3), Some(20), 100, 10), (1, Some(4), Some(9), 110, 10), (2, Some(4), Some(9), 120, 5)];
    assert_eq!(script.records(), expected);
}

#[test]
fn a_request_may_complete_in_parts() {
    let script = Script::new()
        .queue(0, "W", 0, 8)
        .queue(0, "W", 8, 8)
        .issue(1, "W", 0, 16)
        .complete(5, "W", 0, 12)
        .complete(9, "W", 12, 4);
    assert_eq!(script.records(), [(0, Some(1), Some(5), 0, 8), (0, Some(1), Some(9), 8, 8)]);
}

#[test]
fn two_reads_of_the_same_sectors_complete_in_turn() {
    let script = Script::new()
        .queue(0, "R", 0, 8)
        .queue(1, "R", 0, 8)
        .issue(2, "R", 0, 8)
        .issue(3, "R", 0, 8)
        .complete(4, "R", 0, 8)
        .complete(5, "R", 0, 8);
    assert_eq!(script.records(), [(0, Some(2), Some(4), 0, 8), (1, Some(3), Some(5), 0, 8)]);
}

#[test]
fn a_journal_commit_ends_with_its_second_flush() {
    let script = Script::new()
        .queue(0, "FWFSM", 64, 8)
        .issue(1, "FF", 0, 0)
        .complete(2, "FF", u64::MAX, 0)
        .issue(3, "WSM", 64, 8)
        .complete(4, "WSM", 64, 8)
        .issue(5, "FF", 0, 0)
        .complete(6, "FF", u64::MAX, 0)
        .complete(7, "WSM", 64, 0);
    assert_eq!(script.records(), [(0, Some(3), Some(7), 64, 8)]);
}

#[test]
fn a_flush_serves_those_that_waited_when_it_was_issued() {
    let script = Script::new().queue(0, "FWS", u64::MAX, 0).issue(1, "FF", 0, 0).queue(2, "FWS", u64::MAX, 0).complete(
        3,
        "FF",
        u64::MAX,
        0,
    );
    assert_eq!(script.out[0].op, Op::Flush);
    assert_eq!(script.records(), [(0, Some(1), Some(3), 0, 0), (2, None, None, 0, 0)]);
}

#[test]
fn a_lost_completion_does_not_hold_up_the_rest_for_ever() {
    let script = Script::new()
        .queue(0, "R", 0, 8)
        .queue(1, "R", 8, 8)
        .issue(2, "R", 8, 8)
        .complete(3, "R", 8, 8)
        .complete(GIVE_UP.0 + 1, "R", 900, 8);
    assert_eq!((script.out.len(), script.out[0].completion, script.correlator.pending()), (2, None, 0));
    // The late completion of a request that was given up finds no bio.
    assert_eq!(
        script.complete(GIVE_UP.0 + 2, "R", 0, 8).records(),
        [(0, None, None, 0, 8), (1, Some(2), Some(3), 8, 8)]
    );
}

#[test]
fn an_order_of_completion_waits_for_nothing_and_emits_each_once() {
    let script = Script::delivering(Delivery::AtOnce)
        .queue(0, "R", 0, 8)
        .queue(1, "R", 8, 8)
        .queue(2, "R", 16, 8)
        .issue(3, "R", 8, 8)
        .complete(4, "R", 8, 8);
    assert_eq!((script.out.len(), script.correlator.pending()), (1, 2), "it did not wait for the first");
    let script = script.issue(5, "R", 0, 8).complete(9, "R", 0, 8);
    assert_eq!((script.out.len(), script.correlator.pending()), (2, 1));
    assert_eq!(script.records(), [(1, Some(3), Some(4), 8, 8), (0, Some(5), Some(9), 0, 8), (2, None, None, 16, 8)]);
}

#[test]
fn times_count_from_the_first_request_and_tasks_have_parents() {
    let mut script = Script::new().event(0, BlockEventKind::Fork { parent: 7, child: u32::MAX }).queue(40, "R", 0, 8);
    script = script
        .event(50, BlockEventKind::Exit { pid: u32::MAX })
        .event(60, BlockEventKind::Fork { parent: 8, child: u32::MAX });
    script = script.queue(70, "R", 8, 8);
    script.correlator.close(Nanos(1_000_071));
    script = script.queue(80, "R", 16, 8).complete(90, "R", 0, 16);
    let seen: Vec<_> =
        script.out.iter().map(|r| (r.arrival.0, r.parent.unwrap().0, r.process_start.unwrap().0)).collect();
    assert_eq!(seen, [(0, 7, 0), (30, 8, 20)], "the one after closing is not recorded");
    assert_eq!(script.correlator.pending(), 0);
    assert_eq!(script.correlator.names(), BTreeMap::from([(u32::MAX, "reader".to_owned())]));
}

#[test]
fn a_bio_that_never_became_a_request_is_not_recorded() {
    let mut script = Script::new().queue(0, "R", 0, 8).queue(1, "R", 0, 8).queue(2, "FWS", u64::MAX, 0);
    script = script.event(3, BlockEventKind::Refused(io("R", 0, 8))).event(4, BlockEventKind::Refused(io("FF", 0, 0)));
    assert_eq!(script.correlator.pending(), 1);
    let script = script.issue(5, "R", 0, 8).complete(9, "R", 0, 8);
    assert_eq!(script.records(), [(0, Some(5), Some(9), 0, 8)], "the younger one was refused");
}

#[test]
fn a_split_beyond_2_tib_is_found_by_its_low_half() {
    let far = (5 << 32) - 10;
    let split = BlockEventKind::Split { op: Op::Write, lba: Lba(far), at: Lba(6) };
    let script = Script::new().queue(0, "W", far, 40).event(1, split).issue(2, "W", far, 16);
    assert_eq!(script.records(), [(0, Some(2), None, far, 16), (1, None, None, far + 16, 24)]);
}
