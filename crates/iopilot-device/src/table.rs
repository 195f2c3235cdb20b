//! The table-based disk (GF 3.2.1, 4.3.1): how long a request takes is looked up by its direction, its size and its
//! distance from the request before, in tables that were filled by a device that was used, and that go on learning
//! from it.
//!
//! [`TimeTables`] is what has been learnt, [`TableDisk`] the device that answers from it, [`SimulatedCache`] the disk
//! cache by which the form with three tables tells hits from misses, [`Training`] and [`probe_cache`] what fills them.

mod cells;
mod device;
mod form;
mod probe;
mod shape;
mod simulated_cache;
mod tables;
mod train;

pub use cells::{Coverage, TimeTable};
pub use device::{TableDisk, TableModel};
pub use form::three_tables;
pub use probe::{CacheProbe, ProbedCache, probe_cache};
pub use shape::{ROWS, TableShape};
pub use simulated_cache::{SimulatedCache, SimulatedCacheModel};
pub use tables::{HitLimit, Lookup, TableForm, TimeTables};
pub use train::{Trained, Training, further_sector_time};
