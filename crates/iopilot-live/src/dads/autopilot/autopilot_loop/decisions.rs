//! Jobs and decisions of the autopilot: passes jobs to the threads that simulate, and carries out decisions.

use super::AutopilotLoop;
use crate::dads::audit::AuditEvent;
use crate::dads::pilot_thread::JobDone;
use crate::dads::status::Phase;
use crate::learned::most_at_disk;
use crate::{LearnedDisk, LiveError, QueueState};
use iopilot_block::Nanos;
use iopilot_catalogue::AnyDevice;
use iopilot_dads::{AutopilotJob, DecisionReason, SchedulerCheck};
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
        let now = self.capture_clock();
        self.not_before = now;
        match candidate {
            Some(which) => self.autopilot.adopt(which, now),
            None => self.autopilot.distrust(now),
        }
        self.expect(state, if candidate.is_some() { Phase::Collecting } else { Phase::StandingBy });
        Ok(())
    }

    /// Saves the learned model, and what was learned of loads and candidates.
    pub(in crate::dads::autopilot) fn save(&mut self) {
        self.saved = Instant::now();
        let memory = self.memory.as_ref().filter(|_| !self.options.dry_run);
        if let Some(Err(e)) = memory.zip(self.autopilot.experience()).map(|(file, learned)| file.write(learned)) {
            self.log.tell(&AuditEvent::Failed { why: format!("saving what was learned: {e}") });
        }
        if let Some(Err(e)) = self.learned.as_mut().map(LearnedDisk::save) {
            self.log.tell(&AuditEvent::Failed { why: format!("saving the learned model: {e}") });
        }
    }

    /// Passes a job to the threads that simulate, unless there is a reason to skip it.
    pub(super) fn begin_job(&mut self, mut job: AutopilotJob<AnyDevice>) -> Result<(), LiveError> {
        let all_lost = self.capture.lost_events();
        let lost = all_lost - self.checked_lost;
        self.checked_lost = all_lost;
        if !is_trusted(lost, job.records().len()) {
            self.skipped(format!("{lost} events were lost: what was captured is not to be trusted"));
            self.autopilot.skip(job, false);
            return Ok(());
        }
        if let Some(learned) = &mut self.learned {
            learned.observe_depth(job.records());
            if let Some(device) = learned.device() {
                job.replace_model(device);
            }
        }
        if self.saved.elapsed() >= SAVED_EVERY {
            self.save();
        }
        if let Some(why) = self.learned.as_ref().and_then(LearnedDisk::why_incomplete) {
            self.skipped(why);
            let check = self.autopilot.skip(job, true);
            return check.map_or(Ok(()), |check| self.act(check, None));
        }
        let in_flight = self.queues.take(most_at_disk(job.records()));
        job.tell_in_flight(in_flight);
        self.thinking = Some(Instant::now());
        self.log.shared.with(|s| s.phase = Phase::Simulating);
        self.pauses.restart(Instant::now());
        // If the thread has ended, `run` notices when it polls for results.
        let _ = self.jobs.send(job);
        Ok(())
    }

    pub(super) fn skipped(&self, why: String) {
        self.log.shared.with(|s| s.skipped(&why));
        self.log.tell(&AuditEvent::Skipped { why });
    }

    /// Takes in the result of a job.
    pub(super) fn finished(&mut self, done: JobDone) -> Result<(), LiveError> {
        self.thinking = None;
        self.simulators.help(Duration::ZERO);
        let took = done.took.as_secs_f64();
        self.log.shared.with(|s| {
            s.simulating_s += took;
            s.phase = Phase::Collecting;
        });
        match self.autopilot.finished(done.result) {
            Ok(Some(check)) => self.act(check, Some(took)),
            Ok(None) => Ok(()),
            Err(e) => {
                self.log.tell(&AuditEvent::Failed { why: format!("a check: {e}") });
                Ok(())
            }
        }
    }

    /// Carries out a decision. It is based on simulations that took `simulated_in_s` seconds.
    pub(super) fn act(&mut self, mut check: SchedulerCheck, simulated_in_s: Option<f64>) -> Result<(), LiveError> {
        // From the start of the flight, rather than from the first request.
        check.at_s += (self.began.elapsed().as_secs_f64() - self.capture_clock().as_secs_f64()).max(0.0);
        let load = self.interval.read(Instant::now());
        self.log.shared.with(|s| s.checked(&check, load));
        let change_s = match check.acts() {
            true if self.options.dry_run => {
                self.autopilot.refused(self.capture_clock());
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
                simulated_in_s: simulated_in_s.unwrap_or(0.0),
                change_s,
            });
        }
        Ok(())
    }

    /// Changes or reinstalls the scheduler. Returns how many seconds that took; `None` if the kernel refused.
    fn change(&mut self, check: &SchedulerCheck) -> Result<Option<f64>, LiveError> {
        let to = self.candidate_set.candidates.iter().position(|c| c.to_string() == check.decision);
        let Some(to) = to else {
            self.autopilot.refused(self.capture_clock());
            return Ok(None);
        };
        // A change that somebody else made during the trials takes precedence.
        let state = self.queue.state()?;
        if state.scheduler != self.expected.scheduler || state.tunables != self.expected.tunables {
            self.autopilot.refused(self.capture_clock());
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
                self.autopilot.refused(self.capture_clock());
                if !renews {
                    self.autopilot.exclude(to);
                }
                self.log.shared.with(|s| s.phase = Phase::Collecting);
                return Ok(None);
            }
        }
        // Requests in flight during the change say nothing about either scheduler.
        self.collect()?;
        if self.pauses.paused_until().is_some() {
            self.count_unseen()?;
        }
        let now = self.capture_clock();
        self.not_before = now;
        self.autopilot.installed(pending, Nanos(took.as_nanos() as u64), now);
        let state = self.queue.state()?;
        self.expect(state, Phase::Collecting);
        self.log.shared.with(|s| {
            s.changing_s += took.as_secs_f64();
            if renews {
                s.renewals += 1;
                return;
            }
            s.changes += 1;
            let is_back = matches!(check.reason, DecisionReason::Undelivered { .. } | DecisionReason::Aborted { .. });
            s.taken_back += u64::from(is_back);
            // The check holds the outcome of the change before; that of this one is not known yet.
            let promised = match check.reason {
                DecisionReason::Better { gain } | DecisionReason::Trial { gain, .. } => Some(100.0 * gain),
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
