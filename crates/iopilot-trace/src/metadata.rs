//! What a trace says besides its requests: names of processes and devices, and what was left out.

use crate::RecordedSystem;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// More processes than Linux can number (`PID_MAX_LIMIT`); further names are dropped as noise.
const MOST_PROCESSES: usize = 1 << 22;

/// What a reader left out or moved, to report to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReadNotes {
    /// Reads, writes and discards of no sectors, which transfer nothing: left out.
    pub empty: u64,
    /// Commands that are no block I/O (an inquiry, a SCSI reservation, a SUSPECTIO record): left out.
    pub other_commands: u64,
    /// Records that arrived before the one ahead of them: moved to their place.
    pub reordered: u64,
    /// Completions whose request began before the trace (or was too long ago): left out.
    pub unmatched_completions: u64,
    /// Requests of which only the completion was recorded: their arrival is that completion.
    pub unknown_arrivals: u64,
    /// Lines of events that say nothing of block requests: left out.
    pub other_events: u64,
    /// What was assumed of the whole trace, in a sentence each.
    pub remarks: Vec<String>,
}

impl ReadNotes {
    /// What a user should know of how the trace was read, in a line each.
    pub fn lines(&self) -> Vec<String> {
        let counts = [
            (self.reordered, "stood late", "put in order"),
            (self.empty, "of no length", "left out"),
            (self.other_commands, "of a command that is no block I/O", "left out"),
            (self.unmatched_completions, "of a completion whose request began before the trace", "left out"),
            (self.other_events, "of an event that is no block I/O", "left out"),
            (
                self.unknown_arrivals,
                "of a completion alone",
                "each arrives when it completes, as its arrival is unknown",
            ),
        ];
        let counted = counts.into_iter().filter(|(count, ..)| *count > 0).map(|(count, which, done)| {
            let records = if count == 1 { "record" } else { "records" };
            format!("{count} {records} {which}: {done}")
        });
        self.remarks.iter().cloned().chain(counted).collect()
    }
}

/// What a trace carries along besides its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredMetadata {
    /// Commands by process id.
    pub(crate) processes: BTreeMap<u32, String>,
    /// Devices by number.
    pub(crate) devices: Vec<String>,
    /// Where it was recorded.
    pub(crate) system: Option<RecordedSystem>,
}

/// What a trace says besides its requests.
#[derive(Debug, Default)]
pub(crate) struct TraceMetadata {
    pub(crate) notes: ReadNotes,
    processes: BTreeMap<u32, String>,
    /// The process whose name was stored last, with the bytes of that name: usually the one of the next event.
    last_process: Option<(u32, Vec<u8>)>,
    pub(crate) devices: Vec<String>,
    /// Where it was recorded.
    pub(crate) system: Option<RecordedSystem>,
    device_numbers: HashMap<Vec<u8>, u32>,
}

impl TraceMetadata {
    pub(crate) fn processes(&self) -> &BTreeMap<u32, String> {
        &self.processes
    }

    /// Process `pid` is called `name` from now on.
    pub(crate) fn name_process(&mut self, pid: u32, name: &[u8]) {
        if self.last_process.as_ref().is_some_and(|(last, bytes)| *last == pid && bytes == name) {
            return;
        }
        let text = String::from_utf8_lossy(name);
        if self.processes.len() >= MOST_PROCESSES && !self.processes.contains_key(&pid) {
            return;
        }
        if self.processes.get(&pid).is_none_or(|known| *known != text) {
            self.processes.insert(pid, text.into_owned());
        }
        let last = self.last_process.get_or_insert_default();
        last.0 = pid;
        last.1.clear();
        last.1.extend_from_slice(name);
    }

    /// Sets all names at once, where the file lists them.
    pub(crate) fn set_names(&mut self, names: StoredMetadata) {
        self.processes = names.processes;
        self.devices = names.devices;
        self.system = names.system;
    }

    /// The number of the device called `name`: in order of appearance, from 0.
    pub(crate) fn device(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.device_numbers.get(name) {
            return number;
        }
        let number = self.devices.len() as u32;
        self.devices.push(String::from_utf8_lossy(name).into_owned());
        self.device_numbers.insert(name.to_owned(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_latest_name() {
        let mut metadata = TraceMetadata::default();
        metadata.name_process(7, b"sh");
        metadata.name_process(8, b"cc1");
        metadata.name_process(7, b"make");
        assert_eq!(
            metadata.processes().iter().map(|(p, n)| (*p, n.as_str())).collect::<Vec<_>>(),
            [(7, "make"), (8, "cc1")]
        );
    }

    #[test]
    fn devices_are_numbered_as_they_appear() {
        let mut metadata = TraceMetadata::default();
        assert_eq!([metadata.device(b"8,16"), metadata.device(b"8,0"), metadata.device(b"8,16")], [0, 1, 0]);
        assert_eq!(metadata.devices, ["8,16", "8,0"]);
    }
}
