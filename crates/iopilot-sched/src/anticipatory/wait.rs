//! When to keep the disk idle, and when to stop.

use super::{Anticipation, Anticipatory, CLOSE, TICK};
use crate::io_contexts::IoContextId;
use iopilot_block::{Nanos, Request, RequestId, Requests};

impl Anticipatory {
    pub(super) fn set_candidate(&mut self, candidate: Option<IoContextId>) {
        if let Some(context) = candidate {
            self.processes.hold(context);
        }
        if let Some(context) = std::mem::replace(&mut self.candidate, candidate) {
            self.processes.release(context);
        }
    }

    /// Moves the clock to `now`, and expires the timer if it is due.
    pub(super) fn advance(&mut self, now: Nanos) {
        self.now = now;
        if let (Anticipation::WaitNext(until), Some(candidate)) = (self.anticipation, self.candidate) {
            if now >= until {
                self.anticipation = Anticipation::Finished;
                self.newcomers.gave_up(&self.processes[candidate], self.processes.is_running(candidate));
            }
        }
    }

    /// Whether `rq`, of another process, is about as near as the next request expected of the candidate.
    pub(super) fn is_close(&self, candidate: IoContextId, rq: &Request) -> bool {
        let waited = match self.anticipation {
            Anticipation::Off => 0,
            _ if !self.candidate_finished => 0,
            _ => self.now.since(self.anticipating_since).0 / TICK.0,
        };
        // The longer the wait, the larger the distance that counts as near.
        if waited > 20 || TICK * waited > self.antic_expire() {
            return true;
        }
        let delta = CLOSE << waited;
        let (last, next) = (self.last_end[self.batch].0, rq.lba.0);
        if last <= next + delta / 2 && next <= last + delta {
            return true;
        }
        self.newcomers.expected_seek(&self.processes[candidate]) > last.abs_diff(next)
    }

    /// Whether to stop waiting for the candidate, and dispatch `new` instead.
    pub(super) fn may_break(&mut self, rqs: &Requests, new: Option<RequestId>) -> bool {
        let Some(candidate) = self.candidate else { return true };
        if new.is_some_and(|id| self.context_of(id) == candidate) {
            return true;
        }
        if self.candidate_finished && self.now.since(self.anticipating_since) >= self.antic_expire() {
            return true;
        }
        let process = &self.processes[candidate];
        if process.queued > 0 || process.ready > 0 {
            return true;
        }
        let running = self.processes.is_running(candidate);
        if let Some(id) = new.filter(|&id| rqs[id].is_sync()) {
            if self.is_close(candidate, &rqs[id]) {
                self.newcomers.cooperated(&self.processes[candidate], running);
                self.processes[candidate].arrived(&rqs[id], self.now, &mut self.newcomers);
                return true;
            }
        }
        self.newcomers.is_hopeless(&self.processes[candidate], running, self.antic_expire())
    }

    /// Begins or continues to wait for the candidate.
    pub(super) fn anticipate(&mut self) {
        if self.anticipation == Anticipation::Off {
            self.anticipation = if self.candidate_finished {
                Anticipation::WaitNext(self.anticipating_since + self.antic_expire())
            } else {
                Anticipation::WaitRequest
            };
        }
    }
}
