//! Checks of each event list, and of sums over all lists.

use super::event::{EventBody, EventSpec, ProgramAction};
use super::spec::{Actor, FileNode, FileSlotTarget, UserProgramsSpec};
use iopilot_block::{InputError, suggest};
use iopilot_host::{FileKind, InterruptEffect, Key};
use std::collections::BTreeMap;

/// The most processes that may be started in all, without those of daemons.
const STARTED: u64 = 1_000_000;

/// Checks a description.
///
/// # Errors
/// Names the invalid line.
pub(super) fn check(spec: &UserProgramsSpec) -> Result<(), InputError> {
    let actors = spec.actors();
    for actor in &actors {
        sequence(spec, actor)?;
        children(spec, actor)?;
        daemon(spec, actor)?;
    }
    let started = started(spec, &actors)?;
    keys(spec, &actors)?;
    channels(spec, &actors, &started)?;
    files(spec, &actors)
}

/// Locks that a process holds, and its own files that exist, at a point of its events.
#[derive(Clone, Default)]
struct ListState {
    locks: Vec<Key>,
    files: Vec<usize>,
}

fn sequence(spec: &UserProgramsSpec, actor: &Actor<'_>) -> Result<(), InputError> {
    let mut standing = ListState::default();
    // Each round of a list leaves the same state behind, so two rounds show every error.
    let rounds = if actor.is_daemon { 2 } else { actor.list.repeat.min(2) };
    for _ in 0..rounds {
        if !go_through(spec, actor, &actor.list.events, &mut standing)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Follows the events of a process. Returns false if it exits.
fn go_through(
    spec: &UserProgramsSpec,
    actor: &Actor<'_>,
    events: &[EventSpec],
    at: &mut ListState,
) -> Result<bool, InputError> {
    for event in events {
        match &event.what {
            EventBody::Do(ProgramAction::Exit) => return Ok(false),
            EventBody::Do(action) => step(spec, actor, event.line, action, at)?,
            EventBody::Repeat(count, events) => {
                for _ in 0..(*count).min(2) {
                    if !go_through(spec, actor, events, at)? {
                        return Ok(false);
                    }
                }
            }
        }
    }
    Ok(true)
}

fn step(
    spec: &UserProgramsSpec,
    actor: &Actor<'_>,
    line: u64,
    action: &ProgramAction,
    at: &mut ListState,
) -> Result<(), InputError> {
    let name = |key: Key| &*spec.keys[key as usize];
    match *action {
        ProgramAction::Lock(key) => {
            if at.locks.contains(&key) {
                return Err(spec.error(line, "lock", format!("{}, which it has", name(key)), "an unlock before"));
            }
            at.locks.push(key);
        }
        ProgramAction::Unlock(key) => match at.locks.iter().position(|&held| held == key) {
            Some(held) => _ = at.locks.remove(held),
            None => {
                let got = format!("{}, which it does not have", name(key));
                return Err(spec.error(line, "unlock", got, "a lock before"));
            }
        },
        _ => {}
    }
    let Some(slot) = action.slot().filter(|&slot| matches!(actor.list.slots[slot].of, FileSlotTarget::Own(_))) else {
        return Ok(());
    };
    let of = &actor.list.slots[slot];
    let there = at.files.iter().position(|&file| file == slot);
    match (action, there) {
        (ProgramAction::Create { .. }, Some(_)) => {
            let verb = if of.kind == FileKind::Directory { "mkdir" } else { "create" };
            Err(spec.error(line, verb, format!("{} a second time", of.name), "a remove before"))
        }
        (ProgramAction::Create { .. }, None) => {
            at.files.push(slot);
            Ok(())
        }
        (ProgramAction::Remove(_), Some(there)) => {
            at.files.remove(there);
            Ok(())
        }
        (_, Some(_)) => Ok(()),
        (_, None) => Err(spec.error(line, "file", &*of.name, "a file that is there: a create before")),
    }
}

/// Checks that a process waits only for its children and requests.
fn children(spec: &UserProgramsSpec, actor: &Actor<'_>) -> Result<(), InputError> {
    let mut forks: BTreeMap<usize, u64> = BTreeMap::new();
    let mut numbers = Vec::new();
    let mut waits: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    let mut awaits = Vec::new();
    actor.list.each(|line, action, times| match *action {
        ProgramAction::Fork(program) => {
            let count = forks.entry(program).or_default();
            *count = count.saturating_add(times);
        }
        ProgramAction::Wait(Some(program)) => {
            let (_, count) = waits.entry(program).or_insert((line, 0));
            *count = count.saturating_add(times);
        }
        ProgramAction::Io { number: Some(number), .. } => numbers.push(number),
        ProgramAction::Await(number) => awaits.push((line, number)),
        _ => {}
    });
    for (program, (line, count)) in waits {
        let forked = forks.get(&program).copied().unwrap_or(0);
        if count > forked {
            let name = &spec.programs[program].name;
            let got = format!("{name} {count} times, of which {} starts {forked}", actor.name);
            return Err(spec.error(line, "wait", got, "a fork for each"));
        }
    }
    match awaits.into_iter().find(|(_, number)| !numbers.contains(number)) {
        Some((line, number)) => {
            Err(spec.error(line, "await", number.to_string(), "the number of an `io` of the same process"))
        }
        None => Ok(()),
    }
}

/// Refuses a daemon that never waits, because its run would not end.
fn daemon(spec: &UserProgramsSpec, actor: &Actor<'_>) -> Result<(), InputError> {
    let waits = |action: &ProgramAction| {
        matches!(
            action,
            ProgramAction::Get { .. }
                | ProgramAction::Sleep(_)
                | ProgramAction::Nap(_)
                | ProgramAction::Wait(_)
                | ProgramAction::Exit
        )
    };
    if actor.is_daemon && !actor.list.has(waits) {
        let got = format!("{} that never waits", actor.name);
        return Err(spec.error(actor.line, "daemon", got, "a get, a sleep, a nap_ms or a wait among its events"));
    }
    Ok(())
}

/// The number of processes of each actor in all; `u64::MAX` if a daemon starts them.
fn started(spec: &UserProgramsSpec, actors: &[Actor<'_>]) -> Result<Vec<u64>, InputError> {
    let first_program = spec.processes.len();
    let mut started: Vec<u64> = actors.iter().map(|actor| actor.count).collect();
    // In topological order: an actor comes before the programs that it starts.
    let mut left: Vec<usize> = vec![0; actors.len()];
    let mut forks: Vec<Vec<(usize, u64)>> = vec![Vec::new(); actors.len()];
    for (n, actor) in actors.iter().enumerate() {
        actor.list.each(|_, action, times| {
            if let ProgramAction::Fork(program) = *action {
                left[first_program + program] += 1;
                forks[n].push((first_program + program, times));
            }
        });
    }
    let mut ready: Vec<usize> = (0..actors.len()).filter(|&n| left[n] == 0).collect();
    let mut done = 0;
    while let Some(n) = ready.pop() {
        done += 1;
        for &(child, times) in &forks[n] {
            let is_endless = actors[n].is_daemon && !actors[n].list.exits();
            let count = if is_endless { u64::MAX } else { started[n].saturating_mul(times) };
            started[child] = started[child].saturating_add(count);
            left[child] -= 1;
            if left[child] == 0 {
                ready.push(child);
            }
        }
    }
    if done < actors.len() {
        let n = (0..actors.len()).find(|&n| left[n] > 0).unwrap_or(0);
        let got = format!("{}, which starts itself through others", actors[n].name);
        return Err(spec.error(actors[n].line, "fork", got, "a program that does not start itself"));
    }
    let all: u64 = started.iter().filter(|&&count| count < u64::MAX).fold(0, |sum, &count| sum.saturating_add(count));
    if all > STARTED {
        let line = actors[0].line;
        return Err(spec.error(line, "fork", format!("{all} processes in all"), format!("at most {STARTED}")));
    }
    Ok(started)
}

/// Checks that each sleep has a wake-up, and each wake-up a sleep.
fn keys(spec: &UserProgramsSpec, actors: &[Actor<'_>]) -> Result<(), InputError> {
    // With their lines.
    let mut slept: Vec<(u64, Key)> = Vec::new();
    let mut woken: Vec<(u64, Key)> = Vec::new();
    for actor in actors {
        slept.extend(actor.sleeps.map(|key| (actor.line, key)));
        actor.list.each(|line, action, _| match *action {
            ProgramAction::Sleep(key) => slept.push((line, key)),
            ProgramAction::Wakeup { key, .. } => woken.push((line, key)),
            _ => {}
        });
    }
    for external in &spec.externals {
        if let InterruptEffect::Wakeup { key, .. } = external.effect {
            woken.push((external.line, key));
        }
    }
    for (of, others, field, what) in [
        (&slept, &woken, "sleep", "a key that some process wakes"),
        (&woken, &slept, "wakeup", "a key that some process sleeps on"),
    ] {
        if let Some(&(line, key)) = of.iter().find(|(_, key)| !others.iter().any(|(_, other)| other == key)) {
            let name = &*spec.keys[key as usize];
            let near = suggest(name, others.iter().map(|&(_, other)| &*spec.keys[other as usize]));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(spec.error(line, field, name, format!("{what}{hint}")));
        }
    }
    Ok(())
}

/// Bytes that go into a channel and out of it.
#[derive(Clone, Copy, Default)]
struct Flow {
    put: u64,
    /// Bytes got by processes that have to end.
    got: u64,
    largest_put: u64,
    /// The lines of the first get, put and answer, and of a source whose interrupts begin tasks.
    get_line: Option<u64>,
    put_line: Option<u64>,
    answer_line: Option<u64>,
    task_line: Option<u64>,
}

fn channels(spec: &UserProgramsSpec, actors: &[Actor<'_>], started: &[u64]) -> Result<(), InputError> {
    let mut flows = vec![Flow::default(); spec.channels.len()];
    let mut too_much = None;
    for (actor, &started) in actors.iter().zip(started) {
        let is_endless = actor.is_daemon && !actor.list.exits() || started == u64::MAX;
        actor.list.each(|line, action, times| match *action {
            ProgramAction::Put { channel, bytes } => {
                let flow = &mut flows[channel as usize];
                let all = if is_endless { u64::MAX } else { bytes.saturating_mul(times).saturating_mul(started) };
                flow.put = flow.put.saturating_add(all);
                flow.largest_put = flow.largest_put.max(bytes);
                flow.put_line.get_or_insert(line);
            }
            ProgramAction::Get { channel, bytes } => {
                let flow = &mut flows[channel as usize];
                let all = if is_endless { 0 } else { bytes.saturating_mul(times).saturating_mul(started) };
                flow.got = flow.got.saturating_add(all);
                flow.get_line.get_or_insert(line);
            }
            ProgramAction::Answer(channel) => _ = flows[channel as usize].answer_line.get_or_insert(line),
            _ => {}
        });
    }
    for external in &spec.externals {
        if let InterruptEffect::Put { channel, bytes } = external.effect {
            let flow = &mut flows[channel as usize];
            flow.put = flow.put.saturating_add(external.count().map_or(u64::MAX, |count| count.saturating_mul(bytes)));
            flow.largest_put = flow.largest_put.max(bytes);
            flow.put_line.get_or_insert(external.line);
            if external.is_task {
                flow.task_line.get_or_insert(external.line);
            }
            if flow.get_line.is_none() {
                let name = &*spec.keys[channel as usize];
                return Err(spec.error(
                    external.line,
                    "put",
                    format!("{name}, a channel nobody empties"),
                    "a get of it",
                ));
            }
        }
    }
    for actor in actors {
        actor.list.each(|line, action, _| {
            if let ProgramAction::Get { channel, bytes } = *action {
                let most = spec.channels[channel as usize].capacity.max(flows[channel as usize].largest_put);
                if bytes > most {
                    too_much.get_or_insert((line, bytes, most));
                }
            }
        });
    }
    for (channel, flow) in flows.iter().enumerate() {
        let name = &*spec.keys[channel];
        match *flow {
            Flow { get_line: Some(line), put_line: None, .. } => {
                return Err(spec.error(line, "get", format!("{name}, a channel nobody fills"), "a put into it"));
            }
            Flow { get_line: Some(line), put, got, .. } if got > put => {
                let got = format!("{got} bytes from {name} in all");
                return Err(spec.error(line, "get", got, format!("at most the {put} that are put into it")));
            }
            Flow { answer_line: Some(line), task_line: None, .. } => {
                let expected = "a channel that an [[external]] with task = true puts into";
                return Err(spec.error(line, "answer", name, expected));
            }
            Flow { answer_line: None, task_line: Some(line), .. } => {
                let expected = format!("an event that ends it: answer = \"{name}\"");
                return Err(spec.error(line, "task", "true", expected));
            }
            _ => {}
        }
    }
    match too_much {
        Some((line, bytes, most)) => {
            Err(spec.error(line, "bytes", bytes.to_string(), format!("at most the {most} that the channel holds")))
        }
        None => Ok(()),
    }
}

/// Checks that a file that does not exist at the start is created, and that endless interrupts come to an end.
fn files(spec: &UserProgramsSpec, actors: &[Actor<'_>]) -> Result<(), InputError> {
    for (n, node) in spec.nodes.iter().enumerate() {
        let FileNode { line, name, kind, bytes, .. } = node;
        let creates = |actor: &Actor<'_>| {
            let is_it = |slot: usize| actor.list.slots[slot].of == FileSlotTarget::Shared(n);
            actor.list.has(|action| matches!(*action, ProgramAction::Create { slot, .. } if is_it(slot)))
        };
        if *kind == FileKind::Regular && bytes.is_none() && !actors.iter().any(creates) {
            let expected = format!("a size, or an event that makes {name}: create = \"{name}\"");
            return Err(spec.error(*line, "size", "", expected));
        }
    }
    let endless = spec.externals.iter().find(|external| external.count().is_none());
    match endless.filter(|_| spec.processes.iter().all(|process| process.is_daemon)) {
        Some(external) => {
            let expected = "a count, a list at_ms, or a process that is no daemon: else the run has no end";
            Err(spec.error(external.line, "period_ms", "no end", expected))
        }
        None => Ok(()),
    }
}
