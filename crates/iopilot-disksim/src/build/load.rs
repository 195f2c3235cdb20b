//! [`load_drive`]: reads the drive of a file.

use super::locate::locate;
use super::{convert, rules};
use crate::params::{AccessTimeType, Bus, Choice, Component, ComponentKind, CtlrType, Disk, Module, System};
use crate::parse::{Block, FileLine, ParameterFiles, Spec, TopologyNode, Value};
use iopilot_block::InputError;
use iopilot_catalogue::{DeviceSpec, DiskSpec, DriveSpec};
use iopilot_scsi::DriveModel;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A drive that a parameter file describes.
#[derive(Clone, Debug)]
pub struct DriveFromDiskSim {
    /// The drive in the form of our own files, ready to be written.
    pub spec: DiskSpec,
    /// The model.
    pub model: DriveModel,
    /// Parameters of the file that the drive alone cannot model, each in one line.
    pub warnings: Vec<InputError>,
}

/// Whether a file has one of DiskSim's extensions: `.diskspecs` or `.parv`.
pub fn is_disksim_file(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "diskspecs" || e == "parv")
}

/// How to interpret a drive's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// As the drive that it describes: parameters are taken literally, and implausible ones are corrected.
    #[default]
    Drive,
    /// As DiskSim 4.0 interprets it.
    DiskSim,
}

/// The drive of a `.diskspecs`, which must hold exactly one, or the first disk instantiated in a `.parv`. In a `.parv`,
/// sectors take their transfer time on the bus of that disk.
///
/// # Errors
/// Names file, line and parameter.
pub fn load_drive(path: &Path) -> Result<DriveFromDiskSim, InputError> {
    load_drive_as(path, Reading::Drive)
}

/// As [`load_drive`], with an interpretation of the file.
///
/// # Errors
/// As [`load_drive`].
pub fn load_drive_as(path: &Path, reading: Reading) -> Result<DriveFromDiskSim, InputError> {
    let spec = Spec::load(path)?;
    if spec.instances.is_empty() {
        return alone(&spec, path, reading);
    }
    let system = System::read(&spec)?;
    let first = system.components.iter().find_map(|component| match &component.params {
        ComponentKind::Disk(disk) => Some((component, disk)),
        _ => None,
    });
    let Some((component, disk)) = first else {
        return Err(InputError::new("disksim_disk", "none", "a disk that is instantiated").in_file(path.display()));
    };
    let mut drive = convert::drive(disk);
    let mut warnings = Vec::new();
    apply_bus(&system, component, &mut drive, &mut warnings);
    finish(&spec.files, &component.block, disk, (drive, reading), path, warnings)
}

/// The only drive of a file without instances.
fn alone(spec: &Spec, path: &Path, reading: Reading) -> Result<DriveFromDiskSim, InputError> {
    let disks: Vec<_> = spec.blocks_of(Disk::MODULE).collect();
    let [block] = disks.as_slice() else {
        let names: Vec<_> = disks.iter().filter_map(|b| b.name.as_deref()).collect();
        let got = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(InputError::new("disksim_disk", got, "one disk").in_file(path.display()));
    };
    let disk = Disk::read(&spec.files, block)?;
    finish(&spec.files, block, &disk, (convert::drive(&disk), reading), path, Vec::new())
}

/// The model of a drive as DiskSim 4.0 interprets its file, on a bus without transfer time.
///
/// # Errors
/// If the layout contradicts itself. `block` is the block that the drive was read from.
pub fn drive_model(files: &ParameterFiles, block: &Block, disk: &Disk) -> Result<DriveModel, InputError> {
    let mut drive = convert::drive(disk);
    rules::as_in_disksim(&mut drive);
    drive.model().map_err(|e| locate(files, block, e))
}

fn finish(
    files: &ParameterFiles,
    block: &Arc<Block>,
    disk: &Disk,
    (mut drive, reading): (DriveSpec, Reading),
    path: &Path,
    mut warnings: Vec<InputError>,
) -> Result<DriveFromDiskSim, InputError> {
    match reading {
        Reading::Drive => rules::as_real_drive(&mut drive).map_err(|e| locate(files, block, e))?,
        Reading::DiskSim => rules::as_in_disksim(&mut drive),
    }
    let model = drive.model().map_err(|e| locate(files, block, e))?;
    let mut warn = |path: &[&str], got: String, expected: String| {
        let name = path.last().copied().unwrap_or_default();
        warnings.push(files.refuse(place_of(block, path), name, got, expected));
    };
    let mechanics = &disk.model.mechanical_model;
    if mechanics.access_time_type != AccessTimeType::TrackSwitchPlusRotation {
        let expected = "trackSwitchPlusRotation; seek and rotation are modelled as DiskSim 4.0 does for every type";
        let path = ["Model", "Mechanical Model", "Access time type"];
        warn(&path, mechanics.access_time_type.code().to_owned(), expected.to_owned());
    }
    if disk.scheduler.scheduling_priority_scheme {
        warn(
            &["Scheduler", "Scheduling priority scheme"],
            "1".to_owned(),
            "0: a drive receives no priorities".to_owned(),
        );
    }
    let geometry = &model.mechanics.geometry;
    let (capacity, cylinders) = (geometry.capacity(), geometry.cylinders());
    let said = disk.model.block_count;
    if said != 0 && said != capacity {
        warn(&["Model", "Block count"], said.to_string(), format!("{capacity}, the blocks of the layout"));
    }
    let said = disk.model.number_of_cylinders;
    if said != cylinders {
        warn(&["Model", "Number of cylinders"], said.to_string(), format!("{cylinders}, the cylinders of the layout"));
    }
    let text = |part: Option<&std::ffi::OsStr>| part.map_or_else(String::new, |p| p.to_string_lossy().into_owned());
    let title = block.name.as_deref().unwrap_or("a drive").to_owned();
    let spec = DiskSpec {
        name: text(path.file_stem()),
        sources: vec![format!("DiskSim 4.0: {title} in {}", text(path.file_name()))],
        model: title,
        device: DeviceSpec::Drive(Box::new(drive)),
        provenance: BTreeMap::new(),
    };
    Ok(DriveFromDiskSim { spec, model, warnings })
}

/// The place of a parameter reached through nested blocks; that of the block if the parameter is absent.
fn place_of(block: &Block, path: &[&str]) -> FileLine {
    let [name, rest @ ..] = path else { return block.place };
    match block.param(name) {
        Some(param) if rest.is_empty() => param.place,
        Some(param) => match &*param.value {
            Value::Block(inner) => place_of(inner, rest),
            _ => param.place,
        },
        None => block.place,
    }
}

/// Applies the bus above a disk. Transfers run at the speed of the slowest part of the path. Other times of bus and
/// controller are reported as warnings.
fn apply_bus(system: &System, disk: &Component, drive: &mut DriveSpec, warnings: &mut Vec<InputError>) {
    let mut path = Vec::new();
    if !system.topology.as_ref().is_some_and(|root| find(root, &disk.name, &mut path)) {
        return;
    }
    let mut warn = |component: &Component, parameter: &str, got: String| {
        let expected = "0: only a whole system takes this into account";
        warnings.push(system.files.refuse(component.place, parameter, got, expected));
    };
    let above: Vec<_> = path.iter().rev().filter_map(|name| system.component(name)).collect();
    let bus = above.iter().find_map(|c| match &c.params {
        ComponentKind::Bus(bus) => Some((*c, bus)),
        _ => None,
    });
    if let Some((component, bus)) = bus {
        let Bus { arbitration_time, read_block_transfer_time, write_block_transfer_time, .. } = **bus;
        drive.bus.read_sector_ms = drive.bus.read_sector_ms.max(read_block_transfer_time);
        drive.bus.write_sector_ms = drive.bus.write_sector_ms.max(write_block_transfer_time);
        if arbitration_time > 0.0 {
            warn(component, "Arbitration time", arbitration_time.to_string());
        }
    }
    let mut lowest = true;
    for component in above {
        match &component.params {
            ComponentKind::Ctlr(ctlr) => {
                if lowest && ctlr.kind != CtlrType::PassThrough {
                    drive.bus.read_sector_ms = drive.bus.read_sector_ms.max(ctlr.bulk_sector_transfer_time);
                    drive.bus.write_sector_ms = drive.bus.write_sector_ms.max(ctlr.bulk_sector_transfer_time);
                }
                lowest = false;
                if ctlr.scale_for_delays > 0.0 {
                    warn(component, "Scale for delays", ctlr.scale_for_delays.to_string());
                }
                if ctlr.kind == CtlrType::Smart {
                    warn(component, "type", "3".to_owned());
                }
            }
            ComponentKind::Iodriver(driver) if !driver.use_queueing_in_subsystem => drive.queue_depth = 1,
            _ => {}
        }
    }
}

/// The names from the root to the component called `name`.
fn find(node: &TopologyNode, name: &str, path: &mut Vec<String>) -> bool {
    path.push(node.name.to_string());
    if *node.name == *name || node.children.iter().any(|child| find(child, name, path)) {
        return true;
    }
    path.pop();
    false
}
