//! How often tasks kept their tags in a recording, and with which chances they do.
//!
//! With which chances a task keeps its tag is told by the recordings in which it can be followed who was called ([`super::races`]), and of those with
//! backward readers few can (`raced_again` counts them). How often tags are kept is told by each, whoever was called.

use super::moods::{Mood, logit};
use super::race::{ENOUGH, kept_from};
use super::races::Tally;
use super::replay::{Across, Replayable, Rig};
use iopilot_trace::TraceRecord;

/// After which shares of its requests the parts of a recording begin that tell it. Tasks keep their tags more often in the beginning (32 backward
/// readers on four tags, after a hit in the disk's cache: in 0.79 of the races of the first eighth, in 0.67 of those of the last five eighths), when all
/// have most of their requests before them, and what is lost costs most. Why they do is not known.
const BEGINS: [f64; PARTS] = [0.0, 0.25, 0.5];
const PARTS: usize = 3;
/// So many replays tell how often tags are kept.
const REPLAYS: u64 = 4;
/// So often the chances are put right.
const STEPS: usize = 3;
/// No further than so: then something else is off.
const FURTHEST: f64 = 2.0;

impl Replayable<'_> {
    /// `mood`, and so much better or worse that in replays of this recording tasks keep their tags as often as they did in it, in each part; `across` is
    /// from its scheduler to the same. As it is where the recording does not tell how often they did.
    pub(super) fn in_mood(&self, mood: &Mood, across: &Across<'_>, on: &Rig<'_>) -> anyhow::Result<Mood> {
        let Some(kept) = Kept::by(&self.recording.records) else { return Ok(mood.clone()) };
        let mut config = on.config.clone();
        config.log = true;
        let rig = Rig { config: &config, across: None, ..*on };
        let put_right = |steps: &[Steps; PARTS]| mood.kept_more(kept.from.into_iter().zip(steps.map(|steps| steps.by)));
        let told = |steps: &[Steps; PARTS]| -> anyhow::Result<[f64; PARTS]> {
            let across = across.always_in(&put_right(steps));
            // All where the recording was.
            let once = |n: u64| {
                let log = self.once(&across, n * across.turns() as u64, &rig)?.log.unwrap_or_default();
                Ok(kept_from(&log, kept.from))
            };
            let all: Vec<[Tally; PARTS]> = (0..REPLAYS).map(once).collect::<anyhow::Result<_>>()?;
            let part = |n: usize| all.iter().map(|one| one[n]).fold(Tally::default(), Tally::and);
            Ok(kept.logits(std::array::from_fn(part)))
        };
        let mut steps = [Steps::default(); PARTS];
        for _ in 0..STEPS {
            let now = told(&steps)?;
            steps.iter_mut().zip(now).zip(kept.wanted).for_each(|((steps, now), wanted)| steps.step(now, wanted));
        }
        Ok(put_right(&steps))
    }
}

/// How often tags were kept in a recording.
struct Kept {
    /// How many requests are complete where its parts begin.
    from: [u64; PARTS],
    /// Whether each part tells it.
    by_part: bool,
    /// Logits, by part; the same where not each tells it.
    wanted: [f64; PARTS],
}

impl Kept {
    /// `None` where too few races tell it.
    fn by(records: &[TraceRecord]) -> Option<Self> {
        let from = BEGINS.map(|share| (share * records.len() as f64) as u64);
        let told = kept_from(records, from);
        let by_part = told.iter().all(|told| told.all >= ENOUGH);
        let kept = Self { from, by_part, wanted: [0.0; PARTS] };
        (sum(told).all >= ENOUGH).then(|| Self { wanted: kept.logits(told), ..kept })
    }

    fn logits(&self, told: [Tally; PARTS]) -> [f64; PARTS] {
        told.map(|one| logit(if self.by_part { one } else { sum(told) }.share()))
    }
}

fn sum(told: [Tally; PARTS]) -> Tally {
    told.into_iter().fold(Tally::default(), Tally::and)
}

/// By how much a chance is put right, step by step.
#[derive(Clone, Copy, Debug)]
struct Steps {
    by: f64,
    /// How much that changes what is told.
    slope: f64,
    /// Where it was before, and what was told then.
    last: Option<(f64, f64)>,
}

impl Default for Steps {
    fn default() -> Self {
        Self { by: 0.0, slope: 1.0, last: None }
    }
}

impl Steps {
    /// `now` is told.
    fn step(&mut self, now: f64, wanted: f64) {
        // Of a short step chance tells more than the step does.
        if let Some((before, then)) = self.last.filter(|(before, _)| (self.by - before).abs() > 0.05) {
            self.slope = ((now - then) / (self.by - before)).clamp(0.3, 1.5);
        }
        self.last = Some((self.by, now));
        self.by = (self.by + (wanted - now) / self.slope).clamp(-FURTHEST, FURTHEST);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hand_over::Asked;
    use super::super::measure::{Path, Recording};
    use super::super::moods::Moods;
    use super::super::moves::Moves;
    use super::super::predict::of_depth;
    use super::super::{Cell, Plan};
    use super::*;
    use crate::Setup;
    use iopilot_block::Nanos;
    use iopilot_device::load_disk;
    use iopilot_live::ReadPattern;
    use iopilot_sched::SchedulerSpec;
    use iopilot_sim::{Machine, Progress, RunOptions, TagOdds, simulate};
    use iopilot_workload::{FioJobs, Workload};

    #[test]
    fn in_its_mood_tasks_keep_their_tags_as_often_as_they_did() {
        let machine = of_depth(&Machine::for_disk("hd-500-16").unwrap(), 4);
        let none = SchedulerSpec::parse("none").unwrap();
        let setup = Setup { seed: 42, quick: false, progress: &Progress::default() };
        // 16 tasks of 60 requests each.
        let recorded = |chances: [f64; 2]| {
            let mut machine = machine.clone();
            let odds = |(chance, after): (f64, u64)| TagOdds {
                after,
                here: [chance; 4],
                away: [chance; 4],
                gone: [chance; 2],
                ..TagOdds::EVEN
            };
            machine.host.tag_odds = chances.into_iter().zip([0, 480]).map(odds).collect();
            let jobs = "[readers]\nrw=randread\nbs=4k\nsize=4g\nnumjobs=16\nnumber_ios=60\n";
            let workload = Workload::Fio { name: "readers".to_owned(), jobs: FioJobs::parse(jobs, "readers").unwrap() };
            let options = RunOptions { seed: 42, log: true };
            let mut records = simulate(&machine, &workload, &none, &options, setup.progress).unwrap().log.unwrap();
            records.sort_by_key(|r| r.arrival);
            Recording { records, origin: Nanos::ZERO, seen: Vec::new(), path: Path::default() }
        };
        let (plan, disk) = (Plan::new(false), load_disk("hd-500-16").unwrap());
        let cell = Cell { pattern: ReadPattern::Strided512k, processes: 16, depth: 4 };
        let config = machine.run_config(&RunOptions { seed: 42, log: false });
        let usual = Moods::of(&[]);
        for chances in [[0.3, 0.3], [0.8, 0.8], [0.8, 0.4]] {
            let recording = recorded(chances);
            let one = Replayable::new(0, &recording).unwrap();
            let told = Replayable::typical(std::iter::once(&one));
            let moves = Moves::new((&plan, &disk), cell, 1, 1);
            let across = Across::new(told, told, std::iter::once(&one), moves);
            let rig = Rig {
                machine: &machine,
                scheduler: &none,
                config: &config,
                across: None,
                asked: Asked::default(),
                setup: &setup,
            };
            let mood = one.in_mood(usual.in_which(&one.told()), &across, &rig).unwrap();
            let mut config = config.clone();
            config.log = true;
            let rig = Rig { config: &config, across: None, ..rig };
            let told = |records: &[TraceRecord]| kept_from(records, [0, 480]).map(Tally::share);
            let again = |n: u64| told(&one.once(&across.always_in(&mood), n, &rig).unwrap().log.unwrap());
            let wanted = told(&recording.records);
            for (part, wanted) in wanted.into_iter().enumerate() {
                let told = (4..12).map(|n| again(n)[part]).sum::<f64>() / 8.0;
                assert!((wanted - told).abs() < 0.06, "{chances:?}, part {part}: {wanted} {told}");
            }
        }
    }
}
