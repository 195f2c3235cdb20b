//! [`Footprint`]: how much of the devices a trace touches.

use iopilot_block::{Lba, SECTOR_BYTES, Sectors};
use std::collections::BTreeMap;

/// Bytes of a granule: one bit each.
const GRANULE: u64 = 64 << 10;
const GRANULE_SECTORS: u64 = GRANULE / SECTOR_BYTES;

/// Granules of a page of the bitmap (256 MiB of a device), and the most pages: together 2 MiB and 1 TiB.
const PAGE: u64 = 4096;
const MOST_PAGES: usize = 4096;

/// A sparse bitmap of 64 KiB granules.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprint {
    pages: BTreeMap<(u32, u64), Box<[u64; PAGE as usize / 64]>>,
    granules: u64,
    truncated: bool,
}

impl Footprint {
    /// Marks the granules that hold these sectors.
    pub(super) fn add(&mut self, device: u32, lba: Lba, sectors: Sectors) {
        let first = lba.0 / GRANULE_SECTORS;
        let end = (lba.0 + u64::from(sectors.0)).div_ceil(GRANULE_SECTORS);
        let mut granule = first;
        while granule < end {
            let page = granule / PAGE;
            let upto = end.min((page + 1) * PAGE);
            if self.pages.len() == MOST_PAGES && !self.pages.contains_key(&(device, page)) {
                self.truncated = true;
            } else {
                let bits = self.pages.entry((device, page)).or_insert_with(|| Box::new([0; PAGE as usize / 64]));
                for g in granule % PAGE..granule % PAGE + (upto - granule) {
                    let (word, bit) = ((g / 64) as usize, 1 << (g % 64));
                    self.granules += u64::from(bits[word] & bit == 0);
                    bits[word] |= bit;
                }
            }
            granule = upto;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.granules * GRANULE
    }

    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_granules_once() {
        let mut f = Footprint::default();
        f.add(0, Lba(0), Sectors(8));
        f.add(0, Lba(8), Sectors(8));
        assert_eq!(f.bytes(), GRANULE);
        f.add(1, Lba(0), Sectors(8));
        f.add(0, Lba(127), Sectors(2));
        assert_eq!(f.bytes(), 3 * GRANULE);
        f.add(0, Lba(PAGE * 128 - 128), Sectors(256));
        assert_eq!(f.bytes(), 5 * GRANULE);
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut f = Footprint::default();
        for i in 0..2 * MOST_PAGES as u64 {
            f.add(0, Lba(i * PAGE * 128), Sectors(8));
        }
        assert!(f.truncated() && f.pages.len() == MOST_PAGES);
    }
}
