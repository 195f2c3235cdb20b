//! The side of the think times in a trace, inferred from the even rotation of the spindle.

use iopilot_block::{Nanos, Op};
use iopilot_device::Mechanics;
use iopilot_trace::{ThinkTime, ValidateRecord};
use std::f64::consts::TAU;

/// Shorter reads were served from the drive's buffer, ms.
const FROM_MEDIUM: f64 = 3.0;
/// The most tracks, reads and milliseconds between two reads for which the errors of a file's skews and rotation period
/// do not add up to a revolution.
const NEAR: (u32, usize, f64) = (10, 5, 400.0);

/// Whether think times precede or follow their requests: the side for which reads end at the right angle of the
/// spindle. `None` if neither side is clearly better; DiskSim assumes after.
///
/// A read from the medium ends shortly after its last sector has passed. So between two reads the spindle advances by
/// the difference of their angles, modulo whole revolutions, if the clock is right. If the skews of the layout are not
/// exact, this holds only for reads that are near each other.
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
    /// The revolutions of the spindle until then, minus the angle of its last block.
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

/// The uniformity of the phase steps from one read to the next: 0 for random ones, 1 for equal ones.
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
