//! Removal and truncation of files.

use super::CachedFileSystem;
use crate::file_call::FileId;
use crate::file_op::FileOp;
use crate::file_system::{BLOCK_BYTES, FileError, Metadata};
use crate::page_cache::PageKey;
use crate::requests::HostRequests;
use std::collections::VecDeque;

impl CachedFileSystem {
    /// Puts into `plan` the removal of `file`, or only of its data: its block map is read, then its blocks are freed.
    pub(super) fn plan_removal(&mut self, file: FileId, keeps_name: bool, plan: &mut VecDeque<FileOp>) {
        self.freed.clear();
        self.system.own_metadata(file, &mut self.freed);
        self.metadata.extend(self.freed.iter().map(|&block| Metadata::read(block)));
        self.plan_metadata(plan);
        plan.push_back(FileOp::Drop { file, keeps_name, from: 0 });
    }

    /// The place of a page of `file` with a request in flight, and the page to search from next time. The search covers data
    /// from page `from` on, then the file's own metadata, then the data before `from`.
    pub(crate) fn find_in_flight(&mut self, file: FileId, from: u64) -> Option<(u64, u32)> {
        let pages = self.system.size(file).unwrap_or(0).div_ceil(BLOCK_BYTES);
        let of = |page| Some((page, self.cache.find_in_flight(PageKey::of(file, page))?));
        if let Some(found) = (from..pages).find_map(of) {
            return Some(found);
        }
        self.freed.clear();
        self.system.own_metadata(file, &mut self.freed);
        let metadata = self.freed.iter().find_map(|&block| self.cache.find_in_flight(PageKey::metadata(block)));
        metadata.map(|place| (pages, place)).or_else(|| (0..from.min(pages)).find_map(of))
    }

    /// Removes `file`, or only its data. No request for it may be in flight. Its pages and its own metadata leave the cache.
    /// Puts the changes into `plan`, and releases the `requests` that are no longer needed. Returns the metadata blocks that
    /// are now free.
    pub(crate) fn drop_pages(
        &mut self,
        file: FileId,
        keeps_name: bool,
        plan: &mut VecDeque<FileOp>,
        requests: &mut HostRequests,
    ) -> Result<&[u64], FileError> {
        let pages = self.system.size(file)?.div_ceil(BLOCK_BYTES);
        self.freed.clear();
        self.metadata.clear();
        self.system.own_metadata(file, &mut self.freed);
        if keeps_name {
            self.system.truncate(file, &mut self.metadata)?;
        } else {
            self.system.remove(file, &mut self.metadata)?;
        }
        self.progress.remove(&file);
        let freed = self.freed.iter().map(|&block| PageKey::metadata(block));
        let keys = (0..pages).map(|page| PageKey::of(file, page)).chain(freed);
        keys.filter_map(|key| self.cache.discard(key)).for_each(|unwanted| requests.release(unwanted));
        self.plan_metadata(plan);
        Ok(&self.freed)
    }
}
