//! [`G1Piece`]: blocks that are placed regularly.

/// `count` blocks from `first` on are at the places from `place` on, `per_unit` of them at the front of every
/// `stride` places. Places and blocks are counted from the start of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct G1Piece {
    pub(super) first: u64,
    pub(super) place: u64,
    pub(super) count: u64,
    pub(super) per_unit: u64,
    pub(super) stride: u64,
}

impl G1Piece {
    /// Adjacent blocks.
    pub(super) fn run(first: u64, place: u64, count: u64) -> Self {
        Self { first, place, count, per_unit: count, stride: count }
    }

    /// The end of its blocks.
    pub(super) fn end(&self) -> u64 {
        self.first + self.count
    }

    /// The place of its block number `i`.
    #[inline]
    pub(super) fn place_of(&self, i: u64) -> u64 {
        if i < self.per_unit {
            self.place + i
        } else {
            self.place + i / self.per_unit * self.stride + i % self.per_unit
        }
    }

    /// The number of its blocks before `place`.
    pub(super) fn blocks_before(&self, place: u64) -> u64 {
        let Some(d) = place.checked_sub(self.place) else { return 0 };
        (d / self.stride * self.per_unit + (d % self.stride).min(self.per_unit)).min(self.count)
    }

    /// Its block at `place`, as a number from 0; `None` if there is none.
    pub(super) fn block_at(&self, place: u64) -> Option<u64> {
        let i = self.blocks_before(place);
        (i < self.count && self.place_of(i) == place).then_some(i)
    }

    /// Splits it before its block number `i` into up to four pieces. Those before are appended to `front`, the others
    /// pushed onto `back`, last first.
    fn split(self, i: u64, front: &mut Vec<Self>, back: &mut Vec<Self>) {
        let (units, within) = (i / self.per_unit, i % self.per_unit);
        let from = |block: u64, count: u64| Self {
            first: self.first + block,
            place: self.place_of(block),
            count,
            per_unit: self.per_unit.min(count),
            stride: if count <= self.per_unit { count.max(1) } else { self.stride },
        };
        let border = units * self.per_unit;
        if border > 0 {
            front.push(from(0, border));
        }
        if within == 0 {
            back.push(from(i, self.count - i));
            return;
        }
        front.push(from(border, within));
        let next = (border + self.per_unit).min(self.count);
        if next < self.count {
            back.push(from(next, self.count - next));
        }
        back.push(from(i, next - i));
    }
}

/// Splits `pieces` at the places in `cuts` (rising), so that none has blocks on both sides of a cut.
pub(super) fn cut(pieces: Vec<G1Piece>, cuts: &[u64]) -> Vec<G1Piece> {
    let mut out = Vec::with_capacity(pieces.len() + 2 * cuts.len());
    let mut cuts = cuts.iter().peekable();
    let mut rest: Vec<G1Piece> = pieces.into_iter().rev().collect();
    while let Some(piece) = rest.pop() {
        while cuts.next_if(|&&c| c <= piece.place).is_some() {}
        match cuts.peek().map(|&&c| piece.blocks_before(c)) {
            Some(i) if i > 0 && i < piece.count => piece.split(i, &mut out, &mut rest),
            _ => out.push(piece),
        }
    }
    out
}

/// The blocks `from` to before `to` of `pieces`, renumbered from 0.
pub(super) fn select(pieces: Vec<G1Piece>, from: u64, to: u64) -> Vec<G1Piece> {
    let mut out = Vec::with_capacity(pieces.len() + 2);
    let mut unused = Vec::new();
    for piece in pieces {
        let mut kept = vec![piece];
        if piece.first < from && from < piece.end() {
            kept.clear();
            piece.split(from - piece.first, &mut unused, &mut kept);
        }
        for part in kept.into_iter().rev() {
            if part.first < to && to < part.end() {
                part.split(to - part.first, &mut out, &mut unused);
            } else {
                out.push(part);
            }
        }
    }
    out.retain(|piece| from <= piece.first && piece.end() <= to);
    for piece in &mut out {
        piece.first -= from;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places(pieces: &[G1Piece]) -> Vec<(u64, u64)> {
        pieces.iter().flat_map(|p| (0..p.count).map(|i| (p.first + i, p.place_of(i)))).collect()
    }

    /// Three of every five places, from place 20 on, 17 blocks.
    const PIECE: G1Piece = G1Piece { first: 100, place: 20, count: 17, per_unit: 3, stride: 5 };

    #[test]
    fn a_piece_knows_its_places_and_blocks() {
        assert_eq!([0, 2, 3, 16].map(|i| PIECE.place_of(i)), [20, 22, 25, 46]);
        assert_eq!([19, 20, 22, 23, 24, 25, 46, 47].map(|p| PIECE.block_at(p)), {
            [None, Some(0), Some(2), None, None, Some(3), Some(16), None]
        });
    }

    proptest! {
        #[test]
        fn cutting_moves_no_block(mut cuts in prop::collection::vec(0u64..60, 0..12)) {
            cuts.sort_unstable();
            let whole = vec![G1Piece::run(90, 7, 10), PIECE];
            let parts = cut(whole.clone(), &cuts);
            prop_assert_eq!(places(&parts), places(&whole));
            for part in &parts {
                let last = part.place_of(part.count - 1);
                prop_assert!(cuts.iter().all(|c| !(part.place + 1..=last).contains(c)), "{:?} {:?}", part, cuts);
            }
        }

        #[test]
        fn select_keeps_the_chosen_blocks(from in 90u64..117, length in 1u64..30) {
            let whole = vec![G1Piece::run(90, 7, 10), PIECE];
            let to = (from + length).min(117);
            let kept = select(whole.clone(), from, to);
            let wanted: Vec<_> =
                places(&whole).iter().filter(|p| (from..to).contains(&p.0)).map(|p| (p.0 - from, p.1)).collect();
            prop_assert_eq!(places(&kept), wanted);
        }
    }
}
