//! [`Extents`]: where the pages of a file are.

/// Pages of a file that are contiguous on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    /// The first page.
    page: u64,
    block: u64,
    length: u64,
}

/// The pages of a file without holes, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents(Vec<Extent>);

impl Extents {
    /// How many pages there are.
    pub(super) fn pages(&self) -> u64 {
        self.0.last().map_or(0, |last| last.page + last.length)
    }

    /// Adds a page at the end.
    pub(super) fn push(&mut self, block: u64) {
        let page = self.pages();
        match self.0.last_mut() {
            Some(last) if last.block + last.length == block => last.length += 1,
            _ => self.0.push(Extent { page, block, length: 1 }),
        }
    }

    /// The block of a page, and the number of contiguous pages from there. O(log extents).
    pub(super) fn find(&self, page: u64) -> Option<(u64, u64)> {
        let at = self.0.partition_point(|extent| extent.page + extent.length <= page);
        let extent = self.0.get(at)?;
        let into = page - extent.page;
        Some((extent.block + into, extent.length - into))
    }

    /// The block of the last page.
    pub(super) fn last_block(&self) -> Option<u64> {
        self.0.last().map(|last| last.block + last.length - 1)
    }

    /// The blocks of all pages, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|extent| extent.block..extent.block + extent.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_where_they_were_put() {
        let mut extents = Extents::default();
        [10, 11, 12, 40, 41, 7].into_iter().for_each(|block| extents.push(block));
        assert_eq!(extents.0.len(), 3);
        assert_eq!(extents.blocks().collect::<Vec<_>>(), [10, 11, 12, 40, 41, 7]);
        assert_eq!(
            [0, 2, 3, 5, 6].map(|page| extents.find(page)),
            [Some((10, 3)), Some((12, 1)), Some((40, 2)), Some((7, 1)), None]
        );
        assert_eq!((extents.pages(), extents.last_block()), (6, Some(7)));
    }
}
