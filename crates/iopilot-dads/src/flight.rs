//! [`fly`]: the autopilot on a simulated disk, in virtual time.

use crate::adaptive_cache::begin;
use crate::check::SchedulerCheck;
use crate::pilot::{Pilot, PilotConfig};
use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_sim::{Machine, RunOptions, RunReport, Session, SimError};
use iopilot_workload::Source;
use iopilot_workload::Workload;

/// The settings of a flight.
#[derive(Clone, Debug)]
pub struct FlightPlan {
    /// The settings of the pilot.
    pub pilot: PilotConfig,
    /// The time from one check to the next.
    pub interval: Nanos,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result of a flight.
#[derive(Clone, Debug)]
pub struct FlightResult {
    /// Every check, in order.
    pub checks: Vec<SchedulerCheck>,
    /// The total time of all changes of scheduler, draining included.
    pub changing: Nanos,
    /// The results of the run, with the pilot in control.
    pub report: RunReport,
}

/// Runs `workload` on `machine` with the autopilot. After each interval the autopilot tries its candidates on the
/// requests that completed in it, and changes the scheduler if that pays. The model is the machine's own device. A
/// cache above the block layer turns itself on and off; trials use it in its present state. `on_check` gets each check
/// as it is made.
///
/// # Errors
/// Where the plan or the workload do not fit the machine, a run gets stuck, or `on_check` fails.
pub fn fly<E: From<SimError>>(
    machine: &Machine,
    workload: &Workload,
    plan: &FlightPlan,
    on_check: impl FnMut(&SchedulerCheck) -> Result<(), E>,
) -> Result<FlightResult, E> {
    let config = machine.run_config(&RunOptions { seed: plan.seed, log: true, ..RunOptions::default() });
    let pilot = Pilot::new(plan.pilot.clone(), machine.device(), &config).map_err(SimError::from)?;
    let session = begin(machine, workload, pilot.current(), &config)?;
    fly_session(session, pilot, plan.interval, |_, _| (), on_check)
}

/// Runs `session` with the autopilot. The session must not have begun, must keep its log
/// ([`iopilot_sim::RunConfig::log`]) and must use the pilot's scheduler. Before each check `learn` gets the device and
/// the model that candidates are tried on, so that the model can learn from the device. `on_check` gets each check as
/// it is made.
///
/// # Errors
/// Where the run gets stuck, or `on_check` fails.
pub fn fly_session<S, D, M, E>(
    mut session: Session<S, D>,
    mut pilot: Pilot<M>,
    interval: Nanos,
    mut learn: impl FnMut(&mut D, &mut M),
    mut on_check: impl FnMut(&SchedulerCheck) -> Result<(), E>,
) -> Result<FlightResult, E>
where
    S: Source,
    D: Device,
    M: Device + Clone + Send + Sync,
    E: From<SimError>,
{
    let (mut checks, mut window, mut changing, mut pending) = (Vec::new(), Vec::new(), Nanos::ZERO, 0);
    let mut now = interval;
    while session.run_until(now)? {
        window.append(&mut session.take_completed());
        learn(session.device_mut(), pilot.model_mut());
        if let Some(took) = session.take_changed() {
            if !checks.last().is_some_and(SchedulerCheck::renews) {
                pilot.changed(pending, took);
            }
            changing += took;
        }
        // Requests that complete during a change say nothing about either scheduler.
        if !session.is_switching() {
            window.sort_by_key(|record| record.arrival);
            pilot.tell_redcap_active(session.is_redcap_active());
            pilot.tell_lateness(session.lateness());
            let check = pilot.check(&window, session.outstanding(), now)?;
            on_check(&check)?;
            window.clear();
            if check.acts() {
                pending = session.outstanding();
                match check.renews() {
                    true => session.renew(now)?,
                    false => session.switch(pilot.current(), now)?,
                }
            }
            checks.push(check);
        }
        now += interval;
    }
    changing += session.take_changed().unwrap_or_default();
    let (mut report, _) = session.finish();
    report.scheduler = "dads".to_owned();
    Ok(FlightResult { checks, changing, report })
}
