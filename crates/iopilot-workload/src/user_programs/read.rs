//! Parses a description: names become numbers.

mod events;

use super::spec::{ChannelSpec, ExternalSpec, FileNode, InterruptTimes, ProcessSpec, ProgramSpec, UserProgramsSpec};
use crate::description::{TomlTable, as_number};
use crate::ganger::Variable;
use iopilot_block::{InputError, Nanos, suggest};
use iopilot_host::{FileKind, InitialState, InterruptEffect, Key};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::de::DeValue;

/// The limits of times (11 days, in milliseconds) and of counts.
pub(super) const LONGEST_MS: f64 = 1e9;
const COUNTS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;
/// The most processes, as for generators.
const PROCESSES: u64 = 16_384;
/// The most bytes of a file.
const FILE: u64 = 1 << 43;
/// The most bytes of a channel.
const CHANNEL: u64 = 1 << 40;
/// The capacity of a pipe.
const PIPE: u64 = 65_536;

/// The names found so far.
struct Reader {
    nodes: Vec<FileNode>,
    channels: Vec<Arc<str>>,
    programs: Vec<Arc<str>>,
    /// Wait keys and locks: the same name may be both, with different numbers.
    keys: Vec<Arc<str>>,
    sleeps: BTreeMap<Arc<str>, Key>,
    locks: BTreeMap<Arc<str>, Key>,
}

/// Parses the whole description.
pub(super) fn spec(top: &TomlTable<'_>) -> Result<UserProgramsSpec, InputError> {
    top.only(&["type", "process", "program", "file", "directory", "channel", "external"])?;
    if let Some(kind) = top.text("type")?.filter(|&kind| kind != "programs") {
        return Err(top.error("type", kind, "`programs`"));
    }
    let [processes, programs, directories, files, channels, externals] =
        ["process", "program", "directory", "file", "channel", "external"].map(|key| top.tables(key));
    let (processes, programs, channels, externals) = (processes?, programs?, channels?, externals?);
    if processes.is_empty() {
        return Err(top.error("process", "", "at least one [[process]] table"));
    }
    let mut reader = Reader {
        nodes: Vec::new(),
        channels: names(&channels)?,
        programs: names(&programs)?,
        keys: Vec::new(),
        sleeps: BTreeMap::new(),
        locks: BTreeMap::new(),
    };
    names(&processes)?;
    names(&externals)?;
    reader.keys.clone_from(&reader.channels);
    reader.nodes(&directories?, &files?)?;
    let spec = UserProgramsSpec {
        source_name: top.document.source_name.to_owned(),
        processes: processes.iter().map(|t| reader.process(t)).collect::<Result<_, _>>()?,
        programs: programs.iter().map(|t| reader.program(t)).collect::<Result<_, _>>()?,
        channels: channels.iter().map(channel).collect::<Result<_, _>>()?,
        externals: externals.iter().map(|t| reader.external(t)).collect::<Result<_, _>>()?,
        nodes: reader.nodes,
        keys: reader.keys,
    };
    let count: u64 = spec.processes.iter().map(|process| process.count).sum();
    if count > PROCESSES {
        return Err(top.error("process", format!("{count} processes"), format!("at most {PROCESSES}")));
    }
    Ok(spec)
}

/// The names of tables, which must differ.
fn names(tables: &[TomlTable<'_>]) -> Result<Vec<Arc<str>>, InputError> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for t in tables {
        let name = name(t)?;
        if names.contains(&name) {
            return Err(t.error("name", format!("{name} a second time"), "a name of its own"));
        }
        names.push(name);
    }
    Ok(names)
}

fn name(t: &TomlTable<'_>) -> Result<Arc<str>, InputError> {
    let name = t.text("name")?.ok_or_else(|| t.missing("name"))?;
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(t.error("name", name, "a name in one line"));
    }
    Ok(name.into())
}

fn millis(t: &TomlTable<'_>, key: &str) -> Result<Nanos, InputError> {
    Ok(Nanos::from_millis_f64(t.number(key, 0.0..=LONGEST_MS)?.unwrap_or(0.0)))
}

/// A time in milliseconds, which may be random, and can reach `bound`.
fn time(t: &TomlTable<'_>, key: &str, bound: f64) -> Result<Option<Variable>, InputError> {
    let variable = t.variable(key, bound)?;
    match variable.as_ref().map(Variable::mean).filter(|&mean| mean > LONGEST_MS) {
        Some(mean) => Err(t.error(key, mean.to_string(), format!("at most {LONGEST_MS} ms on average"))),
        None => Ok(variable),
    }
}

fn channel(t: &TomlTable<'_>) -> Result<ChannelSpec, InputError> {
    t.only(&["name", "capacity"])?;
    Ok(ChannelSpec { line: t.line, capacity: t.size("capacity", 1..=CHANNEL)?.unwrap_or(PIPE) })
}

/// The error that `got` is none of `known`, with the nearest of them.
fn unknown(t: &TomlTable<'_>, key: &str, got: &str, what: &str, known: &[Arc<str>]) -> InputError {
    let expected = match suggest(got, known.iter().map(|name| &**name)) {
        Some(near) => format!("{what}; did you mean `{near}`?"),
        None if known.is_empty() => format!("{what}, of which there is none"),
        None => format!("{what}: one of {}", known.join(", ")),
    };
    t.error(key, got, expected)
}

impl Reader {
    fn nodes(&mut self, directories: &[TomlTable<'_>], files: &[TomlTable<'_>]) -> Result<(), InputError> {
        for (tables, kind) in [(directories, FileKind::Directory), (files, FileKind::Regular)] {
            for t in tables {
                let is_file = kind == FileKind::Regular;
                t.only(if is_file { &["name", "size", "directory", "cached"] } else { &["name", "directory"] })?;
                let name = name(t)?;
                if self.nodes.iter().any(|node| node.name == name) {
                    return Err(t.error("name", format!("{name} a second time"), "a name of its own"));
                }
                let directory = match t.text("directory")? {
                    Some(parent) => Some(self.directory_above(t, parent)?),
                    None => None,
                };
                let bytes = if is_file { t.size("size", 0..=FILE)? } else { None };
                let is_cached = if is_file { t.flag("cached")?.unwrap_or(false) } else { false };
                if is_cached && bytes.is_none() {
                    return Err(t.error("cached", "true", "a size beside it, as the file has to be there"));
                }
                self.nodes.push(FileNode { line: t.line, name, kind, directory, bytes, is_cached });
            }
        }
        Ok(())
    }

    fn directory_above(&self, t: &TomlTable<'_>, name: &str) -> Result<usize, InputError> {
        let is_it = |node: &FileNode| node.kind == FileKind::Directory && &*node.name == name;
        self.nodes.iter().position(is_it).ok_or_else(|| {
            let directories = self.nodes.iter().filter(|node| node.kind == FileKind::Directory);
            let known: Vec<Arc<str>> = directories.map(|node| node.name.clone()).collect();
            unknown(t, "directory", name, "a [[directory]] above this", &known)
        })
    }

    fn process(&mut self, t: &TomlTable<'_>) -> Result<ProcessSpec, InputError> {
        let keys = ["name", "start_ms", "count", "task", "daemon", "repeat", "cpu", "state", "key", "events"];
        t.only(&keys)?;
        let is_daemon = t.flag("daemon")?.unwrap_or(false);
        let is_task = t.flag("task")?;
        if is_daemon && (is_task == Some(true) || t.table.contains_key("repeat")) {
            let key = if is_task == Some(true) { "task" } else { "repeat" };
            return Err(t.error(
                key,
                "it beside daemon = true",
                "no end: a daemon does its events as long as others run",
            ));
        }
        let states = ["new", "runnable", "running", "sleeping"];
        let state = match t.text("state")?.unwrap_or("new") {
            "new" => InitialState::New,
            "runnable" => InitialState::Runnable,
            "running" => InitialState::Running,
            "sleeping" => {
                let key =
                    t.text("key")?.ok_or_else(|| t.error("key", "", "a key to sleep on, for state = \"sleeping\""))?;
                InitialState::Sleeping(self.sleep_key(key))
            }
            other => return Err(unknown(t, "state", other, "a state", &states.map(Arc::from))),
        };
        if t.table.contains_key("key") && !matches!(state, InitialState::Sleeping(_)) {
            return Err(t.error("key", "a key", "it only beside state = \"sleeping\""));
        }
        let start = millis(t, "start_ms")?;
        if start > Nanos::ZERO && state != InitialState::New {
            return Err(t.error("start_ms", "a time", "it only beside state = \"new\""));
        }
        Ok(ProcessSpec {
            line: t.line,
            name: name(t)?,
            count: t.whole("count", 1..=PROCESSES)?.unwrap_or(1),
            start,
            is_task: is_task.unwrap_or(!is_daemon),
            is_daemon,
            cpu: t.whole("cpu", 0..=u64::from(u16::MAX))?.map(|cpu| cpu as u16),
            state,
            list: self.list(t)?,
        })
    }

    fn program(&mut self, t: &TomlTable<'_>) -> Result<ProgramSpec, InputError> {
        t.only(&["name", "task", "repeat", "events"])?;
        let is_task = t.flag("task")?.unwrap_or(false);
        Ok(ProgramSpec { line: t.line, name: name(t)?, is_task, list: self.list(t)? })
    }

    fn external(&mut self, t: &TomlTable<'_>) -> Result<ExternalSpec, InputError> {
        let keys = [
            "name",
            "period_ms",
            "start_ms",
            "count",
            "at_ms",
            "cpu",
            "handler_us",
            "wakeup",
            "all",
            "put",
            "bytes",
            "task",
        ];
        t.only(&keys)?;
        let needs_beside = |key: &str, other: &str| {
            let has = t.table.contains_key(key) && !t.table.contains_key(other);
            if has { Err(t.error(key, "a value", format!("it only beside `{other}`"))) } else { Ok(()) }
        };
        for (key, other) in
            [("start_ms", "period_ms"), ("count", "period_ms"), ("all", "wakeup"), ("bytes", "put"), ("task", "put")]
        {
            needs_beside(key, other)?;
        }
        for (key, other) in [("period_ms", "at_ms"), ("wakeup", "put")] {
            if t.table.contains_key(key) && t.table.contains_key(other) {
                return Err(t.error(key, format!("it and `{other}`"), "one of them"));
            }
        }
        let times = match (time(t, "period_ms", 0.001)?, t.table.get("at_ms")) {
            (Some(period_ms), _) => {
                InterruptTimes::Every { start: millis(t, "start_ms")?, period_ms, count: t.whole("count", COUNTS)? }
            }
            (None, Some(list)) => {
                let wrong =
                    || t.document.error(list, "at_ms", format!("a list of times from 0 to {LONGEST_MS}, in order"));
                let DeValue::Array(items) = list.get_ref() else { return Err(wrong()) };
                let ms =
                    items.iter().map(|item| as_number(item.get_ref()).filter(|ms| (0.0..=LONGEST_MS).contains(ms)));
                let times: Vec<Nanos> =
                    ms.map(|ms| ms.map(Nanos::from_millis_f64)).collect::<Option<_>>().ok_or_else(wrong)?;
                if times.is_empty() || !times.is_sorted() {
                    return Err(wrong());
                }
                InterruptTimes::At(times)
            }
            (None, None) => return Err(t.error("period_ms", "", "period_ms, or a list at_ms")),
        };
        let effect = match (t.text("wakeup")?, t.text("put")?) {
            (Some(key), _) => {
                InterruptEffect::Wakeup { key: self.sleep_key(key), all: t.flag("all")?.unwrap_or(false) }
            }
            (None, Some(name)) => {
                let bytes = t.size("bytes", 1..=CHANNEL)?.ok_or_else(|| t.missing("bytes"))?;
                InterruptEffect::Put { channel: self.channel(t, "put", name)?, bytes }
            }
            (None, None) => InterruptEffect::Nothing,
        };
        Ok(ExternalSpec {
            line: t.line,
            name: name(t)?,
            times,
            cpu: t.whole("cpu", 0..=u64::from(u16::MAX))?.map_or(0, |cpu| cpu as u16),
            handler: Nanos::from_millis_f64(t.number("handler_us", 0.0..=1e9)?.unwrap_or(0.0) / 1e3),
            effect,
            is_task: t.flag("task")?.unwrap_or(false),
        })
    }

    fn sleep_key(&mut self, name: &str) -> Key {
        let next = self.keys.len() as Key;
        let key = *self.sleeps.entry(name.into()).or_insert(next);
        if key == next {
            self.keys.push(name.into());
        }
        key
    }

    fn lock_key(&mut self, name: &str) -> Key {
        let next = self.keys.len() as Key;
        let key = *self.locks.entry(name.into()).or_insert(next);
        if key == next {
            self.keys.push(name.into());
        }
        key
    }

    fn channel(&self, t: &TomlTable<'_>, key: &str, name: &str) -> Result<Key, InputError> {
        let at = self.channels.iter().position(|known| &**known == name);
        at.map(|at| at as Key).ok_or_else(|| unknown(t, key, name, "a [[channel]]", &self.channels))
    }
}
