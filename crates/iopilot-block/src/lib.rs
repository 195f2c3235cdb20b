//! The vocabulary of iopilot: the types for time, addresses, requests and measurements that all other crates share.
//!
//! Time is [`Nanos`] everywhere. Addresses are 512-byte sectors ([`Lba`], [`Sectors`]). A [`Request`] lives in a
//! [`Requests`] slab and is named by its [`RequestId`], so that a simulation allocates nothing per request in its
//! steady state. A [`Source`] issues requests. An [`EventQueue`] orders events. [`Lru`], [`Slab`], [`SortedIndex`], and
//! [`List`] with its [`Links`] are the other structures that crates share.
//!
//! In comments, *Ganger* is Ganger's thesis of 1995, with the number of a section.

mod address;
mod agenda;
mod event_queue;
mod hash;
mod host_report;
mod input_error;
mod links;
mod lru;
mod op;
mod positions;
mod process;
mod request;
mod requests;
mod slab;
mod sorted_index;
mod source;
mod stats;
mod time;
mod toml_input;

pub use address::{Lba, SECTOR_BYTES, Sectors};
pub use agenda::Agenda;
pub use event_queue::{EventQueue, Scheduled};
pub use hash::NumberMap;
pub use host_report::{
    AfterTasks, HostReport, HostTimes, OverTime, PageCacheReport, ProcessGroup, ProcessKind, RequestClass, TaskReport,
    TimeLimits,
};
pub use input_error::{InputError, suggest};
pub use links::{Links, List, SlotIndex};
pub use lru::Lru;
pub use op::{Flags, Op};
pub use positions::{Cached, Knowledge, Positions};
pub use process::{Criticality, IoPriority, PriorityClass, ProcessId, ProcessMap};
pub use request::{IoIndex, Request, RequestId};
pub use requests::Requests;
pub use slab::Slab;
pub use sorted_index::{Downwards, SortedIndex, Upwards};
pub use source::{Arrival, Source, SourceHandle, Step};
pub use stats::{Distribution, Histogram, jain_index};
pub use time::Nanos;
pub use toml_input::parse_toml;
