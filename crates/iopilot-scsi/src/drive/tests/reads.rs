//! Reads, hits and read-ahead.

use super::*;

#[test]
fn a_read_takes_the_rotation_and_the_transfer_of_its_last_block() {
    // Sector 50 passes at 5 ms, the tenth has passed at 6 ms.
    assert_ms!(Rig::new(|_| {}).read(50, 10, 0.0), 6.0);
    // A bus faster than the medium: one block behind the last sector, connected or not.
    for hold in [false, true] {
        let mut rig = Rig::new(|m| {
            blocks_cost(m, 0.05);
            m.bus.hold_read = hold;
        });
        assert_ms!(rig.read(50, 10, 0.0), 6.05);
    }
    // A slower bus: from the first sector on.
    assert_ms!(Rig::new(|m| blocks_cost(m, 0.2)).read(50, 10, 0.0), 5.1 + 2.0);
}

#[test]
fn the_high_water_mark_decides_when_a_read_reconnects() {
    let mut rig = Rig::new(|m| {
        blocks_cost(m, 0.05);
        m.buffer.high_water = 1.0;
    });
    assert_ms!(rig.read(50, 10, 0.0), 6.0 + 0.5);
    // The mark is a fraction of the segment, but no more blocks than requested.
    let mut rig = Rig::new(|m| {
        blocks_cost(m, 0.05);
        (m.buffer.high_water, m.buffer.water_by_request) = (0.5, false);
    });
    assert_ms!(rig.read(50, 10, 0.0), 6.0 + 0.5);
}

#[test]
fn miss_overheads_overlap_the_access_and_reconnection_overheads_follow_it() {
    let overheads = |m: &mut DriveModel| {
        blocks_cost(m, 0.05);
        m.buffer.high_water = 1.0;
        m.overheads.read_miss = After { read: 0.3 * MS, write: 9.0 * MS };
        m.overheads.read_disconnect = After::either(0.2 * MS);
        m.overheads.first_reselect = 0.4 * MS;
        m.overheads.data_preparation = 0.1 * MS;
        m.overheads.read_completion = 0.25 * MS;
    };
    assert_ms!(Rig::new(overheads).read(50, 10, 0.0), 6.0 + 0.4 + 0.1 + 0.5 + 0.25);
    // The arm waits for command processing: 5.2 ms of it cost a revolution.
    let mut rig = Rig::new(|m| {
        overheads(m);
        m.overheads.per_request = 4.9 * MS;
    });
    assert_ms!(rig.read(50, 10, 0.0), 16.0 + 1.25);
    // Disconnecting takes longer than the access.
    let mut rig = Rig::new(|m| {
        overheads(m);
        m.overheads.read_disconnect = After::either(7.0 * MS);
    });
    assert_ms!(rig.read(50, 10, 0.0), 7.3 + 1.25);
}

#[test]
fn a_hit_costs_its_overhead_and_its_blocks() {
    let mut rig = Rig::new(|m| {
        blocks_cost(m, 0.05);
        m.overheads.read_hit = After { read: 0.7 * MS, write: 9.0 * MS };
        m.overheads.data_preparation = 0.1 * MS;
    });
    assert_ms!(rig.read(50, 10, 0.0), 6.05 + 0.1);
    assert_ms!(rig.read(52, 4, 20.0), 20.8 + 0.2);
    // Without a cache the blocks are read again.
    let mut rig = Rig::new(|m| m.buffer.caching = false);
    rig.read(50, 10, 0.0);
    assert_ms!(rig.read(52, 4, 20.0), 25.6);
}

#[test]
fn read_ahead_ends_where_its_rule_says() {
    let hits = |change: &dyn Fn(&mut ReadModel), lba: u64, then: u64| {
        let mut rig = Rig::new(|m| change(&mut m.read));
        rig.read(lba, 10, 0.0);
        rig.read(then, 1, 100.0) < 100.001
    };
    let ahead = |ahead, max_ahead| move |read: &mut ReadModel| (read.ahead, read.max_ahead) = (ahead, max_ahead);
    assert!(!hits(&ahead(ReadAheadRule::None, 0), 0, 10));
    let segment = ahead(ReadAheadRule::Segment, 50);
    assert!(hits(&segment, 0, 59) && !hits(&segment, 0, 60));
    assert!(hits(&segment, 80, 139));
    let track = ahead(ReadAheadRule::Track, 150);
    assert!(hits(&track, 80, 99) && !hits(&track, 80, 100));
    let cylinder = ahead(ReadAheadRule::Cylinder, 150);
    assert!(hits(&cylinder, 80, 199) && !hits(&cylinder, 80, 200));
    // The track of the block behind the request, and one more for a stream.
    let adaptive = ahead(ReadAheadRule::Adaptive, 0);
    assert!(hits(&adaptive, 80, 99) && !hits(&adaptive, 80, 100));
    assert!(hits(&adaptive, 95, 299) && !hits(&adaptive, 95, 300));
    // Without a maximum, the rest of a segment (256 blocks).
    assert!(hits(&ahead(ReadAheadRule::Segment, 0), 0, 255) && !hits(&ahead(ReadAheadRule::Segment, 0), 0, 256));
    let overwrite = |read: &mut ReadModel| {
        (read.ahead, read.keep) = (ReadAheadRule::Segment, KeepRequested::Overwrite);
    };
    assert!(hits(&overwrite, 0, 265) && !hits(&overwrite, 0, 9));
}

#[test]
fn a_partial_hit_waits_for_its_missing_blocks() {
    let ahead = |m: &mut DriveModel| (m.read.ahead, m.read.max_ahead) = (ReadAheadRule::Segment, 40);
    // Read-ahead is at block 20 at 2 ms: blocks 15 to 29 have all passed at 3 ms.
    let mut rig = Rig::new(ahead);
    assert_ms!(rig.read(0, 10, 0.0), 1.0);
    assert_ms!(rig.read(15, 15, 2.0), 3.0);
    // The block under the head is a hit only if the model allows it; otherwise the arm starts a new access.
    let mut rig = Rig::new(ahead);
    rig.read(0, 10, 0.0);
    assert_ms!(rig.read(20, 5, 2.05), 12.5);
    let mut rig = Rig::new(|m| {
        ahead(m);
        m.read.almost_hits = true;
    });
    rig.read(0, 10, 0.0);
    assert_ms!(rig.read(20, 5, 2.05), 2.5);
}

#[test]
fn breaking_off_read_ahead_waits_for_the_sector_unless_it_may_stop_within() {
    let ends = |stop_in_sector| {
        let mut rig = Rig::new(|m| {
            (m.read.ahead, m.read.max_ahead, m.read.stop_in_sector) = (ReadAheadRule::Segment, 90, stop_in_sector);
        });
        rig.read(0, 10, 0.0);
        // In sector 25, 3 ms before the seek would have to begin for sector 70 of cylinder 1 (4 turned on: 0.2
        // later).
        let id = rig.send(Op::Read, 200, 1, 2.55);
        rig.end(id)
    };
    // Track 2 starts at 0.3 turns: 3 ms, 13 ms. From 2.55 or 2.6 the arm needs 2 ms, so both catch 13 ms.
    assert_ms!(ends(true), 13.1);
    assert_ms!(ends(false), 13.1);
    // At the edge, waiting for the rest of a sector costs a turn. At 9.83 sector 98 passes, until 9.9. A seek takes
    // 2.05; sector 79 of track 3, which starts at 0.4 turns, passes at 11.9 and 21.9.
    let edge = |stop_in_sector| {
        let mut rig = Rig::new(|m| {
            (m.read.ahead, m.read.max_ahead, m.read.stop_in_sector) = (ReadAheadRule::Segment, 90, stop_in_sector);
            m.mechanics.seek = SeekCurve::Table(vec![(1, 2.05 * MS), (9, 5.0 * MS)]);
        });
        rig.read(50, 10, 0.0);
        let id = rig.send(Op::Read, 379, 1, 9.83);
        rig.end(id)
    };
    assert_ms!(edge(true), 12.0);
    assert_ms!(edge(false), 22.0);
}

#[test]
fn minimum_read_ahead_goes_before_the_next_request() {
    let mut rig = Rig::new(|m| {
        (m.read.ahead, m.read.max_ahead, m.read.min_ahead) = (ReadAheadRule::Segment, 80, 30);
        m.buffer.segments = 2;
    });
    rig.read(0, 10, 0.0);
    // The arm is free at 4 ms; sector 0 of track 2 passes at 13 ms; without the minimum it would be the same turn.
    assert_ms!(rig.read(200, 1, 1.5), 13.1);
    assert_ms!(rig.read(39, 1, 50.0), 50.0);
}

#[test]
fn zero_latency_takes_a_track_in_one_turn() {
    let whole = |immediate| {
        let mut rig = Rig::new(|m| m.read.immediate = immediate);
        rig.read(0, 100, 4.04)
    };
    assert_ms!(whole(false), 20.0);
    assert_ms!(whole(true), 14.1);
    // After a landing behind the last requested block, the drive waits for the first.
    let mut rig = Rig::new(|m| m.read.immediate = true);
    assert_ms!(rig.read(10, 10, 5.0), 12.0);
}

#[test]
fn free_blocks_are_kept_when_they_pass_before_the_first_one() {
    let hit = |free_blocks| {
        let mut rig = Rig::new(|m| m.read.free_blocks = free_blocks);
        // The arm arrives at 6 ms, after sector 50 has passed: sectors 0 to 49 pass before it comes again.
        assert_ms!(rig.read(50, 10, 6.0), 16.0);
        rig.read(20, 5, 30.0) < 30.001
    };
    assert!(hit(true) && !hit(false));
}

#[test]
fn a_request_larger_than_the_segment_waits_for_room() {
    let ends = |direct| {
        let mut rig = Rig::new(|m| {
            blocks_cost(m, 1.0);
            (m.buffer.segment_blocks, m.buffer.direct) = (20, direct);
        });
        rig.read(0, 60, 0.0)
    };
    // The bus is ten times slower than the medium. After the first sector it never waits: sectors that found no room
    // come round again before the bus needs them.
    assert_ms!(ends(true), 60.1);
    assert_ms!(ends(false), 60.1);
}

#[test]
fn the_breakdown_includes_the_firmware_overheads() {
    let mut rig = Rig::new(|m| {
        let o = &mut m.overheads;
        (o.per_request, o.read_miss, o.read_completion) = (0.1 * MS, After::either(0.3 * MS), 0.2 * MS);
        (o.read_disconnect, o.first_reselect, o.data_preparation) = (After::either(0.05 * MS), 0.07 * MS, 0.04 * MS);
        o.read_hit = After::either(0.5 * MS);
    });
    let mut service = |lba| {
        let id = rig.send(Op::Read, lba, 1, rig.now.as_millis_f64());
        while rig.out.is_empty() {
            rig.now = rig.drive.next_event().expect("the request is inside");
            rig.drive.advance(rig.now, &mut rig.out);
        }
        let completion = rig.out.remove(0);
        assert_eq!(completion.id, id);
        completion.service
    };
    // A miss: the command, the disconnection, the reconnection, and the completion.
    let miss = service(50);
    assert_ms!(miss.overhead.as_millis_f64(), 0.1 + 0.3 + 0.05 + 0.07 + 0.04 + 0.2);
    let hit = service(50);
    assert_ms!(hit.overhead.as_millis_f64(), 0.1 + 0.5 + 0.04 + 0.2);
    assert!(hit.cache_hit && !miss.cache_hit);
}
