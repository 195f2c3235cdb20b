//! Replays the recordings on the model.

use super::hand_over::Asked;
use super::measure::Measured;
use super::moods::{Mood, Moods, Told};
use super::moves::Moves;
use super::picks::{Picks, picks};
use super::race::raced_for;
use super::replay::{Across, Replayable, Rig};
use super::{Cell, Plan, SCHEDULERS};
use crate::Setup;
use iopilot_block::{Nanos, SECTOR_BYTES};
use iopilot_device::load_disk;
use iopilot_live::ReadPattern;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, Machine, RunConfig, RunOptions};
use iopilot_trace::TraceRecord;
use rayon::prelude::*;

/// What is compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    /// From arrival to completion, ms.
    pub(super) mean_ms: f64,
    pub(super) p99_ms: f64,
    /// Bytes over the time from the first arrival to the last completion, 10^6 a second.
    pub(super) mb_s: f64,
}

impl Figures {
    /// What the kernel did.
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let response = |r: &TraceRecord| r.completion.map(|c| c.since(r.arrival));
        let mut responses: Vec<Nanos> = records.iter().filter_map(response).collect();
        let first = records.iter().map(|r| r.arrival).min().unwrap_or_default();
        let last = records.iter().filter_map(|r| r.completion).max().unwrap_or_default();
        let bytes: u64 = records.iter().map(|r| u64::from(r.sectors.0) * SECTOR_BYTES).sum();
        Self::from_responses(&mut responses, bytes, last.since(first).as_secs_f64())
    }

    pub(super) fn from_responses(responses: &mut [Nanos], bytes: u64, elapsed_s: f64) -> Self {
        responses.sort_unstable();
        let n = responses.len().max(1);
        let sum: f64 = responses.iter().map(|r| r.as_millis_f64()).sum();
        let p99 = responses.get((n * 99).div_ceil(100) - 1).copied().unwrap_or_default();
        Self { mean_ms: sum / n as f64, p99_ms: p99.as_millis_f64(), mb_s: bytes as f64 / 1e6 / elapsed_s }
    }

    /// The mean of each figure. That of rates is all bytes over all the time, of recordings that read as much each: the harmonic mean. Of
    /// bfq, one in ten reads two to five times as fast as the rest: a tenth of the bytes, but a quarter and more of the sum of the rates.
    pub(super) fn mean(all: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| all.iter().map(figure).sum::<f64>() / all.len() as f64;
        Self { mean_ms: of(|f| f.mean_ms), p99_ms: of(|f| f.p99_ms), mb_s: of(|f| f.mb_s.recip()).recip() }
    }

    /// What each contributes to the [mean](Self::mean), to the first order: figures of which the arithmetic mean is that, and whose standard
    /// error is its.
    pub(super) fn parts(all: &[Self]) -> Vec<Self> {
        let mb_s = Self::mean(all).mb_s;
        all.iter().map(|f| Self { mb_s: mb_s * (2.0 - mb_s / f.mb_s), ..*f }).collect()
    }
}

/// What simulations make of a [`Measured`].
pub(super) struct Predicted {
    /// Under each scheduler, what becomes of each recording.
    pub(super) under: [Vec<Figures>; SCHEDULERS.len()],
    /// Whether the scheduler it was recorded under picks the same requests in the same situations; nothing where that was not asked.
    pub(super) picks: Picks,
}

/// What is asked of the simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// What becomes of each recording under each scheduler, and whether the choices are the kernel's.
    All,
    /// Not the choices: to follow them takes longer than all else.
    #[cfg(test)]
    NoPicks,
    /// What is foreseen of a scheduler from its own recordings, as though they were another's. What is off then is not because of what another
    /// scheduler did, but because of what is drawn.
    #[cfg(test)]
    OfItself,
    /// The same as [`NoPicks`](Self::NoPicks), where nothing that the foreseen scheduler's recordings of the cell tell is given, but what those of the
    /// other patterns do: what is off more is because of what was given.
    #[cfg(test)]
    OfOtherPatterns,
}

impl Question {
    fn is_of_itself(self) -> bool {
        #[cfg(test)]
        return self == Self::OfItself;
        #[cfg(not(test))]
        false
    }

    fn is_of_other_patterns(self) -> bool {
        #[cfg(test)]
        return self == Self::OfOtherPatterns;
        #[cfg(not(test))]
        false
    }
}

/// So many recordings of a cell under a scheduler: where that differs from turn to turn there are up to six times as many, which tell its
/// mean, and nothing more of its choices.
const FOLLOWED: usize = 16;

/// `machine` with its disk behind a loop device that takes `depth` requests.
pub(super) fn of_depth(machine: &Machine, depth: u32) -> Machine {
    let mut machine = machine.clone();
    machine.block = BlockConfig { queue_depth: Some(depth), host_tags: Some(depth), ..BlockConfig::default() };
    // As the kernel shows it for a loop device, whatever its depth.
    machine.block.nr_requests = Some(256);
    machine.host = raced_for(&machine.host);
    machine
}

/// One for each of `measured`.
pub(super) fn all(
    plan: &Plan,
    measured: &[Measured],
    question: Question,
    setup: &Setup<'_>,
) -> anyhow::Result<Vec<Predicted>> {
    let disk = load_disk(plan.disk)?;
    let machine = Machine::with_disk(plan.disk, disk.clone())?;
    let of_depth = |depth: u32| of_depth(&machine, depth);
    let options = RunOptions { seed: setup.seed, log: false };
    let recordings: Vec<Vec<Replayable<'_>>> = measured
        .iter()
        .map(|m| m.recordings.iter().enumerate().map(|(turn, recording)| Replayable::new(turn, recording)).collect())
        .collect::<anyhow::Result<_>>()?;
    // The recordings of a cell under a scheduler are of the first turns.
    let turns = |scheduler: usize, cell: Cell| {
        let here = measured.iter().filter(|m| (m.scheduler, m.cell) == (scheduler, cell));
        here.map(|m| m.recordings.len()).sum()
    };
    let under = |scheduler: usize, depth: u32| {
        let all = measured.iter().zip(&recordings);
        let here = all.filter(move |(m, _)| (m.scheduler, m.cell.depth) == (scheduler, depth));
        here.flat_map(|(m, recordings)| recordings.iter().map(|recording| (m.cell.processes, recording)))
    };
    // What a scheduler takes is told by its recordings of the cell, as far as they tell it, else by those with as many tasks: who runs the queue
    // hangs on how many wait; and what few of these have seen, such as no rest, by all.
    let usual = |scheduler: usize, cell: Cell, but: Option<ReadPattern>| {
        let told_by = |is: &dyn Fn(Cell) -> bool| {
            let all = measured.iter().zip(&recordings);
            let these = all.filter(|(m, _)| m.scheduler == scheduler && is(m.cell) && but != Some(m.cell.pattern));
            Replayable::typical(these.flat_map(|(_, recordings)| recordings))
        };
        told_by(&|of| (of.processes, of.depth) == (cell.processes, cell.depth)).or(told_by(&|_| true))
    };
    let of_cell = |scheduler: usize, cell: Cell| {
        let all = measured.iter().zip(&recordings);
        all.filter(move |(m, _)| (m.scheduler, m.cell) == (scheduler, cell)).flat_map(|(_, recordings)| recordings)
    };
    // Nobody races where tags are as many as tasks, or a scheduler stands between.
    let races = |m: &Measured| SCHEDULERS[m.scheduler] == "none" && m.cell.processes > m.cell.depth;
    let told = |(m, recordings): (&Measured, &Vec<Replayable<'_>>)| -> Vec<Told> {
        if races(m) { recordings.iter().map(Replayable::told).collect() } else { Vec::new() }
    };
    let told: Vec<Vec<Told>> = measured.par_iter().zip(&recordings).map(told).collect();
    let raced = |scheduler: usize, of: &dyn Fn(Cell) -> bool| -> Vec<Told> {
        let all = measured.iter().zip(&told).filter(|(m, _)| m.scheduler == scheduler && of(m.cell));
        all.flat_map(|(_, told)| told).copied().collect()
    };
    // How restless the machine was in each of a cell's recordings is told by that, what it is worth in a race by all with as many tasks.
    let mood = |(m, recordings): (&Measured, &Vec<Replayable<'_>>)| -> anyhow::Result<Vec<Mood>> {
        if !races(m) {
            return Ok(Vec::new());
        }
        let alike = |cell: Cell| (cell.processes, cell.depth) == (m.cell.processes, m.cell.depth);
        let (moods, here) = (Moods::of(&raced(m.scheduler, &alike)), raced(m.scheduler, &|cell| cell == m.cell));
        let machine = of_depth(m.cell.depth);
        let (scheduler, config) = (SchedulerSpec::parse(SCHEDULERS[m.scheduler])?, machine.run_config(&options));
        let same = usual(m.scheduler, m.cell, None);
        let moves = Moves::new((plan, &disk), m.cell, recordings.len(), recordings.len());
        let across = Across::new(same, same, of_cell(m.scheduler, m.cell), moves);
        let asked = Asked::default();
        let rig = Rig { machine: &machine, scheduler: &scheduler, config: &config, across: None, asked, setup };
        let of = |(r, told): (&Replayable<'_>, &Told)| r.in_mood(moods.in_which(told), &across, &rig);
        recordings.par_iter().zip(&here).map(of).collect()
    };
    let moods: Vec<Vec<Mood>> = measured.par_iter().zip(&recordings).map(mood).collect::<anyhow::Result<_>>()?;
    // Which recording tells what is given of each of a scheduler's turns of a cell: that of the turn, or one of another pattern.
    let tells = |scheduler: usize, cell: Cell| -> Vec<(usize, usize)> {
        let others = question.is_of_other_patterns();
        let alike = |of: Cell| (of.processes, of.depth) == (cell.processes, cell.depth);
        let all = (0..measured.len()).filter(|&n| measured[n].scheduler == scheduler && alike(measured[n].cell));
        let all = all.filter(|&n| (measured[n].cell == cell) != others);
        let mut told: Vec<(usize, usize)> = all.flat_map(|n| (0..recordings[n].len()).map(move |at| (at, n))).collect();
        // One of each pattern in turn.
        told.sort_unstable();
        (0..turns(scheduler, cell)).zip(told.iter().cycle()).map(|(_, &(at, n))| (n, at)).collect()
    };
    let all_recordings = &recordings;
    let one = |(m, recordings): (&Measured, &Vec<Replayable<'_>>)| -> anyhow::Result<Predicted> {
        let depth = m.cell.depth;
        let machine = of_depth(depth);
        let config = RunConfig { outcomes: true, ..machine.run_config(&options) };
        let asked = Asked::by(under(m.scheduler, depth).map(|(_, recording)| recording));
        let mut simulated: [Vec<Figures>; SCHEDULERS.len()] = Default::default();
        for (scheduler, figures) in simulated.iter_mut().enumerate() {
            if question.is_of_itself() && scheduler != m.scheduler {
                continue;
            }
            let spec: SchedulerSpec = SchedulerSpec::parse(SCHEDULERS[scheduler])?;
            let across = (scheduler != m.scheduler || question.is_of_itself()).then(|| {
                let moves = Moves::new((plan, &disk), m.cell, recordings.len(), turns(scheduler, m.cell));
                let told = tells(scheduler, m.cell);
                let told_by: Vec<&Replayable<'_>> = told.iter().map(|&(n, at)| &all_recordings[n][at]).collect();
                let moods: Vec<Mood> = told.iter().filter_map(|&(n, at)| moods[n].get(at).cloned()).collect();
                let from = usual(m.scheduler, m.cell, None);
                let to = usual(scheduler, m.cell, question.is_of_other_patterns().then_some(m.cell.pattern));
                Across::new(from, to, told_by.iter().copied(), moves).racing(&moods)
            });
            let rig = Rig { machine: &machine, scheduler: &spec, config: &config, across, asked, setup };
            *figures = recordings.iter().map(|r| r.figures(&rig)).collect::<anyhow::Result<_>>()?;
        }
        let spec: SchedulerSpec = SchedulerSpec::parse(SCHEDULERS[m.scheduler])?;
        let followed = if question == Question::All { FOLLOWED.min(m.recordings.len()) } else { 0 };
        let same = m.recordings[..followed].par_iter().map(|r| picks(&r.records, r.origin, &spec, &machine, depth));
        let same: Vec<Picks> = same.collect::<anyhow::Result<_>>()?;
        Ok(Predicted { under: simulated, picks: same.into_iter().sum() })
    };
    measured.par_iter().zip(&recordings).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_throughputs_is_all_bytes_over_all_the_time() {
        let of = |elapsed_s: f64| Figures::from_responses(&mut [Nanos::from_secs(1)], 6_000_000, elapsed_s);
        let all = [of(1.0), of(2.0), of(6.0)];
        assert!((Figures::mean(&all).mb_s - 2.0).abs() < 1e-9);
        let parts = Figures::parts(&all);
        assert!((parts.iter().map(|f| f.mb_s).sum::<f64>() / 3.0 - 2.0).abs() < 1e-9);
        assert!((parts[0].mb_s - 2.0 * (2.0 - 2.0 / 6.0)).abs() < 1e-9);
    }
}
