//! Which think time stands in a trace: found by whether the spindle turns evenly.

use iopilot_block::{Nanos, Op};
use iopilot_device::Mechanics;
use iopilot_trace::{ThinkTime, ValidateRecord};
use std::f64::consts::TAU;

/// Reads that take less were served from the drive's buffer, ms.
const FROM_MEDIUM: f64 = 3.0;
/// How many tracks, reads and milliseconds apart two reads may be for the errors of a file's skews and rotation period
/// not to add up to a turn.
const NEAR: (u32, usize, f64) = (10, 5, 400.0);

/// Whether the think times are those before or after their requests: the way of reading them that makes reads end
/// where the spindle puts them. `None` where neither does clearly; DiskSim takes them as after.
///
/// A read from the medium ends shortly after its last sector has passed. So from one to another the spindle turns by
/// the difference of their angles, but for a whole number of turns, if the clock is right. Where the skews of the
/// layout are not exact, that holds for reads that are near each other only.
pub fn think_by_phase(mechanics: &Mechanics, records: &[ValidateRecord]) -> Option<ThinkTime> {
    let (before, after) = (reads(mechanics, records, ThinkTime::Before), reads(mechanics, records, ThinkTime::After));
    let clear = |of: fn(&[Read]) -> f64, least: f64| {
        let (before, after) = (of(&before), of(&after));
        let clear = before.max(after) > least && (before - after).abs() > least / 2.0;
        clear.then_some(if before > after { ThinkTime::Before } else { ThinkTime::After })
    };
    clear(coherence_of_all, 0.2).or_else(|| clear(coherence_of_near, 0.4))
}

/// A read from the medium.
struct Read {
    /// When it ended, ms.
    end: f64,
    /// The turns of the spindle until then, less the angle of its last block.
    phase: f64,
    /// The track of that block, counted from the first.
    track: u32,
}

fn reads(mechanics: &Mechanics, records: &[ValidateRecord], think: ThinkTime) -> Vec<Read> {
    let geometry = &mechanics.geometry;
    let mut end = Nanos::ZERO;
    let mut reads = Vec::new();
    for (i, record) in records.iter().enumerate() {
        let wait = match think {
            ThinkTime::Before => record.think,
            ThinkTime::After if i > 0 => records[i - 1].think,
            ThinkTime::After => Nanos::ZERO,
        };
        end += wait + record.service;
        let last = (record.lba.0 + u64::from(record.sectors.0)).saturating_sub(1);
        let medium = record.op == Op::Read && record.service.as_millis_f64() > FROM_MEDIUM;
        if medium && last < geometry.capacity() {
            let place = geometry.place_of(last);
            let phase = end.0 as f64 / mechanics.period - place.angle;
            let track = place.cylinder.saturating_mul(geometry.heads()).saturating_add(place.head);
            reads.push(Read { end: end.as_millis_f64(), phase, track });
        }
    }
    reads
}

/// How even the steps of the phase from one read to the next are: 0 for random ones, 1 for equal ones.
fn coherence_of_all(reads: &[Read]) -> f64 {
    coherence(reads.windows(2).map(|pair| pair[1].phase - pair[0].phase))
}

/// The same for reads that are near each other.
fn coherence_of_near(reads: &[Read]) -> f64 {
    let (tracks, apart, ms) = NEAR;
    let near = |a: &Read, b: &Read| a.track.abs_diff(b.track) <= tracks && b.end - a.end < ms;
    let pairs = reads.iter().enumerate().flat_map(|(i, b)| {
        let earlier = reads[i.saturating_sub(apart)..i].iter();
        earlier.filter(move |a| near(a, b)).map(move |a| b.phase - a.phase)
    });
    coherence(pairs)
}

fn coherence(steps: impl Iterator<Item = f64>) -> f64 {
    let (mut x, mut y, mut n) = (0.0, 0.0, 0u32);
    for step in steps {
        let (sin, cos) = (step.fract() * TAU).sin_cos();
        (x, y, n) = (x + cos, y + sin, n + 1);
    }
    // A few may agree by chance.
    if n < 50 { 0.0 } else { f64::hypot(x, y) / f64::from(n) }
}
