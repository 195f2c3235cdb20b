//! [`Gate`]: from when on a block may pass between medium and buffer.

/// A read needs room in the buffer, and a write needs its data there. Both depend on the transfer over the bus, of
/// which at most one burst is known ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// Blocks below this one may pass at any time.
    pub(super) open_to: u64,
    /// Block `open_to + k` may pass from `from + (k + 1) * step` on, ns.
    pub(super) from: f64,
    pub(super) step: f64,
    /// The end of the blocks for which that holds; the times of later blocks are not known yet.
    pub(super) known_to: u64,
    /// Block `.0` also waits for block `.1`.
    pub(super) first_needs: Option<(u64, u64)>,
}

impl Gate {
    pub(super) const OPEN: Self =
        Self { open_to: u64::MAX, from: 0.0, step: 0.0, known_to: u64::MAX, first_needs: None };

    /// From when on `block` may pass, ns; infinite if that is not known yet.
    pub(super) fn time(&self, block: u64) -> f64 {
        match self.first_needs {
            Some((first, needs)) if first == block => self.arrival(block).max(self.arrival(needs)),
            _ => self.arrival(block),
        }
    }

    fn arrival(&self, block: u64) -> f64 {
        if block < self.open_to {
            0.0
        } else if block < self.known_to {
            self.from + (block - self.open_to + 1) as f64 * self.step
        } else {
            f64::INFINITY
        }
    }

    /// How many of `count` blocks from `first` can pass one after another before one is held up. The first passes at
    /// `start` or later, each takes `width`. A block may pass up to `late` after it begins to.
    pub(super) fn passing(&self, first: u64, count: u64, start: f64, width: f64, late: f64) -> u64 {
        let open = self.open_to.saturating_sub(first).min(count);
        if open == count {
            return count;
        }
        let known = self.known_to.saturating_sub(first).min(count);
        let slack = |k: u64| start + k as f64 * width + late + 1.0 - self.arrival(first + k);
        if known <= open || slack(open) < 0.0 {
            return open;
        }
        if slack(known - 1) >= 0.0 {
            return known;
        }
        // The blocks arrive more slowly than they pass: linear between.
        let per_block = self.step - width;
        let more = (slack(open) / per_block) as u64 + 1;
        (open + more).min(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_pass_while_they_come_in_time() {
        let gate = Gate { open_to: 10, from: 100.0, step: 20.0, known_to: 30, first_needs: None };
        assert_eq!((gate.time(9), gate.time(10), gate.time(11), gate.time(30)), (0.0, 120.0, 140.0, f64::INFINITY));
        assert_eq!(gate.passing(0, 5, 0.0, 10.0, 0.0), 5);
        // Block 10 begins to pass at 100 and arrives at 120.
        assert_eq!(gate.passing(0, 50, 0.0, 10.0, 0.0), 10);
        // From 200 on: block 10 + k passes at 300 + 10 k and arrives at 120 + 20 k, so blocks pass up to k = 18.
        assert_eq!(gate.passing(0, 50, 200.0, 10.0, 0.0), 29);
        // They pass more slowly than they arrive: all known blocks pass.
        assert_eq!(gate.passing(0, 50, 0.0, 20.0, 0.0), 30);
        let waits = Gate { first_needs: Some((5, 12)), ..gate };
        assert_eq!((waits.time(5), waits.time(6)), (160.0, 0.0));
    }
}
