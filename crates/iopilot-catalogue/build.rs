//! Lists the drives in `catalogue/`: a drive is in the catalogue because its file is there.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| env::var(name).map_err(io::Error::other);
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("catalogue");
    let mut drives = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            drives.push((name, fs::read_to_string(&path)?));
        }
    }
    drives.sort();
    // With their contents, not their paths: a build folder may be moved, or shared by several checkouts.
    let rows = drives.iter().map(|(name, toml)| format!("({name:?}, {toml:?}),\n"));
    let table = format!("&[\n{}]\n", rows.collect::<String>());
    fs::write(Path::new(&variable("OUT_DIR")?).join("drives.rs"), table)
}
