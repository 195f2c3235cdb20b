//! [`SimulatedCache`]: the disk cache of the form with three tables (GF 4.3.1): a rough imitation of the disk's own
//! cache.

use iopilot_block::Nanos;

/// An access is sequential if it is closer than this to the previous request (64 kB); in sectors.
const SEQUENTIAL: u64 = 128;

/// The parameters of a simulated disk cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedCacheModel {
    /// Segments for reads; with 0 every read misses, as on an SSD.
    pub read_segments: u32,
    /// Segments that hold written blocks.
    pub write_segments: u32,
    /// Sectors in a segment.
    pub segment_sectors: u64,
    /// The maximum read-ahead in sectors; used at once for a sequential access.
    pub read_ahead_sequential: u32,
    /// Read-ahead in sectors around any other access.
    pub read_ahead_random: u32,
    /// Whether hits of a sequential reader keep the read-ahead going, as real drives do. In GF 4.3.1 read-ahead follows
    /// misses only.
    pub read_ahead_on_hit: bool,
    /// The time of the medium for a sector: read-ahead proceeds at this rate until another miss needs the arm. With 0
    /// read-ahead completes at once, as in GF 4.3.1. Interleaved streams then hit as if each had the disk for itself.
    pub sector_time: Nanos,
}

impl SimulatedCacheModel {
    /// No cache.
    pub const NONE: Self = Self {
        read_segments: 0,
        write_segments: 0,
        segment_sectors: 0,
        read_ahead_sequential: 0,
        read_ahead_random: 0,
        read_ahead_on_hit: false,
        sector_time: Nanos::ZERO,
    };
}

/// The blocks from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    start: u64,
    end: u64,
    /// Sectors to read ahead at the next miss.
    read_ahead: u64,
    was_hit: bool,
    /// The end of the last request.
    consumed: u64,
    used: u64,
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether the blocks from `start` to before `end` continue the last request.
    fn follows(&self, start: u64, end: u64) -> bool {
        self.consumed <= end && start.abs_diff(self.consumed) < SEQUENTIAL
    }

    /// The distance of the blocks from `start` to before `end` from the segment; 0 if they overlap or touch.
    fn gap(&self, start: u64, end: u64) -> u64 {
        start.saturating_sub(self.end).max(self.start.saturating_sub(end))
    }
}

/// The read-ahead in progress.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The read segment that it fills; its target is that segment's end.
    segment: usize,
    /// The first block.
    from: u64,
    /// When the medium reaches that block.
    since: Nanos,
}

/// Segments of contiguous blocks with LRU replacement. Read-ahead follows misses only, and doubles in a segment that
/// has been hit since.
#[derive(Clone, Debug)]
pub struct SimulatedCache {
    model: SimulatedCacheModel,
    reads: Vec<Segment>,
    writes: Vec<Segment>,
    /// The read-ahead in progress, if the medium takes time for it.
    ahead: Option<Ahead>,
    /// The number of accesses.
    clock: u64,
}

impl SimulatedCache {
    /// An empty cache.
    pub fn new(model: SimulatedCacheModel) -> Self {
        let segments = |count: u32| vec![Segment::default(); count as usize];
        let (reads, writes) = (segments(model.read_segments), segments(model.write_segments));
        Self { model, reads, writes, ahead: None, clock: 0 }
    }

    /// The parameters.
    pub fn model(&self) -> SimulatedCacheModel {
        self.model
    }

    /// A read at `now` of the blocks from `start` to before `end`, after a request that ended before `previous_end`.
    /// Returns whether it hits. A hit must find all its blocks. O(segments).
    pub fn read(&mut self, start: u64, end: u64, previous_end: u64, now: Nanos) -> bool {
        self.clock += 1;
        let clock = self.clock;
        let on_hit = self.model.read_ahead_on_hit;
        let holds = |s: &Segment, goes_on: bool| {
            // While read-ahead continues, a sequential reader finds it in progress: a partial hit, which counts as a
            // hit.
            let reaches = end <= s.end || goes_on && start <= s.end && s.follows(start, end);
            !s.is_empty() && s.start <= start && reaches
        };
        let at_once = self.model.sector_time == Nanos::ZERO;
        let under_way = |which: usize| at_once || self.ahead.is_some_and(|ahead| ahead.segment == which);
        let found = self.reads.iter().enumerate().position(|(which, s)| holds(s, on_hit && under_way(which)));
        if let Some(which) = found {
            let segment = &mut self.reads[which];
            (segment.was_hit, segment.used) = (true, clock);
            if on_hit {
                self.continue_read_ahead(which, start, end, now);
            }
            return true;
        }
        if let Some(segment) = self.writes.iter_mut().find(|s| holds(s, on_hit)) {
            (segment.was_hit, segment.used) = (true, clock);
            return true;
        }
        self.stop_read_ahead(now);
        let segments = || self.reads.iter().enumerate();
        // The miss refills a segment that the blocks touch, or whose reader skipped a little. Other segments nearby
        // keep their blocks: files that are read in random order lie near each other.
        let same = |s: &Segment| {
            let gap = s.gap(start, end);
            !s.is_empty() && (gap == 0 || gap < SEQUENTIAL && s.follows(start, end))
        };
        let filled = segments().filter(|(_, s)| same(s)).min_by_key(|(_, s)| s.gap(start, end));
        let mut from = end;
        let which = if let Some((which, _)) = filled {
            let segment = &mut self.reads[which];
            from = refill(segment, start, end, &self.model);
            (segment.consumed, segment.used) = (end, clock);
            which
        } else if let Some((which, _)) = segments().min_by_key(|(_, s)| s.used) {
            let sequential = previous_end.abs_diff(start) < SEQUENTIAL;
            self.reads[which] = Segment { used: clock, ..first_filled(start, end, sequential, &self.model) };
            which
        } else {
            return false;
        };
        if self.model.sector_time > Nanos::ZERO && self.reads[which].end > from {
            self.ahead = Some(Ahead { segment: which, from, since: Nanos::MAX });
        }
        false
    }

    /// The first block of the read-ahead that the last read triggered, until [`SimulatedCache::ahead_since`] sets its
    /// start time.
    pub fn ahead_from(&self) -> Option<u64> {
        self.ahead.filter(|ahead| ahead.since == Nanos::MAX).map(|ahead| ahead.from)
    }

    /// Sets the time at which the medium reaches that block.
    pub fn ahead_since(&mut self, since: Nanos) {
        if let Some(ahead) = &mut self.ahead {
            ahead.since = since;
        }
    }

    /// The block that the read-ahead has reached.
    fn reached(&self, ahead: &Ahead, now: Nanos) -> u64 {
        let sectors = now.0.saturating_sub(ahead.since.0) / self.model.sector_time.0.max(1);
        (ahead.from + sectors).min(self.reads[ahead.segment].end)
    }

    /// Another access needs the arm: read-ahead stops, and the segment keeps the blocks it has reached by `now`.
    fn stop_read_ahead(&mut self, now: Nanos) {
        if let Some(ahead) = self.ahead.take() {
            let reached = self.reached(&ahead, now);
            let segment = &mut self.reads[ahead.segment];
            segment.end = reached.max(segment.consumed.min(segment.end));
        }
    }

    /// A hit of a sequential reader: its read-ahead continues, unless the arm reads ahead for another segment.
    fn continue_read_ahead(&mut self, which: usize, start: u64, end: u64, now: Nanos) {
        let in_sequence = self.reads[which].follows(start, end);
        let (sequential, most) = (u64::from(self.model.read_ahead_sequential), self.model.segment_sectors);
        self.ahead = self.ahead.filter(|ahead| self.reached(ahead, now) < self.reads[ahead.segment].end);
        let elsewhere = self.ahead.is_some_and(|ahead| ahead.segment != which);
        let segment = &mut self.reads[which];
        segment.consumed = end;
        if !in_sequence || elsewhere {
            return;
        }
        let held = segment.end;
        segment.end = held.max(end + sequential);
        segment.start = segment.start.max(segment.end.saturating_sub(most).min(start));
        if self.ahead.is_none() && self.model.sector_time > Nanos::ZERO && segment.end > held {
            self.ahead = Some(Ahead { segment: which, from: held, since: Nanos::MAX });
        }
    }

    /// A write at `now` of the blocks from `start` to before `end`. They are then in a write segment only.
    pub fn write(&mut self, start: u64, end: u64, now: Nanos) {
        self.clock += 1;
        self.stop_read_ahead(now);
        for segment in &mut self.reads {
            cut(segment, start, end);
        }
        let near = |s: &&mut Segment| !s.is_empty() && s.start <= start && start <= s.end;
        let limit = self.model.segment_sectors;
        if let Some(segment) = self.writes.iter_mut().find(near) {
            segment.end = segment.end.max(end);
            segment.start = segment.start.max(segment.end.saturating_sub(limit));
            segment.used = self.clock;
        } else if let Some(segment) = self.writes.iter_mut().min_by_key(|s| s.used) {
            let start = start.max(end.saturating_sub(limit));
            *segment = Segment { start, end, used: self.clock, ..Segment::default() };
        }
    }
}

/// A segment as filled by a miss with no other segment nearby. The requested blocks lie in the middle of those read,
/// because the start of the track is not known.
fn first_filled(start: u64, end: u64, sequential: bool, model: &SimulatedCacheModel) -> Segment {
    let ahead = match sequential {
        true => model.read_ahead_sequential,
        false => model.read_ahead_random,
    };
    let ahead = u64::from(ahead).min(model.segment_sectors);
    let before = (ahead / 2).min(start);
    let (first, last) = (start - before, end + (ahead - ahead / 2));
    let over = (last - first).saturating_sub(model.segment_sectors);
    Segment { start: first + over.min(before), end: last, read_ahead: ahead, consumed: end, ..Segment::default() }
}

/// A miss at a segment that was filled before: extends it in the direction of the access. The read-ahead doubles if the
/// last one led to hits, and stays the same after misses. Returns the first block that is read ahead.
fn refill(segment: &mut Segment, start: u64, end: u64, model: &SimulatedCacheModel) -> u64 {
    if std::mem::take(&mut segment.was_hit) {
        segment.read_ahead = (2 * segment.read_ahead).min(u64::from(model.read_ahead_sequential));
    }
    let limit = model.segment_sectors;
    if start < segment.start {
        let first = start.saturating_sub(segment.read_ahead);
        let last = if end < segment.start { end } else { segment.end.max(end) };
        (segment.start, segment.end) = (first, last.min(first + limit.max(end - first)));
        // The blocks behind it were already in the segment.
        segment.end
    } else {
        let last = end + segment.read_ahead;
        let first = if start > segment.end { start } else { segment.start };
        (segment.start, segment.end) = (first.max(last.saturating_sub(limit).min(start)), last);
        end
    }
}

/// Drops the blocks from `start` to before `end`; if that cuts a segment in two, the longer part stays.
fn cut(segment: &mut Segment, start: u64, end: u64) {
    if segment.is_empty() || end <= segment.start || segment.end <= start {
        return;
    }
    let (front, back) = (start.saturating_sub(segment.start), segment.end.saturating_sub(end));
    if front >= back {
        segment.end = segment.start + front;
    } else {
        segment.start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(segments: u32) -> SimulatedCache {
        SimulatedCache::new(SimulatedCacheModel {
            read_segments: segments,
            write_segments: 1,
            segment_sectors: 512,
            read_ahead_sequential: 256,
            read_ahead_random: 32,
            read_ahead_on_hit: false,
            sector_time: Nanos::ZERO,
        })
    }

    /// Reads a block every `step` sectors from `start`. Returns the hits.
    fn reads(cache: &mut SimulatedCache, start: u64, step: i64, count: usize) -> Vec<bool> {
        let mut previous = u64::MAX / 2;
        (0..count as i64)
            .map(|i| {
                let lba = start.wrapping_add_signed(i * step);
                let hit = cache.read(lba, lba + 8, previous, Nanos::ZERO);
                previous = lba + 8;
                hit
            })
            .collect()
    }

    #[test]
    fn the_first_access_to_a_segment_misses_and_lies_in_the_middle_of_what_is_read() {
        let mut c = cache(4);
        assert!(!c.read(10_000, 10_008, 0, Nanos::ZERO));
        assert!(c.read(10_008, 10_024, 10_008, Nanos::ZERO) && c.read(9_984, 10_000, 10_024, Nanos::ZERO));
        assert!(!c.read(10_016, 10_032, 10_000, Nanos::ZERO), "part of it is not there: a miss");
    }

    #[test]
    fn an_access_within_64_kb_of_the_one_before_is_sequential() {
        let mut c = cache(4);
        assert!(!c.read(10_000, 10_008, 10_000 - 127, Nanos::ZERO));
        assert!(c.read(10_008 + 120, 10_008 + 128, 10_008, Nanos::ZERO));
        let mut c = cache(4);
        assert!(!c.read(10_000, 10_008, 10_000 - 128, Nanos::ZERO));
        assert!(!c.read(10_008 + 120, 10_008 + 128, 10_008, Nanos::ZERO));
    }

    #[test]
    fn read_ahead_doubles_after_hits_up_to_the_largest() {
        let mut c = cache(4);
        let hits = reads(&mut c, 10_000, 8, 400);
        let misses: Vec<usize> = hits.iter().enumerate().filter(|(_, hit)| !**hit).map(|(i, _)| i).collect();
        // The gaps follow from a read-ahead of 16 sectors, then 64, 128, 256, 256 ...
        let gaps: Vec<usize> = misses.windows(2).map(|w| w[1] - w[0]).collect();
        assert_eq!(gaps[..5], [3, 9, 17, 33, 33]);
    }

    #[test]
    fn read_ahead_that_continues_on_hits_never_ends() {
        let mut c = cache(4);
        c.model.read_ahead_on_hit = true;
        let hits = reads(&mut c, 10_000, 8, 400);
        assert!(!hits[0] && hits[1..].iter().all(|hit| *hit));
        assert!(c.read(13_200, 13_700, 13_200, Nanos::ZERO), "the rest of it is on its way");
        let mut c = cache(4);
        c.model.read_ahead_on_hit = true;
        assert!(reads(&mut c, 10_000, 400, 100).iter().all(|hit| !hit), "this is not sequential");
    }

    #[test]
    fn it_reads_ahead_backwards_where_the_access_goes_backwards() {
        let mut c = cache(4);
        let hits = reads(&mut c, 100_000, -8, 400);
        assert!(hits.iter().filter(|hit| **hit).count() > 380);
    }

    #[test]
    fn as_many_streams_as_segments_hit_and_one_more_does_not() {
        for (streams, good) in [(4, true), (5, false)] {
            let mut c = cache(4);
            let mut hits = 0;
            for i in 0..100 {
                for stream in 0..streams {
                    let lba = stream * 1_000_000 + i * 8;
                    hits += u32::from(c.read(lba, lba + 8, u64::MAX / 2, Nanos::ZERO));
                }
            }
            assert_eq!(hits > 300, good, "{streams} streams: {hits}");
        }
    }

    /// Interleaved streams of blocks; each read comes `apart` after the previous one. Returns the share of hits.
    fn turns(streams: u64, apart: Nanos) -> f64 {
        let mut c = cache(16);
        (c.model.read_ahead_on_hit, c.model.sector_time) = (true, Nanos::from_micros(5));
        let (mut now, mut hits) = (Nanos::ZERO, 0);
        for i in 0..100 {
            for stream in 0..streams {
                let lba = 10_000 + stream * 1_000_000 + i * 16;
                now += apart;
                let hit = c.read(lba, lba + 8, u64::MAX / 2, now);
                if c.ahead_from().is_some() {
                    c.ahead_since(now);
                }
                hits += u32::from(hit);
            }
        }
        f64::from(hits) / (100 * streams) as f64
    }

    #[test]
    fn read_ahead_proceeds_while_the_arm_is_not_needed_elsewhere() {
        assert!(turns(1, Nanos::ZERO) > 0.9, "a reader alone finds it under way");
        assert!(turns(4, Nanos::from_millis(20)) > 0.9, "256 sectors take 1.3 ms");
        assert!(turns(4, Nanos::from_micros(50)) < 0.63, "sixteen sectors for each read take 80 us");
        assert_eq!(turns(4, Nanos::ZERO), 0.0, "none is");
    }

    #[test]
    fn blocks_that_read_ahead_did_not_reach_are_misses() {
        let mut c = cache(4);
        c.model.sector_time = Nanos(1000);
        assert!(!c.read(10_000, 10_008, 9_990, Nanos(0)));
        assert_eq!(c.ahead_from(), Some(10_008));
        c.ahead_since(Nanos(10_000));
        assert!(!c.read(500_000, 500_008, 10_008, Nanos(110_000)), "100 sectors later");
        assert!(c.read(10_100, 10_108, 0, Nanos(110_000)));
        assert!(!c.read(10_104, 10_112, 0, Nanos(110_000)));
    }

    #[test]
    fn a_segment_keeps_its_blocks_behind_a_read_in_front_of_it() {
        let mut c = cache(4);
        c.model.sector_time = Nanos(1000);
        assert!(!c.read(10_000, 10_008, 0, Nanos(0)));
        c.ahead_since(Nanos(0));
        assert!(!c.read(9_976, 9_984, 0, Nanos(100_000)) && c.ahead_from().is_none());
        assert!(!c.read(500_000, 500_008, 0, Nanos(110_000)));
        assert!(c.read(10_000, 10_024, 0, Nanos(120_000)));
    }

    #[test]
    fn files_near_each_other_keep_their_own_segments() {
        let mut c = cache(4);
        let files = [10_300, 10_150, 10_000, 10_450];
        assert!(files.map(|lba| c.read(lba, lba + 8, 0, Nanos::ZERO)).iter().all(|hit| !hit));
        assert!(files.map(|lba| c.read(lba, lba + 8, 0, Nanos::ZERO)).iter().all(|hit| *hit));
    }

    #[test]
    fn written_blocks_hit_and_older_read_copies_are_dropped() {
        let mut c = cache(4);
        c.read(10_000, 10_008, 0, Nanos::ZERO);
        c.write(10_000, 10_016, Nanos::ZERO);
        assert!(c.read(10_000, 10_016, 0, Nanos::ZERO));
        assert!(!c.read(10_008, 10_024, 0, Nanos::ZERO));
        let mut none = SimulatedCache::new(SimulatedCacheModel::NONE);
        none.write(0, 8, Nanos::ZERO);
        assert!(!none.read(0, 8, 0, Nanos::ZERO) && !none.read(0, 8, 8, Nanos::ZERO));
    }
}
