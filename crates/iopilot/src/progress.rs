//! A progress bar for work that takes over a second, on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iopilot_sim::Progress;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// No bar is shown before this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two updates.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work`, showing on standard error how many of `total` requests are done, unless `quiet` or standard error is
/// not a terminal. Without a total only the count is shown.
pub(crate) fn with_progress_bar<T>(quiet: bool, total: Option<u64>, work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if quiet || !std::io::stderr().is_terminal() {
        return work(&progress);
    }
    let (finished, waiting) = channel::<()>();
    thread::scope(|scope| {
        let progress = &progress;
        scope.spawn(move || {
            if waiting.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = bar(total);
            while waiting.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(progress.done());
            }
            bar.finish_and_clear();
        });
        let result = work(progress);
        // The watcher sees the channel close.
        drop(finished);
        result
    })
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(n) => (ProgressBar::new(n), "{wide_bar} {percent:>3} %  {human_pos} requests  {eta} left"),
        None => (ProgressBar::no_length(), "{human_pos} requests simulated in {elapsed}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
