//! The choices of a [`crate::RedcapSpec`], by name.

use iopilot_block::{InputError, suggest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Defines an enum whose variants have names. A variant may have former names, which are still read.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$about:meta])* $variant:ident = $text:literal $(or $former:literal)*,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$about])* #[serde(rename = $text $(, alias = $former)*)] $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the variant.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            pub(crate) fn parse(key: &str, text: &str) -> Result<Self, InputError> {
                match text {
                    $($text $(| $former)* => Ok(Self::$variant),)*
                    _ => Err(unknown(key, text, || Self::ALL.iter().map(|choice| choice.name()))),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

choices! {
    /// The algorithm that turns the cache on and off.
    Algorithm {
        /// The cache is always on.
        Always = "always",
        /// The cache is always off: each request goes to the disk unmodified.
        Never = "never",
        /// The simplest of the thesis (GF 0.2.1): a fixed interval, and eq. 0.3, which carries nothing over.
        V0 = "v0",
        /// GF 2.3.3 as evaluated in GF 2.5.1: pending states are not analysed and cannot be undone.
        V1 = "v1",
        /// GF 2.3.3 as evaluated in GF 2.5.2: pending states are analysed and can be undone.
        V2 = "v2",
        /// GF 3.3: a reference disk serves the requests that the other state would have sent. The algorithm compares the
        /// time of a requested block in both states.
        Vd = "vd",
        /// GF 3.3 with eq. 3.3 as printed. Every block that the disk delivers counts, also a prefetched one that is never hit.
        VdAllBlocks = "vd-all-blocks" or "vd-literal",
        /// The driver of the cache decides by trials, and calls [`crate::Redcap::set_active`].
        Adaptive = "adaptive" or "rig",
    }
}

choices! {
    /// How a missed read and its prefetch go to the disk.
    Miss {
        /// The original goes first, then a prefetch of the segment's blocks behind it, then one of those before it (GF 2.3.2).
        Split = "split",
        /// One request for the whole segment (GF 3.3.3).
        Combined = "combined",
    }
}

impl Default for Miss {
    /// That of the algorithms that do not compare with a reference disk.
    fn default() -> Self {
        Self::Split
    }
}

choices! {
    /// The number of requests between two checks of `v0`, `v1` and `v2`.
    Interval {
        /// Always 100.
        Fixed = "fixed",
        /// 50 to 200, depending on the results of the last checks (GF 2.3.3).
        Adaptive = "adaptive",
    }
}

choices! {
    /// The ratio of time to blocks that `vd` and `vd-all-blocks` compare.
    Ratio {
        /// The sum of the times over the sum of the blocks (eq. 3.2).
        Sums = "sums",
        /// The sum of each request's ratio (eq. 3.3).
        Each = "each",
    }
}

impl Algorithm {
    /// Whether the algorithm needs a [`crate::ReferenceDisk`].
    pub const fn needs_reference_disk(self) -> bool {
        matches!(self, Self::Vd | Self::VdAllBlocks)
    }
}

/// The error for an unknown name, with the nearest known one.
pub(crate) fn unknown<'a, I: Iterator<Item = &'a str>>(key: &str, got: &str, names: impl Fn() -> I) -> InputError {
    let expected = match suggest(got, names()) {
        Some(near) => format!("a known name; did you mean `{near}`?"),
        None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    InputError::new(format!("redcap: {key}"), got, expected)
}
