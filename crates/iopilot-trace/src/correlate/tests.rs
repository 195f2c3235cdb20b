use super::*;
use iopilot_block::{Lba, Sectors};

fn at(start: u64, sectors: u32) -> Extent {
    Extent { device: 0, op: Op::Read, start, sectors }
}

fn bio(arrival: u64, lba: u64, sectors: u32) -> TraceRecord {
    TraceRecord::new(Nanos(arrival), Op::Read, Lba(lba), Sectors(sectors))
}

fn drain(c: &mut Correlator) -> Vec<(u64, Option<u64>, Option<u64>)> {
    std::iter::from_fn(|| c.pop(true)).map(|r| (r.lba.0, r.issue.map(|t| t.0), r.completion.map(|t| t.0))).collect()
}

fn unseen() -> Option<TraceRecord> {
    None
}

fn never() -> TraceRecord {
    panic!("the request is known")
}

#[test]
fn merged_bios_complete_with_their_host() {
    let mut c = Correlator::new();
    c.queue(bio(0, 8, 8));
    c.queue(bio(1, 16, 8));
    c.merge(at(16, 8), true);
    c.queue(bio(2, 0, 8));
    c.merge(at(0, 8), false);
    c.issue(at(0, 24), Nanos(5), never);
    assert!(c.pop(false).is_none());
    c.complete(at(0, 24), Nanos(9), unseen);
    assert_eq!(drain(&mut c), [(8, Some(5), Some(9)), (16, Some(5), Some(9)), (0, Some(5), Some(9))]);
    assert!(c.by_start.is_empty() && c.by_end.is_empty());
}

#[test]
fn a_split_bio_completes_with_its_last_piece() {
    let mut c = Correlator::new();
    c.queue(bio(0, 0, 24));
    c.split(0, 0, 16);
    c.issue(at(0, 16), Nanos(1), never);
    c.issue(at(16, 8), Nanos(2), never);
    c.complete(at(16, 8), Nanos(3), unseen);
    assert!(c.pop(false).is_none());
    c.complete(at(0, 16), Nanos(4), unseen);
    assert_eq!(drain(&mut c), [(0, Some(2), Some(4))]);
}

#[test]
fn completions_in_pieces_complete_bio_by_bio() {
    let mut c = Correlator::new();
    c.queue(bio(0, 0, 8));
    c.queue(bio(1, 8, 8));
    c.merge(at(8, 8), true);
    c.issue(at(0, 16), Nanos(2), never);
    c.complete(at(0, 12), Nanos(3), unseen);
    c.complete(at(12, 4), Nanos(4), unseen);
    assert_eq!(drain(&mut c), [(0, Some(2), Some(3)), (8, Some(2), Some(4))]);
}

#[test]
fn equal_requests_are_served_in_order() {
    let mut c = Correlator::new();
    c.queue(bio(0, 0, 8));
    c.queue(bio(1, 0, 8));
    c.issue(at(0, 8), Nanos(2), never);
    c.issue(at(0, 8), Nanos(3), never);
    c.complete(at(0, 8), Nanos(4), unseen);
    c.complete(at(0, 8), Nanos(5), unseen);
    assert_eq!(drain(&mut c), [(0, Some(2), Some(4)), (0, Some(3), Some(5))]);
}

#[test]
fn an_issue_without_a_queue_event_begins_a_record_and_a_repeated_one_does_not() {
    let mut c = Correlator::new();
    c.issue(at(0, 8), Nanos(2), || bio(2, 0, 8));
    c.issue(at(0, 8), Nanos(3), never);
    c.complete(at(0, 8), Nanos(4), unseen);
    c.complete(at(64, 8), Nanos(5), unseen);
    assert_eq!(drain(&mut c), [(0, Some(3), Some(4))]);
    assert_eq!(c.unmatched_completions, 1);
}

#[test]
fn merges_that_were_not_seen_show_at_the_issue() {
    let mut c = Correlator::new();
    c.queue(bio(0, 0, 8));
    c.queue(bio(1, 8, 8));
    c.queue(bio(2, 100, 8));
    c.issue(at(0, 16), Nanos(3), never);
    c.complete(at(0, 16), Nanos(4), unseen);
    assert_eq!(drain(&mut c), [(0, Some(3), Some(4)), (8, Some(3), Some(4)), (100, None, None)]);
}

#[test]
fn requeued_requests_are_issued_again() {
    let mut c = Correlator::new();
    c.queue(bio(0, 0, 8));
    c.issue(at(0, 8), Nanos(1), never);
    c.requeue(at(0, 8));
    c.queue(bio(2, 8, 8));
    c.merge(at(8, 8), true);
    c.issue(at(0, 16), Nanos(3), never);
    c.complete(at(0, 16), Nanos(4), unseen);
    assert_eq!(drain(&mut c), [(0, Some(3), Some(4)), (8, Some(3), Some(4))]);
}

#[test]
fn requests_that_never_complete_do_not_accumulate() {
    let mut c = Correlator::new();
    let mut out = 0;
    for i in 0..(5 * MOST_PENDING as u64) {
        c.queue(bio(i, i * 16, 8));
        while c.pop(false).is_some() {
            out += 1;
        }
    }
    assert_eq!(out, 4 * MOST_PENDING);
    assert!(c.requests.slots() <= 2 * MOST_PENDING + 1 && c.parts.slots() <= 2 * MOST_PENDING + 1);
}

#[test]
fn a_trace_of_completions_alone_has_their_requests() {
    let mut c = Correlator::new();
    c.complete(at(8, 8), Nanos(5), || Some(bio(5, 8, 8)));
    c.complete(at(64, 8), Nanos(7), || Some(bio(7, 64, 8)));
    assert!(c.pop(false).is_none(), "more may follow");
    assert_eq!(drain(&mut c), [(8, None, None), (64, None, None)]);
    assert_eq!((c.unknown_arrivals, c.unmatched_completions), (2, 0));
}

#[test]
fn completions_before_the_first_request_began_before_the_trace() {
    let mut c = Correlator::new();
    c.complete(at(8, 8), Nanos(5), || Some(bio(5, 8, 8)));
    c.queue(bio(6, 64, 8));
    assert_eq!(drain(&mut c), [(64, None, None)]);
    assert_eq!((c.unknown_arrivals, c.unmatched_completions), (0, 1));
}
