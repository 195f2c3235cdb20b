//! The anticipation window (5.3): the think times and loads for which anticipation gains.

use std::fmt;

/// The smallest gain that is visible in a graph.
const SHOWS: f64 = 1.05;

/// The highest load with a gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// No load has a gain.
    None,
    /// This number of readers, interpolated between two loads that were run.
    At(f64),
    /// More than the largest load that was run.
    Beyond(u32),
}

impl Crossing {
    /// Whether the crossing is at `readers`, within a factor of two.
    pub(super) fn is_about(self, readers: u32) -> bool {
        let readers = f64::from(readers);
        match self {
            Self::None => false,
            Self::At(n) => (readers / 2.0..=readers * 2.0).contains(&n),
            Self::Beyond(n) => f64::from(n) < readers * 2.0,
        }
    }
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::At(n) => write!(f, "{n:.0}"),
            Self::Beyond(n) => write!(f, "over {n}"),
        }
    }
}

/// The load at which `gains`, sorted by load, falls below one for the last time; linear between two loads.
pub(super) fn crossing(gains: &[(u32, f64)]) -> Crossing {
    let Some(last) = gains.iter().rposition(|g| g.1 > 1.0) else { return Crossing::None };
    let (load, gain) = gains[last];
    match gains.get(last + 1) {
        None => Crossing::Beyond(load),
        Some(&(next, less)) => {
            let share = (gain - 1.0) / (gain - less);
            Crossing::At(f64::from(load) + share * f64::from(next - load))
        }
    }
}

/// The anticipation window of one configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AnticipationWindow {
    /// The largest think time with a gain at any load, µs.
    pub(super) think_us: Option<u32>,
}

impl AnticipationWindow {
    pub(super) fn of(think_us: &[u32], gains: impl Fn(u32) -> Vec<(u32, f64)>) -> Self {
        let shows = |&&think: &&u32| gains(think).iter().any(|g| g.1 >= SHOWS);
        Self { think_us: think_us.iter().filter(shows).max().copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_where_the_gain_is_gone() {
        assert_eq!(crossing(&[(1, 2.0), (4, 1.5), (16, 0.9)]), Crossing::At(14.0));
        assert_eq!(crossing(&[(1, 0.9), (4, 1.1), (16, 1.1)]), Crossing::Beyond(16));
        assert_eq!(crossing(&[(1, 0.9), (4, 0.8)]), Crossing::None);
        assert_eq!(crossing(&[(1, 0.9), (4, 1.2), (16, 1.0)]), Crossing::At(16.0));
    }

    #[test]
    fn about_is_a_factor_of_two() {
        assert!(Crossing::At(8.0).is_about(4) && Crossing::At(2.0).is_about(4));
        assert!(!Crossing::At(8.1).is_about(4) && !Crossing::None.is_about(4));
        assert!(Crossing::Beyond(60).is_about(32) && !Crossing::Beyond(128).is_about(32));
    }

    #[test]
    fn the_largest_think_time_is_the_last_with_a_gain_that_shows() {
        let gains = |think: u32| vec![(1, 1.06 - f64::from(think) / 1e5), (4, 0.9)];
        assert_eq!(AnticipationWindow::of(&[0, 500, 1000, 2000], gains).think_us, Some(1000));
        assert_eq!(AnticipationWindow::of(&[20_000], gains).think_us, None);
    }
}
