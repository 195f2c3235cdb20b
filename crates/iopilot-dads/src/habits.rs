//! [`Habits`]: what each process of a window does, to be done again and again.

use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::{Dependencies, TraceRecord};
use iopilot_workload::{Arrival, SourceHandle};

/// What is neither a stream forward nor backward moves on by so many sectors each time: past what a disk's cache holds.
const APART: i64 = 64 << 11;

/// One request of a round.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Its place in the window.
    pub(crate) record: usize,
    pub(crate) arrival: Arrival,
    /// How many that its process waits for may be outstanding when it is issued.
    pub(crate) window: u32,
    /// How long the process thinks before it.
    pub(crate) think: Nanos,
    /// Whether the process waits for it.
    pub(crate) blocking: bool,
}

/// One process: its requests in order, and what it does between two rounds.
#[derive(Clone, Debug)]
pub(crate) struct Habit {
    pub(crate) process: ProcessId,
    pub(crate) turns: Vec<Turn>,
    /// How long it thinks before the first request of all rounds but the first.
    pub(crate) pause: Nanos,
    /// How far it moves on from one round to the next, in sectors.
    pub(crate) step: i64,
    /// Whether it waits for anything it issues.
    pub(crate) waits: bool,
}

/// What the processes of a window do, as far as it and what came before it tell.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub(crate) list: Vec<Habit>,
    /// Of the disk, in sectors.
    pub(crate) capacity: u64,
    /// How long processes waited in the window, all together.
    pub(crate) waited: Nanos,
    /// How long the window was.
    pub(crate) span: Nanos,
}

/// A window within what is known: what was there before it tells what its first requests waited for.
pub(crate) struct Told<'a> {
    /// In order of arrival, on one clock.
    pub(crate) records: &'a [TraceRecord],
    /// Of `records`.
    pub(crate) dependencies: &'a Dependencies,
    /// For each of `records`, its place in the window, where it is in it.
    pub(crate) place: &'a [Option<usize>],
    /// When the window began.
    pub(crate) since: Nanos,
    /// Requests that are under way at its end, of which the records do not tell.
    pub(crate) pending: usize,
}

impl Habits {
    /// The habits in a window, on a disk of `capacity` sectors. O(n log n).
    pub(crate) fn new(told: &Told<'_>, capacity: u64) -> Self {
        let Told { records, dependencies, place, since, .. } = *told;
        let until = records.iter().filter_map(|r| r.completion).max().unwrap_or(since);
        let mut list = Vec::new();
        for p in 0..dependencies.processes() as u32 {
            let all = dependencies.requests_of(p);
            let mine: Vec<u32> = all.iter().copied().filter(|&i| place[i as usize].is_some()).collect();
            let Some(&first) = mine.first() else { continue };
            let of: Vec<&TraceRecord> = mine.iter().map(|&i| &records[i as usize]).collect();
            let mut turns: Vec<Turn> = mine
                .iter()
                .filter_map(|&i| {
                    Some(Turn {
                        record: place[i as usize]?,
                        arrival: arrival(&records[i as usize]),
                        window: dependencies.outstanding_limit(i),
                        think: dependencies.think(i),
                        blocking: dependencies.is_blocking(i),
                    })
                })
                .collect();
            let stay = Stay::new(&of, &turns, since, until);
            // What it waited for before the window is told where it did something then.
            let known = all.first() != Some(&first);
            if known {
                turns[0].think = turns[0].think.min(stay.came);
            } else {
                turns[0].think = stay.came;
                turns[0].window = stay.window;
            }
            let pause = match known {
                true => turns[0].think,
                false => stay.pause,
            };
            let habit = Habit { process: turns[0].arrival.process, pause, step: step(&of), waits: stay.waits, turns };
            list.push((habit, stay));
        }
        // Who was not seen any more before the end may have gone to do something else, or may wait: as many as requests do.
        let mut gone: Vec<&mut Stay> = list.iter_mut().map(|(_, stay)| stay).filter(|stay| stay.is_gone()).collect();
        gone.sort_by_key(|stay| stay.went);
        gone.into_iter().take(told.pending).for_each(|stay| stay.went = Nanos::ZERO);
        let mut waited = Nanos::ZERO;
        for (habit, stay) in &mut list {
            habit.pause = stay.between(habit.pause);
            if habit.waits {
                let thought = habit.turns[1..].iter().fold(habit.pause, |sum, turn| sum + turn.think);
                waited += stay.span.since(thought);
            }
        }
        let list = list.into_iter().map(|(habit, _)| habit).collect();
        Self { list, capacity, waited, span: until.since(since) }
    }

    /// Of the records of the window, those that nobody waits for, by place.
    pub(crate) fn in_background(&self) -> impl Iterator<Item = usize> {
        self.list.iter().flat_map(|habit| &habit.turns).filter(|turn| !turn.blocking).map(|turn| turn.record)
    }
}

/// How a process was there during a window.
struct Stay {
    /// The usual time from a completion to the next request, and how many were outstanding then.
    pause: Nanos,
    window: u32,
    /// From the window's begin to its first request.
    came: Nanos,
    /// From its last request or completion to the window's end.
    went: Nanos,
    /// The longest pause or response: away for much longer than that, it was busy with other things.
    longest: Nanos,
    /// Whether it ever waits.
    waits: bool,
    /// From its first to its last request, and the whole window.
    active: Nanos,
    span: Nanos,
}

impl Stay {
    fn new(of: &[&TraceRecord], turns: &[Turn], since: Nanos, until: Nanos) -> Self {
        let mut pauses: Vec<Nanos> = turns[1..].iter().map(|turn| turn.think).collect();
        let mut windows: Vec<u32> = turns[1..].iter().map(|turn| turn.window).collect();
        pauses.sort_unstable();
        windows.sort_unstable();
        let end = of.iter().map(|r| r.completion.unwrap_or(r.arrival)).max().unwrap_or(until);
        let responses = of.iter().filter_map(|r| Some(r.completion?.since(r.arrival)));
        Self {
            pause: pauses.get(pauses.len() / 2).copied().unwrap_or_default(),
            window: windows.get(windows.len() / 2).copied().unwrap_or_default(),
            came: of[0].arrival.since(since),
            went: until.since(end),
            longest: responses.chain(pauses.last().copied()).max().unwrap_or_default(),
            waits: turns.iter().any(|turn| turn.blocking),
            active: of[of.len() - 1].arrival.since(of[0].arrival),
            span: until.since(since),
        }
    }

    /// Whether it was not seen for long at the end.
    fn is_gone(&self) -> bool {
        self.went > Nanos(4 * self.longest.0)
    }

    /// What it does between two rounds, where it thinks for `pause` before the first request of one.
    fn between(&self, pause: Nanos) -> Nanos {
        if !self.waits {
            // It comes when it comes, as often as before.
            return self.span.since(self.active).max(Nanos::from_micros(1));
        }
        let came = if self.came > Nanos(4 * self.longest.0) { self.came } else { Nanos::ZERO };
        pause.max(came) + if self.is_gone() { self.went } else { Nanos::ZERO }
    }
}

fn arrival(r: &TraceRecord) -> Arrival {
    Arrival {
        op: r.op,
        lba: r.lba,
        sectors: r.sectors,
        flags: r.flags,
        process: r.process.unwrap_or_default(),
        priority: r.priority,
        criticality: r.criticality(),
        cpu: r.cpu.unwrap_or(0),
        handle: SourceHandle(0),
    }
}

/// How far a process moves on from one time to the next, in sectors.
fn step(records: &[&TraceRecord]) -> i64 {
    let (up, down) = records.windows(2).fold((0, 0), |(up, down), pair| {
        (up + usize::from(pair[1].lba > pair[0].lba), down + usize::from(pair[1].lba < pair[0].lba))
    });
    let low = records.iter().map(|r| r.lba.0).min().unwrap_or_default();
    let high = records.iter().map(|r| r.lba.0).max().unwrap_or_default();
    let (steps, most) = (records.len() as u64 - 1, records.len() * 4 / 5);
    // As far as from its first place to its last, and one step more.
    let reach = (high - low) + (high - low).checked_div(steps).unwrap_or_default();
    match reach as i64 {
        reach if steps > 0 && up >= most => reach,
        reach if steps > 0 && down >= most => -reach,
        _ => APART,
    }
}
