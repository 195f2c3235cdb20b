//! The ways to the virtual disk and back, as they were or as they would be under another scheduler.

use super::measure::{Path, Recording};
use super::rest::{self, Instead};
use iopilot_block::Nanos;
use iopilot_device::Rests;
use iopilot_trace::TraceRecord;

/// The virtual disk's thread looks at the clock instead of sleeping for the last of such times before an event, and no answer is taken on its CPU.
const HOLD: Nanos = Nanos::from_micros(60);

/// A request gets to the disk so long after the one before at least: the loop device's worker hands over one after the other. Of those that the kernel
/// issues within 2 to 20 us of each other at most two in a hundred overtake (none, four tags: up to 7), and half are 6 to 18 us apart at the disk.
const LINE: Nanos = Nanos::from_micros(6);

/// For how long each of the answers that were `due` then was kept from being taken, as others were due soon after.
fn held(due: &[Nanos]) -> Vec<Nanos> {
    let mut order: Vec<usize> = (0..due.len()).collect();
    order.sort_by_key(|&n| due[n]);
    let mut held = vec![Nanos::ZERO; due.len()];
    let mut last = None;
    for &n in order.iter().rev() {
        // The one after it, and when the last of the series is.
        let end = match last {
            Some((next, end)) if due[n] + HOLD >= next => end,
            _ => due[n],
        };
        held[n] = end.since(due[n]);
        last = Some((due[n], end));
    }
    held
}

/// The ways of `records` there and back as they would be if none were held.
pub(super) fn alone(records: &[TraceRecord], path: &Path) -> Vec<Option<(Nanos, Nanos)>> {
    let known: Vec<(usize, Nanos)> = (records.iter().zip(&path.of).enumerate())
        .filter_map(|(n, (r, way))| Some((n, r.completion?.since(way.as_ref()?.1))))
        .collect();
    let due: Vec<Nanos> = known.iter().map(|(_, due)| *due).collect();
    let mut ways = path.of.clone();
    for ((n, _), held) in known.into_iter().zip(held(&due)) {
        ways[n].iter_mut().for_each(|(_, back)| *back = back.since(held));
    }
    ways
}

/// What the ways are in a replay.
pub(super) struct Ways {
    /// Of each request there and back.
    pub(super) of: Vec<Option<(Nanos, Nanos)>>,
    /// By how much they are longer after a rest, there and back.
    pub(super) rests: [Rests; 2],
    /// How soon after each other answers are due that leave together.
    pub(super) hold: Nanos,
    /// How far apart requests get there at least, where none overtakes another.
    pub(super) line: Option<Nanos>,
}

impl Ways {
    /// As they were.
    pub(super) fn recorded(path: &Path) -> Self {
        Self { of: path.of.clone(), rests: Default::default(), hold: Nanos::ZERO, line: None }
    }
}

/// How they differ under another scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Further {
    pub(super) there: Instead,
    pub(super) back: Instead,
}

impl Further {
    /// Those of a recording.
    pub(super) fn ways(self, Recording { records, path, .. }: &Recording) -> Ways {
        let rests = rest::of_issues(records).into_iter().zip(rest::of_each(records));
        let way = |(way, (issued, complete)): (Option<(Nanos, Nanos)>, _)| {
            way.map(|(there, back)| (self.there.at_once(there, issued), self.back.at_once(back, complete)))
        };
        let of = alone(records, path).into_iter().zip(rests).map(way).collect();
        Ways { of, rests: [self.there, self.back].map(|way| way.rests()), hold: HOLD, line: Some(LINE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_held_until_the_last_of_a_series_is_due() {
        let due = [500, 100, 150, 205, 270].map(Nanos::from_micros);
        assert_eq!(held(&due), [0, 105, 55, 0, 0].map(Nanos::from_micros));
    }
}
