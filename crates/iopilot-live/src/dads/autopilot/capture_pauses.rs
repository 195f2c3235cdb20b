//! [`CapturePauses`]: when to look away from a disk that serves more requests than a check tries.

use std::time::{Duration, Instant};

/// For what comes in bursts: a check is to find what it tries, and a quarter more.
const SPARE: f64 = 1.25;
/// No look is shorter.
const GLANCE: Duration = Duration::from_millis(250);
/// To look away for less is not worth it.
const LEAST: Duration = Duration::from_millis(250);

/// A check tries the latest requests of its window; where so many come in a part of the interval, to see the others would
/// only cost those who use the disk. So the last part before a check alone is looked at, which the rate tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturePauses {
    /// Requests that a check is to find.
    enough: f64,
    since: Instant,
    /// Since then.
    seen: u64,
    paused_until: Option<Instant>,
}

impl CapturePauses {
    /// Looks from `now` on, for checks that try so many requests.
    pub(super) fn new(tried: u64, now: Instant) -> Self {
        Self { enough: SPARE * tried as f64, since: now, seen: 0, paused_until: None }
    }

    /// So many requests more were seen.
    pub(super) fn count(&mut self, requests: u64) {
        self.seen += requests;
    }

    /// Whether it has seen all that a check is to find.
    pub(super) fn has_enough(&self) -> bool {
        self.paused_until.is_none() && self.seen as f64 >= self.enough
    }

    /// The check after `now` is at `due`: whether to look away until [`CapturePauses::returns`], in time to see what that one is to
    /// find.
    pub(super) fn pause_until_needed(&mut self, now: Instant, due: Instant) -> bool {
        let left = due.saturating_duration_since(now);
        let looked = now.saturating_duration_since(self.since).as_secs_f64();
        // At the rate of this look. Where little came, all of what is left and more.
        let share = looked * self.enough / self.seen.max(1) as f64 / left.as_secs_f64().max(1e-9);
        let away = left.saturating_sub(left.mul_f64(share.min(1.0)).max(GLANCE));
        self.paused_until = (away >= LEAST).then(|| now + away);
        self.paused_until.is_some()
    }

    /// A check has taken what was seen.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.seen) = (now, 0);
    }

    /// Whether it was away, and at `now` looks again.
    pub(super) fn resume_due(&mut self, now: Instant) -> bool {
        let returns = self.paused_until.is_some_and(|until| until <= now);
        if returns {
            self.paused_until = None;
            self.restart(now);
        }
        returns
    }

    /// Until when it is away.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Has looked for so long and seen so much; and when it began.
    fn looked(time: Duration, seen: u64) -> (CapturePauses, Instant) {
        let began = Instant::now();
        let mut pauses = CapturePauses::new(20_000, began);
        pauses.count(seen);
        (pauses, began + time)
    }

    #[test]
    fn what_a_check_tries_is_seen_and_a_quarter_more() {
        // 10,000 a second: 25,000 take 2.5 s.
        let (mut pauses, now) = looked(5 * SECOND, 50_000);
        assert!(pauses.has_enough() && pauses.pause_until_needed(now, now + 5 * SECOND));
        assert!(!pauses.has_enough(), "it looks away already");
        let until = now + 5 * SECOND / 2;
        assert_eq!(pauses.paused_until(), Some(until));
        assert!(!pauses.resume_due(until - Duration::from_millis(1)));
        assert!(pauses.resume_due(until) && pauses.paused_until().is_none() && !pauses.resume_due(until));
        // Half as many came in the second half: all are looked at.
        pauses.count(12_500);
        assert!(!pauses.has_enough() && !pauses.pause_until_needed(now + 5 * SECOND, now + 10 * SECOND));
    }

    #[test]
    fn as_soon_as_it_has_enough_it_need_not_look_until_the_check_is_near() {
        let (mut pauses, now) = looked(SECOND / 2, 25_000);
        assert!(pauses.has_enough() && pauses.pause_until_needed(now, now + 9 * SECOND / 2));
        assert_eq!(pauses.paused_until(), Some(now + 4 * SECOND));
        let (mut pauses, now) = looked(2 * SECOND, 25_000);
        assert!(!pauses.pause_until_needed(now, now + 2 * SECOND), "the rest it takes to see as many again");
    }

    #[test]
    fn a_disk_with_few_requests_is_looked_at_all_the_time() {
        for seen in [0, 1, 20_000, 25_000] {
            let (mut pauses, now) = looked(5 * SECOND, seen);
            assert!(!pauses.pause_until_needed(now, now + 5 * SECOND), "{seen}");
        }
        let (mut hasty, now) = looked(SECOND / 4, 1_000_000);
        assert!(!hasty.pause_until_needed(now, now + SECOND / 4), "no look is shorter");
    }

    #[test]
    fn a_glance_is_not_shorter_however_many_come() {
        let (mut pauses, now) = looked(5 * SECOND, 50_000_000);
        assert!(pauses.pause_until_needed(now, now + 5 * SECOND));
        assert_eq!(pauses.paused_until(), Some(now + 5 * SECOND - GLANCE));
        assert!(!pauses.pause_until_needed(now, now), "no time is no reason to fail");
    }
}
