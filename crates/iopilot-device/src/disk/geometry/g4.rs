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

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct G4 {
    index: Index,
    /// First blocks of the shifts.
    starts: Starts,
    shifts: Box<[Shift]>,
    /// Those that are remapped.
    remapped: Box<[usize]>,
    zones: Box<[ZoneSpan]>,
    capacity: u64,
}

/// What blocks from one on have in common: the place of a block is its number and `by`.
#[derive(Clone, Copy, Debug)]
struct Shift {
    by: u64,
    end: u64,
    /// Where they are, if that is elsewhere.
    remap: Option<Remapped>,
}

#[derive(Clone, Copy, Debug)]
struct Remapped {
    to: G4Remap,
    angle: f64,
}

impl G4 {
    pub(super) fn new(layout: &G4Layout) -> Result<Self, InputError> {
        let places = check::layout(layout)?;
        let index = Index::new(layout);
        // From which block on which shift holds. A slip that the shift of the one before it jumps over begins with it.
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
        // Slips behind which there is no place any more end the disk.
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
        let (firsts, shifts) = shifts(layout, &index, &slips, capacity)?;
        let starts = Starts::new(firsts, capacity);
        let remapped = (0..shifts.len()).filter(|&i| shifts[i].remap.is_some()).collect();
        let mut g4 = Self { index, starts, shifts: shifts.into(), remapped, zones: Box::default(), capacity };
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
            let last = u64::from(layout.cylinders - 1);
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

    pub(super) fn zones(&self) -> Vec<ZoneSpan> {
        self.zones.to_vec()
    }

    #[inline]
    pub(super) fn track_of(&self, lba: u64) -> Track {
        self.track(if self.shifts.len() == 1 { 0 } else { self.starts.find(lba) }, lba)
    }

    #[inline]
    pub(super) fn next_track(&self, track: &Track) -> Track {
        let i = track.ordinal as usize;
        self.track(i + usize::from(track.end() >= self.shifts[i].end), track.end())
    }

    #[inline]
    fn track(&self, i: usize, lba: u64) -> Track {
        let shift = &self.shifts[i];
        if let Some(remap) = &shift.remap {
            return self.elsewhere(i, remap);
        }
        let leaf = self.index.leaf_of(lba + shift.by);
        let first = leaf.first.saturating_sub(shift.by).max(self.starts.first(i));
        let end = (leaf.end - shift.by).min(shift.end);
        let before = first + shift.by - leaf.first;
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

    #[cold]
    fn elsewhere(&self, i: usize, remap: &Remapped) -> Track {
        let first = self.starts.first(i);
        Track {
            zone: 0,
            ordinal: i as u32,
            cylinder: remap.to.cylinder,
            head: remap.to.head,
            sectors: (self.shifts[i].end - first) as u32,
            per_turn: remap.to.per_turn,
            sector: remap.to.sector + (first - remap.to.first) as u32,
            first,
            angle: fraction(remap.angle + (first - remap.to.first) as f64 / f64::from(remap.to.per_turn)),
        }
    }

    pub(super) fn bounds(&self, track: &Track) -> Range<u64> {
        let i = track.ordinal as usize;
        let shift = &self.shifts[i];
        let inside = self.starts.first(i) < track.first && track.end() < shift.end;
        if inside || shift.remap.is_some() {
            return track.first..track.end();
        }
        let leaf = self.index.leaf_of(track.first + shift.by);
        self.block_from(leaf.first)..self.block_from(leaf.end)
    }

    /// The first block that belongs at or behind `place`.
    fn block_from(&self, place: u64) -> u64 {
        // Shifts rise, and so do the places of their first blocks.
        let (mut low, mut high) = (0, self.shifts.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.starts.first(middle) + self.shifts[middle].by <= place { low = middle + 1 } else { high = middle }
        }
        match low.checked_sub(1) {
            Some(i) => (place - self.shifts[i].by).min(self.shifts[i].end),
            None => 0,
        }
    }

    pub(super) fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let taken = self.remapped.iter().find_map(|&i| {
            let shift = &self.shifts[i];
            let to = shift.remap.as_ref().filter(|r| (r.to.cylinder, r.to.head) == (cylinder, head))?.to;
            let lba = to.first + u64::from(sector.checked_sub(to.sector)?);
            (self.starts.first(i)..shift.end).contains(&lba).then_some(lba)
        });
        if taken.is_some() {
            return taken;
        }
        let place = self.index.place_at(cylinder, head, sector)?;
        let lba = self.block_from(place);
        let i = (lba < self.capacity).then(|| self.starts.find(lba))?;
        let shift = &self.shifts[i];
        (lba + shift.by == place && shift.remap.is_none()).then_some(lba)
    }
}

/// Slips and remaps in one list: first blocks, and what holds from each.
fn shifts(
    layout: &G4Layout,
    index: &Index,
    slips: &[(u64, u64)],
    capacity: u64,
) -> Result<(Vec<u64>, Vec<Shift>), InputError> {
    let mut remaps: Vec<&G4Remap> = layout.remaps.iter().collect();
    remaps.sort_unstable_by_key(|r| r.first);
    if let Some(beyond) = remaps.iter().find(|r| r.first + u64::from(r.blocks) > capacity) {
        let got = format!("{} blocks from {}", beyond.blocks, beyond.first);
        return Err(InputError::new("Remaps", got, format!("blocks below {capacity}")));
    }
    let mut borders: Vec<u64> = slips.iter().map(|s| s.0).collect();
    borders.extend(remaps.iter().flat_map(|r| [r.first, r.first + u64::from(r.blocks)]));
    borders.retain(|&b| b < capacity);
    borders.sort_unstable();
    borders.dedup();
    let mut shifts = Vec::with_capacity(borders.len());
    let (mut s, mut r) = (0, 0);
    for (i, &first) in borders.iter().enumerate() {
        while slips.get(s + 1).is_some_and(|next| next.0 <= first) {
            s += 1;
        }
        while remaps.get(r).is_some_and(|remap| remap.first + u64::from(remap.blocks) <= first) {
            r += 1;
        }
        let remap = remaps.get(r).filter(|remap| remap.first <= first).map(|&&to| Remapped {
            to,
            // The angle of the track they were brought to, where it is one of the index.
            angle: index.track_at(to.cylinder, to.head).map_or(0.0, |place| {
                let leaf: Leaf = index.leaf_of(place);
                leaf.angle - f64::from(leaf.sector) / f64::from(leaf.per_turn)
            }) + f64::from(to.sector) / f64::from(to.per_turn),
        });
        let end = borders.get(i + 1).copied().unwrap_or(capacity);
        shifts.push(Shift { by: slips[s].1, end, remap });
    }
    Ok((borders, shifts))
}
