//! [`AddressStreams`]: tells streams of requests apart by their addresses. Behind a block device, the processes are not
//! known.

use iopilot_block::{Lba, ProcessId, Sectors};

/// The most streams that are told apart.
const MOST: usize = 64;
/// A request within this many sectors of the end of a stream continues it: read-ahead may jump 2 MiB.
const NEAR: u64 = 4096;

/// The last position of each stream. A lookup is O(1): there are at most 64.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressStreams {
    /// Where each ended, and when it was last seen, as a count.
    ends: Vec<(u64, u64)>,
    seen: u64,
}

impl AddressStreams {
    /// The number of the stream that a request belongs to. A request that is near none begins a new one, in place of
    /// the least recently seen.
    pub(super) fn of(&mut self, lba: Lba, sectors: Sectors) -> ProcessId {
        self.seen += 1;
        let end = lba.0 + u64::from(sectors.0);
        let distance = |&(at, _): &(u64, u64)| at.abs_diff(lba.0).min(at.abs_diff(end));
        let near = self.ends.iter().enumerate().min_by_key(|(_, stream)| distance(stream));
        let number = match near {
            Some((number, stream)) if distance(stream) <= NEAR => number,
            _ if self.ends.len() < MOST => {
                self.ends.push((0, 0));
                self.ends.len() - 1
            }
            _ => self.ends.iter().enumerate().min_by_key(|(_, stream)| stream.1).map_or(0, |(number, _)| number),
        };
        self.ends[number] = (end, self.seen);
        ProcessId(number as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_by_where_they_go_on() {
        let mut streams = AddressStreams::default();
        let mut of = |lba| streams.of(Lba(lba), Sectors(8)).0;
        assert_eq!([of(1_000_000), of(9_000_000), of(1_000_008), of(8_999_992), of(1_002_000)], [1, 2, 1, 2, 1]);
        for n in 0..200 {
            of(20_000_000 + n * 100_000);
        }
        assert!(of(1_002_008) <= MOST as u32, "one that was forgotten begins again");
    }
}
