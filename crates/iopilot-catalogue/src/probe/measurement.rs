//! [`Measurement`]: a value and its uncertainty.

/// A value and its uncertainty in the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The value.
    pub value: f64,
    /// Half of the range in which it lies, or a standard error.
    pub uncertainty: f64,
}
