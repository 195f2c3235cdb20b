//! The anticipation window (5.3): the think times and loads for which anticipation gains.

use std::fmt;

/// A gain that a graph shows.
const SHOWS: f64 = 1.05;

/// Up to which load there is a gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// There is none.
    None,
    /// So many readers, between two loads that were run.
    At(f64),
    /// More than were run.
    Beyond(u32),
}

impl Crossing {
    /// Whether it is `readers`, give or take a factor of two.
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

/// Where `gains`, in order of load, falls below one after the last load with a gain; between loads it is a straight line.
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

/// Of one configuration.
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
