//! [`UserProgramsSpec`]: programs that a user describes in TOML, with their files, their channels, and interrupts from outside.
//!
//! A process is a list of events. It runs on the CPUs of a host, on a page cache and a file system. What can be seen to be wrong
//! before a run is refused: names that stand for nothing, processes that wait for each other, what is got from a channel that
//! nobody fills. `docs/reference/programs.md` lists the keys.

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
    /// Whether a description in TOML is one of programs: it has a `type`, or a process.
    pub fn is_in(text: &str) -> bool {
        DeTable::parse(text).is_ok_and(|table| ["type", "process"].iter().any(|&key| table.get_ref().contains_key(key)))
    }

    /// Reads the description `text`, called `source_name` in messages.
    ///
    /// # Errors
    /// Where it is no TOML, a key or name is unknown, a value is out of range, or processes cannot go on.
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
