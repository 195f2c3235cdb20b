//! The lines on self-replays, which come before a comparison's table.

use iopilot_compare::{Comparison, LARGEST_ERROR_PERCENT, SelfReplay};
use iopilot_render::number::plain;
use iopilot_render::{Terminal, wrap};
use std::fmt::Write;

/// A line for each recording: how well the model predicts it under its own scheduler, with a warning if the error is
/// large. Empty if the recordings do not name their schedulers.
pub(crate) fn self_replays(comparison: &Comparison, terminal: Terminal) -> String {
    let mut out = String::new();
    for replay in &comparison.self_replays {
        out += &wrap(&line(replay), terminal.width);
        if replay.warns() {
            let warning = format!(
                "warning: the model is more than {LARGEST_ERROR_PERCENT:.0} % off on the recording itself. Do not trust the sizes of \
                 differences below: the disk's model, its queue depth or the settings are not those of the recording."
            );
            out += &terminal.bold(&wrap(&warning, terminal.width));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn line(replay: &SelfReplay) -> String {
    let (recorded, replayed) = (&replay.recorded, &replay.replayed);
    if replay.same_disk == Some(false) {
        return format!(
            "recorded on another disk ({}) under {}, in {} s; {} s here. So the recording cannot show how good the model is.",
            replay.recorded_on,
            replay.scheduler,
            plain(recorded.elapsed_s),
            plain(replayed.elapsed_s)
        );
    }
    let mut line = format!(
        "self-replay under {}, as recorded: {} s, recorded {} s ({:+.1} %)",
        replay.scheduler,
        plain(replayed.elapsed_s),
        plain(recorded.elapsed_s),
        replay.elapsed_error_percent
    );
    let (what, ours, real) = match recorded.wait_ms_mean > 0.0 {
        true => ("wait", replayed.wait_ms_mean, recorded.wait_ms_mean),
        false => ("response", replayed.response_ms_mean, recorded.response_ms_mean),
    };
    let _ =
        write!(line, "; {what} {} ms, recorded {} ms ({:+.1} %)", plain(ours), plain(real), replay.wait_error_percent);
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;
    use iopilot_compare::ReplayTimes;

    #[test]
    fn a_model_that_is_far_off_is_warned_of() {
        let of = |elapsed: f64| SelfReplay {
            workload: "a.parquet".into(),
            scheduler: "bfq".into(),
            recorded_on: "sda, ST3500630AS".into(),
            same_disk: None,
            recorded: ReplayTimes { elapsed_s: 10.0, response_ms_mean: 5.0, wait_ms_mean: 4.0 },
            replayed: ReplayTimes { elapsed_s: elapsed, response_ms_mean: 5.0, wait_ms_mean: 4.2 },
            elapsed_error_percent: 10.0 * elapsed - 100.0,
            wait_error_percent: 5.0,
        };
        let mut comparison = sample_comparison(2);
        let terminal = Terminal { width: 200, colour: false };
        assert_eq!(self_replays(&comparison, terminal), "");
        comparison.self_replays = vec![of(10.3)];
        assert_eq!(
            self_replays(&comparison, terminal),
            "self-replay under bfq, as recorded: 10.3 s, recorded 10.0 s (+3.0 %); wait 4.20 ms, recorded 4.00 ms (+5.0 %)\n\n"
        );
        comparison.self_replays.push(of(13.0));
        let text = self_replays(&comparison, terminal);
        assert_eq!(text.matches("warning:").count(), 1, "{text}");
        // The times of another disk tell nothing of the model.
        comparison.self_replays = vec![SelfReplay { same_disk: Some(false), ..of(13.0) }];
        assert_eq!(
            self_replays(&comparison, terminal),
            "recorded on another disk (sda, ST3500630AS) under bfq, in 10.0 s; 13.0 s here. So the recording cannot show how good \
             the model is.\n\n"
        );
    }
}
