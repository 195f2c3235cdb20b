//! [`Spectrum`]: the frequencies at which unit vectors over a lattice of whole numbers agree.

use std::f64::consts::TAU;

/// A complex number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Vector {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Vector {
    /// Of length 1, at `turns` revolutions.
    pub(super) fn at(turns: f64) -> Self {
        let (y, x) = (turns * TAU).sin_cos();
        Self { x, y }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.x += other.x;
        self.y += other.y;
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { x: self.x * other.x - self.y * other.y, y: self.x * other.y + self.y * other.x }
    }

    pub(super) fn conjugate(self) -> Self {
        Self { x: self.x, y: -self.y }
    }

    pub(super) fn length(self) -> f64 {
        self.x.hypot(self.y)
    }

    /// Its direction in revolutions, -0.5 to 0.5.
    pub(super) fn turns(self) -> f64 {
        self.y.atan2(self.x) / TAU
    }
}

/// The size of each dimension of a lattice: numbers are taken modulo it. A power of two.
pub(super) type LatticeShape = [usize; 3];

/// The highest point of a spectrum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    /// The length of the sum of all vectors there.
    pub(super) power: f64,
    /// Revolutions per step in each dimension, 0 to 1.
    pub(super) frequency: [f64; 3],
}

/// Sums of unit vectors by lattice point, and their transform.
pub(super) struct Spectrum {
    shape: LatticeShape,
    cells: Vec<Vector>,
}

impl Spectrum {
    /// An empty lattice.
    pub(super) fn new(shape: LatticeShape) -> Self {
        Self { shape, cells: vec![Vector::default(); shape.iter().product()] }
    }

    /// Sets all cells to zero.
    pub(super) fn clear(&mut self) {
        self.cells.fill(Vector::default());
    }

    /// Adds a vector at a point.
    pub(super) fn add(&mut self, point: [i64; 3], vector: Vector) {
        let at = |d: usize| point[d].rem_euclid(self.shape[d] as i64) as usize;
        let cell = (at(0) * self.shape[1] + at(1)) * self.shape[2] + at(2);
        self.cells[cell].add(vector);
    }

    /// Transforms the lattice and finds the peak: the frequencies at which the vectors, rotated back by them, add up to
    /// the longest sum. O(n log n) in the cells of the lattice.
    pub(super) fn peak(&mut self) -> Peak {
        let [n0, n1, n2] = self.shape;
        for row in self.cells.chunks_exact_mut(n2) {
            transform(row);
        }
        self.across(n1, n2, n0, n1 * n2);
        self.across(n0, n1 * n2, 1, 0);
        let squared = |v: &Vector| v.x * v.x + v.y * v.y;
        let best = (0..self.cells.len()).max_by(|&a, &b| squared(&self.cells[a]).total_cmp(&squared(&self.cells[b])));
        let best = best.unwrap_or(0);
        let part = |i: usize, n: usize| i as f64 / n as f64;
        let frequency = [part(best / (n1 * n2), n0), part(best / n2 % n1, n1), part(best % n2, n2)];
        Peak { power: self.cells[best].length(), frequency }
    }

    /// Transforms columns of `n` cells that are `stride` apart, in each of `blocks` blocks of `size` cells.
    fn across(&mut self, n: usize, stride: usize, blocks: usize, size: usize) {
        if n == 1 {
            return;
        }
        let mut column = vec![Vector::default(); n];
        for block in 0..blocks {
            for offset in 0..stride {
                let start = block * size + offset;
                for (i, cell) in column.iter_mut().enumerate() {
                    *cell = self.cells[start + i * stride];
                }
                transform(&mut column);
                for (i, cell) in column.iter().enumerate() {
                    self.cells[start + i * stride] = *cell;
                }
            }
        }
    }
}

/// The discrete Fourier transform in place; the length is a power of two (Cooley and Tukey).
fn transform(data: &mut [Vector]) {
    let n = data.len();
    if n <= 1 {
        return;
    }
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            data.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        let step = Vector::at(-0.5 / half as f64);
        for block in data.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            let mut turn = Vector { x: 1.0, y: 0.0 };
            for (a, b) in low.iter_mut().zip(high) {
                let turned = b.times(turn);
                *b = Vector { x: a.x - turned.x, y: a.y - turned.y };
                a.add(turned);
                turn = turn.times(step);
            }
        }
        half *= 2;
    }
}

/// `x` reduced to -0.5 to 0.5 by whole revolutions.
pub(super) fn wrap(x: f64) -> f64 {
    x - x.round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_in_three_dimensions_are_found_in_noise() {
        let truth = [3.0 / 16.0, 5.0 / 8.0, 77.0 / 256.0];
        let mut spectrum = Spectrum::new([16, 8, 256]);
        let mut seed = 1_u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        for _ in 0..2000 {
            let point = [random(13) as i64 - 6, random(7) as i64 - 3, random(200) as i64 - 100];
            let noise = (random(1000) as f64 / 1000.0 - 0.5) * 0.8;
            let turns: f64 = (0..3).map(|d| truth[d] * point[d] as f64).sum();
            spectrum.add(point, Vector::at(turns + noise));
        }
        let peak = spectrum.peak();
        assert_eq!(peak.frequency, truth);
        // The mean of a vector over -0.4 to 0.4 revolutions is sin(0.8 pi) / (0.8 pi).
        assert!((peak.power / 2000.0 - 0.234).abs() < 0.03, "{}", peak.power / 2000.0);
    }

    #[test]
    fn wrapping_removes_whole_revolutions() {
        assert!((wrap(2.7) + 0.3).abs() < 1e-12);
        assert!((wrap(-1.2) + 0.2).abs() < 1e-12);
    }
}
