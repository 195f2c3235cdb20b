//! Checks that values lie in their ranges.

use iopilot_block::InputError;

/// Ok, or the value that is wrong and what was expected.
pub(super) type SpecCheck = Result<(), InputError>;

/// Checks that a value lies from `low` to `high`; `what` names its unit.
pub(super) fn within(key: &str, value: f64, low: f64, high: f64, what: &str) -> SpecCheck {
    check(key, value, low, high, || format!("{what}, {low} to {high}"))
}

/// The same for a value whose key names its unit.
pub(super) fn within_range(key: &str, value: f64, low: f64, high: f64) -> SpecCheck {
    check(key, value, low, high, || format!("{low} to {high}"))
}

fn check(key: &str, value: f64, low: f64, high: f64, expected: impl FnOnce() -> String) -> SpecCheck {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(InputError::new(key, value.to_string(), expected()))
}
