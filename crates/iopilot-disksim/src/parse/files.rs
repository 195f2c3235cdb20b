//! [`ParameterFiles`]: the file of each value, and the search for the files that values name.

use iopilot_block::InputError;
use std::path::{Path, PathBuf};

/// A place: a file of [`ParameterFiles`] and a line, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileLine {
    pub(super) file: u32,
    pub(super) line: u32,
}

impl FileLine {
    /// The line, counted from 1.
    pub fn line(self) -> u64 {
        u64::from(self.line)
    }
}

/// The files that were read, in the order in which they were first opened.
#[derive(Clone, Debug, Default)]
pub struct ParameterFiles {
    names: Vec<String>,
    /// For each file, the first folder to search for data files; `None` if the text came from no file.
    folders: Vec<Option<PathBuf>>,
    /// The folders to search next, in order.
    search: Vec<PathBuf>,
}

impl ParameterFiles {
    pub(super) fn new(search: Vec<PathBuf>) -> Self {
        Self { search, ..Self::default() }
    }

    pub(super) fn add(&mut self, name: String, folder: Option<PathBuf>) -> u32 {
        self.names.push(name);
        self.folders.push(folder);
        // The number of inclusions is bounded (see `input`).
        (self.names.len() - 1) as u32
    }

    /// The name of the file of `place` in errors.
    pub fn name(&self, place: FileLine) -> &str {
        self.names.get(place.file as usize).map_or("", String::as_str)
    }

    /// An error at `place`: `field` is `got` instead of `expected`.
    pub fn refuse(
        &self,
        place: FileLine,
        field: impl Into<String>,
        got: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        let error = InputError::new(field, got, expected).in_file(self.name(place));
        if place.line == 0 { error } else { error.at_line(place.line()) }
    }

    /// Finds the file called `name` in a text at `place`. The search covers the folder of that text, then the folders
    /// of `LP_PATH`. The last resort is the folders beside that of the text, if exactly one has such a file. An
    /// absolute name is used as it is.
    ///
    /// # Errors
    /// If there is none, or the text came from no file.
    pub fn find(&self, place: FileLine, field: &str, name: &str) -> Result<PathBuf, InputError> {
        let folder = self.folders.get(place.file as usize).and_then(Option::as_deref);
        let Some(folder) = folder else {
            return Err(self.refuse(place, field, name, "no file name in a text that is not a file"));
        };
        let found = std::iter::once(folder)
            .chain(self.search.iter().map(PathBuf::as_path))
            .map(|folder| folder.join(Path::new(name)))
            .find(|path| path.is_file());
        found.or_else(|| beside(folder, name)).ok_or_else(|| {
            let expected = "a file in the folder of this one or in a folder of the environment variable LP_PATH";
            self.refuse(place, field, name, expected)
        })
    }
}

/// The file called `name` in one of the folders beside `folder`; `None` if several have one.
fn beside(folder: &Path, name: &str) -> Option<PathBuf> {
    let above = folder.canonicalize().ok()?.parent()?.to_owned();
    let folders = std::fs::read_dir(above).ok()?.filter_map(Result::ok);
    let mut found = folders.map(|entry| entry.path().join(name)).filter(|path| path.is_file());
    found.next().filter(|_| found.next().is_none())
}
