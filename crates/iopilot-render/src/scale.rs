//! [`Scale`]: from values to pixels, and where the ticks go.

/// One axis: a linear or logarithmic map from a domain of values to a range of pixels.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    log: bool,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// A linear axis. An empty domain is widened so that nothing divides by zero.
    pub fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let domain = if domain.1 > domain.0 { domain } else { (domain.0, domain.0 + 1.0) };
        Self { log: false, domain, range }
    }

    /// A logarithmic axis; the domain must be above zero.
    pub fn log(domain: (f64, f64), range: (f64, f64)) -> Self {
        let low = domain.0.max(f64::MIN_POSITIVE);
        let high = if domain.1 > low { domain.1 } else { low * 10.0 };
        Self { log: true, domain: (low, high), range }
    }

    /// A linear axis from zero to a round number at or above `max`.
    pub fn from_zero(max: f64, range: (f64, f64)) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = nice_step(max, 5);
        Self::linear((0.0, (max / step).ceil() * step), range)
    }

    /// The pixel of `value`, held within the range.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let share =
            if self.log { (value.max(low) / low).ln() / (high / low).ln() } else { (value - low) / (high - low) };
        self.range.0 + share.clamp(0.0, 1.0) * (self.range.1 - self.range.0)
    }

    /// Round values inside the domain, about `count` of them; powers of ten on a logarithmic axis.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        if self.log {
            let (first, last) = (low.log10() - 1e-9, high.log10() + 1e-9);
            return (first.ceil() as i32..=last.floor() as i32).map(|e| 10f64.powi(e)).collect();
        }
        let step = nice_step(high - low, count);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }

    /// The unlabelled lines between the ticks of a logarithmic axis.
    pub(crate) fn minor_ticks(&self) -> Vec<f64> {
        if !self.log {
            return Vec::new();
        }
        let (low, high) = self.domain;
        (low.log10().floor() as i32..=high.log10().floor() as i32)
            .flat_map(|e| (2..10).map(move |m| f64::from(m) * 10f64.powi(e)))
            .filter(|v| (low..=high).contains(v))
            .collect()
    }
}

/// The step of 1, 2 or 5 times a power of ten that cuts `span` into about `count` pieces.
fn nice_step(span: f64, count: usize) -> f64 {
    let raw = span / count.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let factor = match raw / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        let s = Scale::from_zero(93.0, (0.0, 100.0));
        assert_eq!(s.ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(s.at(50.0), 50.0);
        assert_eq!(s.at(1e9), 100.0);
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        let s = Scale::log((0.05, 2000.0), (0.0, 460.0));
        assert_eq!(s.ticks(5), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert!(s.at(0.0) == 0.0 && s.at(1.0) < s.at(10.0));
        assert!(s.minor_ticks().iter().all(|t| (0.05..=2000.0).contains(t)));
    }

    #[test]
    fn an_empty_domain_still_gives_numbers() {
        for s in [Scale::linear((3.0, 3.0), (0.0, 10.0)), Scale::log((0.0, 0.0), (0.0, 10.0))] {
            assert!(s.at(3.0).is_finite());
        }
        assert!(Scale::from_zero(0.0, (0.0, 1.0)).ticks(4).iter().all(|t| t.is_finite()));
    }
}
