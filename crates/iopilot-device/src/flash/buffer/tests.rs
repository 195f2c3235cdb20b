//! What the buffer takes, holds and returns.

use super::*;

#[test]
fn writes_to_a_waiting_unit_coalesce_and_to_one_being_written_do_not() {
    let mut b = FlashWriteBuffer::new(4, 8);
    assert_eq!(b.put(5, 0x0f), Put::New);
    assert_eq!(b.put(5, 0xf0), Put::Coalesced);
    assert_eq!((b.dirty(), b.holds(5, 0xff)), (1, BufferedPart::All));
    let (at, unit) = b.pop().unwrap();
    assert_eq!((unit, b.is_full(at)), (5, true));
    b.write(at, NONE);
    // A sector of it is written again: the other seven are copied from the entry in flight.
    assert_eq!(b.put(5, 0x01), Put::New);
    let (again, _) = b.pop().unwrap();
    assert!(b.is_full(again));
    b.written(at);
    assert_eq!((b.holds(5, 0xff), b.oldest()), (BufferedPart::All, 2));
    b.write(again, NONE);
    b.written(again);
    assert_eq!((b.holds(5, 1), b.oldest()), (BufferedPart::Nothing, u64::MAX));
}

#[test]
fn entries_leave_in_order_of_arrival_and_room_is_bounded() {
    let mut b = FlashWriteBuffer::new(3, 8);
    for unit in [9, 7, 8] {
        assert_eq!(b.put(unit, 0xff), Put::New);
    }
    assert_eq!(b.put(1, 0xff), Put::Full);
    b.discard(7);
    assert_eq!(b.holds(7, 0xff), BufferedPart::Nothing);
    assert_eq!(b.pop().unwrap().1, 9);
    assert_eq!(b.pop().unwrap().1, 8);
    assert_eq!(b.pop(), None);
    // Only the dropped entry has left.
    assert_eq!((b.put(1, 0xff), b.put(2, 0xff)), (Put::New, Put::Full));
    assert_eq!(b.oldest(), 1);
}

#[test]
fn entries_put_back_keep_their_order() {
    let mut b = FlashWriteBuffer::new(4, 8);
    for unit in 0..4 {
        b.put(unit, 1);
    }
    let taken: Vec<u32> = (0..3).map(|_| b.pop().unwrap().0).collect();
    for at in [1, 0, 2] {
        b.fill(taken[at]);
        b.filled(taken[at]);
    }
    assert_eq!((0..4).map(|_| b.pop().unwrap().1).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(b.pop(), None);
}

#[test]
fn a_partly_written_unit_is_incomplete_until_it_is_filled() {
    let mut b = FlashWriteBuffer::new(2, 8);
    b.put(3, 0x03);
    assert_eq!(
        (b.holds(3, 0x01), b.holds(3, 0x06), b.holds(3, 0x80)),
        (BufferedPart::All, BufferedPart::Some, BufferedPart::Nothing)
    );
    let (at, _) = b.pop().unwrap();
    assert!(!b.is_full(at));
    b.fill(at);
    assert_eq!((b.put(3, 0x04), b.dirty()), (Put::Coalesced, 0));
    b.filled(at);
    assert_eq!((b.dirty(), b.holds(3, 0xff)), (1, BufferedPart::All));
}
