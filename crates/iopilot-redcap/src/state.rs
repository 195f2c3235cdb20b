//! [`CacheState`]: whether the cache is in use, or about to be.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The states of GF 2.3.3. New requests are handled as in the main state that a pending state leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Reads go through the cache.
    Active,
    /// As inactive; requests from before are still in flight.
    PendingInactive,
    /// Requests go to the disk as they are.
    Inactive,
    /// As active; requests from before are still in flight.
    PendingActive,
}

impl CacheState {
    /// Whether new reads go through the cache.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::PendingActive)
    }

    /// Whether requests of the state before are still in flight.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::PendingActive | Self::PendingInactive)
    }

    pub(crate) const fn main(active: bool) -> Self {
        if active { Self::Active } else { Self::Inactive }
    }

    pub(crate) const fn pending(active: bool) -> Self {
        if active { Self::PendingActive } else { Self::PendingInactive }
    }
}

impl fmt::Display for CacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::PendingInactive => "pending-inactive",
            Self::Inactive => "inactive",
            Self::PendingActive => "pending-active",
        })
    }
}
