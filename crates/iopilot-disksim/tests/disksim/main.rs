//! Parameter files, their drives and systems: small ones of our own in `tests/files`, and those shipped by DiskSim 4.0
//! and its users, unchanged.
//!
//! The latter are not part of this repository: `IOPILOT_TEST_DATA` names their folder.

mod drives;
mod parameters;
mod shipped_files;
mod systems;

use std::path::{Path, PathBuf};

/// The folder of DiskSim's files; `None`, with a message, if it does not exist.
fn data() -> Option<PathBuf> {
    iopilot_testing::data("disksim")
}

/// The files in the folders of `data` whose names end in `extension`, sorted.
fn files(data: &Path, extension: &str) -> Vec<PathBuf> {
    let folders = ["disks", "modern", "runs"].map(|name| data.join(name));
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut found: Vec<_> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    assert!(!found.is_empty(), "no .{extension} in {}", data.display());
    found
}

/// The folder with the drives that the runs name.
fn search(data: &Path) -> Vec<PathBuf> {
    vec![data.join("disks"), data.join("modern"), data.join("runs")]
}
