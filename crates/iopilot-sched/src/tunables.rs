//! Tunables: named, documented, bounded numbers under the kernel's own names, units and defaults.

use iopilot_block::suggest;
use std::fmt;

/// The unit a tunable is read and written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// KiB.
    KiB,
    /// 512-byte sectors.
    Sectors,
    /// A number of requests or batches.
    Count,
    /// 0 or 1.
    Bool,
    /// A factor.
    Factor,
    /// A factor, in thousandths.
    Thousandths,
    /// A [`IoQueuePolicy`](crate::IoQueuePolicy), by number or name.
    Policy,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ms => "ms",
            Self::Us => "us",
            Self::Ns => "ns",
            Self::KiB => "KiB",
            Self::Sectors => "sectors",
            Self::Count => "count",
            Self::Bool => "0 or 1",
            Self::Factor => "factor",
            Self::Thousandths => "thousandths",
            Self::Policy => "policy",
        })
    }
}

/// The description of one tunable.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// The kernel's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its default value.
    pub default: f64,
    /// The smallest value accepted.
    pub min: f64,
    /// The largest value accepted.
    pub max: f64,
    /// Whether it accepts only whole numbers.
    pub integer: bool,
    /// What it does.
    pub doc: &'static str,
}

/// A set of tunables with their values. The `tunables!` macro implements it.
pub trait Tunables {
    /// All tunables, in the order of the documentation.
    fn specs(&self) -> &'static [Tunable];
    /// The value of a tunable.
    fn get(&self, name: &str) -> Option<f64>;
    /// Sets a tunable.
    ///
    /// # Errors
    /// If it does not exist or the value is not in its range.
    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError>;
}

/// Why a tunable could not be set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TunableError {
    /// There is no such tunable.
    #[error("unknown tunable `{name}`{}", .suggestion.map_or(format!(" (known: {known})"), |s| format!(": did you mean `{s}`?")))]
    Unknown {
        /// The name that was not found.
        name: String,
        /// The nearest known name.
        suggestion: Option<&'static str>,
        /// All known names.
        known: String,
    },
    /// The value is out of range.
    #[error("tunable {name}: got {value}, expected {}{min} to {max} ({unit})", if *.integer { "a whole number from " } else { "" })]
    Range {
        /// The tunable.
        name: &'static str,
        /// The value that was refused.
        value: f64,
        /// The smallest accepted value.
        min: f64,
        /// The largest accepted value.
        max: f64,
        /// Its unit.
        unit: Unit,
        /// Whether it must be whole.
        integer: bool,
    },
}

/// Checks that `name` is one of `specs` and that `value` is in its range.
pub(crate) fn check(specs: &'static [Tunable], name: &str, value: f64) -> Result<&'static Tunable, TunableError> {
    let Some(spec) = specs.iter().find(|t| t.name == name) else {
        let known: Vec<_> = specs.iter().map(|t| t.name).collect();
        return Err(TunableError::Unknown {
            name: name.to_owned(),
            suggestion: suggest(name, known.iter().copied()),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        });
    };
    if !(spec.min..=spec.max).contains(&value) || (spec.integer && value.fract() != 0.0) {
        let &Tunable { name, min, max, unit, integer, .. } = spec;
        return Err(TunableError::Range { name, value, min, max, unit, integer });
    }
    Ok(spec)
}

/// A type that can store a tunable.
pub(crate) trait TunableValue: Copy {
    const INTEGER: bool;
    fn to_f64(self) -> f64;
    fn from_f64(value: f64) -> Self;
}

impl TunableValue for u64 {
    const INTEGER: bool = true;
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl TunableValue for bool {
    const INTEGER: bool = true;
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }
}

impl TunableValue for f64 {
    const INTEGER: bool = false;
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// A default value as the `f64` of a [`Tunable`], in a constant.
macro_rules! as_f64 {
    (bool, $value:expr) => {
        if $value { 1.0 } else { 0.0 }
    };
    ($ty:ty, $value:expr) => {
        $value as f64
    };
}
pub(crate) use as_f64;

/// Declares a struct of tunables: `/// doc` `name: type, Unit = default, min..=max;` for each. Types are `u64`,
/// `bool` and `f64`. A scheduler reads `self.tunables.name` and names the unit at the point of use.
macro_rules! tunables {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $ty:ident, $unit:ident = $default:expr, $min:literal ..= $max:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $doc])+ $vis $field: $ty,)*
        }

        impl $name {
            /// The description of each tunable.
            $vis const SPECS: &'static [$crate::Tunable] = &[$($crate::Tunable {
                name: stringify!($field),
                unit: $crate::Unit::$unit,
                default: $crate::tunables::as_f64!($ty, $default),
                min: $min as f64,
                max: $max as f64,
                integer: <$ty as $crate::tunables::TunableValue>::INTEGER,
                doc: concat!($($doc),+),
            },)*];
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::Tunables for $name {
            fn specs(&self) -> &'static [$crate::Tunable] {
                Self::SPECS
            }

            fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($field) => Some($crate::tunables::TunableValue::to_f64(self.$field)),)*
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, value: f64) -> Result<(), $crate::TunableError> {
                let spec = $crate::tunables::check(Self::SPECS, name, value)?;
                match spec.name {
                    $(stringify!($field) => self.$field = $crate::tunables::TunableValue::from_f64(value),)*
                    _ => unreachable!("every spec has a field"),
                }
                Ok(())
            }
        }
    };
}
pub(crate) use tunables;

/// Implements [`Scheduler::tunables`](crate::Scheduler::tunables) and `set` for a type with a field `tunables`, if nothing else
/// changes with them.
macro_rules! plain_tunables {
    () => {
        fn tunables(&self) -> &dyn $crate::Tunables {
            &self.tunables
        }

        fn set(&mut self, name: &str, value: f64) -> Result<(), $crate::TunableError> {
            $crate::Tunables::set(&mut self.tunables, name, value)
        }
    };
}
pub(crate) use plain_tunables;

/// Implements [`Scheduler::tunables`](crate::Scheduler::tunables) and `set` for a scheduler without tunables.
macro_rules! no_tunables {
    () => {
        fn tunables(&self) -> &dyn $crate::Tunables {
            &$crate::tunables::NoTunables
        }

        fn set(&mut self, name: &str, value: f64) -> Result<(), $crate::TunableError> {
            $crate::Tunables::set(&mut $crate::tunables::NoTunables, name, value)
        }
    };
}
pub(crate) use no_tunables;

/// An empty set of tunables.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoTunables;

impl Tunables for NoTunables {
    fn specs(&self) -> &'static [Tunable] {
        &[]
    }

    fn get(&self, _: &str) -> Option<f64> {
        None
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        check(&[], name, value).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    tunables! {
        /// Three kinds.
        struct Sample {
            /// How long.
            read_expire: u64, Ms = 500, 0..=10_000;
            /// Whether.
            front_merges: bool, Bool = true, 0..=1;
            /// How much.
            r: f64, Factor = 0.2, 0..=1;
        }
    }

    #[test]
    fn defaults_names_and_ranges() {
        let mut s = Sample::default();
        assert_eq!(s.get("r"), Some(0.2));
        assert_eq!(Sample::SPECS[2].default, 0.2);
        assert_eq!(Sample::SPECS[1].default, 1.0);
        s.set("read_expire", 20.0).unwrap();
        s.set("front_merges", 0.0).unwrap();
        assert_eq!((s.read_expire, s.front_merges), (20, false));
        assert!(matches!(s.set("read_expire", 0.5), Err(TunableError::Range { .. })));
        assert!(matches!(s.set("r", -0.1), Err(TunableError::Range { .. })));
        assert!(s.set("r", f64::NAN).is_err());
        let e = s.set("read_expre", 1.0).unwrap_err();
        assert_eq!(e.to_string(), "unknown tunable `read_expre`: did you mean `read_expire`?");
        assert_eq!(s.read_expire, 20);
    }
}
