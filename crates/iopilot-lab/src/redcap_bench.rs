//! What GF 3.5.2 and 3.6.4 run: benchmarks alone, in a row, and at the same time, with a REDCAP cache of 64 MiB whose virtual
//! disk turns it on and off, and without.
//!
//! Files are those of [`crate::gf`], written at the same time on ext3: runs of 4 MiB lie between each other, each behind its
//! indirect block. Trees have a directory and an inode block for metadata. There is no page cache but for the metadata.
//! `find` starts a process for each file.

mod numbers;
mod picture;
mod results;
mod run;
mod tables;

pub(super) use numbers::{Number, ProcessCount, near};
pub(super) use picture::of as pictures;
pub(super) use results::{BenchPlan, PlanCell, Results, percent};
pub(super) use run::{BenchmarkMix, CaseResult};
pub(super) use tables::{alone, cache_cells, in_a_row, place_cells};
