use crate::{data, files, search};
use iopilot_disksim::Spec;

#[test]
fn every_file_is_read() {
    let Some(data) = data() else { return };
    for extension in ["parv", "diskspecs", "model", "layout"] {
        for path in files(&data, extension) {
            // A layout on its own is a block without a name: it is made to be included in a model.
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
