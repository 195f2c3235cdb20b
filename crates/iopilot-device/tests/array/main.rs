//! Properties of every array.

mod contents;
mod device;
mod documentation;
mod store;

use iopilot_device::{BlockDesign, MirrorOrder, Organisation, Redundancy, Rotation};
use proptest::prelude::*;

fn rotations() -> impl Strategy<Value = Rotation> {
    prop_oneof![
        Just(Rotation::LeftSymmetric),
        Just(Rotation::LeftAsymmetric),
        Just(Rotation::RightSymmetric),
        Just(Rotation::RightAsymmetric),
    ]
}

/// Any organisation of a few small members, with a stripe unit of a few sectors.
pub(crate) fn organisations() -> impl Strategy<Value = Organisation> {
    let rotated = (3u32..8, 1u32..3, rotations(), 1u32..4)
        .prop_map(|(members, checks, rotation, slow)| (members.max(checks + 1), slow, Some((checks, rotation))));
    let redundancy = prop_oneof![
        1 => (1u32..6).prop_map(|n| (n, Redundancy::None)),
        2 => (1u32..4, 2u32..4, any::<bool>()).prop_map(|(columns, copies, halves)| {
            let order = if halves { MirrorOrder::Halves } else { MirrorOrder::Adjacent };
            (columns * copies, Redundancy::Mirrored { copies, order })
        }),
        1 => (3u32..7, 1u32..3).prop_map(|(n, checks)| (n.max(checks + 1), Redundancy::CheckDisks { checks })),
        4 => rotated.prop_map(|(n, slow, rest)| {
            let (checks, rotation) = rest.unwrap_or_default();
            (n, Redundancy::Rotated { checks, rotation, parity_unit: (slow > 1).then_some(slow) })
        }),
        2 => (1u32..3, prop::sample::select(vec![(5u32, 4u32), (7, 3), (7, 4), (6, 4), (4, 3)])).prop_map(
            |(checks, (n, group))| {
                let design = BlockDesign::balanced(n, group).expect("a known design");
                (n, Redundancy::Declustered { checks, design })
            }
        ),
    ];
    (redundancy, 1u32..9, 1u64..10, 0u64..8, any::<bool>()).prop_map(
        |((members, mut redundancy), unit, rows, more, use_remainder)| {
            let mut rows = rows;
            if let Redundancy::Rotated { parity_unit: Some(q), .. } = &mut redundancy {
                *q *= unit;
            }
            if let Redundancy::Declustered { design, .. } = &redundancy {
                // A whole table.
                rows = design.tuples().len() as u64 * u64::from(design.group()).pow(2) / u64::from(members);
            }
            Organisation {
                members,
                member_sectors: rows * u64::from(unit) + more % u64::from(unit),
                stripe_unit: Some(unit),
                redundancy,
                use_remainder,
            }
        },
    )
}
