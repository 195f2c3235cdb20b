//! [`TimeTable`]: one table of measured times.

use super::shape::{ROWS, TableShape};
use iopilot_block::Nanos;

/// The cell has no block of samples: it is empty, or holds one value.
const NONE: u32 = u32::MAX;

/// The number of kept samples in a table that averages all its samples and keeps none.
const ALL: u32 = u32::MAX;

/// The mean of the last samples of one cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    sum: u64,
    count: u32,
    /// The index of the oldest sample, once the cell is full.
    oldest: u32,
    /// The index of its block among the table's samples.
    samples: u32,
}

const EMPTY: Cell = Cell { sum: 0, count: 0, oldest: 0, samples: NONE };

impl Cell {
    fn mean(&self) -> Option<u64> {
        let count = u64::from(self.count);
        (count > 0).then(|| (self.sum + count / 2) / count)
    }
}

/// The totals of a column.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    /// The sum of its cells' means.
    sum: u64,
    /// The number of filled cells.
    filled: u32,
}

/// How well a table is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The number of cells.
    pub cells: usize,
    /// Cells that hold a time.
    pub filled: usize,
    /// Samples that the filled cells hold.
    pub samples: u64,
}

/// Times by size (rows) and distance (columns). Each cell holds the mean of its last samples; a new sample replaces the
/// oldest (GF 3.2.1, "Dynamic behavior").
#[derive(Clone, Debug)]
pub struct TimeTable {
    shape: TableShape,
    /// Samples kept in a cell.
    keep: u32,
    /// The cells, by column.
    cells: Vec<Cell>,
    /// Blocks of `keep` samples, for cells with more than one.
    samples: Vec<u64>,
    columns: Vec<Column>,
    /// The columns with a filled cell, ascending.
    filled: Vec<u32>,
}

impl TimeTable {
    /// An empty table whose cells keep the last `keep` samples, at least one.
    pub fn new(shape: TableShape, keep: u32) -> Self {
        let columns = shape.columns();
        Self {
            shape,
            keep: keep.max(1),
            cells: vec![EMPTY; columns * ROWS],
            samples: Vec::new(),
            columns: vec![Column::default(); columns],
            filled: Vec::new(),
        }
    }

    /// An empty table whose cells hold the mean of all their samples.
    pub(super) fn averaging(shape: TableShape) -> Self {
        Self::new(shape, ALL)
    }

    /// A table with the same means, each as a single sample, whose cells keep the last `keep` samples (GF 3.2.5).
    #[must_use]
    pub fn averaged(&self, keep: u32) -> Self {
        let mut table = Self::new(self.shape, keep);
        for column in 0..self.columns.len() {
            for row in 0..ROWS {
                if let Some(mean) = self.cell(row, column) {
                    table.add(row, column, mean);
                }
            }
        }
        table
    }

    /// The rows and columns.
    pub fn shape(&self) -> TableShape {
        self.shape
    }

    /// Adds a sample to the cell; a full cell drops its oldest sample. O(1), except for the first sample of a column.
    pub fn add(&mut self, row: usize, column: usize, time: Nanos) {
        let cell = &mut self.cells[column * ROWS + row];
        let before = cell.mean();
        match (self.keep, cell.count) {
            (ALL, count) => (cell.sum, cell.count) = (cell.sum + time.0, count + 1),
            (1, _) | (_, 0) => (cell.sum, cell.count) = (time.0, 1),
            (keep, count) => {
                if cell.samples == NONE {
                    // The value it holds becomes its first sample.
                    cell.samples = (self.samples.len() / keep as usize) as u32;
                    self.samples.resize(self.samples.len() + keep as usize, 0);
                    self.samples[cell.samples as usize * keep as usize] = cell.sum;
                }
                let own = cell.samples as usize * keep as usize;
                if count < keep {
                    self.samples[own + count as usize] = time.0;
                    cell.count += 1;
                } else {
                    let oldest = &mut self.samples[own + cell.oldest as usize];
                    cell.sum -= std::mem::replace(oldest, time.0);
                    cell.oldest = (cell.oldest + 1) % keep;
                }
                cell.sum += time.0;
            }
        }
        let mean = cell.mean().unwrap_or_default();
        let whole = &mut self.columns[column];
        whole.sum = whole.sum - before.unwrap_or_default() + mean;
        if before.is_none() {
            whole.filled += 1;
            if whole.filled == 1 {
                let at = self.filled.partition_point(|&c| c < column as u32);
                self.filled.insert(at, column as u32);
            }
        }
    }

    /// The mean of the cell itself.
    pub fn cell(&self, row: usize, column: usize) -> Option<Nanos> {
        self.cells[column * ROWS + row].mean().map(Nanos)
    }

    /// The number of samples in the cell.
    pub fn count(&self, row: usize, column: usize) -> u32 {
        self.cells[column * ROWS + row].count
    }

    /// The time for a request: the mean of its cell. For an empty cell it is the mean of its column, and for an empty
    /// column that of the nearest filled column (GF 3.2.5). `None` if the table is empty. O(log columns).
    pub fn time(&self, row: usize, column: usize) -> Option<Nanos> {
        self.cell(row, column).or_else(|| self.column_mean(column))
    }

    /// The mean over all sizes, for a lookup without the size (GF 3.5.1). For an empty column see [`TimeTable::time`].
    pub fn column_mean(&self, column: usize) -> Option<Nanos> {
        let at = self.filled.partition_point(|&c| (c as usize) < column);
        let above = self.filled.get(at).map(|&c| c as usize);
        let below = at.checked_sub(1).map(|i| self.filled[i] as usize);
        let nearest = match (below, above) {
            (Some(below), Some(above)) if above - column < column - below => above,
            (Some(_), Some(above)) if above == column => above,
            (Some(below), Some(_)) => below,
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        let Column { sum, filled } = self.columns[nearest];
        let filled = u64::from(filled);
        Some(Nanos((sum + filled / 2) / filled))
    }

    /// How well it is filled.
    pub fn coverage(&self) -> Coverage {
        let filled = self.cells.iter().filter(|cell| cell.count > 0);
        Coverage {
            cells: self.cells.len(),
            filled: filled.clone().count(),
            samples: filled.map(|cell| u64::from(cell.count)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(keep: u32) -> TimeTable {
        TimeTable::new(TableShape::new(100 << 21), keep)
    }

    #[test]
    fn a_cell_is_the_mean_of_the_last_samples() {
        let mut t = table(4);
        assert_eq!(t.cell(3, 7), None);
        for (time, mean) in [(10, 10), (20, 15), (30, 20), (40, 25), (50, 35), (60, 45), (70, 55), (80, 65), (90, 75)] {
            t.add(3, 7, Nanos(time));
            assert_eq!(t.cell(3, 7), Some(Nanos(mean)));
        }
        assert_eq!((t.count(3, 7), t.coverage().samples), (4, 4));
        let mut last = table(1);
        last.add(0, 0, Nanos(1));
        last.add(0, 0, Nanos(9));
        assert_eq!(last.cell(0, 0), Some(Nanos(9)));
    }

    #[test]
    fn a_trained_table_is_converted_to_means() {
        let mut t = TimeTable::averaging(TableShape::new(1 << 21));
        (1..=100).for_each(|time| t.add(2, 3, Nanos(time * 2)));
        assert_eq!((t.cell(2, 3), t.count(2, 3)), (Some(Nanos(101)), 100));
        let mut passed = t.averaged(2);
        assert_eq!((passed.cell(2, 3), passed.count(2, 3), passed.coverage().filled), (Some(Nanos(101)), 1, 1));
        passed.add(2, 3, Nanos(201));
        passed.add(2, 3, Nanos(301));
        assert_eq!(passed.cell(2, 3), Some(Nanos(251)));
    }

    #[test]
    fn an_empty_cell_answers_with_its_column_then_with_the_nearest_column() {
        let mut t = table(64);
        assert_eq!(t.time(0, 0), None);
        t.add(0, 10, Nanos(100));
        t.add(1, 10, Nanos(300));
        assert_eq!(t.time(5, 10), Some(Nanos(200)));
        t.add(9, 20, Nanos(1000));
        assert_eq!(t.time(0, 0), Some(Nanos(200)));
        assert_eq!(t.time(0, 15), Some(Nanos(200)), "as near as the other: the shorter distance");
        assert_eq!(t.time(0, 16), Some(Nanos(1000)));
        assert_eq!(t.time(0, 99), Some(Nanos(1000)));
    }

    proptest! {
        /// The running sums equal the sums of the samples.
        #[test]
        fn means_are_those_of_the_samples(
            keep in 1u32..9,
            added in prop::collection::vec((0usize..3, 0usize..4, 1u64..1_000_000), 1..200),
        ) {
            let mut t = table(keep);
            let mut all = vec![Vec::new(); 12];
            for &(row, column, time) in &added {
                t.add(row, column, Nanos(time));
                all[row * 4 + column].push(time);
            }
            let mean = |values: &[u64]| {
                let n = values.len() as u64;
                (n > 0).then(|| Nanos((values.iter().sum::<u64>() + n / 2) / n))
            };
            for column in 0..4 {
                let mut cells = Vec::new();
                for row in 0..3 {
                    let of = &all[row * 4 + column];
                    let cell = mean(&of[of.len().saturating_sub(keep as usize)..]);
                    prop_assert_eq!(t.cell(row, column), cell);
                    cells.extend(cell.map(|c| c.0));
                }
                if !cells.is_empty() {
                    prop_assert_eq!(t.column_mean(column), mean(&cells));
                }
            }
        }
    }
}
