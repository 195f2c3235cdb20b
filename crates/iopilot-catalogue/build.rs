//! Lists the drives in `catalogue/`: a drive is in the catalogue because its file is there.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| env::var(name).map_err(io::Error::other);
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("catalogue");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    let rows = names.iter().map(|name| {
        let path = folder.join(format!("{name}.toml"));
        format!("({name:?}, include_str!({:?})),\n", path.display().to_string())
    });
    let table = format!("&[\n{}]\n", rows.collect::<String>());
    fs::write(Path::new(&variable("OUT_DIR")?).join("drives.rs"), table)
}
