//! Angles in revolutions, and their medians.

/// The difference of two angles, -0.5 to 0.5 revolutions.
pub(super) fn wrap(turns: f64) -> f64 {
    turns - turns.round()
}

/// The most angles that the first guess of a median takes into account.
const GUESSED: usize = 64;

/// The median of angles, 0 to 1 revolution. It is taken around the angle that is nearest to all others, so outliers do
/// not matter.
pub(super) fn median_angle(angles: &[f64]) -> Option<f64> {
    let stride = angles.len().div_ceil(GUESSED).max(1);
    let few = || angles.iter().step_by(stride);
    let away = |from: f64| few().map(|a| wrap(a - from).abs()).sum::<f64>();
    let middle = few().copied().min_by(|&a, &b| away(a).total_cmp(&away(b)))?;
    let off = median(angles.iter().map(|a| wrap(a - middle)).collect())?;
    Some((middle + off).rem_euclid(1.0))
}

/// The median; the mean of the two middle values where their number is even.
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
    fn the_median_of_angles_wraps_at_zero() {
        let near = |angles: &[f64], expected: f64| {
            median_angle(angles).is_some_and(|found| wrap(found - expected).abs() < 1e-9)
        };
        assert!(near(&[0.98, 0.99, 0.01], 0.99));
        assert!(near(&[0.3], 0.3));
        assert!(near(&[0.98, 0.04], 0.01));
        // Outliers count equally little on either side.
        assert!(near(&[0.1, 0.1, 0.1, 0.55, 0.65], 0.1));
        assert_eq!(median_angle(&[]), None);
    }
}
