//! The table-based disk with arbitrary input.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{HitLimit, SimulatedCacheModel, TableDisk, TableForm, TableLookup, TableModel, TimeTables};
use iopilot_device::{Device, DeviceRequest};
use proptest::prelude::*;

const CAPACITY: u64 = 10 << 21;

fn lookup() -> impl Strategy<Value = (TableLookup, u64)> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write)];
    (op, 1u32..600, 0..CAPACITY, any::<bool>(), 1u64..20_000_000).prop_map(|(op, sectors, distance, hit, time)| {
        (TableLookup { op, sectors: Sectors(sectors), distance, hit }, time)
    })
}

fn form() -> impl Strategy<Value = TableForm> {
    let three = TableForm::Three(HitLimit { base: Nanos::from_millis(1), per_sector: Nanos(1000) });
    prop_oneof![Just(TableForm::Two), Just(three)]
}

proptest! {
    /// A time lies within the measured ones.
    #[test]
    fn times_lie_within_what_was_measured(
        form in form(),
        keep in 1u32..65,
        seen in prop::collection::vec(lookup(), 1..100),
        (asked, _) in lookup(),
    ) {
        let mut tables = TimeTables::new(form, CAPACITY, keep);
        prop_assert_eq!(tables.time(&asked), None);
        for (lookup, time) in &seen {
            tables.observe(lookup, Nanos(*time));
        }
        let time = tables.time(&asked).map(|t| t.0);
        let (least, most) = (seen.iter().map(|s| s.1).min(), seen.iter().map(|s| s.1).max());
        prop_assert!(time >= least && time <= most, "{:?}: {:?} to {:?}", time, least, most);
        let passed_on = tables.averaged(keep);
        prop_assert_eq!(passed_on.time(&asked).map(|t| t.0), time);
    }

    /// Every request completes once, in order of arrival.
    #[test]
    fn requests_are_served_in_order(
        form in form(),
        seen in prop::collection::vec(lookup(), 1..20),
        asked in prop::collection::vec((lookup(), 0u64..3_000_000), 1..50),
    ) {
        let mut tables = TimeTables::new(form, CAPACITY, 8);
        seen.iter().for_each(|(lookup, time)| tables.observe(lookup, Nanos(*time)));
        let cache = SimulatedCacheModel {
            read_segments: 3,
            write_segments: 2,
            segment_sectors: 512,
            read_ahead_sequential: 256,
            read_ahead_random: 64,
            read_ahead_on_hit: false,
            sector_time: Nanos(4_000),
        };
        let mut disk = TableDisk::new(TableModel { tables, cache, queue_depth: 64 });
        let (mut now, mut done) = (0, Vec::new());
        for (id, ((lookup, _), later)) in asked.iter().enumerate() {
            now += later;
            disk.advance(Nanos(now), &mut done);
            let lba = Lba(lookup.distance % (CAPACITY - 600));
            let (op, sectors) = (lookup.op, lookup.sectors);
            disk.submit(DeviceRequest { id: RequestId::from_index(id), op, lba, sectors, flags: Flags::empty() }, Nanos(now));
        }
        while let Some(next) = disk.next_event() {
            disk.advance(next, &mut done);
        }
        prop_assert!(done.iter().map(|c| c.id.index()).eq(0..asked.len()));
        prop_assert!(done.windows(2).all(|w| w[0].at <= w[1].at));
    }
}
