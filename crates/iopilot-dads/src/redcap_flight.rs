//! `adaptive`: a REDCAP cache that is turned on and off by trials in virtual time, as the autopilot changes schedulers
//! (GF ch. 5).

use crate::redcap_pilot::RedcapPilot;
use iopilot_block::{Nanos, Op};
use iopilot_device::Device;
use iopilot_redcap::Algorithm;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{
    CheckReport, Machine, Progress, RunOptions, RunReport, Session, SimError, begin, simulate as simulate_alone,
};
use iopilot_workload::{Source, Workload};

/// The longest window.
const LONGEST: Nanos = Nanos::from_secs(2);
/// The shortest window, and the requests that it then needs. Under load, a harmful setting thus ends soon.
const SHORTEST: Nanos = Nanos::from_millis(250);
const ENOUGH: usize = 64;
/// The time between two looks at the window.
const LOOK: Nanos = Nanos::from_millis(50);

/// Whether a window of this length and this many requests is over, and to be decided on.
pub fn is_window_over(length: Nanos, requests: usize) -> bool {
    length >= LONGEST || length >= SHORTEST && requests >= ENOUGH
}

/// Runs `session` to its end. The pilot turns its cache on and off. The session must not have begun and must keep its
/// log ([`iopilot_sim::RunConfig::log`]).
///
/// # Errors
/// Where the run gets stuck.
pub fn fly_redcap<S, D, M>(mut session: Session<S, D>, mut pilot: RedcapPilot<M>) -> Result<RunReport, SimError>
where
    S: Source,
    D: Device,
    M: Device + Clone + Send + Sync,
{
    let (mut checks, mut reads, mut window) = (Vec::new(), 0, Vec::new());
    let (mut began, mut now) = (Nanos::ZERO, LOOK);
    session.set_redcap_active(false, Nanos::ZERO);
    while session.run_until(now)? {
        window.append(&mut session.take_completed());
        if !is_window_over(now.since(began), window.len()) {
            now += LOOK;
            continue;
        }
        began = now;
        window.sort_by_key(|record| record.arrival);
        reads += window.iter().filter(|record| record.op == Op::Read).count() as u64;
        let active = pilot.setting().active;
        if let Some(check) = pilot.check(&window, session.outstanding())? {
            let setting = &check.setting;
            checks.push(CheckReport {
                time_s: now.as_secs_f64(),
                reads,
                with_cache_ms: 1e3 * check.with_s,
                without_cache_ms: 1e3 * check.without_s,
                active: [active, setting.active],
                off_percent: 100.0 * setting.regions.off_share(),
                geometry: setting.geometry,
            });
            if check.changes {
                session.set_redcap_geometry(setting.geometry, now)?;
                session.set_redcap_off_regions(&setting.regions.off(), now);
                session.set_redcap_active(setting.active, now);
            }
        }
        window.clear();
        now += LOOK;
    }
    let (mut report, _) = session.finish();
    if let Some(redcap) = &mut report.redcap {
        redcap.checks = checks;
    }
    Ok(report)
}

/// As [`iopilot_sim::simulate`], but also for a machine whose cache has the algorithm `adaptive`. Its trials run on the
/// machine's own device.
///
/// # Errors
/// As [`iopilot_sim::simulate`].
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    let Some(spec) = machine.redcap.as_ref().filter(|spec| spec.algorithm == Algorithm::Adaptive) else {
        return simulate_alone(machine, workload, scheduler, options, progress);
    };
    let config = machine.run_config(&RunOptions { log: true, ..options.clone() });
    let pilot = RedcapPilot::new(spec, machine.device(), scheduler, &config, machine.capacity());
    let report = fly_redcap(begin(machine, workload, scheduler, &config)?, pilot)?;
    progress.add(report.requests);
    options.warm_up.map_or(Ok(()), |warm_up| warm_up.check(report.requests))?;
    Ok(report)
}
