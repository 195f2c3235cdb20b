//! Parameters with a few named values, given by number or by word.

use super::fields::Given;
use crate::parse::Value;
use iopilot_block::{InputError, suggest};

/// A parameter whose values have names.
pub trait Choice: Copy + PartialEq + 'static {
    /// The values, each with its code in the file and its meaning.
    const ALL: &'static [(&'static str, &'static str, Self)];

    /// The code in the file.
    fn code(self) -> &'static str {
        Self::ALL.iter().find(|c| c.2 == self).map_or("", |c| c.0)
    }
}

/// Reads a choice. Words must match exactly, numbers by value.
pub(super) fn choice<C: Choice>(given: &Given<'_>) -> Result<C, InputError> {
    let found = match given.value {
        Value::Int(value) => C::ALL.iter().find(|c| c.0.parse() == Ok(*value)),
        Value::Word(word) => C::ALL.iter().find(|c| c.0 == &**word),
        _ => None,
    };
    found.map(|c| c.2).ok_or_else(|| given.refuse(expected::<C>(given)))
}

fn expected<C: Choice>(given: &Given<'_>) -> String {
    if let Value::Word(word) = given.value {
        if let Some(near) = suggest(word, C::ALL.iter().map(|c| c.0)) {
            return format!("one of {}; did you mean {near}?", codes::<C>());
        }
    }
    let meanings: Vec<_> = C::ALL.iter().map(|c| format!("{} {}", c.0, c.1)).collect();
    let numbered = C::ALL.iter().all(|c| c.0.parse::<i64>().is_ok());
    if numbered { meanings.join(", ") } else { format!("one of {}", codes::<C>()) }
}

fn codes<C: Choice>() -> String {
    C::ALL.iter().map(|c| c.0).collect::<Vec<_>>().join(", ")
}

/// Defines an `enum` that is a [`Choice`].
macro_rules! choices {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal, $meaning:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl crate::params::Choice for $name {
            const ALL: &'static [(&'static str, &'static str, Self)] = &[$(($code, $meaning, Self::$variant)),*];
        }
    };
}
pub(super) use choices;
