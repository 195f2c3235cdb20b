//! [`SeekCurve`]: the time of an arm movement by distance, including settling (Ganger B.1.1).

use iopilot_block::InputError;

/// Seek time as a function of the distance in cylinders. Times are in nanoseconds; distance 0 takes no time.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// The same time for all distances (DiskSim 4.0 `constant`).
    Constant(f64),
    /// Linear from the single-cylinder time to the average at a third of the stroke, and from there to the full
    /// stroke (DiskSim 4.0 `linear`).
    Linear {
        /// One cylinder.
        single: f64,
        /// A third of the cylinders.
        average: f64,
        /// All cylinders.
        full: f64,
        /// Cylinders of the drive.
        cylinders: u32,
    },
    /// `base + root * sqrt(d - 1) + slope * (d - 1)` (Lee's three-point curve; DiskSim 4.0 `curve`).
    Smooth {
        /// One cylinder.
        base: f64,
        /// Acceleration.
        root: f64,
        /// Coasting.
        slope: f64,
    },
    /// `short[0] + short[1] * sqrt(d)` below `boundary` cylinders, `long[0] + long[1] * d` from there (Ruemmler and
    /// Wilkes; DiskSim 4.0 `hpl`, and `hplplus10` with ten measured distances).
    TwoPart {
        /// Measured times over 1, 2, ... cylinders, which take precedence over the formula.
        measured: Vec<f64>,
        /// The first distance of the long form.
        boundary: u32,
        /// Constant and factor of the root.
        short: [f64; 2],
        /// Constant and factor of the distance.
        long: [f64; 2],
    },
    /// Measured points with rising distances. Linear between them and beyond the last two; below the first, linear
    /// from zero at distance 0 (DiskSim 4.0 `extracted`). See [`SeekCurve::table`].
    Table(Vec<(u32, f64)>),
    /// Like [`SeekCurve::Table`], with separate times for writes, which take longer to settle. See
    /// [`SeekCurve::tables`].
    Tables {
        /// Times of reads.
        read: Vec<(u32, f64)>,
        /// Times of writes.
        write: Vec<(u32, f64)>,
    },
}

impl SeekCurve {
    /// The curve through measured points; of several points at one distance the first counts.
    ///
    /// # Errors
    /// If there are no points, if distances do not rise from at least 1, or if a time is invalid.
    pub fn table(points: &[(u32, f64)]) -> Result<Self, InputError> {
        Ok(Self::Table(checked(points)?))
    }

    /// Like [`SeekCurve::table`], with separate times for writes.
    ///
    /// # Errors
    /// As for [`SeekCurve::table`], for either table.
    pub fn tables(read: &[(u32, f64)], write: &[(u32, f64)]) -> Result<Self, InputError> {
        Ok(Self::Tables { read: checked(read)?, write: checked(write)? })
    }

    /// Lee's curve with the coefficients of DiskSim: like [`SeekCurve::from_data_sheet`], with a stroke of
    /// `cylinders` instead of `cylinders - 2`.
    pub fn lee(single: f64, average: f64, full: f64, cylinders: u32) -> Self {
        let n = f64::from(cylinders.max(1));
        let root = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * n.sqrt());
        Self::Smooth { base: single, root, slope: (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * n) }
    }

    /// The smooth curve through a data sheet's three numbers. It is exact at one cylinder and at the full stroke. Its
    /// average over all pairs of cylinders is the given one, which is how drive makers define it (weight `cylinders -
    /// d` for distance `d`). With `x = d / cylinders` the means of `sqrt(x)` and `x` are 8/15 and 1/3.
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

    /// Nanoseconds over `distance` cylinders, for a read if writes differ. O(1), for a table O(log points).
    #[inline]
    pub fn time(&self, distance: u32) -> f64 {
        self.time_of(distance, false)
    }

    /// Nanoseconds over `distance` cylinders before a read or a write, without the write settle time that
    /// [`Mechanics`](super::Mechanics) adds. Never negative.
    #[inline]
    pub fn time_of(&self, distance: u32, write: bool) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        let d = f64::from(distance);
        let time = match self {
            Self::Constant(time) => *time,
            Self::Linear { single, average, full, cylinders } => {
                let n = f64::from(*cylinders);
                if distance == 1 {
                    *single
                } else if 3.0 * d <= n {
                    single + (average - single) * 3.0 * (d - 1.0) / n
                } else {
                    average + (full - average) * (3.0 * d - n) / (2.0 * n)
                }
            }
            Self::Smooth { base, root, slope } => base + root * (d - 1.0).sqrt() + slope * (d - 1.0),
            Self::TwoPart { measured, boundary, short, long } => match measured.get(distance as usize - 1) {
                Some(&time) => time,
                None if distance < *boundary => short[0] + short[1] * d.sqrt(),
                None => long[0] + long[1] * d,
            },
            Self::Table(points) => interpolate(points, distance),
            Self::Tables { read, write: writes } => interpolate(if write { writes } else { read }, distance),
        };
        time.max(0.0)
    }
}

/// The points of a table, each distance once.
fn checked(points: &[(u32, f64)]) -> Result<Vec<(u32, f64)>, InputError> {
    let mut table: Vec<(u32, f64)> = Vec::with_capacity(points.len());
    for &(distance, time) in points {
        let before = table.last().map_or(0, |point| point.0);
        if distance < before.max(1) {
            let expected = format!("a distance of at least {}, as distances rise", before.max(1));
            return Err(InputError::new("seek distance", distance.to_string(), expected));
        }
        if !(0.0..1e15).contains(&time) {
            return Err(InputError::new("seek time", time.to_string(), "a time, not negative"));
        }
        if distance > before {
            table.push((distance, time));
        }
    }
    if table.is_empty() {
        return Err(InputError::new("seek table", "no points", "at least one distance and its time"));
    }
    Ok(table)
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
    fn a_data_sheet_curve_reproduces_its_three_numbers() {
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
    fn a_two_part_curve_changes_its_form_at_the_boundary() {
        // HP C2247: 3.81 + 0.33 sqrt(d) below 300 cylinders, 7.75 + 0.0059 d above.
        let curve =
            SeekCurve::TwoPart { measured: Vec::new(), boundary: 300, short: [3.81, 0.33], long: [7.75, 0.0059] };
        assert!((curve.time(100) - 7.11).abs() < 1e-9);
        assert!((curve.time(300) - 9.52).abs() < 1e-9);
    }

    #[test]
    fn measured_short_seeks_take_precedence_over_the_formula() {
        // DiskSim's hplplus10: ten times, then 2 + sqrt(d), then 7 + d / 2.
        let measured: Vec<f64> = (1..=10).map(|d| f64::from(d) / 10.0).collect();
        let curve = SeekCurve::TwoPart { measured, boundary: 100, short: [2.0, 1.0], long: [7.0, 0.5] };
        let times: Vec<f64> = [0, 1, 10, 16, 81, 100].map(|d| curve.time(d)).into();
        assert_eq!(times, [0.0, 0.1, 1.0, 6.0, 11.0, 57.0]);
    }

    #[test]
    fn constant_and_linear_curves_pass_through_their_parameters() {
        assert_eq!([0, 1, 900].map(|d| SeekCurve::Constant(5.0).time(d)), [0.0, 5.0, 5.0]);
        let linear = SeekCurve::Linear { single: 1.0, average: 7.0, full: 11.0, cylinders: 900 };
        assert_eq!([0, 1, 151, 600, 900].map(|d| linear.time(d)), [0.0, 1.0, 4.0, 9.0, 11.0]);
    }

    #[test]
    fn lees_curve_has_the_given_single_cylinder_time_and_average() {
        let n = 30_000;
        let curve = SeekCurve::lee(1.0, 8.0, 15.0, n);
        assert_eq!(curve.time(1), 1.0);
        assert!((curve.time(n + 1) - 15.0).abs() < 1e-9);
        let mean = |f: &dyn Fn(f64) -> f64| (1..n).map(|d| f(f64::from(n - d))).sum::<f64>();
        let weighted: f64 = (1..n).map(|d| f64::from(n - d) * curve.time(d)).sum();
        assert!((weighted / mean(&|w| w) - 8.0).abs() < 2e-3);
    }

    #[test]
    fn writes_may_have_a_separate_table() {
        let curve = SeekCurve::tables(&[(1, 1.0), (3, 2.0)], &[(1, 1.5), (3, 4.5)]).unwrap();
        assert_eq!((curve.time_of(2, false), curve.time_of(2, true), curve.time(4)), (1.5, 3.0, 2.5));
    }

    #[test]
    fn a_table_keeps_the_first_of_equal_distances_and_refuses_nonsense() {
        assert_eq!(SeekCurve::table(&[(1, 1.0), (2, 5.0), (2, 9.0)]), Ok(SeekCurve::Table(vec![(1, 1.0), (2, 5.0)])));
        let refused = |points: &[(u32, f64)]| SeekCurve::table(points).unwrap_err().to_string();
        assert_eq!(
            refused(&[(5, 1.0), (4, 2.0)]),
            "seek distance: got 4, expected a distance of at least 5, as distances rise"
        );
        assert!(refused(&[]).starts_with("seek table: got no points"));
        assert!(refused(&[(0, 1.0)]).starts_with("seek distance: got 0"));
        assert!(refused(&[(1, f64::NAN)]).starts_with("seek time: got NaN"));
    }

    #[test]
    fn extrapolated_seek_times_are_never_negative() {
        assert_eq!(SeekCurve::table(&[(1, 2.0), (2, 1.0)]).unwrap().time(50), 0.0);
    }
}
