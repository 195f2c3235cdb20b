//! [`Placement`]: where processes run, and how they begin.

use super::Host;
use crate::names::WorkloadNames;
use crate::process::{ProcessState, WaitReason};
use crate::program::Key;
use iopilot_block::{InputError, Nanos};

/// What a process does when a run begins (Ganger A.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialState {
    /// It is not there: it starts at its time.
    #[default]
    New,
    /// It is there, and waits for a CPU.
    Runnable,
    /// It is on a CPU, which costs nothing.
    Running,
    /// It sleeps until somebody wakes those who sleep on this.
    Sleeping(Key),
}

/// How a process differs from one that starts at its time, runs on any CPU, and is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The only CPU that it runs on, and its children; any where it is not set.
    pub cpu: Option<u16>,
    /// What it does at time 0.
    pub state: InitialState,
    /// Whether the run may end without it. It then ends once all other processes have exited, external interrupts that end have
    /// come, and each daemon waits for another process, or naps with nothing to answer.
    pub is_daemon: bool,
}

impl Host {
    /// Names what messages speak of.
    pub fn set_names(&mut self, names: WorkloadNames) {
        self.names = names;
    }

    /// Places the process `p`, by its place in the list of tasks. To be called once for each, before the run; those that run
    /// come first, and of them those that have a CPU of their own.
    ///
    /// # Errors
    /// If the CPU is not there, or none is free for one that runs.
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
                // It has been there before.
                self.cpus[c].last = Some(p);
                self.enter(c, p, Nanos::ZERO);
            }
            InitialState::Sleeping(key) => {
                self.begin(p, Nanos::ZERO);
                self.meetings.sleep(key, p);
                self.change_state(p, ProcessState::Blocked(WaitReason::Key(key)), Nanos::ZERO);
            }
        }
        self.agenda.set(self.appointment(p), None);
        Ok(())
    }
}
