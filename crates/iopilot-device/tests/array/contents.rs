//! Contents survive: they are written through plans to members that hold data, and read back with members lost.

use super::organisations;
use super::store::Store;
use iopilot_block::Lba;
use iopilot_device::{ArrayLayout, CopyChoice, MappingRules, Organisation, UpdateRule, WriteOrder};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashSet;

fn rules() -> impl Strategy<Value = MappingRules> {
    let update = prop_oneof![Just(UpdateRule::LeastReads), (0u32..6).prop_map(UpdateRule::Below)];
    let order = prop_oneof![Just(WriteOrder::ByStripe), Just(WriteOrder::Phased), Just(WriteOrder::Eager)];
    (update, order, any::<u64>()).prop_map(|(update, order, seed)| MappingRules {
        update,
        order,
        seed,
        copy_choice: CopyChoice::Random,
        ..MappingRules::default()
    })
}

/// As many random members as may be lost at once.
fn victims(layout: &ArrayLayout, rng: &mut Pcg64Mcg) -> Vec<u32> {
    let mut lost = Vec::new();
    for _ in 0..20 {
        let member = rng.random_range(0..layout.members());
        let more = [&lost[..], &[member]].concat();
        if !lost.contains(&member) && layout.survives(&more) {
            lost = more;
        }
    }
    lost
}

fn extent(capacity: u64, rng: &mut Pcg64Mcg) -> (u64, u32) {
    let sectors = if rng.random_bool(0.5) { rng.random_range(1..12) } else { rng.random_range(1..80) };
    let sectors = sectors.min(capacity);
    (rng.random_range(0..=capacity - sectors), sectors as u32)
}

fn traffic(store: &mut Store, capacity: u64, count: u32, rng: &mut Pcg64Mcg) {
    for _ in 0..count {
        let (lba, sectors) = extent(capacity, rng);
        if rng.random_bool(0.6) {
            store.write(lba, sectors);
        } else {
            store.read(lba, sectors);
        }
    }
}

fn live_and_die(organisation: &Organisation, rules: MappingRules, seed: u64) {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let layout = ArrayLayout::new(organisation).expect("sound");
    let capacity = layout.capacity();
    let mut store = Store::new(&layout, rules, organisation.member_sectors, Pcg64Mcg::seed_from_u64(seed ^ 1));
    let everything = u32::try_from(capacity).expect("sound");
    store.write(0, everything);
    traffic(&mut store, capacity, 20, &mut rng);
    store.check();

    // Members fail one after the other, under load.
    let lost = victims(&layout, &mut rng);
    for &member in &lost {
        store.lose(member);
        store.read(0, everything);
        traffic(&mut store, capacity, 15, &mut rng);
    }

    // Their replacements are rebuilt, under load.
    for &member in &lost {
        let mut row = 0;
        while row < layout.rows() {
            let rows = rng.random_range(1..5).min(layout.rows() - row);
            store.rebuild(member, row, rows);
            row += rows;
            traffic(&mut store, capacity, 2, &mut rng);
        }
        store.health.restore(member);
    }
    assert!(!store.health.is_degraded());
    store.check();
    store.read(0, everything);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_is_lost(organisation in organisations(), rules in rules(), seed in any::<u64>()) {
        live_and_die(&organisation, rules, seed);
    }

    #[test]
    fn every_byte_has_one_place_and_its_redundancy_others(organisation in organisations()) {
        let layout = ArrayLayout::new(&organisation).expect("sound");
        let mut used = HashSet::new();
        for stripe in 0..layout.stripes() {
            let places: Vec<_> = (0..layout.width()).map(|p| layout.place(stripe, p)).collect();
            let members: HashSet<_> = places.iter().map(|place| place.member).collect();
            prop_assert_eq!(members.len(), places.len(), "units of a stripe share a member");
            for (position, place) in (0u32..).zip(&places) {
                let first = layout.row_lba(place.row).0;
                let last = first + u64::from(layout.unit_sectors(stripe));
                prop_assert!(last <= organisation.member_sectors, "past the end of a member");
                prop_assert_eq!(layout.at(place.member, place.row), Some((stripe, position)));
                prop_assert!(place.row < layout.rows());
                for sector in first..last {
                    prop_assert!(used.insert((place.member, sector)), "two bytes in one place");
                }
            }
        }
        // Addresses fill the data units in order.
        for lba in 0..layout.capacity() {
            let address = layout.address(Lba(lba));
            let unit = u64::from(layout.unit_sectors(address.stripe));
            let back = layout.first_lba(address.stripe).0 + u64::from(address.unit) * unit + u64::from(address.offset);
            prop_assert_eq!(back, lba);
            prop_assert!(address.unit < layout.data_units() && u64::from(address.offset) < unit);
        }
        let data = layout.capacity() / u64::from(layout.data_units()) * u64::from(layout.width());
        prop_assert_eq!(used.len() as u64, data);
    }
}
