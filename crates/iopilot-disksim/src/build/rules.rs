//! Two interpretations of a drive's file: that of the real drive, and that of DiskSim 4.0.
//!
//! For the real drive, a file is taken literally, and corrected where it is implausible. Each rule holds for any drive
//! and needs only the file. `docs/lab/drives.md` has the evidence from measured drives.

use iopilot_block::InputError;
use iopilot_catalogue::DriveSpec;
use iopilot_scsi::{FastWrite, KeepRequested};

/// The drive as DiskSim 4.0 models it. Two parameters have no effect there, on any of the drives it was validated with:
/// reads are in order, and blocks that pass before the first requested one are lost.
pub(super) fn as_in_disksim(drive: &mut DriveSpec) {
    drive.read.immediate = false;
    drive.read.free_blocks = false;
}

/// The drive as it really is.
///
/// # Errors
/// If values of the drive contradict each other.
pub(super) fn as_real_drive(drive: &mut DriveSpec) -> Result<(), InputError> {
    // Blocks that read-ahead may overwrite are dropped as soon as they have been sent.
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

/// The time of a sector on the bus, ms, from the extracted time.
///
/// Initiator and drive agree on a rate, and parallel SCSI has few: 5 MB/s, and 2, 4, 8 ... times as much with Fast,
/// Wide and Ultra. An extracted time within the accuracy of the extraction is taken as that rate. Other times are
/// asynchronous transfers or the speed of a host, and are kept.
fn agreed(sector_ms: f64) -> f64 {
    const EXACT: f64 = 0.05;
    let slowest = 512.0 / 5e3;
    let rates = (0..7).map(|doubled| slowest / f64::from(1 << doubled));
    rates.into_iter().find(|rate| (sector_ms / rate - 1.0).abs() <= EXACT).unwrap_or(sector_ms)
}

/// The settling time of a write, inferred from the skew of the tracks, ms.
///
/// A track is skewed so that a write that continues onto it finds its first sector. The skew is the head switch plus
/// the settling time, rounded up to whole sectors, which adds half a sector on average. An extracted settling time is
/// that of *most* writes. It omits writes that settle late and lose a revolution, and may even be negative.
///
/// The rule applies only if writes are reported when they are on the medium. Otherwise their settling is not visible in
/// service times. The result is at most the shortest seek, which ends with settling as well.
fn write_settle(drive: &DriveSpec) -> Result<Option<f64>, InputError> {
    let Some(layout) = drive.layout_g1.as_ref().filter(|g| g.heads > 1 && drive.write.fast == FastWrite::Off) else {
        return Ok(None);
    };
    let period = 60e3 / drive.mechanics.rotation_rpm;
    let skew = |zone: &iopilot_catalogue::G1ZoneSpec| {
        let sector = period / f64::from(zone.sectors_per_track.max(1));
        zone.track_skew_sectors.map(|sectors| (sectors - 0.5) * sector)
    };
    // The zone with the smallest skew limits what the drive needs.
    let Some(least) = layout.zone.iter().filter_map(skew).min_by(f64::total_cmp) else { return Ok(None) };
    let shortest_seek = drive.model()?.mechanics.seek.time(1) / 1e6;
    Ok(Some((least - drive.mechanics.head_switch_ms).min(shortest_seek)))
}
