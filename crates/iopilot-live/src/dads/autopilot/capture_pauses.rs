//! [`CapturePauses`]: when to pause the capture of a disk that serves more requests than a check tries.

use std::time::{Duration, Instant};

/// How many times as many requests are captured as a check tries, since requests come in bursts.
const SPARE: f64 = 1.25;
/// The shortest pause that is worth it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);

/// A check tries the latest requests of its window. If enough of them come in a part of the interval, capturing the
/// others would only slow down the users of the disk. So the capture runs only in the last part before a check; the
/// rate of requests says how long that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturePauses {
    /// How many requests a check needs, with the spare ones.
    enough: f64,
    /// The shortest time of capturing before a check.
    shortest: Duration,
    since: Instant,
    /// Requests captured since then.
    seen: u64,
    paused_until: Option<Instant>,
}

impl CapturePauses {
    /// Captures from `now` on, for checks that try `tried` requests and need a window of at least `shortest`.
    pub(super) fn new(tried: u64, shortest: Duration, now: Instant) -> Self {
        Self { enough: SPARE * tried as f64, shortest, since: now, seen: 0, paused_until: None }
    }

    /// Notes that `requests` more requests were captured.
    pub(super) fn count(&mut self, requests: u64) {
        self.seen += requests;
    }

    /// Whether enough requests for a check were captured.
    pub(super) fn has_enough(&self) -> bool {
        self.paused_until.is_none() && self.seen as f64 >= self.enough
    }

    /// Decides at `now` whether to pause. The pause ends ([`Self::resume_due`]) in time to capture enough for the check
    /// at `due`.
    pub(super) fn pause_until_needed(&mut self, now: Instant, due: Instant) -> bool {
        let left = due.saturating_duration_since(now);
        let captured = now.saturating_duration_since(self.since).as_secs_f64();
        // At the rate so far; above 1 where too few requests came.
        let share = captured * self.enough / self.seen.max(1) as f64 / left.as_secs_f64().max(1e-9);
        let pause = left.saturating_sub(left.mul_f64(share.min(1.0)).max(self.shortest));
        self.paused_until = (pause >= SHORTEST_PAUSE).then(|| now + pause);
        self.paused_until.is_some()
    }

    /// Starts to count again, after a check has taken the window.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.seen) = (now, 0);
    }

    /// Whether a pause ends at `now`; the capture is then to be resumed.
    pub(super) fn resume_due(&mut self, now: Instant) -> bool {
        let due = self.paused_until.is_some_and(|until| until <= now);
        if due {
            self.paused_until = None;
            self.restart(now);
        }
        due
    }

    /// The end of the pause, if there is one.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const SHORTEST: Duration = Duration::from_millis(250);

    /// A capture of this duration and this many requests, and the time at its end.
    fn captured(time: Duration, seen: u64) -> (CapturePauses, Instant) {
        let began = Instant::now();
        let mut pauses = CapturePauses::new(20_000, SHORTEST, began);
        pauses.count(seen);
        (pauses, began + time)
    }

    #[test]
    fn a_quarter_more_than_a_check_tries_is_captured() {
        // 10,000 a second: 25,000 take 2.5 s.
        let (mut pauses, now) = captured(5 * SECOND, 50_000);
        assert!(pauses.has_enough() && pauses.pause_until_needed(now, now + 5 * SECOND));
        assert!(!pauses.has_enough(), "it pauses already");
        let until = now + 5 * SECOND / 2;
        assert_eq!(pauses.paused_until(), Some(until));
        assert!(!pauses.resume_due(until - Duration::from_millis(1)));
        assert!(pauses.resume_due(until) && pauses.paused_until().is_none() && !pauses.resume_due(until));
        // Half as many came in the second half: all are captured.
        pauses.count(12_500);
        assert!(!pauses.has_enough() && !pauses.pause_until_needed(now + 5 * SECOND, now + 10 * SECOND));
    }

    #[test]
    fn with_enough_requests_it_pauses_until_the_check_is_near() {
        let (mut pauses, now) = captured(SECOND / 2, 25_000);
        assert!(pauses.has_enough() && pauses.pause_until_needed(now, now + 9 * SECOND / 2));
        assert_eq!(pauses.paused_until(), Some(now + 4 * SECOND));
        let (mut pauses, now) = captured(2 * SECOND, 25_000);
        assert!(!pauses.pause_until_needed(now, now + 2 * SECOND), "the rest it takes to see as many again");
    }

    #[test]
    fn a_disk_with_few_requests_is_captured_all_the_time() {
        for seen in [0, 1, 20_000, 25_000] {
            let (mut pauses, now) = captured(5 * SECOND, seen);
            assert!(!pauses.pause_until_needed(now, now + 5 * SECOND), "{seen}");
        }
        let (mut hasty, now) = captured(SECOND / 4, 1_000_000);
        assert!(!hasty.pause_until_needed(now, now + SECOND / 4), "no capture is shorter");
    }

    #[test]
    fn capturing_has_a_shortest_time() {
        let (mut pauses, now) = captured(5 * SECOND, 50_000_000);
        assert!(pauses.pause_until_needed(now, now + 5 * SECOND));
        assert_eq!(pauses.paused_until(), Some(now + 5 * SECOND - SHORTEST));
        assert!(!pauses.pause_until_needed(now, now), "no time is no reason to fail");
    }
}
