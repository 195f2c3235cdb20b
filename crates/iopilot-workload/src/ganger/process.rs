//! [`Process`]: a generator at work.

use super::distribution::Variable;
use super::spec::Generator;
use crate::{Arrival, SourceHandle};
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_host::{Call, Event, RawIo};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// A handle is the process' index, and below this bit its own count of requests.
pub(super) const HANDLE_SHIFT: u32 = 40;

/// The start and length of a request, in blocks of the blocking factor, and its direction.
#[derive(Clone, Copy, Debug)]
struct Extent {
    start: u64,
    size: u64,
    read: bool,
}

/// A time-limited request that is not complete.
#[derive(Clone, Copy, Debug)]
struct Limited {
    handle: SourceHandle,
    /// The process waits for it once it has computed this long.
    until: Nanos,
}

/// One process of a generator.
///
/// Its clock is the time it has computed, and is frozen while the process waits. The rest of a computation and the time
/// limits, which count computation time (Ganger A.2.3), therefore continue after a wait.
#[derive(Clone, Debug)]
pub(super) struct Process {
    generator: Arc<Generator>,
    id: ProcessId,
    index: u64,
    cpu: u16,
    random: Pcg64Mcg,
    /// Blocks of the blocking factor that it works on.
    blocks: u64,

    computed: Nanos,
    /// Since when it computes; `None` while it waits.
    running_since: Option<Nanos>,
    /// The computed time at which it issues `next`; `None` when it issues no more.
    issue_at: Option<Nanos>,
    next: Extent,
    in_flight: u64,
    /// Incomplete time-critical requests: 0 or 1.
    critical: Option<SourceHandle>,
    limited: Vec<Limited>,
    /// Whether it sleeps in a submission.
    blocked: bool,
    serial: u64,
}

impl Process {
    /// `None` where the sizes do not fit the capacity.
    pub(super) fn new(generator: &Arc<Generator>, index: u64, id: ProcessId, blocks: u64, seed: u64) -> Option<Self> {
        let mut process = Self {
            generator: Arc::clone(generator),
            id,
            index,
            cpu: index as u16,
            random: Pcg64Mcg::seed_from_u64(seed),
            blocks,
            computed: Nanos::ZERO,
            running_since: None,
            issue_at: None,
            next: Extent { start: 0, size: 0, read: true },
            in_flight: 0,
            critical: None,
            limited: Vec::new(),
            blocked: false,
            serial: 0,
        };
        let first = process.general()?;
        process.next = first;
        let time = process.time(&generator.general_time);
        process.issue_at = Some(time);
        Some(process)
    }

    pub(super) fn id(&self) -> ProcessId {
        self.id
    }

    pub(super) fn start(&mut self, now: Nanos) {
        self.running_since = Some(now);
    }

    pub(super) fn is_done(&self) -> bool {
        self.issue_at.is_none() && self.in_flight == 0
    }

    /// It issues no more.
    pub(super) fn stop(&mut self) {
        self.issue_at = None;
    }

    pub(super) fn issued(&self) -> u64 {
        self.serial
    }

    /// When it next issues or starts to wait; `None` while it waits, or has nothing left to issue.
    pub(super) fn due(&self) -> Option<Nanos> {
        let since = self.running_since?;
        let issue_at = self.issue_at?;
        let at = self.limited.iter().map(|l| l.until).fold(issue_at, Nanos::min);
        Some(since.saturating_add(at.since(self.computed)))
    }

    /// Computes until `now`: issues its request if that is due. Starts to wait if it has to.
    pub(super) fn advance(&mut self, now: Nanos) -> Option<Arrival> {
        let since = self.running_since?;
        self.computed = self.computed.saturating_add(now.since(since));
        self.running_since = Some(now);
        // A limit that runs out at the moment of the next request comes first.
        self.wait_or_run(now);
        self.running_since?;
        let due = self.issue_at.is_some_and(|at| at <= self.computed);
        if !due {
            return None;
        }
        let arrival = self.issue();
        self.plan();
        self.wait_or_run(now);
        Some(arrival)
    }

    pub(super) fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.in_flight -= 1;
        if self.critical == Some(handle) {
            self.critical = None;
        }
        self.limited.retain(|l| l.handle != handle);
        if self.running_since.is_none() {
            self.wait_or_run(now);
        }
    }

    pub(super) fn set_blocked(&mut self, blocked: bool, now: Nanos) {
        if let Some(since) = self.running_since {
            self.computed = self.computed.saturating_add(now.since(since));
            self.running_since = Some(now);
        }
        self.blocked = blocked;
        self.wait_or_run(now);
    }

    /// True while the clock is frozen: a time-critical request, or one whose limit has run out, is incomplete.
    fn wait_or_run(&mut self, now: Nanos) {
        let waits = self.blocked || self.critical.is_some() || self.limited.iter().any(|l| l.until <= self.computed);
        self.running_since = if waits { None } else { Some(now) };
    }

    /// Its next event where it runs on the CPUs of a host, which know what it waits for. What is computed before an event is
    /// counted from the one before.
    pub(super) fn next_event(&mut self) -> Event {
        let issue_at = match self.issue_at {
            Some(at) if self.generator.requests.is_none_or(|most| self.serial < most) => at,
            _ => return Event::after(Nanos::ZERO, Call::Exit),
        };
        // A limit that runs out at the moment of the next request comes first.
        let first = (0..self.limited.len()).min_by_key(|&i| self.limited[i].until);
        if let Some(i) = first.filter(|&i| self.limited[i].until <= issue_at) {
            let Limited { handle, until } = self.limited.remove(i);
            let compute = until.since(self.computed);
            self.computed = self.computed.max(until);
            return Event::after(compute, Call::Await(number_of(handle)));
        }
        let compute = issue_at.since(self.computed);
        self.computed = issue_at;
        let Arrival { op, lba, sectors, flags, criticality: class, handle, .. } = self.issue();
        self.critical = None;
        self.plan();
        Event::after(compute, Call::Io(RawIo { number: number_of(handle), op, lba, sectors, flags, class }))
    }

    fn issue(&mut self) -> Arrival {
        let generator = Arc::clone(&self.generator);
        self.serial += 1;
        self.in_flight += 1;
        let handle = SourceHandle(self.index << HANDLE_SHIFT | self.serial);
        let class = self.random.random::<f64>();
        let criticality = if class < generator.critical {
            self.critical = Some(handle);
            Criticality::TimeCritical
        } else if class < generator.critical + generator.limited {
            let limit = self.time(&generator.time_limit);
            self.limited.push(Limited { handle, until: self.computed.saturating_add(limit) });
            Criticality::TimeLimited
        } else {
            Criticality::TimeNonCritical
        };
        let flags = match (self.next.read, criticality) {
            (true, Criticality::TimeCritical) => Flags::empty(),
            // A read that nobody waits for yet is read-ahead.
            (true, _) => Flags::READ_AHEAD,
            (false, Criticality::TimeCritical) => Flags::SYNC,
            (false, _) => Flags::empty(),
        };
        Arrival {
            op: if self.next.read { Op::Read } else { Op::Write },
            lba: Lba(generator.first_sector + self.next.start * generator.blocking_factor),
            sectors: Sectors((self.next.size * generator.blocking_factor) as u32),
            flags,
            process: self.id,
            priority: IoPriority::default(),
            criticality,
            cpu: self.cpu,
            handle,
        }
    }

    /// Draws the next request and the computation before it: sequential to the last, local to it, or anywhere.
    fn plan(&mut self) {
        let generator = Arc::clone(&self.generator);
        let draw = self.random.random::<f64>();
        let last = self.next;
        let fits_behind = last.start + 2 * last.size < self.blocks;
        let (next, time) = if draw < generator.sequential && fits_behind {
            (Some(Extent { start: last.start + last.size, ..last }), &generator.sequential_time)
        } else if draw >= generator.sequential && draw < generator.sequential + generator.local {
            (self.local(last), &generator.local_time)
        } else {
            (self.general(), &generator.general_time)
        };
        let time = self.time(time);
        match next {
            Some(next) => {
                self.next = next;
                self.issue_at = Some(self.computed.saturating_add(time));
            }
            // Distances that never stay on the device: anywhere then, which was possible at the start.
            None => {
                self.next = self.general().unwrap_or(last);
                self.issue_at = Some(self.computed.saturating_add(time));
            }
        }
    }

    fn general(&mut self) -> Option<Extent> {
        let generator = Arc::clone(&self.generator);
        let (blocks, factor) = (self.blocks, generator.blocking_factor);
        for _ in 0..100 {
            let start = self.random.random_range(0..blocks);
            let size = generator.size.draw_until(&mut self.random, |s| in_blocks(s, factor))?;
            if size < blocks - start {
                return Some(Extent { start, size, read: self.random.random::<f64>() < generator.read });
            }
        }
        // Sizes near the capacity seldom fit from a random start: they go to the beginning.
        let size = generator.size.draw_until(&mut self.random, |s| in_blocks(s, factor).filter(|&n| n <= blocks))?;
        Some(Extent { start: 0, size, read: self.random.random::<f64>() < generator.read })
    }

    fn local(&mut self, last: Extent) -> Option<Extent> {
        let generator = Arc::clone(&self.generator);
        let (blocks, factor) = (self.blocks, generator.blocking_factor);
        for _ in 0..100 {
            let distance = generator.local_distance.draw(&mut self.random) as i64 / factor as i64;
            let size = generator.size.draw_until(&mut self.random, |s| in_blocks(s, factor))?;
            let start = last.start as i64 + distance;
            if let Ok(start) = u64::try_from(start) {
                if start + size < blocks {
                    return Some(Extent { start, size, read: self.random.random::<f64>() < generator.read });
                }
            }
        }
        None
    }

    /// A time that is not negative.
    fn time(&mut self, variable: &Variable) -> Nanos {
        let ms = variable.draw_until(&mut self.random, |ms| (ms >= 0.0).then_some(ms));
        Nanos::from_millis_f64(ms.unwrap_or(0.0))
    }
}

/// A process' own number in a handle.
fn number_of(handle: SourceHandle) -> u64 {
    handle.0 & ((1 << HANDLE_SHIFT) - 1)
}

/// A size in sectors, rounded up to blocks; `None` for none, or more than a request holds.
fn in_blocks(sectors: f64, factor: u64) -> Option<u64> {
    let whole = sectors as u64;
    let blocks = whole.div_ceil(factor);
    (blocks > 0 && blocks.saturating_mul(factor) <= u64::from(u32::MAX)).then_some(blocks)
}
