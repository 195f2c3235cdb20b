//! [`WorkloadNames`]: the user's names of keys and files, for messages.

use crate::file_call::FileId;
use crate::file_system::FileError;
use crate::program::Key;
use iopilot_block::InputError;
use std::sync::Arc;

/// The names of keys, locks, channels and files, for messages. Without a name, messages use the number.
#[derive(Clone, Debug, Default)]
pub struct WorkloadNames {
    source_name: String,
    keys: Vec<(Key, Arc<str>)>,
    files: Vec<(FileId, Arc<str>)>,
}

impl WorkloadNames {
    /// The names of a workload described in the file `source_name`.
    pub fn new(source_name: &str, mut keys: Vec<(Key, Arc<str>)>, mut files: Vec<(FileId, Arc<str>)>) -> Self {
        keys.sort();
        files.sort();
        Self { source_name: source_name.to_owned(), keys, files }
    }

    /// The name of a key, a lock or a channel.
    pub(crate) fn key(&self, key: Key) -> String {
        match self.keys.binary_search_by_key(&key, |&(key, _)| key) {
            Ok(at) => format!("`{}`", self.keys[at].1),
            Err(_) => key.to_string(),
        }
    }

    /// The message of a file system error, with the name of the file.
    pub(crate) fn error(&self, error: FileError) -> String {
        let (FileError::Missing(file)
        | FileError::Exists(file)
        | FileError::NoDirectory(file)
        | FileError::Directory(file)
        | FileError::NotEmpty(file)) = error
        else {
            return error.to_string();
        };
        match self.files.binary_search_by_key(&file, |&(file, _)| file) {
            Ok(at) => error.to_string().replacen(&file.to_string(), &format!("`{}`", self.files[at].1), 1),
            Err(_) => error.to_string(),
        }
    }

    /// Adds the workload's file to an error that names none.
    pub(crate) fn in_file(&self, error: InputError) -> InputError {
        if error.source_name.is_empty() { error.in_file(&self.source_name) } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_use_names_and_else_numbers() {
        let names = WorkloadNames::new("w.toml", vec![(7, "door".into())], vec![(FileId(12), "a.c".into())]);
        assert_eq!((names.key(7), names.key(8)), ("`door`".to_owned(), "8".to_owned()));
        assert_eq!(names.error(FileError::Missing(FileId(12))), "`a.c` does not exist");
        assert_eq!(names.error(FileError::Exists(FileId(1))), "file 1 exists");
        assert_eq!(names.error(FileError::Full), "no space left on the device");
        let error = names.in_file(InputError::new("field", "this", "that")).to_string();
        assert_eq!(error, "w.toml: field: got this, expected that");
    }
}
