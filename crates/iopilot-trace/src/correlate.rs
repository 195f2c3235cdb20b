//! [`Correlator`]: builds requests from the events of the Linux block layer.
//!
//! A bio (`Q`) begins as a request of its own. A merge (`M`, `F`) appends it to the request that it touches, and a split
//! (`X`) cuts it. It completes when all of its parts have completed. Issues (`D`) and completions (`C`) name sectors
//! instead of bios, so they are matched by address. Where events are missing (a trace that begins in the middle, or was
//! filtered), they match the requests within the sectors they name. `G`, `I`, `P`, `U` and `A` are ignored.
//!
//! An issue without a match begins a record whose arrival is that issue, so traces of `D` and `C` alone work. A
//! completion without a match is counted and left out, unless the trace has nothing but completions: then each is a
//! request that arrives when it completes.
//!
//! Memory is bounded: a request that has not completed [`MOST_PENDING`] arrivals later is returned without a completion.

use crate::TraceRecord;
use iopilot_block::{Nanos, Op, Slab};
use std::collections::{BTreeMap, VecDeque};

/// The most bios that may be waiting for the completion of one that arrived before them.
pub(crate) const MOST_PENDING: usize = 1 << 16;

const NONE: u32 = u32::MAX;

/// One end of a request in the index: device, sector, and the request's serial number, so that equal ones keep order.
type End = (u32, u64, u64);

/// A bio in arrival order.
#[derive(Debug)]
struct Bio {
    record: TraceRecord,
    /// Sectors that have not completed.
    remaining: u32,
}

/// Some sectors of a bio in a request.
#[derive(Clone, Copy, Debug)]
struct Part {
    bio: u64,
    start: u64,
    sectors: u32,
    next: u32,
}

/// Adjacent parts on their way to the device together.
#[derive(Clone, Copy, Debug)]
struct Request {
    serial: u64,
    device: u32,
    op: Op,
    start: u64,
    end: u64,
    issued: bool,
    first_part: u32,
    last_part: u32,
}

/// Turns events into records.
#[derive(Debug, Default)]
pub(crate) struct Correlator {
    bios: VecDeque<Bio>,
    /// The number of the bio at the front.
    first_bio: u64,
    parts: Slab<Part>,
    requests: Slab<Request>,
    serial: u64,
    by_start: BTreeMap<End, u32>,
    by_end: BTreeMap<End, u32>,
    /// Flushes that have not completed, a queue a device.
    flushes: BTreeMap<u32, VecDeque<u64>>,
    /// Requests by age, to drop those that never complete.
    by_age: VecDeque<(u32, u64)>,
    pub(crate) unmatched_completions: u64,
    /// Completions without a match, until the first other event.
    alone: Option<VecDeque<TraceRecord>>,
    /// Whether the trace has nothing but completions.
    only_completions: bool,
    /// Returned requests of which only the completion is known.
    pub(crate) unknown_arrivals: u64,
}

/// The sectors an event names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) start: u64,
    pub(crate) sectors: u32,
}

impl Extent {
    fn end(self) -> u64 {
        self.start + u64::from(self.sectors)
    }
}

impl Correlator {
    pub(crate) fn new() -> Self {
        Self { alone: Some(VecDeque::new()), ..Self::default() }
    }

    /// Notes an event other than a completion. Completions without a match then belong to requests from before the
    /// trace.
    fn began(&mut self) {
        if let Some(alone) = self.alone.take() {
            self.unmatched_completions += alone.len() as u64;
        }
    }

    /// A bio is submitted (`Q`).
    pub(crate) fn queue(&mut self, record: TraceRecord) {
        self.began();
        let bio = self.first_bio + self.bios.len() as u64;
        if record.op == Op::Flush {
            let waiting = self.flushes.entry(record.device).or_default();
            waiting.push_back(bio);
            if waiting.len() > MOST_PENDING {
                waiting.pop_front();
            }
        } else {
            let part = self.parts.insert(Part { bio, start: record.lba.0, sectors: record.sectors.0, next: NONE });
            let (start, end) = (record.lba.0, (record.lba + record.sectors).0);
            self.new_request(record.device, record.op, start, end, (part, part));
        }
        self.bios.push_back(Bio { remaining: record.sectors.0, record });
    }

    /// Whether a request holds the first of these sectors, and was not issued.
    pub(crate) fn is_waiting(&self, what: Extent) -> bool {
        self.find_exact(what, false, false).is_some() || self.holding(what).is_some_and(|r| !self.requests[r].issued)
    }

    /// A bio is merged behind (`M`) or before (`F`) the request that it touches.
    pub(crate) fn merge(&mut self, what: Extent, behind: bool) {
        let Some(own) = self.find_exact(what, false, true) else { return };
        let index = if behind { &self.by_end } else { &self.by_start };
        let touching = if behind { what.start } else { what.end() };
        let host = index
            .range((what.device, touching, 0)..=(what.device, touching, u64::MAX))
            .rev()
            .map(|(_, &r)| r)
            .find(|&r| r != own && !self.requests[r].issued && self.requests[r].op == what.op);
        if let Some(host) = host {
            self.absorb(host, own);
        }
    }

    /// A bio is cut at sector `at` (`X`); both pieces go on as requests.
    pub(crate) fn split(&mut self, device: u32, start: u64, at: u64) {
        let range = (device, start, 0)..=(device, start, u64::MAX);
        let Some(r) = self.by_start.range(range).rev().map(|(_, &r)| r).find(|&r| !self.requests[r].issued) else {
            return;
        };
        let request = self.requests[r];
        if at <= start || at >= request.end {
            return;
        }
        self.unindex(r);
        let (mut kept, mut cut) = ((NONE, NONE), (NONE, NONE));
        let mut p = request.first_part;
        while p != NONE {
            let Part { bio, start, sectors, next } = self.parts[p];
            let end = start + u64::from(sectors);
            if start < at && end > at {
                self.parts[p].sectors = (at - start) as u32;
                let rest = self.parts.insert(Part { bio, start: at, sectors: (end - at) as u32, next: NONE });
                self.append(&mut kept, p);
                self.append(&mut cut, rest);
            } else {
                self.append(if start < at { &mut kept } else { &mut cut }, p);
            }
            p = next;
        }
        if kept.0 == NONE || cut.0 == NONE {
            // All parts lie on one side, which happens where events are missing.
            let all = if kept.0 == NONE { cut } else { kept };
            let request = &mut self.requests[r];
            (request.first_part, request.last_part) = all;
            self.index(r);
            return;
        }
        let kept_request = &mut self.requests[r];
        (kept_request.end, kept_request.first_part, kept_request.last_part) = (at, kept.0, kept.1);
        self.index(r);
        self.new_request(request.device, request.op, at, request.end, cut);
    }

    /// A request is sent to the device (`D`). `unseen` makes its record where no earlier event named it.
    pub(crate) fn issue(&mut self, what: Extent, now: Nanos, unseen: impl FnOnce() -> TraceRecord) {
        self.began();
        if what.sectors == 0 {
            if let Some(&bio) = self.flushes.get(&what.device).and_then(VecDeque::front) {
                self.set_issue(bio, now);
            }
            return;
        }
        let found = self
            .find_exact(what, false, false)
            .or_else(|| self.find_exact(what, true, false))
            .or_else(|| self.gather(what));
        let r = match found {
            Some(r) => r,
            None => {
                self.queue(unseen());
                match self.find_exact(what, false, true) {
                    Some(r) => r,
                    None => return,
                }
            }
        };
        self.requests[r].issued = true;
        let mut p = self.requests[r].first_part;
        while p != NONE {
            let Part { bio, next, .. } = self.parts[p];
            self.set_issue(bio, now);
            p = next;
        }
    }

    /// A request comes back from the driver unserved (`R`).
    pub(crate) fn requeue(&mut self, what: Extent) {
        if let Some(r) = self.find_exact(what, true, false) {
            self.requests[r].issued = false;
        }
    }

    /// Sectors have been transferred (`C`), of one request or a part of one. `unseen` makes its record where no earlier
    /// event named it.
    pub(crate) fn complete(&mut self, what: Extent, now: Nanos, unseen: impl FnOnce() -> Option<TraceRecord>) {
        if what.sectors == 0 {
            let oldest = self.flushes.get_mut(&what.device).and_then(VecDeque::pop_front);
            match oldest.and_then(|bio| self.bio(bio)) {
                Some(bio) => bio.record.completion = Some(now),
                None => self.unmatched(unseen),
            }
            return;
        }
        let exact = self.find_exact(what, true, false).or_else(|| self.find_exact(what, false, false));
        let mut any = exact.is_some();
        if let Some(r) = exact {
            self.complete_within(r, what, now);
        } else {
            // The oldest request that holds the first sector, and those that begin behind that sector.
            let mut hits = Vec::new();
            if let Some(r) = self.holding(what) {
                hits.push(r);
            }
            let inside = (what.device, what.start + 1, 0)..(what.device, what.end(), 0);
            let op = what.op;
            hits.extend(self.by_start.range(inside).map(|(_, &r)| r).filter(|&r| {
                let q = &self.requests[r];
                q.op == op && q.issued
            }));
            any = any || !hits.is_empty();
            for r in hits {
                self.complete_within(r, what, now);
            }
        }
        if !any {
            self.unmatched(unseen);
        }
    }

    fn unmatched(&mut self, unseen: impl FnOnce() -> Option<TraceRecord>) {
        match &mut self.alone {
            Some(alone) => {
                alone.extend(unseen());
                self.only_completions |= alone.len() > MOST_PENDING;
            }
            None => self.unmatched_completions += 1,
        }
    }

    /// The next record, once its completion is known or too many have arrived since; with `flush` (at the end of the
    /// trace) always.
    pub(crate) fn pop(&mut self, flush: bool) -> Option<TraceRecord> {
        if flush || self.only_completions {
            if let Some(record) = self.alone.as_mut().and_then(VecDeque::pop_front) {
                self.unknown_arrivals += 1;
                return Some(record);
            }
        }
        let front = self.bios.front()?;
        if !flush && front.record.completion.is_none() && self.bios.len() <= MOST_PENDING {
            return None;
        }
        self.first_bio += 1;
        self.bios.pop_front().map(|bio| bio.record)
    }

    fn bio(&mut self, number: u64) -> Option<&mut Bio> {
        let at = number.checked_sub(self.first_bio)?;
        self.bios.get_mut(usize::try_from(at).ok()?)
    }

    fn set_issue(&mut self, bio: u64, now: Nanos) {
        if let Some(bio) = self.bio(bio) {
            bio.record.issue = Some(now);
        }
    }

    /// The request of exactly these sectors: the oldest, or the `latest`.
    fn find_exact(&self, what: Extent, issued: bool, latest: bool) -> Option<u32> {
        let mut same = self.by_start.range((what.device, what.start, 0)..=(what.device, what.start, u64::MAX));
        let fits = |&(_, &r): &(&End, &u32)| {
            let q = &self.requests[r];
            q.issued == issued && q.op == what.op && q.end == what.end()
        };
        let hit = if latest { same.rev().find(fits) } else { same.find(fits) };
        hit.map(|(_, &r)| r)
    }

    /// The request that holds the first sector of `what`: issued ones first, then the oldest.
    fn holding(&self, what: Extent) -> Option<u32> {
        let back = what.start.saturating_sub(MOST_SECTORS_BACK);
        let mut best: Option<(bool, u64, u32)> = None;
        for (_, &r) in self.by_start.range((what.device, back, 0)..=(what.device, what.start, u64::MAX)).rev().take(64)
        {
            let q = &self.requests[r];
            let key = (!q.issued, q.serial, r);
            if q.op == what.op && q.end > what.start && best.is_none_or(|b| key < b) {
                best = Some(key);
            }
        }
        best.map(|(_, _, r)| r)
    }

    /// Makes one request of all unissued ones within `what`, where there are any.
    fn gather(&mut self, what: Extent) -> Option<u32> {
        let inside = (what.device, what.start, 0)..(what.device, what.end(), 0);
        let hits: Vec<u32> = self
            .by_start
            .range(inside)
            .map(|(_, &r)| r)
            .filter(|&r| {
                let q = &self.requests[r];
                !q.issued && q.op == what.op && q.end <= what.end()
            })
            .collect();
        let (&host, others) = hits.split_first()?;
        for &other in others {
            self.absorb(host, other);
        }
        self.unindex(host);
        let request = &mut self.requests[host];
        (request.start, request.end) = (what.start, what.end());
        self.index(host);
        Some(host)
    }

    /// Moves all parts of `other` to `host`, which then spans both.
    fn absorb(&mut self, host: u32, other: u32) {
        self.unindex(host);
        self.unindex(other);
        let o = self.requests[other];
        let h = &mut self.requests[host];
        self.parts[h.last_part].next = o.first_part;
        h.last_part = o.last_part;
        h.start = h.start.min(o.start);
        h.end = h.end.max(o.end);
        self.index(host);
        self.free_request(other);
    }

    /// Completes those parts of request `r` that begin within `what`.
    fn complete_within(&mut self, r: u32, what: Extent, now: Nanos) {
        self.unindex(r);
        let mut left = (NONE, NONE);
        let mut p = self.requests[r].first_part;
        while p != NONE {
            let Part { bio, start, sectors, next } = self.parts[p];
            let end = start + u64::from(sectors);
            let done = end.min(what.end()).saturating_sub(start.max(what.start)) as u32;
            if done > 0 {
                if let Some(bio) = self.bio(bio) {
                    bio.remaining = bio.remaining.saturating_sub(done);
                    if bio.remaining == 0 {
                        bio.record.completion = Some(now);
                    }
                }
            }
            if done == sectors {
                self.parts.remove(p);
            } else {
                let part = &mut self.parts[p];
                // Devices complete from the front; a hole in the middle is not kept.
                part.sectors = sectors - done;
                part.start = end - u64::from(part.sectors);
                self.append(&mut left, p);
            }
            p = next;
        }
        if left.0 == NONE {
            self.free_request(r);
            return;
        }
        let request = &mut self.requests[r];
        (request.first_part, request.last_part) = left;
        if what.start <= request.start {
            request.start = what.end().min(request.end);
        }
        self.index(r);
    }

    fn append(&mut self, list: &mut (u32, u32), part: u32) {
        self.parts[part].next = NONE;
        match *list {
            (NONE, _) => *list = (part, part),
            (_, last) => {
                self.parts[last].next = part;
                list.1 = part;
            }
        }
    }

    fn new_request(&mut self, device: u32, op: Op, start: u64, end: u64, parts: (u32, u32)) {
        self.serial += 1;
        let (first_part, last_part) = parts;
        let request = Request { serial: self.serial, device, op, start, end, issued: false, first_part, last_part };
        let r = self.requests.insert(request);
        self.index(r);
        self.by_age.push_back((r, self.serial));
        while let Some(&(old, serial)) = self.by_age.front() {
            let alive = self.requests[old].serial == serial;
            if alive && self.by_age.len() <= 2 * MOST_PENDING {
                break;
            }
            self.by_age.pop_front();
            if alive {
                self.forget(old);
            }
        }
    }

    /// Drops a request that never completed.
    fn forget(&mut self, r: u32) {
        self.unindex(r);
        let mut p = self.requests[r].first_part;
        while p != NONE {
            p = self.parts.remove(p).next;
        }
        self.free_request(r);
    }

    fn free_request(&mut self, r: u32) {
        self.requests.remove(r).serial = 0;
    }

    fn index(&mut self, r: u32) {
        let q = &self.requests[r];
        self.by_start.insert((q.device, q.start, q.serial), r);
        self.by_end.insert((q.device, q.end, q.serial), r);
    }

    fn unindex(&mut self, r: u32) {
        let q = &self.requests[r];
        self.by_start.remove(&(q.device, q.start, q.serial));
        self.by_end.remove(&(q.device, q.end, q.serial));
    }
}

/// How far before an address a request that holds it may begin: Linux' largest `max_hw_sectors` is 2^15 sectors of
/// 512 B for most drivers; discards are longer, but they complete whole.
const MOST_SECTORS_BACK: u64 = 1 << 16;

#[cfg(test)]
mod tests;
