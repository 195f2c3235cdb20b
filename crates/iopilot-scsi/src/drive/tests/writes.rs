//! Writes with and without fast completion.

use super::*;

#[test]
fn a_slow_write_ends_with_its_last_sector() {
    let overheads = |m: &mut DriveModel| {
        blocks_cost(m, 0.05);
        m.overheads.write_miss = After { read: 0.4 * MS, write: 9.0 * MS };
        m.overheads.write_completion = 0.25 * MS;
    };
    // Data from 0.4 ms on; sectors 50 to 59 pass from 5 to 6 ms.
    assert_ms!(Rig::new(overheads).write(50, 10, 0.0), 6.25);
    // The drive reconnects to report completion.
    let mut rig = Rig::new(|m| {
        overheads(m);
        (m.overheads.first_reselect, m.overheads.write_disconnect) = (0.5 * MS, 0.3 * MS);
        m.overheads.data_preparation = 0.1 * MS;
    });
    assert_ms!(rig.write(50, 10, 0.0), 6.75);
    // The drive stays on the bus to report completion.
    let mut rig = Rig::new(|m| {
        overheads(m);
        m.overheads.first_reselect = 0.5 * MS;
        m.bus.never_disconnect = true;
    });
    assert_ms!(rig.write(50, 10, 0.0), 6.25);
}

#[test]
fn a_sector_is_written_when_its_data_are_there_before_it_passes() {
    // The last of ten blocks comes at 4.95 ms, before the first has to pass.
    assert_ms!(Rig::new(|m| blocks_cost(m, 0.495)).write(50, 10, 0.0), 6.0);
    // Block k comes at 0.6 (k + 1) and passes at 5 + 0.1 k: the tenth, at 6.0, misses 5.9.
    assert_ms!(Rig::new(|m| blocks_cost(m, 0.6)).write(50, 10, 0.0), 16.0);
    // The first, at 5.05, misses 5.0; the third, at 15.15, catches 15.2.
    assert_ms!(Rig::new(|m| blocks_cost(m, 5.05)).write(50, 3, 0.0), 15.3);
}

#[test]
fn the_minimum_seek_delay_applies_to_writes_that_do_not_continue_another() {
    let mut rig = Rig::new(|m| m.write.min_seek_delay = 5.5 * MS);
    assert_ms!(rig.write(50, 10, 0.0), 16.0);
}

#[test]
fn a_fast_write_is_done_when_it_is_in_the_buffer() {
    let fast = |m: &mut DriveModel| {
        blocks_cost(m, 0.05);
        m.write.fast = FastWrite::Always;
        m.overheads.write_hit = After::either(0.4 * MS);
        m.overheads.write_miss = After::either(9.0 * MS);
        m.buffer.segments = 2;
    };
    let mut rig = Rig::new(fast);
    assert_ms!(rig.write(50, 10, 0.0), 0.9);
    // Durable at 6 ms.
    assert_ms!(rig.flush(1.0), 6.0);
    // A read waits for it: sector 20 comes at 12 ms.
    let mut rig = Rig::new(fast);
    rig.write(50, 10, 0.0);
    assert_ms!(rig.read(20, 1, 1.0), 12.1 + 0.05);
    // Written blocks are read back from the buffer, unless that is not allowed.
    let mut rig = Rig::new(fast);
    rig.write(50, 10, 0.0);
    assert_ms!(rig.read(52, 2, 8.0), 8.1);
    let mut rig = Rig::new(|m| {
        fast(m);
        m.read.hits_on_written = false;
    });
    rig.write(50, 10, 0.0);
    assert_ms!(rig.read(52, 2, 8.0), 15.4 + 0.05);
}

#[test]
fn only_a_write_that_continues_another_has_the_overhead_after_a_write() {
    let ends = |sequential_overhead, first| {
        let mut rig = Rig::new(|m| {
            m.write.fast = FastWrite::Always;
            m.write.sequential_overhead = sequential_overhead;
            m.buffer.segments = 4;
            m.overheads.write_hit = After { read: 0.7 * MS, write: 0.4 * MS };
        });
        assert_ms!(rig.write(50, 10, 0.0), 0.7);
        rig.write(first, 10, 20.0)
    };
    assert_ms!(ends(false, 60), 20.4);
    assert_ms!(ends(false, 300), 20.4);
    assert_ms!(ends(true, 60), 20.4);
    assert_ms!(ends(true, 300), 20.7);
}

#[test]
fn a_write_behind_the_one_in_progress_joins_it() {
    let ends = |fast, combine| {
        let mut rig = Rig::new(|m| (m.write.fast, m.write.combine) = (fast, combine));
        rig.write(50, 10, 0.0);
        assert!(rig.write(60, 10, 5.5) <= 17.0);
        rig.flush(5.6)
    };
    assert_ms!(ends(FastWrite::Always, true), 7.0);
    assert_ms!(ends(FastWrite::Alone, true), 7.0);
    // Otherwise it waits for the end of the first, and misses its sector.
    assert_ms!(ends(FastWrite::Always, false), 7.0);
}

#[test]
fn zero_latency_writes_a_track_in_one_turn() {
    let whole = |immediate| {
        let mut rig = Rig::new(|m| m.write.immediate = immediate);
        rig.write(0, 100, 4.04)
    };
    assert_ms!(whole(false), 20.0);
    assert_ms!(whole(true), 14.1);
}

#[test]
fn a_write_after_a_write_disconnects_before_its_data_come() {
    let extra = ExtraDisconnect {
        command: 0.6 * MS,
        disconnect: 0.1 * MS,
        away: 1.0 * MS,
        second_disconnect: 0.2 * MS,
        seek_delta: 0.3 * MS,
        buffered_first: [10, 15],
    };
    let ends = |extra: Option<ExtraDisconnect>| {
        let mut rig = Rig::new(|m| {
            blocks_cost(m, 0.1);
            m.write.extra_disconnect = extra;
            m.overheads.first_reselect = 0.1 * MS;
            m.overheads.other_reselect = 0.7 * MS;
        });
        rig.write(50, 10, 0.0);
        // Elsewhere on the same track: from 20.0 on.
        let at = rig.write(22, 5, 20.0);
        // A write that continues it does not disconnect.
        (at, rig.write(27, 1, at + 1.0) - at)
    };
    // Sector 22 passes at 22.2 ms; its data arrived by 20 + 0.5. Then the drive reconnects.
    assert_ms!(ends(None).0, 22.7 + 0.1);
    // Data only from 20.7 + 1.0 + 0.1 on, five blocks until 22.3: too late for the sector, so a second reconnection
    // follows.
    assert_ms!(ends(Some(extra)).0, 32.7 + 0.7);
}

#[test]
fn room_for_a_large_write_is_made_by_the_medium() {
    let ends = |hold| {
        let mut rig = Rig::new(|m| {
            m.buffer.segment_blocks = 20;
            m.bus.hold_write = hold;
            m.overheads.write_disconnect = 0.01 * MS;
        });
        rig.write(50, 45, 0.0)
    };
    // All in one pass, if there is room in time.
    assert_ms!(ends(true), 9.5);
    assert!(ends(false) >= 9.5);
}
