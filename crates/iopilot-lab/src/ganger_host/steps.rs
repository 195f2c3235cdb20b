//! The error of a task's elapsed time in four steps. Each step replaces what was measured in 1995 with a module of
//! ours.

use super::tables::{BUFFER_HITS, MEASURED};
use super::{Bench, Figures, ResultTable, Runs, TASKS, change};
use anyhow::Context;
use iopilot_block::{Nanos, Op};
use iopilot_device::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Progress, RunOptions, RunReport, run};
use rayon::prelude::*;

const STEPS: [&str; 4] = ["CPU", "page cache", "layout and queue", "disk"];

/// A device whose accesses all take the mean of the measured ones, one at a time. The disk's buffer serves as large a
/// share of the reads, evenly spread, because hits and misses interrupt differently.
#[derive(Clone, Debug)]
struct MeanAccess {
    capacity: u64,
    access: Nanos,
    /// `hits` of this many reads are hits.
    reads: u64,
    hits: u64,
    /// Reads so far.
    read: u64,
    under_way: Option<Completion>,
}

impl Device for MeanAccess {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        let mut service = ServiceBreakdown { overhead: self.access, ..ServiceBreakdown::default() };
        if request.op == Op::Read {
            let hits = |reads: u64| reads * self.hits / self.reads;
            service.cache_hit = hits(self.read + 1) > hits(self.read);
            self.read += 1;
        }
        self.under_way = Some(Completion { id: request.id, at: now + self.access, service });
    }

    fn next_event(&self) -> Option<Nanos> {
        self.under_way.map(|completion| completion.at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        out.extend(self.under_way.take_if(|completion| completion.at <= now));
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn queue_depth(&self) -> u32 {
        1
    }
}

/// Runs a task on a disk whose accesses all take `access_ms`.
fn above_mean_access(bench: &Bench, name: &str, access_ms: f64) -> anyhow::Result<RunReport> {
    let (_, reads, hits) = BUFFER_HITS.into_iter().find(|(task, ..)| *task == name).context("each task")?;
    let capacity = bench.machine.capacity();
    let access = Nanos::from_millis_f64(access_ms);
    let device = MeanAccess { capacity, access, reads, hits, read: 0, under_way: None };
    let workload = bench.workload(name)?;
    let source = workload.source(capacity, bench.machine.processes().as_ref(), bench.seed)?;
    let config = bench.machine.run_config(&RunOptions { seed: bench.seed, ..RunOptions::default() });
    Ok(run(source, device, &SchedulerSpec::parse("clook")?, &config, &Progress::default())?)
}

/// Elapsed seconds after each of the steps.
fn steps(bench: &Bench, runs: &Runs, name: &str, measured: &[f64; 8]) -> anyhow::Result<[f64; 4]> {
    let &[_, _, _, _, waits, wait_ms, access_ms, _] = measured;
    let ours = Figures::of(runs.of(name, "clook")?)?;
    // The time that the task computes or is interrupted.
    let awake_s = ours.elapsed_s - ours.io_wait_s;
    let of_waits = |count: f64| awake_s + count * wait_ms / 1e3;
    let queue = Figures::of(&above_mean_access(bench, name, access_ms)?)?;
    Ok([of_waits(waits), of_waits(ours.io_waits), queue.elapsed_s, ours.elapsed_s])
}

/// The errors under C-LOOK.
pub(super) fn table(bench: &Bench, runs: &Runs) -> anyhow::Result<ResultTable> {
    let mut table = ResultTable::new(
        "steps",
        "Tables 5.4 to 5.7 under C-LOOK: the error of elapsed time, as modules of ours replace measurements one by \
         one: the CPU with the waits of 1995; the number of waits of the page cache, each as long as in 1995; layout \
         and queue, each access as long as then; its disk",
        &["task", "with_our", "elapsed_s", "measured_s", "error_percent", "change_points"],
    );
    let each = MEASURED.par_iter().map(|(name, measured)| steps(bench, runs, name, measured));
    let all = each.collect::<anyhow::Result<Vec<_>>>()?;
    debug_assert_eq!(all.len(), TASKS.len());
    for ((name, measured), elapsed) in MEASURED.iter().zip(all) {
        let mut before = 0.0;
        for (step, elapsed_s) in STEPS.into_iter().zip(elapsed) {
            let error = change(elapsed_s, measured[0]);
            let cells = [elapsed_s, measured[0], error, error - before];
            table.row([(*name).into(), step.into()].into_iter().chain(cells.map(Into::into)).collect());
            before = error;
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Flags, Lba, RequestId, Sectors};

    #[test]
    fn every_access_takes_the_mean_and_hits_have_their_share() {
        let access = Nanos::from_millis(6);
        let mut disk = MeanAccess { capacity: 1000, access, reads: 4, hits: 3, read: 0, under_way: None };
        let mut hits = Vec::new();
        for i in 0..8u64 {
            let (id, now) = (RequestId::from_index(0), Nanos::from_millis(100 * i));
            let op = if i == 5 { Op::Write } else { Op::Read };
            disk.submit(DeviceRequest { id, op, lba: Lba(0), sectors: Sectors(8), flags: Flags::empty() }, now);
            let (mut early, mut done) = (Vec::new(), Vec::new());
            disk.advance(now, &mut early);
            disk.advance(now + access, &mut done);
            assert_eq!((early.len(), done.len(), done[0].at), (0, 1, now + access));
            hits.push(u8::from(done[0].service.cache_hit));
        }
        assert_eq!(hits, [0, 1, 1, 1, 0, 0, 1, 1]);
    }
}
