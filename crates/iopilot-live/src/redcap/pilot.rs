//! The thread that decides for the algorithm `adaptive`.

use super::body::{TrafficWindow, now};
use super::cached_disk::CachedDisk;
use super::decider::Decider;
use super::status::StatusCheck;
use iopilot_block::Lba;
use iopilot_dads::is_window_over;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time between two looks at the window.
const LOOK: Duration = Duration::from_millis(50);
/// The most decisions that are remembered.
const REMEMBERED: usize = 64;

/// What the thread reports.
#[derive(Debug, Default)]
pub(super) struct PilotNotes {
    pub(super) checks: VecDeque<StatusCheck>,
    /// Why nothing is decided.
    pub(super) model_incomplete: Option<String>,
}

/// The notes, shared between threads.
pub(super) type SharedNotes = Arc<Mutex<PilotNotes>>;

/// Decides at the end of each window, until the sender of `stop` is dropped. A learned model is then saved. The cache
/// is off at first, because nothing has been tried yet.
pub(super) fn run_pilot(mut decider: Decider, disk: &CachedDisk, notes: &SharedNotes, stop: &Receiver<()>) {
    disk.with(|body| body.set_active(false, now()));
    let mut window = disk.take_window(TrafficWindow::default());
    let mut began = now();
    while stop.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if !is_window_over(now().since(began), disk.lock().window_length()) {
            continue;
        }
        began = now();
        window.above.clear();
        window.below.clear();
        window = disk.take_window(window);
        let start = disk.disk().start;
        window.below.iter_mut().for_each(|record| record.lba = Lba(record.lba.0 + start));
        decider.observe(&window.below);
        if let Some(requests) = decider.follow_queue() {
            disk.with(|body| body.set_queue_limit(requests));
        }
        let (active, at) = (decider.setting().is_some_and(|setting| setting.active), now());
        let mut why = decider.why_incomplete();
        match decider.decide(&mut window.above, window.pending) {
            Ok(Some(check)) => {
                let setting = &check.setting;
                if check.changes {
                    let resized = disk.with(|body| {
                        let resized = body.set_geometry(setting.geometry, now());
                        body.cache.set_miss(setting.miss);
                        body.set_off_regions(&setting.regions.off(), now());
                        body.set_active(setting.active, now());
                        resized
                    });
                    why = why.or_else(|| resized.err().map(|e| e.to_string()));
                }
                let (with_cache_ms, without_cache_ms) = (1e3 * check.with_s, 1e3 * check.without_s);
                let (predicted_ms, measured_ms) = (Some(1e3 * check.before_s), check.measured_s.map(|s| 1e3 * s));
                let (before, after, off_percent) = (active, setting.active, 100.0 * setting.regions.off_share());
                let check = StatusCheck {
                    at,
                    with_cache_ms,
                    without_cache_ms,
                    predicted_ms,
                    measured_ms,
                    before,
                    after,
                    off_percent,
                    geometry: setting.geometry,
                    miss: setting.miss,
                };
                let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                notes.checks.push_back(check);
                if notes.checks.len() > REMEMBERED {
                    notes.checks.pop_front();
                }
            }
            Ok(None) => {}
            Err(e) => why = Some(format!("a trial failed: {e}")),
        }
        notes.lock().unwrap_or_else(PoisonError::into_inner).model_incomplete = why;
    }
    if let Err(e) = decider.save() {
        eprintln!("{e}");
    }
}
