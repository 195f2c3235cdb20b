//! Checks that values lie in their ranges.

use iopilot_block::InputError;

/// Ok, or the value that is wrong and what was expected.
pub(super) type SpecCheck = Result<(), InputError>;

/// Checks that a value lies from `low` to `high`; `what` names its unit.
pub(super) fn within(key: &str, value: f64, low: f64, high: f64, what: &str) -> SpecCheck {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(InputError::new(key, value.to_string(), format!("{what}, {low} to {high}")))
}
