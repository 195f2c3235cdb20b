//! Writes a fit into a drive.

use super::skews::SkewFit;
use iopilot_catalogue::DriveSpec;

/// Writes the angles and the period of a fit into a drive.
pub(super) fn angles(drive: &mut DriveSpec, fit: &SkewFit) {
    drive.mechanics.rotation_rpm = 60e9 / fit.period;
    let Some(layout) = &mut drive.layout_g1 else { return };
    let switches = f64::from(layout.heads) - 1.0;
    let cylinders = f64::from(layout.range_cylinders.max(1));
    for (zone, angles) in layout.zone.iter_mut().zip(&fit.zones) {
        zone.offset_sectors = None;
        zone.track_skew_sectors = None;
        zone.cylinder_skew_sectors = None;
        zone.range_skew_sectors = None;
        zone.offset_revolutions = Some(angles.offset);
        zone.track_skew_revolutions = Some(angles.track);
        zone.cylinder_skew_revolutions = Some(angles.cylinder - switches * angles.track);
        let step = angles.range - cylinders * angles.cylinder;
        zone.range_skew_revolutions = (fit.ranged && step != 0.0).then_some(step);
    }
}
