//! [`oracle`]: a greedy estimate of the best that choosing a scheduler once an interval can achieve.

use crate::adaptive_cache::begin;
use iopilot_block::{InputError, Nanos};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunOptions, RunReport, SimError};
use iopilot_workload::Workload;
use rayon::prelude::*;
use std::cmp::Reverse;

/// Runs `workload` with foresight. At the start of each interval every candidate is tried from the exact state of that
/// moment. The candidate that completes the most requests in the interval is kept; ties go to the one whose requests
/// waited least. Changes take no time except for draining. The method is greedy, so it gives no bound: the best choice
/// for an interval need not be the best for the whole run. Returns the report and the scheduler of each interval.
///
/// # Errors
/// Where a setting is not accepted, the workload does not fit the disk, or a run gets stuck.
pub fn oracle(
    machine: &Machine,
    workload: &Workload,
    candidates: &[SchedulerSpec],
    interval: Nanos,
    seed: u64,
) -> Result<(RunReport, Vec<String>), SimError> {
    let mut config = machine.run_config(&RunOptions { seed, log: true, ..RunOptions::default() });
    config.host.switch_us = 0.0;
    let mut choices = Vec::new();
    let mut now = Nanos::ZERO;
    // Before the first interval nothing has to be drained.
    let mut starts = Vec::new();
    for candidate in candidates {
        starts.push(begin(machine, workload, candidate, &config)?);
    }
    loop {
        now += interval;
        let tried: Vec<Result<_, SimError>> = starts
            .into_par_iter()
            .map(|mut session| {
                let going = session.run_until(now)?;
                let waited: u64 =
                    session.take_log().iter().filter_map(|r| Some(r.completion?.since(r.arrival).0)).sum();
                let ended = if going { Nanos::MAX } else { session.now() };
                Ok(((ended, Reverse(session.completed()), waited), session, going))
            })
            .collect();
        let tried = tried.into_iter().collect::<Result<Vec<_>, _>>()?;
        // The first wins a tie.
        let best = tried.into_iter().reduce(|a, b| if b.0 < a.0 { b } else { a });
        let Some((_, session, going)) = best else {
            return Err(InputError::new("candidates", "", "at least one scheduler").into());
        };
        choices.push(session.scheduler().to_string());
        if !going {
            let (mut report, _) = session.finish();
            report.scheduler = "oracle".to_owned();
            return Ok((report, choices));
        }
        starts = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let mut start = session.clone();
            if candidate != session.scheduler() {
                start.switch(candidate, now)?;
            }
            starts.push(start);
        }
    }
}
