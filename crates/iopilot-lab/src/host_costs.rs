//! `host-costs`: the costs of the kernel's work on the machine that this runs on, as `[host.costs]` of a machine file.
//!
//! Small loops that each repeat one operation of the kernel, as in lmbench (McVoy and Staelin, USENIX 1996). The
//! experiment needs no root and touches no disk: interrupts of a disk and requests into its driver keep the preset's
//! costs.

mod calls;
mod clock;
mod processes;

use super::{Claim, Experiment, Outcome, ResultTable, Setup};
use anyhow::Context as _;
use iopilot_host::{Costs, Preset};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fmt::Write as _;
use std::thread;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "host-costs",
    source: "the project's goals",
    title: "what the kernel's work costs on this machine: the costs of a host",
    run,
};

/// A cost may differ from the preset's by this factor, either way.
const FACTOR: f64 = 3.0;
/// A smaller difference does not count, us: clocks are no finer.
const FINEST_US: f64 = 0.05;

/// A measured cost in microseconds; `None` if it could not be measured.
struct Cost {
    key: &'static str,
    us: Option<f64>,
    preset_us: f64,
    how: &'static str,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Extent {
    /// How often each loop is run. The median is taken.
    batches: usize,
    /// Calls of a loop.
    calls: u32,
    /// Processes that are started in a loop.
    forks: u32,
    /// How long the clock is watched, s.
    watch_s: f64,
}

impl Extent {
    fn new(quick: bool) -> Self {
        match quick {
            false => Self { batches: 15, calls: 20_000, forks: 500, watch_s: 3.0 },
            true => Self { batches: 3, calls: 2_000, forks: 50, watch_s: 0.3 },
        }
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let extent = Extent::new(setup.quick);
    let measured = thread::scope(|scope| scope.spawn(|| measure(&extent)).join());
    let (costs, hz) = measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let title = "Costs on this machine, and those of the preset `today`, in microseconds";
    let mut table = ResultTable::new("costs", title, &["key", "measured_us", "preset_us", "how"]);
    for cost in &costs {
        let measured = cost.us.map_or_else(|| "not measured".into(), Into::into);
        table.row(vec![cost.key.into(), measured, cost.preset_us.into(), cost.how.into()]);
    }
    let far: Vec<String> = costs.iter().filter_map(far_off).collect();
    let claim = Claim::new(
        "goal",
        "the preset `today` is right for this machine",
        format!("each cost within {FACTOR} times"),
        if far.is_empty() { "all are".to_owned() } else { format!("not {}", far.join(", ")) },
        far.is_empty(),
        "machines differ: take the table that this prints instead",
    );
    let text = toml(&costs, hz);
    let mut notes: Vec<String> = text.lines().map(str::to_owned).collect();
    notes.push("Requests and interrupts of a disk are not measured: they keep the preset's costs.".to_owned());
    Ok(Outcome { tables: vec![table], claims: vec![claim], notes, files: vec![("host-costs.toml".to_owned(), text)] })
}

/// Measures all costs on one CPU, and the rate of clock interrupts, if it could be seen.
fn measure(extent: &Extent) -> anyhow::Result<(Vec<Cost>, Option<u32>)> {
    stay_on_one_cpu()?;
    let preset = Costs::of(Preset::Today);
    let ticks = clock::watch(extent.watch_s);
    let syscall = calls::syscall(extent);
    let copy = calls::copy_per_kib(extent, syscall)?;
    let lookup = calls::lookup(extent)?;
    let pipe = processes::pipe(extent)?;
    let switch = processes::switch(extent, syscall)?;
    // The time from one thread to the other through a pipe, without the pipe's own: blocking, waking and the switch.
    let around = switch.map(|switch| processes::hand_over(extent, pipe).map(|all| (all - switch.us).max(0.0) / 2.0));
    let around = around.transpose()?;
    let fork = processes::fork(extent)?;
    let changes = 2.0 * switch.map_or(preset.switch_us, |switch| switch.us) + 2.0 * around.unwrap_or(preset.block_us);
    let start_and_end = fork.map(|us| (us - changes).max(0.0) / 2.0);
    let cost = |key, us: Option<f64>, preset_us, how| Cost { key, us, preset_us, how };
    let costs = vec![
        cost("tick_us", ticks.map(|ticks| ticks.us), preset.tick_us, "gaps of a busy loop, at the clock's rate"),
        cost("syscall_us", Some(syscall), preset.syscall_us, "getppid"),
        cost(
            "copy_us_per_kib",
            Some(copy),
            preset.copy_us_per_kib,
            "64 KiB of a file in the page cache, less the call",
        ),
        cost("lookup_us", Some(lookup), preset.lookup_us, "stat of a deep path less that of a short one"),
        cost("switch_us", switch.map(|s| s.us), preset.switch_us, "sched_yield of two threads, less the call"),
        cost("block_us", around, preset.block_us, "half of a hand-over by pipes, less pipe and switch"),
        cost("wake_us", around, preset.wake_us, "the other half"),
        cost(
            "refill_us",
            switch.map(|s| s.refill_us),
            preset.refill_us,
            "256 KiB read after the other thread has read its own",
        ),
        cost("fork_us", start_and_end, preset.fork_us, "half of a subshell that does nothing, less its switches"),
        cost("exit_us", start_and_end, preset.exit_us, "the other half"),
    ];
    Ok((costs, ticks.map(|ticks| ticks.hz)))
}

/// Keeps this thread and its children on the last CPU that it may use, because the first gets most interrupts.
fn stay_on_one_cpu() -> anyhow::Result<()> {
    let allowed = sched_getaffinity(None).context("asking for the CPUs")?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)).context("no CPU")?;
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).context("staying on a CPU")
}

/// The median of what `work` returns in each batch.
fn median(batches: usize, mut work: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..batches.max(1)).map(|_| work()).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// A cost that is far from the preset's, as text.
fn far_off(cost: &Cost) -> Option<String> {
    let us = cost.us?;
    let is_near = us <= FACTOR * cost.preset_us + FINEST_US && FACTOR * us + FINEST_US >= cost.preset_us;
    (!is_near).then(|| format!("{} {us:.2} instead of {}", cost.key, cost.preset_us))
}

/// The measured costs as a table of a machine.
fn toml(costs: &[Cost], hz: Option<u32>) -> String {
    let mut text = "[host]\npreset = \"today\"\n\n[host.costs]\n".to_owned();
    if let Some(hz) = hz {
        let _ = writeln!(text, "hz = {hz}");
    }
    for (key, us) in costs.iter().filter_map(|cost| Some((cost.key, cost.us?))) {
        let _ = writeln!(text, "{key} = {us:.3}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_host::CostSettings;

    fn costs() -> Vec<Cost> {
        let of = |key, us, preset_us| Cost { key, us, preset_us, how: "" };
        vec![of("switch_us", Some(4.0), 1.5), of("syscall_us", Some(0.6), 0.15), of("tick_us", None, 2.0)]
    }

    #[test]
    fn what_is_printed_is_a_table_that_a_machine_takes() {
        let text = toml(&costs(), Some(250));
        let (_, table) = text.split_once("[host.costs]\n").unwrap();
        let settings: CostSettings = toml::from_str(table).unwrap();
        let taken = Costs::of(Preset::Today).with(&settings).unwrap();
        let preset = Costs::of(Preset::Today);
        assert_eq!((taken.switch_us, taken.syscall_us, taken.tick_us, taken.hz), (4.0, 0.6, preset.tick_us, 250));
    }

    #[test]
    fn a_cost_is_far_off_beyond_three_times_either_way() {
        let far: Vec<String> = costs().iter().filter_map(far_off).collect();
        assert_eq!(far, ["syscall_us 0.60 instead of 0.15"]);
        let slow = Cost { key: "exit_us", us: Some(1.0), preset_us: 60.0, how: "" };
        assert_eq!(far_off(&slow).unwrap(), "exit_us 1.00 instead of 60");
    }

    #[test]
    fn each_loop_costs_something_here() {
        let extent = Extent { batches: 1, calls: 200, forks: 3, watch_s: 0.01 };
        let measured = thread::scope(|scope| scope.spawn(|| measure(&extent)).join()).unwrap();
        let (costs, _) = measured.unwrap();
        let of = |key| costs.iter().find(|cost| cost.key == key).and_then(|cost| cost.us);
        assert!(of("syscall_us").unwrap() > 0.0 && of("lookup_us").unwrap() >= 0.0);
        assert!(costs.iter().filter_map(|cost| cost.us).all(|us| us.is_finite() && us < 1e6));
    }
}
