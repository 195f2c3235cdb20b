//! The table of all requests that were recorded.

use super::measure::Measured;
use super::{Cell, SCHEDULERS};
use iopilot_block::{Lba, Nanos};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Every request that was recorded, for those who want to look closer. Times count from the first of a recording, which `began_ns`
/// tells on the kernel's monotonic clock; `there_ns` and `back_ns` are how long it was on its way to the disk's model and back.
pub(super) fn table(measured: &[Measured]) -> String {
    let mut text = String::from(
        "pattern,processes,depth,scheduler,recording,arrived_ns,inserted_ns,issued_ns,completed_ns,lba,sectors,process,cpu,merged,\
         began_ns,there_ns,back_ns\n",
    );
    for m in measured {
        let Cell { pattern, processes, depth } = m.cell;
        for (n, recording) in m.recordings.iter().enumerate() {
            let path: HashMap<Lba, (Nanos, Nanos)> = recording.path.of.iter().copied().collect();
            for r in &recording.records {
                let time = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.0.to_string());
                let way = path.get(&r.lba);
                let _ = writeln!(
                    text,
                    "{pattern},{processes},{depth},{},{n},{},{},{},{},{},{},{},{},{},{},{},{}",
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
                    time(way.map(|(there, _)| *there)),
                    time(way.map(|(_, back)| *back)),
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::picks::{Picks, picks};
    use super::super::predict::of_depth;
    use super::*;
    use iopilot_block::{Flags, Lba, Op, ProcessId, Sectors};
    use iopilot_sched::SchedulerSpec;
    use iopilot_sim::Machine;
    use iopilot_trace::TraceRecord;

    /// A recording as the table has it.
    struct Read {
        name: String,
        depth: u32,
        origin: Nanos,
        records: Vec<TraceRecord>,
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
                recordings.push(Read { name, depth, origin, records: Vec::new() });
            }
            let records = &mut recordings.last_mut().expect("one at least").records;
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

    /// Of the recordings in the table `IOPILOT_REQUESTS` those under the scheduler of `IOPILOT_SCHEDULER`, which may have other
    /// tunables than it had: how many choices are the kernel's.
    #[test]
    fn recorded_requests_are_picked_again() {
        let Some(file) = std::env::var_os("IOPILOT_REQUESTS") else {
            eprintln!("skipped: IOPILOT_REQUESTS names no kernel-fidelity-requests.csv");
            return;
        };
        let spec = std::env::var("IOPILOT_SCHEDULER").unwrap_or_else(|_| "bfq".to_owned());
        let spec = SchedulerSpec::parse(&spec).unwrap();
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let recordings = recordings_of(spec.name, &std::fs::read_to_string(file).unwrap());
        let mut all = Picks::default();
        for Read { name, depth, origin, records } in recordings {
            let picks = picks(&records, origin, &spec, &of_depth(&machine, depth), depth).unwrap();
            if picks.percent() < 99.0 {
                println!("{name}: {} of {}", picks.same, picks.all);
            }
            all = [all, picks].into_iter().sum();
        }
        println!("{} of {}, {:.2} %", all.same, all.all, all.percent());
        assert!(all.all > 0, "no recording under {}", spec.name);
    }
}
