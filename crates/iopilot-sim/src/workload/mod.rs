//! Workloads: what issues requests.

pub mod replay;
