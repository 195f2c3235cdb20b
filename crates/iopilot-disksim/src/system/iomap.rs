//! [`IoMap`]: maps traced devices to simulated ones (DiskSim's `iosim`).

use std::collections::HashMap;

/// The mapping of one traced device's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoMapping {
    /// The simulated device or organisation.
    pub(crate) device: u32,
    /// The trace's unit of addresses, bytes: a multiple or a divisor of 512.
    pub(crate) unit: u64,
    /// Multiplies lengths.
    pub(crate) size_scale: u64,
    /// Added to addresses, blocks.
    pub(crate) offset: u64,
}

/// Mappings by traced device.
#[derive(Clone, Debug, Default)]
pub(crate) struct IoMap {
    mappings: HashMap<u64, IoMapping>,
}

impl IoMap {
    /// Of two mappings for one device, the first is used, as in DiskSim.
    pub(crate) fn new(mappings: impl IntoIterator<Item = (u64, IoMapping)>) -> Self {
        let mut map = Self::default();
        for (device, mapping) in mappings {
            map.mappings.entry(device).or_insert(mapping);
        }
        map
    }

    /// Maps a traced request to device, block and count. A device without a mapping keeps its number.
    ///
    /// # Errors
    /// If the address is not a whole number of blocks, or a number is too large: returns what was expected.
    pub(crate) fn map(&self, device: u64, lba: u64, sectors: u64) -> Result<(u32, u64, u32), String> {
        let Some(mapping) = self.mappings.get(&device) else {
            let device = u32::try_from(device).map_err(|_| "a device number below 2^32".to_owned())?;
            return Ok((device, lba, narrow(sectors)?));
        };
        let lba = if mapping.unit >= 512 {
            lba.checked_mul(mapping.unit / 512)
        } else if lba % (512 / mapping.unit) == 0 {
            Some(lba / (512 / mapping.unit))
        } else {
            return Err(format!("a multiple of {}, as the mapping's locScale is {}", 512 / mapping.unit, mapping.unit));
        };
        let lba = lba.and_then(|lba| lba.checked_add(mapping.offset)).ok_or("an address below 2^64 blocks")?;
        let sectors = sectors.checked_mul(mapping.size_scale).ok_or("a length below 2^32 blocks")?;
        Ok((mapping.device, lba, narrow(sectors)?))
    }
}

fn narrow(sectors: u64) -> Result<u32, String> {
    match u32::try_from(sectors) {
        Ok(0) | Err(_) => Err("a length of 1 to 2^32 - 1 blocks".into()),
        Ok(sectors) => Ok(sectors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_scaled_and_then_moved() {
        let mapping = |unit| IoMapping { device: 3, unit, size_scale: 2, offset: 100 };
        let map = IoMap::new([(7, mapping(512)), (8, mapping(1024)), (9, mapping(256)), (7, mapping(4096))]);
        assert_eq!(map.map(7, 10, 4), Ok((3, 110, 8)));
        assert_eq!(map.map(8, 10, 4), Ok((3, 120, 8)));
        assert_eq!(map.map(9, 10, 4), Ok((3, 105, 8)));
        assert!(map.map(9, 11, 4).unwrap_err().contains("multiple of 2"));
        assert_eq!(map.map(1, 10, 4), Ok((1, 10, 4)));
        assert!(map.map(1, 10, 0).is_err());
    }
}
