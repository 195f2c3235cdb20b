//! [`Placement`]: where a process runs, and its state at the start.

use super::Host;
use crate::names::WorkloadNames;
use crate::process::{ProcessState, WaitReason};
use crate::program::Key;
use iopilot_block::{InputError, Nanos};

/// The state of a process when a run begins (Ganger A.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialState {
    /// It does not exist yet: it starts at its start time.
    #[default]
    New,
    /// It waits for a CPU.
    Runnable,
    /// It is on a CPU already, without cost.
    Running,
    /// It sleeps on this key.
    Sleeping(Key),
}

/// How a process differs from the default: it starts at its start time, runs on any CPU, and the run waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The only CPU for it and its children; any CPU if not set.
    pub cpu: Option<u16>,
    /// Its state at time 0.
    pub state: InitialState,
    /// Whether it is a daemon, without which the run may end. The run ends once all other processes have exited, all finite
    /// sources of interrupts have ended, and each daemon waits for another process or naps with nothing to answer.
    pub is_daemon: bool,
}

impl Host {
    /// Sets the names for messages.
    pub fn set_names(&mut self, names: WorkloadNames) {
        self.names = names;
    }

    /// Places process `p`, by its index in the list of tasks. Call it once for each process, before the run: first for running
    /// processes, and among these first for pinned ones.
    ///
    /// # Errors
    /// If the CPU does not exist, or no CPU is free for a running process.
    pub fn place_process(&mut self, p: usize, placement: Placement) -> Result<(), InputError> {
        let Placement { cpu, state, is_daemon } = placement;
        if let Some(cpu) = cpu {
            if cpu >= self.settings.cpus {
                let expected = format!("a CPU of the machine's: 0 to {}", self.settings.cpus - 1);
                return Err(InputError::new("cpu", format!("{cpu}, a task on a CPU that is not there"), expected));
            }
            self.run_queue.pin(p, usize::from(cpu));
        }
        if is_daemon && !self.processes[p].is_daemon {
            self.processes[p].is_daemon = true;
            self.live -= 1;
            self.daemons += 1;
        }
        match state {
            InitialState::New => return Ok(()),
            InitialState::Runnable => {
                self.begin(p, Nanos::ZERO);
                self.wake(p, Nanos::ZERO);
            }
            InitialState::Running => {
                let free = (0..self.cpus.len()).find(|&c| self.cpus[c].is_idle() && self.run_queue.allows(p, c));
                let Some(c) = free else {
                    let got = "running, where all its CPUs have a process";
                    return Err(InputError::new("state", got, "a CPU for each process that runs at the beginning"));
                };
                self.begin(p, Nanos::ZERO);
                // It was on this CPU before the run.
                self.cpus[c].last = Some(p);
                self.enter(c, p, Nanos::ZERO);
            }
            InitialState::Sleeping(key) => {
                self.begin(p, Nanos::ZERO);
                self.sync.sleep(key, p);
                self.change_state(p, ProcessState::Blocked(WaitReason::Key(key)), Nanos::ZERO);
            }
        }
        self.agenda.set(self.appointment(p), None);
        Ok(())
    }
}
