//! [`SizeTrials`]: which other segments a cache is tried with, and when.

use crate::cache_setting::CacheSetting;
use iopilot_block::Nanos;
use iopilot_redcap::{CacheGeometry, Contents, RedcapSpec};
use iopilot_trace::TraceRecord;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Blocks of 4 KiB in a segment (GF 2.5.1: 32 to 256 KiB).
const BLOCKS: [u32; 4] = [8, 16, 32, 64];
/// A trial takes this many requests for each segment, within these bounds: the cache must fill before its size matters.
const FOR_EACH: usize = 4;
const REQUESTS: RangeInclusive<usize> = 512..=8192;
/// After this time, fewer requests are enough.
const LONG: Nanos = Nanos::from_secs(8);
/// A trial never takes fewer requests than this.
const FEWEST: usize = 64;

/// The requests on which other segments are tried, and the winner of the last trial. A change drops what the cache
/// holds, so the same geometry must win twice in a row.
#[derive(Clone, Debug)]
pub(crate) struct SizeTrials {
    /// Whether other segments are tried at all.
    enabled: bool,
    /// Bytes of the cache that was asked for, and the most that it may grow to.
    bytes: (u64, u64),
    history: Vec<TraceRecord>,
    last: Option<CacheGeometry>,
    /// What a cache with each geometry, for the whole disk or for a part of it, held at the end of its last trial.
    contents: Vec<((CacheGeometry, bool), Arc<Contents>)>,
}

impl SizeTrials {
    pub(crate) fn new(spec: &RedcapSpec) -> Self {
        let bytes = (spec.geometry.bytes(), spec.most_bytes());
        Self { enabled: spec.resize, bytes, history: Vec::new(), last: None, contents: Vec::new() }
    }

    /// Adds a window. Returns the requests to try together, in order of arrival, once there are enough for a cache of
    /// `geometry`.
    pub(crate) fn add(&mut self, records: &[TraceRecord], geometry: CacheGeometry) -> Option<Vec<TraceRecord>> {
        if !self.enabled {
            return None;
        }
        self.history.extend_from_slice(records);
        // A request that arrived before the end of a window may complete after it.
        self.history.sort_by_key(|record| record.arrival);
        let surplus = self.history.len().saturating_sub(*REQUESTS.end());
        self.history.drain(..surplus);
        let enough = (FOR_EACH * geometry.segments as usize).clamp(*REQUESTS.start(), *REQUESTS.end());
        let (first, last) = (self.history.first()?.arrival, self.history.last()?.arrival);
        let is_long = last.since(first) >= LONG && self.history.len() >= FEWEST;
        (is_long || self.history.len() >= enough).then(|| std::mem::take(&mut self.history))
    }

    /// The geometries that are tried beside `geometry`: segments of every other length, in a cache of the same size;
    /// and a cache of twice the size, as far as it may grow.
    pub(crate) fn others(&self, geometry: CacheGeometry) -> Vec<CacheGeometry> {
        let blocks = u64::from(geometry.segments) * u64::from(geometry.segment_blocks);
        let of_length = |segment_blocks: u32| CacheGeometry {
            segments: u32::try_from(blocks / u64::from(segment_blocks)).unwrap_or(u32::MAX),
            segment_blocks,
        };
        let fits = |other: &CacheGeometry| *other != geometry && other.segments > 0;
        BLOCKS.into_iter().map(of_length).filter(fits).chain(self.double(geometry)).collect()
    }

    /// A cache of twice the size, as far as it may grow.
    pub(crate) fn double(&self, geometry: CacheGeometry) -> Option<CacheGeometry> {
        let double = CacheGeometry { segments: geometry.segments.saturating_mul(2), ..geometry };
        (double.bytes() <= self.bytes.1).then_some(double)
    }

    /// A cache of half the size, if the cache has grown: unused memory is given back.
    pub(crate) fn half(&self, geometry: CacheGeometry) -> Option<CacheGeometry> {
        let half = CacheGeometry { segments: geometry.segments / 2, ..geometry };
        (half.bytes() >= self.bytes.0).then_some(half)
    }

    /// The initial contents of a trial of `setting`: those that its last trial left, if there was one.
    pub(crate) fn contents(&self, setting: &CacheSetting) -> Option<Arc<Contents>> {
        let key = key(setting);
        self.contents
            .iter()
            .find(|(other, _)| setting.active && *other == key)
            .map(|(_, contents)| Arc::clone(contents))
    }

    /// Keeps the contents that the last trial of each setting left, and drops all others.
    pub(crate) fn keep<'a>(&mut self, trials: impl Iterator<Item = (&'a CacheSetting, &'a Option<Arc<Contents>>)>) {
        let left = |(setting, contents): (&CacheSetting, &Option<Arc<Contents>>)| {
            Some((key(setting), Arc::clone(contents.as_ref()?)))
        };
        self.contents = trials.filter_map(left).collect();
    }

    /// Notes which geometry won, if any. Returns whether it has won twice in a row.
    pub(crate) fn won(&mut self, winner: Option<CacheGeometry>) -> bool {
        let twice = winner.is_some() && winner == self.last;
        self.last = if twice { None } else { winner };
        twice
    }
}

fn key(setting: &CacheSetting) -> (CacheGeometry, bool) {
    (setting.geometry, setting.regions.any_off())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    fn trials(spec: &str) -> SizeTrials {
        SizeTrials::new(&RedcapSpec::parse(spec).unwrap())
    }

    fn tried(spec: &str, geometry: &str) -> Vec<String> {
        let trials = trials(spec);
        let geometry = CacheGeometry::parse(geometry).unwrap();
        trials.others(geometry).into_iter().chain(trials.half(geometry)).map(|other| other.to_string()).collect()
    }

    fn window(from: u64, count: u64, apart: u64) -> Vec<TraceRecord> {
        let at = |n| Nanos::from_millis(from + n * apart);
        (0..count).map(|n| TraceRecord::new(at(n), Op::Read, Lba(0), Sectors(8))).collect()
    }

    #[test]
    fn nothing_is_beyond_the_cap() {
        assert_eq!(tried("64x128k", "64x128k"), ["256x32k", "128x64k", "32x256k"]);
        assert_eq!(tried("64x128k,cap=16", "64x128k"), ["256x32k", "128x64k", "32x256k", "128x128k"]);
        assert_eq!(tried("64x128k,cap=16", "128x128k"), ["512x32k", "256x64k", "64x256k", "64x128k"]);
        assert_eq!(tried("64x32k,cap=3", "64x32k"), ["32x64k", "16x128k", "8x256k"]);
        assert_eq!(tried("1x128k", "1x128k"), ["4x32k", "2x64k"]);
    }

    #[test]
    fn requests_are_gathered_until_they_fill_the_cache() {
        let geometry = CacheGeometry::default();
        let mut trials = trials("64x128k");
        assert_eq!(trials.add(&window(0, 300, 1), geometry), None);
        let all = trials.add(&window(150, 300, 1), geometry).unwrap();
        assert!(all.len() == 600 && all.is_sorted_by_key(|record| record.arrival));
        assert_eq!(trials.add(&window(1000, 40, 300), geometry), None, "12 s, but only 40");
        assert_eq!(trials.add(&window(13_000, 40, 1), geometry).map(|all| all.len()), Some(80));
        let large = CacheGeometry::parse("1024x128k").unwrap();
        assert_eq!(trials.add(&window(14_000, 4000, 1), large), None);
        assert_eq!(trials.add(&window(18_000, 9000, 0), large).map(|all| all.len()), Some(8192), "the latest");
        let mut fixed = self::trials("64x128k,resize=off");
        assert_eq!(fixed.add(&window(0, 9000, 1), geometry), None);
    }

    #[test]
    fn a_winner_wins_twice_in_a_row() {
        let mut trials = trials("64x128k");
        let [a, b] = ["128x64k", "32x256k"].map(|text| Some(CacheGeometry::parse(text).unwrap()));
        assert_eq!([a, b, None, b, b, b].map(|winner| trials.won(winner)), [false, false, false, false, true, false]);
    }
}
