//! Whether one value lies in its range.

use iopilot_block::InputError;

/// Sound, or which value is not and what was expected.
pub(super) type SpecCheck = Result<(), InputError>;

/// Checks that a value lies from `low` to `high`; `what` names its unit.
pub(super) fn within(key: &str, value: f64, low: f64, high: f64, what: &str) -> SpecCheck {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(InputError::new(key, value.to_string(), format!("{what}, {low} to {high}")))
}
