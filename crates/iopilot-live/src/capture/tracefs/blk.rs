//! [`Blktrace`]: what the block layer notes of a device for blktrace(8).
//!
//! It tells what trace events do not: what schedulers write about themselves. `bfq` notes each time that it is asked for a request, by
//! whom, and even where it gives none. That costs it some 10 µs a request.
//!
//! blktrace(8) itself reads these notes from debugfs, which a locked-down kernel keeps shut. Here they come by the tracer `blk` of tracefs,
//! of which there is one for the whole machine.

use super::instance::Instance;
use super::mount::TracefsMount;
use super::ring::{Reader, open_readers};
use crate::LiveError;
use crate::capture::device::Device;
use crate::dads::started;
use iopilot_block::{Lba, Nanos};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// A request that begins there got a tag.
    Tagged(Lba),
    /// It was handed to the scheduler.
    Inserted(Lba),
    /// It was sent to the device.
    Issued(Lba),
    /// It is complete.
    Completed(Lba),
    /// `bfq` was asked for a request.
    Asked,
    /// It put a queue in service, and looked at the clock just before.
    InService,
    /// It gives a request to whoever has asked.
    Gave,
    /// It lets go of a queue: the first time after a task has completed a request, because it hears of that.
    LetGo,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// On the monotonic clock.
    pub time: Nanos,
    /// The task that did it: of a program, or one of the kernel's own.
    pub task: u32,
    /// What it did.
    pub what: Noted,
}

/// Where it is noted what was changed, until it is put back.
const JOURNAL: &str = "/run/iopilot/blktrace.json";
/// For each CPU: some 80,000 notes.
const BUFFER_KB: &str = "8192";

// `struct blk_io_trace` and linux/blktrace_api.h; in tracefs the first eight bytes are those that all its events begin with.
const HEADER: usize = 48;
const SECTOR: usize = 16;
const ACTION: usize = 28;
const TASK: usize = 32;
const LENGTH: usize = 46;
const QUEUE: u16 = 1 << 4;
const ISSUE: u16 = 1 << 6;
const COMPLETE: u16 = 1 << 7;
const NOTIFY: u16 = 1 << 10;
const GETRQ: (u16, u8) = (QUEUE, 4);
const INSERT: (u16, u8) = (QUEUE, 12);
const ISSUED: (u16, u8) = (ISSUE, 7);
const COMPLETED: (u16, u8) = (COMPLETE, 8);
const MESSAGE: (u16, u8) = (NOTIFY, 2);
/// The same four, as the kernel calls them.
const KINDS: &str = "queue,issue,complete,notify";
/// The number of a cgroup stands before the text.
const OF_CGROUP: u32 = 1 << 8;
const CGROUP: usize = 8;
const BFQ: &[u8] = b"bfq";
/// What bfq writes when it is asked, when it has put a queue in service, when it gives a request, and when it lets go of a queue, behind its
/// name or that of the queue.
const ASKED: &[u8] = b"dispatch requests";
const IN_SERVICE: &[u8] = b"set_in_service_queue";
const GIVES: &[u8] = b"select_queue: returned this queue";
const LETS_GO: &[u8] = b"put_queue:";

/// A trace of one device, which ends when dropped. What a killed process left is put back when the next trace or capture begins.
#[derive(Debug)]
pub struct Blktrace {
    readers: Vec<Reader>,
    notes: Vec<Note>,
    /// Behind the readers, which hold what it puts back.
    _changes: Changes,
    /// Last, as it may end tracefs.
    top: Instance,
}

impl Blktrace {
    /// Begins at once.
    ///
    /// # Errors
    /// Without root, for what is no block device, where the kernel has no blktrace, and where somebody else uses the machine's one tracer.
    pub fn start(device: &Path) -> Result<Self, LiveError> {
        let disk = Device::of(device)?;
        tidy();
        let top = Instance::top()?;
        let tracer = top.read("current_tracer")?;
        if tracer.trim() != "nop" {
            let reason = format!("current_tracer is {}, expected nop: somebody else traces", tracer.trim());
            return Err(LiveError::Event { event: "blk".to_owned(), reason });
        }
        let of_disk = disk.folder().join("trace");
        if !of_disk.exists() {
            let reason = "this kernel has no blktrace (CONFIG_BLK_DEV_IO_TRACE)".to_owned();
            return Err(LiveError::Device { path: device.to_owned(), reason });
        }
        let was = |file: &str| -> Result<(PathBuf, String), LiveError> {
            Ok((file.into(), current(&top.read(file)?).to_owned()))
        };
        let before = vec![
            (of_disk.join("enable"), "0".to_owned()),
            was("current_tracer")?,
            was("buffer_size_kb")?,
            was("trace_clock")?,
            was("tracing_on")?,
        ];
        let changes = Changes::begin(Path::new(JOURNAL), top.tracefs().path(), before)?;
        top.write("tracing_on", "0")?;
        top.write("trace_clock", "mono")?;
        top.write("buffer_size_kb", BUFFER_KB)?;
        top.write("current_tracer", "blk")?;
        // The kinds are set anew whenever it is enabled.
        for (file, value) in [("enable", "1"), ("act_mask", KINDS)] {
            let path = of_disk.join(file);
            fs::write(&path, value).map_err(|e| LiveError::io(&path, e))?;
        }
        let trace = Self { readers: open_readers(&top)?, notes: Vec::new(), _changes: changes, top };
        trace.top.write("tracing_on", "1")?;
        Ok(trace)
    }

    /// Takes what there is out of the kernel's buffer.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn poll(&mut self) -> Result<(), LiveError> {
        for reader in &mut self.readers {
            reader.drain(|time, data| self.notes.extend(decode(time, data)))?;
        }
        Ok(())
    }

    /// Ends it, and gives all of it, in order of time.
    ///
    /// # Errors
    /// As [`Blktrace::poll`]; and where something was lost.
    pub fn finish(mut self) -> Result<Vec<Note>, LiveError> {
        self.top.write("tracing_on", "0")?;
        self.poll()?;
        match self.top.lost_events()? {
            0 => {}
            lost => return Err(LiveError::Failed(format!("blktrace lost {lost} events"))),
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.sort_by_key(|note| note.time);
        Ok(notes)
    }
}

/// What a file of tracefs is set to: of several words the one in brackets, or the last number.
fn current(text: &str) -> &str {
    let text = text.trim();
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((chosen, _)) => chosen,
        None => text.rsplit(' ').next().unwrap_or(text).trim_end_matches(')'),
    }
}

/// What an event tells, if it is one that counts.
fn decode(time: Nanos, data: &[u8]) -> Option<Note> {
    let header = data.first_chunk::<HEADER>()?;
    let number = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let [low, high] = [number(SECTOR), number(SECTOR + 4)].map(u64::from);
    let lba = Lba(if cfg!(target_endian = "little") { high << 32 | low } else { low << 32 | high });
    let action = number(ACTION);
    let says = || {
        let length = usize::from(u16::from_ne_bytes([header[LENGTH], header[LENGTH + 1]]));
        let text = data.get(HEADER..HEADER + length)?.get(if action & OF_CGROUP == 0 { 0 } else { CGROUP }..)?;
        let name = text.iter().position(|&c| c == b' ')?;
        text.starts_with(BFQ).then(|| &text[name + 1..])
    };
    let what = match ((action >> 16) as u16 & (QUEUE | ISSUE | COMPLETE | NOTIFY), action as u8) {
        GETRQ => Noted::Tagged(lba),
        INSERT => Noted::Inserted(lba),
        ISSUED => Noted::Issued(lba),
        COMPLETED => Noted::Completed(lba),
        MESSAGE => match says()? {
            text if text.starts_with(ASKED) => Noted::Asked,
            text if text.starts_with(IN_SERVICE) => Noted::InService,
            text if text.starts_with(GIVES) => Noted::Gave,
            text if text.starts_with(LETS_GO) => Noted::LetGo,
            _ => return None,
        },
        _ => return None,
    };
    Some(Note { time, task: number(TASK), what })
}

/// Puts back what a process that was killed had changed; where that fails, the next one tries again.
pub(in crate::capture) fn tidy() {
    let journal = Path::new(JOURNAL);
    let entry = fs::read(journal).ok().and_then(|text| serde_json::from_slice::<Entry>(&text).ok());
    if let Some(entry) = entry.filter(|entry| started(entry.pid) != Some(entry.started)) {
        let Ok(tracefs) = TracefsMount::open() else { return };
        put_back(tracefs.path(), &entry.before);
        let _ = fs::remove_file(journal);
    }
}

fn put_back(tracefs: &Path, before: &[(PathBuf, String)]) {
    for (path, value) in before {
        // The device may be gone.
        let _ = fs::write(tracefs.join(path), value);
    }
}

/// What is to be put back, and who changed it.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    pid: u32,
    /// When that process started: its number alone may have come to another.
    started: u64,
    /// Files and what stood in them, in the order in which they are put back. Paths that are not absolute begin in tracefs, which is
    /// elsewhere for each process that mounts it for itself.
    before: Vec<(PathBuf, String)>,
}

/// What was changed; put back when dropped.
#[derive(Debug)]
struct Changes {
    journal: PathBuf,
    tracefs: PathBuf,
    before: Vec<(PathBuf, String)>,
}

impl Changes {
    /// Notes what there is before it is changed. The note is on disk when this returns. `tracefs` must be there until this is dropped.
    fn begin(journal: &Path, tracefs: &Path, before: Vec<(PathBuf, String)>) -> Result<Self, LiveError> {
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                LiveError::Failed(format!("{}: another process traces with blktrace", journal.display()))
            }
            _ => LiveError::io(journal, e),
        };
        let pid = std::process::id();
        let entry = Entry { pid, started: started(pid).unwrap_or(0), before };
        let text = serde_json::to_string(&entry).map_err(|e| failed(e.into()))?;
        let folder = journal.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed)?;
        // Made whole under another name; the link fails where there is one already.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist_noclobber(journal).map_err(|e| failed(e.error))?;
        Ok(Self { journal: journal.to_owned(), tracefs: tracefs.to_owned(), before: entry.before })
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        put_back(&self.tracefs, &self.before);
        let _ = fs::remove_file(&self.journal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as the kernel writes it.
    fn event(sector: u64, (category, act): (u16, u8), task: u32, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[SECTOR..SECTOR + 8].copy_from_slice(&sector.to_ne_bytes());
        // That it is a read is told, too.
        let action = (u32::from(category) | 1) << 16 | u32::from(act);
        bytes[ACTION..ACTION + 4].copy_from_slice(&action.to_ne_bytes());
        bytes[TASK..TASK + 4].copy_from_slice(&task.to_ne_bytes());
        bytes[LENGTH..].copy_from_slice(&(text.len() as u16).to_ne_bytes());
        bytes.extend(text);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn tells_what_happened_and_who_asked() {
        let lba = 1 << 33;
        let all = [
            event(0, MESSAGE, 7, b"bfq7S allocated"),
            event(lba, GETRQ, 7, b""),
            event(lba, INSERT, 7, b""),
            event(0, MESSAGE, 9, b"bfq dispatch requests: 3 busy queues"),
            event(0, MESSAGE, 9, b"bfq7S set_in_service_queue, cur-budget = 992"),
            event(0, MESSAGE, 9, b"bfq7S select_queue: checking new queue"),
            event(0, MESSAGE, 9, b"bfq7S select_queue: returned this queue"),
            event(0, MESSAGE, 9, b"noop dispatch requests"),
            event(lba, ISSUED, 9, b""),
            event(lba, (QUEUE, 1), 9, b""),
            event(lba, COMPLETED, 9, b""),
            event(0, MESSAGE, 9, b"bfq7S put_queue: 000000005e7d87fb 2"),
        ];
        let told: Vec<(u32, Noted)> =
            all.iter().filter_map(|data| decode(Nanos(5), data)).map(|note| (note.task, note.what)).collect();
        let lba = Lba(lba);
        assert_eq!(
            told,
            [
                (7, Noted::Tagged(lba)),
                (7, Noted::Inserted(lba)),
                (9, Noted::Asked),
                (9, Noted::InService),
                (9, Noted::Gave),
                (9, Noted::Issued(lba)),
                (9, Noted::Completed(lba)),
                (9, Noted::LetGo)
            ]
        );
    }

    #[test]
    fn a_cgroup_stands_before_the_text() {
        let mut asked = event(0, MESSAGE, 9, &[&[0; CGROUP][..], b"bfq dispatch requests"].concat());
        assert_eq!(decode(Nanos(5), &asked), None);
        let action = u32::from(NOTIFY) << 16 | OF_CGROUP | u32::from(MESSAGE.1);
        asked[ACTION..ACTION + 4].copy_from_slice(&action.to_ne_bytes());
        assert_eq!(decode(Nanos(5), &asked).map(|note| note.what), Some(Noted::Asked));
    }

    #[test]
    fn what_is_cut_short_tells_nothing() {
        let asked = event(0, MESSAGE, 9, b"bfq dispatch requests: 3 busy queues");
        for length in 0..asked.len() - 4 {
            assert_eq!(decode(Nanos(5), &asked[..length]), None);
        }
        assert!(decode(Nanos(5), &asked).is_some());
    }

    #[test]
    fn what_a_file_is_set_to() {
        assert_eq!(current("local global [mono] boot\n"), "mono");
        assert_eq!(current("7 (expanded: 1408)\n"), "1408");
        assert_eq!(current("nop\n"), "nop");
    }

    #[test]
    fn what_was_there_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let [journal, clock, gone] = ["journal", "clock", "gone/clock"].map(|name| folder.path().join(name));
        let before = || vec![(gone.clone(), "1".to_owned()), ("clock".into(), "local".to_owned())];
        let changes = Changes::begin(&journal, folder.path(), before()).unwrap();
        fs::write(&clock, "mono").unwrap();
        let second = Changes::begin(&journal, folder.path(), before()).map(|_| ()).unwrap_err().to_string();
        assert!(second.ends_with("journal: another process traces with blktrace"), "{second}");
        drop(changes);
        assert_eq!(fs::read_to_string(&clock).unwrap(), "local");
        assert!(!journal.exists());
    }
}
