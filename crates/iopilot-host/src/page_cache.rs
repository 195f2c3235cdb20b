//! [`PageCache`]: the pages of files and the metadata blocks in memory.

use crate::file_call::FileId;
use iopilot_block::{Lru, PageCacheReport};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// A page of a file, or a metadata block by its address on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageKey(u64);

/// No file has this number.
const METADATA: FileId = FileId(0);

impl PageKey {
    pub(crate) fn of(file: FileId, page: u64) -> Self {
        debug_assert!(page < 1 << 32);
        Self(u64::from(file.0) << 32 | page)
    }

    pub(crate) fn metadata(block: u64) -> Self {
        Self::of(METADATA, block)
    }

    pub(crate) fn is_metadata(self) -> bool {
        self.file() == METADATA
    }

    /// Its file.
    pub(crate) fn file(self) -> FileId {
        FileId((self.0 >> 32) as u32)
    }

    /// Its page in the file; of metadata, the block.
    pub(crate) fn page(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }
}

/// The state of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageState {
    /// It is being read, and cannot be used yet.
    Reading,
    /// It equals the disk.
    Clean,
    /// It was changed and must be written back.
    Dirty,
    /// It is being written back.
    Writing,
}

/// A page in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Where it is on the device, in blocks.
    pub(crate) block: u64,
    pub(crate) state: PageState,
    /// Whether it was changed during its write-back.
    changed_since: bool,
    /// Whether it is locked during its write-back.
    pub(crate) is_locked: bool,
    /// Whether it will be locked during its next write-back.
    pub(crate) locks: bool,
    /// Its request, if that is in flight, or read the page ahead and no process has wanted it since.
    pub(crate) request: Option<usize>,
    /// Whether it was read ahead and is unused.
    is_ahead: bool,
}

/// Pages in LRU order. Pages that are dirty or in flight are never evicted.
///
/// The syncer sweeps pages in the order of their frames in memory. On a machine that has been up for a while, consecutive pages
/// have scattered frames. So the frames here are shuffled.
#[derive(Clone, Debug)]
pub(crate) struct PageCache {
    pages: Lru<PageKey, Page>,
    capacity: u32,
    /// The place in each frame of memory, in order.
    memory: Arc<[u32]>,
    /// Places used so far.
    places: u32,
    /// Dirty metadata blocks, and some that are no longer dirty.
    dirty_metadata: Vec<PageKey>,
    dirty: u32,
    writing: u32,
    report: PageCacheReport,
}

impl PageCache {
    pub(crate) fn new(capacity: u32) -> Self {
        let mut memory: Vec<u32> = (0..capacity).collect();
        memory.shuffle(&mut Pcg64Mcg::seed_from_u64(u64::from(capacity)));
        Self {
            memory: memory.into(),
            pages: Lru::new(capacity),
            capacity,
            places: 0,
            dirty_metadata: Vec::new(),
            dirty: 0,
            writing: 0,
            report: PageCacheReport { pages: u64::from(capacity), ..PageCacheReport::default() },
        }
    }

    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The number of dirty pages.
    pub(crate) const fn dirty(&self) -> u32 {
        self.dirty
    }

    /// The number of pages that differ from the disk: dirty, or being written.
    pub(crate) const fn unsaved(&self) -> u32 {
        self.dirty + self.writing
    }

    /// Restarts the report.
    pub(crate) fn restart_report(&mut self) {
        self.report = PageCacheReport { pages: self.report.pages, ..PageCacheReport::default() };
    }

    pub(crate) const fn report(&self) -> &PageCacheReport {
        &self.report
    }

    pub(crate) fn find(&self, key: PageKey) -> Option<u32> {
        self.pages.find(key)
    }

    pub(crate) fn get(&self, place: u32) -> &Page {
        self.pages.get(place)
    }

    pub(crate) fn key(&self, place: u32) -> PageKey {
        self.pages.key(place)
    }

    /// Whether there is room for a page, or a page to evict.
    pub(crate) fn has_room(&self) -> bool {
        !self.pages.is_full() || self.pages.oldest().is_some()
    }

    /// Adds a clean page. There must be room. Returns its place, and the request of the victim, if no process had wanted that
    /// page.
    pub(crate) fn insert(&mut self, key: PageKey, block: u64) -> (u32, Option<usize>) {
        let mut unwanted = None;
        if let Some(oldest) = self.pages.oldest().filter(|_| self.pages.is_full()) {
            self.report.evictions += 1;
            unwanted = self.remove(oldest);
        }
        let page = Page {
            block,
            state: PageState::Clean,
            changed_since: false,
            is_locked: false,
            locks: false,
            request: None,
            is_ahead: false,
        };
        let place = self.pages.insert(key, page);
        self.places = self.places.max(place + 1);
        (place, unwanted)
    }

    /// Removes a page that has no request in flight.
    fn remove(&mut self, place: u32) -> Option<usize> {
        let page = *self.get(place);
        self.report.read_ahead_unused += u64::from(page.is_ahead);
        self.set_state(place, PageState::Clean);
        self.pages.remove(place);
        page.request
    }

    fn set_state(&mut self, place: u32, state: PageState) {
        let old = std::mem::replace(&mut self.pages.get_mut(place).state, state);
        match (old == PageState::Clean, state == PageState::Clean) {
            (true, false) => self.pages.pin(place),
            (false, true) => self.pages.unpin(place),
            _ => {}
        }
        self.dirty += u32::from(state == PageState::Dirty);
        self.dirty -= u32::from(old == PageState::Dirty);
        self.writing += u32::from(state == PageState::Writing);
        self.writing -= u32::from(old == PageState::Writing);
    }

    /// Notes that its request was issued, to read or to write it.
    pub(crate) fn issued(&mut self, place: u32, request: usize, is_ahead: bool) {
        let page = self.pages.get_mut(place);
        debug_assert!(!matches!(page.state, PageState::Reading | PageState::Writing), "one request at a time");
        (page.request, page.is_ahead) = (Some(request), is_ahead);
        let state = match page.state {
            PageState::Dirty => PageState::Writing,
            _ => PageState::Reading,
        };
        page.is_locked = std::mem::take(&mut page.locks);
        self.report.written += u64::from(state == PageState::Writing);
        self.report.read_ahead += u64::from(is_ahead);
        self.set_state(place, state);
    }

    /// Notes that its request is complete. With `keeps`, the page holds the request until a process wants the page. Returns the
    /// request if it is no longer needed.
    pub(crate) fn completed(&mut self, key: PageKey, keeps: bool) -> Option<usize> {
        let place = self.find(key)?;
        let page = self.pages.get_mut(place);
        page.is_locked = false;
        let request = if keeps { None } else { page.request.take() };
        let state = if std::mem::take(&mut page.changed_since) { PageState::Dirty } else { PageState::Clean };
        self.set_state(place, state);
        if state == PageState::Dirty && key.is_metadata() {
            self.dirty_metadata.push(key);
        }
        request
    }

    /// Notes that a process wants the page. Returns its request, if that does not know yet.
    pub(crate) fn use_page(&mut self, place: u32) -> Option<usize> {
        self.pages.touch(place);
        let page = self.pages.get_mut(place);
        self.report.read_ahead_used += u64::from(std::mem::take(&mut page.is_ahead));
        page.request
    }

    /// Drops its complete request, which knows now that the page was wanted.
    pub(crate) fn forget_request(&mut self, place: u32) {
        self.pages.get_mut(place).request = None;
    }

    /// Notes a change. The page must not be being read. If it is being written, it will be written again.
    pub(crate) fn change(&mut self, place: u32, locks: bool) {
        let key = self.key(place);
        let page = self.pages.get_mut(place);
        page.locks |= locks;
        match page.state {
            PageState::Writing => page.changed_since = true,
            PageState::Dirty => {}
            PageState::Clean | PageState::Reading => {
                self.set_state(place, PageState::Dirty);
                if key.is_metadata() {
                    self.dirty_metadata.push(key);
                }
            }
        }
    }

    /// Its place, if it is being read or written.
    pub(crate) fn find_in_flight(&self, key: PageKey) -> Option<u32> {
        self.find(key).filter(|&place| matches!(self.get(place).state, PageState::Reading | PageState::Writing))
    }

    /// Drops a page that belongs to no file any more, without write-back. It must not be in flight. Returns the request that is
    /// no longer needed.
    pub(crate) fn discard(&mut self, key: PageKey) -> Option<usize> {
        debug_assert_eq!(self.find_in_flight(key), None, "a removal waits for requests in flight");
        let place = self.find(key)?;
        self.remove(place)
    }

    /// Counts a lookup of a file page.
    pub(crate) fn count(&mut self, is_hit: bool) {
        self.report.hits += u64::from(is_hit);
        self.report.misses += u64::from(!is_hit);
    }

    /// Puts into `out` the dirty metadata blocks, in the order of their changes.
    pub(crate) fn dirty_metadata(&mut self, out: &mut Vec<PageKey>) {
        let dirty = std::mem::take(&mut self.dirty_metadata);
        out.extend(dirty.into_iter().filter(|&key| self.is_dirty(key)));
    }

    /// Puts into `out` the dirty file pages in `count` frames from `first` on, wrapping around.
    pub(crate) fn dirty_pages(&self, first: u32, count: u32, out: &mut Vec<PageKey>) {
        let frames = (0..count.min(self.capacity)).map(|n| (first + n) % self.capacity);
        let places = frames.map(|frame| self.memory[frame as usize]);
        let used = places.filter(|&place| place < self.places);
        let dirty = used.filter(|&place| self.get(place).state == PageState::Dirty);
        out.extend(dirty.map(|place| self.key(place)).filter(|key| !key.is_metadata()));
    }

    /// Whether a page differs from the disk.
    pub(crate) fn is_unsafe(&self, place: u32) -> bool {
        matches!(self.get(place).state, PageState::Dirty | PageState::Writing)
    }

    fn is_dirty(&self, key: PageKey) -> bool {
        self.find(key).is_some_and(|place| self.get(place).state == PageState::Dirty)
    }

    /// A page whose completion or write-back will make room.
    pub(crate) fn busy(&self) -> Option<u32> {
        let with = |state| (0..self.places).find(|&place| self.get(place).state == state);
        with(PageState::Writing).or_else(|| with(PageState::Reading)).or_else(|| with(PageState::Dirty))
    }
}
