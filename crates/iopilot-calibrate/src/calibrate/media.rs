//! [`MediaRead`]: the measured reads from the medium, and where on it they ended.

use super::timeline::Timed;
use iopilot_block::{InputError, Op};
use iopilot_catalogue::{DriveSpec, G1Spec};
use iopilot_device::{Geometry, HeadOrder, Sparing};

/// A read from the medium on a single track, with the position of its last sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaRead {
    pub(super) zone: usize,
    /// The head, in the order in which heads are filled.
    pub(super) head: i64,
    /// Cylinders from the start of the range.
    pub(super) within: i64,
    /// Ranges from the start of the zone; cylinders if the layout has no ranges.
    pub(super) range: i64,
    /// Where its last sector ends on the track, revolutions from the start of the track.
    pub(super) turns: f64,
    /// The completion time, ns.
    pub(super) end: f64,
    /// The length.
    pub(super) sectors: f64,
}

/// The layout of a drive without its skews: the position of sectors on their tracks.
pub(super) struct BareLayout {
    geometry: Geometry,
    heads: u32,
    order: HeadOrder,
    first_cylinders: Vec<u32>,
    /// Cylinders of a range; 1 where there are none.
    pub(super) range: u32,
    /// The most cylinders of a zone.
    pub(super) widest: u32,
}

impl BareLayout {
    pub(super) fn new(drive: &DriveSpec, layout: &G1Spec) -> Result<Self, InputError> {
        let mut bare = drive.clone();
        let mut plain = layout.clone();
        for zone in &mut plain.zone {
            (zone.offset_sectors, zone.track_skew_sectors) = (None, None);
            (zone.cylinder_skew_sectors, zone.range_skew_sectors) = (None, None);
            (zone.offset_revolutions, zone.track_skew_revolutions) = (None, None);
            (zone.cylinder_skew_revolutions, zone.range_skew_revolutions) = (None, None);
        }
        bare.layout_g1 = Some(plain);
        let ranged = layout.sparing == Sparing::PerRange;
        Ok(Self {
            geometry: bare.model()?.mechanics.geometry,
            heads: layout.heads,
            order: layout.head_order,
            first_cylinders: layout.zone.iter().map(|z| z.first_cylinder).collect(),
            range: if ranged { layout.range_cylinders.max(1) } else { 1 },
            widest: layout.zone.iter().map(|z| z.last_cylinder - z.first_cylinder + 1).max().unwrap_or(1),
        })
    }

    pub(super) fn heads(&self) -> u32 {
        self.heads
    }

    fn place(&self, request: &Timed) -> Option<MediaRead> {
        let track = self.geometry.track_of(request.lba.0);
        if request.behind() > track.end() {
            return None;
        }
        let zone = track.zone as usize;
        let cylinder = track.cylinder - self.first_cylinders[zone];
        let falls = match self.order {
            HeadOrder::Rising => false,
            HeadOrder::AlternatingInZone => cylinder % 2 == 1,
            HeadOrder::AlternatingOnDisk => track.cylinder % 2 == 1,
        };
        let head = if falls { self.heads - 1 - track.head } else { track.head };
        Some(MediaRead {
            zone,
            head: i64::from(head),
            within: i64::from(cylinder % self.range),
            range: i64::from(cylinder / self.range),
            turns: track.angle_of(request.behind()),
            end: request.end(),
            sectors: f64::from(request.sectors.0),
        })
    }

    /// The reads that took longer than half a `period`, do not continue the previous request, and lie on one track.
    /// Nearly all of them come from the medium and end when their last sector has passed.
    pub(super) fn media_reads(&self, requests: &[Timed], period: f64) -> Vec<MediaRead> {
        let continues = |i: usize| i > 0 && requests[i - 1].behind() == requests[i].lba.0;
        let tells = |i: &usize| requests[*i].op == Op::Read && requests[*i].service > 0.5 * period && !continues(*i);
        (0..requests.len()).filter(tells).filter_map(|i| self.place(&requests[i])).collect()
    }
}
