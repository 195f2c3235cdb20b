//! The table-based disk (GF 3.2.1, 4.3.1). The time of a request is looked up by its direction, its size and its
//! distance from the previous request. The tables hold times measured on a device, and can continue to learn from it.
//!
//! [`TimeTables`] holds the times and [`TableDisk`] is the device that uses them. With three tables, [`SimulatedCache`]
//! predicts which reads hit. [`Training`] fills the tables; [`probe_cache`] measures the cache.

mod cells;
mod device;
mod form;
mod probe;
mod queue;
mod shape;
mod simulated_cache;
mod tables;
mod train;

pub use cells::{Coverage, TimeTable};
pub use device::{TableDisk, TableModel};
pub use form::three_tables;
pub use probe::ProbedCache;
pub(crate) use probe::{CacheProbe, probe_cache};
pub(crate) use queue::probe_queue;
pub use queue::{ProbedQueue, queue_factors};
pub use shape::{ROWS, TableShape};
pub use simulated_cache::{SimulatedCache, SimulatedCacheModel};
pub use tables::{HitLimit, Lookup, TableForm, TimeTables};
pub use train::{Trained, Training};
