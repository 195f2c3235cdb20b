//! [`AutopilotLoop`]: the thread that captures the requests of a disk and changes its scheduler.

mod decisions;

use super::FlightOptions;
use super::capture_pauses::CapturePauses;
use crate::dads::audit::{Audit, AuditEvent};
use crate::dads::candidate_set::CandidateSet;
use crate::dads::experience_file::ExperienceFile;
use crate::dads::load::LoadMeter;
use crate::dads::pilot_thread::{JobDone, Simulators};
use crate::dads::process_queues::ProcessQueues;
use crate::dads::status::Shared;
use crate::{BlockQueue, Capture, LearnedDisk, LiveError, QueueState, Traffic};
use iopilot_block::{Lba, Nanos};
use iopilot_catalogue::AnyDevice;
use iopilot_dads::{Autopilot, AutopilotJob, AutopilotOutput, Policy};
use iopilot_sched::NO_SCHEDULER;
use iopilot_trace::TraceRecord;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two polls of the capture while requests come.
const BUSY: Duration = Duration::from_millis(20);
/// The same for an idle disk.
const QUIET: Duration = Duration::from_millis(500);
/// How often the load is shown.
const SECOND: Duration = Duration::from_secs(1);

/// Where a disk's events go: the audit file, and the status for failures.
#[derive(Clone, Copy)]
pub(super) struct EventSink<'a> {
    pub(super) name: &'a str,
    pub(super) shared: &'a Shared,
    pub(super) audit: &'a Audit,
}

impl EventSink<'_> {
    pub(super) fn tell(&self, event: &AuditEvent) {
        // A full disk must not end the flight; the status counts the failures.
        if self.audit.write(self.name, event).is_err() {
            self.shared.with(|s| s.audit_failures += 1);
        }
    }
}

/// The thread that captures the requests of a disk and changes its scheduler. What to do is decided by the
/// [`Autopilot`].
pub(super) struct AutopilotLoop<'a> {
    pub(super) options: &'a FlightOptions,
    pub(super) queue: &'a BlockQueue,
    pub(super) candidate_set: CandidateSet,
    /// The kernel's sequence number of this disk.
    pub(super) diskseq: Option<u64>,
    /// The state in which the autopilot left the queue.
    pub(super) expected: QueueState,
    pub(super) capture: Capture,
    pub(super) autopilot: Autopilot<AnyDevice>,
    /// Where what it learns is kept.
    pub(super) memory: Option<ExperienceFile>,
    pub(super) learned: Option<LearnedDisk>,
    /// What processes keep in flight, where the scheduler in use hides that.
    pub(super) queues: ProcessQueues,
    /// When the learned model was last saved.
    pub(super) saved: Instant,
    pub(super) jobs: Sender<AutopilotJob<AnyDevice>>,
    pub(super) results: Receiver<JobDone>,
    pub(super) log: EventSink<'a>,
    /// Sectors of the model.
    pub(super) capacity: u64,
    /// The load of the last second, and that since the last check.
    pub(super) second: LoadMeter,
    pub(super) interval: LoadMeter,
    /// When the capture runs.
    pub(super) pauses: CapturePauses,
    /// When the capture was last paused, and the kernel's counters of that time.
    pub(super) left: (Instant, Traffic),
    /// Requests in flight at the last poll.
    pub(super) inside: usize,
    pub(super) fresh: Vec<TraceRecord>,
    /// Requests that arrived before this were not served by the scheduler in use.
    pub(super) not_before: Nanos,
    /// When the flight began.
    pub(super) began: Instant,
    /// When the queue was last checked for changes by others.
    pub(super) looked: Instant,
    /// Events lost until the last job.
    pub(super) checked_lost: u64,
    /// When the running job began.
    pub(super) thinking: Option<Instant>,
    /// The threads that simulate.
    pub(super) simulators: Simulators,
    pub(super) standing_by: bool,
}

impl AutopilotLoop<'_> {
    pub(super) fn begin(&self) {
        let status = self.log.shared.with(|s| s.clone());
        self.log.tell(&AuditEvent::Start {
            scheduler: status.scheduler,
            tunables: status.tunables,
            candidates: status.candidates,
            model: status.model,
            capture: status.capture,
            dry_run: status.dry_run,
            notes: status.notes,
        });
    }

    pub(super) fn run(&mut self, stop: &AtomicBool) -> Result<(), LiveError> {
        while !stop.load(Ordering::Relaxed) {
            let busy = self.collect()?;
            match self.results.try_recv() {
                Ok(done) => self.finished(done)?,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => {
                    return Err(LiveError::Failed("the simulation ended unexpectedly".to_owned()));
                }
            }
            let now = Instant::now();
            self.pause_or_resume(now)?;
            if now.saturating_duration_since(self.looked) >= SECOND {
                self.looked = now;
                self.check_for_others()?;
                if self.standing_by {
                    self.skipped("the scheduler in use is no candidate".to_owned());
                }
            }
            if self.pauses.paused_until().is_none() {
                self.decide()?;
            }
            if let Some(since) = self.thinking {
                self.simulators.help(since.elapsed());
            }
            let pause = if busy || self.thinking.is_some() { BUSY } else { QUIET };
            let next =
                self.pauses.paused_until().map_or(pause, |until| until.saturating_duration_since(now).min(pause));
            thread::sleep(next.max(Duration::from_millis(1)));
        }
        Ok(())
    }

    /// Asks the autopilot what to do, and does it.
    fn decide(&mut self) -> Result<(), LiveError> {
        loop {
            let now = self.capture_clock();
            if self.standing_by {
                self.autopilot.distrust(now);
                return Ok(());
            }
            match self.autopilot.tick(now, self.inside, false) {
                None => return Ok(()),
                Some(AutopilotOutput::Job(job)) => self.begin_job(job)?,
                Some(AutopilotOutput::Check(check)) => self.act(check, None)?,
            }
        }
    }

    /// Pauses the capture if more requests come than the autopilot needs, and resumes it in time.
    fn pause_or_resume(&mut self, now: Instant) -> Result<(), LiveError> {
        if self.pauses.resume_due(now) {
            return self.resume_capture();
        }
        if self.pauses.paused_until().is_some() || !self.pauses.has_enough() {
            return Ok(());
        }
        let Some(need) = self.autopilot.next_need() else { return Ok(()) };
        let due = now + Duration::from_nanos(need.since(self.capture_clock().min(need)).0);
        match self.pauses.pause_until_needed(now, due) {
            true => self.pause_capture(now),
            false => Ok(()),
        }
    }

    fn pause_capture(&mut self, now: Instant) -> Result<(), LiveError> {
        self.left = (now, self.queue.traffic()?);
        self.capture.pause()
    }

    /// Adds the kernel's counts of the requests that were not captured. Returns how many there were.
    fn count_unseen(&mut self) -> Result<u64, LiveError> {
        let (since, before) = self.left;
        let (now, after) = (Instant::now(), self.queue.traffic()?);
        let requests = after.requests.saturating_sub(before.requests);
        let bytes = after.bytes.saturating_sub(before.bytes);
        self.log.shared.with(|s| {
            s.requests += requests;
            s.bytes += bytes;
            s.counted_only_s += (now - since).as_secs_f64();
        });
        self.second.add_unseen(requests);
        self.interval.add_unseen(requests);
        self.left = (now, after);
        Ok(requests)
    }

    fn resume_capture(&mut self) -> Result<(), LiveError> {
        let requests = self.count_unseen()?;
        if let Some(learned) = &mut self.learned {
            learned.captures_missed();
        }
        self.capture.resume()?;
        // A window must have no gaps.
        let now = self.capture_clock();
        self.autopilot.missed(requests, now);
        Ok(())
    }

    /// Takes in the captured requests. Returns whether more are expected soon.
    fn collect(&mut self) -> Result<bool, LiveError> {
        self.capture.poll(&mut self.fresh)?;
        self.queues.name_issuers(&mut self.fresh);
        let bytes: u64 = self.fresh.iter().map(|r| r.sectors.bytes()).sum();
        let captures = self.pauses.paused_until().is_none();
        if captures {
            self.inside = self.capture.pending();
        }
        let (count, pending, lost) = (self.fresh.len(), self.inside, self.capture.lost_events());
        self.second.add(&self.fresh);
        self.interval.add(&self.fresh);
        let now = Instant::now();
        // While the capture is paused, requests are counted at its end.
        let load = (captures && self.second.elapsed(now) >= SECOND).then(|| self.second.read(now));
        self.log.shared.with(|s| {
            s.requests += count as u64;
            s.bytes += bytes;
            (s.pending, s.lost_events) = (pending, lost);
            if let Some(load) = load {
                (s.iops, s.latency_ms) = (load.iops, load.latency_ms);
            }
        });
        if let Some(learned) = &mut self.learned {
            self.fresh.iter().for_each(|record| learned.observe(record));
        }
        if self.expected.scheduler == NO_SCHEDULER {
            self.queues.look(&self.fresh, now);
        }
        let (not_before, capacity) = (self.not_before, self.capacity);
        // The trial of an interval is of requests that the scheduler in use has seen from the start.
        let is_tried_whole = matches!(self.options.decisions.policy, Policy::Interval(_));
        let is_its_own = |r: &TraceRecord| !is_tried_whole || r.arrival >= not_before;
        let fitting = self.fresh.drain(..).filter(is_its_own).map(|r| fit(r, capacity));
        self.autopilot.observe(fitting);
        self.pauses.count(count as u64);
        Ok(if captures { count > 0 || pending > 0 } else { !self.capture.is_paused() })
    }

    /// The present time on the clock of the requests.
    fn capture_clock(&self) -> Nanos {
        let t = clock_gettime(ClockId::Monotonic);
        let now = Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64);
        self.capture.origin().map_or(Nanos::ZERO, |origin| now.since(origin))
    }
}

/// `record` with its address wrapped into a model of `capacity` sectors.
fn fit(mut record: TraceRecord, capacity: u64) -> TraceRecord {
    let length = u64::from(record.sectors.0).min(capacity);
    if record.lba.0 + length > capacity {
        record.lba = Lba(record.lba.0 % (capacity - length + 1));
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, Sectors};

    #[test]
    fn what_lies_beyond_a_model_wraps_around() {
        let at = |lba| fit(TraceRecord::new(Nanos::ZERO, Op::Read, Lba(lba), Sectors(8)), 100).lba.0;
        assert_eq!([at(0), at(92), at(93), at(100), at(1000)], [0, 92, 0, 7, 70]);
    }
}
