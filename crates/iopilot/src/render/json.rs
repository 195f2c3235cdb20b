//! JSON for programs: the keys are documented in `docs/reference/report.md`.

use anyhow::Context;
use serde::Serialize;

/// `value` as indented JSON with a newline at the end.
///
/// # Errors
/// Where a value cannot be written as JSON.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(value).context("writing JSON")?;
    text.push('\n');
    Ok(text)
}
