//! REDCAP: a disk cache in RAM, below the page cache and above the I/O scheduler, that prefetches in disk order (GF 2, 3.3).
//! GF is González-Férez' thesis of 2012; D20 is a decision where the thesis is open.
//!
//! The cache and the disk are divided into segments of the same size. On a miss, the cache prefetches the rest of the disk
//! segment, so that later reads of its neighbours are hits. Requested blocks are not kept, because the page cache has them.
//! An algorithm measures whether the cache saves time, and turns it off while it does not.
//!
//! [`Redcap`] is a pure policy without thread, clock or data. A *body* owns the frames and the disk, and passes the time. A
//! simulator drives it in virtual time, a block-device server in real time.
//!
//! ```
//! use iopilot_block::{Arrival, Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, SourceHandle};
//! use iopilot_redcap::{RedcapAction, Redcap, RedcapSpec, Role, PartTimes};
//!
//! let spec = RedcapSpec::parse("64x128k,algorithm=always")?;
//! let mut cache = Redcap::new(&spec, 1 << 20)?;
//! let read = |handle, lba| Arrival {
//!     handle: SourceHandle(handle),
//!     op: Op::Read,
//!     lba: Lba(lba),
//!     sectors: Sectors(8),
//!     flags: Flags::empty(),
//!     process: ProcessId(1),
//!     priority: IoPriority::default(),
//!     criticality: Criticality::default(),
//!     cpu: 0,
//! };
//!
//! // A miss at the start of a segment sends the original, then a prefetch of the rest of the segment.
//! let mut out = Vec::new();
//! cache.submit(&read(1, 0), Nanos(0), &mut out);
//! let parts: Vec<_> = out.drain(..).filter_map(|a| if let RedcapAction::Send(part) = a { Some(part) } else { None }).collect();
//! assert_eq!(parts.iter().map(|part| (part.role, part.lba.0, part.sectors.0)).collect::<Vec<_>>(), [
//!     (Role::Missed, 0, 8),
//!     (Role::Prefetch, 8, 248),
//! ]);
//! for part in parts {
//!     let (inserted, dispatched, completed) = (Nanos(0), Nanos(0), Nanos(1_000));
//!     let served = PartTimes { inserted, dispatched, completed, merged: Sectors(0) };
//!     cache.served(part.id, served, &mut out);
//! }
//! assert_eq!(out, [RedcapAction::Done { io: SourceHandle(1), failed: false }]);
//!
//! // A read of the neighbour is a hit: it is copied from the frames.
//! out.clear();
//! cache.submit(&read(2, 8), Nanos(2_000), &mut out);
//! assert!(matches!(out[0], RedcapAction::Copy { io: SourceHandle(2), lba: Lba(8), sectors: Sectors(8), .. }));
//! # Ok::<(), iopilot_block::InputError>(())
//! ```

mod ada;
mod block_time;
mod blocks;
mod check;
mod choices;
mod comparison;
mod contents;
mod counters;
mod directory;
mod estimator;
mod geometry;
mod io;
mod miss_times;
mod prefetch_queue;
mod records;
mod redcap;
mod reference_disk;
mod regions;
mod spec;
mod state;
mod sums;
mod sweep;

#[cfg(test)]
mod tests;

pub use check::ActivationCheck;
pub use choices::{Algorithm, Interval, Miss, Ratio};
pub use contents::Contents;
pub use counters::CacheCounters;
pub use geometry::CacheGeometry;
pub use io::{CopyId, PartId, PartTimes, RedcapAction, RequestPart, Role};
pub use redcap::Redcap;
pub use reference_disk::{NoReferenceDisk, ReferenceCompletion, ReferenceDisk, ReferenceRequest};
pub use spec::RedcapSpec;
pub use state::CacheState;
