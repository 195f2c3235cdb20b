//! Converts the layouts of `dm_disk`.

use crate::params::{
    DmDisk, IndexChild, LayoutG1, LayoutG1Zone, LayoutG2, LayoutG4, MappingScheme, SkewUnits, SparingScheme,
};
use iopilot_catalogue::{G1Spec, G1ZoneSpec, G2Spec, G2ZoneSpec, G4NodeSpec, G4Spec};
use iopilot_device::{G4Child, G4Entry, HeadOrder, Sparing};

pub(super) fn g1(disk: &DmDisk, layout: &LayoutG1) -> G1Spec {
    G1Spec {
        heads: disk.number_of_data_surfaces,
        cylinders: disk.number_of_cylinders,
        head_order: match layout.lbn_to_pbn_mapping_scheme {
            MappingScheme::Ascending => HeadOrder::Rising,
            MappingScheme::SerpentineByZone => HeadOrder::AlternatingInZone,
            MappingScheme::SerpentineByDisk => HeadOrder::AlternatingOnDisk,
        },
        sparing: match layout.sparing_scheme_used {
            SparingScheme::None => Sparing::None,
            SparingScheme::TracksPerZone => Sparing::Tracks,
            SparingScheme::SectorsPerCylinder => Sparing::PerCylinder,
            SparingScheme::SectorsPerTrack => Sparing::PerTrack,
            SparingScheme::SectorsPerCylinderSlip => Sparing::PerCylinderSlipToEnd,
            SparingScheme::SectorsPerCylinderFront => Sparing::CylinderFront,
            SparingScheme::SectorsPerCylinderFrontSlip => Sparing::CylinderFrontSlipToEnd,
            SparingScheme::AtEndOfDisk => Sparing::AtEnd,
            SparingScheme::SectorsPerRange => Sparing::PerRange,
            SparingScheme::SectorsPerZone => Sparing::PerZone,
            SparingScheme::SectorsPerZoneSlip => Sparing::PerZoneSlipToEnd,
        },
        range_cylinders: layout.rangesize_for_sparing,
        zone: layout.zones.iter().map(|z| g1_zone(z, layout.units_of(z))).collect(),
    }
}

fn g1_zone(zone: &LayoutG1Zone, units: SkewUnits) -> G1ZoneSpec {
    let mut spec = G1ZoneSpec {
        first_cylinder: zone.first_cylinder_number,
        last_cylinder: zone.last_cylinder_number,
        sectors_per_track: zone.blocks_per_track,
        empty_sectors: zone.empty_space_at_zone_front,
        spares: u32::try_from(zone.number_of_spares).unwrap_or(u32::MAX),
        slips: in_order(&zone.slips),
        defects: zone.defects.clone(),
        ..G1ZoneSpec::default()
    };
    let angles = [zone.offset_of_first_block, zone.skew_for_track_switch, zone.skew_for_cylinder_switch].map(Some);
    match units {
        SkewUnits::Sectors => {
            [spec.offset_sectors, spec.track_skew_sectors, spec.cylinder_skew_sectors] = angles;
        }
        SkewUnits::Revolutions => {
            [spec.offset_revolutions, spec.track_skew_revolutions, spec.cylinder_skew_revolutions] = angles;
        }
    }
    spec
}

/// Published files append slips that were found later. The list is meant as a set.
fn in_order(slips: &[u64]) -> Vec<u64> {
    let mut slips = slips.to_vec();
    slips.sort_unstable();
    slips
}

pub(super) fn g2(disk: &DmDisk, layout: &LayoutG2) -> G2Spec {
    let zones = layout.zones.iter().map(|z| {
        let revolutions = |value: f64| match z.skew_units {
            SkewUnits::Sectors => value.trunc() / f64::from(z.blocks_per_track),
            SkewUnits::Revolutions => value,
        };
        G2ZoneSpec {
            first_cylinder: z.first_cylinder_number,
            last_cylinder: z.last_cylinder_number,
            first_block: z.first_lbn,
            last_block: z.last_lbn,
            sectors_per_track: z.blocks_per_track,
            offset_revolutions: revolutions(z.zone_skew),
            track_skew_revolutions: revolutions(z.skew_for_track_switch),
            cylinder_skew_revolutions: revolutions(z.skew_for_cylinder_switch),
        }
    });
    let extents = layout.layout_map.extents.iter().map(|e| (e.lbn, e.blocks, e.cylinder, e.head, e.sector));
    G2Spec {
        heads: disk.number_of_data_surfaces,
        cylinders: disk.number_of_cylinders,
        capacity_sectors: disk.block_count,
        extents: extents.collect(),
        zone: zones.collect(),
    }
}

/// The number of cylinders: those that the index reaches, or the file's number if that is larger. A published drive
/// that DiskSim reads has one less in its file than its index needs.
fn cylinders(disk: &DmDisk, layout: &LayoutG4) -> u32 {
    let mut reach = vec![None; layout.index.len()];
    let root = layout.index.len().saturating_sub(1);
    let needed = reached(layout, root, &mut reach, 0);
    u32::try_from(needed).unwrap_or(0).max(disk.number_of_cylinders)
}

/// Deeper than any layout; a deeper one is refused when it is built.
const MAX_DEPTH: usize = 64;

/// The number of cylinders that a node reaches, from its lowest one.
fn reached(layout: &LayoutG4, node: usize, known: &mut [Option<u64>], depth: usize) -> u64 {
    let (Some(entries), true) = (layout.index.get(node), depth < MAX_DEPTH) else { return 0 };
    if let Some(reach) = known[node] {
        return reach;
    }
    let mut most = 0;
    for e in entries {
        let child = match e.child {
            IndexChild::Index { node } => reached(layout, node as usize, known, depth + 1),
            IndexChild::Track { .. } => 1,
        };
        // Descending runs begin with their highest cylinder.
        let steps = if e.cylinder_run < 0 { 0 } else { e.run.div_ceil(e.length).saturating_sub(1) };
        let last = steps.saturating_mul(u64::from(e.cylinder_length)).saturating_add(u64::from(e.cylinder));
        most = most.max(last.saturating_add(child));
    }
    known[node] = Some(most);
    most
}

pub(super) fn g4(disk: &DmDisk, layout: &LayoutG4) -> G4Spec {
    let nodes = layout.index.iter().map(|entries| {
        let entries = entries.iter().map(|e| G4Entry {
            first: e.lbn,
            cylinder: e.cylinder,
            offset: e.offset,
            blocks: e.length,
            cylinders: e.cylinder_length,
            turn: e.angle_length,
            run_blocks: e.run,
            run_cylinders: e.cylinder_run,
            child: match e.child {
                IndexChild::Index { node } => G4Child::Node(node as usize),
                IndexChild::Track { pattern, head } => G4Child::Track { pattern: pattern as usize, head },
            },
        });
        G4NodeSpec { entries: entries.collect() }
    });
    let remaps = layout.remaps.iter().map(|r| {
        let blocks = u32::try_from(r.length).unwrap_or(u32::MAX);
        (r.lbn, blocks, r.cylinder, r.head, r.sector, r.sectors_per_track)
    });
    G4Spec {
        heads: disk.number_of_data_surfaces,
        cylinders: cylinders(disk, layout),
        capacity_sectors: disk.block_count,
        patterns: layout.track_patterns.iter().map(|p| (p.low, p.high, p.sectors_per_track)).collect(),
        slips: layout.slips.clone(),
        remaps: remaps.collect(),
        node: nodes.collect(),
    }
}
