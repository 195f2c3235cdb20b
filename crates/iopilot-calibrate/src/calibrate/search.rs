//! Searches for all parameters of a drive except its angles. Each proposal is accepted or rejected by its error on the
//! training requests.

use super::arm;
use super::fast;
use super::judge::{Assessment, DriveScore};
use super::spectrum::wrap;
use iopilot_block::Op;
use iopilot_catalogue::DriveSpec;
use iopilot_scsi::{FastWrite, KeepRequested, ReadAheadRule};

/// A drive and its assessment.
#[derive(Clone, Debug)]
pub(super) struct DriveCandidate {
    pub(super) drive: DriveSpec,
    pub(super) assessment: Assessment,
}

impl DriveCandidate {
    pub(super) fn new(judge: &DriveScore, drive: DriveSpec) -> Option<Self> {
        let assessment = judge.assess(&drive, None)?;
        Some(Self { drive, assessment })
    }

    fn loss(&self) -> f64 {
        self.assessment.score.total()
    }

    /// Accepts the drive if it is better.
    fn offer(&mut self, judge: &DriveScore, drive: DriveSpec) -> bool {
        if drive == self.drive {
            return false;
        }
        match judge.assess(&drive, Some(&self.assessment.lost)) {
            Some(assessment) if assessment.score.beats(self.assessment.score) => {
                *self = Self { drive, assessment };
                true
            }
            _ => false,
        }
    }
}

/// Improves a drive until no proposal helps. The arm is included only if the phase is known. `per_sector` is then the
/// time that each sector of a read adds, ms. Returns the changed rules.
pub(super) fn improve(judge: &DriveScore, best: &mut DriveCandidate, per_sector: Option<f64>) -> Vec<String> {
    let mut changed = Vec::new();
    for _ in 0..3 {
        let before = best.loss();
        for _ in 0..3 {
            let mut moved = false;
            let arms = if per_sector.is_some() {
                arm::proposals(judge, &best.drive, &best.assessment.predicted)
            } else {
                Vec::new()
            };
            for drive in arms {
                moved |= best.offer(judge, drive);
            }
            for drive in overheads(judge, best) {
                moved |= best.offer(judge, drive);
            }
            if !moved {
                break;
            }
        }
        for (name, drive) in rules(&best.drive, per_sector) {
            if best.offer(judge, drive) {
                note(&mut changed, name);
            }
        }
        if best.loss() > 0.998 * before {
            break;
        }
    }
    changed
}

/// Notes that a rule was changed. No rule is listed twice or with an outdated value, and a switch that was turned back
/// is not listed.
fn note(changed: &mut Vec<String>, name: String) {
    let opposite = match (name.strip_suffix(" on"), name.strip_suffix(" off")) {
        (Some(rule), _) => Some(format!("{rule} off")),
        (_, Some(rule)) => Some(format!("{rule} on")),
        _ => None,
    };
    let before = changed.len();
    changed.retain(|other| Some(other) != opposite.as_ref());
    if changed.len() < before {
        return;
    }
    let now = settings(&name);
    changed.retain(|other| *other != name && (settings(other).is_empty() || !settings(other).all_in(&now)));
    changed.push(name);
}

/// The settings of a rule, each without its value; empty if the rule scales the previous value.
struct Settings<'a>(Vec<&'a str>);

fn settings(name: &str) -> Settings<'_> {
    let parts = name.split(", ").filter(|part| !part.contains(" x "));
    Settings(parts.filter_map(|part| part.rsplit_once(' ')).map(|(rule, _)| rule).collect())
}

impl Settings<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn all_in(&self, other: &Self) -> bool {
        self.0.iter().all(|rule| other.0.contains(rule))
    }
}

/// The drive with its overheads corrected by median errors, and with small variations.
fn overheads(judge: &DriveScore, best: &DriveCandidate) -> Vec<DriveSpec> {
    let mut out = Vec::new();
    let median = |op: Op, after: Option<Op>, hit: Option<bool>| {
        let mut errors: Vec<f64> = (1..judge.requests.len())
            .filter(|&i| judge.requests[i].op == op)
            .filter(|&i| after.is_none_or(|a| judge.requests[i - 1].op == a))
            .filter(|&i| hit.is_none_or(|h| best.assessment.predicted[i].hit == h))
            .map(|i| judge.requests[i].service - best.assessment.predicted[i].service)
            .collect();
        if errors.len() < 20 {
            return 0.0;
        }
        let middle = errors.len() / 2;
        *errors.select_nth_unstable_by(middle, f64::total_cmp).1 / 1e6
    };
    let mut change = |f: &dyn Fn(&mut DriveSpec)| {
        let mut drive = best.drive.clone();
        f(&mut drive);
        out.push(drive);
    };
    let (r, w) = (Op::Read, Op::Write);
    let (after_read, after_write) = (median(r, Some(r), Some(true)), median(r, Some(w), Some(true)));
    change(&|d| d.overheads.read_hit_after_read_ms = (d.overheads.read_hit_after_read_ms + after_read).max(0.0));
    change(&|d| d.overheads.read_hit_after_write_ms = (d.overheads.read_hit_after_write_ms + after_write).max(0.0));
    let (after_read, after_write) = (median(w, Some(r), None), median(w, Some(w), None));
    if best.drive.write.fast == FastWrite::Off {
        // Reads and writes have a completion time after their last sector. If that of writes would become negative,
        // reads complete later instead. Their sectors then pass earlier by as much, and the arm starts earlier by as
        // much.
        let error = phase(judge, best);
        let shift = |d: &mut DriveSpec, by: f64| {
            let o = &mut d.overheads;
            let completion = o.write_completion_ms + by;
            o.write_completion_ms = completion.max(0.0);
            if completion < 0.0 {
                o.read_completion_ms -= completion;
                o.read_miss_after_read_ms = (o.read_miss_after_read_ms + completion).max(0.0);
                o.read_miss_after_write_ms = (o.read_miss_after_write_ms + completion).max(0.0);
                o.read_hit_after_read_ms = (o.read_hit_after_read_ms + completion).max(0.0);
                o.read_hit_after_write_ms = (o.read_hit_after_write_ms + completion).max(0.0);
                let turns = -completion * d.mechanics.rotation_rpm / 60e3;
                let angle = d.mechanics.initial_angle_revolutions + turns;
                d.mechanics.initial_angle_revolutions = angle.rem_euclid(1.0);
            }
        };
        change(&|d| shift(d, error));
        for later in [0.3, 0.6, 1.0] {
            change(&|d| {
                shift(d, error);
                d.overheads.write_miss_after_read_ms += later;
                d.overheads.write_miss_after_write_ms += later;
            });
        }
        change(&|d| shift(d, after_write));
    } else {
        let o = &best.drive.overheads;
        let (a, b) = (o.write_hit_after_read_ms + after_read, o.write_hit_after_write_ms + after_write);
        change(&|d| d.overheads.write_hit_after_read_ms = a.max(0.0));
        change(&|d| d.overheads.write_hit_after_write_ms = b.max(0.0));
        fast::proposals(judge, &best.drive, &best.assessment.predicted)
            .iter()
            .for_each(|d| change(&|x| x.clone_from(d)));
    }
    for factor in [0.8, 0.9, 0.95, 1.05, 1.1, 1.25] {
        change(&|d| d.bus.read_sector_ms *= factor);
        change(&|d| d.bus.write_sector_ms *= factor);
    }
    for step in [-0.3, -0.1, 0.1, 0.3] {
        change(&|d| d.overheads.read_miss_after_read_ms = (d.overheads.read_miss_after_read_ms + step).max(0.0));
        change(&|d| d.overheads.read_miss_after_write_ms = (d.overheads.read_miss_after_write_ms + step).max(0.0));
        change(&|d| d.overheads.write_miss_after_read_ms = (d.overheads.write_miss_after_read_ms + step).max(0.0));
        change(&|d| d.overheads.write_miss_after_write_ms = (d.overheads.write_miss_after_write_ms + step).max(0.0));
        change(&|d| d.mechanics.head_switch_ms = (d.mechanics.head_switch_ms + step).max(0.0));
        change(&|d| d.mechanics.write_settle_ms += step);
    }
    out
}

/// The median by which writes end later than modelled, modulo whole revolutions, ms.
fn phase(judge: &DriveScore, best: &DriveCandidate) -> f64 {
    let period = 60e9 / best.drive.mechanics.rotation_rpm;
    let both = judge.requests.iter().zip(&best.assessment.predicted).filter(|(r, _)| r.op == Op::Write);
    let mut errors: Vec<f64> = both.map(|(r, p)| wrap((r.service - p.service) / period)).collect();
    if errors.is_empty() {
        return 0.0;
    }
    let middle = errors.len() / 2;
    *errors.select_nth_unstable_by(middle, f64::total_cmp).1 * period / 1e6
}

const AHEAD: [ReadAheadRule; 6] = [
    ReadAheadRule::None,
    ReadAheadRule::Track,
    ReadAheadRule::WholeTrack,
    ReadAheadRule::Cylinder,
    ReadAheadRule::Segment,
    ReadAheadRule::Adaptive,
];

/// All variants of the drive with one rule changed.
fn rules(drive: &DriveSpec, per_sector: Option<f64>) -> Vec<(String, DriveSpec)> {
    let mut out: Vec<(String, DriveSpec)> = Vec::new();
    let mut change = |name: String, f: &dyn Fn(&mut DriveSpec)| {
        let mut changed = drive.clone();
        f(&mut changed);
        if changed != *drive {
            out.push((name, changed));
        }
    };
    for ahead in AHEAD {
        change(format!("ahead {ahead:?}"), &|d| d.read.ahead = ahead);
        change(format!("ahead {ahead:?}, no maximum"), &|d| {
            (d.read.ahead, d.read.max_ahead_sectors) = (ahead, 0);
        });
    }
    for keep in [KeepRequested::Drop, KeepRequested::Keep, KeepRequested::Overwrite] {
        change(format!("keep {keep:?}"), &|d| d.read.keep = keep);
        for ahead in AHEAD {
            change(format!("keep {keep:?}, ahead {ahead:?}"), &|d| (d.read.keep, d.read.ahead) = (keep, ahead));
        }
    }
    for (over, under) in [(1, 4), (1, 2), (3, 4), (5, 4), (3, 2), (2, 1), (4, 1)] {
        let times = |n: u32| (n * over / under).max(1);
        change(format!("segments x {over}/{under}"), &|d| d.buffer.segments = times(d.buffer.segments));
        change(format!("segment size x {over}/{under}"), &|d| {
            d.buffer.segment_sectors = times(d.buffer.segment_sectors);
        });
        change(format!("segment size and ahead x {over}/{under}"), &|d| {
            d.buffer.segment_sectors = times(d.buffer.segment_sectors);
            d.read.max_ahead_sectors = d.read.max_ahead_sectors * over / under;
        });
        change(format!("max ahead x {over}/{under}"), &|d| {
            d.read.max_ahead_sectors = d.read.max_ahead_sectors * over / under;
        });
    }
    for min in [0, 8, 32, 128] {
        change(format!("min ahead {min}"), &|d| d.read.min_ahead_sectors = min);
    }
    for n in [1, 2, 3, 4, 8] {
        change(format!("write segments {n}"), &|d| d.buffer.write_segments = n.min(d.buffer.segments));
    }
    for mark in [0.0, 0.5, 1.0] {
        change(format!("high water {mark}"), &|d| d.buffer.high_water = mark);
    }
    if let Some(ms) = per_sector.filter(|&ms| ms > 0.0) {
        for mark in [0.0, 1.0] {
            change(format!("high water {mark}, {ms:.3} ms a sector"), &|d| {
                (d.buffer.high_water, d.bus.read_sector_ms) = (mark, ms);
            });
        }
    }
    type Switch = fn(&mut DriveSpec) -> &mut bool;
    let switches: [(&str, Switch); 15] = [
        ("ahead on hit", |d| &mut d.read.ahead_on_hit),
        ("read immediate", |d| &mut d.read.immediate),
        ("free blocks", |d| &mut d.read.free_blocks),
        ("stop in sector", |d| &mut d.read.stop_in_sector),
        ("almost hits", |d| &mut d.read.almost_hits),
        ("partial at once", |d| &mut d.read.partial_at_once),
        ("hits on written", |d| &mut d.read.hits_on_written),
        ("water by request", |d| &mut d.buffer.water_by_request),
        ("direct", |d| &mut d.buffer.direct),
        ("separate write segment", |d| &mut d.buffer.separate_write_segment),
        ("write immediate", |d| &mut d.write.immediate),
        ("combine", |d| &mut d.write.combine),
        ("stops prefetch", |d| &mut d.write.stops_prefetch),
        ("waits for prefetch", |d| &mut d.write.waits_for_prefetch),
        ("sequential overhead", |d| &mut d.write.sequential_overhead),
    ];
    for (name, switch) in switches {
        let mut flipped = drive.clone();
        let state = switch(&mut flipped);
        *state = !*state;
        let name = format!("{name} {}", if *state { "on" } else { "off" });
        change(name, &|d| d.clone_from(&flipped));
    }
    change("no min seek delay".into(), &|d| d.write.min_seek_delay_ms = 0.0);
    change("no extra disconnect".into(), &|d| d.write.extra_disconnect = None);
    for fast in [FastWrite::Off, FastWrite::Alone, FastWrite::Always] {
        change(format!("fast write {fast:?}"), &|d| d.write.fast = fast);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::note;

    #[test]
    fn a_rule_is_named_once_and_not_at_all_if_it_was_turned_back() {
        let mut changed = Vec::new();
        for name in
            ["combine off", "segments x 2/1", "direct on", "combine on", "segments x 2/1", "direct off", "direct on"]
        {
            note(&mut changed, name.to_owned());
        }
        assert_eq!(changed, ["segments x 2/1", "direct on"]);
        for name in ["ahead Track", "keep Drop", "keep Keep, ahead WholeTrack", "min ahead 8", "min ahead 32"] {
            note(&mut changed, name.to_owned());
        }
        assert_eq!(changed, ["segments x 2/1", "direct on", "keep Keep, ahead WholeTrack", "min ahead 32"]);
    }
}
