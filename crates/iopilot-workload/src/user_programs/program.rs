//! [`EventListProgram`]: a running list of events.

use super::event::{EventBody, EventSpec, PositionSpec, ProgramAction};
use super::spec::{EventList, FileNode, FileSlot, FileSlotTarget, UserProgramsSpec};
use crate::ganger::Variable;
use iopilot_block::{Criticality, Flags, Lba, Nanos, Op, Sectors};
use iopilot_host::{AnyProgram, Call, Child, FileCall, FileId, Program, ProgramEvent, RawIo};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// Requests without a number in the description are numbered from here.
const FIRST_NUMBER: u64 = 1 << 32;
/// The number of children of a daemon after which their file numbers are reused.
const CHILDREN_OF_DAEMON: u64 = 1 << 16;

/// An instruction of a list; its loops are flattened.
#[derive(Clone, Debug)]
enum Line {
    Do(ProgramAction),
    /// Repeats the lines up to the matching [`Line::Again`] this many times.
    Repeat(u64),
    Again,
}

/// A list, compiled for running.
#[derive(Debug)]
struct CompiledProgram {
    name: Arc<str>,
    lines: Vec<Line>,
    slots: Vec<FileSlot>,
    /// The initial size of each slot's file, if known.
    sizes: Vec<Option<u64>>,
    own: u64,
    is_task: bool,
    is_daemon: bool,
    /// The file numbers that a process needs for itself and its children.
    numbers: u64,
}

/// All compiled lists: of processes, then of programs.
#[derive(Debug)]
pub(super) struct CompiledPrograms {
    all: Vec<CompiledProgram>,
    first_program: usize,
    capacity: u64,
}

fn lay_out(events: &[EventSpec], lines: &mut Vec<Line>) {
    for event in events {
        match &event.what {
            EventBody::Do(action) => lines.push(Line::Do(action.clone())),
            EventBody::Repeat(count, events) => {
                lines.push(Line::Repeat(*count));
                lay_out(events, lines);
                lines.push(Line::Again);
            }
        }
    }
}

impl CompiledPrograms {
    /// Compiles a description for a disk of `capacity` sectors.
    pub(super) fn new(spec: &UserProgramsSpec, capacity: u64) -> Self {
        let code = |name: &Arc<str>, list: &EventList, is_task: bool, is_daemon: bool| {
            let mut lines = Vec::new();
            lines.push(Line::Repeat(if is_daemon { u64::MAX } else { list.repeat }));
            lay_out(&list.events, &mut lines);
            lines.push(Line::Again);
            let size = |slot: &FileSlot| match slot.of {
                FileSlotTarget::Shared(node) => spec.nodes[node].bytes,
                FileSlotTarget::Own(_) => Some(0),
            };
            CompiledProgram {
                name: name.clone(),
                lines,
                sizes: list.slots.iter().map(size).collect(),
                slots: list.slots.clone(),
                own: u64::from(list.own),
                is_task,
                is_daemon,
                numbers: 0,
            }
        };
        let processes = spec.processes.iter().map(|p| code(&p.name, &p.list, p.is_task, p.is_daemon));
        let programs = spec.programs.iter().map(|p| code(&p.name, &p.list, p.is_task, false));
        let mut codes =
            Self { all: processes.chain(programs).collect(), first_program: spec.processes.len(), capacity };
        // A program's children may come before or after it in the list. After as many passes as programs can nest, all numbers
        // are known.
        let lists: Vec<&EventList> = spec.actors().iter().map(|actor| actor.list).collect();
        for _ in 0..=spec.programs.len() {
            for (n, list) in lists.iter().enumerate() {
                let mut children = 0u64;
                list.each(|_, action, times| {
                    if let ProgramAction::Fork(program) = *action {
                        let each = codes.all[codes.first_program + program].numbers;
                        let times =
                            if codes.all[n].is_daemon { times.saturating_mul(CHILDREN_OF_DAEMON) } else { times };
                        children = children.saturating_add(each.saturating_mul(times));
                    }
                });
                codes.all[n].numbers = codes.all[n].own.saturating_add(children);
            }
        }
        codes
    }

    /// The file numbers that a process of the list `n` needs.
    pub(super) fn numbers(&self, n: usize) -> u64 {
        self.all[n].numbers
    }
}

/// The program of a process. Random choices follow from its seed.
#[derive(Clone, Debug)]
pub(super) struct EventListProgram {
    codes: Arc<CompiledPrograms>,
    code: usize,
    at: usize,
    /// For each loop that it is in: its start, and the rounds left.
    loops: Vec<(usize, u64)>,
    random: Pcg64Mcg,
    /// For each slot: the position of the next read or write, and the length of the file, if known.
    next: Vec<u64>,
    sizes: Vec<Option<u64>>,
    next_lba: u64,
    next_number: u64,
    /// The number of its first own file, and of the first file of its next child.
    first_file: u32,
    next_file: u32,
}

impl EventListProgram {
    /// A process of the list `n`, with file numbers from `first_file` on.
    pub(super) fn new(codes: &Arc<CompiledPrograms>, n: usize, first_file: u32, seed: u64) -> Self {
        let code = &codes.all[n];
        Self {
            at: 0,
            loops: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed),
            next: vec![0; code.slots.len()],
            sizes: code.sizes.clone(),
            next_lba: 0,
            next_number: FIRST_NUMBER,
            first_file,
            next_file: first_file + code.own as u32,
            codes: Arc::clone(codes),
            code: n,
        }
    }

    /// The next action, inside loops too; `None` at the end.
    fn action(&mut self) -> Option<ProgramAction> {
        loop {
            match self.codes.all[self.code].lines.get(self.at)? {
                Line::Do(action) => {
                    self.at += 1;
                    return Some(action.clone());
                }
                Line::Repeat(count) => {
                    self.at += 1;
                    self.loops.push((self.at, *count));
                }
                Line::Again => match self.loops.last_mut() {
                    Some((begin, left)) if *left > 1 => {
                        *left -= 1;
                        self.at = *begin;
                    }
                    _ => {
                        self.loops.pop();
                        self.at += 1;
                    }
                },
            }
        }
    }

    fn time(&mut self, variable: &Variable) -> Nanos {
        let ms = variable.draw_until(&mut self.random, |ms| (ms >= 0.0).then_some(ms));
        Nanos::from_millis_f64(ms.unwrap_or(0.0).min(super::read::LONGEST_MS))
    }

    fn file(&self, slot: usize) -> FileId {
        match self.codes.all[self.code].slots[slot].of {
            FileSlotTarget::Shared(node) => FileNode::id(node),
            FileSlotTarget::Own(own) => FileId(self.first_file + own),
        }
    }

    fn read(&mut self, slot: usize, place: PositionSpec, bytes: Option<u64>) -> FileCall {
        let size = self.sizes[slot];
        let offset = match (place, bytes) {
            (PositionSpec::At(offset), _) => offset,
            (PositionSpec::Random, Some(bytes)) => {
                self.random.random_range(0..(size.unwrap_or(0) / bytes).max(1)) * bytes
            }
            // At the end of the file it starts over.
            (PositionSpec::Next | PositionSpec::Random, _) => {
                Some(self.next[slot]).filter(|&next| size.is_none_or(|size| next < size)).unwrap_or(0)
            }
        };
        self.next[slot] = bytes.map_or(0, |bytes| offset + bytes);
        FileCall::Read { file: self.file(slot), offset, bytes: bytes.unwrap_or(u64::MAX) }
    }

    fn write(&mut self, slot: usize, place: PositionSpec, bytes: u64) -> FileCall {
        let offset = match place {
            PositionSpec::At(offset) => offset,
            PositionSpec::Random => self.random.random_range(0..(self.sizes[slot].unwrap_or(0) / bytes).max(1)) * bytes,
            PositionSpec::Next => self.next[slot],
        };
        let end = offset + bytes;
        self.next[slot] = end;
        self.sizes[slot] = self.sizes[slot].map(|size| size.max(end));
        FileCall::Write { file: self.file(slot), offset, bytes }
    }

    /// Notes that the file is empty now.
    fn forget(&mut self, slot: usize) {
        self.next[slot] = 0;
        self.sizes[slot] = self.sizes[slot].map(|_| 0);
    }

    fn io(&mut self, op: Op, place: PositionSpec, sectors: u32, class: Criticality, number: Option<u64>) -> RawIo {
        let (capacity, length) = (self.codes.capacity, u64::from(sectors));
        let lba = match place {
            PositionSpec::At(lba) => lba,
            PositionSpec::Random => self.random.random_range(0..(capacity / length).max(1)) * length,
            PositionSpec::Next => Some(self.next_lba).filter(|next| next + length <= capacity).unwrap_or(0),
        };
        self.next_lba = lba + length;
        self.next_number += 1;
        let flags = match (op, class) {
            (Op::Read, Criticality::TimeLimited) => Flags::READ_AHEAD,
            (Op::Write, Criticality::TimeCritical) => Flags::SYNC,
            _ => Flags::empty(),
        };
        let number = number.unwrap_or(self.next_number);
        RawIo { number, op, lba: Lba(lba), sectors: Sectors(sectors), flags, class }
    }

    fn fork(&mut self, program: usize) -> Child {
        let n = self.codes.first_program + program;
        let CompiledProgram { name, numbers, is_task, .. } = &self.codes.all[n];
        let own = &self.codes.all[self.code];
        // A daemon may have any number of children, so their file numbers are reused.
        if u64::from(self.next_file - self.first_file) + numbers > own.numbers {
            self.next_file = self.first_file + own.own as u32;
        }
        let first_file = self.next_file;
        self.next_file += *numbers as u32;
        let (name, is_task) = (name.clone(), *is_task);
        let program_of_child = Self::new(&self.codes, n, first_file, self.random.random());
        Child {
            number: program as u64,
            name,
            program: AnyProgram::new(program_of_child),
            first: true,
            holds_parent: false,
            is_task,
        }
    }

    fn call(&mut self, action: &ProgramAction) -> Call {
        let file = |call| Call::File(call);
        match *action {
            ProgramAction::Compute(_) => Call::Compute,
            ProgramAction::Nap(ref time) => Call::Nap(self.time(time)),
            ProgramAction::Read { slot, place, bytes } => file(self.read(slot, place, bytes)),
            ProgramAction::Write { slot, place, bytes } => file(self.write(slot, place, bytes)),
            ProgramAction::Open(slot) => file(FileCall::Open(self.file(slot))),
            ProgramAction::ReadDir(slot) => file(FileCall::ReadDir(self.file(slot))),
            ProgramAction::Create { slot, directory } => {
                self.forget(slot);
                let kind = self.codes.all[self.code].slots[slot].kind;
                let parent = directory.map_or(FileId::ROOT, |directory| self.file(directory));
                file(FileCall::Create { parent, file: self.file(slot), kind })
            }
            ProgramAction::Remove(slot) => {
                self.forget(slot);
                file(FileCall::Remove(self.file(slot)))
            }
            ProgramAction::Truncate(slot) => {
                self.forget(slot);
                file(FileCall::Truncate(self.file(slot)))
            }
            ProgramAction::Fsync(slot) => file(FileCall::Fsync(self.file(slot))),
            ProgramAction::Sync => file(FileCall::Sync),
            ProgramAction::Io { op, place, sectors, class, number } => {
                Call::Io(self.io(op, place, sectors, class, number))
            }
            ProgramAction::Await(number) => Call::Await(number),
            ProgramAction::AwaitAll => Call::AwaitAll,
            ProgramAction::Sleep(key) => Call::Sleep(key),
            ProgramAction::Wakeup { key, all } => Call::Wakeup { key, all },
            ProgramAction::Lock(key) => Call::Lock(key),
            ProgramAction::Unlock(key) => Call::Unlock(key),
            ProgramAction::Put { channel, bytes } => Call::Put { channel, bytes },
            ProgramAction::Get { channel, bytes } => Call::Get { channel, bytes },
            ProgramAction::Answer(channel) => Call::Answer(channel),
            ProgramAction::Fork(program) => Call::Fork(self.fork(program)),
            ProgramAction::Wait(program) => Call::Wait(program.map(|program| program as u64)),
            ProgramAction::Exit => Call::Exit,
        }
    }
}

impl Program for EventListProgram {
    fn next(&mut self) -> ProgramEvent {
        let Some(action) = self.action() else { return ProgramEvent::after(Nanos::ZERO, Call::Exit) };
        let compute = match &action {
            ProgramAction::Compute(time) => self.time(time),
            _ => Nanos::ZERO,
        };
        ProgramEvent::after(compute, self.call(&action))
    }

    fn boxed(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}
