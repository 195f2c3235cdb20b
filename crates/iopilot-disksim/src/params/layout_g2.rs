//! `dm_layout_g2`: a map of extents in a separate file.

use super::choice::choice;
use super::data_file::{DataFile, DataLine};
use super::fields::{BlockFields, Given, ModuleCheck, block, count, list, real, whole};
use super::layout_g1::SkewUnits;
use super::module::module;
use iopilot_block::InputError;

module! {
    /// Extents and zones.
    LayoutG2 = "dm_layout_g2" {
        /// The extents, read from the file.
        layout_map: LayoutMap = "Layout Map File", LayoutMap::read;
        /// The zones, in block order.
        zones: Vec<LayoutG2Zone> = "Zones", list(block);
    }
}

impl ModuleCheck for LayoutG2 {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.zones.is_empty() { Err(fields.refuse("Zones", "at least one zone")) } else { Ok(()) }
    }
}

module! {
    /// Cylinders with the same number of sectors on each track.
    LayoutG2Zone = "dm_layout_g2_zone" {
        /// Its first cylinder.
        first_cylinder_number: u32 = "First cylinder number", whole(0..=99_999_999);
        /// Its last cylinder, included.
        last_cylinder_number: u32 = "Last cylinder number", whole(0..=99_999_999);
        /// Its first block.
        first_lbn: u64 = "First LBN", count;
        /// Its last block, included.
        last_lbn: u64 = "Last LBN", count;
        /// Sectors on each track.
        blocks_per_track: u32 = "Blocks per track", whole(1..=10_000_000);
        /// The unit of the skews.
        skew_units: SkewUnits = "Skew units", choice, or SkewUnits::Sectors;
        /// The angle at which it starts, in skew units.
        zone_skew: f64 = "Zone Skew", real(-1e9..=1e9), or 0.0;
        /// The skew after a change of head, in skew units.
        skew_for_track_switch: f64 = "Skew for track switch", real(-1e9..=1e9), or 0.0;
        /// The skew after a change of cylinder, in skew units.
        skew_for_cylinder_switch: f64 = "Skew for cylinder switch", real(-1e9..=1e9), or 0.0;
    }
}

impl ModuleCheck for LayoutG2Zone {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.last_cylinder_number < self.first_cylinder_number {
            let expected = format!("at least {}, the first", self.first_cylinder_number);
            return Err(fields.refuse("Last cylinder number", expected));
        }
        if self.last_lbn < self.first_lbn {
            return Err(fields.refuse("Last LBN", format!("at least {}, the first", self.first_lbn)));
        }
        let units = fields.position("Skew units");
        for name in ["Zone Skew", "Skew for track switch", "Skew for cylinder switch"] {
            if units.is_some() && fields.position(name).is_some_and(|at| units > Some(at)) {
                return Err(fields.refuse("Skew units", format!("to stand before {name}, for which it holds")));
            }
        }
        Ok(())
    }
}

/// Consecutive blocks on one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapExtent {
    /// First block.
    pub lbn: u64,
    /// Cylinder.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
    /// Sector of the first block.
    pub sector: u32,
    /// Blocks.
    pub blocks: u32,
}

/// A sector that holds no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapDefect {
    /// Cylinder.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
    /// Sector.
    pub sector: u32,
}

/// The file that a layout g2 names.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutMap {
    /// Cylinders of the disk.
    pub cylinders: u32,
    /// Heads.
    pub heads: u32,
    /// Extents by first block.
    pub extents: Vec<MapExtent>,
    /// Sectors that hold no block.
    pub defects: Vec<MapDefect>,
}

impl LayoutMap {
    /// Two lines that are ignored, a line with the size, then extents, then defects.
    fn read(given: &Given<'_>) -> Result<Self, InputError> {
        Self::of(&DataFile::open(given)?)
    }

    fn of(file: &DataFile) -> Result<Self, InputError> {
        let mut lines = file.lines().skip(2);
        let Some(size) = lines.next() else {
            return Err(file.refuse("size", "", "`N cylinders, N rot, N heads` in the third line"));
        };
        let [cylinders, _, heads] = numbers(&size, "size", ["", "cylinders,", "rot,"])?;
        let mut map = Self {
            cylinders: narrow(&size, cylinders)?,
            heads: narrow(&size, heads)?,
            extents: Vec::new(),
            defects: Vec::new(),
        };
        for line in lines.filter(|line| !line.text.is_empty()) {
            if line.text.starts_with("Defect") {
                let [cylinder, head, sector] = numbers(&line, "defect", ["Defect at cyl", "head", "sect"])?;
                let [cylinder, head, sector] = [narrow(&line, cylinder)?, narrow(&line, head)?, narrow(&line, sector)?];
                map.defects.push(MapDefect { cylinder, head, sector });
                continue;
            }
            let extent = map.extent(&line)?;
            if map.extents.last().is_some_and(|last| last.lbn + u64::from(last.blocks) > extent.lbn) {
                return Err(line.refuse("lbn", &extent.lbn.to_string(), "blocks behind those of the line before"));
            }
            map.extents.push(extent);
        }
        if map.extents.is_empty() {
            return Err(file.refuse("extents", "", "at least one line `lbn L --> cyl C, head H, sect S, seqcnt N`"));
        }
        Ok(map)
    }

    fn extent(&self, line: &DataLine<'_>) -> Result<MapExtent, InputError> {
        let [lbn, cylinder, head, sector, more] =
            numbers(line, "extent", ["lbn", "--> cyl", "head", "sect", "seqcnt"])?;
        let (cylinder, head): (u32, u32) = (narrow(line, cylinder)?, narrow(line, head)?);
        if cylinder >= self.cylinders || head >= self.heads {
            let expected = format!("a cylinder below {} and a head below {}", self.cylinders, self.heads);
            return Err(line.refuse("extent", line.text, expected));
        }
        let blocks = narrow(line, more.saturating_add(1))?;
        // The sum with its length must not overflow.
        let lbn = Some(lbn).filter(|lbn| *lbn < 1 << 62);
        let lbn = lbn.ok_or_else(|| line.refuse("lbn", line.text, "a block address below 2^62"))?;
        Ok(MapExtent { lbn, cylinder, head, sector: narrow(line, sector)?, blocks })
    }
}

fn narrow(line: &DataLine<'_>, value: u64) -> Result<u32, InputError> {
    u32::try_from(value)
        .ok()
        .filter(|&v| v < 1 << 31)
        .ok_or_else(|| line.refuse("number", &value.to_string(), "a cylinder, head, sector or length below 2^31"))
}

/// The numbers of a line, each after its label; commas are ignored.
fn numbers<const N: usize>(line: &DataLine<'_>, field: &str, labels: [&str; N]) -> Result<[u64; N], InputError> {
    let mut found = [0; N];
    let mut rest = line.text;
    for (number, label) in found.iter_mut().zip(labels) {
        let shape =
            || format!("{} and a number", if label.is_empty() { "a line that begins with a number," } else { label });
        rest = rest.trim_start_matches([' ', '\t', ',']);
        rest = rest.strip_prefix(label.trim_end_matches(',')).ok_or_else(|| line.refuse(field, line.text, shape()))?;
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        *number = rest[..digits].parse().map_err(|_| line.refuse(field, line.text, shape()))?;
        rest = &rest[digits..];
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{FileLine, ParameterFiles, Value};

    fn map(text: &str) -> Result<LayoutMap, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m"), text).unwrap();
        let (files, value) = (ParameterFiles::default(), Value::Word(folder.path().join("m").to_str().unwrap().into()));
        let spec = crate::Spec::parse("", "t", Some(folder.path())).unwrap();
        drop(files);
        let given = Given { files: &spec.files, name: "Layout Map File", place: FileLine::default(), value: &value };
        LayoutMap::read(&given).map_err(|e| e.to_string())
    }

    const HEAD: &str = "a drive\nof yesterday\n100 cylinders, 90 rot, 4 heads\n";

    #[test]
    fn a_line_is_one_block_more_than_its_count() {
        let text = format!(
            "{HEAD}lbn 0 --> cyl 0, head 0, sect 0, seqcnt 99\nlbn 100 --> cyl 0, head 1, sect 5, seqcnt 0\nDefect at cyl 3, head 1, sect 7\n"
        );
        let map = map(&text).unwrap();
        assert_eq!((map.cylinders, map.heads, map.extents.len()), (100, 4, 2));
        assert_eq!(map.extents[0].blocks, 100);
        assert_eq!(map.extents[1], MapExtent { lbn: 100, cylinder: 0, head: 1, sector: 5, blocks: 1 });
        assert_eq!(map.defects, [MapDefect { cylinder: 3, head: 1, sector: 7 }]);
    }

    #[test]
    fn lines_of_another_shape_are_named() {
        let e = map(&format!("{HEAD}lbn 0 --> cyl 0, head 9, sect 0, seqcnt 9\n")).unwrap_err();
        assert!(e.contains("/m:4: extent: ") && e.ends_with("a cylinder below 100 and a head below 4"), "{e}");
        let e = map(&format!("{HEAD}lbn 0 --> cyl 0, head 0\n")).unwrap_err();
        assert!(e.contains("/m:4: ") && e.ends_with("expected sect and a number"), "{e}");
        let line = "lbn 5 --> cyl 0, head 0, sect 0, seqcnt 9\n";
        assert!(map(&format!("{HEAD}{line}{line}")).unwrap_err().contains("/m:5: lbn: got 5"));
        assert!(map("a\nb\n").unwrap_err().contains("in the third line"));
        assert!(map(HEAD).unwrap_err().contains("at least one line"));
    }
}
