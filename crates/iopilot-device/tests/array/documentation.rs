//! The pictures in `docs/reference/arrays.md` agree with the layouts.

use iopilot_device::{ArrayLayout, BlockDesign, MirrorOrder, Organisation, Redundancy, Rotation};
use iopilot_testing::assert_documented;

fn draw(members: u32, redundancy: Redundancy, rows: u64) -> String {
    let organisation =
        Organisation { members, member_sectors: 8000, stripe_unit: Some(8), redundancy, use_remainder: false };
    ArrayLayout::new(&organisation).expect("sound").draw(rows)
}

fn rotated(checks: u32, rotation: Rotation) -> Redundancy {
    Redundancy::Rotated { checks, rotation, parity_unit: None }
}

#[test]
fn the_pictures_in_the_documentation_agree_with_the_layouts() {
    let mirrored = Redundancy::Mirrored { copies: 2, order: MirrorOrder::Adjacent };
    let design = BlockDesign::balanced(7, 3).expect("known");
    let pictures = [
        ("RAID 0", draw(5, Redundancy::None, 2)),
        ("RAID 1+0, neighbours as copies", draw(6, mirrored, 2)),
        ("RAID 4", draw(5, Redundancy::CheckDisks { checks: 1 }, 2)),
        ("RAID 5, left-symmetric", draw(5, rotated(1, Rotation::LeftSymmetric), 5)),
        ("RAID 5, left-asymmetric", draw(5, rotated(1, Rotation::LeftAsymmetric), 5)),
        ("RAID 5, right-symmetric", draw(5, rotated(1, Rotation::RightSymmetric), 5)),
        ("RAID 5, right-asymmetric", draw(5, rotated(1, Rotation::RightAsymmetric), 5)),
        ("RAID 6, left-symmetric", draw(5, rotated(2, Rotation::LeftSymmetric), 5)),
        ("Declustered parity, 3 of 7", draw(7, Redundancy::Declustered { checks: 1, design }, 9)),
    ];
    let drawn: String = pictures.iter().map(|(name, picture)| format!("{name}:\n\n```\n{picture}```\n\n")).collect();
    assert_documented("docs/reference/arrays.md", "layouts", &drawn);
}
