//! [`TableShape`]: the row and column of a request (GF 3.2.1).

use std::ops::RangeInclusive;

/// Rows of a table: requests of one block of 4 kB to 32 blocks (128 kB). Larger ones count as the largest.
pub const ROWS: usize = 32;
/// Sectors in a block of 4 kB, the unit of sizes.
const BLOCK: u64 = 8;
/// Sectors in the 1 GB width of each far column.
const FAR: u64 = 1 << 21;
/// The first far column, from 1 GB to less than 2 GB. (The 20th; columns are counted from 0 here.)
const FIRST_FAR: usize = 19;

/// The columns of the tables of a disk of some size. The first is for contiguous requests. The next 18 double in width
/// from 4 kB to 1 GB. After that each is 1 GB wide, up to the size of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    capacity: u64,
}

impl TableShape {
    /// The largest disk for which tables are built, in sectors: 51 TB, for which they take 100 MB.
    pub const LARGEST: u64 = 100_000_000_000;

    /// The shape for a disk of `capacity` sectors.
    pub fn new(capacity: u64) -> Self {
        Self { capacity }
    }

    /// The disk's size in sectors.
    pub fn capacity(self) -> u64 {
        self.capacity
    }

    /// The number of columns.
    pub fn columns(self) -> usize {
        self.column(self.capacity.saturating_sub(1)) + 1
    }

    /// The row of a request of `sectors`.
    pub fn row(self, sectors: u32) -> usize {
        (u64::from(sectors).div_ceil(BLOCK) as usize).clamp(1, ROWS) - 1
    }

    /// The size that `row` stands for: its largest request, in sectors.
    pub fn size(self, row: usize) -> u32 {
        (row as u32 + 1) * BLOCK as u32
    }

    /// The column of a request that begins `distance` sectors from the end of the previous one, in either direction. A
    /// distance of less than a block, but not 0, counts as a block.
    pub fn column(self, distance: u64) -> usize {
        match distance {
            0 => 0,
            far if far >= FAR => FIRST_FAR - 1 + (far / FAR) as usize,
            near => (near / BLOCK).max(1).ilog2() as usize + 1,
        }
    }

    /// The distances of `column`, in blocks of 4 kB.
    pub(super) fn blocks(self, column: usize) -> RangeInclusive<u64> {
        match column {
            0 => 0..=0,
            near if near < FIRST_FAR => 1 << (near - 1)..=(1 << near) - 1,
            far => {
                let gigabytes = (far - FIRST_FAR + 1) as u64;
                gigabytes * (FAR / BLOCK)..=(gigabytes + 1) * (FAR / BLOCK) - 1
            }
        }
    }
}

/// The distance as the tables define it: from the end of the previous request to the start of this one, in sectors.
pub(super) fn distance(previous_end: u64, lba: u64) -> u64 {
    previous_end.abs_diff(lba)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: u64 = 2;
    const GB: u64 = 1 << 21;

    #[test]
    fn rows_are_blocks_of_4_kb_up_to_128_kb() {
        let shape = TableShape::new(1000 * GB);
        let rows = [1, 8, 9, 16, 256, 257, 1024].map(|sectors| shape.row(sectors));
        assert_eq!(rows, [0, 0, 1, 1, 31, 31, 31]);
        assert_eq!((shape.size(0), shape.size(31)), (8, 256));
    }

    #[test]
    fn the_nth_column_is_from_4_times_2_to_the_n_minus_2_kb_to_twice_that() {
        let shape = TableShape::new(1000 * GB);
        assert_eq!(shape.column(0), 0);
        for n in 2..=19 {
            let from = 4 * (1 << (n - 2)) * KB;
            assert_eq!((shape.column(from), shape.column(2 * from - 1)), (n - 1, n - 1));
        }
        assert_eq!(shape.column(1), 1);
    }

    #[test]
    fn from_the_20th_on_a_column_is_one_gigabyte_wide() {
        let shape = TableShape::new(400 * GB);
        assert_eq!([GB - 1, GB, 2 * GB - 1, 2 * GB, 399 * GB].map(|d| shape.column(d)), [18, 19, 19, 20, 417]);
        assert_eq!(shape.columns(), 418);
        assert_eq!(TableShape::new(GB).columns(), 19);
        assert_eq!(TableShape::new(1).columns(), 1);
    }

    #[test]
    fn the_distances_of_a_column_fall_into_it() {
        let shape = TableShape::new(400 * GB);
        for column in 0..shape.columns() {
            let blocks = shape.blocks(column);
            assert_eq!(shape.column(blocks.start() * BLOCK), column);
            assert_eq!(shape.column(blocks.end() * BLOCK), column);
        }
    }
}
