//! Angles in revolutions, and what is typical of several.

/// The difference of two angles, -0.5 to 0.5 revolutions.
pub(super) fn wrap(turns: f64) -> f64 {
    turns - turns.round()
}

/// More than that many are taken for the first guess of what is typical.
const GUESSED: usize = 64;

/// The median of angles, 0 to 1 revolution: of those that lie near the one that is nearest to all others, so that some
/// that are nowhere near change nothing.
pub(super) fn median_angle(angles: &[f64]) -> Option<f64> {
    let stride = angles.len().div_ceil(GUESSED).max(1);
    let few = || angles.iter().step_by(stride);
    let away = |from: f64| few().map(|a| wrap(a - from).abs()).sum::<f64>();
    let middle = few().copied().min_by(|&a, &b| away(a).total_cmp(&away(b)))?;
    let off = median(angles.iter().map(|a| wrap(a - middle)).collect())?;
    Some((middle + off).rem_euclid(1.0))
}

/// The median; of an even number of values the middle between the two.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get((values.len() - 1) / 2)?;
    Some(lower.midpoint(*upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_angles_knows_no_zero() {
        let near = |angles: &[f64], expected: f64| {
            median_angle(angles).is_some_and(|found| wrap(found - expected).abs() < 1e-9)
        };
        assert!(near(&[0.98, 0.99, 0.01], 0.99));
        assert!(near(&[0.3], 0.3));
        assert!(near(&[0.98, 0.04], 0.01));
        // Those that are nowhere near count as little on either side.
        assert!(near(&[0.1, 0.1, 0.1, 0.55, 0.65], 0.1));
        assert_eq!(median_angle(&[]), None);
    }
}
