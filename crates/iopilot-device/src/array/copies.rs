//! [`CopyChoice`]: which copy serves a read of a mirrored array.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Which copy serves a read (Ganger A.1.2.1; DiskSim's `Copy choice on read`, in its order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyChoice {
    /// The first copy on a working member.
    First,
    /// A random copy.
    Random,
    /// In turns, with one counter for the array.
    RoundRobin,
    /// The copy on the member whose last request was nearest by address; ties at random.
    Nearest,
    /// The copy on the member with the fewest requests; ties at random.
    ShortestQueue,
    /// The copy on the member with the fewest requests; among equals the nearest.
    #[default]
    ShortestThenNearest,
}

/// The members' state that a choice of copies may use.
pub trait MemberView {
    /// Requests that wait for the member or are in it.
    fn queued(&self, member: u32) -> u32;

    /// The end address of the member's last request.
    fn last(&self, member: u32) -> u64;
}

/// No requests anywhere.
impl MemberView for () {
    fn queued(&self, _member: u32) -> u32 {
        0
    }

    fn last(&self, _member: u32) -> u64 {
        0
    }
}

/// A [`CopyChoice`] with its state.
#[derive(Clone, Debug)]
pub(super) struct CopySelector {
    choice: CopyChoice,
    turn: u32,
    random: Pcg64Mcg,
}

impl CopySelector {
    pub(super) fn new(choice: CopyChoice, seed: u64) -> Self {
        Self { choice, turn: 0, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// One of `candidates` (members, at least one) for a read that begins at `lba`.
    pub(super) fn choose(&mut self, candidates: &[u32], lba: u64, view: &impl MemberView) -> u32 {
        let first = candidates.first().copied().unwrap_or_default();
        if candidates.len() < 2 {
            return first;
        }
        match self.choice {
            CopyChoice::First => first,
            CopyChoice::Random => candidates[self.random.random_range(0..candidates.len())],
            CopyChoice::RoundRobin => {
                self.turn = self.turn.wrapping_add(1);
                candidates[(self.turn.wrapping_sub(1) as usize) % candidates.len()]
            }
            CopyChoice::Nearest => self.least(candidates, |m| (0, view.last(m).abs_diff(lba))),
            CopyChoice::ShortestQueue => self.least(candidates, |m| (view.queued(m), 0)),
            CopyChoice::ShortestThenNearest => self.least(candidates, |m| (view.queued(m), view.last(m).abs_diff(lba))),
        }
    }

    /// The member with the least key; a random one among equals.
    fn least(&mut self, candidates: &[u32], key: impl Fn(u32) -> (u32, u64)) -> u32 {
        let mut best = (u32::MAX, u64::MAX);
        let (mut chosen, mut ties) = (0, 0);
        for &member in candidates {
            let key = key(member);
            if ties == 0 || key < best {
                (best, chosen, ties) = (key, member, 1);
            } else if key == best {
                ties += 1;
                if self.random.random_range(0..ties) == 0 {
                    chosen = member;
                }
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Members([(u32, u64); 3]);

    impl MemberView for Members {
        fn queued(&self, member: u32) -> u32 {
            self.0[member as usize].0
        }

        fn last(&self, member: u32) -> u64 {
            self.0[member as usize].1
        }
    }

    #[test]
    fn each_policy_chooses_its_copy() {
        let view = Members([(3, 100), (1, 900), (1, 500)]);
        let pick = |choice, lba| CopySelector::new(choice, 1).choose(&[0, 1, 2], lba, &view);
        assert_eq!(pick(CopyChoice::First, 900), 0);
        assert_eq!(pick(CopyChoice::Nearest, 850), 1);
        assert_eq!(pick(CopyChoice::ShortestThenNearest, 100), 2, "0 is nearer, but busier");
        assert_ne!(pick(CopyChoice::ShortestQueue, 100), 0);
        let mut turns = CopySelector::new(CopyChoice::RoundRobin, 1);
        let picked: Vec<_> = (0..4).map(|_| turns.choose(&[0, 2], 0, &view)).collect();
        assert_eq!(picked, [0, 2, 0, 2]);
    }

    #[test]
    fn ties_are_broken_evenly() {
        let view = Members([(1, 0); 3]);
        for choice in [CopyChoice::Random, CopyChoice::Nearest, CopyChoice::ShortestQueue] {
            let mut selector = CopySelector::new(choice, 7);
            let mut counts = [0; 3];
            for _ in 0..3000 {
                counts[selector.choose(&[0, 1, 2], 0, &view) as usize] += 1;
            }
            assert!(counts.iter().all(|c| (850..1150).contains(c)), "{choice:?}: {counts:?}");
        }
    }
}
