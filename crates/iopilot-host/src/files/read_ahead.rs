//! Sequential read-ahead.

use super::CachedFileSystem;
use crate::file_call::FileId;
use crate::file_system::PageMapping;
use crate::page_cache::PageKey;
use std::ops::Range;

/// How far a file has been read and read ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadAheadState {
    /// The page after the last page read.
    next: u64,
    /// The page after the last page read ahead.
    ahead: u64,
}

impl CachedFileSystem {
    /// The pages of `file` to read ahead for a reader of `page`, as (first, end). Only a sequential reader has read-ahead, and
    /// only up to the first page whose block is unknown.
    pub(crate) fn ahead(&mut self, file: FileId, page: u64) -> Option<(u64, u64)> {
        let progress = self.progress.entry(file).or_default();
        let is_in_order = page == progress.next;
        let first = if is_in_order { progress.ahead.max(page + 1) } else { 0 };
        *progress = ReadAheadState { next: page + 1, ahead: first };
        if !is_in_order {
            return None;
        }
        let wanted = first..(page + 1).saturating_add(u64::from(self.settings.read_ahead));
        let end = wanted.clone().find(|&page| self.known(file, page).is_none()).unwrap_or(wanted.end);
        if end <= first {
            return None;
        }
        self.progress.insert(file, ReadAheadState { next: page + 1, ahead: end });
        Some((first, end))
    }

    /// The first of these pages that is not cached, with its block.
    pub(crate) fn next_absent(&self, file: FileId, pages: Range<u64>) -> Option<(PageKey, u64)> {
        let mut keys = pages.map(|page| PageKey::of(file, page));
        let key = keys.find(|&key| self.cache.find(key).is_none())?;
        Some((key, self.known(file, key.page())?))
    }

    /// The block of a page, if it is known without reading metadata.
    fn known(&self, file: FileId, page: u64) -> Option<u64> {
        let PageMapping { block, by, .. } = self.system.map(file, page)?;
        by.is_none_or(|by| self.cache.find(PageKey::metadata(by)).is_some()).then_some(block)
    }
}
