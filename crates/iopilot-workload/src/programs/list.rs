//! What can be said of a list without running it: what happens how often.

use super::event::{Action, Event, What};
use super::spec::List;

/// Whether an exit is among these events.
fn exits(events: &[Event]) -> bool {
    events.iter().any(|event| match &event.what {
        What::Do(action) => *action == Action::Exit,
        What::Repeat(_, events) => exits(events),
    })
}

/// Calls `visit` for each event of these with how often it happens. Returns false where a process exits.
fn each(events: &[Event], times: u64, visit: &mut impl FnMut(u64, &Action, u64)) -> bool {
    events.iter().all(|event| match &event.what {
        What::Do(action) => {
            visit(event.line, action, times);
            *action != Action::Exit
        }
        // What ends in its first round is done once.
        What::Repeat(count, events) => {
            let count = if exits(events) { 1 } else { *count };
            each(events, times.saturating_mul(count), visit)
        }
    })
}

impl List {
    /// Calls `visit` for each event with its line, and how often it happens in one process.
    pub(super) fn each(&self, mut visit: impl FnMut(u64, &Action, u64)) {
        let times = if exits(&self.events) { 1 } else { self.repeat };
        each(&self.events, times, &mut visit);
    }

    /// Whether a process that does it again and again comes to an end all the same.
    pub(super) fn exits(&self) -> bool {
        exits(&self.events)
    }

    /// Whether any of its events is such.
    pub(super) fn has(&self, is_such: impl Fn(&Action) -> bool) -> bool {
        let mut has = false;
        self.each(|_, action, _| has |= is_such(action));
        has
    }
}
