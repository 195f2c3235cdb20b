//! `disksim_cachemem` and `disksim_cachedev`: the caches of a controller.

use super::choice::{choice, choices};
use super::fields::{BlockFields, ModuleCheck, count, flag, fraction, list, ms, ms_or_never, name, positive, whole};
use super::module::module;
use iopilot_block::InputError;

choices! {
    /// Which line is replaced.
    ReplacementPolicyParam {
        /// The oldest.
        Fifo = "1", "first in first out";
        /// The least recently used of the lowest segment.
        SegmentedLru = "2", "segmented LRU";
        /// Any.
        Random = "3", "random";
        /// The newest.
        Lifo = "4", "last in first out";
    }
}

choices! {
    /// When a write is complete.
    WriteSchemeParam {
        /// When it is on the disk.
        Synchronous = "1", "synchronous";
        /// When it is in the cache, from where it is written at once.
        WriteThrough = "2", "write-through";
        /// When it is in the cache; it is written to the disk later.
        WriteBack = "3", "write-back";
    }
}

choices! {
    /// When dirty blocks are written.
    FlushPolicyParam {
        /// When their space is needed.
        OnDemand = "0", "on demand";
        /// All of them, periodically.
        Periodic = "1", "periodic";
    }
}

choices! {
    /// Which line is taken if the one chosen by the policy is dirty.
    AllocationPolicyParam {
        /// The chosen line, which is written first.
        Strict = "0", "the line that the policy chooses";
        /// The next clean one; the dirty ones are written in the background.
        CleanFirst = "1", "clean lines first";
    }
}

module! {
    /// A cache in the memory of a controller.
    Cachemem = "disksim_cachemem" {
        /// Blocks; 0 for no caching.
        cache_size: u64 = "Cache size", whole(0..=1 << 40);
        /// The shares of the segments. The last value is not used: the last segment gets the rest.
        slru_segments: Vec<f64> = "SLRU segments", list(fraction), or vec![1.0];
        /// Blocks; 0 for lines of one block.
        line_size: u64 = "Line size", whole(0..=1 << 30);
        /// Blocks that share a valid and a dirty bit.
        bit_granularity: u64 = "Bit granularity", positive;
        /// Blocks that share a lock.
        lock_granularity: u64 = "Lock granularity", positive;
        /// Whether readers share a lock.
        shared_read_locks: bool = "Shared read locks", flag;
        /// The longest request it takes, blocks; 0 for any.
        max_request_size: u64 = "Max request size", count;
        /// Which line is replaced.
        replacement_policy: ReplacementPolicyParam = "Replacement policy", choice;
        /// Which line is taken if that one is dirty.
        allocation_policy: AllocationPolicyParam = "Allocation policy", choice;
        /// When a write is complete.
        write_scheme: WriteSchemeParam = "Write scheme", choice;
        /// When dirty blocks are written.
        flush_policy: FlushPolicyParam = "Flush policy", choice;
        /// The time between two flushes, ms.
        flush_period: f64 = "Flush period", ms;
        /// Idle time after which dirty blocks are written, ms; never if `None`.
        flush_idle_delay: Option<f64> = "Flush idle delay", ms_or_never;
        /// Lines that are written in one request.
        flush_max_line_cluster: u64 = "Flush max line cluster", count;
        /// What is read besides the requested blocks: bit 1 to the start of the line, bit 2 to its end.
        read_prefetch_type: u8 = "Read prefetch type", whole(0..=3);
        /// The same for the reads that a write of part of a granule needs.
        write_prefetch_type: u8 = "Write prefetch type", whole(0..=3);
        /// Whether each line is read in a separate request.
        line_by_line_fetches: bool = "Line-by-line fetches", flag;
        /// The most line boundaries that a request may cross; 0 for any.
        max_gather: u64 = "Max gather", count;
    }
}

impl ModuleCheck for Cachemem {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        let line = self.line_size.max(1);
        for (name, value) in [("Bit granularity", self.bit_granularity), ("Lock granularity", self.lock_granularity)] {
            if line % value != 0 {
                return Err(fields.refuse(name, format!("a divisor of the line of {line} blocks")));
            }
        }
        let named = self.slru_segments.split_last().map_or(0.0, |(_, before)| before.iter().sum());
        if self.slru_segments.is_empty() || named > 1.0 {
            return Err(fields.refuse("SLRU segments", "at least one share, together at most 1"));
        }
        if self.flush_policy == FlushPolicyParam::Periodic && self.flush_period == 0.0 {
            return Err(fields.refuse("Flush period", "more than 0 for flush policy 1"));
        }
        Ok(())
    }
}

module! {
    /// A device that caches another, at the same block addresses.
    Cachedev = "disksim_cachedev" {
        /// The number of blocks cached, from the first one.
        cache_size: u64 = "Cache size", count;
        /// The longest request it takes, blocks; 0 for any.
        max_request_size: u64 = "Max request size", count;
        /// When a write is complete; 1 and 3 are both write-back.
        write_scheme: WriteSchemeParam = "Write scheme", choice;
        /// Unused.
        flush_policy: FlushPolicyParam = "Flush policy", choice;
        /// Unused.
        flush_period: f64 = "Flush period", ms;
        /// Idle time of the cached device after which dirty blocks are written to it, ms; never if `None`.
        flush_idle_delay: Option<f64> = "Flush idle delay", ms_or_never;
        /// The device that holds the copies.
        cache_device: String = "Cache device", name;
        /// The device that is cached.
        cached_device: String = "Cached device", name;
    }
}

impl ModuleCheck for Cachedev {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.cache_device == self.cached_device {
            return Err(fields.refuse("Cached device", "another device than the one that caches it"));
        }
        Ok(())
    }
}
