//! [`SimulatedCache`]: the disk cache of the form with three tables (GF 4.3.1): "alike enough", no more.

/// Closer than this to the request before (64 kB), an access is sequential; in sectors.
const SEQUENTIAL: u64 = 128;

/// What is simulated of a disk's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedCacheModel {
    /// Segments for reads; 0 for none, so that every read misses, as an SSD's do.
    pub read_segments: u32,
    /// Segments that hold what was written.
    pub write_segments: u32,
    /// Sectors in a segment.
    pub segment_sectors: u64,
    /// Sectors read ahead at most, and at once where the access is sequential.
    pub read_ahead_sequential: u32,
    /// Sectors read ahead around another access.
    pub read_ahead_random: u32,
    /// Whether hits of a sequential reader keep the read-ahead going. Not so in GF 4.3.1, where it follows misses only;
    /// but drives do.
    pub read_ahead_on_hit: bool,
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
    /// Behind the last block that was asked for.
    consumed: u64,
    used: u64,
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether the blocks from `start` to before `end` go on from those asked for last.
    fn follows(&self, start: u64, end: u64) -> bool {
        self.consumed <= end && start.abs_diff(self.consumed) < SEQUENTIAL
    }

    /// How far the blocks from `start` to before `end` are from it; 0 where they overlap or touch.
    fn gap(&self, start: u64, end: u64) -> u64 {
        start.saturating_sub(self.end).max(self.start.saturating_sub(end))
    }
}

/// Segments of contiguous blocks, replaced where they were least recently used. Read-ahead follows misses only, and
/// doubles in a segment that was hit since.
#[derive(Clone, Debug)]
pub struct SimulatedCache {
    model: SimulatedCacheModel,
    reads: Vec<Segment>,
    writes: Vec<Segment>,
    /// Counts accesses.
    clock: u64,
}

impl SimulatedCache {
    /// An empty cache.
    pub fn new(model: SimulatedCacheModel) -> Self {
        let segments = |count: u32| vec![Segment::default(); count as usize];
        Self { model, reads: segments(model.read_segments), writes: segments(model.write_segments), clock: 0 }
    }

    /// What it simulates.
    pub fn model(&self) -> SimulatedCacheModel {
        self.model
    }

    /// A read of the blocks from `start` to before `end`, after a request that ended before `previous_end`: whether it
    /// hits. Only a read that finds all its blocks does. O(segments).
    pub fn read(&mut self, start: u64, end: u64, previous_end: u64) -> bool {
        self.clock += 1;
        let clock = self.clock;
        let on_hit = self.model.read_ahead_on_hit;
        // Where the read-ahead goes on, a reader in sequence finds it under way: a partial hit, which counts as one.
        let holds = |s: &&mut Segment| {
            let reaches = end <= s.end || on_hit && start <= s.end && s.follows(start, end);
            !s.is_empty() && s.start <= start && reaches
        };
        if let Some(segment) = self.reads.iter_mut().chain(&mut self.writes).find(holds) {
            (segment.was_hit, segment.used) = (true, clock);
            if on_hit {
                go_on(segment, start, end, &self.model);
            }
            return true;
        }
        let near = |s: &&mut Segment| !s.is_empty() && s.gap(start, end) < SEQUENTIAL;
        if let Some(segment) = self.reads.iter_mut().filter(near).min_by_key(|s| s.gap(start, end)) {
            miss_again(segment, start, end, &self.model);
            (segment.consumed, segment.used) = (end, clock);
        } else if let Some(segment) = self.reads.iter_mut().min_by_key(|s| s.used) {
            let sequential = previous_end.abs_diff(start) < SEQUENTIAL;
            let ahead = match sequential {
                true => self.model.read_ahead_sequential,
                false => self.model.read_ahead_random,
            };
            // The blocks asked for lie in the middle of those read: nobody knows where a track begins.
            let ahead = u64::from(ahead).min(self.model.segment_sectors);
            let before = (ahead / 2).min(start);
            *segment = Segment {
                start: start - before,
                end: end + (ahead - ahead / 2),
                read_ahead: ahead,
                was_hit: false,
                consumed: end,
                used: clock,
            };
            let over = (segment.end - segment.start).saturating_sub(self.model.segment_sectors);
            segment.start += over.min(before);
        }
        false
    }

    /// A write of the blocks from `start` to before `end`: they are in a write segment now, and nowhere else.
    pub fn write(&mut self, start: u64, end: u64) {
        self.clock += 1;
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

/// A hit of a sequential reader: the read-ahead stays ahead of it.
fn go_on(segment: &mut Segment, start: u64, end: u64, model: &SimulatedCacheModel) {
    let in_sequence = segment.follows(start, end);
    segment.consumed = end;
    if in_sequence {
        segment.end = segment.end.max(end + u64::from(model.read_ahead_sequential));
        segment.start = segment.start.max(segment.end.saturating_sub(model.segment_sectors).min(start));
    }
}

/// A miss at a segment that was filled before: goes on in the direction of the access. The read-ahead doubles where the
/// last one led to hits; misses leave it alone.
fn miss_again(segment: &mut Segment, start: u64, end: u64, model: &SimulatedCacheModel) {
    if std::mem::take(&mut segment.was_hit) {
        segment.read_ahead = (2 * segment.read_ahead).min(u64::from(model.read_ahead_sequential));
    }
    let limit = model.segment_sectors;
    if start < segment.start {
        let first = start.saturating_sub(segment.read_ahead);
        let last = if end < segment.start { end } else { segment.end.max(end) };
        (segment.start, segment.end) = (first, last.min(first + limit.max(end - first)));
    } else {
        let last = end + segment.read_ahead;
        let first = if start > segment.end { start } else { segment.start };
        (segment.start, segment.end) = (first.max(last.saturating_sub(limit).min(start)), last);
    }
}

/// Forgets the blocks from `start` to before `end`; of a segment cut in two the longer part stays.
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
        })
    }

    /// Reads of a block every `step` sectors from `start`; the hits.
    fn reads(cache: &mut SimulatedCache, start: u64, step: i64, count: usize) -> Vec<bool> {
        let mut previous = u64::MAX / 2;
        (0..count as i64)
            .map(|i| {
                let lba = start.wrapping_add_signed(i * step);
                let hit = cache.read(lba, lba + 8, previous);
                previous = lba + 8;
                hit
            })
            .collect()
    }

    #[test]
    fn the_first_access_to_a_segment_misses_and_lies_in_the_middle_of_what_is_read() {
        let mut c = cache(4);
        assert!(!c.read(10_000, 10_008, 0));
        assert!(c.read(10_008, 10_024, 10_008) && c.read(9_984, 10_000, 10_024));
        assert!(!c.read(10_016, 10_032, 10_000), "part of it is not there: a miss");
    }

    #[test]
    fn an_access_within_64_kb_of_the_one_before_is_sequential() {
        let mut c = cache(4);
        assert!(!c.read(10_000, 10_008, 10_000 - 127));
        assert!(c.read(10_008 + 120, 10_008 + 128, 10_008));
        let mut c = cache(4);
        assert!(!c.read(10_000, 10_008, 10_000 - 128));
        assert!(!c.read(10_008 + 120, 10_008 + 128, 10_008));
    }

    #[test]
    fn read_ahead_doubles_after_hits_up_to_the_largest() {
        let mut c = cache(4);
        let hits = reads(&mut c, 10_000, 8, 400);
        let misses: Vec<usize> = hits.iter().enumerate().filter(|(_, hit)| !**hit).map(|(i, _)| i).collect();
        // 16 sectors ahead, then 64, 128, 256, 256 ...
        let gaps: Vec<usize> = misses.windows(2).map(|w| w[1] - w[0]).collect();
        assert_eq!(gaps[..5], [3, 9, 17, 33, 33]);
    }

    #[test]
    fn read_ahead_that_goes_on_with_hits_never_ends() {
        let mut c = cache(4);
        c.model.read_ahead_on_hit = true;
        let hits = reads(&mut c, 10_000, 8, 400);
        assert!(!hits[0] && hits[1..].iter().all(|hit| *hit));
        assert!(c.read(13_200, 13_700, 13_200), "the rest of it is on its way");
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
                    hits += u32::from(c.read(lba, lba + 8, u64::MAX / 2));
                }
            }
            assert_eq!(hits > 300, good, "{streams} streams: {hits}");
        }
    }

    #[test]
    fn what_was_written_is_there_and_what_was_read_before_is_not() {
        let mut c = cache(4);
        c.read(10_000, 10_008, 0);
        c.write(10_000, 10_016);
        assert!(c.read(10_000, 10_016, 0));
        assert!(!c.read(10_008, 10_024, 0));
        let mut none = SimulatedCache::new(SimulatedCacheModel::NONE);
        none.write(0, 8);
        assert!(!none.read(0, 8, 0) && !none.read(0, 8, 8));
    }
}
