use super::*;
use crate::{MirrorOrder, Organisation, Redundancy, Rotation};

fn mapper(members: u32, redundancy: Redundancy, rules: MappingRules) -> Mapper {
    let layout = ArrayLayout::new(&Organisation {
        members,
        member_sectors: 8000,
        stripe_unit: Some(64),
        redundancy,
        use_remainder: false,
    });
    Mapper::new(layout.unwrap(), rules)
}

fn raid5() -> Redundancy {
    rotated(1)
}

fn rotated(checks: u32) -> Redundancy {
    Redundancy::Rotated { checks, rotation: Rotation::LeftSymmetric, parity_unit: None }
}

/// The plan in short: `r0:64+8` reads 8 sectors at 64 of member 0; requests that must wait follow a bar.
fn plan(mapper: &mut Mapper, lost: &[u32], op: Op, lba: u64, sectors: u32) -> String {
    let mut health = Health::whole(mapper.layout().members());
    lost.iter().for_each(|&member| health.lose(member));
    let mut plan = Plan::new();
    mapper.plan(op, Lba(lba), Sectors(sectors), &health, &(), &mut plan);
    let mut first = vec![false; plan.len()];
    plan.begin(|i, _| first[i] = true);
    let show = |io: &MemberIo| format!("{}{}:{}+{}", &io.op.to_string()[..1], io.member, io.lba.0, io.sectors.0);
    let of = |at_once: bool| -> Vec<String> {
        plan.ios().zip(&first).filter(|(_, f)| **f == at_once).map(|(io, _)| show(io)).collect()
    };
    [of(true).join(" "), of(false).join(" ")].join(" | ").trim_end_matches([' ', '|']).to_owned()
}

#[test]
fn striping_merges_adjoining_requests_of_a_member() {
    let mut raid0 = mapper(2, Redundancy::None, MappingRules::default());
    assert_eq!(plan(&mut raid0, &[], Op::Read, 32, 64), "r0:32+32 r1:0+32");
    assert_eq!(plan(&mut raid0, &[], Op::Write, 0, 256), "w0:0+128 w1:0+128");
}

#[test]
fn small_writes_read_modify_write_and_large_ones_reconstruct() {
    let mut raid5 = mapper(5, raid5(), MappingRules::default());
    assert_eq!(plan(&mut raid5, &[], Op::Write, 8, 8), "r0:8+8 r4:8+8 | w0:8+8 w4:8+8");
    assert_eq!(plan(&mut raid5, &[], Op::Write, 0, 192), "r3:0+64 | w0:0+64 w1:0+64 w2:0+64 w4:0+64");
    assert_eq!(plan(&mut raid5, &[], Op::Write, 0, 256), "w0:0+64 w1:0+64 w2:0+64 w3:0+64 w4:0+64");
    // Two units that do not overlap: parity changes in two places.
    assert_eq!(
        plan(&mut mapper(9, rotated(1), MappingRules::default()), &[], Op::Write, 60, 8),
        "r0:60+4 r1:0+4 r8:0+4 r8:60+4 | w0:60+4 w1:0+4 w8:0+4 w8:60+4"
    );
}

#[test]
fn a_long_write_is_one_request_a_member() {
    let mut raid5 = mapper(5, raid5(), MappingRules::default());
    // Twenty units are five stripes, one full rotation of the parity.
    assert_eq!(plan(&mut raid5, &[], Op::Write, 0, 64 * 20), "w0:0+320 w1:0+320 w2:0+320 w3:0+320 w4:0+320");
}

#[test]
fn raid_6_updates_p_and_q() {
    let mut raid6 = mapper(8, rotated(2), MappingRules::default());
    // Left-symmetric: P on 7, Q on 0, data from 1.
    assert_eq!(plan(&mut raid6, &[], Op::Write, 0, 8), "r1:0+8 r7:0+8 r0:0+8 | w1:0+8 w7:0+8 w0:0+8");
}

#[test]
fn degraded_reads_take_the_rest_of_the_stripe() {
    let mut raid5 = mapper(4, raid5(), MappingRules::default());
    assert_eq!(plan(&mut raid5, &[1], Op::Read, 64, 8), "r0:0+8 r2:0+8 r3:0+8");
    assert_eq!(plan(&mut raid5, &[1], Op::Read, 0, 8), "r0:0+8");
    // Sectors that are read anyway are not read twice.
    assert_eq!(plan(&mut raid5, &[1], Op::Read, 0, 192), "r0:0+64 r2:0+64 r3:0+64");
    let mut raid6 = mapper(6, rotated(2), MappingRules::default());
    assert_eq!(plan(&mut raid6, &[1, 2], Op::Read, 0, 8), "r3:0+8 r4:0+8 r5:0+8 r0:0+8");
}

#[test]
fn degraded_writes_skip_lost_units() {
    let mut raid5 = mapper(4, raid5(), MappingRules::default());
    // Parity lost: no redundancy to update.
    assert_eq!(plan(&mut raid5, &[3], Op::Write, 0, 8), "w0:0+8");
    // The unit itself lost: only its parity is written, from the other data.
    assert_eq!(plan(&mut raid5, &[0], Op::Write, 0, 8), "r1:0+8 r2:0+8 | w3:0+8");
    // Another unit lost: only read-modify-write is possible.
    assert_eq!(plan(&mut raid5, &[1], Op::Write, 0, 8), "r0:0+8 r3:0+8 | w0:0+8 w3:0+8");
    // A lost unit written in part beside another: everything is read.
    assert_eq!(plan(&mut raid5, &[0], Op::Write, 32, 64), "r1:0+64 r2:0+64 r3:0+64 | w1:0+32 w3:0+64");
}

#[test]
fn mirrors_write_all_copies_and_read_one() {
    let mirrored = Redundancy::Mirrored { copies: 2, order: MirrorOrder::Halves };
    let rules = MappingRules { copy_choice: CopyChoice::First, ..MappingRules::default() };
    let mut raid10 = mapper(4, mirrored, rules);
    assert_eq!(plan(&mut raid10, &[], Op::Write, 0, 128), "w0:0+64 w1:0+64 w2:0+64 w3:0+64");
    assert_eq!(plan(&mut raid10, &[], Op::Read, 0, 256), "r0:0+128 r1:0+128");
    assert_eq!(plan(&mut raid10, &[0], Op::Read, 0, 256), "r2:0+128 r1:0+128");
    assert_eq!(plan(&mut raid10, &[0], Op::Write, 0, 8), "w2:0+8");
}

#[test]
fn disksim_counts_units_against_all_disks_and_joins_over_gaps() {
    let rules = MappingRules {
        // `RMW vs. reconstruct = 0.5`, of nine disks.
        update: UpdateRule::Below(4),
        parity_range: ParityRange::DiskSim,
        order: WriteOrder::Eager,
        merge_gap: 32,
        ..MappingRules::default()
    };
    let mut raid5 = mapper(9, raid5(), rules);
    assert_eq!(plan(&mut raid5, &[], Op::Write, 0, 192).matches('r').count(), 4, "3 < 4: read-modify-write");
    let four = plan(&mut raid5, &[], Op::Write, 0, 256);
    assert_eq!(four, "r4:0+64 r5:0+64 r6:0+64 r7:0+64 w0:0+64 w1:0+64 w2:0+64 w3:0+64 | w8:0+64");
    // The parity extents at both ends of a unit are 56 sectors apart: too far; 32 apart are joined.
    assert!(plan(&mut raid5, &[], Op::Write, 60, 8).contains("r8:0+4 r8:60+4"));
    assert!(plan(&mut raid5, &[], Op::Write, 48, 32).contains("r8:0+64"));
}

#[test]
fn eager_writes_wait_for_their_own_place_and_phased_ones_for_all() {
    let run = |order| {
        let raid4 = Redundancy::CheckDisks { checks: 1 };
        let mut mapper = mapper(9, raid4, MappingRules { order, ..MappingRules::default() });
        let mut made = Plan::new();
        // The last half unit of one stripe and the first of the next; their parity lies together.
        mapper.plan(Op::Write, Lba(64 * 8 - 32), Sectors(64), &Health::whole(9), &(), &mut made);
        let mut log = Vec::new();
        made.begin(|_, io| log.push(*io));
        let issued: Vec<_> = log.iter().map(|io| io.member).collect();
        assert_eq!(issued, [7, 8, 0]);
        let mut steps = vec![log.len()];
        for index in [0, 1, 4] {
            made.done(index, |_, io| log.push(*io));
            steps.push(log.len());
        }
        assert!(!made.is_done() && log.len() == made.len());
        steps
    };
    assert_eq!(run(WriteOrder::Phased), [3, 3, 3, 6]);
    assert_eq!(run(WriteOrder::ByStripe), [3, 3, 4, 6], "the first stripe's data wait for two reads");
    assert_eq!(run(WriteOrder::Eager), [3, 4, 4, 6], "old data are overwritten as soon as they are read");
}

#[test]
fn a_rebuild_reads_long_runs_of_the_survivors() {
    let mut raid5 = mapper(4, raid5(), MappingRules::default());
    let mut health = Health::whole(4);
    health.lose(2);
    let mut made = Plan::new();
    raid5.plan_rebuild(2, 4, 8, &health, &mut made);
    let ios: Vec<_> = made.ios().map(|io| (io.op, io.member, io.lba.0, io.sectors.0)).collect();
    assert_eq!(
        ios,
        [(Op::Read, 0, 256, 512), (Op::Read, 1, 256, 512), (Op::Read, 3, 256, 512), (Op::Write, 2, 256, 512)]
            .map(|io| io)
    );
    raid5.plan_rebuild(2, 124, 8, &health, &mut made);
    assert_eq!(made.io(0).sectors.0, 64, "125 rows");
}

#[test]
fn discards_reach_whole_stripes_under_parity() {
    let mut raid5 = mapper(3, raid5(), MappingRules::default());
    assert_eq!(plan(&mut raid5, &[], Op::Discard, 64, 256), "d2:64+64 d0:64+64 d1:64+64");
    assert_eq!(plan(&mut mapper(2, Redundancy::None, MappingRules::default()), &[], Op::Discard, 8, 8), "d0:8+8");
}
