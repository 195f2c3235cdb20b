use super::*;
use proptest::prelude::*;

struct Idle;

impl DriverQueues for Idle {
    fn queued(&self, _: u32) -> usize {
        0
    }
    fn distance(&self, _: u32, lba: u64) -> u64 {
        lba
    }
}

fn config(devices: u32, unit: u64, redundancy: LogicalRedundancy) -> OrganisationConfig {
    OrganisationConfig {
        addressing: Addressing::Array,
        spread: BlockSpread::Striped(unit),
        redundancy,
        devices: (0..devices).collect(),
        blocks: 1000,
    }
}

fn parity(rotation: ParityRotation, read_modify_write: f64) -> LogicalRedundancy {
    LogicalRedundancy::Parity { rotation, rows: 1, read_modify_write, synchronous: false }
}

fn plan(o: &mut LogicalOrganisation, lba: u64, sectors: u32, op: Op) -> AccessPlan {
    let mut plan = AccessPlan::default();
    o.plan(LogicalPlace { part: 0, lba }, sectors, op, &Idle, &mut Rand48::new(1), &mut plan);
    plan
}

fn brief(accesses: &[DeviceAccess]) -> Vec<(u32, u64, u32)> {
    let mut all: Vec<_> = accesses.iter().map(|a| (a.device, a.lba, a.sectors)).collect();
    all.sort_unstable();
    all
}

#[test]
fn parity_moves_left_and_data_start_behind_it() {
    let rows = |rotation, row| {
        parity::ParityLayout { unit: 8, devices: 4, blocks: 1000, rotation, rows_per_turn: 1 }.devices_of(row)
    };
    // The textbook pictures of the four layouts, two rows each.
    assert_eq!(rows(ParityRotation::LeftSymmetric, 0), (3, vec![0, 1, 2]));
    assert_eq!(rows(ParityRotation::LeftSymmetric, 1), (2, vec![3, 0, 1]));
    assert_eq!(rows(ParityRotation::LeftAsymmetric, 1), (2, vec![0, 1, 3]));
    assert_eq!(rows(ParityRotation::RightAsymmetric, 1), (1, vec![0, 2, 3]));
    assert_eq!(rows(ParityRotation::RightSymmetric, 1), (1, vec![2, 3, 0]));
    assert_eq!(rows(ParityRotation::LastDevice, 1), (3, vec![0, 1, 2]));
}

#[test]
fn a_striped_request_is_one_access_for_each_device() {
    let mut o = LogicalOrganisation::new(config(3, 10, LogicalRedundancy::None));
    let p = plan(&mut o, 5, 60, Op::Read);
    // Units: 5 of device 0, 10 of 1, 10 of 2, then 10, 10, 10, and 5 of device 0 again.
    assert_eq!(brief(p.ready()), [(0, 5, 20), (1, 0, 20), (2, 0, 20)]);
}

#[test]
fn a_small_write_reads_old_data_and_parity_first() {
    let mut o = LogicalOrganisation::new(config(5, 8, parity(ParityRotation::LeftSymmetric, 0.5)));
    let mut p = plan(&mut o, 3, 4, Op::Write);
    assert_eq!(brief(p.ready()), [(0, 3, 4), (4, 3, 4)]);
    let writes: Vec<DeviceAccess> = p.waiting().copied().collect();
    assert_eq!(brief(&writes), [(0, 3, 4), (4, 3, 4)]);
    // The data write waits only for its own device, the parity write for both.
    let reads = p.ready().to_vec();
    let (data, old_parity) = (reads[1], reads[0]);
    assert_eq!((data.device, old_parity.device), (0, 4));
    let mut begun = Vec::new();
    p.completed(&old_parity, |a| begun.push(a.device));
    assert!(begun.is_empty());
    p.completed(&data, |a| begun.push(a.device));
    begun.sort_unstable();
    assert_eq!(begun, [0, 4]);
}

#[test]
fn a_large_write_reads_the_rest_of_the_row() {
    let mut o = LogicalOrganisation::new(config(5, 8, parity(ParityRotation::LeftSymmetric, 0.0)));
    let p = plan(&mut o, 0, 8, Op::Write);
    assert_eq!(brief(p.ready()), [(0, 0, 8), (1, 0, 8), (2, 0, 8), (3, 0, 8)]);
    let writes: Vec<DeviceAccess> = p.ready().iter().filter(|a| a.op == Op::Write).copied().collect();
    assert_eq!(brief(&writes), [(0, 0, 8)], "the data write waits for nothing");
    assert_eq!(p.waiting().map(|a| (a.device, a.lba, a.sectors)).collect::<Vec<_>>(), [(4, 0, 8)]);
}

#[test]
fn a_full_row_reads_nothing() {
    let mut o = LogicalOrganisation::new(config(5, 8, parity(ParityRotation::LeftSymmetric, 0.5)));
    let p = plan(&mut o, 0, 32, Op::Write);
    assert_eq!(brief(p.ready()), [(0, 0, 8), (1, 0, 8), (2, 0, 8), (3, 0, 8), (4, 0, 8)]);
    assert_eq!(p.waiting().count(), 0);
}

#[test]
fn two_units_that_do_not_overlap_have_two_parity_extents() {
    let mut o = LogicalOrganisation::new(config(9, 200, parity(ParityRotation::LeftSymmetric, 0.5)));
    let p = plan(&mut o, 190, 20, Op::Write);
    assert_eq!(brief(p.ready()), [(0, 190, 10), (1, 0, 10), (8, 0, 10), (8, 190, 10)]);
    // Units that overlap have one, over the whole unit.
    let p = plan(&mut o, 100, 200, Op::Write);
    assert_eq!(brief(p.ready()), [(0, 100, 100), (1, 0, 100), (8, 0, 200)]);
}

#[test]
fn copies_are_all_written_and_one_is_read() {
    let redundancy = LogicalRedundancy::Shadowed { copies: 2, choice: LogicalCopyChoice::RoundRobin };
    let mut o = LogicalOrganisation::new(config(4, 10, redundancy));
    assert_eq!(brief(plan(&mut o, 0, 15, Op::Write).ready()), [(0, 0, 10), (1, 0, 5), (2, 0, 10), (3, 0, 5)]);
    assert_eq!(brief(plan(&mut o, 0, 5, Op::Read).ready()), [(0, 0, 5)]);
    assert_eq!(brief(plan(&mut o, 0, 5, Op::Read).ready()), [(2, 0, 5)]);
}

fn any_redundancy() -> impl Strategy<Value = LogicalRedundancy> {
    let rotation = prop_oneof![
        Just(ParityRotation::LastDevice),
        Just(ParityRotation::LeftSymmetric),
        Just(ParityRotation::LeftAsymmetric),
        Just(ParityRotation::RightAsymmetric),
        Just(ParityRotation::RightSymmetric),
    ];
    prop_oneof![
        Just(LogicalRedundancy::None),
        Just(LogicalRedundancy::Shadowed { copies: 2, choice: LogicalCopyChoice::ShortestQueueThenNearest }),
        (rotation, 1u64..4, 0.0..1.0, any::<bool>()).prop_map(|(rotation, rows, read_modify_write, synchronous)| {
            LogicalRedundancy::Parity { rotation, rows, read_modify_write, synchronous }
        }),
    ]
}

proptest! {
    /// Every access lies within its device, every plan completes, and a read reads the requested number of blocks (more
    /// only for the gaps that joining includes).
    #[test]
    fn plans_are_complete(
        redundancy in any_redundancy(),
        pairs in 2u32..5,
        unit in 1u64..70,
        at in 0.0..1.0f64,
        sectors in 1u32..400,
        read in any::<bool>(),
    ) {
        let mut o = LogicalOrganisation::new(config(2 * pairs, unit, redundancy));
        let limit = o.capacity().saturating_sub(u64::from(sectors)).max(1);
        let lba = (at * limit as f64) as u64;
        prop_assume!(lba + u64::from(sectors) <= o.capacity());
        let op = if read { Op::Read } else { Op::Write };
        let mut p = plan(&mut o, lba, sectors, op);
        prop_assert!(p.len() > 0);
        let mut done = 0;
        let mut todo = p.ready().to_vec();
        let total = p.len();
        if read {
            let sum: u64 = todo.iter().map(|a| u64::from(a.sectors)).sum();
            prop_assert!(sum >= u64::from(sectors));
            if matches!(redundancy, LogicalRedundancy::None) {
                prop_assert_eq!(sum, u64::from(sectors));
            }
        }
        while let Some(access) = todo.pop() {
            prop_assert!(access.sectors > 0);
            prop_assert!(access.lba + u64::from(access.sectors) <= 1000, "{:?}", access);
            done += 1;
            p.completed(&access, |a| todo.push(a));
        }
        prop_assert_eq!(done, total);
    }
}
