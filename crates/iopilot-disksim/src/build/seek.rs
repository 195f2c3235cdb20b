//! Seek curves of `dm_mech_g1`.

use crate::params::{MechG1, SeekType};
use iopilot_catalogue::{DriveSeekSpec, HplSpec, ThreePointSpec};

/// The seek curve. The values that its type needs were checked when the parameters were read.
pub(super) fn curve(mech: &MechG1) -> DriveSeekSpec {
    let none = DriveSeekSpec::default();
    let three = || {
        Some(ThreePointSpec {
            single_cylinder_ms: mech.single_cylinder_seek_time.unwrap_or_default(),
            average_ms: mech.average_seek_time.unwrap_or_default(),
            full_stroke_ms: mech.full_strobe_seek_time.unwrap_or_default(),
        })
    };
    match mech.seek_type {
        SeekType::Constant => DriveSeekSpec { constant_ms: mech.constant_seek_time, ..none },
        SeekType::Linear => DriveSeekSpec { linear: three(), ..none },
        SeekType::Curve => DriveSeekSpec { lee: three(), ..none },
        SeekType::Hpl => {
            // A seek over one cylinder has its own time, unless that is -1.
            let single = mech.hpl_seek_equation_values.as_ref().and_then(|v| v.get(5)).copied();
            let measured = single.into_iter().filter(|&ms| ms != -1.0).collect();
            DriveSeekSpec { hpl: hpl(mech, measured), ..none }
        }
        SeekType::HplPlus10 => {
            DriveSeekSpec { hpl: hpl(mech, mech.first_ten_seek_times.clone().unwrap_or_default()), ..none }
        }
        SeekType::Extracted => match &mech.full_seek_curve {
            Some(file) => DriveSeekSpec {
                table_ms: file.reads.clone(),
                write_table_ms: file.writes.clone().unwrap_or_default(),
                ..none
            },
            None => none,
        },
    }
}

fn hpl(mech: &MechG1, measured_ms: Vec<f64>) -> Option<HplSpec> {
    let &[boundary, short, root, long, slope, ..] = mech.hpl_seek_equation_values.as_deref()? else { return None };
    Some(HplSpec {
        // Distances are whole numbers: below 2.5 means below 3.
        boundary_cylinders: boundary.ceil().max(0.0) as u32,
        short_ms: [short, root],
        long_ms: [long, slope],
        measured_ms,
    })
}
