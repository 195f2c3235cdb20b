//! The samples that every format has.
#![allow(clippy::unwrap_used)]

use iopilot_trace::Format;
use std::path::Path;

/// All samples in order of their names, `FORMAT.VARIANT`: format, name and content.
///
/// # Panics
/// Where a file is not named for a format.
pub(crate) fn samples() -> Vec<(Format, String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let sample = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let format = name.split('.').next().unwrap_or_default().parse();
        let format = format.unwrap_or_else(|e| panic!("samples/{name}: its name begins with no format: {e}"));
        (format, name, std::fs::read(path).unwrap())
    };
    paths.iter().map(sample).collect()
}
