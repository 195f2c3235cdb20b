//! Parses a list of events.

use super::{CHANNEL, COUNTS, FILE, Reader, time, unknown};
use crate::description::TomlTable;
use crate::user_programs::event::{EventBody, EventSpec, PositionSpec, ProgramAction, VERBS};
use crate::user_programs::spec::{EventList, FileNode, FileSlot, FileSlotTarget};
use iopilot_block::{Criticality, InputError, Op};
use iopilot_host::FileKind;
use std::sync::Arc;

/// The most bytes of a call on a file.
const CALL: u64 = 1 << 40;
/// The deepest nesting of loops.
const DEPTH: usize = 8;

impl Reader {
    /// The events of a process or program.
    pub(super) fn list(&mut self, t: &TomlTable<'_>) -> Result<EventList, InputError> {
        let mut own = Vec::new();
        own_names(t, &mut own, 0)?;
        own.retain(|(name, _)| !self.nodes.iter().any(|node| node.name == *name));
        let mut scope = Scope { own, slots: Vec::new() };
        let events = self.events(t, &mut scope, 0)?;
        let own = scope.slots.iter().filter(|slot| matches!(slot.of, FileSlotTarget::Own(_))).count() as u32;
        Ok(EventList { events, repeat: t.whole("repeat", COUNTS)?.unwrap_or(1), slots: scope.slots, own })
    }

    fn events(&mut self, t: &TomlTable<'_>, scope: &mut Scope, depth: usize) -> Result<Vec<EventSpec>, InputError> {
        let items = t.tables("events")?;
        if items.is_empty() {
            return Err(t.error("events", "", "a list of at least one event"));
        }
        items.iter().map(|t| self.event(t, scope, depth)).collect()
    }

    fn event(&mut self, t: &TomlTable<'_>, scope: &mut Scope, depth: usize) -> Result<EventSpec, InputError> {
        let mut verbs = VERBS.iter().filter(|(verb, _)| t.table.contains_key(*verb));
        let (verb, keys) = match (verbs.next(), verbs.next()) {
            (Some(verb), None) => verb,
            (Some((verb, _)), Some((second, _))) => {
                return Err(t.error(second, format!("it beside `{verb}`"), "one verb in an event"));
            }
            (None, _) => {
                let all: Vec<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
                t.only(&all)?;
                return Err(t.error("event", "no verb", format!("one of {}", all.join(", "))));
            }
        };
        let known: Vec<&str> = keys.iter().copied().chain([*verb]).collect();
        t.only(&known)?;
        let what = match *verb {
            "repeat" => {
                if depth == DEPTH {
                    return Err(t.error(
                        "repeat",
                        "a loop in too many loops",
                        format!("at most {DEPTH} loops in one another"),
                    ));
                }
                let count = t.whole("repeat", COUNTS)?.ok_or_else(|| t.missing("repeat"))?;
                EventBody::Repeat(count, self.events(t, scope, depth + 1)?)
            }
            verb => EventBody::Do(self.action(t, verb, scope)?),
        };
        Ok(EventSpec { line: t.line, what })
    }

    fn action(&mut self, t: &TomlTable<'_>, verb: &str, scope: &mut Scope) -> Result<ProgramAction, InputError> {
        if let Some(action) = on_itself(t, verb)? {
            return Ok(action);
        }
        let text = t.text(verb)?.ok_or_else(|| t.missing(verb))?;
        let bytes = |range| t.size("bytes", range);
        Ok(match verb {
            "sleep" => ProgramAction::Sleep(self.sleep_key(text)),
            "wakeup" => ProgramAction::Wakeup { key: self.sleep_key(text), all: t.flag("all")?.unwrap_or(false) },
            "lock" => ProgramAction::Lock(self.lock_key(text)),
            "unlock" => ProgramAction::Unlock(self.lock_key(text)),
            "put" | "get" => {
                let channel = self.channel(t, verb, text)?;
                let bytes = bytes(1..=CHANNEL)?.ok_or_else(|| t.missing("bytes"))?;
                if verb == "put" {
                    ProgramAction::Put { channel, bytes }
                } else {
                    ProgramAction::Get { channel, bytes }
                }
            }
            "answer" => ProgramAction::Answer(self.channel(t, verb, text)?),
            "fork" => ProgramAction::Fork(self.find_program(t, verb, text)?),
            "wait" => ProgramAction::Wait(Some(self.find_program(t, verb, text)?)),
            _ => self.on_file(t, verb, text, scope)?,
        })
    }

    fn find_program(&self, t: &TomlTable<'_>, key: &str, name: &str) -> Result<usize, InputError> {
        let at = self.programs.iter().position(|known| &**known == name);
        at.ok_or_else(|| unknown(t, key, name, "a [[program]]", &self.programs))
    }

    /// An action on a file or directory.
    fn on_file(
        &self,
        t: &TomlTable<'_>,
        verb: &str,
        name: &str,
        scope: &mut Scope,
    ) -> Result<ProgramAction, InputError> {
        let slot = self.slot(t, verb, name, scope)?;
        let FileSlot { kind, of, .. } = scope.slots[slot].clone();
        let node = match of {
            FileSlotTarget::Shared(node) => Some(&self.nodes[node]),
            FileSlotTarget::Own(_) => None,
        };
        let expected = match verb {
            "open" | "remove" => kind,
            "readdir" | "mkdir" => FileKind::Directory,
            _ => FileKind::Regular,
        };
        if kind != expected {
            let (got, expected) = match kind {
                FileKind::Directory => ("a directory", "a file"),
                FileKind::Regular => ("a file", "a directory"),
            };
            return Err(t.error(verb, format!("{name}, {got}"), expected));
        }
        let place = place(t, "offset", FILE)?;
        Ok(match verb {
            "read" => {
                let bytes = t.size("bytes", 1..=CALL)?;
                let size = node.and_then(|node| node.bytes);
                let wants_size = (place == PositionSpec::Random) || (place == PositionSpec::Next && bytes.is_some());
                if wants_size && node.is_some() && size.is_none() {
                    return Err(t.error(
                        "offset",
                        "none that is a number",
                        format!("a number, as the size of {name} is not known"),
                    ));
                }
                self.fits(t, node, place, bytes)?;
                ProgramAction::Read { slot, place, bytes }
            }
            "write" => {
                let bytes = t.size("bytes", 1..=CALL)?.ok_or_else(|| t.missing("bytes"))?;
                self.fits(t, node, place, Some(bytes))?;
                ProgramAction::Write { slot, place, bytes }
            }
            "open" => ProgramAction::Open(slot),
            "readdir" => ProgramAction::ReadDir(slot),
            "create" | "mkdir" => {
                if node.is_some_and(|node| node.kind == FileKind::Directory || node.bytes.is_some()) {
                    return Err(t.error(
                        verb,
                        format!("{name}, which is there"),
                        "a name that is not there at the beginning",
                    ));
                }
                let directory = match t.text("directory")? {
                    Some(directory) => {
                        let parent = self.slot(t, "directory", directory, scope)?;
                        if scope.slots[parent].kind != FileKind::Directory {
                            return Err(t.error("directory", format!("{directory}, a file"), "a directory"));
                        }
                        Some(parent)
                    }
                    None => None,
                };
                ProgramAction::Create { slot, directory }
            }
            "remove" => ProgramAction::Remove(slot),
            "truncate" => ProgramAction::Truncate(slot),
            _ => ProgramAction::Fsync(slot),
        })
    }

    /// Checks a random position: the file's size must be known, and hold the access.
    fn fits(
        &self,
        t: &TomlTable<'_>,
        node: Option<&FileNode>,
        place: PositionSpec,
        bytes: Option<u64>,
    ) -> Result<(), InputError> {
        if place != PositionSpec::Random {
            return Ok(());
        }
        let size = node.and_then(|node| node.bytes);
        let (Some(size), Some(bytes)) = (size, bytes) else {
            return Err(t.error("offset", "random", "bytes beside it, and a file with a size"));
        };
        if bytes > size {
            return Err(t.error("bytes", bytes.to_string(), format!("at most the {size} bytes of the file")));
        }
        Ok(())
    }

    /// The slot in the list of the file `name`.
    fn slot(&self, t: &TomlTable<'_>, key: &str, name: &str, scope: &mut Scope) -> Result<usize, InputError> {
        if let Some(slot) = scope.slots.iter().position(|slot| &*slot.name == name) {
            return Ok(slot);
        }
        let node = self.nodes.iter().position(|node| &*node.name == name);
        let own = scope.own.iter().position(|(own, _)| &**own == name);
        let slot = match (node, own) {
            (Some(node), _) => {
                let FileNode { name, kind, .. } = &self.nodes[node];
                FileSlot { name: name.clone(), kind: *kind, of: FileSlotTarget::Shared(node) }
            }
            (None, Some(own)) => {
                let (name, kind) = scope.own[own].clone();
                FileSlot { name, kind, of: FileSlotTarget::Own(own as u32) }
            }
            (None, None) => {
                let known = self.nodes.iter().map(|node| &node.name).chain(scope.own.iter().map(|(name, _)| name));
                let known: Vec<Arc<str>> = known.cloned().collect();
                return Err(unknown(t, key, name, "a [[file]] or [[directory]], or one that it creates", &known));
            }
        };
        scope.slots.push(slot);
        Ok(scope.slots.len() - 1)
    }
}

/// The file names of a list.
struct Scope {
    /// Files that it creates and that are not described.
    own: Vec<(Arc<str>, FileKind)>,
    slots: Vec<FileSlot>,
}

/// Collects the files that the events of a table create.
fn own_names(t: &TomlTable<'_>, own: &mut Vec<(Arc<str>, FileKind)>, depth: usize) -> Result<(), InputError> {
    for event in t.tables("events")? {
        for (verb, kind) in [("create", FileKind::Regular), ("mkdir", FileKind::Directory)] {
            if let Some(name) = event.text(verb)? {
                if !own.iter().any(|(known, _)| &**known == name) {
                    own.push((name.into(), kind));
                }
            }
        }
        if depth < DEPTH {
            own_names(&event, own, depth + 1)?;
        }
    }
    Ok(())
}

/// An action without a name.
fn on_itself(t: &TomlTable<'_>, verb: &str) -> Result<Option<ProgramAction>, InputError> {
    let truly = |action: ProgramAction| match t.flag(verb)? {
        Some(true) => Ok(Some(action)),
        _ => Err(t.error(verb, "false", "true, or no such event")),
    };
    let time = |key: &str| time(t, key, 0.0)?.map(Arc::new).ok_or_else(|| t.missing(key));
    Ok(match verb {
        "compute_ms" => Some(ProgramAction::Compute(time(verb)?)),
        "nap_ms" => Some(ProgramAction::Nap(time(verb)?)),
        "sync" => truly(ProgramAction::Sync)?,
        "await_all" => truly(ProgramAction::AwaitAll)?,
        "exit" => truly(ProgramAction::Exit)?,
        "wait" if t.table.get("wait").is_some_and(|value| value.get_ref().is_bool()) => {
            truly(ProgramAction::Wait(None))?
        }
        "await" => t.whole(verb, 0..=u64::from(u32::MAX))?.map(ProgramAction::Await),
        "io" => Some(io(t)?),
        _ => None,
    })
}

fn io(t: &TomlTable<'_>) -> Result<ProgramAction, InputError> {
    let op = match t.text("io")?.unwrap_or_default() {
        "read" => Op::Read,
        "write" => Op::Write,
        other => return Err(unknown(t, "io", other, "a direction", &["read", "write"].map(Arc::from))),
    };
    let class = match t.text("class")?.unwrap_or("critical") {
        "critical" => Criticality::TimeCritical,
        "limited" => Criticality::TimeLimited,
        "noncritical" => Criticality::TimeNonCritical,
        other => {
            let known = ["critical", "limited", "noncritical"].map(Arc::from);
            return Err(unknown(t, "class", other, "a class", &known));
        }
    };
    Ok(ProgramAction::Io {
        op,
        place: place(t, "lba", 1 << 40)?,
        sectors: t.whole("sectors", 1..=1 << 20)?.unwrap_or(8) as u32,
        class,
        number: t.whole("number", 0..=u64::from(u32::MAX))?,
    })
}

/// A position: a number, the next, or a random one. Offsets in files may have units.
fn place(t: &TomlTable<'_>, key: &str, most: u64) -> Result<PositionSpec, InputError> {
    let Some(value) = t.table.get(key) else { return Ok(PositionSpec::Next) };
    match value.get_ref().as_str() {
        Some("next") => Ok(PositionSpec::Next),
        Some("random") => Ok(PositionSpec::Random),
        _ => match t.size(key, 0..=most) {
            Ok(at) => Ok(at.map_or(PositionSpec::Next, PositionSpec::At)),
            Err(_) => Err(t.document.error(value, key, format!("`next`, `random`, or a number up to {most}"))),
        },
    }
}
