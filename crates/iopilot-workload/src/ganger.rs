//! Ganger's synthetic workload generators (Ganger A.2.3), described in TOML.
//!
//! Each generator is a program that computes for a while, issues a request, and waits for it according to its
//! criticality: at once (time-critical), after some more computation (time-limited), or never (time-noncritical).
//! With neither of the first two it is the generator of an open model; with time-critical requests only, that of a
//! closed one. `docs/reference/workloads.md` lists the keys.

mod distribution;
mod host;
mod program;
mod spec;

pub(crate) use distribution::Variable;
pub use host::{on_host, on_own_cpus};
pub use spec::GangerSpec;

#[cfg(test)]
mod tests;
