//! [`Replayable`]: a recording, ready to be replayed.

use super::hand_over::{Asked, of_each, of_tags};
use super::measure::{Recording, by_sector};
use super::moods::{Mood, Told};
use super::moves::{Moved, Moves};
use super::predict::Figures;
use super::seen::Seen;
use super::turnaround;
use super::usual::{Usual, going_on};
use super::ways::Ways;
use crate::Setup;
use iopilot_block::Nanos;
use iopilot_device::{Distant, OnClock, Rests};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{HandOver, HandOvers, Machine, RunConfig, RunReport, Situation, Turnaround, Turnarounds, run};
use iopilot_trace::{Dependencies, InferOptions, TraceRecord, infer};
use iopilot_workload::Source;
use iopilot_workload::replay::{Dependent, ReplayRecord};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How often a recording is replayed where something is drawn.
const DRAWS: u64 = 8;
/// How often the recordings of a cell are together, where that is more, under a scheduler that was not recorded: some of its recordings are
/// few because under their own nothing is drawn.
const TOGETHER: usize = 512;
/// A kernel chooses so long before the request reaches the device, or up to [`DRAWS`] - 1 times [`CHOICE_STEP`] longer.
const CHOICE: Nanos = Nanos(400);
const CHOICE_STEP: u64 = 350;

/// A whole number of the kernel's ticks, whatever its `HZ`: a replay goes on where in them the recording began.
const SECOND: u64 = 1_000_000_000;

/// A recording with what its tasks depended on.
pub(super) struct Replayable<'a> {
    pub(super) recording: &'a Recording,
    /// Of which turn it is.
    turn: usize,
    usual: Usual,
    /// What it tells of the scheduler it was recorded under.
    own: Own,
}

/// A recording as its own scheduler saw it: requests arrive when they were handed to it.
struct Own {
    requests: Vec<ReplayRecord>,
    dependencies: Dependencies,
    /// As far as the recording tells it.
    hand_overs: Vec<HandOver>,
    /// What happened each time a request was complete, where blktrace tells that of the scheduler.
    turnarounds: Vec<(Situation, Turnaround)>,
    /// From a request's arrival to its insertion.
    before: Vec<Nanos>,
    /// From the first arrival to the first insertion.
    begin: Nanos,
    /// When it begins in the replay, so that the kernel's ticks are where they were.
    tick: Nanos,
}

/// Where in the kernel's ticks a replay begins, and how far it is from where it was recorded.
#[derive(Clone, Copy, Debug)]
struct Begin {
    tick: Nanos,
    moved: Moved,
}

/// The same `by` later.
fn later(r: &TraceRecord, by: Nanos) -> TraceRecord {
    let [inserted, issue, completion] = [r.inserted, r.issue, r.completion].map(|time| time.map(|time| time + by));
    TraceRecord { arrival: r.arrival + by, inserted, issue, completion, ..r.clone() }
}

impl Own {
    fn of(recording: &Recording) -> anyhow::Result<Self> {
        let records = &recording.records;
        // Under `none` a request is handed to nobody.
        let scheduled = records.iter().any(|r| r.inserted.is_some());
        let seen = |n: usize| recording.seen.get(n).cloned().unwrap_or_default();
        let mut inserted: Vec<(Nanos, Seen, TraceRecord)> = (records.iter().enumerate())
            .map(|(n, r)| (r.arrival, seen(n), TraceRecord { arrival: r.inserted.unwrap_or(r.arrival), ..r.clone() }))
            .collect();
        inserted.sort_by_key(|(_, _, r)| r.arrival);
        let before: Vec<Nanos> = inserted.iter().map(|(arrival, _, r)| r.arrival.since(*arrival)).collect();
        let (seen, inserted): (Vec<Seen>, Vec<TraceRecord>) =
            inserted.into_iter().map(|(_, seen, r)| (seen, r)).unzip();
        let first = |records: &[TraceRecord]| records.iter().map(|r| r.arrival).min().unwrap_or_default();
        let begin = first(&inserted).since(first(records));
        let hand_overs = if scheduled { of_each(&inserted, &before, &seen) } else { of_tags(&inserted) };
        let watched = recording.seen.iter().any(|seen| seen.asked.is_some());
        let turnarounds = if watched { turnaround::of_each(&inserted, &hand_overs, &seen, CHOICE) } else { Vec::new() };
        let tick = Nanos(recording.origin.0 % SECOND);
        let inserted: Vec<TraceRecord> = inserted.iter().map(|r| later(r, tick)).collect();
        Ok(Self {
            requests: inserted.iter().map(ReplayRecord::from).collect(),
            dependencies: infer(&inserted, &InferOptions::default())?,
            hand_overs,
            turnarounds,
            before,
            begin,
            tick,
        })
    }

    /// What became of the requests, from their arrival.
    fn figures(&self, report: &RunReport) -> Figures {
        let outcomes = report.outcomes.iter().flatten();
        let mut responses: Vec<Nanos> = outcomes.zip(&self.before).map(|(o, before)| o.response + *before).collect();
        Figures::from_responses(&mut responses, report.bytes, report.elapsed_s + self.begin.as_secs_f64())
    }
}

impl Asked {
    /// As `recordings` under a scheduler tell it together.
    pub(super) fn by<'a>(recordings: impl Iterator<Item = &'a Replayable<'a>> + Clone) -> Self {
        Self::of(&recordings.flat_map(|r| &r.own.hand_overs), Self::default())
    }
}

impl<'a> Replayable<'a> {
    /// The one of turn `turn` of its scheduler.
    pub(super) fn new(turn: usize, recording: &'a Recording) -> anyhow::Result<Self> {
        Ok(Self { recording, turn, usual: Usual::of_recording(recording), own: Own::of(recording)? })
    }

    /// What is usual, as `all` tell it.
    pub(super) fn typical<'b>(all: impl Iterator<Item = &'b Replayable<'b>>) -> Usual {
        Usual::typical(&all.map(|r| r.usual).collect::<Vec<_>>())
    }

    /// What it tells of the race for tags.
    pub(super) fn told(&self) -> Told {
        Told::by(&self.recording.records)
    }

    /// One replay under another scheduler than it was recorded under.
    pub(super) fn once(&self, across: &Across<'_>, draw: u64, on: &Rig<'_>) -> anyhow::Result<RunReport> {
        let usual = across.usual(self.turn, draw);
        let from = self.usual.or(across.from);
        let of_each = across.turnarounds(self.turn, draw).cloned();
        // What is drawn as a whole was drawn after such a rest.
        let (records, goes_on, rests) = match &of_each {
            Some(_) => {
                let (records, goes_on) = going_on(&self.recording.records);
                (records, goes_on, Rests::default())
            }
            None => {
                let (records, rests) = usual.resumed(from, &self.recording.records);
                (records, Vec::new(), rests)
            }
        };
        let hand_overs = of_each.map(|of_each| HandOvers::usual(of_each, goes_on.into(), CHOICE));
        let mut host = usual.on(&on.config.host);
        if let Some(mood) = across.mood(self.turn, draw) {
            (host.tag_odds, host.tag_moves) = (mood.odds.clone(), Some(mood.moves));
        }
        let config = RunConfig { host, rests, hand_overs, ..on.config.clone() };
        let seed = self.seed(draw, on);
        // Another scheduler's recordings began elsewhere in the ticks.
        let tick = Nanos(Pcg64Mcg::seed_from_u64(seed).random_range(0..SECOND));
        let moved = across.moves.of(self.turn, draw);
        let there = |r: &TraceRecord| TraceRecord { lba: moved.to(r.lba), ..later(r, tick) };
        let records: Vec<TraceRecord> = records.iter().map(there).collect();
        let requests: Vec<ReplayRecord> = records.iter().map(ReplayRecord::from).collect();
        let source = Dependent::new(requests, infer(&records, &InferOptions::default())?, 1.0);
        let ways = usual.further(from).ways(self.recording);
        self.run(source, Begin { tick, moved }, (seed, ways), &config, on)
    }

    /// Each replay of each recording has one of its own.
    fn seed(&self, draw: u64, on: &Rig<'_>) -> u64 {
        on.config.seed.wrapping_add(self.recording.origin.0).wrapping_add(draw)
    }

    /// A replay in which the recording begins so.
    fn run(
        &self,
        source: impl Source,
        Begin { tick, moved }: Begin,
        (seed, ways): (u64, Ways),
        config: &RunConfig,
        on: &Rig<'_>,
    ) -> anyhow::Result<RunReport> {
        let config = RunConfig { seed, ..config.clone() };
        let path = &self.recording.path;
        let disk = OnClock::new(on.machine.device(), path.model.unwrap_or(tick) + moved.turned, tick);
        let (there, back): (Vec<Nanos>, Vec<Nanos>) = ways.of.iter().flatten().copied().unzip();
        let known = by_sector(&self.recording.records, &ways.of).into_iter();
        let [there_rests, back_rests] = ways.rests;
        let device = Distant::new(disk, &there, &back, config.seed)
            .knowing(known.map(|(lba, way)| (moved.to(lba), way)))
            .resting(there_rests, back_rests)
            .holding(ways.hold);
        let device = match ways.line {
            Some(apart) => device.in_line(apart),
            None => device,
        };
        Ok(run(source, device, on.scheduler, &config, on.setup.progress)?)
    }

    /// The mean over as many replays as the scheduler needs.
    pub(super) fn figures(&self, on: &Rig<'_>) -> anyhow::Result<Figures> {
        let draws = match (&on.across, on.scheduler.name) {
            // Who won the race for tags is known.
            (None, "none") => 1,
            // When a scheduler chose is not, to the last fraction of a microsecond.
            (None, _) => DRAWS,
            // Microseconds do not decide.
            (Some(across), "mq-deadline" | "kyber") => across.moves.draws(1),
            (Some(across), _) => across.moves.draws(TOGETHER).max(DRAWS),
        };
        let once = |draw: u64| -> anyhow::Result<Figures> {
            let Some(across) = &on.across else { return self.again(draw, on) };
            let report = self.once(across, draw, on)?;
            let mut responses: Vec<Nanos> = report.outcomes.iter().flatten().map(|o| o.response).collect();
            Ok(Figures::from_responses(&mut responses, report.bytes, report.elapsed_s))
        };
        Ok(Figures::mean(&(0..draws).map(once).collect::<anyhow::Result<Vec<_>>>()?))
    }

    /// One replay under the scheduler it was recorded under.
    fn again(&self, draw: u64, on: &Rig<'_>) -> anyhow::Result<Figures> {
        Ok(self.own.figures(&self.replayed(draw, on)?))
    }

    /// The same: the scheduler is asked when it was asked.
    fn replayed(&self, draw: u64, on: &Rig<'_>) -> anyhow::Result<RunReport> {
        let own = &self.own;
        let choice = CHOICE + Nanos(draw * CHOICE_STEP);
        let asked = Asked::of(&own.hand_overs.iter(), on.asked);
        let hand_overs = HandOvers::new(asked.filled(&own.hand_overs), choice);
        let config =
            RunConfig { host: self.usual.on(&on.config.host), hand_overs: Some(hand_overs), ..on.config.clone() };
        let source = Dependent::new(&*own.requests, &own.dependencies, 1.0);
        let (begin, ways) = (Begin { tick: own.tick, moved: Moved::default() }, Ways::recorded(&self.recording.path));
        self.run(source, begin, (self.seed(draw, on), ways), &config, on)
    }

    /// Which of the requests that reached the device, in their order, is the first that a replay has another of, and how long after the first
    /// arrival that was.
    #[cfg(test)]
    pub(super) fn first_difference(&self, on: &Rig<'_>) -> anyhow::Result<Option<(usize, Nanos)>> {
        let order = |records: &[TraceRecord]| {
            let mut all: Vec<_> = records.iter().map(|r| (r.issue, r.process, r.lba)).collect();
            all.sort_unstable();
            all
        };
        let kernel = order(&self.recording.records);
        let config = RunConfig { log: true, ..on.config.clone() };
        let ours = order(&self.replayed(0, &Rig { config: &config, across: None, ..*on })?.log.unwrap_or_default());
        let other = kernel.iter().zip(&ours).position(|(a, b)| (a.1, a.2) != (b.1, b.2));
        Ok(other.and_then(|n| Some((n, kernel[n].0?))))
    }
}

/// What is usual on the machine under two schedulers.
#[derive(Clone)]
pub(super) struct Across<'a> {
    /// The one that was recorded.
    from: Usual,
    /// The other, turn by turn.
    to: Vec<Usual>,
    moves: Moves<'a>,
    /// What happens there when a request is complete, turn by turn, where that was watched: what a turn tells seldom is as in all of them.
    turnarounds: Vec<Turnarounds>,
    /// The chances where they race for tags there, turn by turn.
    moods: Vec<Mood>,
}

impl<'a> Across<'a> {
    /// As it is usual under both, and as the other's recordings of the `cell` tell it, turn by turn: how long the ways are and how soon a task goes on
    /// hangs on the pattern, and on the mood in which the machine was.
    pub(super) fn new<'b>(
        from: Usual,
        to: Usual,
        cell: impl Iterator<Item = &'b Replayable<'b>> + Clone,
        moves: Moves<'a>,
    ) -> Self {
        let all = Turnarounds::new(&turnaround::RESTS, cell.clone().flat_map(|r| r.own.turnarounds.iter().copied()));
        let turn = |r: &Replayable<'_>| Some(all.as_ref()?.rather(r.own.turnarounds.iter().copied()));
        Self {
            moves,
            from,
            turnarounds: cell.clone().filter_map(turn).collect(),
            to: cell.map(|r| r.usual.or(to)).collect(),
            moods: Vec::new(),
        }
    }

    /// The same where tasks race for tags in these `moods`, turn by turn.
    pub(super) fn racing(self, moods: &[Mood]) -> Self {
        Self { moods: moods.to_vec(), ..self }
    }

    /// The same where the mood is this one in each turn.
    pub(super) fn always_in(&self, mood: &Mood) -> Self {
        Self { moods: vec![mood.clone(); self.to.len()], ..self.clone() }
    }

    /// How many turns of the other scheduler there are.
    pub(super) fn turns(&self) -> usize {
        self.to.len()
    }

    /// What is usual in the other's turn in which that of turn `turn` is replayed at its draw `draw`.
    fn usual(&self, turn: usize, draw: u64) -> Usual {
        self.to.get(self.moves.other(turn, draw)).copied().unwrap_or_default()
    }

    /// What happened in that when a request was complete.
    fn turnarounds(&self, turn: usize, draw: u64) -> Option<&Turnarounds> {
        self.turnarounds.get(self.moves.other(turn, draw))
    }

    /// The mood of that.
    fn mood(&self, turn: usize, draw: u64) -> Option<&Mood> {
        self.moods.get(self.moves.other(turn, draw))
    }
}

/// What a recording is replayed on.
pub(super) struct Rig<'a> {
    pub(super) machine: &'a Machine,
    pub(super) scheduler: &'a SchedulerSpec,
    pub(super) config: &'a RunConfig,
    /// What a recording under another scheduler does not tell; `None` where it is of this one.
    pub(super) across: Option<Across<'a>>,
    /// How soon this scheduler is asked, where too little in its own recording tells.
    pub(super) asked: Asked,
    pub(super) setup: &'a Setup<'a>,
}
