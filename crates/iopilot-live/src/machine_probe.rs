//! [`probe_machine`]: what this machine's CPUs add to a request, and how its block layer is set.
//!
//! Tasks read at random past the page cache while a capture watches. One task alone shows how long a request takes to
//! the disk, and a completion to its task. More tasks than the disk takes show the restart of the queue; more than
//! there are tags, how sleepers wake. Nothing is written, and no setting is changed.

mod costs;
mod readers;
mod settings;

pub use costs::{Cost, MachineCosts};
pub use settings::QueueSettings;

use crate::{BlockQueue, Capture, CaptureOptions, LiveError};
use iopilot_sched::NO_SCHEDULER;
use iopilot_trace::TraceRecord;
use readers::Readers;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two polls of the capture.
const PERIOD: Duration = Duration::from_millis(10);
/// How long the capture waits at the end for requests in flight.
const SETTLE: Duration = Duration::from_secs(2);
/// The most tasks that are started.
const MOST_READERS: u32 = 320;
/// Tasks beyond what the disk, or the tags, take.
const MORE: u32 = 8;

/// What was found out about a machine and one of its disks.
#[derive(Clone, Debug)]
pub struct MachineProbe {
    /// The settings of the disk's queue.
    pub queue: QueueSettings,
    /// What the CPUs add to a request.
    pub costs: MachineCosts,
}

/// Reads the settings of the disk at `path`, and measures the machine's costs with three loads of random reads, each of
/// `duration`. `watch` is called with a name for each next step.
///
/// # Errors
/// Without root, where it is no disk with a request queue, and where the disk cannot be read or the kernel not be
/// asked.
pub fn probe_machine(path: &Path, duration: Duration, watch: &mut dyn FnMut(&str)) -> Result<MachineProbe, LiveError> {
    let block = BlockQueue::open(path)?;
    if !rustix::process::geteuid().is_root() {
        return Err(LiveError::NotPermitted(path.to_owned()));
    }
    let queue = QueueSettings::of(&block)?;
    let mut run = |tasks: u32, what: &str| {
        watch(what);
        observed(path, block.sectors()?, tasks, duration)
    };
    let alone = run(1, "one reader")?;
    let queued = match queue.depth + MORE {
        tasks if queue.scheduler != NO_SCHEDULER && tasks <= MOST_READERS => {
            run(tasks, "more readers than the disk takes")?
        }
        _ => Vec::new(),
    };
    let asleep = match queue.tags() + MORE {
        tasks if tasks <= MOST_READERS => run(tasks, "more readers than there are tags")?,
        _ => Vec::new(),
    };
    Ok(MachineProbe { costs: MachineCosts::of(&queue, &alone, &queued, &asleep), queue })
}

/// What `tasks` tasks did in `duration`, as the capture saw it, in order of arrival.
fn observed(path: &Path, sectors: u64, tasks: u32, duration: Duration) -> Result<Vec<TraceRecord>, LiveError> {
    let mut capture = Capture::start(&CaptureOptions::new(path))?;
    let readers = Readers::start(path, sectors, tasks)?;
    let (mut records, began) = (Vec::new(), Instant::now());
    while began.elapsed() < duration {
        sleep(PERIOD);
        capture.poll(&mut records)?;
    }
    let ids = readers.stop()?;
    let stopped = Instant::now();
    while capture.pending() > 0 && stopped.elapsed() < SETTLE {
        sleep(PERIOD);
        capture.poll(&mut records)?;
    }
    capture.poll(&mut records)?;
    // Other programs may use the disk; only the readers are known to wait for nothing else.
    records.retain(|record| record.process.is_some_and(|process| ids.contains(&process.0)));
    Ok(records)
}
