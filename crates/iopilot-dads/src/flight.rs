//! [`fly`]: the autopilot on a simulated disk, in virtual time.

use crate::adaptive_cache::begin;
use crate::autopilot::Autopilot;
use crate::autopilot_job::AutopilotOutput;
use crate::autopilot_settings::AutopilotSettings;
use crate::check::SchedulerCheck;
use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunOptions, RunReport, Session, SimError};
use iopilot_workload::Source;
use iopilot_workload::Workload;

/// The settings of a flight.
#[derive(Clone, Debug)]
pub struct FlightPlan {
    /// The settings of the autopilot.
    pub settings: AutopilotSettings,
    /// Seed of all random choices.
    pub seed: u64,
}

impl FlightPlan {
    /// The plan for a flight on `machine` with these settings. What the machine decides is taken from it: the candidates
    /// are tried on the disk itself, and a change takes as long as on its host.
    pub fn new(settings: AutopilotSettings, machine: &Machine, seed: u64) -> Self {
        let settings = AutopilotSettings {
            change_fixed: machine.host.switch(),
            prediction_error: AutopilotSettings::ERROR_OF_THE_DISK_ITSELF,
            ..settings
        };
        Self { settings, seed }
    }
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

/// Runs `workload` on `machine` with the autopilot, which simulates its candidates on the requests that have completed,
/// and changes the scheduler as its policy says. The model is the machine's own device. A
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
    let autopilot = Autopilot::new(plan.settings.clone(), machine.device(), &config).map_err(SimError::from)?;
    let session = begin(machine, workload, autopilot.current(), &config)?;
    fly_session(session, autopilot, |_, _| (), on_check)
}

/// Runs `session` with the autopilot. The session must not have begun, must keep its log
/// ([`iopilot_sim::RunConfig::log`]) and must use the autopilot's scheduler. Before each look at the disk `learn` gets
/// the device and the model that candidates are tried on, so that the model can learn from the device. `on_check` gets
/// each check as it is made.
///
/// # Errors
/// Where the run gets stuck, or `on_check` fails.
pub fn fly_session<S, D, M, E>(
    mut session: Session<S, D>,
    mut autopilot: Autopilot<M>,
    mut learn: impl FnMut(&mut D, &mut M),
    mut on_check: impl FnMut(&SchedulerCheck) -> Result<(), E>,
) -> Result<FlightResult, E>
where
    S: Source,
    D: Device,
    M: Device + Clone + Send + Sync,
    E: From<SimError>,
{
    let (mut checks, mut changing) = (Vec::new(), Nanos::ZERO);
    let mut now = autopilot.next_tick(Nanos::ZERO);
    while session.run_until(now)? {
        autopilot.observe(session.take_completed());
        if let Some(model) = autopilot.model_mut() {
            learn(session.device_mut(), model);
        }
        if let Some(took) = session.take_changed() {
            autopilot.installed(session.outstanding(), took, now);
            changing += took;
        }
        autopilot.tell(session.lateness(), session.is_redcap_active());
        while let Some(output) = autopilot.tick(now, session.outstanding(), session.is_switching()) {
            let check = match output {
                AutopilotOutput::Job(job) => autopilot.finished(job.run())?,
                AutopilotOutput::Check(check) => Some(check),
            };
            let Some(check) = check else { continue };
            on_check(&check)?;
            if check.changes() {
                session.switch(&SchedulerSpec::parse(&check.decision).map_err(SimError::from)?, now)?;
            } else if check.renews() {
                session.renew(now)?;
            }
            checks.push(check);
        }
        now = autopilot.next_tick(now);
    }
    changing += session.take_changed().unwrap_or_default();
    let (mut report, _) = session.finish();
    report.scheduler = "dads".to_owned();
    Ok(FlightResult { checks, changing, report })
}
