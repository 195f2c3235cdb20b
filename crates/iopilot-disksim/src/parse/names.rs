//! Names of components and parameters.

use iopilot_block::suggest;

/// `what`, with the nearest name of `known` if one is near.
pub(crate) fn expected_name<'a>(what: &str, word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match suggest(word, known) {
        Some(near) => format!("{what}; did you mean `{near}`?"),
        None => what.to_owned(),
    }
}

/// `disk12` is `disk` and 12. `None` for a name without a number at its end, or with nothing else.
pub(super) fn numbered(name: &str) -> Option<(&str, u64)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name[prefix.len()..].parse().ok().filter(|_| !prefix.is_empty()).map(|number| (prefix, number))
}
