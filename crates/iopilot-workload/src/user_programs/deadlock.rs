//! Deadlocks: processes that wait for each other's later events.
//!
//! All processes are run without time, as if every lock were free, every channel had room, and each event happened as often at
//! once as it ever does. A process that cannot finish even so can never finish.

use super::event::ProgramAction;
use super::spec::{Actor, UserProgramsSpec};
use iopilot_block::InputError;
use iopilot_host::{InterruptEffect, Key};
use std::sync::Arc;

/// An event that other processes may wait for, or that waits for others.
#[derive(Clone, Copy)]
struct Step {
    line: u64,
    what: SyncOp,
}

#[derive(Clone, Copy)]
enum SyncOp {
    Sleep(Key),
    Wake(Key),
    Get(Key, u64),
    /// A put of this many bytes in all.
    Put(Key, u64),
    Fork(usize),
    Wait(Option<usize>),
}

/// An actor, its steps, and its progress.
struct Walker<'a> {
    actor: Actor<'a>,
    steps: Vec<Step>,
    at: usize,
    is_started: bool,
}

impl Walker<'_> {
    fn is_over(&self) -> bool {
        self.is_started && self.at == self.steps.len()
    }
}

/// All walkers, and what has happened so far.
struct Walk<'a> {
    spec: &'a UserProgramsSpec,
    walkers: Vec<Walker<'a>>,
    woken: Vec<bool>,
    put: Vec<u64>,
}

/// Checks that all processes that have to end can end.
///
/// # Errors
/// Names those that cannot, and what each waits for.
pub(super) fn check(spec: &UserProgramsSpec) -> Result<(), InputError> {
    let mut walk = Walk::new(spec);
    while walk.advance() {}
    let stuck = |walker: &&Walker<'_>| walker.is_started && !walker.is_over() && !walker.actor.is_daemon;
    match walk.walkers.iter().position(|walker| stuck(&walker)) {
        Some(first) => Err(walk.error(first)),
        None => Ok(()),
    }
}

impl<'a> Walk<'a> {
    fn new(spec: &'a UserProgramsSpec) -> Self {
        let first_program = spec.processes.len();
        let walker = |actor: Actor<'a>| {
            let mut steps: Vec<Step> = Vec::new();
            steps.extend(actor.sleeps.map(|key| Step { line: actor.line, what: SyncOp::Sleep(key) }));
            actor.list.each(|line, action, times| {
                // A program is walked once, so its puts count without limit: other instances may supply what one needs.
                let all =
                    if actor.is_daemon || actor.count == 0 { u64::MAX } else { times.saturating_mul(actor.count) };
                let what = match *action {
                    ProgramAction::Sleep(key) => SyncOp::Sleep(key),
                    ProgramAction::Wakeup { key, .. } => SyncOp::Wake(key),
                    ProgramAction::Get { channel, bytes } => SyncOp::Get(channel, bytes),
                    ProgramAction::Put { channel, bytes } => SyncOp::Put(channel, bytes.saturating_mul(all)),
                    ProgramAction::Fork(program) => SyncOp::Fork(first_program + program),
                    ProgramAction::Wait(which) => SyncOp::Wait(which.map(|program| first_program + program)),
                    _ => return,
                };
                steps.push(Step { line, what });
            });
            Walker { is_started: actor.count > 0, actor, steps, at: 0 }
        };
        let mut walk = Self {
            spec,
            walkers: spec.actors().into_iter().map(walker).collect(),
            woken: vec![false; spec.keys.len()],
            put: vec![0; spec.channels.len()],
        };
        for external in &spec.externals {
            match external.effect {
                InterruptEffect::Wakeup { key, .. } => walk.woken[key as usize] = true,
                InterruptEffect::Put { channel, bytes } => {
                    let all = external.count().map_or(u64::MAX, |count| count.saturating_mul(bytes));
                    walk.add(channel, all);
                }
                InterruptEffect::Nothing => {}
            }
        }
        walk
    }

    fn add(&mut self, channel: Key, bytes: u64) {
        let put = &mut self.put[channel as usize];
        *put = put.saturating_add(bytes);
    }

    /// Lets each walker go as far as it can. Returns whether any moved.
    fn advance(&mut self) -> bool {
        let mut has_moved = false;
        for n in 0..self.walkers.len() {
            while self.walkers[n].is_started {
                let Some(&step) = self.walkers[n].steps.get(self.walkers[n].at) else { break };
                if !self.passes(n, step.what) {
                    break;
                }
                match step.what {
                    SyncOp::Wake(key) => self.woken[key as usize] = true,
                    SyncOp::Put(channel, bytes) => self.add(channel, bytes),
                    SyncOp::Fork(child) => self.walkers[child].is_started = true,
                    _ => {}
                }
                self.walkers[n].at += 1;
                has_moved = true;
            }
        }
        has_moved
    }

    fn passes(&self, n: usize, what: SyncOp) -> bool {
        match what {
            SyncOp::Sleep(key) => self.woken[key as usize],
            SyncOp::Get(channel, bytes) => self.put[channel as usize] >= bytes,
            SyncOp::Wait(Some(child)) => self.walkers[child].is_over(),
            SyncOp::Wait(None) => {
                let done = &self.walkers[n].steps[..self.walkers[n].at];
                let mut children = done.iter().filter_map(|step| match step.what {
                    SyncOp::Fork(child) => Some(child),
                    _ => None,
                });
                let is_childless = children.clone().next().is_none();
                is_childless || children.any(|child| self.walkers[child].is_over())
            }
            SyncOp::Wake(_) | SyncOp::Put(..) | SyncOp::Fork(_) => true,
        }
    }

    /// The walker whose next steps would end the wait of walker `n`.
    fn helper(&self, n: usize) -> Option<usize> {
        let walker = &self.walkers[n];
        if !walker.is_started {
            // It waits for the process that starts it.
            return self.first_with(|what| matches!(what, SyncOp::Fork(child) if child == n));
        }
        match walker.steps.get(walker.at)?.what {
            SyncOp::Sleep(key) => self.first_with(|what| matches!(what, SyncOp::Wake(other) if other == key)),
            SyncOp::Get(channel, _) => {
                self.first_with(|what| matches!(what, SyncOp::Put(other, _) if other == channel))
            }
            SyncOp::Wait(Some(child)) => Some(child),
            SyncOp::Wait(None) => walker.steps[..walker.at].iter().find_map(|step| match step.what {
                SyncOp::Fork(child) => Some(child),
                _ => None,
            }),
            SyncOp::Wake(_) | SyncOp::Put(..) | SyncOp::Fork(_) => None,
        }
    }

    /// The first walker that has such a step ahead.
    fn first_with(&self, is_such: impl Fn(SyncOp) -> bool) -> Option<usize> {
        self.walkers.iter().position(|walker| walker.steps[walker.at..].iter().any(|step| is_such(step.what)))
    }

    fn name(&self, key: Key) -> &Arc<str> {
        &self.spec.keys[key as usize]
    }

    /// `a waits for channel x of b`.
    fn wait_of(&self, n: usize, helper: Option<usize>) -> String {
        let walker = &self.walkers[n];
        let of = helper.map(|helper| format!(" of {}", self.walkers[helper].actor.name)).unwrap_or_default();
        let what = match walker.steps.get(walker.at).map(|step| step.what).filter(|_| walker.is_started) {
            Some(SyncOp::Sleep(key)) => format!("a wake-up on {}{of}", self.name(key)),
            Some(SyncOp::Get(channel, _)) => format!("channel {}{of}", self.name(channel)),
            Some(SyncOp::Wait(_)) => format!("the end{of}"),
            _ => format!("a fork{of}"),
        };
        format!("{} waits for {what}", walker.actor.name)
    }

    /// The error of the walker `first`, which cannot finish.
    fn error(&self, first: usize) -> InputError {
        let mut chain = vec![first];
        let mut last = first;
        let cycle = loop {
            let Some(next) = self.helper(last) else { break None };
            if let Some(at) = chain.iter().position(|&n| n == next) {
                break Some(chain.split_off(at));
            }
            chain.push(next);
            last = next;
        };
        let (got, all) = match cycle {
            Some(cycle) => ("a cycle of waits", cycle),
            None => ("a wait that never ends", chain),
        };
        let next = |n: usize| all.get(n + 1).copied().or_else(|| self.helper(all[n]));
        let waits: Vec<String> = all.iter().enumerate().map(|(n, &walker)| self.wait_of(walker, next(n))).collect();
        let walker = &self.walkers[all[0]];
        let step = walker.steps.get(walker.at).filter(|_| walker.is_started);
        let line = step.map_or(walker.actor.line, |step| step.line);
        let expected = format!("an order in which all can go on: {}", waits.join(", "));
        self.spec.error(line, "events", got, expected)
    }
}
