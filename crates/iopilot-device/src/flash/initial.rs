//! [`Initial`]: the contents of flash at time 0, computed on demand and not stored.
//!
//! After random overwrites up to the steady state, a drive has blocks of all ages. A block whose age is the share `x`
//! of all used blocks still has `exp(−a x)` of its units valid. The constant `a` makes the sum equal the number of
//! valid units ([`crate::flash::theory::steady_victim_share`] at `x = 1`). So each block gets valid units by its age,
//! spread evenly over it. A pseudo-random permutation chooses the logical units.

use super::NONE;
use super::model::{FlashModel, Precondition};
use super::permutation::Permutation;
use super::shape::FlashShape;
use super::theory::steady_victim_share;

#[derive(Clone, Debug)]
pub(super) enum Initial {
    Empty,
    Sequential,
    Random {
        permutation: Permutation,
        /// Valid units of a die in the blocks before block `i`; the last entry is all of them.
        before: Vec<u32>,
    },
}

impl Initial {
    pub(super) fn new(model: &FlashModel, shape: &FlashShape) -> Self {
        match model.precondition {
            Precondition::Empty => Self::Empty,
            Precondition::Sequential => Self::Sequential,
            Precondition::Random => Self::Random {
                permutation: Permutation::new(shape.logical, model.seed),
                before: by_age(
                    shape.logical.div_ceil(shape.dies),
                    // Opening the first block starts collection.
                    shape.blocks - model.ftl.gc_low_blocks,
                    shape.units_per_block,
                ),
            },
        }
    }

    /// The slot of a unit.
    pub(super) fn slot(&self, unit: u32, shape: &FlashShape) -> u32 {
        match self {
            Self::Empty => NONE,
            Self::Sequential => {
                let (row, at) = (unit / shape.units_per_row, unit % shape.units_per_row);
                let die = shape.order[(row % shape.dies) as usize];
                die * shape.blocks * shape.units_per_block + row / shape.dies * shape.units_per_row + at
            }
            Self::Random { permutation, before } => {
                let place = permutation.apply(unit);
                let (die, i) = (place % shape.dies, place / shape.dies);
                let block = before.partition_point(|&b| b <= i) as u32 - 1;
                let (start, end) = (before[block as usize], before[block as usize + 1]);
                let size = u64::from(shape.units_per_block);
                let at = u64::from(i - start) * size / u64::from(end - start);
                (die * shape.blocks + block) * shape.units_per_block + at as u32
            }
        }
    }

    /// The unit in a slot; [`NONE`] if there is none.
    pub(super) fn owner(&self, slot: u32, shape: &FlashShape) -> u32 {
        let block = shape.block_of(slot);
        let (die, block) = (block / shape.blocks, block % shape.blocks);
        let at = slot % shape.units_per_block;
        match self {
            Self::Empty => NONE,
            Self::Sequential => {
                let row = u64::from(block) * u64::from(shape.rows_per_block) + u64::from(at / shape.units_per_row);
                let row = row * u64::from(shape.dies) + u64::from(shape.position[die as usize]);
                let unit = row * u64::from(shape.units_per_row) + u64::from(at % shape.units_per_row);
                if unit < u64::from(shape.logical) { unit as u32 } else { NONE }
            }
            Self::Random { permutation, before } => {
                if block as usize + 1 >= before.len() {
                    return NONE;
                }
                let (start, end) = (before[block as usize], before[block as usize + 1]);
                let (size, count) = (u64::from(shape.units_per_block), u64::from(end - start));
                let nth = (u64::from(at) * count).div_ceil(size);
                if nth >= count || nth * size / count != u64::from(at) {
                    return NONE;
                }
                let place = (u64::from(start) + nth) * u64::from(shape.dies) + u64::from(die);
                if place < u64::from(shape.logical) { permutation.invert(place as u32) } else { NONE }
            }
        }
    }

    /// The number of valid units of a block.
    pub(super) fn valid(&self, block: u32, shape: &FlashShape) -> u32 {
        let (die, nth) = (block / shape.blocks, block % shape.blocks);
        match self {
            Self::Empty => 0,
            Self::Sequential => {
                let position = u64::from(shape.position[die as usize]);
                let per_row = u64::from(shape.units_per_row);
                let first = u64::from(nth) * u64::from(shape.rows_per_block);
                let row_start = |row: u64| (row * u64::from(shape.dies) + position) * per_row;
                let last = first + u64::from(shape.rows_per_block) - 1;
                let logical = u64::from(shape.logical);
                if row_start(last) + per_row <= logical {
                    return shape.units_per_block;
                }
                if row_start(first) >= logical {
                    return 0;
                }
                (first..=last).map(|row| logical.saturating_sub(row_start(row)).min(per_row) as u32).sum()
            }
            Self::Random { before, .. } => {
                if nth as usize + 1 >= before.len() {
                    return 0;
                }
                // Positions below `logical` of this die.
                let of_die = (shape.logical - die.min(shape.logical)).div_ceil(shape.dies);
                before[nth as usize + 1].min(of_die) - before[nth as usize].min(of_die)
            }
        }
    }
}

/// How many of `valid` units are in the blocks before each of `blocks` blocks of `size` units, youngest first.
fn by_age(valid: u32, blocks: u32, size: u32) -> Vec<u32> {
    let utilisation = f64::from(valid) / (f64::from(blocks) * f64::from(size));
    let a = -steady_victim_share(utilisation).max(1e-300).ln();
    let share = |x: f64| if a < 1e-9 { x } else { (1.0 - (-a * x).exp()) / (1.0 - (-a).exp()) };
    let mut before: Vec<u32> = Vec::with_capacity(blocks as usize + 1);
    before.push(0);
    for i in 1..=blocks {
        let last = before[i as usize - 1];
        let all = (share(f64::from(i) / f64::from(blocks)) * f64::from(valid)).round() as u32;
        // At most what fits, and enough that the rest fits.
        let rest = u64::from(blocks - i) * u64::from(size);
        let least = u64::from(valid).saturating_sub(rest) as u32;
        before.push(all.clamp(last, last.saturating_add(size)).max(least).min(valid));
    }
    before
}
