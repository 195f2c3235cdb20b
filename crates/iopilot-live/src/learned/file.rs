//! The file of a [`LearnedDisk`](super::LearnedDisk).

use super::SAMPLES;
use crate::{DiskIdentity, LiveError};
use iopilot_block::InputError;
use iopilot_catalogue::{DeviceSpec, DiskSpec, TableForm, TableModel, TableSpec};
use iopilot_trace::Destination;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The model in a saved file.
pub(super) fn read(text: &str, identity: &DiskIdentity, path: &Path) -> Result<TableModel, LiveError> {
    let name = path.display().to_string();
    let wrong = |field: &str, got: String, expected: String| InputError::new(field, got, expected).in_file(&name);
    let spec = DiskSpec::from_toml(text, &name).map_err(|e| LiveError::State(e.to_string()))?;
    let expected = identity.file_name();
    if spec.name != expected {
        return Err(wrong("name", spec.name, format!("{expected}, which is the disk at hand")).into());
    }
    let DeviceSpec::Table(table) = &spec.device else {
        return Err(wrong("type", "another kind of disk".to_owned(), "table".to_owned()).into());
    };
    let model = table.model().map_err(|e| e.in_file(&name))?;
    if model.tables.shape().capacity() != identity.sectors {
        let got = format!("{} sectors", model.tables.shape().capacity());
        return Err(wrong("table", got, format!("tables of {} sectors", identity.sectors)).into());
    }
    if model.tables.form() == TableForm::Two {
        let expected = "three (GF 4.3.1); remove the file, and they are learned anew".to_owned();
        return Err(wrong("table", "two tables".to_owned(), expected).into());
    }
    Ok(model)
}

/// Writes `model` of the disk `identity` to `path` atomically, with the number of samples of each cell. Creates the
/// directory if needed.
pub(super) fn write(path: &Path, identity: &DiskIdentity, model: &TableModel) -> Result<(), LiveError> {
    let table = TableSpec::new(model, identity.rotational, SAMPLES).counted(&model.tables);
    let spec = DiskSpec {
        name: identity.file_name(),
        model: identity.model.clone(),
        sources: vec![format!("learnt on line from {}", identity.id)],
        device: DeviceSpec::Table(Box::new(table)),
        provenance: BTreeMap::new(),
    };
    let written = || -> io::Result<()> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let (destination, mut file) = Destination::create(path)?;
        file.write_all(spec.to_toml().as_bytes())?;
        destination.commit(&file)
    };
    written().map_err(|e| LiveError::io(path, e))
}
