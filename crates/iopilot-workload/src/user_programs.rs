//! [`UserProgramsSpec`]: programs that a user describes in TOML, with their files, channels and external interrupts.
//!
//! A process is a list of events. It runs on the CPUs of a host, with a page cache and a file system. Errors that can be
//! detected before a run are refused: unknown names, processes that wait for each other, a channel that no process fills.
//! `docs/reference/programs.md` lists the keys. Built-in programs are in [`crate::builtin_programs`].

mod arrivals;
mod check;
mod deadlock;
mod event;
mod event_list;
mod layout;
mod program;
mod read;
mod source;
mod spec;
#[cfg(test)]
mod tests;

pub use spec::UserProgramsSpec;

use crate::WorkloadError;
use crate::description::{Document, TomlTable};
use toml::de::DeTable;

impl UserProgramsSpec {
    /// Whether a TOML text describes programs: it has a `type`, or a process.
    pub fn is_in(text: &str) -> bool {
        DeTable::parse(text).is_ok_and(|table| ["type", "process"].iter().any(|&key| table.get_ref().contains_key(key)))
    }

    /// Reads the description `text`, called `source_name` in messages.
    ///
    /// # Errors
    /// If it is not TOML, a key or name is unknown, a value is out of range, or processes cannot make progress.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, WorkloadError> {
        let document = Document { text, source_name };
        let table = document.parse()?;
        let top = TomlTable { document: &document, table: table.get_ref(), line: 1 };
        let spec = read::spec(&top)?;
        check::check(&spec)?;
        deadlock::check(&spec)?;
        Ok(spec)
    }
}
