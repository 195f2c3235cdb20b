//! [`PageCache`]: which pages of files, and which blocks of metadata, are in memory.

use crate::file_call::FileId;
use iopilot_block::{PageCacheReport, Lru};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// A page: of a file; or a block of metadata, by its address on the device.
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

    /// Of which file it is.
    pub(crate) fn file(self) -> FileId {
        FileId((self.0 >> 32) as u32)
    }

    /// Which page of it; of metadata, which block.
    pub(crate) fn page(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }
}

/// What a page is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageState {
    /// It is being read, and is of no use before.
    Reading,
    /// It is as on the disk.
    Clean,
    /// It has been changed.
    Dirty,
    /// It is being written.
    Writing,
}

/// A page in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Where it is on the device, in blocks.
    pub(crate) block: u64,
    pub(crate) state: PageState,
    /// Whether it was changed while it was being written.
    changed_since: bool,
    /// Whether who wants it while it is being written waits.
    pub(crate) is_locked: bool,
    /// The same for when it is next written.
    pub(crate) locks: bool,
    /// Its request, if that is under way, or was made ahead and nobody has wanted the page since.
    pub(crate) request: Option<usize>,
    /// Whether it was read ahead and has not been used.
    is_ahead: bool,
}

/// Pages in order of use. Those that are dirty, or under way, stay.
///
/// Pages are swept in the order of their places in memory. On a machine that has been up for a while pages that came one after
/// the other are anywhere in memory: so here.
#[derive(Clone, Debug)]
pub(crate) struct PageCache {
    pages: Lru<PageKey, Page>,
    capacity: u32,
    /// The places in the order of memory.
    memory: Arc<[u32]>,
    /// Places that have been used.
    places: u32,
    /// Dirty blocks of metadata, and some that were.
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

    /// How many pages are dirty.
    pub(crate) const fn dirty(&self) -> u32 {
        self.dirty
    }

    /// How many pages are not as on the disk: dirty, or being written.
    pub(crate) const fn unsaved(&self) -> u32 {
        self.dirty + self.writing
    }

    /// Begins the report anew.
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

    /// Whether there is room for a page, or one that can go.
    pub(crate) fn has_room(&self) -> bool {
        !self.pages.is_full() || self.pages.oldest().is_some()
    }

    /// Adds a page that is clean. There must be room. Returns the place, and the request of the page that had to go for it, where
    /// nobody had wanted that.
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

    /// Takes a page out that is not under way.
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

    /// Its request has been issued: to read it, or to write it.
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

    /// Its request is complete; `keeps` it until somebody wants the page. Returns the request if it is not needed any more.
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

    /// It is wanted. Returns its request, where that is still to be told so.
    pub(crate) fn use_page(&mut self, place: u32) -> Option<usize> {
        self.pages.touch(place);
        let page = self.pages.get_mut(place);
        self.report.read_ahead_used += u64::from(std::mem::take(&mut page.is_ahead));
        page.request
    }

    /// Its request, which is complete, has been told that the page was wanted.
    pub(crate) fn forget_request(&mut self, place: u32) {
        self.pages.get_mut(place).request = None;
    }

    /// It has been changed. It must not be on its way in. If it is being written, it is written again.
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

    /// Where it is, if it is being read or written.
    pub(crate) fn under_way(&self, key: PageKey) -> Option<u32> {
        self.find(key).filter(|&place| matches!(self.get(place).state, PageState::Reading | PageState::Writing))
    }

    /// What it holds is of no file any more: it goes without being written. It must not be under way. Returns the request that is
    /// not needed any more.
    pub(crate) fn discard(&mut self, key: PageKey) -> Option<usize> {
        debug_assert_eq!(self.under_way(key), None, "who removes a file waits for what is under way");
        let place = self.find(key)?;
        self.remove(place)
    }

    /// Counts a look for a page of a file.
    pub(crate) fn count(&mut self, is_hit: bool) {
        self.report.hits += u64::from(is_hit);
        self.report.misses += u64::from(!is_hit);
    }

    /// Puts into `out` the dirty blocks of metadata, in the order in which they were changed.
    pub(crate) fn dirty_metadata(&mut self, out: &mut Vec<PageKey>) {
        let dirty = std::mem::take(&mut self.dirty_metadata);
        out.extend(dirty.into_iter().filter(|&key| self.is_dirty(key)));
    }

    /// Puts into `out` the dirty pages of files in `count` places of memory from `first` on, around.
    pub(crate) fn dirty_pages(&self, first: u32, count: u32, out: &mut Vec<PageKey>) {
        let frames = (0..count.min(self.capacity)).map(|n| (first + n) % self.capacity);
        let places = frames.map(|frame| self.memory[frame as usize]);
        let used = places.filter(|&place| place < self.places);
        let dirty = used.filter(|&place| self.get(place).state == PageState::Dirty);
        out.extend(dirty.map(|place| self.key(place)).filter(|key| !key.is_metadata()));
    }

    /// Whether a page is not as on the disk.
    pub(crate) fn is_unsafe(&self, place: u32) -> bool {
        matches!(self.get(place).state, PageState::Dirty | PageState::Writing)
    }

    fn is_dirty(&self, key: PageKey) -> bool {
        self.find(key).is_some_and(|place| self.get(place).state == PageState::Dirty)
    }

    /// A page that is under way, or has to be written, so that there will be room.
    pub(crate) fn busy(&self) -> Option<u32> {
        let with = |state| (0..self.places).find(|&place| self.get(place).state == state);
        with(PageState::Writing).or_else(|| with(PageState::Reading)).or_else(|| with(PageState::Dirty))
    }
}
