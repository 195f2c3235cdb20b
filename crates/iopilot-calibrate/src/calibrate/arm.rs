//! Seek and settling times, from revolutions gained and lost.
//!
//! If a request's sector was reached in the modelled revolution, the arm was in time, but not a revolution earlier. If
//! the request took a whole revolution more or less, the modelled arm is too fast or too slow. Each request thus gives
//! an interval, one revolution long, that contains the error of the seek time. The error of a seek distance is where
//! most of its intervals overlap.

use super::judge::DriveScore;
use super::replay::Predicted;
use iopilot_block::Op;
use iopilot_catalogue::{DriveSeekSpec, DriveSpec};
use iopilot_device::{Mechanics, SeekCurve};

/// The bounds that one request sets for the time of its seek.
#[derive(Clone, Copy, Debug)]
struct SeekBound {
    distance: u32,
    /// Whether the arm, or only the head, had to move.
    moved: bool,
    write: bool,
    /// The seek exceeds its modelled time by at most this, and by more than this minus a revolution, ns.
    latest: f64,
}

fn seek_bounds(judge: &DriveScore, predicted: &[Predicted], period: f64) -> Vec<SeekBound> {
    let mut out = Vec::new();
    for (r, p) in judge.requests.iter().zip(predicted) {
        let unexpected_hit = r.op == Op::Read && r.service < 0.5 * period;
        if p.hit || p.rotation <= 0.0 || unexpected_hit {
            continue;
        }
        let late = r.service - p.service;
        let turns = (late / period).round();
        // Skip a request whose phase does not fit, or that took more than one additional revolution.
        if (late - turns * period).abs() > 0.12 * period || turns.abs() > 1.0 {
            continue;
        }
        let (moved, write) = (p.seek > 0.0, r.op == Op::Write);
        out.push(SeekBound { distance: p.cylinders, moved, write, latest: p.rotation + turns * period });
    }
    out
}

/// The middle of the range where most of the intervals `(latest - period, latest]` overlap, and how many more overlap
/// there than at 0. Returns 0 if that may be chance: the gain must be twice the square root of the number of interval
/// ends between there and 0.
fn deepest_overlap(latest: &[f64], period: f64) -> (f64, usize) {
    let mut edges: Vec<(f64, i32)> = latest.iter().flat_map(|&x| [(x - period, 1), (x, -1)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let covers = |at: f64| latest.iter().filter(|&&x| x - period < at && at <= x).count();
    let (mut depth, mut best, mut span) = (0_i32, 0_i32, (0.0, 0.0));
    for pair in edges.windows(2) {
        depth += pair[0].1;
        let (from, to) = (pair[0].0, pair[1].0);
        let nearer = |s: (f64, f64)| from.abs().min(to.abs()) < s.0.abs().min(s.1.abs());
        if depth > best || (depth == best && nearer(span)) {
            (best, span) = (depth, (from, to));
        }
    }
    let at_zero = covers(0.0);
    let middle = 0.5 * (span.0 + span.1);
    let gain = (best as usize).saturating_sub(at_zero);
    let (low, high) = (middle.min(0.0), middle.max(0.0));
    let between = edges.iter().filter(|edge| low < edge.0 && edge.0 < high).count();
    if gain == 0 || (gain as f64) < 2.0 * (between as f64).sqrt() { (0.0, 0) } else { (middle, gain) }
}

/// For each of at most `most` classes of distances: its middle, and the time that its seeks take longer than modelled,
/// ns.
fn corrections(bounds: &[SeekBound], most: usize, period: f64) -> Vec<(f64, f64)> {
    const CLASS: usize = 60;
    let mut bounds = bounds.to_vec();
    bounds.retain(|c| c.distance > 0);
    bounds.sort_by_key(|c| c.distance);
    let classes = (bounds.len() / CLASS).clamp(1, most);
    let mut out = Vec::new();
    for k in 0..classes {
        let class = &bounds[k * bounds.len() / classes..(k + 1) * bounds.len() / classes];
        if class.len() < CLASS / 2 {
            continue;
        }
        let latest: Vec<f64> = class.iter().map(|c| c.latest).collect();
        let (change, _) = deepest_overlap(&latest, period);
        let middle = class[class.len() / 2].distance;
        out.push((f64::from(middle).sqrt(), change));
    }
    out
}

/// Interpolates `points` over the square root of the distance; constant outside.
fn between(points: &[(f64, f64)], at: f64) -> f64 {
    let i = points.partition_point(|p| p.0 < at);
    match (i.checked_sub(1).map(|i| points[i]), points.get(i)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (at - a.0) / (b.0 - a.0).max(1e-9),
        (Some(a), None) => a.1,
        (None, Some(b)) => b.1,
        (None, None) => 0.0,
    }
}

/// The distances of a corrected curve's table.
fn distances(curve: &SeekCurve, cylinders: u32) -> Vec<u32> {
    let mut out: Vec<u32> = (1..=10).collect();
    let mut at = 10.0;
    while at < f64::from(cylinders) {
        at *= 1.08;
        out.push(at as u32);
    }
    if let SeekCurve::Table(points) = curve {
        out.extend(points.iter().map(|p| p.0));
    }
    if let SeekCurve::Tables { read, write } = curve {
        out.extend(read.iter().chain(write).map(|p| p.0));
    }
    out.retain(|&d| d < cylinders.max(2));
    out.sort_unstable();
    out.dedup();
    out
}

/// The seek curve of `mechanics` as a table, plus `change(distance, write)` ns. Writes get a table of their own if they
/// had one, or if `split`.
fn seek_table(mechanics: &Mechanics, split: bool, change: impl Fn(u32, bool) -> f64) -> DriveSeekSpec {
    let table = |write: bool| {
        let time = |d: u32| (d, (mechanics.seek.time_of(d, write) + change(d, write)).max(0.0) / 1e6);
        distances(&mechanics.seek, mechanics.geometry.cylinders()).into_iter().map(time).collect::<Vec<_>>()
    };
    let differ = split || matches!(mechanics.seek, SeekCurve::Tables { .. });
    let write_table_ms = if differ { table(true) } else { Vec::new() };
    DriveSeekSpec { table_ms: table(false), write_table_ms, ..Default::default() }
}

/// Proposals: the drive with other arm times, from the errors of its predictions.
pub(super) fn proposals(judge: &DriveScore, drive: &DriveSpec, predicted: &[Predicted]) -> Vec<DriveSpec> {
    let Ok(model) = drive.model() else { return Vec::new() };
    let mechanics = &model.mechanics;
    let bounds = seek_bounds(judge, predicted, mechanics.period);
    let moving = bounds.iter().filter(|c| c.moved);
    let (writes, reads): (Vec<SeekBound>, Vec<SeekBound>) = moving.partition(|c| c.write);
    let mut out = Vec::new();

    // With finer classes, each has fewer requests. A change that no class shows alone may show in all together.
    for classes in [16, 4, 1] {
        let by_distance = corrections(&reads, classes, mechanics.period);
        for share in [1.0, 0.5] {
            let mut changed = drive.clone();
            let change = |d: u32, _| share * between(&by_distance, f64::from(d).sqrt());
            changed.mechanics.seek = seek_table(mechanics, false, change);
            out.push(changed);
        }
        let of_writes = corrections(&writes, classes, mechanics.period);
        if of_writes.iter().any(|&(_, change)| change != 0.0) {
            let mut changed = drive.clone();
            let change = |d: u32, write: bool| if write { between(&of_writes, f64::from(d).sqrt()) } else { 0.0 };
            changed.mechanics.seek = seek_table(mechanics, true, change);
            out.push(changed);
        }
    }
    out.extend(command_times(drive, mechanics, &bounds));
    let switches: Vec<f64> = reads.iter().filter(|c| c.distance == 0 && c.moved).map(|c| c.latest).collect();
    let (change, _) = deepest_overlap(&switches, mechanics.period);
    if change != 0.0 {
        let mut changed = drive.clone();
        changed.mechanics.head_switch_ms = (changed.mechanics.head_switch_ms + change / 1e6).max(0.0);
        out.push(changed);
    }
    let settles: Vec<f64> = writes.iter().map(|c| c.latest).collect();
    let (change, _) = deepest_overlap(&settles, mechanics.period);
    if change != 0.0 {
        let mut changed = drive.clone();
        changed.mechanics.write_settle_ms += change / 1e6;
        out.push(changed);
    }
    out
}

/// The drive with other command times before the arm starts. The times of all movements shrink by as much, because only
/// requests on the arm's present track show the command time alone.
fn command_times(drive: &DriveSpec, mechanics: &Mechanics, bounds: &[SeekBound]) -> Vec<DriveSpec> {
    let mut out = Vec::new();
    let still = |write: bool| {
        let of = bounds.iter().filter(|c| c.write == write && !c.moved).map(|c| c.latest);
        deepest_overlap(&of.collect::<Vec<_>>(), mechanics.period).0 / 1e6
    };
    let (read, write) = (still(false), still(true));
    for (read, write) in [(read, write), (read, 0.0), (0.0, write), (0.5 * read, 0.5 * write)] {
        if read == 0.0 && write == 0.0 {
            continue;
        }
        let mut changed = drive.clone();
        let o = &mut changed.overheads;
        o.read_miss_after_read_ms = (o.read_miss_after_read_ms + read).max(0.0);
        o.read_miss_after_write_ms = (o.read_miss_after_write_ms + read).max(0.0);
        o.write_miss_after_read_ms = (o.write_miss_after_read_ms + write).max(0.0);
        o.write_miss_after_write_ms = (o.write_miss_after_write_ms + write).max(0.0);
        let m = &mut changed.mechanics;
        m.head_switch_ms = (m.head_switch_ms - read).max(0.0);
        m.write_settle_ms -= write - read;
        m.seek = seek_table(mechanics, false, |_, _| -read * 1e6);
        out.push(changed);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_overlap_at_the_error() {
        // A seek takes 0.7 longer than modelled, with revolutions of 10 and any rotational wait.
        let bound = |i: i32| {
            let rotation = f64::from(i * 37 % 100) / 10.0;
            if rotation < 0.7 { rotation + 10.0 } else { rotation }
        };
        let latest: Vec<f64> = (0..100).map(bound).collect();
        let (change, gain) = deepest_overlap(&latest, 10.0);
        assert!((change - 0.65).abs() < 0.1, "{change}");
        assert!(gain >= 5, "{gain}");
    }
}
