//! What a drive does that DiskSim 4.0 does not make of its file, and what DiskSim makes of it.
//!
//! A file is taken at its word, and mended where it cannot be meant. Each rule holds for any drive: it needs nothing but the
//! file. What speaks for them on measured drives stands in `docs/lab/drives.md`.

use iopilot_block::InputError;
use iopilot_catalogue::DriveSpec;
use iopilot_scsi::{FastWrite, KeepRequested};

/// The drive as it is in DiskSim 4.0, where two parameters change nothing on any of the drives it was validated with:
/// reads are in order, and what passes before the first block asked for is lost.
pub(super) fn as_in_disksim(drive: &mut DriveSpec) {
    drive.read.immediate = false;
    drive.read.free_blocks = false;
}

/// The drive as it is.
///
/// # Errors
/// Where it contradicts itself.
pub(super) fn as_it_is(drive: &mut DriveSpec) -> Result<(), InputError> {
    // Blocks that read-ahead may overwrite are given up as soon as they have been sent.
    if drive.read.keep == KeepRequested::Overwrite {
        drive.read.keep = KeepRequested::Drop;
    }
    let bus = &mut drive.bus;
    (bus.read_sector_ms, bus.write_sector_ms) = (agreed(bus.read_sector_ms), agreed(bus.write_sector_ms));
    if let Some(settle) = write_settle(drive)? {
        drive.mechanics.write_settle_ms = drive.mechanics.write_settle_ms.max(settle);
    }
    Ok(())
}

/// What a sector takes on the bus, ms, by what was extracted.
///
/// Initiator and drive agree on a rate, and parallel SCSI has few: 5 MB/s, and 2, 4, 8 ... times as much with Fast, Wide
/// and Ultra. An extracted time that is as near to one as extraction is exact means that one; others are
/// asynchronous transfers or the speed of a host, and stay.
fn agreed(sector_ms: f64) -> f64 {
    const EXACT: f64 = 0.05;
    let slowest = 512.0 / 5e3;
    let rates = (0..7).map(|doubled| slowest / f64::from(1 << doubled));
    rates.into_iter().find(|rate| (sector_ms / rate - 1.0).abs() <= EXACT).unwrap_or(sector_ms)
}

/// How long a head must settle to write, by the skew of the tracks, ms.
///
/// A track is skewed for a write that goes on to it to find its first sector: by the head switch and the settling, rounded
/// up to whole sectors, half a sector in the mean. What is extracted from service times instead is what *most* writes take;
/// those that settle late and lose a revolution for it are missing in it, and it may even come out negative.
///
/// Only where writes are reported from the medium: elsewhere their settling shows in no service time. And no more than
/// the shortest seek, which ends with settling as well.
fn write_settle(drive: &DriveSpec) -> Result<Option<f64>, InputError> {
    let Some(layout) = drive.layout_g1.as_ref().filter(|g| g.heads > 1 && drive.write.fast == FastWrite::Off) else {
        return Ok(None);
    };
    let period = 60e3 / drive.mechanics.rotation_rpm;
    let skew = |zone: &iopilot_catalogue::G1ZoneSpec| {
        let sector = period / f64::from(zone.sectors_per_track.max(1));
        zone.track_skew_sectors.map(|sectors| (sectors - 0.5) * sector)
    };
    // The zone with the least of it bounds what the drive needs.
    let Some(least) = layout.zone.iter().filter_map(skew).min_by(f64::total_cmp) else { return Ok(None) };
    let shortest_seek = drive.model()?.mechanics.seek.time(1) / 1e6;
    Ok(Some((least - drive.mechanics.head_switch_ms).min(shortest_seek)))
}
