//! What is removed, or truncated.

use super::CachedFileSystem;
use crate::file_call::FileId;
use crate::file_op::FileOp;
use crate::file_system::{BLOCK_BYTES, FileError, Metadata};
use crate::page_cache::PageKey;
use crate::requests::HostRequests;
use std::collections::VecDeque;

impl CachedFileSystem {
    /// Puts into `plan` the removal of `file`, or only of its data: what says where the blocks are is read, and then they go.
    pub(super) fn plan_removal(&mut self, file: FileId, keeps_name: bool, plan: &mut VecDeque<FileOp>) {
        self.freed.clear();
        self.system.own_metadata(file, &mut self.freed);
        self.metadata.extend(self.freed.iter().map(|&block| Metadata::read(block)));
        self.plan_metadata(plan);
        plan.push_back(FileOp::Drop { file, keeps_name, from: 0 });
    }

    /// The place of a page of `file` that is being read or written, of its data from page `from` on, then of its own metadata, then
    /// of the data before; and the page to look from next time.
    pub(crate) fn under_way(&mut self, file: FileId, from: u64) -> Option<(u64, u32)> {
        let pages = self.system.size(file).unwrap_or(0).div_ceil(BLOCK_BYTES);
        let of = |page| Some((page, self.cache.under_way(PageKey::of(file, page))?));
        if let Some(found) = (from..pages).find_map(of) {
            return Some(found);
        }
        self.freed.clear();
        self.system.own_metadata(file, &mut self.freed);
        let metadata = self.freed.iter().find_map(|&block| self.cache.under_way(PageKey::metadata(block)));
        metadata.map(|place| (pages, place)).or_else(|| (0..from.min(pages)).find_map(of))
    }

    /// Removes `file`, or only its data: its pages and its own metadata leave the cache, and nothing of it may be under way.
    /// Puts into `plan` what has to be changed, and releases those of the `requests` that are not needed any more. Returns the
    /// blocks of metadata that are free now.
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
