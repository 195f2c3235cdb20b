use crate::{data, files, search};
use iopilot_catalogue::DiskSpec;
use iopilot_device::Device;
use iopilot_disksim::load_drive;
use std::path::PathBuf;

/// The files that hold a drive. The runs name drives in other folders.
fn drives(data: &std::path::Path) -> Vec<PathBuf> {
    let mut all = files(data, "diskspecs");
    all.extend(files(data, "parv").into_iter().filter(|p| !p.starts_with(data.join("runs"))));
    all
}

#[test]
fn every_drive_becomes_a_model_and_our_file_becomes_the_same() {
    let Some(data) = data() else { return };
    for path in drives(&data) {
        let drive = load_drive(&path).unwrap_or_else(|e| panic!("{e}"));
        for warning in &drive.warnings {
            eprintln!("{warning}");
        }
        let toml = drive.spec.to_toml();
        let again = DiskSpec::from_toml(&toml, "again.toml").unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(again, drive.spec, "{}", path.display());
        let (ours, theirs) = (again.build().unwrap(), drive.model.mechanics.geometry.capacity());
        assert_eq!(ours.capacity(), theirs, "{}", path.display());
    }
}

/// DISKSIM-PARAMETERS: usable blocks by the formulas of the sparing schemes; the last block is on the last track.
#[test]
fn every_layout_holds_about_what_its_file_says() {
    let Some(data) = data() else { return };
    for path in files(&data, "diskspecs") {
        let spec = iopilot_disksim::Spec::load_with(&path, search(&data)).unwrap();
        let geometry = load_drive(&path).unwrap_or_else(|e| panic!("{e}")).model.mechanics.geometry;
        let blocks = spec.blocks_of("disksim_disk").next().and_then(|b| match &*b.param("Model")?.value {
            iopilot_disksim::Value::Block(model) => match *model.param("Block count")?.value {
                iopilot_disksim::Value::Int(n) => Some(n as f64),
                _ => None,
            },
            _ => None,
        });
        let blocks = blocks.unwrap_or_else(|| panic!("{} says", path.display()));
        let share = geometry.capacity() as f64 / blocks;
        assert!((0.97..1.03).contains(&share), "{}: {share}", path.display());
        let last = geometry.place_of(geometry.capacity() - 1);
        assert_eq!(geometry.block_at(last.cylinder, last.head, last.sector), Some(geometry.capacity() - 1));
    }
}
