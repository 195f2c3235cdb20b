//! Finding all per-CPU files of a blktrace recording.

use crate::TraceError;
use crate::format::Format;
use iopilot_block::InputError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files `STEM.blktrace.N` that `path` stands for, by CPU: it may be one of them, their stem with or without
/// `.blktrace`, or the directory that holds those of one recording. `None` where it is none of these.
pub(super) fn per_cpu_files(path: &Path, format: Option<Format>) -> Result<Option<Vec<PathBuf>>, TraceError> {
    if path.is_dir() {
        let mut recordings = recordings(path)?;
        return match (recordings.pop_first(), recordings.len()) {
            (Some((_, files)), 0) => Ok(Some(files.into_values().collect())),
            (None, _) => Err(InputError::new("path", "a directory without blktrace files", "files NAME.blktrace.N")
                .in_file(path.display())
                .into()),
            (Some((first, _)), _) => {
                let names: Vec<_> = std::iter::once(first).chain(recordings.into_keys()).collect();
                let e = InputError::new("path", format!("recordings {}", names.join(", ")), "one, by its name");
                Err(e.in_file(path.display()).into())
            }
        };
    }
    if format.is_some_and(|f| f != Format::Blktrace) {
        return Ok(None);
    }
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return Ok(None) };
    let stem = match split(name) {
        Some((stem, _)) => stem,
        None if !path.exists() => name.strip_suffix(".blktrace").unwrap_or(name),
        None => return Ok(None),
    };
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Ok(None);
    }
    Ok(recordings(folder)?.remove(stem).map(|files| files.into_values().collect()))
}

/// All recordings in `folder`: the files of each by CPU.
fn recordings(folder: &Path) -> Result<BTreeMap<String, BTreeMap<u32, PathBuf>>, TraceError> {
    let mut found: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    let entries = std::fs::read_dir(folder).map_err(|e| TraceError::io(folder, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| TraceError::io(folder, e))?;
        if let Some((stem, cpu)) = entry.file_name().to_str().and_then(split) {
            found.entry(stem.to_owned()).or_default().insert(cpu, entry.path());
        }
    }
    Ok(found)
}

/// `STEM.blktrace.N`, perhaps packed, as stem and CPU.
fn split(name: &str) -> Option<(&str, u32)> {
    let name = [".gz", ".zst", ".xz"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name);
    let (stem, cpu) = name.rsplit_once(".blktrace.")?;
    Some((stem, cpu.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_per_cpu_files() {
        assert_eq!(split("sda.blktrace.11"), Some(("sda", 11)));
        assert_eq!(split("sda.blktrace.0.zst"), Some(("sda", 0)));
        assert_eq!(split("sda.blktrace"), None);
        assert_eq!(split("sda.blktrace.x"), None);
    }

    #[test]
    fn finds_siblings_from_any_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.blktrace.0", "a.blktrace.10", "a.blktrace.2", "notes.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = |name: &str| per_cpu_files(&folder.path().join(name), None).unwrap().map(|f| f.len());
        assert_eq!([files("a"), files("a.blktrace"), files("a.blktrace.2"), files("")], [Some(3); 4]);
        assert_eq!([files("notes.txt"), files("b")], [None, None]);
        std::fs::write(folder.path().join("b.blktrace.0"), "").unwrap();
        let e = per_cpu_files(folder.path(), None).unwrap_err().to_string();
        assert!(e.contains("recordings a, b"), "{e}");
    }
}
