//! [`SizelessService`]: service times that leave out the sizes of requests (GF 3.5.1).

use iopilot_block::{Lba, Nanos, Op};
use iopilot_catalogue::{TableLookup, TimeTable, TimeTables};
use iopilot_device::{Completion, DeviceRequest, ServiceBreakdown};

/// Serves one request at a time. The time is the mean over all sizes for the request's distance.
#[derive(Default)]
pub(super) struct SizelessService {
    pub(super) current: Option<Completion>,
    previous_end: Lba,
}

impl SizelessService {
    pub(super) fn begin(&mut self, tables: &TimeTables, request: &DeviceRequest, now: Nanos) {
        let lookup = TableLookup::new(request.op, request.lba, request.sectors, self.previous_end);
        let at = now + time(tables, &lookup).unwrap_or_default();
        self.current = Some(Completion { id: request.id, at, service: ServiceBreakdown::default() });
        self.previous_end = Lba(request.lba.0 + u64::from(request.sectors.0));
    }
}

fn time(tables: &TimeTables, lookup: &TableLookup) -> Option<Nanos> {
    let shape = tables.shape();
    let column = shape.column(lookup.distance).min(shape.columns() - 1);
    let mean = |table: &TimeTable| table.column_mean(column);
    let (reads, writes) = (|| mean(tables.reads()), || mean(tables.writes()));
    if lookup.op == Op::Read { reads().or_else(writes) } else { writes().or_else(reads) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;
    use iopilot_catalogue::TableForm;

    #[test]
    fn the_time_is_the_mean_over_all_sizes() {
        let mut tables = TimeTables::new(TableForm::Two, 100 << 21, 64);
        let lookup = |op, sectors| TableLookup::new(op, Lba(1000), Sectors(sectors), Lba(1000));
        assert_eq!(time(&tables, &lookup(Op::Read, 8)), None);
        tables.observe(&lookup(Op::Write, 8), Nanos(4));
        assert_eq!(time(&tables, &lookup(Op::Read, 8)), Some(Nanos(4)));
        tables.observe(&lookup(Op::Read, 8), Nanos(1));
        tables.observe(&lookup(Op::Read, 16), Nanos(2));
        assert_eq!(time(&tables, &lookup(Op::Read, 8)), Some(Nanos(2)), "1 and 2, rounded");
    }
}
