//! How often each event of a list happens, without a run.

use super::event::{EventBody, EventSpec, ProgramAction};
use super::spec::EventList;

/// Whether an exit is among these events.
fn exits(events: &[EventSpec]) -> bool {
    events.iter().any(|event| match &event.what {
        EventBody::Do(action) => *action == ProgramAction::Exit,
        EventBody::Repeat(_, events) => exits(events),
    })
}

/// Calls `visit` for each event with how often it happens. Returns false if the process exits.
fn each(events: &[EventSpec], times: u64, visit: &mut impl FnMut(u64, &ProgramAction, u64)) -> bool {
    events.iter().all(|event| match &event.what {
        EventBody::Do(action) => {
            visit(event.line, action, times);
            *action != ProgramAction::Exit
        }
        // A loop that exits in its first round runs once.
        EventBody::Repeat(count, events) => {
            let count = if exits(events) { 1 } else { *count };
            each(events, times.saturating_mul(count), visit)
        }
    })
}

impl EventList {
    /// Calls `visit` for each event with its line, and how often it happens in one process.
    pub(super) fn each(&self, mut visit: impl FnMut(u64, &ProgramAction, u64)) {
        let times = if exits(&self.events) { 1 } else { self.repeat };
        each(&self.events, times, &mut visit);
    }

    /// Whether the list has an exit, so that even its endless repetition ends.
    pub(super) fn exits(&self) -> bool {
        exits(&self.events)
    }

    /// Whether any of its events satisfies `is_such`.
    pub(super) fn has(&self, is_such: impl Fn(&ProgramAction) -> bool) -> bool {
        let mut has = false;
        self.each(|_, action, _| has |= is_such(action));
        has
    }
}
