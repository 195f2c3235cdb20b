use crate::{data, files, search};
use iopilot_disksim::Spec;
use iopilot_disksim::params::{Disk, Module, System};

#[test]
fn every_file_is_read() {
    let Some(data) = data() else { return };
    for extension in ["parv", "diskspecs", "model", "layout"] {
        for path in files(&data, extension) {
            // A layout on its own is a block without a name, to be included in a model.
            let layout = path.ends_with("maxtor300g-layout.model") || extension == "layout";
            match Spec::load_with(&path, search(&data)) {
                Ok(spec) => assert!(!layout && !spec.blocks.is_empty(), "{}", path.display()),
                Err(e) => assert!(layout && e.to_string().contains("a name behind the type"), "{e}"),
            }
        }
    }
}

#[test]
fn systems_have_components_and_a_topology() {
    let Some(data) = data() else { return };
    for path in files(&data, "parv") {
        let spec = Spec::load_with(&path, search(&data)).unwrap_or_else(|e| panic!("{e}"));
        assert!(spec.topology.is_some(), "{}", path.display());
        assert!(spec.instances.iter().any(|i| i.block.module == "disksim_disk"), "{}", path.display());
        for warning in &spec.warnings {
            eprintln!("{warning}");
        }
    }
}

#[test]
fn every_system_has_sound_parameters() {
    let Some(data) = data() else { return };
    for path in files(&data, "parv") {
        let spec = Spec::load_with(&path, search(&data)).unwrap_or_else(|e| panic!("{e}"));
        let system = System::read(&spec).unwrap_or_else(|e| panic!("{e}"));
        assert!(system.devices().count() > 0 && !system.logorgs.is_empty(), "{}", path.display());
        assert!(system.global.is_some() && system.stats.is_some() && system.pf.is_some(), "{}", path.display());
        for warning in &system.warnings {
            eprintln!("{warning}");
        }
    }
}

#[test]
fn every_drive_has_sound_parameters() {
    let Some(data) = data() else { return };
    for path in files(&data, "diskspecs") {
        let spec = Spec::load_with(&path, search(&data)).unwrap_or_else(|e| panic!("{e}"));
        for block in spec.blocks_of(Disk::MODULE) {
            Disk::read(&spec.files, block).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
