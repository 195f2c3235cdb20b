//! [`ExternalInterrupts`]: a source of external interrupts, such as a network (Ganger A.1.3). They do not depend on what the
//! host does.

use crate::program::Key;
use iopilot_block::Nanos;
use std::fmt;
use std::sync::Arc;

/// The arrival times of interrupts: a pure state machine.
pub trait Arrivals: fmt::Debug + Send + Sync {
    /// The time of the next interrupt, never earlier than the previous one; `None` after the last.
    fn next(&mut self) -> Option<Nanos>;

    /// A copy in the same state.
    fn boxed(&self) -> Box<dyn Arrivals>;
}

/// Any arrivals.
#[derive(Debug)]
pub struct AnyArrivals(Box<dyn Arrivals>);

impl AnyArrivals {
    /// Wraps arrivals.
    pub fn new(arrivals: impl Arrivals + 'static) -> Self {
        Self(Box::new(arrivals))
    }

    pub(crate) fn next(&mut self) -> Option<Nanos> {
        self.0.next()
    }
}

impl Clone for AnyArrivals {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

/// What an interrupt handler does at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptEffect {
    /// Nothing: it only takes time.
    Nothing,
    /// It wakes the sleepers of a key: all, or the one that has slept longest.
    Wakeup {
        /// The key.
        key: Key,
        /// Whether all are woken.
        all: bool,
    },
    /// It puts bytes into a channel. Without room they are lost, because a handler cannot wait.
    Put {
        /// The channel.
        channel: Key,
        /// How many.
        bytes: u64,
    },
}

/// A source of external interrupts.
#[derive(Clone, Debug)]
pub struct ExternalInterrupts {
    /// Its name.
    pub name: Arc<str>,
    /// When the interrupts come.
    pub arrivals: AnyArrivals,
    /// Whether the source is endless. An endless source stops once every process but daemons has exited, or all of these have
    /// waited for other processes for long.
    pub is_endless: bool,
    /// The CPU that handles the interrupts.
    pub cpu: u16,
    /// The time of the handler, on a CPU of speed 1.
    pub handler: Nanos,
    /// What the handler does at its end.
    pub effect: InterruptEffect,
    /// Whether each interrupt begins a task. The task ends when the process that got its bytes answers
    /// ([`Call::Answer`](crate::Call::Answer)).
    pub is_task: bool,
}
