//! The task that issues a request, and how urgent the request is.

use crate::NumberMap;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The task that issued a request: what the kernel calls a pid and user space a thread id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub u32);

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A `T` for each process.
pub type ProcessMap<T> = NumberMap<ProcessId, T>;

/// An I/O priority class, as `ionice(1)` and `ioprio_set(2)` number them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityClass {
    /// Not set: the scheduler derives a best-effort priority from the process' nice value.
    #[default]
    None = 0,
    /// Served before all others.
    RealTime = 1,
    /// The usual class.
    BestEffort = 2,
    /// Served when no other process wants the disk.
    Idle = 3,
}

/// An I/O priority: a class, and within it a level from 0 (highest) to 7 (lowest).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IoPriority {
    /// The class.
    pub class: PriorityClass,
    /// The level in the class, 0 to 7; 4 is the default (`IOPRIO_BE_NORM`).
    pub level: u8,
}

impl IoPriority {
    /// `class` at `level`; `None` if the level is above 7.
    pub fn new(class: PriorityClass, level: u8) -> Option<Self> {
        (level <= 7).then_some(Self { class, level })
    }

    /// The class a scheduler acts on: best effort if none was set.
    pub fn effective_class(self) -> PriorityClass {
        match self.class {
            PriorityClass::None => PriorityClass::BestEffort,
            class => class,
        }
    }

    /// Decodes the kernel's 16 bits: class in the top 3 bits, level in the lowest 3. The hint bits between are ignored.
    /// `None` for a class that does not exist.
    pub fn from_kernel(raw: u16) -> Option<Self> {
        let class = match raw >> 13 {
            0 => PriorityClass::None,
            1 => PriorityClass::RealTime,
            2 => PriorityClass::BestEffort,
            3 => PriorityClass::Idle,
            _ => return None,
        };
        Some(Self { class, level: (raw & 7) as u8 })
    }
}

impl Default for IoPriority {
    fn default() -> Self {
        Self { class: PriorityClass::None, level: 4 }
    }
}

/// How the issuing process depends on the request's completion (Ganger 3.1).
///
/// The order is by urgency: the most urgent is the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criticality {
    /// The process waits for it now.
    #[default]
    TimeCritical,
    /// The process will wait for it unless it completes in time (read-ahead that will be used).
    TimeLimited,
    /// No process waits (background write-back).
    TimeNonCritical,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_the_kernels_priority() {
        let p = IoPriority::from_kernel((1 << 13) | 3).unwrap();
        assert_eq!((p.class, p.level), (PriorityClass::RealTime, 3));
        assert_eq!(IoPriority::from_kernel(7 << 13), None);
        assert_eq!(IoPriority::default().effective_class(), PriorityClass::BestEffort);
        assert_eq!(IoPriority::new(PriorityClass::BestEffort, 8), None);
    }
}
