//! System calls on files: each step is retried until it is done.

use super::Host;
use crate::file_call::{FileCall, FileId};
use crate::file_op::FileOp;
use crate::file_system::{BLOCK_SECTORS, Metadata, MetadataUpdate};
use crate::files::CachedFileSystem;
use crate::page_cache::{PageKey, PageState};
use crate::process::{Pending, ProcessState, WaitReason};
use iopilot_block::{Arrival, Criticality, Flags, InputError, IoPriority, Lba, Nanos, Op, Sectors, SourceHandle, Step};
use std::ops::Range;

/// The outcome of a try of a step.
pub(super) enum StepOutcome {
    /// It is done.
    Done,
    /// The process computes for this time, in microseconds, and tries the step again.
    Again(f64),
    /// The process waits for this request, and tries the step again.
    Wait(usize),
    /// The process waits for this request because the cache has no room, and tries the step again.
    WaitForRoom(usize),
}

/// The process, CPU and time of a step of a system call, and where its requests go.
pub(super) struct StepContext<'a> {
    pub(super) p: usize,
    pub(super) c: usize,
    pub(super) now: Nanos,
    pub(super) out: &'a mut Vec<Step>,
}

impl Host {
    /// Begins a system call of process `p` on files.
    pub(super) fn file_call(&mut self, p: usize, call: FileCall) {
        let Some(files) = &mut self.files else {
            return self.fail(p, "there is no file system".to_owned());
        };
        let plan = &mut self.processes[p].plan;
        if let Err(error) = files.plan(call, &self.settings.costs, plan) {
            plan.clear();
            let why = self.names.error(error);
            self.fail(p, why);
        }
    }

    /// Process `p` cannot continue: the workload ends.
    pub(super) fn fail(&mut self, p: usize, why: String) {
        let process = &self.processes[p];
        let who = format!("process {} ({})", process.name, process.id);
        let refused = || InputError::new(who, why, "a call that succeeds");
        self.failure.get_or_insert_with(refused);
        self.left = 0;
    }

    /// The syncer wakes up.
    pub(super) fn sweep(&mut self, now: Nanos) {
        let Some(files) = &mut self.files else { return };
        files.plan_sweep(now, &mut self.processes[files.syncer].plan);
    }

    /// The syncer has finished a sweep: it sleeps until the next one, or until something is dirty.
    fn rest(&mut self, now: Nanos) {
        let Some(files) = &mut self.files else { return };
        files.rests = files.cache.dirty() == 0;
        if !files.rests {
            self.set_syncer(now);
        }
    }

    /// Something is dirty: ends the syncer's rest.
    fn wake_syncer(&mut self, now: Nanos) {
        let Some(files) = &mut self.files else { return };
        if self.processes[files.syncer].state != ProcessState::Exited && std::mem::take(&mut files.rests) {
            self.set_syncer(now);
        }
    }

    /// Sets the syncer's next wake-up.
    fn set_syncer(&mut self, now: Nanos) {
        let Some(files) = &self.files else { return };
        let interval = files.settings.write_back.interval.0;
        let next = Nanos((now.0 / interval + 1).saturating_mul(interval));
        self.agenda.set(self.appointment(files.syncer), Some(next));
    }

    /// Continues the system call of process `p` as far as possible. Returns what the process waits for; `None` if it computes,
    /// or if the call is over and its next event has been fetched.
    pub(super) fn continue_call(&mut self, p: usize, c: usize, now: Nanos, out: &mut Vec<Step>) -> Option<WaitReason> {
        while let Some(&op) = self.processes[p].plan.front() {
            match self.attempt(op, &mut StepContext { p, c, now, out }) {
                StepOutcome::Done => {
                    self.processes[p].plan.pop_front();
                }
                StepOutcome::Again(us) => {
                    let left = self.cost(us);
                    if left > Nanos::ZERO {
                        self.processes[p].left = left;
                        self.processes[p].call = Some(Pending::Resume);
                        return None;
                    }
                }
                StepOutcome::Wait(request) => return Some(self.wait_in_call(p, request, WaitReason::Page)),
                StepOutcome::WaitForRoom(request) => return Some(self.wait_in_call(p, request, WaitReason::Room)),
            }
        }
        if self.files.as_ref().is_some_and(|files| files.syncer == p) {
            self.processes[p].left = Nanos::ZERO;
            self.processes[p].call = Some(Pending::Sweep);
            self.rest(now);
            return Some(WaitReason::Timer);
        }
        self.fetch(p, false, now);
        None
    }

    /// Makes process `p` wait for `request`, and then try its step again.
    fn wait_in_call(&mut self, p: usize, request: usize, wait: WaitReason) -> WaitReason {
        self.processes[p].left = Nanos::ZERO;
        self.processes[p].call = Some(Pending::Resume);
        if let Some(files) = &mut self.files {
            files.wait(request, p);
        }
        wait
    }

    fn attempt(&mut self, op: FileOp, at: &mut StepContext<'_>) -> StepOutcome {
        match op {
            FileOp::Spend(us) => {
                // The next try finds nothing left to spend.
                if let Some(op) = self.processes[at.p].plan.front_mut() {
                    *op = FileOp::Spend(0.0);
                }
                if us > 0.0 { StepOutcome::Again(us) } else { StepOutcome::Done }
            }
            FileOp::Metadata(metadata) => self.metadata(metadata, at),
            FileOp::Read { file, page, counted, missed } => {
                let Some(files) = &mut self.files else { return StepOutcome::Done };
                let key = PageKey::of(file, page);
                let found = files.cache.find(key);
                let Some(place) = found else {
                    let Some(mapping) = files.system.map(file, page) else { return StepOutcome::Done };
                    self.set_read(at.p, false, true);
                    return self.read(key, mapping.block, Criticality::TimeCritical, at);
                };
                if !counted {
                    files.cache.count(!missed && files.cache.get(place).state != PageState::Reading);
                    let ahead = files.ahead(file, page);
                    self.set_read(at.p, true, missed);
                    if let Some((page, end)) = ahead {
                        self.processes[at.p].plan.push_front(FileOp::ReadAhead { file, page, end });
                        return StepOutcome::Again(0.0);
                    }
                }
                self.wait_for_page(place, false, at).unwrap_or(StepOutcome::Done)
            }
            FileOp::Write { file, page, is_whole } => {
                let Some(files) = &mut self.files else { return StepOutcome::Done };
                // Another process may have removed it.
                let Some(mapping) = files.system.map(file, page) else { return StepOutcome::Done };
                let key = PageKey::of(file, page);
                let place = match files.cache.find(key) {
                    Some(place) => place,
                    None if !is_whole => return self.read(key, mapping.block, Criticality::TimeCritical, at),
                    None => match self.add_page(key, mapping.block, at) {
                        Ok(place) => place,
                        Err(busy) => return busy,
                    },
                };
                self.wait_for_page(place, false, at).unwrap_or_else(|| self.change(place, false, at.now))
            }
            FileOp::WriteOut { key, class } => match self.place(key, PageState::Dirty) {
                Some(place) => self.write(place, class, at),
                None => StepOutcome::Done,
            },
            FileOp::Await(key) => match self.place(key, PageState::Writing) {
                Some(place) => self.wait_for_request(place, at),
                None => StepOutcome::Done,
            },
            FileOp::ReadAhead { file, page, end } => self.read_ahead(file, page..end, at),
            FileOp::Drop { file, keeps_name, from } => self.drop_pages(file, keeps_name, from, at),
        }
    }

    /// Reads the first of these pages that is not cached. Read-ahead never waits for room.
    fn read_ahead(&mut self, file: FileId, pages: Range<u64>, at: &mut StepContext<'_>) -> StepOutcome {
        let end = pages.end;
        let Some(files) = self.files.as_ref().filter(|files| files.cache.has_room()) else { return StepOutcome::Done };
        let Some((key, block)) = files.next_absent(file, pages) else { return StepOutcome::Done };
        if let Some(op) = self.processes[at.p].plan.front_mut() {
            *op = FileOp::ReadAhead { file, page: key.page() + 1, end };
        }
        self.read(key, block, Criticality::TimeLimited, at)
    }

    /// Notes the progress of a read in the step of process `p`.
    fn set_read(&mut self, p: usize, is_counted: bool, is_missed: bool) {
        if let Some(FileOp::Read { counted, missed, .. }) = self.processes[p].plan.front_mut() {
            (*counted, *missed) = (is_counted, is_missed);
        }
    }

    /// The place of `key` in the cache, if it is in this state.
    fn place(&self, key: PageKey, state: PageState) -> Option<u32> {
        let cache = &self.files.as_ref()?.cache;
        cache.find(key).filter(|&place| cache.get(place).state == state)
    }

    fn metadata(&mut self, metadata: Metadata, at: &mut StepContext<'_>) -> StepOutcome {
        let Some(files) = &mut self.files else { return StepOutcome::Done };
        let Metadata { block, update, is_new } = metadata;
        let key = PageKey::metadata(block);
        let place = match files.cache.find(key) {
            Some(place) => place,
            None if !is_new => return self.read(key, block, Criticality::TimeCritical, at),
            None => match self.add_page(key, block, at) {
                Ok(place) => place,
                Err(busy) => return busy,
            },
        };
        if let Some(waits) = self.wait_for_page(place, update == Some(MetadataUpdate::Sync), at) {
            return waits;
        }
        match update {
            None => StepOutcome::Done,
            Some(MetadataUpdate::Delayed) => self.change(place, false, at.now),
            Some(MetadataUpdate::Locked) => self.change(place, true, at.now),
            Some(MetadataUpdate::Sync) => {
                self.change(place, true, at.now);
                if let Some(op) = self.processes[at.p].plan.front_mut() {
                    *op = FileOp::Await(key);
                }
                self.write(place, Criticality::TimeCritical, at)
            }
        }
    }

    /// Waits until a page can be used, and with `alone` until it is not being written; `None` if that is now.
    fn wait_for_page(&mut self, place: u32, alone: bool, at: &mut StepContext<'_>) -> Option<StepOutcome> {
        let page = *self.files.as_ref()?.cache.get(place);
        let waits = match page.state {
            PageState::Reading => true,
            PageState::Writing => page.is_locked || alone,
            PageState::Clean | PageState::Dirty => false,
        };
        if waits {
            return Some(self.wait_for_request(place, at));
        }
        // The page may have been read ahead, and be wanted only now.
        self.want_page(place, at);
        None
    }

    fn wait_for_request(&mut self, place: u32, at: &mut StepContext<'_>) -> StepOutcome {
        self.want_page(place, at).map_or(StepOutcome::Done, StepOutcome::Wait)
    }

    /// Waits for a page's request in flight, without use of the page's content.
    pub(super) fn wait_for_flight(&mut self, place: u32, at: &mut StepContext<'_>) -> Option<usize> {
        let request = self.files.as_ref()?.cache.get(place).request?;
        self.want_request(place, request, at)
    }

    /// The process wants a page. Returns its request, if that is in flight.
    fn want_page(&mut self, place: u32, at: &mut StepContext<'_>) -> Option<usize> {
        let request = self.files.as_mut()?.cache.use_page(place)?;
        self.want_request(place, request, at)
    }

    /// The process wants a page, whose request this is. Returns the request, if it is in flight.
    fn want_request(&mut self, place: u32, request: usize, at: &mut StepContext<'_>) -> Option<usize> {
        let files = self.files.as_mut()?;
        let is_first = self.requests.want(request, at.now);
        let is_in_flight = matches!(files.cache.get(place).state, PageState::Reading | PageState::Writing);
        if is_in_flight {
            let is_complete = self.requests.get(request).complete.is_some();
            if is_first && !is_complete {
                at.out.push(Step::Waits(SourceHandle(request as u64)));
            }
            return Some(request);
        }
        files.cache.forget_request(place);
        self.requests.release(request);
        None
    }

    fn change(&mut self, place: u32, locks: bool, now: Nanos) -> StepOutcome {
        if let Some(files) = &mut self.files {
            files.cache.change(place, locks);
        }
        self.wake_syncer(now);
        StepOutcome::Done
    }

    /// Adds a clean page. Without room, a page must be written first.
    fn add_page(&mut self, key: PageKey, block: u64, at: &mut StepContext<'_>) -> Result<u32, StepOutcome> {
        let Some(files) = &mut self.files else { return Err(StepOutcome::Done) };
        if files.cache.has_room() {
            let (place, unwanted) = files.cache.insert(key, block);
            self.unwanted(unwanted);
            return Ok(place);
        }
        let Some(busy) = files.cache.busy() else { return Err(StepOutcome::Done) };
        Err(match files.cache.get(busy).state {
            PageState::Dirty => self.write(busy, Criticality::TimeCritical, at),
            _ => self.wait_for_flight(busy, at).map_or(StepOutcome::Done, StepOutcome::WaitForRoom),
        })
    }

    /// Reads a page that is not in the cache.
    fn read(&mut self, key: PageKey, block: u64, class: Criticality, at: &mut StepContext<'_>) -> StepOutcome {
        match self.add_page(key, block, at) {
            Ok(place) => self.submit(place, Op::Read, class, at),
            Err(busy) => busy,
        }
    }

    /// Writes a dirty page.
    fn write(&mut self, place: u32, class: Criticality, at: &mut StepContext<'_>) -> StepOutcome {
        self.submit(place, Op::Write, class, at)
    }

    fn submit(&mut self, place: u32, op: Op, criticality: Criticality, at: &mut StepContext<'_>) -> StepOutcome {
        let Some(CachedFileSystem { cache, system, .. }) = &mut self.files else { return StepOutcome::Done };
        let (key, block) = (cache.key(place), cache.get(place).block);
        let owner = || system.map(key.file(), key.page()).map(|mapping| mapping.block);
        debug_assert!(key.is_metadata() || owner() == Some(block), "{key:?} has block {block} no more");
        let lba = Lba(block * BLOCK_SECTORS);
        let request = self.requests.issue_page(at.p, op, criticality, key, at.c, at.now);
        cache.issued(place, request, op == Op::Read && criticality == Criticality::TimeLimited);
        self.processes[at.p].in_flight += 1;
        at.out.push(Step::Request(Arrival {
            op,
            lba,
            sectors: Sectors(BLOCK_SECTORS as u32),
            flags: Flags::empty(),
            process: self.processes[at.p].id,
            priority: IoPriority::default(),
            criticality,
            cpu: at.c as u16,
            handle: SourceHandle(request as u64),
        }));
        StepOutcome::Again(self.settings.costs.submit_us)
    }

    /// Releases the request of a page that left the cache unwanted.
    fn unwanted(&mut self, request: Option<usize>) {
        if let Some(request) = request {
            self.requests.release(request);
        }
    }

    /// The interrupt of a request for a page has been handled.
    pub(super) fn page_completed(&mut self, request: usize, key: PageKey, now: Nanos) {
        let keeps = self.requests.is_unwanted(request);
        let Some(files) = &mut self.files else { return };
        let over = files.cache.completed(key, keeps);
        // The page may have been changed meanwhile.
        let is_dirty = files.cache.dirty() > 0;
        let mut woken = std::mem::take(&mut self.woken);
        files.take_waiting(request, &mut woken);
        self.woken = woken;
        self.unwanted(over);
        if is_dirty {
            self.wake_syncer(now);
        }
        self.wake_all(now);
    }
}
