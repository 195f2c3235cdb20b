//! Addresses and lengths on a device, in 512-byte sectors.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Bytes in a sector. Like Linux, iopilot counts in these whatever the device's block size is.
pub const SECTOR_BYTES: u64 = 512;

/// A logical block address: the number of a 512-byte sector on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lba(pub u64);

/// A length in 512-byte sectors; 32 bits hold requests of up to 2 TiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sectors(pub u32);

impl Lba {
    /// The distance to `other` in sectors, in either direction.
    pub const fn distance(self, other: Self) -> u64 {
        self.0.abs_diff(other.0)
    }
}

impl Sectors {
    /// The sectors that hold `bytes` bytes, rounded up; `None` if the number does not fit 32 bits.
    pub fn from_bytes(bytes: u64) -> Option<Self> {
        u32::try_from(bytes.div_ceil(SECTOR_BYTES)).ok().map(Self)
    }

    /// This length in bytes.
    pub const fn bytes(self) -> u64 {
        self.0 as u64 * SECTOR_BYTES
    }
}

impl Add<Sectors> for Lba {
    type Output = Self;
    fn add(self, n: Sectors) -> Self {
        Self(self.0 + u64::from(n.0))
    }
}

impl Sub<Sectors> for Lba {
    type Output = Self;
    fn sub(self, n: Sectors) -> Self {
        Self(self.0 - u64::from(n.0))
    }
}

impl Add for Sectors {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Sectors {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_up_to_whole_sectors() {
        assert_eq!(Sectors::from_bytes(0), Some(Sectors(0)));
        assert_eq!(Sectors::from_bytes(513), Some(Sectors(2)));
        assert_eq!(Sectors::from_bytes(u64::MAX), None);
        assert_eq!(Sectors(8).bytes(), 4096);
    }
}
