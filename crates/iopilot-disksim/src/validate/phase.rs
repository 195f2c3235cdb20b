//! Which think time stands in a trace: found by whether the spindle turns evenly.

use iopilot_block::{Nanos, Op};
use iopilot_device::Mechanics;
use iopilot_trace::{ThinkTime, ValidateRecord};
use std::f64::consts::TAU;

/// Reads that take less were served from the drive's buffer, ms.
const FROM_MEDIUM: f64 = 3.0;

/// Whether the think times are those before or after their requests: the way of reading them that makes reads end
/// where the spindle puts them. `None` where neither does clearly better; DiskSim takes them as after.
///
/// A read from the medium ends shortly after its last sector has passed. So from one to the next the spindle turns by
/// the difference of their angles, but for a whole number of turns, if the clock is right.
pub fn think_by_phase(mechanics: &Mechanics, records: &[ValidateRecord]) -> Option<ThinkTime> {
    let (before, after) =
        (coherence(mechanics, records, ThinkTime::Before), coherence(mechanics, records, ThinkTime::After));
    // Of a thousand random phases the mean is 0.03 long.
    if before.max(after) < 0.15 || (before - after).abs() < 0.1 {
        None
    } else if before > after {
        Some(ThinkTime::Before)
    } else {
        Some(ThinkTime::After)
    }
}

/// How even the steps of the phase from one read to the next are: 0 for random ones, 1 for equal ones.
fn coherence(mechanics: &Mechanics, records: &[ValidateRecord], think: ThinkTime) -> f64 {
    let geometry = &mechanics.geometry;
    let (mut end, mut last) = (Nanos::ZERO, None::<f64>);
    let (mut x, mut y, mut steps) = (0.0, 0.0, 0u32);
    for (i, record) in records.iter().enumerate() {
        let wait = match think {
            ThinkTime::Before => record.think,
            ThinkTime::After if i > 0 => records[i - 1].think,
            ThinkTime::After => Nanos::ZERO,
        };
        end = end + wait + record.service;
        let last_block = record.lba.0 + u64::from(record.sectors.0) - 1;
        let medium = record.op == Op::Read && record.service.as_millis_f64() > FROM_MEDIUM;
        if !medium || last_block >= geometry.capacity() {
            continue;
        }
        let phase = end.0 as f64 / mechanics.period - geometry.place_of(last_block).angle;
        if let Some(last) = last {
            let (sin, cos) = ((phase - last).fract() * TAU).sin_cos();
            (x, y, steps) = (x + cos, y + sin, steps + 1);
        }
        last = Some(phase);
    }
    if steps == 0 { 0.0 } else { x.hypot(y) / f64::from(steps) }
}
