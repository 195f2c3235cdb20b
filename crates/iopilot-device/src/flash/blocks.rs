//! [`EraseBlocks`]: the state of each block, numbered over all dies, and the units it holds.

use super::NONE;
use super::initial::Initial;
use super::shape::FlashShape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EraseBlockState {
    /// Erased.
    Free,
    /// Rows are being written into it.
    Open,
    Closed,
    /// It holds no valid unit and is being erased.
    Erasing,
}

#[derive(Clone, Debug)]
pub(super) struct EraseBlocks {
    valid: Vec<u32>,
    erases: Vec<u32>,
    state: Vec<EraseBlockState>,
    /// The unit written into each slot; `None` for a block in its initial state.
    owners: Vec<Option<Box<[u32]>>>,
    /// Owner arrays of erased blocks, for reuse.
    spare: Vec<Box<[u32]>>,
    /// Erased blocks of each die.
    free: Vec<u32>,
}

impl EraseBlocks {
    pub(super) fn new(initial: &Initial, shape: &FlashShape) -> Self {
        let count = shape.blocks * shape.dies;
        let valid: Vec<u32> = (0..count).map(|block| initial.valid(block, shape)).collect();
        let state: Vec<EraseBlockState> =
            valid.iter().map(|&v| if v == 0 { EraseBlockState::Free } else { EraseBlockState::Closed }).collect();
        let free = state
            .chunks(shape.blocks as usize)
            .map(|die| die.iter().filter(|&&s| s == EraseBlockState::Free).count() as u32);
        Self {
            free: free.collect(),
            valid,
            erases: vec![0; count as usize],
            state,
            owners: vec![None; count as usize],
            spare: Vec::new(),
        }
    }

    pub(super) fn free(&self, die: u32) -> u32 {
        self.free[die as usize]
    }

    pub(super) fn valid(&self, block: u32) -> u32 {
        self.valid[block as usize]
    }

    pub(super) fn erases(&self) -> &[u32] {
        &self.erases
    }

    #[cfg(test)]
    pub(super) fn state(&self, block: u32) -> EraseBlockState {
        self.state[block as usize]
    }

    fn of_die(die: u32, shape: &FlashShape) -> std::ops::Range<usize> {
        (die * shape.blocks) as usize..((die + 1) * shape.blocks) as usize
    }

    /// Opens the erased block with the fewest erases, or, for cold data, the most (dynamic wear levelling). O(blocks
    /// of the die).
    pub(super) fn open(&mut self, die: u32, most: bool, shape: &FlashShape) -> u32 {
        let free = Self::of_die(die, shape).filter(|&b| self.state[b] == EraseBlockState::Free);
        let by_erases = |&b: &usize| if most { u32::MAX - self.erases[b] } else { self.erases[b] };
        let block = free.min_by_key(by_erases).expect("one erased block is kept for moves");
        self.state[block] = EraseBlockState::Open;
        self.free[die as usize] -= 1;
        let mut owners = self.spare.pop().unwrap_or_else(|| vec![NONE; shape.units_per_block as usize].into());
        owners.fill(NONE);
        self.owners[block] = Some(owners);
        block as u32
    }

    pub(super) fn close(&mut self, block: u32) {
        self.state[block as usize] = EraseBlockState::Closed;
    }

    /// The unit written into a slot; [`NONE`] if none was.
    pub(super) fn owner(&self, slot: u32, initial: &Initial, shape: &FlashShape) -> u32 {
        match &self.owners[shape.block_of(slot) as usize] {
            Some(owners) => owners[(slot % shape.units_per_block) as usize],
            None => initial.owner(slot, shape),
        }
    }

    /// Records a unit written into a slot of an open block.
    pub(super) fn write(&mut self, slot: u32, unit: u32, shape: &FlashShape) {
        let block = shape.block_of(slot) as usize;
        if let Some(owners) = &mut self.owners[block] {
            owners[(slot % shape.units_per_block) as usize] = unit;
        }
        self.valid[block] += 1;
    }

    /// The data in a slot are out of date.
    pub(super) fn invalidate(&mut self, slot: u32, shape: &FlashShape) {
        self.valid[shape.block_of(slot) as usize] -= 1;
    }

    /// The closed block with the fewest valid units, if collecting it gains a row (greedy). O(blocks of the die).
    pub(super) fn victim(&self, die: u32, shape: &FlashShape) -> Option<u32> {
        let closed = Self::of_die(die, shape).filter(|&b| self.state[b] == EraseBlockState::Closed);
        let block = closed.min_by_key(|&b| self.valid[b])?;
        let rows = self.valid[block].div_ceil(shape.units_per_row);
        (rows < shape.rows_per_block).then_some(block as u32)
    }

    /// The closed block with the fewest erases. O(blocks of the die).
    pub(super) fn coldest(&self, die: u32, shape: &FlashShape) -> Option<u32> {
        let closed = Self::of_die(die, shape).filter(|&b| self.state[b] == EraseBlockState::Closed);
        closed.min_by_key(|&b| self.erases[b]).map(|b| b as u32)
    }

    pub(super) fn start_erase(&mut self, block: u32) {
        self.state[block as usize] = EraseBlockState::Erasing;
    }

    pub(super) fn erased(&mut self, block: u32, shape: &FlashShape) {
        let at = block as usize;
        debug_assert!(self.valid[at] == 0 && self.state[at] == EraseBlockState::Erasing, "block {block} is in use");
        self.spare.extend(self.owners[at].take());
        self.state[at] = EraseBlockState::Free;
        self.erases[at] += 1;
        self.free[shape.die_of_block(block) as usize] += 1;
    }
}
