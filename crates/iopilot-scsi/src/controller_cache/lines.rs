//! [`CacheLines`]: the lines of a memory cache, their victim order, and their locks.

use crate::controller_cache::blocks::BlockSet;
use crate::controller_cache::{MemoryCacheModel, ReplacementPolicy};
use iopilot_block::{Links, List};
use std::collections::{HashMap, VecDeque};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Line {
    device: usize,
    /// First block.
    start: u64,
    mapped: bool,
    /// The list it is in; `NONE` between allocation and first use.
    segment: u32,
}

/// A list of lines.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// From the oldest to the newest.
    list: List<u32>,
    max: usize,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    readers: u32,
    writer: bool,
    waiters: VecDeque<u32>,
}

/// A lock on some of a line's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granule {
    pub(crate) line: u32,
    pub(crate) number: u32,
    pub(crate) exclusive: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CacheLines {
    policy: ReplacementPolicy,
    size: u64,
    granule: u64,
    shared: bool,
    lines: Vec<Line>,
    free: Vec<u32>,
    map: HashMap<(usize, u64), u32>,
    segments: Vec<Segment>,
    links: Links<u32>,
    pub(crate) valid: BlockSet,
    pub(crate) dirty: BlockSet,
    locks: Vec<Lock>,
    granules: usize,
    random: u64,
}

impl CacheLines {
    pub(crate) fn new(model: &MemoryCacheModel) -> Self {
        let (count, size) = (model.lines() as usize, model.line_size());
        let granule = u64::from(model.lock_granularity.max(1));
        let granules = (size / granule) as usize;
        let line = Line { device: 0, start: 0, mapped: false, segment: NONE };
        let segmented = model.replacement == ReplacementPolicy::SegmentedLru;
        let shares: &[f64] = if segmented { &model.segments } else { &[1.0] };
        let mut left = count;
        let segments = shares.iter().enumerate().map(|(i, share)| {
            let max =
                if i + 1 == shares.len() { left } else { ((share * count as f64) as usize).clamp(1, left.max(1)) };
            left = left.saturating_sub(max);
            Segment { list: List::new(), max: max.max(1) }
        });
        Self {
            policy: model.replacement,
            size,
            granule,
            shared: model.shared_read_locks,
            segments: segments.collect(),
            links: Links::new(),
            lines: vec![line; count],
            free: (0..count as u32).rev().collect(),
            map: HashMap::with_capacity(count),
            valid: BlockSet::new(count, size as usize),
            dirty: BlockSet::new(count, size as usize),
            locks: vec![Lock::default(); count * granules],
            granules,
            random: model.seed,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The line that holds `block` of `device`.
    pub(crate) fn find(&self, device: usize, block: u64) -> Option<u32> {
        self.map.get(&(device, block - block % self.size)).copied()
    }

    /// Device and first block of `line`.
    pub(crate) fn place(&self, line: u32) -> (usize, u64) {
        let line = &self.lines[line as usize];
        (line.device, line.start)
    }

    /// Takes a free line for `block`. None of its blocks is valid, and it is in no list until its first use.
    pub(crate) fn allocate(&mut self, device: usize, block: u64) -> Option<u32> {
        let line = self.free.pop()?;
        let start = block - block % self.size;
        self.lines[line as usize] = Line { device, start, mapped: true, segment: NONE };
        self.valid.clear(line as usize);
        self.dirty.clear(line as usize);
        self.map.insert((device, start), line);
        Some(line)
    }

    /// Frees `line`.
    pub(crate) fn evict(&mut self, line: u32) {
        self.unlink(line);
        let Line { device, start, .. } = self.lines[line as usize];
        self.lines[line as usize].mapped = false;
        self.map.remove(&(device, start));
        self.free.push(line);
    }

    /// Records a use of `line`: it enters the order, or moves in it.
    pub(crate) fn touch(&mut self, line: u32) {
        let segment = self.lines[line as usize].segment;
        if segment == NONE {
            self.append(line, 0);
            return;
        }
        if self.policy != ReplacementPolicy::SegmentedLru {
            return;
        }
        self.unlink(line);
        let mut segment = (segment as usize + 1).min(self.segments.len() - 1);
        self.append(line, segment);
        while segment > 0 && self.segments[segment].list.len() > self.segments[segment].max {
            let Some(down) = self.segments[segment].list.pop_front(&mut self.links) else { break };
            segment -= 1;
            self.append(down, segment);
        }
    }

    /// Collects the lines in victim order.
    pub(crate) fn candidates(&mut self, into: &mut Vec<u32>) {
        into.clear();
        for segment in &self.segments {
            into.extend(segment.list.iter(&self.links));
        }
        match self.policy {
            ReplacementPolicy::Lifo => into.reverse(),
            ReplacementPolicy::Random if !into.is_empty() => {
                // Knuth's constants; only the upper bits are used.
                self.random =
                    self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let start = (self.random >> 33) as usize % into.len();
                into.rotate_left(start);
            }
            _ => {}
        }
    }

    /// The first line in victim order, if that is known without a look at the others. O(1).
    pub(crate) fn first_candidate(&self) -> Option<u32> {
        match self.policy {
            ReplacementPolicy::Fifo | ReplacementPolicy::SegmentedLru => {
                self.segments.iter().find_map(|segment| segment.list.front())
            }
            ReplacementPolicy::Lifo => self.segments.iter().find_map(|segment| segment.list.back()),
            ReplacementPolicy::Random => None,
        }
    }

    fn append(&mut self, line: u32, segment: usize) {
        self.segments[segment].list.push_back(&mut self.links, line);
        self.lines[line as usize].segment = segment as u32;
    }

    fn unlink(&mut self, line: u32) {
        let segment = std::mem::replace(&mut self.lines[line as usize].segment, NONE);
        if segment != NONE {
            self.segments[segment as usize].list.remove(&mut self.links, line);
        }
    }

    /// The number of the granule of `line` that holds `block` of the device.
    pub(crate) fn granule(&self, line: u32, block: u64) -> u32 {
        ((block - self.lines[line as usize].start) / self.granule) as u32
    }

    fn lock(&mut self, line: u32, granule: u32) -> &mut Lock {
        &mut self.locks[line as usize * self.granules + granule as usize]
    }

    /// Whether any granule of `line` is locked.
    pub(crate) fn locked(&self, line: u32) -> bool {
        let from = line as usize * self.granules;
        self.locks[from..from + self.granules].iter().any(|lock| lock.writer || lock.readers > 0)
    }

    /// Whether the granule of `block` is locked exclusively.
    pub(crate) fn exclusively_locked(&self, line: u32, block: u64) -> bool {
        self.locks[line as usize * self.granules + self.granule(line, block) as usize].writer
    }

    /// Locks a granule; `None` if it is taken. The caller waits with [`CacheLines::wait`].
    pub(crate) fn try_lock(&mut self, line: u32, number: u32, exclusive: bool) -> Option<Granule> {
        let exclusive = exclusive || !self.shared;
        let lock = self.lock(line, number);
        if lock.writer || (exclusive && lock.readers > 0) {
            return None;
        }
        if exclusive {
            lock.writer = true;
        } else {
            lock.readers += 1;
        }
        Some(Granule { line, number, exclusive })
    }

    /// Has `operation` woken when the granule is unlocked.
    pub(crate) fn wait(&mut self, line: u32, number: u32, operation: u32) {
        self.lock(line, number).waiters.push_back(operation);
    }

    /// Unlocks a granule; appends the operations that waited for it to `woken`.
    pub(crate) fn unlock(&mut self, granule: Granule, woken: &mut VecDeque<u32>) {
        let lock = self.lock(granule.line, granule.number);
        if granule.exclusive {
            lock.writer = false;
        } else {
            lock.readers -= 1;
        }
        if !lock.writer && lock.readers == 0 {
            woken.append(&mut lock.waiters);
        }
    }

    /// Turns an exclusive lock into a shared one, if the cache has shared locks.
    pub(crate) fn downgrade(&mut self, granule: Granule, woken: &mut VecDeque<u32>) -> Granule {
        if !granule.exclusive || !self.shared {
            return granule;
        }
        let lock = self.lock(granule.line, granule.number);
        lock.writer = false;
        lock.readers += 1;
        woken.append(&mut lock.waiters);
        Granule { exclusive: false, ..granule }
    }
}
