//! [`Catalogue`]: the drives that come with iopilot.
//!
//! To add a drive, put its description into the folder `catalogue`, and paste the output of `iopilot disk list --markdown`
//! into the page `docs/reference/disks.md`.

mod markdown;

use crate::{DeviceError, DiskSpec};
use iopilot_block::suggest;
use std::path::Path;

/// The files of the folder `catalogue`, as `build.rs` lists them: names and contents, sorted by name.
const DRIVES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/drives.rs"));

/// The drives that come with iopilot: those of the papers under the papers' names, and some of today.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue;

impl Catalogue {
    /// All names, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        DRIVES.iter().map(|&(name, _)| name)
    }

    /// The TOML of a drive as the catalogue has it; `None` for an unknown name.
    pub fn toml(name: &str) -> Option<&'static str> {
        DRIVES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, text)| text)
    }

    /// The drive called `name`; upper and lower case are the same.
    ///
    /// # Errors
    /// [`DeviceError::UnknownDisk`] with the known names and the nearest of them.
    pub fn get(name: &str) -> Result<DiskSpec, DeviceError> {
        match Self::toml(name) {
            Some(text) => DiskSpec::from_toml(text, name),
            None => Err(DeviceError::UnknownDisk {
                name: name.to_owned(),
                names: Self::names().collect::<Vec<_>>().join(", "),
                hint: suggest(name, Self::names()).map_or_else(String::new, |near| format!("; did you mean {near}?")),
            }),
        }
    }
}

/// The drive called `name_or_path`: a name of the catalogue, else a TOML file.
///
/// # Errors
/// [`DeviceError::UnknownDisk`] where it is neither, [`DeviceError::Read`] and [`DeviceError::Spec`] for a bad file.
pub fn load_disk(name_or_path: &str) -> Result<DiskSpec, DeviceError> {
    let path = Path::new(name_or_path);
    let is_file = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml")) || path.is_file();
    if Catalogue::toml(name_or_path).is_some() || !is_file {
        return Catalogue::get(name_or_path);
    }
    let text = std::fs::read_to_string(path).map_err(|source| DeviceError::Read { path: path.to_owned(), source })?;
    DiskSpec::from_toml(&text, name_or_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_drive_says_where_it_comes_from() {
        for name in Catalogue::names() {
            let spec = Catalogue::get(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.name, name);
            let marked = |key: &String| spec.provenance.contains_key(key);
            assert!(spec.parameters().iter().all(marked), "{name}");
            assert!(!spec.sources.is_empty(), "{name}");
            spec.build().unwrap_or_else(|e| panic!("{e}"));
        }
        assert!(DRIVES.windows(2).all(|w| w[0].0 < w[1].0));
    }

    #[test]
    fn an_unknown_drive_is_answered_with_the_nearest() {
        let e = load_disk("wd1200b").unwrap_err().to_string();
        assert!(e.starts_with("disk: got \"wd1200b\", expected a TOML file or one of"), "{e}");
        assert!(e.ends_with("; did you mean wd1200bb?"), "{e}");
        assert!(matches!(load_disk("no/such.toml"), Err(DeviceError::Read { .. })));
        assert_eq!(load_disk("WD1200BB").unwrap().name, "wd1200bb");
    }
}
