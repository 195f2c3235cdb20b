use super::*;

fn layout(members: u32, member_sectors: u64, redundancy: Redundancy) -> ArrayLayout {
    ArrayLayout::new(&Organisation { members, member_sectors, stripe_unit: Some(8), redundancy, use_remainder: false })
        .unwrap()
}

fn rotated(checks: u32, rotation: Rotation) -> Redundancy {
    Redundancy::Rotated { checks, rotation, parity_unit: None }
}

/// Rows of a drawing without the header and the row numbers.
fn cells(layout: &ArrayLayout, rows: u64) -> Vec<String> {
    let drawing = layout.draw(rows);
    drawing.lines().skip(1).map(|l| l.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn raid_5_is_drawn_as_in_the_text_books() {
    // Lee and Katz 1991, with five members.
    let draw = |rotation| cells(&layout(5, 400, rotated(1, rotation)), 5);
    assert_eq!(
        draw(Rotation::LeftSymmetric),
        ["0 1 2 3 P0", "5 6 7 P1 4", "10 11 P2 8 9", "15 P3 12 13 14", "P4 16 17 18 19"]
    );
    assert_eq!(
        draw(Rotation::LeftAsymmetric),
        ["0 1 2 3 P0", "4 5 6 P1 7", "8 9 P2 10 11", "12 P3 13 14 15", "P4 16 17 18 19"]
    );
    assert_eq!(
        draw(Rotation::RightSymmetric),
        ["P0 0 1 2 3", "7 P1 4 5 6", "10 11 P2 8 9", "13 14 15 P3 12", "16 17 18 19 P4"]
    );
    assert_eq!(
        draw(Rotation::RightAsymmetric),
        ["P0 0 1 2 3", "4 P1 5 6 7", "8 9 P2 10 11", "12 13 14 P3 15", "16 17 18 19 P4"]
    );
}

#[test]
fn left_symmetric_touches_all_members_before_one_twice() {
    let layout = layout(5, 4000, rotated(1, Rotation::LeftSymmetric));
    for first in 0..40 {
        let mut members: Vec<_> =
            (first..first + 5u64).map(|unit| layout.place(unit / 4, (unit % 4) as u32).member).collect();
        members.sort_unstable();
        assert_eq!(members, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn raid_6_has_q_behind_p() {
    assert_eq!(
        cells(&layout(5, 400, rotated(2, Rotation::LeftSymmetric)), 5),
        ["Q0 0 1 2 P0", "3 4 5 P1 Q1", "7 8 P2 Q2 6", "11 P3 Q3 9 10", "P4 Q4 12 13 14"]
    );
    assert_eq!(
        cells(&layout(5, 400, rotated(2, Rotation::RightAsymmetric)), 5),
        ["P0 Q0 0 1 2", "3 P1 Q1 4 5", "6 7 P2 Q2 8", "9 10 11 P3 Q3", "Q4 12 13 14 P4"]
    );
}

#[test]
fn mirrors_are_neighbours_or_halves() {
    let mirrored = |order| Redundancy::Mirrored { copies: 2, order };
    assert_eq!(cells(&layout(4, 400, mirrored(MirrorOrder::Adjacent)), 2), ["0 0 1 1", "2 2 3 3"]);
    assert_eq!(cells(&layout(4, 400, mirrored(MirrorOrder::Halves)), 2), ["0 1 0 1", "2 3 2 3"]);
}

#[test]
fn a_parity_stripe_unit_of_several_stripe_units_moves_more_slowly() {
    let redundancy = Redundancy::Rotated { checks: 1, rotation: Rotation::LeftSymmetric, parity_unit: Some(16) };
    assert_eq!(cells(&layout(3, 400, redundancy), 5), ["0 1 P0", "2 3 P1", "5 P2 4", "7 P3 6", "P4 8 9"]);
}

#[test]
fn declustered_parity_is_spread_evenly() {
    let design = BlockDesign::balanced(5, 4).unwrap();
    let layout = layout(5, 8 * 16, Redundancy::Declustered { checks: 1, design });
    assert_eq!((layout.stripes(), layout.rows(), layout.capacity()), (20, 16, 20 * 3 * 8));
    for member in 0..5 {
        let parities = (0..16).filter(|&row| layout.at(member, row).is_some_and(|(_, p)| p == 3)).count();
        assert_eq!(parities, 4, "each member has a fifth of 20");
    }
}

#[test]
fn capacity_and_remainder() {
    let mut organisation = Organisation {
        members: 5,
        member_sectors: 100,
        stripe_unit: Some(8),
        redundancy: rotated(1, Rotation::LeftSymmetric),
        use_remainder: true,
    };
    let whole = ArrayLayout::new(&organisation).unwrap();
    assert_eq!(whole.capacity(), 400, "DiskSim: (N-1) times the member");
    assert_eq!(whole.address(Lba(395)), UnitAddress { stripe: 12, unit: 2, offset: 3 }, "the last row has units of 4");
    assert_eq!(whole.unit_sectors(12), 4);
    organisation.use_remainder = false;
    assert_eq!(ArrayLayout::new(&organisation).unwrap().capacity(), 12 * 8 * 4);
    organisation = Organisation { stripe_unit: None, redundancy: Redundancy::None, ..organisation };
    let concatenated = ArrayLayout::new(&organisation).unwrap();
    assert_eq!(concatenated.capacity(), 500);
    assert_eq!(concatenated.address(Lba(250)), UnitAddress { stripe: 0, unit: 2, offset: 50 });
}

#[test]
fn what_an_array_survives() {
    let raid5 = layout(4, 400, rotated(1, Rotation::default()));
    assert!(raid5.survives(&[2]) && !raid5.survives(&[1, 2]));
    let raid6 = layout(5, 400, rotated(2, Rotation::default()));
    assert!(raid6.survives(&[0, 4]) && !raid6.survives(&[0, 1, 2]));
    let raid10 = layout(4, 400, Redundancy::Mirrored { copies: 2, order: MirrorOrder::Adjacent });
    assert!(raid10.survives(&[0, 3]) && !raid10.survives(&[0, 1]));
    assert!(!layout(4, 400, Redundancy::None).survives(&[0]));
}

#[test]
fn contradictions_are_named() {
    let error = |members, stripe_unit, redundancy| {
        ArrayLayout::new(&Organisation { members, member_sectors: 1000, stripe_unit, redundancy, use_remainder: false })
            .unwrap_err()
            .to_string()
    };
    let mirrored = Redundancy::Mirrored { copies: 2, order: MirrorOrder::Adjacent };
    assert!(error(3, Some(8), mirrored).contains("copies: got 2, expected 2 or more, a divisor of the 3 members"));
    assert!(error(2, Some(8), rotated(2, Rotation::default())).contains("members: got 2, expected at least 3"));
    assert!(error(4, None, rotated(1, Rotation::default())).contains("stripe_unit: got nothing"));
    assert!(error(4, Some(2000), rotated(1, Rotation::default())).contains("expected at least 8000"));
    let parity_unit = Some(12);
    let redundancy = Redundancy::Rotated { checks: 1, rotation: Rotation::default(), parity_unit };
    assert!(error(4, Some(8), redundancy).contains("a multiple of the stripe unit of 8 sectors"));
}
