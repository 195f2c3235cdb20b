//! [`SeekFloor`]: a lower bound of all seeks of at least some length.

use std::sync::Arc;

/// Steps in an octave of distances: the bound is for a distance at most 6 % too short.
const STEPS: u32 = 16;

/// For each distance a lower bound of the times of all seeks of that length or longer. Measured curves have dents:
/// their times do not always rise with distance. A search that prunes by seek time must use this bound.
#[derive(Clone, Debug)]
pub struct SeekFloor {
    /// The bound of each step, ns. Shared, because models are copied for each run.
    floors: Arc<[f64]>,
}

impl SeekFloor {
    /// The bound below `time`, ns over a distance, for distances up to `cylinders`. O(cylinders).
    pub fn new(cylinders: u32, time: impl Fn(u32) -> f64) -> Self {
        let mut floors = vec![f64::INFINITY; step(cylinders.max(1)) + 1];
        for distance in 1..=cylinders.max(1) {
            let floor = &mut floors[step(distance)];
            *floor = floor.min(time(distance));
        }
        let mut least = f64::INFINITY;
        for floor in floors.iter_mut().rev() {
            least = least.min(*floor);
            *floor = least;
        }
        floors[0] = 0.0;
        Self { floors: floors.into() }
    }

    /// A lower bound of seeks over `distance` cylinders or more, ns. O(1).
    pub fn at_least(&self, distance: u32) -> f64 {
        self.floors[step(distance).min(self.floors.len() - 1)]
    }
}

/// The step of `distance`: 0 for distance 0, one for each of the first distances, then [`STEPS`] in an octave.
fn step(distance: u32) -> usize {
    if distance < STEPS {
        return distance as usize;
    }
    let octave = distance.ilog2() - STEPS.ilog2();
    let within = (distance >> octave) - STEPS;
    (STEPS * (octave + 1) + within) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_rise_one_by_one() {
        let steps: Vec<_> = (0..100_000).map(step).collect();
        assert!(steps.windows(2).all(|w| w[1] == w[0] || w[1] == w[0] + 1));
        assert_eq!((steps[0], steps[1], steps[16], steps[32], steps[34]), (0, 1, 16, 32, 33));
    }

    proptest! {
        #[test]
        fn the_bound_is_below_all_longer_seeks_and_rises(times in prop::collection::vec(0.1..10.0f64, 1..400)) {
            let floor = SeekFloor::new(times.len() as u32, |d| times[d as usize - 1]);
            prop_assert_eq!(floor.at_least(0), 0.0);
            for d in 1..=times.len() {
                let least = times[d - 1..].iter().copied().fold(f64::INFINITY, f64::min);
                prop_assert!(floor.at_least(d as u32) <= least);
                prop_assert!(floor.at_least(d as u32 - 1) <= floor.at_least(d as u32));
            }
            // With few distances the bound is exact.
            if times.len() < 32 {
                prop_assert_eq!(floor.at_least(times.len() as u32), times[times.len() - 1]);
            }
        }
    }
}
