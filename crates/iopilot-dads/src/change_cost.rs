//! [`ChangeCost`]: how long a change of scheduler will take.

use iopilot_block::Nanos;

/// Estimates how long a change takes: the time per pending request at the change before, times the pending requests now
/// (GF 4.4.3). The thesis has no fixed part; newer kernels freeze the queue for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeCost {
    fixed: Nanos,
    each: Option<Nanos>,
}

impl ChangeCost {
    /// The estimate before the first change; a change on an idle disk takes `fixed`.
    pub(crate) fn new(fixed: Nanos) -> Self {
        Self { fixed, each: None }
    }

    /// How long a change takes with `pending` requests inside. Before the first change, each of them takes `each`.
    pub(crate) fn estimate(&self, pending: usize, each: Nanos) -> Nanos {
        self.fixed + Nanos(self.each.unwrap_or(each).0 * pending as u64)
    }

    /// Notes that a change with `pending` requests inside took `took`.
    pub(crate) fn changed(&mut self, pending: usize, took: Nanos) {
        if pending > 0 {
            self.each = Some(Nanos(took.0.saturating_sub(self.fixed.0) / pending as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_before_sets_the_time_of_a_pending_request() {
        let ms = Nanos::from_millis;
        let mut cost = ChangeCost::new(ms(22));
        assert_eq!(cost.estimate(10, ms(8)), ms(102));
        cost.changed(20, ms(22 + 100));
        assert_eq!(cost.estimate(10, ms(8)), ms(72));
        cost.changed(0, ms(22));
        assert_eq!(cost.estimate(10, ms(8)), ms(72), "an idle disk says nothing about requests");
    }
}
