//! The checks of [`AutopilotLoop`]: passes windows to the pilot, and carries out its decisions.

use super::AutopilotLoop;
use crate::dads::audit::AuditEvent;
use crate::dads::pilot_thread::{CheckResult, PilotCommand};
use crate::dads::status::Phase;
use crate::learned::most_at_disk;
use crate::{LearnedDisk, LiveError, QueueState};
use iopilot_block::Nanos;
use iopilot_dads::{DecisionReason, SchedulerCheck};
use std::time::{Duration, Instant};

/// How often the learned model is saved.
const SAVED_EVERY: Duration = Duration::from_secs(300);

/// The share of a window's requests that may be lost.
const LOSS: f64 = 0.01;

/// Whether a window of `requests` requests shows what the disk did, although `lost` events were lost. The kernel may
/// leave out a completion now and then (docs/lab/capture-cost.md); an overflowing buffer loses many events at once.
fn is_trusted(lost: u64, requests: usize) -> bool {
    lost as f64 <= LOSS * requests as f64
}

impl AutopilotLoop<'_> {
    /// Checks whether somebody else changed the scheduler or a tunable.
    pub(super) fn check_for_others(&mut self) -> Result<(), LiveError> {
        // The queue of a loop device or of a removable drive outlives its medium.
        if self.queue.diskseq() != self.diskseq {
            return Err(LiveError::Unplugged(self.queue.name().to_owned()));
        }
        let state = self.queue.state()?;
        if state.scheduler == self.expected.scheduler && state.tunables == self.expected.tunables {
            return Ok(());
        }
        let candidate = self.candidate_set.position(&state);
        let scheduler = state.scheduler.clone();
        self.log.tell(&AuditEvent::ChangedByOthers { scheduler, candidate: candidate.is_some() });
        self.standing_by = candidate.is_none();
        self.window.clear();
        if let Some(which) = candidate {
            self.send(PilotCommand::Adopt(which));
        }
        self.expect(state, if candidate.is_some() { Phase::Collecting } else { Phase::StandingBy });
        Ok(())
    }

    /// Passes the model as learned so far to the pilot, and saves it from time to time.
    fn learn(&mut self) {
        let Some(learned) = &mut self.learned else { return };
        learned.observe_depth(self.window.records());
        let Some(device) = learned.device() else { return };
        self.send(PilotCommand::Model(Box::new(device)));
        if self.saved.elapsed() >= SAVED_EVERY {
            self.save();
        }
    }

    /// Saves the learned model.
    pub(in crate::dads::autopilot) fn save(&mut self) {
        self.saved = Instant::now();
        if let Some(Err(e)) = self.learned.as_mut().map(LearnedDisk::save) {
            self.log.tell(&AuditEvent::Failed { why: format!("saving the learned model: {e}") });
        }
    }

    /// Passes the window to the pilot, unless there is a reason to skip the check. Returns whether the check was
    /// skipped while the model still learns.
    pub(super) fn check(&mut self, at: Nanos) -> bool {
        self.learn();
        let all_lost = self.capture.lost_events();
        let lost = all_lost - self.lost;
        let trusted = is_trusted(lost, self.window.records().len());
        let skip = match trusted {
            _ if self.standing_by => Some("the scheduler in use is no candidate".to_owned()),
            true => self.learned.as_ref().and_then(LearnedDisk::why_incomplete),
            false => Some(format!("{lost} events were lost: what was captured is not to be trusted")),
        };
        let learning = !self.standing_by && trusted && !self.window.is_empty();
        self.lost = all_lost;
        if let Some(why) = skip {
            self.window.clear();
            self.log.shared.with(|s| s.skipped(&why));
            self.log.tell(&AuditEvent::Skipped { why });
            return learning;
        }
        let pending = self.inside;
        self.thinking = Some(Instant::now());
        self.log.shared.with(|s| s.phase = Phase::Simulating);
        let in_flight = self.queues.take(most_at_disk(self.window.records()));
        let window = self.window.take();
        self.send(PilotCommand::Check { window, pending, in_flight, at });
        false
    }

    /// Carries out a decision.
    pub(super) fn act(&mut self, result: CheckResult) -> Result<(), LiveError> {
        self.thinking = None;
        self.simulators.help(Duration::ZERO);
        if self.window.is_empty() {
            self.window = result.window;
        }
        let took = result.took.as_secs_f64();
        self.log.shared.with(|s| {
            s.simulating_s += took;
            s.phase = Phase::Collecting;
        });
        let check = match result.check {
            Ok(check) => check,
            Err(e) => {
                self.log.tell(&AuditEvent::Failed { why: format!("a check: {e}") });
                return Ok(());
            }
        };
        let load = self.interval.read(Instant::now());
        self.log.shared.with(|s| s.checked(&check, load));
        let change_s = match check.acts() {
            true if self.options.dry_run => {
                self.send(PilotCommand::Declined);
                None
            }
            true => self.change(&check)?,
            false => None,
        };
        // Checks of an idle disk would only fill the audit file.
        if check.reason != DecisionReason::Idle {
            self.log.tell(&AuditEvent::Check {
                carried_out: change_s.is_some(),
                check,
                simulated_in_s: took,
                change_s,
            });
        }
        Ok(())
    }

    /// Changes or reinstalls the scheduler. Returns how many seconds that took; `None` if the kernel refused.
    fn change(&mut self, check: &SchedulerCheck) -> Result<Option<f64>, LiveError> {
        let to = self.candidate_set.candidates.iter().position(|c| c.to_string() == check.decision);
        let Some(to) = to else { return Ok(None) };
        // A change that somebody else made during the trials takes precedence.
        let state = self.queue.state()?;
        if state.scheduler != self.expected.scheduler || state.tunables != self.expected.tunables {
            self.send(PilotCommand::Declined);
            self.check_for_others()?;
            return Ok(None);
        }
        self.log.shared.with(|s| s.phase = Phase::Changing);
        let pending = self.inside;
        let began = Instant::now();
        let renews = check.renews();
        let done = match renews {
            true => self.candidate_set.renew(self.queue, to),
            false => self.candidate_set.install(self.queue, to),
        };
        let took = began.elapsed();
        match done {
            Ok(()) => {}
            Err(e @ LiveError::Unplugged(_)) => return Err(e),
            Err(e) => {
                self.log.tell(&AuditEvent::Failed { why: format!("changing to {}: {e}", check.decision) });
                self.queue.restore(&self.expected)?;
                self.send(PilotCommand::Declined);
                if !renews {
                    self.send(PilotCommand::Exclude(to));
                }
                self.log.shared.with(|s| s.phase = Phase::Collecting);
                return Ok(None);
            }
        }
        if !renews {
            self.send(PilotCommand::Changed { pending, took: Nanos(took.as_nanos() as u64) });
        }
        // Requests in flight during the change say nothing about either scheduler.
        self.collect()?;
        if self.pauses.paused_until().is_some() {
            self.count_unseen()?;
        }
        self.not_before = self.capture_clock();
        self.window.clear();
        let state = self.queue.state()?;
        self.expect(state, Phase::Collecting);
        self.log.shared.with(|s| {
            s.changing_s += took.as_secs_f64();
            if renews {
                s.renewals += 1;
                return;
            }
            s.changes += 1;
            s.taken_back += u64::from(matches!(check.reason, DecisionReason::Undelivered { .. }));
            // The check holds the outcome of the change before; that of this one is not known yet.
            let promised = match check.reason {
                DecisionReason::Better { gain } => Some(100.0 * gain),
                _ => None,
            };
            let change =
                SchedulerCheck { predicted_gain_percent: promised, measured_gain_percent: None, ..check.clone() };
            s.last_change = Some(change);
        });
        Ok(Some(took.as_secs_f64()))
    }

    /// Notes `state` as the state of the queue.
    fn expect(&mut self, state: QueueState, phase: Phase) {
        self.log.shared.with(|s| {
            s.scheduler.clone_from(&state.scheduler);
            s.tunables.clone_from(&state.tunables);
            s.phase = phase;
        });
        self.expected = state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_outlives_the_loss_of_a_few_events() {
        assert!(is_trusted(0, 0) && is_trusted(2, 1600) && is_trusted(16, 1600));
        assert!(!is_trusted(17, 1600) && !is_trusted(1, 50));
    }
}
