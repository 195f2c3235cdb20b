//! `[table]`: a table-based disk, as training writes it.

use super::bounds::{SpecCheck, within_range};
use crate::table::TableShape;
use crate::table::{HitLimit, ROWS, SimulatedCacheModel, TableForm, TableModel, TimeTable, TimeTables};
use iopilot_block::{InputError, Nanos};
use serde::{Deserialize, Serialize};

/// `[table]`: times by direction, size and distance (GF 3.2.1, 4.3.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Size in 512-byte sectors; determines the number of columns.
    pub capacity_sectors: u64,
    /// Whether seeks take time on the trained device.
    pub rotational: bool,
    /// Requests it accepts at once; it serves one at a time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub queue_depth: u32,
    /// The share of its time that a random read takes, by the number of requests to choose from, 1 to `queue_depth`.
    /// With factors the disk serves the nearest request first; without them, in order of arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_factors: Vec<f64>,
    /// Samples that a cell keeps when the disk learns on line.
    pub samples: u32,
    /// With three tables: a longer read is a miss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_limit_us: Option<f64>,
    /// With three tables: how much longer each sector beyond the first 4 kB may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_limit_us_per_sector: Option<f64>,
    /// With three tables: the simulated disk cache that predicts hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<TableCacheSpec>,
    /// The rows, from requests of 4 kB to those of 128 kB.
    #[serde(default)]
    pub(crate) row: Vec<TableRowSpec>,
}

/// `[table.cache]`: the simulated disk cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableCacheSpec {
    /// Segments for reads; with 0 every read misses.
    pub read_segments: u32,
    /// Segments for writes.
    pub write_segments: u32,
    /// Sectors in a segment.
    pub segment_sectors: u64,
    /// Read-ahead behind a sequential read; also the maximum.
    pub read_ahead_sequential_sectors: u32,
    /// Read-ahead around any other read.
    pub read_ahead_random_sectors: u32,
    /// Whether hits of a sequential reader keep the read-ahead going.
    #[serde(default)]
    pub read_ahead_on_hit: bool,
    /// The time of the medium for a sector. Read-ahead proceeds at this rate until the arm is needed elsewhere. With 0,
    /// the default, read-ahead completes at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sector_us: f64,
}

/// One `[[table.row]]`: the mean time of each column, from contiguous requests to the farthest; 0 if not measured.
/// Empty columns at the end can be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableRowSpec {
    /// The size of its requests, 1024 bytes.
    pub(crate) size_kib: u32,
    /// Reads; with three tables, the misses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) read_us: Vec<f64>,
    /// With three tables: hits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) read_hit_us: Vec<f64>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) write_us: Vec<f64>,
    /// The number of samples behind each of `read_us`. If left out, each counts as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) read_count: Vec<u32>,
    /// The same for `read_hit_us`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) read_hit_count: Vec<u32>,
    /// The same for `write_us`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) write_count: Vec<u32>,
}

/// The most samples that a cell keeps.
const LARGEST_COUNT: u32 = 4096;

fn one() -> u32 {
    1
}

fn is_zero(us: &f64) -> bool {
    *us == 0.0
}

fn is_one(depth: &u32) -> bool {
    *depth == 1
}

impl TableSpec {
    /// Describes `model`, trained on a device that is `rotational` or not.
    pub fn new(model: &TableModel, rotational: bool, samples: u32) -> Self {
        let tables = &model.tables;
        let limit = match tables.form() {
            TableForm::Two => None,
            TableForm::Three(limit) => Some(limit),
        };
        let c = model.cache;
        let row = |row: usize| TableRowSpec {
            size_kib: tables.shape().size(row) / 2,
            read_us: times(tables.reads(), row),
            read_hit_us: tables.hits().map_or_else(Vec::new, |hits| times(hits, row)),
            write_us: times(tables.writes(), row),
            ..TableRowSpec::default()
        };
        Self {
            capacity_sectors: tables.shape().capacity(),
            rotational,
            queue_depth: model.queue_depth,
            queue_factors: Vec::new(),
            samples,
            hit_limit_us: limit.map(|l| l.base.as_micros_f64()),
            hit_limit_us_per_sector: limit.map(|l| l.per_sector.as_micros_f64()),
            cache: limit.map(|_| TableCacheSpec {
                read_segments: c.read_segments,
                write_segments: c.write_segments,
                segment_sectors: c.segment_sectors,
                read_ahead_sequential_sectors: c.read_ahead_sequential,
                read_ahead_random_sectors: c.read_ahead_random,
                read_ahead_on_hit: c.read_ahead_on_hit,
                sector_us: c.sector_time.as_micros_f64(),
            }),
            row: (0..ROWS).map(row).collect(),
        }
    }

    /// Adds the number of samples behind each mean of `tables`, so that learning continues with the right weights.
    #[must_use]
    pub fn counted(mut self, tables: &TimeTables) -> Self {
        for (row, spec) in self.row.iter_mut().enumerate() {
            let counts = |table: &TimeTable, times: &[f64]| (0..times.len()).map(|c| table.count(row, c)).collect();
            spec.read_count = counts(tables.reads(), &spec.read_us);
            spec.read_hit_count = tables.hits().map_or_else(Vec::new, |hits| counts(hits, &spec.read_hit_us));
            spec.write_count = counts(tables.writes(), &spec.write_us);
        }
        self
    }

    /// Adds a queue that reorders requests, as measured by [`queue_factors`](crate::queue_factors).
    #[must_use]
    pub fn with_queue(self, factors: Vec<f64>) -> Self {
        Self { queue_depth: factors.len().max(1) as u32, queue_factors: factors, ..self }
    }

    /// The tables and the cache.
    ///
    /// # Errors
    /// Names the value that is out of range.
    pub fn model(&self) -> Result<TableModel, InputError> {
        within("capacity_sectors", self.capacity_sectors as f64, 1.0, TableShape::LARGEST as f64)?;
        within("queue_depth", self.queue_depth.into(), 1.0, 65_536.0)?;
        if !self.queue_factors.is_empty() && self.queue_factors.len() != self.queue_depth as usize {
            let (got, want) = (self.queue_factors.len(), self.queue_depth);
            let expected = format!("{want} of them, one for each request of queue_depth");
            return Err(InputError::new("table.queue_factors", format!("{got} factors"), expected));
        }
        for (i, &factor) in self.queue_factors.iter().enumerate() {
            within(&format!("queue_factors[{i}]"), factor, 0.01, 10.0)?;
        }
        within("samples", self.samples.into(), 1.0, LARGEST_COUNT.into())?;
        let form = self.form()?;
        let mut tables = TimeTables::new(form, self.capacity_sectors, self.samples);
        let shape = tables.shape();
        if self.row.len() != ROWS {
            return Err(InputError::new("table.row", format!("{} rows", self.row.len()), format!("{ROWS} rows")));
        }
        for (row, spec) in self.row.iter().enumerate() {
            let size = shape.size(row) / 2;
            if spec.size_kib != size {
                let field = format!("table.row[{row}].size_kib");
                return Err(InputError::new(field, spec.size_kib.to_string(), size.to_string()));
            }
            let (reads, hits, writes) = tables.tables_mut();
            let load = |name: &str, times: &[f64], counts: &[u32], table| load((row, name), times, counts, table);
            load("read", &spec.read_us, &spec.read_count, Some(reads))?;
            load("read_hit", &spec.read_hit_us, &spec.read_hit_count, hits)?;
            load("write", &spec.write_us, &spec.write_count, Some(writes))?;
        }
        // If one direction was not measured, the other one answers.
        if tables.named().all(|(_, table)| table.coverage().filled == 0) {
            return Err(InputError::new("table.row[0].read_us", "", "at least one time in the tables"));
        }
        Ok(TableModel { tables, cache: self.cache_model()?, queue_depth: self.queue_depth })
    }

    fn form(&self) -> Result<TableForm, InputError> {
        match (self.hit_limit_us, self.hit_limit_us_per_sector, &self.cache) {
            (None, None, None) => Ok(TableForm::Two),
            (Some(base), per_sector, Some(_)) => {
                let per_sector = per_sector.unwrap_or(0.0);
                within("hit_limit_us", base, 0.0, 1e7)?;
                within("hit_limit_us_per_sector", per_sector, 0.0, 1e6)?;
                Ok(TableForm::Three(HitLimit { base: nanos(base), per_sector: nanos(per_sector) }))
            }
            (None, _, _) => Err(InputError::new("table.hit_limit_us", "", "a value beside [table.cache]")),
            (Some(_), _, None) => Err(InputError::new("table.cache", "", "a section beside hit_limit_us")),
        }
    }

    fn cache_model(&self) -> Result<SimulatedCacheModel, InputError> {
        let Some(c) = &self.cache else { return Ok(SimulatedCacheModel::NONE) };
        within("cache.read_segments", c.read_segments.into(), 0.0, 65_536.0)?;
        within("cache.write_segments", c.write_segments.into(), 0.0, 65_536.0)?;
        within("cache.segment_sectors", c.segment_sectors as f64, 0.0, 1e9)?;
        let most = c.segment_sectors as f64;
        within("cache.read_ahead_sequential_sectors", c.read_ahead_sequential_sectors.into(), 0.0, most)?;
        let most = c.read_ahead_sequential_sectors.into();
        within("cache.read_ahead_random_sectors", c.read_ahead_random_sectors.into(), 0.0, most)?;
        within("cache.sector_us", c.sector_us, 0.0, 1e6)?;
        Ok(SimulatedCacheModel {
            read_segments: c.read_segments,
            write_segments: c.write_segments,
            segment_sectors: c.segment_sectors,
            read_ahead_sequential: c.read_ahead_sequential_sectors,
            read_ahead_random: c.read_ahead_random_sectors,
            read_ahead_on_hit: c.read_ahead_on_hit,
            sector_time: nanos(c.sector_us),
        })
    }
}

fn nanos(us: f64) -> Nanos {
    Nanos((us * 1e3).round() as u64)
}

fn within(key: &str, value: f64, low: f64, high: f64) -> SpecCheck {
    within_range(&format!("table.{key}"), value, low, high)
}

/// The means of a row, µs, without the empty cells at the end.
fn times(table: &TimeTable, row: usize) -> Vec<f64> {
    let shape: TableShape = table.shape();
    let time = |column| table.cell(row, column).map_or(0.0, Nanos::as_micros_f64);
    let mut times: Vec<f64> = (0..shape.columns()).map(time).collect();
    times.truncate(times.iter().rposition(|&us| us > 0.0).map_or(0, |last| last + 1));
    times
}

/// Fills row `row` of the table `name` with `times`, each the mean of `counts` samples.
fn load(
    (row, name): (usize, &str),
    times: &[f64],
    counts: &[u32],
    table: Option<&mut TimeTable>,
) -> Result<(), InputError> {
    let field = |what: &str| format!("table.row[{row}].{name}_{what}");
    let Some(table) = table else {
        let fits = times.is_empty() && counts.is_empty();
        return if fits { Ok(()) } else { Err(InputError::new(field("us"), "times", "none without hit_limit_us")) };
    };
    let columns = table.shape().columns();
    if times.len() > columns {
        let want = format!("at most {columns}, the columns of a disk of this capacity");
        return Err(InputError::new(field("us"), format!("{} times", times.len()), want));
    }
    if !counts.is_empty() && counts.len() != times.len() {
        let want = format!("{}, one for each time, or none", times.len());
        return Err(InputError::new(field("count"), format!("{} counts", counts.len()), want));
    }
    for (column, &us) in times.iter().enumerate() {
        if !(0.0..=1e9).contains(&us) {
            return Err(InputError::new(field("us"), us.to_string(), "microseconds, 0 to 1000000000"));
        }
        let count = counts.get(column).copied().unwrap_or(u32::from(us > 0.0));
        if (us > 0.0) != (1..=LARGEST_COUNT).contains(&count) {
            let want = format!("1 to {LARGEST_COUNT} where there is a time, else 0");
            return Err(InputError::new(field("count"), count.to_string(), want));
        }
        (0..count).for_each(|_| table.add(row, column, nanos(us)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, DeviceSpec, DiskSpec, Training};
    use iopilot_device::Synchronous;

    fn spec(form: TableForm) -> DiskSpec {
        let device = Catalogue::get("hp-c2247").unwrap().build().unwrap();
        let training = Training { form, samples: 2, seed: 3 };
        let trained = training.run(&mut Synchronous::new(device), || {}).unwrap();
        let cache = match form {
            TableForm::Two => SimulatedCacheModel::NONE,
            TableForm::Three(_) => SimulatedCacheModel {
                read_segments: 2,
                write_segments: 1,
                segment_sectors: 512,
                read_ahead_sequential: 256,
                read_ahead_random: 32,
                read_ahead_on_hit: true,
                sector_time: Nanos(5_250),
            },
        };
        let model = TableModel { tables: trained.tables.averaged(64), cache, queue_depth: 1 };
        DiskSpec {
            name: "c2247-table".into(),
            model: "HP C2247, as tables".into(),
            sources: vec!["trained on hp-c2247".into()],
            device: DeviceSpec::Table(Box::new(TableSpec::new(&model, true, 64))),
            provenance: Default::default(),
        }
    }

    const THREE: TableForm =
        TableForm::Three(HitLimit { base: Nanos::from_millis(3), per_sector: Nanos::from_micros(200) });

    #[test]
    fn what_is_written_is_read_back_to_the_nanosecond() {
        for form in [TableForm::Two, THREE] {
            let spec = spec(form);
            let text = spec.to_toml();
            assert_eq!(DiskSpec::from_toml(&text, "t").unwrap(), spec);
            let DeviceSpec::Table(table) = &spec.device else { panic!() };
            let model = table.model().unwrap();
            assert_eq!(TableSpec::new(&model, true, 64), **table);
            assert_eq!(model.tables.form(), form);
            spec.build().unwrap();
        }
    }

    #[test]
    fn counts_are_kept() {
        let mut tables = TimeTables::new(THREE, 1 << 24, 64);
        let at = crate::TableLookup::new(
            iopilot_block::Op::Read,
            iopilot_block::Lba(8),
            iopilot_block::Sectors(8),
            iopilot_block::Lba(8),
        );
        (0..40).for_each(|_| tables.observe(&at, Nanos::from_millis(8)));
        let cache = SimulatedCacheModel::NONE;
        let spec =
            TableSpec::new(&TableModel { tables: tables.clone(), cache, queue_depth: 4 }, true, 64).counted(&tables);
        assert_eq!((&spec.row[0].read_count[..], &spec.row[0].write_count[..]), (&[40][..], &[][..]));
        let mut again = spec.model().unwrap().tables;
        assert_eq!(again.reads().count(0, 0), 40);
        (0..40).for_each(|_| again.observe(&at, Nanos::from_millis(4)));
        assert_eq!(again.reads().cell(0, 0), Some(Nanos(5_500_000)), "24 of the old ones, and 40 new ones");
        for (counts, got) in [(vec![1, 2], "read_count: got 2 counts"), (vec![0], "read_count: got 0")] {
            let mut wrong = spec.clone();
            wrong.row[0].read_count = counts;
            let error = wrong.model().unwrap_err().to_string();
            assert!(error.contains(got), "{error}");
        }
    }

    #[test]
    fn a_disk_that_was_only_read_is_one() {
        let mut spec = spec(TableForm::Two);
        let DeviceSpec::Table(table) = &mut spec.device else { panic!() };
        table.row.iter_mut().for_each(|row| row.write_us.clear());
        let read = DiskSpec::from_toml(&spec.to_toml(), "t").unwrap();
        assert_eq!(read, spec);
        read.build().unwrap();
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        let refused = |change: &dyn Fn(&mut TableSpec)| {
            let mut spec = spec(THREE);
            let DeviceSpec::Table(table) = &mut spec.device else { panic!() };
            change(table);
            DiskSpec::from_toml(&spec.to_toml(), "t.toml").unwrap_err().to_string()
        };
        let e = refused(&|t| t.row[3].size_kib = 17);
        assert!(e.ends_with("table.row[3].size_kib: got 17, expected 16"), "{e}");
        let e = refused(&|t| drop(t.row.pop()));
        assert!(e.ends_with("table.row: got 31 rows, expected 32 rows"), "{e}");
        let e = refused(&|t| t.row[0].write_us = vec![1.0; 100]);
        assert!(e.contains("table.row[0].write_us: got 100 times, expected at most"), "{e}");
        let e = refused(&|t| t.row[5].read_us[0] = -1.0);
        assert!(e.contains("table.row[5].read_us: got -1"), "{e}");
        let e = refused(&|t| t.cache = None);
        assert!(e.contains("table.cache: got nothing"), "{e}");
        let e = refused(&|t| {
            for row in &mut t.row {
                row.read_us.clear();
                row.read_hit_us.clear();
                row.write_us.clear();
            }
        });
        assert!(e.contains("at least one time in the tables"), "{e}");
        let e = refused(&|t| t.queue_factors = vec![1.0, 0.9]);
        assert!(
            e.ends_with("table.queue_factors: got 2 factors, expected 1 of them, one for each request of queue_depth")
        );
        let e = refused(&|t| t.samples = 0);
        assert!(e.contains("table.samples: got 0, expected 1 to 4096"), "{e}");
    }
}
