//! [`ParameterFiles`]: which file a value came from, and where the files it names are looked for.

use iopilot_block::InputError;
use std::path::{Path, PathBuf};

/// Where something stands: a file of [`ParameterFiles`] and a line, counted from 1.
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

/// The files that were read, by the order in which they were first opened.
#[derive(Clone, Debug, Default)]
pub struct ParameterFiles {
    names: Vec<String>,
    /// Where data files named in each are looked for first; `None` where the text came from no file.
    folders: Vec<Option<PathBuf>>,
    /// Where they are looked for next, in order.
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

    /// The file of `place`, as errors call it.
    pub fn name(&self, place: FileLine) -> &str {
        self.names.get(place.file as usize).map_or("", String::as_str)
    }

    /// The error: at `place`, `field` is `got`, not `expected`.
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

    /// The file called `name` by a text at `place`: in the folder of that text, then in the folders of `LP_PATH`, then
    /// in the folders beside that text's own, if it is in one of them only. An absolute name is taken as it is.
    ///
    /// # Errors
    /// Where there is none, and where the text came from no file.
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

/// The file called `name` in one of the folders beside `folder`; `None` where several have one.
fn beside(folder: &Path, name: &str) -> Option<PathBuf> {
    let above = folder.canonicalize().ok()?.parent()?.to_owned();
    let folders = std::fs::read_dir(above).ok()?.filter_map(Result::ok);
    let mut found = folders.map(|entry| entry.path().join(name)).filter(|path| path.is_file());
    found.next().filter(|_| found.next().is_none())
}
