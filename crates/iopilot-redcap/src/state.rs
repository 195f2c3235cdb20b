//! [`CacheState`]: whether the cache is active, or becoming so.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The states of GF 2.3.3. In a pending state, new requests are handled as in the main state that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Reads go through the cache.
    Active,
    /// As inactive, but requests of the active state are still in flight.
    PendingInactive,
    /// Requests go to the disk unmodified.
    Inactive,
    /// As active, but requests of the inactive state are still in flight.
    PendingActive,
}

impl CacheState {
    /// Whether new reads go through the cache.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::PendingActive)
    }

    /// Whether requests of the state before are still in flight.
    pub(crate) const fn is_pending(self) -> bool {
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
