//! [`parse_toml`]: TOML descriptions, with errors that name the line and the key.

use crate::{InputError, suggest};
use serde::de::DeserializeOwned;
use toml::de::DeTable;

/// Reads a description in TOML.
///
/// # Errors
/// Names the file, the line, the key and what was expected; for an unknown key the nearest known one.
pub fn parse_toml<T: DeserializeOwned>(text: &str, source_name: &str) -> Result<T, InputError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        describe(&error, text, start).in_file(source_name).at_line(line_at(text, start))
    })
}

impl InputError {
    /// Names the file, and the line of the field's key in its TOML `text`. For values that are checked after parsing.
    #[must_use]
    pub fn in_toml(self, text: &str, source_name: &str) -> Self {
        let line = line_of_key(text, &self.field);
        Self { line: line.or(self.line), ..self.in_file(source_name) }
    }
}

/// The line of a dotted key, or of the deepest part of it that is given. `zone[2]` is the third element of a list.
fn line_of_key(text: &str, key: &str) -> Option<u64> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut line = None;
    for part in key.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, index)) => (name, index.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let Some((found, mut value)) = table.iter().find(|(k, _)| k.get_ref() == name) else { return line };
        line = Some(line_at(text, found.span().start));
        if let (Some(index), Some(list)) = (index, value.get_ref().as_array()) {
            let Some(item) = list.get(index) else { return line };
            value = item;
            line = Some(line_at(text, value.span().start));
        }
        let Some(inner) = value.get_ref().as_table() else { return line };
        table = inner;
    }
    line
}

fn line_at(text: &str, at: usize) -> u64 {
    text[..at].matches('\n').count() as u64 + 1
}

fn describe(error: &toml::de::Error, text: &str, start: usize) -> InputError {
    let message = error.message();
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let (key, value) = line.split_once('=').map_or((line.trim(), ""), |(k, v)| (k.trim(), v.trim()));
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        let mut quoted = message.split('`').skip(1).step_by(2);
        let unknown = quoted.next().unwrap_or_default();
        let known: Vec<_> = quoted.collect();
        let expected = match suggest(unknown, known.iter().copied()) {
            Some(near) => format!("a known name; did you mean `{near}`?"),
            None => format!("one of {}", known.join(", ")),
        };
        let field = if message.starts_with("unknown field") { "key" } else { key };
        return InputError::new(field, unknown, expected);
    }
    if let Some(missing) = message.strip_prefix("missing field ") {
        return InputError::new(missing.trim_matches('`'), "", "a value for this key");
    }
    // "invalid type: string \"x\", expected f64"
    let expected = message.rsplit_once("expected ").map_or(message, |(_, e)| e).lines().next().unwrap_or_default();
    InputError::new(key, value, plain(expected))
}

/// Rust's names of types in plain words.
fn plain(expected: &str) -> String {
    match expected {
        "f64" | "f32" => "a number".to_owned(),
        "u64" | "u32" | "u16" | "u8" | "usize" => format!("a whole number that fits {expected}"),
        "a boolean" | "bool" => "true or false".to_owned(),
        _ => expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Sample {
        rotation_rpm: f64,
        heads: u32,
    }

    fn error(text: &str) -> String {
        parse_toml::<Sample>(text, "d.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_value_checked_after_parsing_has_the_line_of_its_key() {
        let text = "disk = \"x\"\n\n[host]\ncpus = 0\ncosts = { a = 1 }\n[[zone]]\nfirst = 1\n[[zone]]\nfirst = 2\n";
        let line = |key: &str| InputError::new(key, "", "").in_toml(text, "m.toml").line;
        assert_eq!([line("disk"), line("host.cpus"), line("host.costs.a")], [Some(1), Some(4), Some(5)]);
        assert_eq!([line("host.speed"), line("block.nomerges")], [Some(3), None], "the deepest part that is given");
        assert_eq!([line("zone[1].first"), line("zone[0]")], [Some(9), Some(6)]);
    }

    #[test]
    fn names_line_key_and_expectation() {
        assert_eq!(
            error("heads = 2\nrotaton_rpm = 7200\n"),
            "d.toml:2: key: got rotaton_rpm, expected a known name; did you mean `rotation_rpm`?"
        );
        assert_eq!(
            error("rotation_rpm = \"fast\"\nheads = 2\n"),
            "d.toml:1: rotation_rpm: got \"fast\", expected a number"
        );
        assert!(error("rotation_rpm = 7200\nheads = -2\n").starts_with("d.toml:2: heads: got -2, expected"));
        assert!(error("rotation_rpm = 7200\n").contains("heads: got nothing, expected a value"));
        assert!(error("rotation_rpm 7200\n").starts_with("d.toml:1: "));
        for e in [error("= ="), error("[[["), error("heads = 2\nheads = 3")] {
            assert!(!e.contains('\n'), "{e}");
        }
    }
}
