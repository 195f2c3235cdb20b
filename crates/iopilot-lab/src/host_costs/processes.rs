//! Switches between two threads on one CPU, and starting processes.

use super::{Extent, median};
use anyhow::Context as _;
use rustix::fd::OwnedFd;
use rustix::io;
use rustix::pipe::pipe as make_pipe;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// Bytes that each thread reads, which evicts the other thread's from the caches next to the CPU.
const WORKING_SET: usize = 256 << 10;
/// The share of yields that must have been a switch.
const CHANGED: f64 = 0.2;

/// The costs of a switch from one thread to the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch {
    pub(super) us: f64,
    /// The time to read again what was in the CPU's caches before the other thread ran.
    pub(super) refill_us: f64,
}

/// The time of a byte into a pipe and out of it by one thread, us.
pub(super) fn pipe(extent: &Extent) -> anyhow::Result<f64> {
    let (reader, writer) = make_pipe().context("making a pipe")?;
    let mut wrong = Ok(());
    let us = median(extent.batches, || {
        let began = Instant::now();
        for _ in 0..extent.calls {
            if let Err(error) = pass(&writer).and_then(|()| take(&reader)) {
                wrong = Err(error);
            }
        }
        began.elapsed().as_secs_f64() * 1e6 / f64::from(extent.calls)
    });
    wrong.context("using a pipe")?;
    Ok(us)
}

fn pass(writer: &OwnedFd) -> io::Result<()> {
    io::retry_on_intr(|| io::write(writer, &[0])).map(drop)
}

fn take(reader: &OwnedFd) -> io::Result<()> {
    let mut byte = [0];
    io::retry_on_intr(|| io::read(reader, &mut byte[..])).map(drop)
}

/// The time from one thread to another that waits for a byte, without the pipe's own, us. Both are on one CPU.
pub(super) fn hand_over(extent: &Extent, pipe_us: f64) -> anyhow::Result<f64> {
    let (there_reader, there) = make_pipe().context("making a pipe")?;
    let (back_reader, back) = make_pipe().context("making a pipe")?;
    let rounds = u64::from(extent.calls) * extent.batches as u64;
    let us = thread::scope(|scope| -> io::Result<f64> {
        let other = scope.spawn(move || (0..rounds).try_for_each(|_| take(&there_reader).and_then(|()| pass(&back))));
        let mut wrong = Ok(());
        let us = median(extent.batches, || {
            let began = Instant::now();
            for _ in 0..extent.calls {
                if wrong.is_ok() {
                    wrong = pass(&there).and_then(|()| take(&back_reader));
                }
            }
            began.elapsed().as_secs_f64() * 1e6 / f64::from(2 * extent.calls)
        });
        // The other thread ends with its pipe, even after an error.
        drop(there);
        let ended = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        wrong.and(ended).map(|()| us)
    });
    Ok((us.context("using pipes")? - pipe_us).max(0.0))
}

/// The time of a switch from one thread to another that can run; `None` if yielding does not switch.
pub(super) fn switch(extent: &Extent, syscall_us: f64) -> anyhow::Result<Option<Switch>> {
    let small = yields(extent, 0)?;
    let large = yields(extent, WORKING_SET)?;
    let mut set = WorkingSet::new(WORKING_SET);
    let hot = median(extent.batches, || {
        let began = Instant::now();
        (0..100).for_each(|_| set.read());
        began.elapsed().as_secs_f64() * 1e6 / 100.0
    });
    let (Some(small), Some(large)) = (small, large) else { return Ok(None) };
    let us = (small.us_each - syscall_us / small.changed).max(0.0);
    let refill_us = (large.us_each - small.us_each - hot / large.changed).max(0.0);
    Ok(Some(Switch { us, refill_us }))
}

/// Two threads that yield to each other.
struct Yields {
    /// The time of a switch, us.
    us_each: f64,
    /// Switches per yield.
    changed: f64,
}

/// Two threads yield to each other on this CPU, and each reads `bytes` of its own in between.
fn yields(extent: &Extent, bytes: usize) -> anyhow::Result<Option<Yields>> {
    let calls = extent.calls / if bytes > 0 { 10 } else { 1 };
    let work = || -> anyhow::Result<u64> {
        let mut set = WorkingSet::new(bytes);
        let before = changes()?;
        for _ in 0..calls {
            rustix::thread::sched_yield();
            set.read();
        }
        Ok(changes()? - before)
    };
    let mut all = Vec::new();
    let mut changed = Vec::new();
    for _ in 0..extent.batches {
        let began = Instant::now();
        let both = thread::scope(|scope| {
            let threads = [scope.spawn(work), scope.spawn(work)];
            threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let us = began.elapsed().as_secs_f64() * 1e6;
        let mut count = 0;
        for changes in both {
            count += changes?;
        }
        changed.push(count as f64 / f64::from(2 * calls));
        all.push(us / count.max(1) as f64);
    }
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (us_each, changed) = (middle(all), middle(changed));
    Ok((changed >= CHANGED).then_some(Yields { us_each, changed }))
}

/// How often another thread got the CPU in place of this one.
fn changes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").context("reading /proc/thread-self/status")?;
    let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
    counts.map(|(_, count)| count.trim().parse::<u64>().context("a count in /proc/thread-self/status")).sum()
}

/// Memory that a thread reads, one word in each cache line.
struct WorkingSet(Vec<u64>);

impl WorkingSet {
    fn new(bytes: usize) -> Self {
        Self(vec![1; bytes / 8])
    }

    fn read(&mut self) {
        black_box(self.0.iter().step_by(8).sum::<u64>());
    }
}

/// The time from the start of an empty process by a shell to where the shell goes on, us; `None` without a shell.
pub(super) fn fork(extent: &Extent) -> anyhow::Result<Option<f64>> {
    let mut failed = false;
    let mut shell = |body: &str| {
        median(extent.batches.div_ceil(3), || {
            let script = format!("i=0; while [ $i -lt {} ]; do {body} i=$((i+1)); done", extent.forks);
            let began = Instant::now();
            let ended = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).status();
            failed |= !ended.is_ok_and(|status| status.success());
            began.elapsed().as_secs_f64() * 1e6 / f64::from(extent.forks)
        })
    };
    let (with, without) = (shell("( : );"), shell(":;"));
    Ok((!failed).then_some((with - without).max(0.0)))
}
