//! [`GeneratorProgram`]: the program of a process of a generator.

use super::distribution::Variable;
use super::spec::GeneratorSpec;
use iopilot_block::{Criticality, EventQueue, Flags, Lba, Nanos, Op, Sectors};
use iopilot_host::{Call, Program, ProgramEvent, RawIo};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// The start and length of a request, in blocks of the blocking factor, and its direction.
#[derive(Clone, Copy, Debug)]
struct Extent {
    start: u64,
    size: u64,
    read: bool,
}

/// The program of one process of a generator.
///
/// Its clock is the time it has computed, and is frozen while the process waits. The rest of a computation and the time limits,
/// which count computation time (Ganger A.2.3), therefore continue after a wait. The host does the waiting.
#[derive(Clone, Debug)]
pub(super) struct GeneratorProgram {
    generator: Arc<GeneratorSpec>,
    random: Pcg64Mcg,
    /// The size of its region, in blocks of the blocking factor.
    blocks: u64,
    computed: Nanos,
    /// The computed time at which it issues `next`.
    issue_at: Nanos,
    next: Extent,
    /// The numbers of its time-limited requests, by the computed time at which it begins to wait for them.
    limited: EventQueue<u64>,
    /// The number of requests so far, which is also the number of the last.
    issued: u64,
    /// Whether its last event was a request that it does not wait for.
    goes_on: bool,
}

impl GeneratorProgram {
    /// `None` if the sizes do not fit the capacity.
    pub(super) fn new(generator: &Arc<GeneratorSpec>, blocks: u64, seed: u64) -> Option<Self> {
        let mut program = Self {
            generator: Arc::clone(generator),
            random: Pcg64Mcg::seed_from_u64(seed),
            blocks,
            computed: Nanos::ZERO,
            issue_at: Nanos::ZERO,
            next: Extent { start: 0, size: 0, read: true },
            limited: EventQueue::new(),
            issued: 0,
            goes_on: false,
        };
        program.next = program.general()?;
        program.issue_at = time(&generator.general_time, &mut program.random);
        Some(program)
    }

    fn issue(&mut self) -> RawIo {
        let generator = &*self.generator;
        self.issued += 1;
        let draw = self.random.random::<f64>();
        let class = if draw < generator.critical {
            Criticality::TimeCritical
        } else if draw < generator.critical + generator.limited {
            let limit = time(&generator.time_limit, &mut self.random);
            self.limited.push(self.computed.saturating_add(limit), self.issued);
            Criticality::TimeLimited
        } else {
            Criticality::TimeNonCritical
        };
        let flags = match (self.next.read, class) {
            (true, Criticality::TimeCritical) => Flags::empty(),
            // A read for which no process waits yet is read-ahead.
            (true, _) => Flags::READ_AHEAD,
            (false, Criticality::TimeCritical) => Flags::SYNC,
            (false, _) => Flags::empty(),
        };
        RawIo {
            number: self.issued,
            op: if self.next.read { Op::Read } else { Op::Write },
            lba: Lba(generator.first_sector + self.next.start * generator.blocking_factor),
            sectors: Sectors((self.next.size * generator.blocking_factor) as u32),
            flags,
            class,
        }
    }

    /// Draws the next request and the computation before it. The request is sequential to the last, local to it, or anywhere.
    fn plan(&mut self) {
        let (sequential, local) = (self.generator.sequential, self.generator.local);
        let draw = self.random.random::<f64>();
        let last = self.next;
        let fits_behind = last.start + 2 * last.size < self.blocks;
        let (next, law): (_, fn(&GeneratorSpec) -> &Variable) = if draw < sequential && fits_behind {
            (Some(Extent { start: last.start + last.size, ..last }), |generator| &generator.sequential_time)
        } else if draw >= sequential && draw < sequential + local {
            (self.local(last), |generator| &generator.local_time)
        } else {
            (self.general(), |generator| &generator.general_time)
        };
        let time = time(law(&self.generator), &mut self.random);
        // If distances never stay on the device, the request goes anywhere, which was possible at the start.
        self.next = next.or_else(|| self.general()).unwrap_or(last);
        self.issue_at = self.computed.saturating_add(time);
    }

    fn general(&mut self) -> Option<Extent> {
        let (generator, blocks) = (&*self.generator, self.blocks);
        let factor = generator.blocking_factor;
        for _ in 0..100 {
            let start = self.random.random_range(0..blocks);
            let size = generator.size.draw_until(&mut self.random, |s| in_blocks(s, factor))?;
            if size < blocks - start {
                return Some(Extent { start, size, read: self.random.random::<f64>() < generator.read });
            }
        }
        // Sizes near the capacity seldom fit from a random start: those requests start at the beginning.
        let size = generator.size.draw_until(&mut self.random, |s| in_blocks(s, factor).filter(|&n| n <= blocks))?;
        Some(Extent { start: 0, size, read: self.random.random::<f64>() < generator.read })
    }

    fn local(&mut self, last: Extent) -> Option<Extent> {
        let (generator, blocks) = (&*self.generator, self.blocks);
        let factor = generator.blocking_factor;
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
}

impl Program for GeneratorProgram {
    /// The computation before an event is counted from the previous event.
    fn next(&mut self) -> ProgramEvent {
        if self.generator.requests.is_some_and(|most| self.issued >= most) {
            return ProgramEvent::after(Nanos::ZERO, Call::Exit);
        }
        // Separate requests have distinct times, even without computation between them.
        let issue_at = self.issue_at.max(self.computed.saturating_add(Nanos(u64::from(self.goes_on))));
        self.goes_on = false;
        // A limit that runs out at the time of the next request comes first.
        if let Some(limit) = self.limited.pop_due(issue_at) {
            let compute = limit.at.since(self.computed);
            self.computed = self.computed.max(limit.at);
            return ProgramEvent::after(compute, Call::Await(limit.event));
        }
        let compute = issue_at.since(self.computed);
        self.computed = issue_at;
        let io = self.issue();
        self.plan();
        self.goes_on = io.class != Criticality::TimeCritical;
        ProgramEvent::after(compute, Call::Io(io))
    }

    fn boxed(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

/// Draws a time that is not negative.
fn time(variable: &Variable, random: &mut Pcg64Mcg) -> Nanos {
    let ms = variable.draw_until(random, |ms| (ms >= 0.0).then_some(ms));
    Nanos::from_millis_f64(ms.unwrap_or(0.0))
}

/// A size in sectors as blocks, rounded up; `None` for zero, or more than a request can have.
fn in_blocks(sectors: f64, factor: u64) -> Option<u64> {
    let whole = sectors as u64;
    let blocks = whole.div_ceil(factor);
    (blocks > 0 && blocks.saturating_mul(factor) <= u64::from(u32::MAX)).then_some(blocks)
}
