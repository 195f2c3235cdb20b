//! [`BuiltinProgramsSpec`]: the built-in programs on a host with a file system, called by name (Ganger 5.2: his tasks and
//! SynRGen).

mod file_system_builder;
mod script_builder;
mod synrgen;
mod tasks;
#[cfg(test)]
mod tests;

use crate::WorkloadError;
use file_system_builder::FileSystemBuilder;
use iopilot_block::{InputError, suggest};
use iopilot_host::{Host, HostEnd, HostSettings, Preset};
use std::fmt;

/// A built-in workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Compress,
    Uncompress,
    CopyTree,
    RemoveTree,
    SynRGen,
}

/// Name, workload and description.
const KINDS: [(&str, Kind, &str); 5] = [
    ("compress", Kind::Compress, "compress a file of 30.7 MB to 10.7 MB"),
    ("uncompress", Kind::Uncompress, "the reverse"),
    ("copytree", Kind::CopyTree, "copy 535 files, 14.3 MB"),
    ("removetree", Kind::RemoveTree, "remove such a copy, just made"),
    ("synrgen", Kind::SynRGen, "programmers who edit, compile and debug"),
];

/// A key of a workload, and its range.
struct Key {
    name: &'static str,
    least: f64,
    most: f64,
    is_whole: bool,
}

const SCALE: Key = Key { name: "scale", least: 0.001, most: 100.0, is_whole: false };
const AGED: Key = Key { name: "aged", least: 0.0, most: 1.0, is_whole: false };
const USERS: Key = Key { name: "users", least: 1.0, most: 1000.0, is_whole: true };
const TASKS: Key = Key { name: "tasks", least: 1.0, most: 1e6, is_whole: true };

/// A built-in workload with its parameters: `NAME[:key=value…]`.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltinProgramsSpec {
    kind: Kind,
    /// The factor of sizes and counts over those of 1995.
    scale: f64,
    /// The share of blocks of existing files that are not placed right behind the previous block.
    aged: Option<f64>,
    /// The number of programmers, and the tasks of each.
    users: u32,
    tasks: Option<u32>,
}

impl BuiltinProgramsSpec {
    /// The names, with descriptions.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        KINDS.iter().map(|&(name, _, what)| (name, what))
    }

    /// Whether `text` is meant as a built-in name, perhaps misspelt, and not as a file.
    pub(crate) fn is_name(text: &str) -> bool {
        let name = text.split(':').next().unwrap_or_default();
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_word && (text.contains([':', '=']) || suggest(name, KINDS.iter().map(|(known, ..)| *known)).is_some())
    }

    /// Reads `NAME[:key=value…]`.
    ///
    /// # Errors
    /// Names what is unknown or out of range, and what was expected.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let Some(&(_, kind, _)) = KINDS.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
            return Err(InputError::new("workload", name, format!("a file, or {}", one_of(name, &names))));
        };
        let mut spec = Self { kind, scale: 1.0, aged: None, users: 1, tasks: None };
        for part in parts {
            let field = |key: &str| format!("workload {name}: {key}");
            let Some((key, value)) = part.split_once('=') else {
                return Err(InputError::new(field(part), "no value", "key=value"));
            };
            let keys: &[Key] = if kind == Kind::SynRGen { &[SCALE, AGED, USERS, TASKS] } else { &[SCALE, AGED] };
            let Some(known) = keys.iter().find(|known| known.name == key) else {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                return Err(InputError::new(field("key"), key, one_of(key, &names)));
            };
            let wrong = || {
                let kind = if known.is_whole { "a whole number" } else { "a number" };
                InputError::new(field(key), value, format!("{kind} from {} to {}", known.least, known.most))
            };
            let number: f64 = value.parse().map_err(|_| wrong())?;
            if !(known.least..=known.most).contains(&number) || (known.is_whole && number.fract() != 0.0) {
                return Err(wrong());
            }
            match key {
                "scale" => spec.scale = number,
                "aged" => spec.aged = Some(number),
                "users" => spec.users = number as u32,
                _ => spec.tasks = Some(number as u32),
            }
        }
        Ok(spec)
    }

    /// The host that runs it on a device of `capacity` sectors. Without `host`, it is a machine of 1995 with one CPU, on which
    /// the programs' computation was measured.
    ///
    /// # Errors
    /// If the device has no room for the files, or a setting of the host is invalid.
    pub fn source(&self, host: Option<&HostSettings>, capacity: u64, seed: u64) -> Result<Host, WorkloadError> {
        let own = HostSettings::of(Preset::Y1995, 1);
        let host = host.unwrap_or(&own);
        let layout = FileSystemBuilder::new(host.layout.clone(), capacity, seed)?;
        let (tasks, setup) = match self.kind {
            Kind::Compress => tasks::compress(self.scale, self.aged, layout),
            Kind::Uncompress => tasks::uncompress(self.scale, self.aged, layout),
            Kind::CopyTree => tasks::copytree(self.scale, self.aged, layout),
            Kind::RemoveTree => tasks::removetree(self.scale, self.aged, layout),
            Kind::SynRGen => synrgen::users(self.users, self.tasks, self.aged, layout),
        }
        .map_err(|error| {
            InputError::new(format!("workload {self}"), error.to_string(), "a disk with room for its files")
        })?;
        let setup = setup.under(host.cache);
        Ok(Host::new(host.clone(), tasks, &[], HostEnd::NEVER)?.with_files(setup)?)
    }
}

/// The names expected instead of `word`, with the nearest one.
fn one_of(word: &str, names: &[&str]) -> String {
    let hint = suggest(word, names.iter().copied()).map(|near| format!("; did you mean {near}?"));
    format!("one of {}{}", names.join(", "), hint.unwrap_or_default())
}

impl fmt::Display for BuiltinProgramsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KINDS.iter().find(|(_, kind, _)| *kind == self.kind).map_or("", |(name, ..)| name);
        f.write_str(name)?;
        if self.scale != 1.0 {
            write!(f, ":scale={}", self.scale)?;
        }
        if let Some(aged) = self.aged {
            write!(f, ":aged={aged}")?;
        }
        if self.kind == Kind::SynRGen {
            write!(f, ":users={}", self.users)?;
        }
        if let Some(tasks) = self.tasks {
            write!(f, ":tasks={tasks}")?;
        }
        Ok(())
    }
}
