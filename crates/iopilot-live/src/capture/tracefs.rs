//! [`Tracefs`]: a capture through tracefs.
//!
//! Nothing needs to be installed: the kernel's own trace events are read, in a private *instance* under
//! `/sys/kernel/tracing/instances`, as binary ring-buffer pages. The instance is filtered to one device and removed at
//! the end; what a killed process left is removed by the next one.
//!
//! Events carry no request pointer, so bios are followed by operation and sectors, as [`super::correlate`] explains.
//! Parents and start times come from `sched_process_fork`, for tasks older than the capture from `/proc`.

mod instance;
mod layout;
pub(super) mod mount;
mod page;
mod ring;

use super::clock::now;
use super::correlate::BioCorrelator;
use super::device::CapturedDevice;
use super::event::BlockEvent;
use super::options::Delivery;
use super::tasks::Tasks;
use crate::LiveError;
use instance::TracefsInstance;
use iopilot_block::Nanos;
use iopilot_trace::TraceRecord;
use layout::{Layouts, TraceEventKind};
use ring::{Reader, open_readers};
use std::cell::Cell;
use std::collections::BTreeMap;

/// An event is in its buffer at most this long after its time stamp was taken.
const SLACK: Nanos = Nanos::from_millis(1);

/// Reads requests from ring buffers.
#[derive(Debug)]
pub(super) struct Tracefs {
    readers: Vec<Reader>,
    layouts: Layouts,
    /// The enabled events of the block layer; the arrival is the first.
    block_events: Vec<&'static str>,
    /// Events that were read; earlier ones of other CPUs may still be missing.
    events: Vec<BlockEvent>,
    correlator: BioCorrelator,
    /// Lost events, as of the last successful read.
    lost: Cell<u64>,
    /// It cannot be removed while its files are open, so it is declared, and dropped, after the readers.
    instance: TracefsInstance,
}

impl Tracefs {
    pub(super) fn start(
        device: &CapturedDevice,
        buffer_kb: u32,
        patience: Nanos,
        delivery: Delivery,
    ) -> Result<Self, LiveError> {
        let instance = TracefsInstance::create()?;
        let (layouts, block_events) = set_up(&instance, device, buffer_kb)?;
        let tracefs = Self {
            readers: open_readers(&instance)?,
            layouts,
            block_events,
            events: Vec::new(),
            correlator: BioCorrelator::new(Tasks::snapshot(), device.flushes_after_fua, patience, delivery),
            lost: Cell::new(0),
            instance,
        };
        tracefs.instance.write("tracing_on", "1")?;
        Ok(tracefs)
    }

    pub(super) fn poll(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        // All events up to now are read below, from every CPU.
        self.read_until(Nanos(now().0.saturating_sub(SLACK.0)), out)
    }

    pub(super) fn close(&mut self, time: Nanos) {
        self.correlator.close(time);
    }

    /// Disables all events but those of tasks. Requests still in flight are dropped.
    pub(super) fn rest(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        self.instance.write("events/block/enable", "0")?;
        self.read_until(Nanos::MAX, out)?;
        self.correlator.finish(|r| out.push(r));
        Ok(())
    }

    /// Takes in requests that arrive from now on.
    pub(super) fn reopen(&mut self) -> Result<(), LiveError> {
        self.correlator.reopen();
        // In reverse, so that each arrival is followed to its end.
        for event in self.block_events.iter().rev() {
            self.instance.write(&format!("events/{event}/enable"), "1")?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        self.instance.write("tracing_on", "0")?;
        self.read_until(Nanos::MAX, out)?;
        self.correlator.finish(|r| out.push(r));
        Ok(())
    }

    pub(super) fn pending(&self) -> usize {
        self.correlator.pending()
    }

    pub(super) fn lost_events(&self) -> u64 {
        if let Ok(lost) = self.instance.lost_events() {
            self.lost.set(lost);
        }
        self.lost.get()
    }

    pub(super) fn process_names(&self) -> BTreeMap<u32, String> {
        self.correlator.names()
    }

    pub(super) fn origin(&self) -> Option<Nanos> {
        self.correlator.origin()
    }

    fn read_until(&mut self, horizon: Nanos, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        for reader in &mut self.readers {
            let (cpu, events) = (reader.cpu(), &mut self.events);
            reader.drain(|time, data| events.extend(self.layouts.decode(data, time, cpu)))?;
        }
        self.events.sort_by_key(|e| e.time);
        let ready = self.events.partition_point(|e| e.time < horizon);
        for event in self.events.drain(..ready) {
            self.correlator.take(&event);
        }
        self.correlator.emit(horizon, |r| out.push(r));
        Ok(())
    }
}

/// Removes the instances of dead processes. Does nothing if tracefs is not usable.
pub(super) fn tidy() {
    instance::tidy();
}

/// Sets clock, buffers, events and filters; tracing stays off. Returns the layouts of the events, and the events of the
/// block layer.
fn set_up(
    instance: &TracefsInstance,
    device: &CapturedDevice,
    buffer_kb: u32,
) -> Result<(Layouts, Vec<&'static str>), LiveError> {
    instance.write("tracing_on", "0")?;
    instance.write("trace_clock", "mono")?;
    instance.write("buffer_size_kb", &buffer_kb.to_string())?;
    let (bios, requests) = (device.bio_filter(), device.request_filter());
    let mut events: Vec<(&'static str, TraceEventKind, &str)> = vec![
        ("sched/sched_process_fork", TraceEventKind::Fork, ""),
        ("sched/sched_process_exit", TraceEventKind::Exit, ""),
        ("block/block_bio_queue", TraceEventKind::Queue, &bios),
        ("block/block_split", TraceEventKind::Split, &bios),
    ];
    if device.has_requests {
        events.push(("block/block_bio_backmerge", TraceEventKind::Merge, &bios));
        events.push(("block/block_bio_frontmerge", TraceEventKind::Merge, &bios));
        events.push(("block/block_rq_insert", TraceEventKind::Insert, &requests));
        events.push(("block/block_rq_issue", TraceEventKind::Issue, &requests));
        events.push(("block/block_rq_complete", TraceEventKind::Complete, &requests));
        events.push(("block/block_bio_complete", TraceEventKind::Refuse, &bios));
    } else {
        events.push(("block/block_bio_complete", TraceEventKind::Complete, &bios));
    }
    let (mut layouts, mut block_events) = (Layouts::default(), Vec::new());
    for (event, kind, filter) in events {
        layouts.add(instance, event, kind)?;
        if !filter.is_empty() {
            instance.write(&format!("events/{event}/filter"), filter)?;
        }
        instance.write(&format!("events/{event}/enable"), "1")?;
        if event.starts_with("block/") {
            block_events.push(event);
        }
    }
    Ok((layouts, block_events))
}
