//! The table of all requests that were recorded.

use super::measure::Measured;
use super::seen::Seen;
use super::{Cell, SCHEDULERS};
use iopilot_block::Nanos;
use std::fmt::Write as _;

/// Every request that was recorded, for those who want to look closer. Times count from the first of a recording, which `began_ns`
/// tells on the kernel's monotonic clock and `model_ns` on that of the disk's model; `there_ns` and `back_ns` are how long it was on its way
/// to the model and back.
pub(super) fn table(measured: &[Measured]) -> String {
    let mut text = String::from(
        "pattern,processes,depth,scheduler,recording,arrived_ns,inserted_ns,issued_ns,completed_ns,lba,sectors,process,cpu,merged,\
         began_ns,there_ns,back_ns,model_ns,tagged_ns,inserted_asked_ns,inserted_choice_ns,completed_asked_ns,completed_choice_ns,\
         issued_asked_ns,issued_choice_ns,heard_ns,follows_ns,inserted_locked_ns,inserted_again_ns,completed_locked_ns,completed_again_ns,\
         issued_locked_ns,issued_again_ns\n",
    );
    for m in measured {
        let Cell { pattern, processes, depth } = m.cell;
        for (n, recording) in m.recordings.iter().enumerate() {
            let nothing = Seen::default();
            let seen = recording.seen.iter().chain(std::iter::repeat(&nothing));
            for ((r, way), Seen { tagged, asked, heard, follows }) in
                recording.records.iter().zip(&recording.path.of).zip(seen)
            {
                let asked = asked.as_ref();
                let asks = [
                    asked.and_then(|asked| asked.inserted.as_ref()),
                    asked.and_then(|asked| asked.completed.as_ref()),
                    asked.and_then(|asked| asked.issued.as_ref()),
                ];
                let time = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.0.to_string());
                let _ = write!(
                    text,
                    "{pattern},{processes},{depth},{},{n},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                    SCHEDULERS[m.scheduler],
                    r.arrival.0,
                    time(r.inserted),
                    time(r.issue),
                    time(r.completion),
                    r.lba.0,
                    r.sectors.0,
                    r.process.unwrap_or_default().0,
                    r.cpu.unwrap_or_default(),
                    u8::from(r.merged == Some(true)),
                    recording.origin.0,
                    time(way.map(|(there, _)| there)),
                    time(way.map(|(_, back)| back)),
                    time(recording.path.model),
                );
                let seen = asks.iter().flat_map(|ask| [ask.map(|ask| ask.after), ask.and_then(|ask| ask.choice)]);
                let beside = std::iter::once(*tagged).chain(seen).chain([*heard, *follows]);
                beside.for_each(|at| text.extend([",", &time(at)]));
                for ask in asks {
                    let again: Vec<String> = ask.iter().flat_map(|ask| &ask.again).map(|at| at.0.to_string()).collect();
                    text.extend([",", &time(ask.map(|ask| ask.locked)), ",", &again.join(" ")]);
                }
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::hand_over::Asked;
    use super::super::measure::{Path, Recording, mean_and_errors};
    use super::super::moods::{Moods, Told};
    use super::super::picks::{Picks, picks};
    use super::super::predict::{Figures, of_depth};
    use super::super::replay::{Replayable, Rig};
    use super::super::{EXPERIMENT, Plan, judge, predict};
    use super::*;
    use crate::{Setup, text};
    use iopilot_block::{Flags, Lba, Op, ProcessId, Sectors};
    use iopilot_render::Terminal;
    use iopilot_sched::SchedulerSpec;
    use iopilot_sim::{Ask, AskedAfter, Machine, Progress, RunConfig, RunOptions};
    use iopilot_trace::TraceRecord;
    use rayon::prelude::*;
    use std::collections::BTreeMap;

    /// A figure, and by how many percent it may be off.
    type Goal = (fn(&Figures) -> f64, f64);

    /// That of an experiment of which no other is asked: so a run's figures come out again.
    const SEED: u64 = 0;

    /// A replay that differs by more percent went another way than the kernel.
    const MUCH: f64 = 2.0;

    /// A recording as the table has it.
    struct Read {
        name: String,
        depth: u32,
        recording: Recording,
    }

    impl Read {
        fn new(name: String, depth: u32, origin: Nanos) -> Self {
            Self {
                name,
                depth,
                recording: Recording { records: Vec::new(), origin, seen: Vec::new(), path: Path::default() },
            }
        }

        /// What the schedulers have recorded in it, without its number.
        fn cell(&self) -> &str {
            self.name.rsplit_once(',').expect("a number").0
        }
    }

    fn recordings_of(scheduler: &str, text: &str) -> Vec<Read> {
        let mut recordings: Vec<Read> = Vec::new();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |n: usize| fields[n].parse::<u64>().expect("a number");
            let time = |n: usize| fields[n].parse().ok().map(Nanos);
            if fields[3] != scheduler {
                continue;
            }
            let name = fields[..5].join(",");
            if recordings.last().is_none_or(|r| r.name != name) {
                let (depth, origin) = (number(2) as u32, Nanos(number(14)));
                recordings.push(Read::new(name, depth, origin));
            }
            let Recording { records, path, seen, .. } = &mut recordings.last_mut().expect("one at least").recording;
            // Earlier tables have no ways.
            if let (Some(there), Some(back)) = (fields.get(15), fields.get(16)) {
                let way = there.parse().ok().zip(back.parse().ok()).map(|(there, back)| (Nanos(there), Nanos(back)));
                path.of.push(way);
                path.there.extend(way.map(|way| way.0));
                path.back.extend(way.map(|way| way.1));
                path.model = fields.get(17).and_then(|model| model.parse().ok().map(Nanos));
            }
            // Nor have they what was seen beside.
            if fields.len() > 24 {
                let late = |n: usize| fields.get(n).and_then(|time| time.parse().ok()).map(Nanos);
                // And later ones when more was asked for.
                let ask = |n: usize, turn: usize| {
                    let again = fields.get(turn + 1).into_iter().flat_map(|all| all.split(' '));
                    time(n).map(|after| Ask {
                        after,
                        locked: late(turn).unwrap_or_default(),
                        again: again.filter_map(|at| at.parse().ok().map(Nanos)).collect(),
                        choice: time(n + 1),
                    })
                };
                let asked = AskedAfter { inserted: ask(19, 27), completed: ask(21, 29), issued: ask(23, 31) };
                let (heard, follows) = (late(25), late(26));
                seen.push(Seen { tagged: time(18), asked: time(18).map(|_| asked), heard, follows });
            }
            records.push(TraceRecord {
                inserted: time(6),
                issue: time(7),
                completion: time(8),
                process: Some(ProcessId(number(11) as u32)),
                cpu: Some(number(12) as u16),
                flags: Flags::SYNC,
                merged: Some(fields[13] == "1"),
                ..TraceRecord::new(Nanos(number(5)), Op::Read, Lba(number(9)), Sectors(number(10) as u32))
            });
        }
        recordings
    }

    /// The table `IOPILOT_REQUESTS`, and the scheduler `IOPILOT_SCHEDULER`, which may have other tunables than it had.
    fn asked_for() -> Option<(String, SchedulerSpec)> {
        let Some(file) = std::env::var_os("IOPILOT_REQUESTS") else {
            eprintln!("skipped: IOPILOT_REQUESTS names no kernel-fidelity-requests.csv");
            return None;
        };
        let spec = std::env::var("IOPILOT_SCHEDULER").unwrap_or_else(|_| "bfq".to_owned());
        Some((std::fs::read_to_string(file).unwrap(), SchedulerSpec::parse(&spec).unwrap()))
    }

    /// Of the recordings in the table those under the scheduler: by how many percent a replay of them on the disk's model differs, cell by
    /// cell, with the standard error of that, and in which of them by more, and from where on.
    #[test]
    fn recorded_requests_are_served_again() {
        let Some((text, spec)) = asked_for() else { return };
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let setup = Setup { seed: SEED, quick: false, progress: &Progress::default() };
        let recordings = recordings_of(spec.name, &text);
        let replayable = recordings.iter().map(|read| Replayable::new(0, &read.recording).unwrap());
        let replayable: Vec<Replayable<'_>> = replayable.collect();
        let asked = |depth: u32| {
            let all = recordings.iter().zip(&replayable);
            Asked::by(all.filter(move |(read, _)| read.depth == depth).map(|(_, replayable)| replayable))
        };
        let served = recordings.par_iter().zip(&replayable).map(|(read, replayable)| {
            let machine = of_depth(&machine, read.depth);
            let config = RunConfig { outcomes: true, ..machine.run_config(&RunOptions::default()) };
            let rig = Rig {
                machine: &machine,
                scheduler: &spec,
                config: &config,
                across: None,
                asked: asked(read.depth),
                setup: &setup,
            };
            (replayable.figures(&rig).unwrap(), replayable.first_difference(&rig).unwrap())
        });
        let served: Vec<(Figures, Option<(usize, Nanos)>)> = served.collect();
        let both: Vec<_> =
            recordings.iter().zip(served).map(|(read, (figures, other))| (read, figures, other)).collect();
        let mut within = [0; 3];
        let mut cells = 0;
        for cell in both.chunk_by(|a, b| a.0.cell() == b.0.cell()) {
            cells += 1;
            print!("{}", cell[0].0.cell());
            let of: [Goal; 3] = [(|f| f.mean_ms, 5.0), (|f| f.mb_s, 5.0), (|f| f.p99_ms, 15.0)];
            for ((figure, goal), within) in of.into_iter().zip(&mut within) {
                let kernel: Vec<Figures> = cell.iter().map(|(read, ..)| Figures::of(&read.recording.records)).collect();
                let ours: Vec<Figures> = cell.iter().map(|(_, ours, _)| *ours).collect();
                let of = |all: &[Figures]| Figures::parts(all).iter().map(figure).collect::<Vec<_>>();
                let (kernel, ours) = (of(&kernel), of(&ours));
                let off: Vec<f64> = ours.iter().zip(&kernel).map(|(ours, kernel)| ours - kernel).collect();
                let ((off, _, error), kernel) = (mean_and_errors(&off), mean_and_errors(&kernel).0);
                print!(" {:+.1} ±{:.1}", 100.0 * off / kernel, 100.0 * error / kernel);
                *within += usize::from((100.0 * off / kernel).abs() <= goal);
            }
            println!();
            for (read, ours, other) in cell {
                let off = 100.0 * (ours.mean_ms / Figures::of(&read.recording.records).mean_ms - 1.0);
                if off.abs() > MUCH {
                    let from = other.map(|(n, at)| format!(" from request {n} on, at {} us", at.0 / 1000));
                    println!("  {} mean {off:+.1}{}", read.name, from.unwrap_or_default());
                }
            }
        }
        println!("within the goals: mean {}, throughput {}, p99 {} of {cells}", within[0], within[1], within[2]);
        assert!(cells > 0, "no recording under {}", spec.name);
    }

    /// The cells of `plan` under each scheduler, with their recordings in `table`.
    fn measured_of(plan: &Plan, table: &str) -> Vec<Measured> {
        let cells: Vec<Cell> = plan.depths.iter().flat_map(|&depth| plan.cells(depth)).collect();
        let mut measured: Vec<Measured> = (cells.iter())
            .flat_map(|&cell| {
                (0..SCHEDULERS.len()).map(move |scheduler| Measured { cell, scheduler, recordings: Vec::new() })
            })
            .collect();
        for (scheduler, name) in SCHEDULERS.iter().enumerate() {
            for read in recordings_of(name, table) {
                let of = |m: &&mut Measured| {
                    let Cell { pattern, processes, depth } = m.cell;
                    m.scheduler == scheduler && read.cell() == format!("{pattern},{processes},{depth},{name}")
                };
                let measured = measured.iter_mut().find(of).expect("a cell of the experiment");
                measured.recordings.push(read.recording);
            }
        }
        measured
    }

    /// All recordings in the table: what the experiment says of them, but for the choices.
    #[test]
    fn recorded_requests_are_judged_again() {
        judge_again(predict::Question::NoPicks);
    }

    /// The same, where of a foreseen cell's own recordings nothing is given.
    #[test]
    fn recorded_requests_are_foreseen_by_other_patterns() {
        judge_again(predict::Question::OfOtherPatterns);
    }

    fn judge_again(question: predict::Question) {
        let Some((table, _)) = asked_for() else { return };
        let plan = Plan::new(false);
        let setup = Setup { seed: SEED, quick: false, progress: &Progress::default() };
        let measured = measured_of(&plan, &table);
        let predicted = predict::all(&plan, &measured, question, &setup).unwrap();
        let outcome = judge::outcome(&plan, &measured, &predicted);
        print!("{}", text(&EXPERIMENT, &outcome, Terminal { width: 400, colour: false }));
    }

    /// All recordings in the table: by how many percent mean and throughput are off, with the standard errors of that, where each scheduler is
    /// foreseen from its own.
    #[test]
    fn recorded_requests_are_foreseen_of_themselves() {
        let Some((table, _)) = asked_for() else { return };
        let plan = Plan::new(false);
        let setup = Setup { seed: SEED, quick: false, progress: &Progress::default() };
        let measured = measured_of(&plan, &table);
        let predicted = predict::all(&plan, &measured, predict::Question::OfItself, &setup).unwrap();
        for (m, predicted) in measured.iter().zip(&predicted) {
            let Cell { pattern, processes, depth } = m.cell;
            print!("{pattern},{processes},{depth},{}", SCHEDULERS[m.scheduler]);
            let (kernel, ours) = (m.figures(), &predicted.under[m.scheduler]);
            for figure in [|f: &Figures| f.mean_ms, |f: &Figures| f.mb_s] {
                let of = |all: &[Figures]| Figures::parts(all).iter().map(figure).collect::<Vec<_>>();
                let (kernel, ours) = (mean_and_errors(&of(&kernel)), mean_and_errors(&of(ours)));
                print!(" {:+.1} ±{:.1}", 100.0 * (ours.0 / kernel.0 - 1.0), 100.0 * ours.2.hypot(kernel.2) / kernel.0);
            }
            println!();
        }
    }

    /// Of the recordings in the table those under the scheduler: how many choices are the kernel's.
    #[test]
    fn recorded_requests_are_picked_again() {
        let Some((text, spec)) = asked_for() else { return };
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let recordings = recordings_of(spec.name, &text);
        let mut all = Picks::default();
        for Read { name, depth, recording } in recordings {
            let Recording { records, origin, .. } = recording;
            let picks = picks(&records, origin, &spec, &of_depth(&machine, depth), depth).unwrap();
            if picks.percent() < 99.0 {
                println!("{name}: {} of {}", picks.same, picks.all);
            }
            all = [all, picks].into_iter().sum();
        }
        println!("{} of {}, {:.2} %", all.same, all.all, all.percent());
        assert!(all.all > 0, "no recording under {}", spec.name);
    }

    /// The recordings under `none` in the table in which tasks raced for tags: with which chances, by how restless the machine was and how
    /// long it had rested.
    #[test]
    fn recorded_requests_are_raced_again() {
        let Some((text, _)) = asked_for() else { return };
        let mut told: BTreeMap<(u32, u32), Vec<Told>> = BTreeMap::new();
        let mut followed: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for read in recordings_of("none", &text) {
            let tasks: u32 = read.cell().split(',').nth(1).and_then(|tasks| tasks.parse().ok()).unwrap();
            if tasks > read.depth {
                let one = Told::by(&read.recording.records);
                let [is_followed, all] = followed.entry(read.cell().to_owned()).or_default();
                (*is_followed, *all) = (*is_followed + usize::from(one.is_followed()), *all + 1);
                told.entry((tasks, read.depth)).or_default().push(one);
            }
        }
        assert!(!told.is_empty(), "no recording under none in which tasks race");
        followed.iter().for_each(|(cell, [followed, all])| println!("{cell}: {followed} of {all} recordings followed"));
        for ((tasks, tags), told) in told {
            for (from, [all, followed], mood) in Moods::of(&told).table(&told) {
                println!(
                    "{tasks} tasks, {tags} tags, {:.1} % or more elsewhere: {followed} of {all} recordings followed, {:.3?}",
                    100.0 * from,
                    mood.moves
                );
                mood.odds.iter().for_each(|odds| println!("  {odds:.2?}"));
            }
        }
    }
}
