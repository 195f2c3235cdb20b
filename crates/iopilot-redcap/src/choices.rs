//! The choices that a [`crate::RedcapSpec`] has, by their names.

use iopilot_block::{InputError, suggest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An enum whose variants have names, and the one table of them.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$about])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            pub(crate) fn parse(key: &str, text: &str) -> Result<Self, InputError> {
                let names = || Self::ALL.iter().map(|choice| choice.name());
                Self::ALL.iter().copied().find(|choice| choice.name() == text).ok_or_else(|| unknown(key, text, names))
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
    /// What decides whether the cache is active.
    Algorithm {
        /// It always is.
        Always = "always",
        /// It never is: each request goes to the disk as it is.
        Never = "never",
        /// The simplest of the thesis (GF 0.2.1): a fixed interval, and eq. 0.3, which carries nothing over.
        V0 = "v0",
        /// GF 2.3.3 as evaluated in GF 2.5.1: pending states are not analysed and cannot be undone.
        V1 = "v1",
        /// GF 2.3.3 as evaluated in GF 2.5.2: pending states are analysed and can be undone.
        V2 = "v2",
        /// GF 3.3: a virtual disk serves what the other state would have asked for. Compares times of the same blocks.
        Vd = "vd",
        /// GF 3.3 with eq. 3.3 as printed: prefetched blocks count as served.
        VdLiteral = "vd-literal",
        /// Someone else decides, with [`crate::Redcap::set_active`].
        Rig = "rig",
    }
}

choices! {
    /// How a missed read and its prefetch go to the disk.
    Miss {
        /// The original first, then a request for what is behind it in the segment, and one for what is before (GF 2.3.2).
        Split = "split",
        /// One request for the whole segment (GF 3.3.3).
        Combined = "combined",
    }
}

choices! {
    /// How many requests are between two checks of `v0`, `v1` and `v2`.
    Interval {
        /// Always 100.
        Fixed = "fixed",
        /// 50 to 200, by how the last checks went (GF 2.3.3).
        Adaptive = "adaptive",
    }
}

choices! {
    /// What `vd` and `vd-literal` compare.
    Ratio {
        /// The ratio of sums: time by blocks (eq. 3.2).
        Sums = "sums",
        /// The sum of each request's ratio (eq. 3.3).
        Each = "each",
    }
}

impl Algorithm {
    /// Whether it needs a [`crate::VirtualDisk`].
    pub const fn needs_virtual_disk(self) -> bool {
        matches!(self, Self::Vd | Self::VdLiteral)
    }
}

/// An unknown name, with the nearest of those there are.
pub(crate) fn unknown<'a, I: Iterator<Item = &'a str>>(key: &str, got: &str, names: impl Fn() -> I) -> InputError {
    let expected = match suggest(got, names()) {
        Some(near) => format!("a known name; did you mean `{near}`?"),
        None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    InputError::new(format!("redcap: {key}"), got, expected)
}
