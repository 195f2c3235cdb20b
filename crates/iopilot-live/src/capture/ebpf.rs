//! [`Ebpf`]: a capture by programs in the kernel, which `bpf/capture.bpf.c` explains.
//!
//! The kernel numbers arrivals, and reports a record when a request completes. Numbers without a record are requests in
//! flight. The programs belong to this process: when it ends, in whatever way, they are gone.

mod message;
mod programs;
mod reorder_buffer;

use super::clock::now;
use super::device::CapturedDevice;
use super::options::Delivery;
use super::tasks::{Tasks, comm_text};
use crate::LiveError;
use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::TraceRecord;
use message::{BpfMessage, FlagBits, RequestMessage, TaskMessage};
use programs::Programs;
use reorder_buffer::ReorderBuffer;
use std::collections::{BTreeMap, HashMap};

/// The most tasks remembered; others are looked up in `/proc`.
const MAX_TASKS: usize = 1 << 16;

/// The most requests that wait for an earlier one. A scheduler may delay one for seconds. But its completion may have
/// been lost, and a fast disk would fill memory meanwhile.
const MAX_WAITING: usize = 1 << 17;

/// Reads requests from the kernel's ring buffer.
#[derive(Debug)]
pub(super) struct Ebpf {
    programs: Programs,
    flags: FlagBits,
    tasks: HashMap<u32, TaskMessage>,
    older: Tasks,
    sequence: ReorderBuffer<RequestMessage>,
    delivery: Delivery,
    /// Completed requests to pass on at once.
    fresh: Vec<RequestMessage>,
    patience: Nanos,
    origin: Option<Nanos>,
    /// The latest arrival that was passed on.
    latest: Nanos,
    /// Messages that could not be decoded, or came after their request was given up.
    strange: u64,
}

impl Ebpf {
    pub(super) fn start(
        device: &CapturedDevice,
        buffer_kb: u32,
        patience: Nanos,
        delivery: Delivery,
    ) -> Result<Self, LiveError> {
        // The first request to complete need not be the first to arrive.
        let origin = (delivery == Delivery::AtOnce).then(now);
        Ok(Self {
            programs: Programs::start(device, buffer_kb)?,
            flags: FlagBits::default(),
            tasks: HashMap::new(),
            older: Tasks::default(),
            sequence: ReorderBuffer::default(),
            delivery,
            fresh: Vec::new(),
            patience,
            origin,
            latest: Nanos::ZERO,
            strange: 0,
        })
    }

    pub(super) fn poll(&mut self, out: &mut Vec<TraceRecord>) {
        self.drain();
        self.hand_out(out);
        let oldest = Nanos(now().0.saturating_sub(self.patience.0));
        // Gives up requests that arrived before that, and those that too many others have overtaken.
        while self.sequence.waiting() > MAX_WAITING && self.sequence.skip_where(|_| true)
            || self.sequence.skip_where(|next| next.arrival < oldest)
        {
            self.hand_out(out);
        }
    }

    /// Ignores requests that arrive from now on.
    pub(super) fn close(&mut self) -> Result<(), LiveError> {
        self.programs.close()
    }

    /// Detaches all programs. Requests still in flight are dropped.
    pub(super) fn rest(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        self.programs.detach()?;
        self.drain();
        self.hand_out(out);
        if self.delivery == Delivery::AtOnce {
            return Ok(());
        }
        while self.sequence.skip_where(|_| true) {
            self.hand_out(out);
        }
        self.sequence.begin_at(self.programs.counts().arrived);
        Ok(())
    }

    /// Takes in requests that arrive from now on.
    pub(super) fn reopen(&mut self) -> Result<(), LiveError> {
        self.programs.attach()
    }

    pub(super) fn finish(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        self.close()?;
        self.drain();
        self.hand_out(out);
        for request in self.programs.under_way()? {
            self.take(request.number, Some(request));
        }
        self.hand_out(out);
        while self.sequence.skip_where(|_| true) {
            self.hand_out(out);
        }
        Ok(())
    }

    pub(super) fn pending(&self) -> usize {
        let counts = self.programs.counts();
        usize::try_from(counts.arrived.saturating_sub(counts.over)).unwrap_or(usize::MAX)
    }

    pub(super) fn given_up(&self) -> u64 {
        self.sequence.skipped()
    }

    pub(super) fn lost_events(&self) -> u64 {
        self.programs.counts().lost + self.strange
    }

    pub(super) fn process_names(&self) -> BTreeMap<u32, String> {
        let named = self.tasks.values().filter(|task| task.issued);
        named.map(|task| (task.pid, comm_text(&task.comm))).filter(|(_, name)| !name.is_empty()).collect()
    }

    pub(super) fn origin(&self) -> Option<Nanos> {
        self.origin
    }

    fn drain(&mut self) {
        if !self.flags.known() {
            self.flags = self.programs.flag_bits();
        }
        while let Some(message) = self.programs.next() {
            match message {
                Some(BpfMessage::Request(request)) => self.take(request.number, Some(request)),
                Some(BpfMessage::Refused(number)) => self.take(number, None),
                Some(BpfMessage::Task(task)) => {
                    if self.tasks.len() >= MAX_TASKS {
                        self.tasks.clear();
                    }
                    self.tasks.insert(task.pid, task);
                }
                None => self.strange += 1,
            }
        }
    }

    fn take(&mut self, number: u64, request: Option<RequestMessage>) {
        match self.delivery {
            Delivery::AtOnce => self.fresh.extend(request),
            Delivery::InOrder => self.strange += u64::from(!self.sequence.put(number, request)),
        }
    }

    fn hand_out(&mut self, out: &mut Vec<TraceRecord>) {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.drain(..).for_each(|request| out.extend(self.record(&request)));
        self.fresh = fresh;
        while let Some(request) = self.sequence.next() {
            out.extend(self.record(&request));
        }
    }

    fn record(&mut self, request: &RequestMessage) -> Option<TraceRecord> {
        // The time is read some nanoseconds before the number, so two CPUs may do that in opposite order.
        let arrival = match self.delivery {
            Delivery::AtOnce => request.arrival,
            Delivery::InOrder => request.arrival.max(self.latest),
        };
        self.latest = arrival;
        let origin = *self.origin.get_or_insert(arrival);
        let mut record = request.record(self.flags)?;
        record.arrival = arrival.since(origin);
        record.merged = Some(request.merged);
        record.inserted = request.inserted.map(|t| t.max(arrival).since(origin));
        record.issue = request.issued.map(|t| t.max(arrival).since(origin));
        record.completion = request.completed.map(|t| t.max(arrival).since(origin));
        let (parent, start, group) = match self.tasks.get_mut(&request.pid) {
            Some(task) => {
                task.issued = true;
                (Some(task.parent), task.start, Some(task.tgid))
            }
            None => {
                let task = self.older.get(request.pid);
                (task.parent, task.start, None)
            }
        };
        record.thread_group = group.map(ProcessId);
        record.parent = parent.map(ProcessId);
        record.process_start = Some(start.since(origin));
        Some(record)
    }
}
