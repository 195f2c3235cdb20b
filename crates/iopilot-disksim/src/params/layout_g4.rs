//! `dm_layout_g4`: repeated patterns of tracks, in a tree of indexes.

use super::fields::{BlockFields, Given, ModuleCheck, count, list};
use super::module::module;
use crate::parse::Value;
use iopilot_block::InputError;

/// The sectors of a track that hold blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackPatternParam {
    /// The first.
    pub low: u32,
    /// The last, included.
    pub high: u32,
    /// Sectors of the whole track.
    pub sectors_per_track: u32,
}

/// The child that an entry repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexChild {
    /// Another node of the tree.
    Index {
        /// Its number.
        node: u32,
    },
    /// A track.
    Track {
        /// The number of its pattern.
        pattern: u32,
        /// Its head.
        head: u32,
    },
}

/// Repetitions of one child. Block and cylinder are relative to the repetition of the node that holds the entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexEntry {
    /// First block.
    pub lbn: u64,
    /// Lowest cylinder; the highest where [`IndexEntry::cylinder_run`] is negative.
    pub cylinder: u32,
    /// Angle of the first repetition, revolutions.
    pub offset: f64,
    /// Blocks of a repetition.
    pub length: u64,
    /// Cylinders of a repetition.
    pub cylinder_length: u32,
    /// Angle from one repetition to the next, revolutions.
    pub angle_length: f64,
    /// Blocks of all repetitions.
    pub run: u64,
    /// Cylinders of all repetitions; negative where they descend.
    pub cylinder_run: i64,
    /// The repeated child.
    pub child: IndexChild,
}

/// Remapped blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G4RemapParam {
    /// First block.
    pub lbn: u64,
    /// Blocks.
    pub length: u64,
    /// Their cylinder.
    pub cylinder: u32,
    /// Their head.
    pub head: u32,
    /// The first of the sectors.
    pub sector: u32,
    /// Sectors of that track.
    pub sectors_per_track: u32,
}

module! {
    /// Patterns of tracks, and the tree that repeats them.
    LayoutG4 = "dm_layout_g4" {
        /// The patterns.
        track_patterns: Vec<TrackPatternParam> = "TP", track_patterns;
        /// The nodes of the tree; the last one is its root.
        index: Vec<Vec<IndexEntry>> = "IDX", index;
        /// Positions after which blocks are slipped, and how many, ascending.
        slips: Vec<(u64, u64)> = "Slips", slips;
        /// Remapped blocks.
        remaps: Vec<G4RemapParam> = "Remaps", remaps;
    }
}

impl ModuleCheck for LayoutG4 {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        for (number, node) in self.index.iter().enumerate() {
            for entry in node {
                let wrong = match entry.child {
                    IndexChild::Index { node: child } if child as usize >= self.index.len() => {
                        format!("node {number} to repeat one of the {} nodes, not {child}", self.index.len())
                    }
                    IndexChild::Track { pattern, .. } if pattern as usize >= self.track_patterns.len() => {
                        format!(
                            "node {number} to repeat one of the {} patterns, not {pattern}",
                            self.track_patterns.len()
                        )
                    }
                    _ => continue,
                };
                return Err(fields.refuse("IDX", wrong));
            }
        }
        if self.index.last().is_none_or(Vec::is_empty) {
            return Err(fields.refuse("IDX", "a root: a last node with entries"));
        }
        if let Some(two) = self.slips.windows(2).find(|two| two[0].0 >= two[1].0) {
            return Err(
                fields.refuse("Slips", format!("ascending positions, but {} stands before {}", two[0].0, two[1].0))
            );
        }
        Ok(())
    }
}

/// A flat list in groups of `N` numbers.
fn groups<const N: usize>(given: &Given<'_>, what: &str) -> Result<Vec<[u64; N]>, InputError> {
    let values = list(count)(given)?;
    if values.len() % N != 0 {
        return Err(given.refuse(format!("groups of {N} whole numbers: {what}; there are {}", values.len())));
    }
    let mut groups = Vec::with_capacity(values.len() / N);
    for chunk in values.chunks_exact(N) {
        let mut group = [0; N];
        group.copy_from_slice(chunk);
        groups.push(group);
    }
    Ok(groups)
}

fn narrow(given: &Given<'_>, value: u64) -> Result<u32, InputError> {
    let fits = u32::try_from(value).ok().filter(|&v| v < 1 << 31);
    fits.ok_or_else(|| given.refuse(format!("numbers below 2^31, not {value}")))
}

fn track_patterns(given: &Given<'_>) -> Result<Vec<TrackPatternParam>, InputError> {
    let mut patterns = Vec::new();
    for [low, high, sectors] in groups(given, "low and high sector, sectors per track")? {
        if low > high || high >= sectors {
            let expected =
                format!("a low sector, a high one not below it, more sectors per track; not {low}, {high}, {sectors}");
            return Err(given.refuse(expected));
        }
        let (low, high) = (narrow(given, low)?, narrow(given, high)?);
        patterns.push(TrackPatternParam { low, high, sectors_per_track: narrow(given, sectors)? });
    }
    Ok(patterns)
}

fn slips(given: &Given<'_>) -> Result<Vec<(u64, u64)>, InputError> {
    Ok(groups(given, "position, blocks")?.into_iter().map(|[at, blocks]| (at, blocks)).collect())
}

fn remaps(given: &Given<'_>) -> Result<Vec<G4RemapParam>, InputError> {
    let mut remaps = Vec::new();
    for [lbn, length, cylinder, head, sector, sectors] in
        groups(given, "block, length, cylinder, head, sector, sectors per track")?
    {
        let (cylinder, head) = (narrow(given, cylinder)?, narrow(given, head)?);
        let (sector, sectors_per_track) = (narrow(given, sector)?, narrow(given, sectors)?);
        if sectors_per_track == 0 || sector >= sectors_per_track {
            return Err(given.refuse(format!("sectors below the {sectors_per_track} of their track, not {sector}")));
        }
        remaps.push(G4RemapParam { lbn, length, cylinder, head, sector, sectors_per_track });
    }
    Ok(remaps)
}

fn index(given: &Given<'_>) -> Result<Vec<Vec<IndexEntry>>, InputError> {
    given.items()?.map(|item| node(&item)).collect()
}

/// Entries of 10 values, or of 11 where the child is a track.
fn node(given: &Given<'_>) -> Result<Vec<IndexEntry>, InputError> {
    let mut items = given.items()?;
    let mut entries = Vec::with_capacity(items.len() / 10);
    while items.len() > 0 {
        let mut next = || {
            items.next().ok_or_else(|| {
                given.refuse(
                    "entries of 10 values, lbn cyl off len cyllen alen runlen cylrunlen IDX child, or 11 with TRACK",
                )
            })
        };
        let lbn = count(&next()?)?;
        let cylinder = small(&next()?)?;
        let offset = angle(&next()?)?;
        let (length, cylinder_length) = (nonzero(&next()?)?, small(&next()?)?);
        let angle_length = angle(&next()?)?;
        let run = nonzero(&next()?)?;
        let cylinder_run = next()?.integer()?;
        let kind = next()?;
        let number = small(&next()?)?;
        let child = match kind.value {
            Value::Word(word) if &**word == "IDX" => IndexChild::Index { node: number },
            Value::Word(word) if &**word == "TRACK" => IndexChild::Track { pattern: number, head: small(&next()?)? },
            _ => return Err(kind.refuse("IDX or TRACK")),
        };
        if cylinder_run.unsigned_abs() >= 1 << 31 || lbn.checked_add(run).is_none_or(|end| end >= 1 << 62) {
            return Err(kind.refuse("an entry of less than 2^31 cylinders and 2^62 blocks"));
        }
        entries.push(IndexEntry {
            lbn,
            cylinder,
            offset,
            length,
            cylinder_length,
            angle_length,
            run,
            cylinder_run,
            child,
        });
    }
    Ok(entries)
}

fn small(given: &Given<'_>) -> Result<u32, InputError> {
    narrow(given, count(given)?)
}

fn nonzero(given: &Given<'_>) -> Result<u64, InputError> {
    super::fields::positive(given)
}

fn angle(given: &Given<'_>) -> Result<f64, InputError> {
    super::fields::real(-1.0..=1.0)(given)
}
