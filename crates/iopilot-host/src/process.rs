//! [`HostProcess`]: a running program.

use crate::file_op::FileOp;
use crate::process_times::ProcessTimes;
use crate::program::{AnyProgram, Call};
use crate::totals::CpuTotals;
use iopilot_block::{Nanos, ProcessId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Why a process sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason {
    /// For this request.
    Request(usize),
    /// For all of its requests.
    Requests,
    /// For a request for a page of the cache, its own or another's.
    Page,
    /// For a page request too, because the cache has no room.
    Room,
    /// For room in the queue of requests.
    Submission,
    /// For a time to pass.
    Timer,
    /// For a wake-up on this key, for this lock, for bytes or room in this channel.
    Key(u64),
    Lock(u64),
    Channel(u64),
    /// For this child, or any, to exit.
    Child(Option<u64>),
}

impl WaitReason {
    /// Whether it is a wait for the disk.
    pub(crate) fn is_io(self) -> bool {
        matches!(self, Self::Request(_) | Self::Requests | Self::Page | Self::Room | Self::Submission)
    }

    /// Whether only another process or an external interrupt can end it.
    pub(crate) fn is_for_others(self) -> bool {
        matches!(self, Self::Key(_) | Self::Lock(_) | Self::Channel(_) | Self::Child(_))
    }
}

/// What a process does once it has computed.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    /// The next event of its program.
    Event(Call),
    /// It continues its system call.
    Resume,
    /// It sweeps the page cache.
    Sweep,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// It has not started.
    New,
    /// It waits for a CPU.
    Runnable,
    /// It runs, or is interrupted, on this CPU.
    Running(usize),
    /// It sleeps.
    Blocked(WaitReason),
    /// It has exited.
    Exited,
}

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct HostProcess {
    pub(crate) id: ProcessId,
    pub(crate) name: Arc<str>,
    pub(crate) parent: Option<usize>,
    /// Its parent's number for it.
    pub(crate) number: u64,
    /// Whether it is a user's task.
    pub(crate) is_task: bool,
    /// Whether the run may end without it.
    pub(crate) is_daemon: bool,
    pub(crate) program: AnyProgram,
    pub(crate) state: ProcessState,
    /// When it entered that state.
    pub(crate) since: Nanos,
    /// Computation left until its next event, and that event.
    pub(crate) left: Nanos,
    pub(crate) call: Option<Pending>,
    /// The kernel's share at the end of that computation.
    pub(crate) kernel: Nanos,
    /// The remaining steps of its system call on files.
    pub(crate) plan: VecDeque<FileOp>,
    /// When its last event was fetched, and how many events in a row have taken no time.
    pub(crate) last_fetch: Nanos,
    pub(crate) at_once: u32,
    /// Whether it sleeps in a submission, whatever else it waits for.
    pub(crate) is_stuck_in_submission: bool,
    /// Whether it blocked for a request before it became runnable. If so, the cost of resuming it is false computation.
    pub(crate) was_waiting: bool,
    pub(crate) last_cpu: Option<usize>,
    /// Its requests: its own number and the host's slot of each. An entry stays until the request is complete and was wanted.
    pub(crate) requests: Vec<(u64, usize)>,
    /// When it issued its last request.
    pub(crate) last_issue: Option<Nanos>,
    pub(crate) in_flight: u32,
    /// Its living children, and exited children that it has not waited for.
    pub(crate) children: u32,
    pub(crate) exited_children: Vec<u64>,
    /// What its exited children computed, with their children.
    pub(crate) children_computed: Nanos,
    pub(crate) life: ProcessTimes,
    /// Its times when the report was restarted.
    pub(crate) unreported: ProcessTimes,
    /// The host's totals when it started.
    pub(crate) before: CpuTotals,
    pub(crate) started: Nanos,
}

impl HostProcess {
    pub(crate) fn new(id: ProcessId, name: Arc<str>, program: AnyProgram) -> Self {
        Self {
            id,
            name,
            parent: None,
            number: 0,
            is_task: false,
            is_daemon: false,
            program,
            state: ProcessState::New,
            since: Nanos::ZERO,
            left: Nanos::ZERO,
            call: None,
            kernel: Nanos::ZERO,
            plan: VecDeque::new(),
            last_fetch: Nanos::ZERO,
            at_once: 0,
            is_stuck_in_submission: false,
            was_waiting: false,
            last_cpu: None,
            requests: Vec::new(),
            last_issue: None,
            in_flight: 0,
            children: 0,
            exited_children: Vec::new(),
            children_computed: Nanos::ZERO,
            life: ProcessTimes::default(),
            unreported: ProcessTimes::default(),
            before: CpuTotals::default(),
            started: Nanos::ZERO,
        }
    }

    /// Enters a state. Its CPU counts what it computed.
    pub(crate) fn enter(&mut self, state: ProcessState, now: Nanos) {
        self.life.spend(self.state, now.since(self.since));
        if let ProcessState::Blocked(wait) = state {
            self.life.begin(wait);
        }
        (self.state, self.since) = (state, now);
    }

    /// Its computation, with that of its exited children.
    pub(crate) fn computed(&self) -> Nanos {
        self.life.computed + self.children_computed
    }

    /// Its times up to `now`.
    pub(crate) fn life_until(&self, now: Nanos) -> ProcessTimes {
        let mut life = self.life;
        life.spend(self.state, now.since(self.since));
        life
    }

    /// Whether it runs kernel code. Between two system calls it is briefly in user code.
    pub(crate) fn is_in_kernel(&self) -> bool {
        match self.call {
            Some(Pending::Event(_)) => self.left < self.kernel,
            Some(Pending::Resume | Pending::Sweep) => true,
            None => false,
        }
    }

    /// Whether it waits for the disk.
    pub(crate) fn waits_for_io(&self) -> bool {
        matches!(self.state, ProcessState::Blocked(wait) if wait.is_io())
    }
}
