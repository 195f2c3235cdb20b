//! [`TimeTables`]: two or three tables, and which of them a request uses.

use super::cells::TimeTable;
use super::shape::{TableShape, distance};
use iopilot_block::{Lba, Nanos, Op, Sectors};

/// The number and kind of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// One of reads and one of writes; the times include the effect of the disk's cache (GF 3.2.1).
    Two,
    /// One of reads that miss the disk's cache, one of reads that hit it, one of writes (GF 4.3.1).
    Three(HitLimit),
}

/// The limit between hits and misses: a read that took longer was a miss. GF 4.3.1 uses 1000 µs for any size. But a
/// large sequential read that is limited by the medium takes longer than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitLimit {
    /// For any read. Zero where every read is a miss, as those of an SSD.
    pub base: Nanos,
    /// Added for each sector beyond the first 4 kB, at the rate of the medium.
    pub per_sector: Nanos,
}

impl HitLimit {
    /// Whether a read of `sectors` that took `measured` was a hit.
    pub fn is_hit(self, sectors: u32, measured: Nanos) -> bool {
        let more = u64::from(sectors.saturating_sub(8)) * self.per_sector.0;
        measured.0 <= if self.base == Nanos::ZERO { 0 } else { self.base.0 + more }
    }
}

/// The key of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// A read; any other operation counts as a write.
    pub op: Op,
    /// Length.
    pub sectors: Sectors,
    /// Sectors from the end of the previous request to the start of this one.
    pub distance: u64,
    /// Whether a read hits the disk's cache; used by three tables only.
    pub hit: bool,
}

impl Lookup {
    /// The key of a request that follows one which ended before `previous_end`; not a hit.
    pub fn new(op: Op, lba: Lba, sectors: Sectors, previous_end: Lba) -> Self {
        Self { op, sectors, distance: distance(previous_end.0, lba.0), hit: false }
    }
}

/// The times learnt from a device.
#[derive(Clone, Debug)]
pub struct TimeTables {
    form: TableForm,
    shape: TableShape,
    /// All reads, or those that miss.
    reads: TimeTable,
    /// The hits, in the form with three tables.
    hits: Option<TimeTable>,
    writes: TimeTable,
}

impl TimeTables {
    /// Empty tables for a disk of `capacity` sectors, whose cells keep the last `samples` times.
    pub fn new(form: TableForm, capacity: u64, samples: u32) -> Self {
        let shape = TableShape::new(capacity);
        let table = || TimeTable::new(shape, samples);
        let hits = matches!(form, TableForm::Three(_)).then(table);
        Self { form, shape, reads: table(), hits, writes: table() }
    }

    /// Empty tables whose cells average all their samples: those that training fills.
    pub(super) fn averaging(form: TableForm, capacity: u64) -> Self {
        let shape = TableShape::new(capacity);
        let hits = matches!(form, TableForm::Three(_)).then(|| TimeTable::averaging(shape));
        let (reads, writes) = (TimeTable::averaging(shape), TimeTable::averaging(shape));
        Self { form, shape, reads, hits, writes }
    }

    /// Tables with the same means, each as a single sample, whose cells keep the last `samples` times (GF 3.2.5).
    #[must_use]
    pub fn averaged(&self, samples: u32) -> Self {
        Self {
            reads: self.reads.averaged(samples),
            hits: self.hits.as_ref().map(|hits| hits.averaged(samples)),
            writes: self.writes.averaged(samples),
            ..*self
        }
    }

    /// The form: two tables or three.
    pub fn form(&self) -> TableForm {
        self.form
    }

    /// Rows and columns.
    pub fn shape(&self) -> TableShape {
        self.shape
    }

    /// The table of reads; with three tables, of those that miss.
    pub fn reads(&self) -> &TimeTable {
        &self.reads
    }

    /// The table of reads that hit, with three tables.
    pub fn hits(&self) -> Option<&TimeTable> {
        self.hits.as_ref()
    }

    /// The table of writes.
    pub fn writes(&self) -> &TimeTable {
        &self.writes
    }

    /// The time of such a request, as learnt. If its table is empty, the other table of reads answers, then the table
    /// of the other direction. `None` if all tables are empty.
    pub fn time(&self, lookup: &Lookup) -> Option<Nanos> {
        let (row, column) = self.place(lookup);
        let time = |table: &TimeTable| table.time(row, column);
        let hits = || self.hits.as_ref().and_then(time);
        let (reads, writes) = (|| time(&self.reads), || time(&self.writes));
        match (lookup.op, lookup.hit) {
            (Op::Read, true) => hits().or_else(reads).or_else(writes),
            (Op::Read, false) => reads().or_else(hits).or_else(writes),
            _ => writes().or_else(reads).or_else(hits),
        }
    }

    /// Learns that such a request took `measured`. The time itself shows whether it was a hit (GF 4.3.1).
    pub fn observe(&mut self, lookup: &Lookup, measured: Nanos) {
        let (row, column) = self.place(lookup);
        self.table_for(lookup, measured).add(row, column, measured);
    }

    /// Samples in the cell that [`TimeTables::observe`] would add to.
    pub(super) fn samples(&mut self, lookup: &Lookup, measured: Nanos) -> u32 {
        let (row, column) = self.place(lookup);
        self.table_for(lookup, measured).count(row, column)
    }

    /// The tables with their names: `read` and `write`, or `read_miss`, `read_hit` and `write`.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &TimeTable)> {
        let reads = if self.hits.is_some() { "read_miss" } else { "read" };
        let hits = self.hits.as_ref().map(|hits| ("read_hit", hits));
        [(reads, &self.reads)].into_iter().chain(hits).chain([("write", &self.writes)])
    }

    /// All tables, for a reader of files: reads, hits, writes.
    pub(crate) fn tables_mut(&mut self) -> (&mut TimeTable, Option<&mut TimeTable>, &mut TimeTable) {
        (&mut self.reads, self.hits.as_mut(), &mut self.writes)
    }

    fn place(&self, lookup: &Lookup) -> (usize, usize) {
        let column = self.shape.column(lookup.distance).min(self.shape.columns() - 1);
        (self.shape.row(lookup.sectors.0), column)
    }

    fn table_for(&mut self, lookup: &Lookup, measured: Nanos) -> &mut TimeTable {
        match (lookup.op, self.form, &mut self.hits) {
            (Op::Read, TableForm::Three(limit), Some(hits)) if limit.is_hit(lookup.sectors.0, measured) => hits,
            (Op::Read, ..) => &mut self.reads,
            _ => &mut self.writes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 100 << 21;

    fn lookup(op: Op, sectors: u32, lba: u64) -> Lookup {
        Lookup::new(op, Lba(lba), Sectors(sectors), Lba(1000))
    }

    #[test]
    fn type_size_and_distance_choose_the_cell() {
        let mut t = TimeTables::new(TableForm::Two, CAPACITY, 64);
        t.observe(&lookup(Op::Read, 8, 1000), Nanos(1));
        t.observe(&lookup(Op::Read, 16, 1000), Nanos(2));
        t.observe(&lookup(Op::Read, 8, 2000), Nanos(3));
        t.observe(&lookup(Op::Write, 8, 1000), Nanos(4));
        for (op, sectors, lba, time) in
            [(Op::Read, 8, 1000, 1), (Op::Read, 16, 1000, 2), (Op::Read, 8, 2000, 3), (Op::Write, 8, 1000, 4)]
        {
            assert_eq!(t.time(&lookup(op, sectors, lba)), Some(Nanos(time)));
        }
        // The distance has no direction.
        assert_eq!(t.time(&lookup(Op::Read, 8, 0)), Some(Nanos(3)));
    }

    #[test]
    fn the_time_separates_hits_from_misses() {
        let form = TableForm::Three(HitLimit { base: Nanos::from_millis(1), per_sector: Nanos(5000) });
        let mut t = TimeTables::new(form, CAPACITY, 64);
        t.observe(&lookup(Op::Read, 8, 1000), Nanos::from_micros(1000));
        t.observe(&lookup(Op::Read, 8, 1000), Nanos::from_micros(1001));
        let at = |hit| Lookup { hit, ..lookup(Op::Read, 8, 1000) };
        assert_eq!(t.time(&at(true)), Some(Nanos::from_micros(1000)));
        assert_eq!(t.time(&at(false)), Some(Nanos::from_micros(1001)));
        t.observe(&lookup(Op::Read, 256, 1000), Nanos::from_micros(1000 + 248 * 5));
        assert_eq!(t.hits().map(|h| h.count(31, 0)), Some(1));
        let never = HitLimit { base: Nanos::ZERO, per_sector: Nanos(5000) };
        assert!(!never.is_hit(256, Nanos(1)));
        assert_eq!(t.hits().map(|h| h.coverage().filled), Some(2));
        assert!(TimeTables::new(form, CAPACITY, 64).time(&at(true)).is_none());
    }
}
