//! The parameters of a controller's memory cache.

use iopilot_block::Nanos;

/// Which line makes room for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplacementPolicy {
    /// The one that came first.
    Fifo,
    /// The least recently used one of the lowest segment (segmented LRU).
    #[default]
    SegmentedLru,
    /// Any.
    Random,
    /// The one that came last.
    Lifo,
}

/// What becomes of dirty lines when room is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocationPolicy {
    /// The line is chosen strictly by policy; a dirty one is written out first, and waited for.
    #[default]
    Strict,
    /// Dirty lines are passed over, and written out in the background.
    SkipDirty,
}

/// When a write is done, and when it reaches the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteScheme {
    /// Done when it is on the device.
    Synchronous,
    /// Done when it is in the cache; it goes to the device at once.
    WriteThrough,
    /// Done when it is in the cache; it goes to the device when it must.
    #[default]
    WriteBack,
}

/// When dirty data go to the device without need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushPolicy {
    /// Not at all.
    #[default]
    OnDemand,
    /// All of them in such a period, by [`MemoryCacheModel::flush_wakeups`].
    Periodic(Nanos),
}

/// How far a fill goes beyond what is needed.
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
    /// Shares of the cache that the segments of segmented LRU have, lowest first; the last one gets the rest. A hit
    /// moves a line up one segment; a full segment's least recently used line moves down one.
    pub segments: Vec<f64>,
    /// Line size, a power of nothing in particular; zero for lines of one block.
    pub line: u32,
    /// Blocks per valid and dirty bit; divides the line.
    pub bit_granularity: u32,
    /// Blocks per lock; divides the line.
    pub lock_granularity: u32,
    /// Whether several operations may read the same blocks at once.
    pub shared_read_locks: bool,
    /// Larger requests are cut up before they come here; zero for no limit.
    pub max_request: u32,
    /// Which line makes room.
    pub replacement: ReplacementPolicy,
    /// What becomes of dirty lines.
    pub allocation: AllocationPolicy,
    /// When a write is done.
    pub write_scheme: WriteScheme,
    /// When dirty data are written out without need.
    pub flush: FlushPolicy,
    /// How many times in a period dirty data are looked for, each time in this fraction of the lines (Ganger A.1.2.1, ninth group).
    pub flush_wakeups: u32,
    /// Dirty data are written out when a device has been idle for this long.
    pub idle_delay: Option<Nanos>,
    /// Whether it is not idle while an operation of the host's is under way, and idle since the last one ended. Without, only
    /// accesses to the device count, so that what the cache serves alone neither stops the writing out nor sets it off (DiskSim
    /// 4.0).
    pub idle_counts_host: bool,
    /// Most lines that one write-back may span.
    pub flush_cluster: u32,
    /// Of fills for reads.
    pub read_prefetch: Prefetch,
    /// Of fills for writes of parts of a bit's blocks.
    pub write_prefetch: Prefetch,
    /// One access for each line.
    pub line_by_line: bool,
    /// Most line boundaries that one access may cross; zero for no limit.
    pub max_gather: u32,
    /// Of the random replacement.
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

    /// How many lines there are.
    pub fn lines(&self) -> u64 {
        self.size / self.line_size()
    }

    /// What is wrong with it, if anything: the parameter, what it is and what it should be.
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
        // Its first and last block may stand in lines of their own.
        if request == 0 || request.div_ceil(line) + 1 > self.lines() {
            let most = self.lines().saturating_sub(1) * line;
            return wrong("max request size", request, format!("1 to {most}, so that a request fits the cache"));
        }
        None
    }
}
