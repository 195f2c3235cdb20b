//! [`G4Layout`]: the parameters of DiskSim's layout g4.

/// Blocks as nested repetitions of tracks (DiskSim 4.0 `dm_layout_g4`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct G4Layout {
    /// Recording surfaces (`Number of data surfaces`).
    pub heads: u32,
    /// Cylinders of the drive (`Number of cylinders`).
    pub cylinders: u32,
    /// Blocks (`Block count`), or as many as the index holds.
    pub capacity: u64,
    /// `TP`.
    pub patterns: Vec<TrackPattern>,
    /// `IDX`: the last is the root.
    pub nodes: Vec<Vec<G4Entry>>,
    /// `Slips`: rising places, in the nodes' numbers, and how many sectors are skipped there.
    pub slips: Vec<(u64, u64)>,
    /// `Remaps`.
    pub remaps: Vec<G4Remap>,
}

/// A kind of track, whose sectors `low` to `high` hold blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackPattern {
    /// First sector.
    pub low: u32,
    /// Last sector.
    pub high: u32,
    /// Sectors in a revolution.
    pub per_turn: u32,
}

/// A repeated child. Starts are relative to the entry's node, angles are in revolutions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct G4Entry {
    /// Its first block (`lbn`).
    pub first: u64,
    /// Its first cylinder, or the highest if it descends (`cyl`).
    pub cylinder: u32,
    /// The start angle of its first track (`off`).
    pub offset: f64,
    /// Blocks until the child repeats (`len`).
    pub blocks: u64,
    /// Cylinders until it repeats (`cyllen`).
    pub cylinders: u32,
    /// The angle added at each repetition (`alen`).
    pub turn: f64,
    /// Blocks of all repetitions (`runlen`).
    pub run_blocks: u64,
    /// Cylinders of all repetitions; negative if each lies before the previous one (`cylrunlen`).
    pub run_cylinders: i64,
    /// The repeated child.
    pub child: G4Child,
}

/// The child that an entry repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum G4Child {
    /// The node with this number.
    Node(usize),
    /// A track.
    Track {
        /// The number of its pattern.
        pattern: usize,
        /// Its head.
        head: u32,
    },
}

/// Remapped blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct G4Remap {
    /// The first block.
    pub first: u64,
    /// The number of blocks.
    pub blocks: u32,
    /// Their cylinder.
    pub cylinder: u32,
    /// Their head.
    pub head: u32,
    /// The sector of the first block.
    pub sector: u32,
    /// Sectors in a revolution there.
    pub per_turn: u32,
}
