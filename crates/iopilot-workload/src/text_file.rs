//! [`read_text`]: a text file, or standard input.

use crate::WorkloadError;
use iopilot_block::InputError;
use iopilot_trace::STANDARD_INPUT;
use std::io::Read;
use std::path::Path;

/// Reads the file `path`, or standard input where `path` is `-`.
///
/// # Errors
/// If the file cannot be read, or is not UTF-8 text.
pub(crate) fn read_text(path: &Path) -> Result<String, WorkloadError> {
    let io = |source| WorkloadError::Io { path: path.to_owned(), source };
    let bytes = if path == Path::new(STANDARD_INPUT) {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(io)?;
        bytes
    } else {
        std::fs::read(path).map_err(io)?
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(InputError::new("file", "bytes that are no text", "UTF-8 text").in_file(path.display()).into());
    };
    // Some editors put a byte order mark before the text.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
