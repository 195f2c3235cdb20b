//! [`Moves`]: from where a load was recorded to where it was under another scheduler.

use super::measure::skip;
use super::start::Start;
use super::{Cell, Plan};
use iopilot_block::{Lba, Nanos, SECTOR_BYTES};
use iopilot_device::DiskSpec;
use iopilot_live::ReadPattern;

/// Bytes at whole numbers of which reads begin.
const BLOCK: u64 = 4096;

/// Where the recordings of a cell were made, under one scheduler and under another: each turn of the schedulers has places and an angle of the
/// medium of its own, and who differs from turn to turn had more of them. A load is the same wherever it is, and what becomes of it hangs on
/// where: it is foreseen where it was under the other scheduler, too.
#[derive(Clone, Copy)]
pub(super) struct Moves<'a> {
    plan: &'a Plan,
    disk: &'a DiskSpec,
    cell: Cell,
    /// How many turns were recorded.
    from: usize,
    /// And how many under the other.
    to: usize,
}

/// Where a load is, from where it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    sectors: i64,
    /// For how much longer the medium has turned.
    pub(super) turned: Nanos,
}

impl<'a> Moves<'a> {
    /// Of `cell`, which was recorded `from` times, and `to` times under the other scheduler.
    pub(super) fn new((plan, disk): (&'a Plan, &'a DiskSpec), cell: Cell, from: usize, to: usize) -> Self {
        Self { plan, disk, cell, from, to: to.max(1) }
    }

    /// By how many sectors the places of a turn are further than in the first. Reads begin at whole blocks; who reads backward begins at the end,
    /// and reads two at once.
    fn sectors(&self, turn: usize) -> i64 {
        let blocks = skip(self.plan, self.cell, turn) / BLOCK;
        let sectors = |blocks: u64| (blocks * BLOCK / SECTOR_BYTES) as i64;
        if self.cell.pattern == ReadPattern::Backward { -sectors(blocks.next_multiple_of(2)) } else { sectors(blocks) }
    }

    /// How often each recording is replayed at least, so that there is one of each turn of the other scheduler, and `together` of all.
    pub(super) fn draws(&self, together: usize) -> u64 {
        together.max(self.to).div_ceil(self.from.max(1)) as u64
    }

    /// In which of the other's turns the recording of turn `turn` is at replay `draw`: it goes through them, one further each time round, so that
    /// none is always foreseen from the same recordings.
    pub(super) fn other(&self, turn: usize, draw: u64) -> usize {
        let replay = turn + draw as usize * self.from;
        (replay + replay / self.to) % self.to
    }

    /// Where it is then.
    pub(super) fn of(&self, turn: usize, draw: u64) -> Moved {
        let other = self.other(turn, draw);
        let turned = Start::of_turn(self.disk, other).after(&Start::of_turn(self.disk, turn));
        Moved { sectors: self.sectors(other) - self.sectors(turn), turned }
    }
}

impl Moved {
    /// Where `lba` is then.
    pub(super) fn to(&self, lba: Lba) -> Lba {
        Lba(lba.0.saturating_add_signed(self.sectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_device::load_disk;

    #[test]
    fn a_load_goes_through_the_turns_of_the_other_scheduler() {
        let (plan, disk) = (Plan::new(false), load_disk("hd-500-16").unwrap());
        let cell = |pattern| Cell { pattern, processes: 1, depth: 4 };
        let moves = |pattern, from, to| Moves::new((&plan, &disk), cell(pattern), from, to);
        // 32 MiB a turn.
        let lba = |moves: &Moves<'_>, turn, draw| moves.of(turn, draw).to(Lba(10 << 16)).0 >> 16;
        let few = moves(ReadPattern::Sequential, 3, 8);
        assert_eq!((few.draws(1), few.draws(256)), (3, 86));
        let places: Vec<u64> =
            (0..3).flat_map(|draw| (0..3).map(move |turn| (turn, draw))).map(|(t, d)| lba(&few, t, d)).collect();
        // Those of turns 0, 1 and 2 are three, six and so on further, and the last, of the second time round, is that of turn 1.
        assert_eq!(places, [10, 10, 10, 13, 13, 13, 16, 16, 9]);
        assert_eq!(few.of(1, 0), Moved::default());
        assert_eq!(few.of(0, 1).turned, Nanos(1_215_817));
        let many = moves(ReadPattern::Backward, 8, 3);
        assert_eq!(many.draws(1), 1);
        assert_eq!([2, 3, 7].map(|turn| lba(&many, turn, 0)), [10, 12, 17], "backward");
        // Where the places of 32 tasks have less room they are no whole number of blocks apart.
        let one = |pattern| Moves::new((&plan, &disk), Cell { pattern, processes: 32, depth: 4 }, 1, 8);
        let sectors = |pattern| [1, 2, 3].map(|turn| one(pattern).sectors(turn));
        assert_eq!(sectors(ReadPattern::Backward), [-43_248, -86_480, -129_728]);
        assert_eq!(sectors(ReadPattern::Sequential), [43_240, 86_480, 129_720]);
        // There are 96 places, and after these the first again.
        let far = moves(ReadPattern::Sequential, 1, 192);
        assert_eq!([95, 96, 97].map(|draw| lba(&far, 0, draw)), [105, 10, 11]);
        // Where as many fit in: the second time round each comes from another.
        let even = moves(ReadPattern::Sequential, 2, 4);
        let places = [0, 1, 2, 3].map(|draw| [0, 1].map(|turn| lba(&even, turn, draw) + turn as u64 - 10));
        assert_eq!(places, [[0, 1], [2, 3], [1, 2], [3, 0]]);
    }
}
