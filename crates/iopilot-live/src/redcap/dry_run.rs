//! What a cache would have saved on a disk that has none.

use super::body::now;
use super::decider::{Decider, RedcapModel};
use super::status::CheckNote;
use crate::{BlockQueue, Capture, CaptureOptions, Delivery, LiveError, Signals};
use iopilot_block::Op;
use iopilot_dads::is_window_over;
use iopilot_redcap::RedcapSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time between two polls of the capture.
const POLL: Duration = Duration::from_millis(20);

/// What to watch.
#[derive(Clone, Debug)]
pub struct DryRunOptions {
    /// The disk.
    pub device: PathBuf,
    /// The cache that it would have.
    pub spec: RedcapSpec,
    /// The model of the disk.
    pub model: RedcapModel,
    /// How long; `None` until a signal comes.
    pub duration: Option<Duration>,
}

/// What a cache would have saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DryRunReport {
    /// Seconds that the disk was watched.
    pub watched_s: f64,
    /// Reads that were seen.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Why nothing was decided; `None` if something was.
    #[serde(alias = "lacks")]
    pub model_incomplete: Option<String>,
    /// The total service time of all windows that were tried, without a cache, by the model, in seconds.
    pub without_s: f64,
    /// The same with a cache that is always on.
    pub always_s: f64,
    /// The same with a cache that `adaptive` turns on and off.
    pub adaptive_s: f64,
    /// The share of the windows in which the cache would have been on, in percent.
    pub active_percent: f64,
    /// What `adaptive` would have saved of the total service time, in percent.
    pub saved_percent: f64,
    /// The decisions.
    pub checks: Vec<CheckNote>,
}

/// Watches a disk, and tries a cache on its requests in virtual time. Nothing is changed. Each decision is passed to
/// `tell`.
///
/// # Errors
/// Without root, where there is no such disk, or it cannot be captured, or its model is of another one.
pub fn dry_run(
    options: &DryRunOptions,
    signals: &Signals,
    mut tell: impl FnMut(&CheckNote),
) -> Result<DryRunReport, LiveError> {
    let queue = BlockQueue::open(&options.device)?;
    let mut decider = Decider::new(&options.spec, &options.model, Some(&queue), 0..queue.sectors()?)?;
    let mut capture =
        Capture::start(&CaptureOptions { delivery: Delivery::AtOnce, ..CaptureOptions::new(&options.device) })?;
    let mut report = DryRunReport::default();
    let (began, mut window, mut fresh, mut on) = (Instant::now(), Vec::new(), Vec::new(), 0u32);
    let mut window_began = now();
    while signals.caught().is_none() && options.duration.is_none_or(|longest| began.elapsed() < longest) {
        sleep(POLL);
        capture.poll(&mut fresh)?;
        decider.observe(&fresh);
        for record in fresh.iter().filter(|record| record.op == Op::Read) {
            report.reads += 1;
            report.read_bytes += record.sectors.bytes();
        }
        window.append(&mut fresh);
        if !is_window_over(now().since(window_began), window.len()) {
            continue;
        }
        window_began = now();
        let active = decider.setting().is_some_and(|setting| setting.active);
        let check = decider.decide(&mut window, capture.pending());
        window.clear();
        let Some(check) = check.map_err(|e| LiveError::Failed(format!("a trial failed: {e}")))? else { continue };
        // The window that has just ended was served by the decision before it.
        report.without_s += check.without_s;
        report.always_s += check.everywhere_s;
        report.adaptive_s += check.before_s;
        on += u32::from(active);
        let note = CheckNote {
            at_s: began.elapsed().as_secs_f64(),
            with_cache_ms: 1e3 * check.with_s,
            without_cache_ms: 1e3 * check.without_s,
            active: [active, check.setting.active],
            off_percent: 100.0 * check.setting.regions.off_share(),
            geometry: check.setting.geometry,
            miss: check.setting.miss,
            predicted_ms: None,
            measured_ms: None,
        };
        tell(&note);
        report.checks.push(note);
    }
    report.watched_s = began.elapsed().as_secs_f64();
    report.model_incomplete = decider.why_incomplete();
    if report.without_s > 0.0 {
        report.active_percent = 100.0 * f64::from(on) / report.checks.len() as f64;
        report.saved_percent = 100.0 * (1.0 - report.adaptive_s / report.without_s);
    }
    decider.save()?;
    Ok(report)
}
