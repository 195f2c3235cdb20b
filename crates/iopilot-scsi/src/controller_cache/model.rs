//! The parameters of a controller's memory cache.

use iopilot_block::Nanos;

/// Which line is the victim when room is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplacementPolicy {
    /// The oldest line.
    Fifo,
    /// The least recently used line of the lowest segment (segmented LRU).
    #[default]
    SegmentedLru,
    /// A random line.
    Random,
    /// The newest line.
    Lifo,
}

/// What happens to dirty lines when room is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocationPolicy {
    /// The victim is chosen strictly by policy; a dirty one is written back first, and the request waits for that.
    #[default]
    Strict,
    /// Dirty lines are skipped, and written back in the background.
    SkipDirty,
}

/// When a write completes, and when it reaches the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteScheme {
    /// Completes when it is on the device.
    Synchronous,
    /// Completes when it is in the cache; it is sent to the device at once.
    WriteThrough,
    /// Completes when it is in the cache; it is written back when necessary.
    #[default]
    WriteBack,
}

/// When dirty data are written back without need for room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushPolicy {
    /// Never.
    #[default]
    OnDemand,
    /// All of them once in such a period, in [`MemoryCacheModel::flush_wakeups`] steps.
    Periodic(Nanos),
}

/// How far a fill extends beyond the needed blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// To the start of its first line.
    pub front: bool,
    /// To the end of its last line.
    pub rest: bool,
}

/// The parameters of a controller's memory cache. Sizes are in 512-byte blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCacheModel {
    /// Size; zero caches nothing.
    pub size: u64,
    /// The fractions of the cache for the segments of segmented LRU, lowest first; the last one gets the rest. A hit
    /// moves a line up one segment. A full segment's least recently used line moves down one.
    pub segments: Vec<f64>,
    /// Line size, not necessarily a power of two; zero for lines of one block.
    pub line: u32,
    /// Blocks per valid and dirty bit; divides the line.
    pub bit_granularity: u32,
    /// Blocks per lock; divides the line.
    pub lock_granularity: u32,
    /// Whether several operations may read the same blocks at once.
    pub shared_read_locks: bool,
    /// Larger requests are split before they come here; zero for no limit.
    pub max_request: u32,
    /// Which line is the victim.
    pub replacement: ReplacementPolicy,
    /// What happens to dirty lines.
    pub allocation: AllocationPolicy,
    /// When a write completes.
    pub write_scheme: WriteScheme,
    /// When dirty data are written back without need for room.
    pub flush: FlushPolicy,
    /// How many times in a period the cache looks for dirty data, each time in this fraction of the lines (Ganger
    /// A.1.2.1, ninth group).
    pub flush_wakeups: u32,
    /// Dirty data are written back when a device has been idle for this long.
    pub idle_delay: Option<Nanos>,
    /// Whether a device counts as busy while an operation of the host is in flight, and its idle time starts when the
    /// last one ends. Otherwise only accesses to the device count: hits in the cache neither stop write-back nor
    /// trigger it (DiskSim 4.0).
    pub idle_counts_host: bool,
    /// The most lines that one write-back may span.
    pub flush_cluster: u32,
    /// The prefetch of fills for reads.
    pub read_prefetch: Prefetch,
    /// The prefetch of fills for writes of less than a bit's blocks.
    pub write_prefetch: Prefetch,
    /// Whether each line has an access of its own.
    pub line_by_line: bool,
    /// The most line boundaries that one access may cross; zero for no limit.
    pub max_gather: u32,
    /// The seed of random replacement.
    pub seed: u64,
}

impl Default for MemoryCacheModel {
    /// A write-back LRU cache of 4 MB in lines of 32 KB.
    fn default() -> Self {
        Self {
            size: 8192,
            segments: vec![1.0],
            line: 64,
            bit_granularity: 1,
            lock_granularity: 64,
            shared_read_locks: true,
            max_request: 512,
            replacement: ReplacementPolicy::default(),
            allocation: AllocationPolicy::default(),
            write_scheme: WriteScheme::default(),
            flush: FlushPolicy::default(),
            flush_wakeups: 1,
            idle_delay: None,
            idle_counts_host: false,
            flush_cluster: 8,
            read_prefetch: Prefetch::default(),
            write_prefetch: Prefetch::default(),
            line_by_line: false,
            max_gather: 0,
            seed: 1,
        }
    }
}

impl MemoryCacheModel {
    /// Blocks of a line.
    pub fn line_size(&self) -> u64 {
        u64::from(self.line.max(1))
    }

    /// The number of lines.
    pub fn lines(&self) -> u64 {
        self.size / self.line_size()
    }

    /// The first fault of the parameters, if any: the parameter, its value and what it should be.
    pub fn fault(&self) -> Option<(&'static str, String, String)> {
        let (line, wrong) =
            (self.line_size(), |name, got: u64, expected: String| Some((name, got.to_string(), expected)));
        if self.size == 0 {
            return None;
        }
        if self.bit_granularity == 0 || line % u64::from(self.bit_granularity) != 0 {
            let expected = format!("a divisor of the line size {line}");
            return wrong("bit granularity", self.bit_granularity.into(), expected);
        }
        if self.lock_granularity == 0 || line % u64::from(self.lock_granularity) != 0 {
            let expected = format!("a divisor of the line size {line}");
            return wrong("lock granularity", self.lock_granularity.into(), expected);
        }
        if self.segments.is_empty() {
            return wrong("segments", 0, "at least one".into());
        }
        if self.flush_cluster == 0 {
            return wrong("flush cluster", 0, "at least 1 line".into());
        }
        let request = u64::from(self.max_request);
        // Its first and last block may be in lines of their own.
        if request == 0 || request.div_ceil(line) + 1 > self.lines() {
            let most = self.lines().saturating_sub(1) * line;
            return wrong("max request size", request, format!("1 to {most}, so that a request fits the cache"));
        }
        None
    }
}
