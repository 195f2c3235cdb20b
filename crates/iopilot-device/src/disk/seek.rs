//! [`SeekCurve`]: how long the arm takes over a distance, settling included (Ganger B.1.1).

/// Seek time as a function of the distance in cylinders. Times are in nanoseconds; distance 0 takes none.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// `base + root * sqrt(d - 1) + slope * (d - 1)` (Lee's three-point curve).
    Smooth {
        /// One cylinder.
        base: f64,
        /// Acceleration.
        root: f64,
        /// Coasting.
        slope: f64,
    },
    /// `short[0] + short[1] * sqrt(d)` below `boundary` cylinders, `long[0] + long[1] * d` from there (Ruemmler and
    /// Wilkes).
    TwoPart {
        /// The first distance of the long form.
        boundary: u32,
        /// Constant and factor of the root.
        short: [f64; 2],
        /// Constant and factor of the distance.
        long: [f64; 2],
    },
    /// Measured points, rising in distance; linear between them and beyond the last two, and below the first from
    /// nothing at distance 0.
    Table(Vec<(u32, f64)>),
}

impl SeekCurve {
    /// The smooth curve through a data sheet's three numbers: exact at one cylinder and at the full stroke, and with
    /// the given average over all pairs of cylinders, which is how drive makers define it (weight `cylinders - d` for
    /// distance `d`). With `x = d / cylinders` the means of `sqrt(x)` and `x` are 8/15 and 1/3.
    pub fn from_data_sheet(single: f64, average: f64, full: f64, cylinders: u32) -> Self {
        let n = f64::from(cylinders.max(3) - 2);
        // single + A * 8/15 + B / 3 = average, single + A + B = full.
        let a = (15.0 * (average - single) - 5.0 * (full - single)) / 3.0;
        let b = full - single - a;
        Self::Smooth { base: single, root: a / n.sqrt(), slope: b / n }
    }

    /// The range of averages for which [`SeekCurve::from_data_sheet`] rises everywhere.
    pub fn average_range(single: f64, full: f64) -> (f64, f64) {
        (single + (full - single) / 3.0, single + (full - single) * 11.0 / 15.0)
    }

    /// Nanoseconds over `distance` cylinders. O(1), for a table O(log points).
    pub fn time(&self, distance: u32) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        let d = f64::from(distance);
        match self {
            Self::Smooth { base, root, slope } => base + root * (d - 1.0).sqrt() + slope * (d - 1.0),
            Self::TwoPart { boundary, short, long } => {
                if distance < *boundary {
                    short[0] + short[1] * d.sqrt()
                } else {
                    long[0] + long[1] * d
                }
            }
            Self::Table(points) => interpolate(points, distance),
        }
    }
}

fn interpolate(points: &[(u32, f64)], distance: u32) -> f64 {
    let i = points.partition_point(|&(d, _)| d < distance);
    let (left, right) = match i {
        0 => ((0, 0.0), points[0]),
        i if i < points.len() => (points[i - 1], points[i]),
        i if i >= 2 => (points[i - 2], points[i - 1]),
        _ => return points[0].1,
    };
    let slope = (right.1 - left.1) / f64::from(right.0 - left.0);
    left.1 + slope * (f64::from(distance) - f64::from(left.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_of_a_data_sheet_come_back_out() {
        let n = 50_000;
        let curve = SeekCurve::from_data_sheet(0.8, 8.5, 17.0, n);
        assert_eq!(curve.time(0), 0.0);
        assert_eq!(curve.time(1), 0.8);
        assert!((curve.time(n - 1) - 17.0).abs() < 1e-9);
        let (mut sum, mut weights) = (0.0, 0.0);
        for d in 1..n {
            let weight = f64::from(n - d);
            sum += weight * curve.time(d);
            weights += weight;
        }
        assert!((sum / weights - 8.5).abs() < 1e-3, "{}", sum / weights);
        assert!((1..n - 1).all(|d| curve.time(d) < curve.time(d + 1)));
    }

    #[test]
    fn a_table_is_linear_between_and_beyond_its_points() {
        let curve = SeekCurve::Table(vec![(2, 4.0), (4, 8.0), (10, 11.0)]);
        let times: Vec<f64> = [0, 1, 2, 3, 7, 10, 12].map(|d| curve.time(d)).into();
        assert_eq!(times, [0.0, 2.0, 4.0, 6.0, 9.5, 11.0, 12.0]);
        assert_eq!(SeekCurve::Table(vec![(1, 3.0)]).time(9), 3.0);
    }

    #[test]
    fn two_parts_meet_at_the_boundary_they_name() {
        // HP C2247: 3.81 + 0.33 sqrt(d) below 300 cylinders, 7.75 + 0.0059 d above.
        let curve = SeekCurve::TwoPart { boundary: 300, short: [3.81, 0.33], long: [7.75, 0.0059] };
        assert!((curve.time(100) - 7.11).abs() < 1e-9);
        assert!((curve.time(300) - 9.52).abs() < 1e-9);
    }
}
