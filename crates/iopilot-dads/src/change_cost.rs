//! [`ChangeCost`]: what a change of scheduler will take.

use iopilot_block::Nanos;

/// Estimates what a change takes: the requests pending, each at what one took at the change before (GF 4.4.3), and a
/// fixed part, which the thesis does not have: since 2.6 the kernel's queue stands still for a while.
#[derive(Clone, Copy, Debug)]
pub struct ChangeCost {
    fixed: Nanos,
    each: Option<Nanos>,
}

impl ChangeCost {
    /// Before the first change; `fixed` is what one takes on an idle disk.
    pub fn new(fixed: Nanos) -> Self {
        Self { fixed, each: None }
    }

    /// What a change takes with `pending` requests inside, where one takes `each` on average if no change told yet.
    pub fn estimate(&self, pending: usize, each: Nanos) -> Nanos {
        self.fixed + Nanos(self.each.unwrap_or(each).0 * pending as u64)
    }

    /// A change with `pending` requests inside took `took`.
    pub fn changed(&mut self, pending: usize, took: Nanos) {
        if pending > 0 {
            self.each = Some(Nanos(took.0.saturating_sub(self.fixed.0) / pending as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_before_tells_what_a_pending_request_takes() {
        let ms = Nanos::from_millis;
        let mut cost = ChangeCost::new(ms(22));
        assert_eq!(cost.estimate(10, ms(8)), ms(102));
        cost.changed(20, ms(22 + 100));
        assert_eq!(cost.estimate(10, ms(8)), ms(72));
        cost.changed(0, ms(22));
        assert_eq!(cost.estimate(10, ms(8)), ms(72), "an idle disk tells nothing of requests");
    }
}
