//! The loads of GF 3.5.2 and 3.6.4 (GF is González-Férez' thesis of 2012): benchmarks alone, in a row, and at the same
//! time. They run without a cache, and with a REDCAP cache of 64 MiB that a reference disk turns on and off.
//!
//! Files are those of [`crate::gf`], written at the same time on ext3: runs of 4 MiB alternate, each after its indirect
//! block. Trees have a directory and an inode block for metadata. Only metadata are kept in a page cache. `find` starts
//! a process for each file.

mod numbers;
mod picture;
mod results;
mod run;
mod tables;

pub(super) use numbers::{ProcessCount, StatedGain, near};
pub(super) use picture::of as pictures;
pub(super) use results::{BenchPlan, BenchResults, PlanCell, percent};
pub(super) use run::{BenchmarkMix, CaseResult};
pub(super) use tables::{alone, cache_cells, in_a_row, place_cells};
