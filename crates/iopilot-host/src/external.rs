//! [`ExternalInterrupts`]: a source of interrupts from outside, as a network is (Ganger A.1.3). They come whatever the host does.

use crate::program::Key;
use iopilot_block::Nanos;
use std::fmt;
use std::sync::Arc;

/// When interrupts come: a pure state machine.
pub trait Arrivals: fmt::Debug + Send + Sync {
    /// The time of the next one, not before the last; `None` after the last.
    fn next(&mut self) -> Option<Nanos>;

    /// The same in the same state.
    fn boxed(&self) -> Box<dyn Arrivals>;
}

/// Any arrivals.
#[derive(Debug)]
pub struct AnyArrivals(Box<dyn Arrivals>);

impl AnyArrivals {
    /// Of arrivals.
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

/// What a handler does at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptEffect {
    /// Nothing: it only takes time.
    Nothing,
    /// It wakes who sleeps on this key: all, or who has slept longest.
    Wakeup {
        /// On what.
        key: Key,
        /// Whether all are woken.
        all: bool,
    },
    /// It puts so many bytes into a channel. Where there is no room they are lost, as a handler cannot wait.
    Put {
        /// The channel.
        channel: Key,
        /// How many.
        bytes: u64,
    },
}

/// A source of interrupts.
#[derive(Clone, Debug)]
pub struct ExternalInterrupts {
    /// Its name.
    pub name: Arc<str>,
    /// When they come.
    pub arrivals: AnyArrivals,
    /// Whether they never end by themselves: then they do once every process that is no daemon has exited, or all of those have
    /// waited for other processes for long.
    pub is_endless: bool,
    /// The CPU that handles them.
    pub cpu: u16,
    /// How long that takes, on a CPU of speed 1.
    pub handler: Nanos,
    /// What comes of it.
    pub effect: InterruptEffect,
    /// Whether each begins a task, which ends when who has got its bytes answers ([`Call::Answer`](crate::Call::Answer)).
    pub is_task: bool,
}
