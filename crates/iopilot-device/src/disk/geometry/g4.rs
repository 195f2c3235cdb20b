//! [`G4`]: DiskSim's layout g4: nested repetitions, with slips and remapped blocks.

mod check;
mod index;
mod layout;
#[cfg(test)]
mod tests;

pub use layout::{G4Child, G4Entry, G4Layout, G4Remap, TrackPattern};

use super::starts::Starts;
use super::track::{Track, ZoneSpan, fraction};
use index::{Index, Leaf};
use iopilot_block::InputError;
use std::ops::Range;

/// The map of [`G4Layout`]: see the module.
#[derive(Clone, Debug)]
pub(super) struct G4 {
    index: Index,
    /// A stretch is the blocks from one slip or remap to the next. A block's place is its number plus the stretch's
    /// shift.
    stretches: Starts,
    shifts: Box<[u64]>,
    /// The remapped stretches, rising.
    remapped: Box<[Remapped]>,
    zones: Box<[ZoneSpan]>,
    cylinders: u32,
    capacity: u64,
}

#[derive(Clone, Copy, Debug)]
struct Remapped {
    stretch: usize,
    to: G4Remap,
    /// The start angle of its first block, in revolutions.
    angle: f64,
}

impl G4 {
    pub(super) fn new(layout: &G4Layout) -> Result<Self, InputError> {
        let (places, cylinders) = check::layout(layout)?;
        let index = Index::new(layout);
        // The first block of each shift. A slip that the shift of the previous one jumps over begins with that one.
        let mut slips = vec![(0, 0)];
        let mut by = 0;
        for &(place, n) in &layout.slips {
            let first = place.saturating_sub(by);
            by += n;
            match slips.last_mut() {
                Some(last) if first <= last.0 => last.1 = by,
                _ => slips.push((first, by)),
            }
        }
        // A slip with no place behind it ends the disk.
        let held = slips.partition_point(|shift| shift.0 < places.saturating_sub(shift.1));
        let end = slips.get(held).map_or(u64::MAX, |shift| shift.0);
        slips.truncate(held);
        let Some(&(_, by)) = slips.last() else {
            return Err(InputError::new("Slips", "all sectors", "fewer than the index has"));
        };
        let capacity = layout.capacity.min(places - by).min(end);
        if capacity == 0 {
            return Err(InputError::new("Block count", "0", "at least 1"));
        }
        check::remapped(layout, capacity)?;
        let (firsts, shifts, remapped) = stretches(layout, &index, &slips, capacity);
        let stretches = Starts::new(firsts, capacity);
        let mut g4 = Self { index, stretches, shifts, remapped, zones: Box::default(), cylinders, capacity };
        g4.zones = g4.spans(layout);
        Ok(g4)
    }

    fn spans(&self, layout: &G4Layout) -> Box<[ZoneSpan]> {
        let Some(root) = layout.nodes.last() else { return Box::default() };
        let span = |e: &G4Entry| {
            let (first, end) = (self.block_from(e.first), self.block_from(e.first + e.run_blocks));
            let reach = e.run_cylinders.unsigned_abs().max(1) - 1;
            let (low, high) = match e.run_cylinders {
                ..0 => (u64::from(e.cylinder).saturating_sub(reach), u64::from(e.cylinder)),
                _ => (u64::from(e.cylinder), u64::from(e.cylinder) + reach),
            };
            let last = u64::from(self.cylinders - 1);
            ZoneSpan {
                first_cylinder: low.min(last) as u32,
                last_cylinder: high.min(last) as u32,
                first_block: first,
                blocks: end - first,
                per_turn: self.index.leaf_of(e.first).per_turn,
            }
        };
        root.iter().map(span).filter(|zone| zone.blocks > 0).collect()
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    pub(super) fn zones(&self) -> Vec<ZoneSpan> {
        self.zones.to_vec()
    }

    #[inline]
    pub(super) fn track_of(&self, lba: u64) -> Track {
        self.track(if self.shifts.len() == 1 { 0 } else { self.stretches.find(lba) }, lba)
    }

    #[inline]
    pub(super) fn next_track(&self, track: &Track) -> Track {
        let i = track.ordinal as usize;
        self.track(i + usize::from(track.end() >= self.stretches.end(i)), track.end())
    }

    /// The track of block `lba`, which is in stretch `i`.
    #[inline]
    fn track(&self, i: usize, lba: u64) -> Track {
        if let Some(remapped) = self.remapped(i) {
            return self.elsewhere(remapped);
        }
        let shift = self.shifts[i];
        let leaf = self.index.leaf_of(lba + shift);
        let first = leaf.first.saturating_sub(shift).max(self.stretches.first(i));
        let end = (leaf.end - shift).min(self.stretches.end(i));
        let before = first + shift - leaf.first;
        Track {
            zone: leaf.zone,
            ordinal: i as u32,
            cylinder: leaf.cylinder,
            head: leaf.head,
            sectors: (end - first) as u32,
            per_turn: leaf.per_turn,
            sector: leaf.sector + before as u32,
            first,
            angle: fraction(leaf.angle + before as f64 / f64::from(leaf.per_turn)),
        }
    }

    /// The place of stretch `i` if it was remapped.
    #[inline]
    fn remapped(&self, i: usize) -> Option<&Remapped> {
        if self.remapped.is_empty() {
            return None;
        }
        self.remapped.binary_search_by_key(&i, |r| r.stretch).ok().map(|at| &self.remapped[at])
    }

    #[cold]
    fn elsewhere(&self, remapped: &Remapped) -> Track {
        let first = self.stretches.first(remapped.stretch);
        let before = first - remapped.to.first;
        Track {
            zone: 0,
            ordinal: remapped.stretch as u32,
            cylinder: remapped.to.cylinder,
            head: remapped.to.head,
            sectors: (self.stretches.end(remapped.stretch) - first) as u32,
            per_turn: remapped.to.per_turn,
            sector: remapped.to.sector + before as u32,
            first,
            angle: fraction(remapped.angle + before as f64 / f64::from(remapped.to.per_turn)),
        }
    }

    pub(super) fn bounds(&self, track: &Track) -> Range<u64> {
        let i = track.ordinal as usize;
        let inside = self.stretches.first(i) < track.first && track.end() < self.stretches.end(i);
        if inside || self.remapped(i).is_some() {
            return track.first..track.end();
        }
        let leaf = self.index.leaf_of(track.first + self.shifts[i]);
        self.block_from(leaf.first)..self.block_from(leaf.end)
    }

    /// The first block that belongs at or behind `place`.
    fn block_from(&self, place: u64) -> u64 {
        // Shifts rise, and so do the places of their first blocks.
        let (mut low, mut high) = (0, self.stretches.len());
        while low < high {
            let middle = low.midpoint(high);
            let at = self.stretches.first(middle) + self.shifts[middle];
            if at <= place { low = middle + 1 } else { high = middle }
        }
        match low.checked_sub(1) {
            Some(i) => (place - self.shifts[i]).min(self.stretches.end(i)),
            None => 0,
        }
    }

    pub(super) fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let taken = self.remapped.iter().filter(|r| (r.to.cylinder, r.to.head) == (cylinder, head)).find_map(|r| {
            let lba = r.to.first + u64::from(sector.checked_sub(r.to.sector)?);
            (self.stretches.first(r.stretch)..self.stretches.end(r.stretch)).contains(&lba).then_some(lba)
        });
        if taken.is_some() {
            return taken;
        }
        let place = self.index.place_at(cylinder, head, sector)?;
        let lba = self.block_from(place);
        let i = (lba < self.capacity).then(|| self.stretches.find(lba))?;
        (lba + self.shifts[i] == place && self.remapped(i).is_none()).then_some(lba)
    }
}

/// The first blocks of the stretches, their shifts, and the remapped ones.
fn stretches(
    layout: &G4Layout,
    index: &Index,
    slips: &[(u64, u64)],
    capacity: u64,
) -> (Vec<u64>, Box<[u64]>, Box<[Remapped]>) {
    let mut remaps: Vec<&G4Remap> = layout.remaps.iter().collect();
    remaps.sort_unstable_by_key(|r| r.first);
    let mut firsts: Vec<u64> = slips.iter().map(|s| s.0).collect();
    firsts.extend(remaps.iter().flat_map(|r| [r.first, r.first + u64::from(r.blocks)]));
    firsts.retain(|&b| b < capacity);
    firsts.sort_unstable();
    firsts.dedup();
    let (mut shifts, mut remapped) = (Vec::with_capacity(firsts.len()), Vec::new());
    let (mut s, mut r) = (0, 0);
    for (i, &first) in firsts.iter().enumerate() {
        while slips.get(s + 1).is_some_and(|next| next.0 <= first) {
            s += 1;
        }
        while remaps.get(r).is_some_and(|remap| remap.first + u64::from(remap.blocks) <= first) {
            r += 1;
        }
        if let Some(&&to) = remaps.get(r).filter(|remap| remap.first <= first) {
            // The angle of the track they were remapped to, if the index has that track.
            let start = index.track_at(to.cylinder, to.head).map_or(0.0, |place| {
                let leaf: Leaf = index.leaf_of(place);
                leaf.angle - f64::from(leaf.sector) / f64::from(leaf.per_turn)
            });
            let angle = start + f64::from(to.sector) / f64::from(to.per_turn);
            remapped.push(Remapped { stretch: i, to, angle });
        }
        shifts.push(slips[s].1);
    }
    (firsts, shifts.into(), remapped.into())
}
