//! Names of components and parameters.

use iopilot_block::suggest;

/// `what`, and the nearest of `known` where one is near.
pub(crate) fn expected_name<'a>(what: &str, word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match suggest(word, known) {
        Some(near) => format!("{what}; did you mean `{near}`?"),
        None => what.to_owned(),
    }
}

/// `disk12` is `disk` and 12; a name that does not end in a number, or is nothing else, is none of a range.
pub(super) fn numbered(name: &str) -> Option<(&str, u64)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name[prefix.len()..].parse().ok().filter(|_| !prefix.is_empty()).map(|number| (prefix, number))
}
