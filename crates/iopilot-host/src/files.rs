//! [`CachedFileSystem`]: a file system with a page cache; turns system calls into steps.

mod read_ahead;
mod removal;

use crate::costs::Costs;
use crate::file_call::{FileCall, FileId};
use crate::file_op::FileOp;
use crate::file_system::{BLOCK_BYTES, FileError, FileSystem, Metadata, MetadataUpdate};
use crate::page_cache::{PageCache, PageKey};
use iopilot_block::{Criticality, InputError, Nanos, NumberMap};
use read_ahead::ReadAheadState;
use std::collections::VecDeque;

/// When the syncer writes dirty pages back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteBack {
    /// How often the syncer wakes up. It then writes all dirty metadata blocks…
    pub interval: Nanos,
    /// …and the dirty file pages in the next part of the cache, which has this share of it.
    pub share: f64,
}

impl WriteBack {
    /// The syncer of System V Release 4 for multiprocessors: once a second it sweeps a sixtieth of the cache (Ganger 5.3; the
    /// share is System V's default age of delayed writes, 60 s). Metadata is written every second, as Table 7.2 shows: compress
    /// and uncompress write three non-data blocks a second for as long as they run.
    pub const SYSTEM_V: Self = Self { interval: Nanos::from_secs(1), share: 1.0 / 60.0 };
}

/// The page cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheSettings {
    /// Its size in bytes.
    pub bytes: u64,
    /// When dirty pages go to the disk.
    pub write_back: WriteBack,
    /// Pages kept read ahead of a sequential reader; 0 for none.
    pub read_ahead: u32,
}

impl CacheSettings {
    /// The cache of a machine of 1995: one page of read-ahead, and System V's syncer.
    pub(crate) const fn of_1995(bytes: u64) -> Self {
        Self { bytes, write_back: WriteBack::SYSTEM_V, read_ahead: 1 }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Names the invalid setting.
    pub fn check(&self) -> Result<(), InputError> {
        if !(1 << 20..1 << 43).contains(&self.bytes) {
            let mib = (self.bytes >> 20).to_string();
            return Err(InputError::new("cache.mib", mib, "1 to 8388607 MiB"));
        }
        if self.write_back.interval == Nanos::ZERO {
            return Err(InputError::new("cache.syncer_ms", "0", "more than 0"));
        }
        if !(self.write_back.share > 0.0 && self.write_back.share <= 1.0) {
            let share = self.write_back.share.to_string();
            return Err(InputError::new("cache.syncer_share", share, "more than 0, up to 1"));
        }
        Ok(())
    }
}

/// Files, and which of them are cached when a workload begins.
#[derive(Debug)]
pub struct FileSetup {
    /// The file system.
    pub system: Box<dyn FileSystem>,
    /// The page cache.
    pub cache: CacheSettings,
    /// Files in the cache, with their directories and metadata; the last are the most recently used.
    pub cached: Vec<FileId>,
}

/// A file system with a page cache.
#[derive(Debug)]
pub(crate) struct CachedFileSystem {
    pub(crate) settings: CacheSettings,
    pub(crate) system: Box<dyn FileSystem>,
    pub(crate) cache: PageCache,
    /// The read-ahead state of each file.
    progress: NumberMap<FileId, ReadAheadState>,
    /// Processes that wait for requests for pages, as (request, process).
    waiting: Vec<(usize, usize)>,
    /// The syncer's process.
    pub(crate) syncer: usize,
    /// Whether the syncer sleeps until something is dirty.
    pub(crate) rests: bool,
    /// The next frame to sweep, and the time of the last sweep.
    hand: u32,
    swept: Nanos,
    /// Empty between calls.
    metadata: Vec<Metadata>,
    keys: Vec<PageKey>,
    freed: Vec<u64>,
}

impl Clone for CachedFileSystem {
    fn clone(&self) -> Self {
        Self {
            settings: self.settings,
            system: self.system.boxed(),
            cache: self.cache.clone(),
            progress: self.progress.clone(),
            waiting: self.waiting.clone(),
            syncer: self.syncer,
            rests: self.rests,
            hand: self.hand,
            swept: self.swept,
            metadata: Vec::new(),
            keys: Vec::new(),
            freed: Vec::new(),
        }
    }
}

impl CachedFileSystem {
    pub(crate) fn new(setup: FileSetup, syncer: usize) -> Result<Self, InputError> {
        setup.cache.check()?;
        let capacity = (setup.cache.bytes / BLOCK_BYTES).min(u64::from(u32::MAX - 1)) as u32;
        let mut files = Self {
            settings: setup.cache,
            system: setup.system,
            cache: PageCache::new(capacity),
            progress: NumberMap::default(),
            waiting: Vec::new(),
            syncer,
            rests: true,
            hand: 0,
            swept: Nanos::ZERO,
            metadata: Vec::new(),
            keys: Vec::new(),
            freed: Vec::new(),
        };
        for file in setup.cached {
            let missing = |e: FileError| InputError::new("files", e.to_string(), "only files that exist in the cache");
            files.system.lookup(file, &mut files.metadata).map_err(missing)?;
            let pages = files.system.size(file).map_err(missing)?.div_ceil(BLOCK_BYTES);
            let mapped = (0..pages).filter_map(|page| Some((page, files.system.map(file, page)?)));
            let mut all: Vec<(PageKey, u64)> = Vec::new();
            for (page, mapping) in mapped {
                all.extend(mapping.by.map(|block| (PageKey::metadata(block), block)));
                all.push((PageKey::of(file, page), mapping.block));
            }
            let metadata = files.metadata.drain(..).map(|read| (PageKey::metadata(read.block), read.block));
            for (key, block) in metadata.chain(all) {
                match files.cache.find(key) {
                    Some(place) => _ = files.cache.use_page(place),
                    None => _ = files.cache.insert(key, block),
                }
            }
        }
        Ok(files)
    }

    /// Puts the steps of `call` into `plan`. Additions to the layout of files take effect at once. Removals take effect once no
    /// request for the file is in flight.
    pub(crate) fn plan(&mut self, call: FileCall, costs: &Costs, plan: &mut VecDeque<FileOp>) -> Result<(), FileError> {
        self.metadata.clear();
        match call {
            FileCall::Open(file) => {
                let components = self.system.lookup(file, &mut self.metadata)?;
                plan.push_back(FileOp::Spend(f64::from(components) * costs.lookup_us));
                self.plan_metadata(plan);
            }
            FileCall::Read { file, offset, bytes } => self.plan_read(file, offset, bytes, costs, plan)?,
            FileCall::Write { file, offset, bytes } => self.plan_write(file, offset, bytes, costs, plan)?,
            FileCall::ReadDir(directory) => {
                self.system.list(directory, &mut self.metadata)?;
                self.plan_metadata(plan);
            }
            FileCall::Create { parent, file, kind } => {
                let components = self.system.lookup(parent, &mut self.metadata)? + 1;
                plan.push_back(FileOp::Spend(f64::from(components) * costs.lookup_us));
                self.system.create(parent, file, kind, &mut self.metadata)?;
                self.plan_metadata(plan);
            }
            FileCall::Remove(file) => {
                let components = self.system.lookup(file, &mut self.metadata)?;
                plan.push_back(FileOp::Spend(f64::from(components) * costs.lookup_us));
                self.plan_removal(file, false, plan);
            }
            FileCall::Truncate(file) => {
                self.system.size(file)?;
                self.plan_removal(file, true, plan);
            }
            FileCall::Fsync(file) => {
                let pages = self.system.size(file)?.div_ceil(BLOCK_BYTES);
                let keys = (0..pages).map(|page| PageKey::of(file, page));
                let keys = keys.filter(|&key| self.cache.find(key).is_some_and(|place| self.cache.is_unsafe(place)));
                self.keys.extend(keys);
                let class = Criticality::TimeCritical;
                plan.extend(self.keys.iter().map(|&key| FileOp::WriteOut { key, class }));
                plan.extend(self.keys.drain(..).map(FileOp::Await));
                let inode = self.system.inode(file).map(|block| Metadata::changed(block, MetadataUpdate::Sync));
                plan.extend(inode.map(FileOp::Metadata));
            }
            FileCall::Sync => {
                self.cache.dirty_metadata(&mut self.keys);
                self.cache.dirty_pages(0, self.cache.capacity(), &mut self.keys);
                self.plan_writes(plan);
            }
        }
        Ok(())
    }

    /// Plans the metadata steps. A block that several steps in a row change in the same way is changed once.
    fn plan_metadata(&mut self, plan: &mut VecDeque<FileOp>) {
        self.metadata.dedup();
        let mut last: [Option<Metadata>; 4] = [None; 4];
        for (n, metadata) in self.metadata.drain(..).enumerate() {
            let again = metadata.update != Some(MetadataUpdate::Sync) && last.contains(&Some(metadata));
            if !again {
                plan.push_back(FileOp::Metadata(metadata));
                last[n % 4] = Some(metadata);
            }
        }
    }

    fn plan_read(
        &mut self,
        file: FileId,
        offset: u64,
        bytes: u64,
        costs: &Costs,
        plan: &mut VecDeque<FileOp>,
    ) -> Result<(), FileError> {
        let end = offset.saturating_add(bytes).min(self.system.size(file)?);
        let Some(bytes) = end.checked_sub(offset).filter(|&bytes| bytes > 0) else { return Ok(()) };
        plan.push_back(FileOp::Spend(bytes as f64 / 1024.0 * costs.copy_us_per_kib));
        let mut known = None;
        for page in offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            let by = self.system.map(file, page).and_then(|mapping| mapping.by);
            if let Some(block) = by.filter(|_| known != by) {
                plan.push_back(FileOp::Metadata(Metadata::read(block)));
            }
            known = by;
            plan.push_back(FileOp::Read { file, page, counted: false, missed: false });
        }
        plan.extend(self.system.accessed(file).map(FileOp::Metadata));
        Ok(())
    }

    fn plan_write(
        &mut self,
        file: FileId,
        offset: u64,
        bytes: u64,
        costs: &Costs,
        plan: &mut VecDeque<FileOp>,
    ) -> Result<(), FileError> {
        if bytes == 0 {
            return Ok(());
        }
        let (old, end) = (self.system.size(file)?, offset.saturating_add(bytes));
        self.system.write(file, end, &mut self.metadata)?;
        plan.push_back(FileOp::Spend(bytes as f64 / 1024.0 * costs.copy_us_per_kib));
        self.plan_metadata(plan);
        for page in offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            let (first, last) = (page * BLOCK_BYTES, (page + 1) * BLOCK_BYTES);
            let is_whole = first >= old || (offset <= first && end >= last.min(old));
            plan.push_back(FileOp::Write { file, page, is_whole });
        }
        Ok(())
    }

    /// Plans what the syncer writes at `now`.
    pub(crate) fn plan_sweep(&mut self, now: Nanos, plan: &mut VecDeque<FileOp>) {
        let passed = now.since(self.swept).0 as f64 / self.settings.write_back.interval.0 as f64;
        self.swept = now;
        let capacity = self.cache.capacity();
        let places = (self.settings.write_back.share * passed.round() * f64::from(capacity)).ceil();
        // A sweep of more than the whole cache would repeat frames.
        let count = places.min(f64::from(capacity)) as u32;
        let begin = (f64::from(self.hand) + places - f64::from(count)) % f64::from(capacity);
        self.cache.dirty_metadata(&mut self.keys);
        self.cache.dirty_pages(begin as u32, count, &mut self.keys);
        self.hand = ((u64::from(begin as u32) + u64::from(count)) % u64::from(capacity)) as u32;
        self.plan_writes(plan);
    }

    fn plan_writes(&mut self, plan: &mut VecDeque<FileOp>) {
        for key in self.keys.drain(..) {
            let locks = self.cache.find(key).is_some_and(|place| self.cache.get(place).locks);
            let class = if locks { Criticality::TimeLimited } else { Criticality::TimeNonCritical };
            plan.push_back(FileOp::WriteOut { key, class });
        }
    }

    /// Notes that process `p` waits for `request`.
    pub(crate) fn wait(&mut self, request: usize, p: usize) {
        self.waiting.push((request, p));
    }

    /// Whether any process waits for `request`.
    pub(crate) fn is_waited_for(&self, request: usize) -> bool {
        self.waiting.iter().any(|&(waited, _)| waited == request)
    }

    /// Moves the waiters of `request` to `out`, in order of arrival.
    pub(crate) fn take_waiting(&mut self, request: usize, out: &mut Vec<usize>) {
        self.waiting.retain(|&(waited, p)| {
            if waited == request {
                out.push(p);
            }
            waited != request
        });
    }
}
