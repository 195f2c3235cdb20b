//! What the seeds measured or claimed of schedulers, and what a live kernel did, on a whole machine: fio's or Ganger's
//! load, the block layer, a modelled disk. Each test prints its figures (`--nocapture`); `docs/lab/validation.md` has them beside the sources'.
#![allow(clippy::unwrap_used)]

mod deadline;
mod distance;
mod drive;
mod idling;
mod merging;
mod rig;
mod sharing;
