//! The decaying means with which Linux 2.6 tracks processes.

/// A mean in which each new value has a weight of an eighth, in the kernel's fixed point: 256 is 1.0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DecayingMean {
    samples: u64,
    total: u64,
    mean: u64,
}

impl DecayingMean {
    pub(crate) fn add(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value) / 8;
        self.mean = (self.total + self.samples / 2) / self.samples;
    }

    /// Adds a seek distance in sectors. A single far seek is clipped.
    pub(crate) fn add_seek(&mut self, sectors: u64) {
        let slack = if self.samples <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        self.add(sectors.min(4 * self.mean + slack));
    }

    pub(crate) fn mean(&self) -> u64 {
        self.mean
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Whether there are enough samples: three.
    pub(crate) fn is_valid(&self) -> bool {
        self.samples > 80
    }
}

/// The share of recent events that were true, in the same fixed point: 0 to 256.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DecayingShare(u64);

impl DecayingShare {
    pub(crate) fn add(&mut self, happened: bool) {
        self.0 = (7 * self.0 + if happened { 256 } else { 0 }) / 8;
    }

    /// The share in units of 1/256.
    pub(crate) fn of_256(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_follows_its_samples_and_needs_three() {
        let mut m = DecayingMean::default();
        for value in [800, 800] {
            m.add(value);
        }
        assert_eq!((m.mean(), m.is_valid()), (800, false));
        m.add(800);
        assert!(m.is_valid());
        (0..60).for_each(|_| m.add(100));
        assert!((100..110).contains(&m.mean()), "{}", m.mean());
    }

    #[test]
    fn a_single_far_seek_is_clipped() {
        let mut m = DecayingMean::default();
        (0..20).for_each(|_| m.add_seek(8));
        m.add_seek(1 << 40);
        assert!(m.mean() < 20_000, "{}", m.mean());
    }

    #[test]
    fn a_share_rises_and_falls() {
        let mut s = DecayingShare::default();
        (0..6).for_each(|_| s.add(true));
        assert!(s.of_256() > 128);
        (0..6).for_each(|_| s.add(false));
        assert!(s.of_256() < 128);
    }
}
