//! [`WindowPattern`]: what each process of a window does, so that a trial can repeat it.

use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::{Dependencies, TraceRecord};
use iopilot_workload::{Arrival, SourceHandle};

/// How far an access pattern that is no stream moves in each round, in sectors: beyond what a disk's cache holds.
const APART: i64 = 64 << 11;

/// One request of a process' pattern.
#[derive(Clone, Debug)]
pub(crate) struct PatternRequest {
    /// Its index in the window.
    pub(crate) record: usize,
    pub(crate) arrival: Arrival,
    /// The process issues it once no more than this many blocking requests are outstanding.
    pub(crate) outstanding_limit: u32,
    /// How long the process thinks before it.
    pub(crate) think: Nanos,
    /// Whether the process waits for it.
    pub(crate) blocking: bool,
}

/// One process: its requests in order, and what it does between two rounds of them.
#[derive(Clone, Debug)]
pub(crate) struct ProcessPattern {
    pub(crate) process: ProcessId,
    pub(crate) requests: Vec<PatternRequest>,
    /// How long it thinks before the first request of every round but the first.
    pub(crate) pause: Nanos,
    /// How far its addresses move from one round to the next, in sectors.
    pub(crate) step: i64,
    /// Whether it waits for any request.
    pub(crate) waits: bool,
}

/// The processes of a window, as the window and the requests before it show them.
#[derive(Clone, Debug)]
pub(crate) struct WindowPattern {
    pub(crate) processes: Vec<ProcessPattern>,
    /// The capacity of the disk, in sectors.
    pub(crate) capacity: u64,
    /// How long processes waited in the window, all together.
    pub(crate) waited: Nanos,
    /// The length of the window.
    pub(crate) span: Nanos,
}

/// A window together with the requests before it, which show what its first requests waited for.
pub(crate) struct KnownRequests<'a> {
    /// In order of arrival, on one clock.
    pub(crate) records: &'a [TraceRecord],
    /// The dependencies of `records`.
    pub(crate) dependencies: &'a Dependencies,
    /// For each of `records`, its index in the window, if it is in the window.
    pub(crate) place: &'a [Option<usize>],
    /// When the window began.
    pub(crate) since: Nanos,
    /// How many requests are in flight at its end, of which there are no records.
    pub(crate) pending: usize,
}

impl WindowPattern {
    /// The pattern of a window, on a disk of `capacity` sectors. O(n log n).
    pub(crate) fn new(known: &KnownRequests<'_>, capacity: u64) -> Self {
        let KnownRequests { records, dependencies, place, since, .. } = *known;
        let until = records.iter().filter_map(|r| r.completion).max().unwrap_or(since);
        let mut processes = Vec::new();
        for p in 0..dependencies.processes() as u32 {
            let all = dependencies.requests_of(p);
            let mine: Vec<u32> = all.iter().copied().filter(|&i| place[i as usize].is_some()).collect();
            let Some(&first) = mine.first() else { continue };
            let of: Vec<&TraceRecord> = mine.iter().map(|&i| &records[i as usize]).collect();
            let mut requests: Vec<PatternRequest> = mine
                .iter()
                .filter_map(|&i| {
                    Some(PatternRequest {
                        record: place[i as usize]?,
                        arrival: arrival(&records[i as usize]),
                        outstanding_limit: dependencies.outstanding_limit(i),
                        think: dependencies.think(i),
                        blocking: dependencies.is_blocking(i),
                    })
                })
                .collect();
            let presence = Presence::new(&of, &requests, since, until);
            // Only a process with requests before the window shows what its first request in it waited for.
            let has_past = all.first() != Some(&first);
            if has_past {
                requests[0].think = requests[0].think.min(presence.came);
            } else {
                requests[0].think = presence.came;
                requests[0].outstanding_limit = presence.outstanding_limit;
            }
            let pause = match has_past {
                true => requests[0].think,
                false => presence.pause,
            };
            let process = requests[0].arrival.process;
            let pattern = ProcessPattern { process, pause, step: step(&of), waits: presence.waits, requests };
            processes.push((pattern, presence));
        }
        // A process that was not seen towards the end either does something else, or waits for a request in flight. As
        // many processes are assumed to wait as there are requests in flight.
        let mut gone: Vec<&mut Presence> =
            processes.iter_mut().map(|(_, presence)| presence).filter(|presence| presence.is_gone()).collect();
        gone.sort_by_key(|presence| presence.went);
        gone.into_iter().take(known.pending).for_each(|presence| presence.went = Nanos::ZERO);
        let mut waited = Nanos::ZERO;
        for (process, presence) in &mut processes {
            process.pause = presence.between(process.pause);
            if process.waits {
                let thought = process.requests[1..].iter().fold(process.pause, |sum, request| sum + request.think);
                waited += presence.span.since(thought);
            }
        }
        let processes = processes.into_iter().map(|(process, _)| process).collect();
        Self { processes, capacity, waited, span: until.since(since) }
    }

    /// The requests that no process waits for, by their index in the window.
    pub(crate) fn in_background(&self) -> impl Iterator<Item = usize> {
        let requests = self.processes.iter().flat_map(|process| &process.requests);
        requests.filter(|request| !request.blocking).map(|request| request.record)
    }
}

/// When a process was active during a window.
struct Presence {
    /// The median time from a completion to the next request, and the median limit of outstanding requests.
    pause: Nanos,
    outstanding_limit: u32,
    /// From the window's start to its first request.
    came: Nanos,
    /// From its last request or completion to the window's end.
    went: Nanos,
    /// The longest pause or response. A process that is absent for much longer does something else.
    longest: Nanos,
    /// Whether it ever waits.
    waits: bool,
    /// From its first to its last request, and the whole window.
    active: Nanos,
    span: Nanos,
}

impl Presence {
    fn new(of: &[&TraceRecord], requests: &[PatternRequest], since: Nanos, until: Nanos) -> Self {
        let mut pauses: Vec<Nanos> = requests[1..].iter().map(|request| request.think).collect();
        let mut limits: Vec<u32> = requests[1..].iter().map(|request| request.outstanding_limit).collect();
        pauses.sort_unstable();
        limits.sort_unstable();
        let end = of.iter().map(|r| r.completion.unwrap_or(r.arrival)).max().unwrap_or(until);
        let responses = of.iter().filter_map(|r| Some(r.completion?.since(r.arrival)));
        Self {
            pause: pauses.get(pauses.len() / 2).copied().unwrap_or_default(),
            outstanding_limit: limits.get(limits.len() / 2).copied().unwrap_or_default(),
            came: of[0].arrival.since(since),
            went: until.since(end),
            longest: responses.chain(pauses.last().copied()).max().unwrap_or_default(),
            waits: requests.iter().any(|request| request.blocking),
            active: of[of.len() - 1].arrival.since(of[0].arrival),
            span: until.since(since),
        }
    }

    /// Whether it was absent for a long time at the end.
    fn is_gone(&self) -> bool {
        self.went > Nanos(4 * self.longest.0)
    }

    /// The pause between two rounds, where it thinks for `pause` before the first request of a round.
    fn between(&self, pause: Nanos) -> Nanos {
        if !self.waits {
            // Its requests depend on nothing: they come as often as before.
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

/// How far the addresses of a process move from one round to the next, in sectors.
fn step(records: &[&TraceRecord]) -> i64 {
    let (up, down) = records.windows(2).fold((0, 0), |(up, down), pair| {
        (up + usize::from(pair[1].lba > pair[0].lba), down + usize::from(pair[1].lba < pair[0].lba))
    });
    let low = records.iter().map(|r| r.lba.0).min().unwrap_or_default();
    let high = records.iter().map(|r| r.lba.0).max().unwrap_or_default();
    let (steps, most) = (records.len() as u64 - 1, records.len() * 4 / 5);
    // The distance from its lowest address to its highest, and one step more.
    let reach = (high - low) + (high - low).checked_div(steps).unwrap_or_default();
    match reach as i64 {
        reach if steps > 0 && up >= most => reach,
        reach if steps > 0 && down >= most => -reach,
        _ => APART,
    }
}
