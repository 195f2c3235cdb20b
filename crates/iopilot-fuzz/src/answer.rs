//! What a target answers.

/// The answer for a refused input; the error must be one line.
pub(crate) fn refused(error: &impl ToString) -> String {
    let line = error.to_string();
    assert!(!line.is_empty() && !line.contains('\n') && line.len() < 4096, "one line: {line}");
    line
}
