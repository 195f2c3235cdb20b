//! Prefetches that wait for room in the queue below ([`PrefetchQueue`](crate::prefetch_queue::PrefetchQueue)), and processes
//! that wait for prefetches.

use super::Redcap;
use crate::blocks::SegmentBlocks;
use crate::prefetch_queue::WaitingPrefetch;
use crate::records::{PartRecord, Partial};
use crate::{PartId, RedcapAction, ReferenceDisk, Role};
use iopilot_block::{Criticality, Nanos, SourceHandle};

impl<V: ReferenceDisk> Redcap<V> {
    /// Tells how many requests the queue below takes without letting a process sleep: its `nr_requests`, over all hardware
    /// queues. A prefetch waits in the cache while as many are in flight. There is no limit at first.
    pub const fn set_queue_limit(&mut self, requests: u32) {
        self.prefetches.set_limit(requests);
    }

    /// The body could not send an [optional](crate::RequestPart::is_optional) part without letting a process sleep. It waits
    /// for the end of another request. If none is in flight, it is given up.
    pub fn put_off(&mut self, part: PartId, now: Nanos, out: &mut Vec<RedcapAction>) {
        let record = &mut self.parts[part.0];
        record.in_flight = false;
        let (fetch, slot) = (record.fetch, record.slot);
        // Its blocks may have been taken out while it was on its way.
        self.blocks_taken_out = true;
        self.let_wait(WaitingPrefetch { part: part.0, fetch, since: now }, slot);
        if self.sent() > 0 {
            return self.give_up_surplus(now, out);
        }
        if let Some(prefetch) = self.prefetches.take_if(|other| other == part.0) {
            self.give_up(prefetch, now, out);
        }
        // Others wait for this one.
        self.settle(now, out);
    }

    /// A process now waits for the request `io`: its parts, and the prefetches that it waits for, become time-critical.
    /// O(requests).
    pub fn waits(&mut self, io: SourceHandle, out: &mut Vec<RedcapAction>) {
        let is_it = |original: &crate::records::Original| original.unended > 0 && original.io.handle == io;
        let Some(original) = self.originals.as_slice().iter().position(is_it) else { return };
        let original = original as u32;
        self.originals[original].io.criticality = Criticality::TimeCritical;
        let own = |part: &PartRecord| part.in_flight && part.original == original && part.role != Role::Prefetch;
        self.raise_if(own, out);
        for n in 0..self.partials.slots() as u32 {
            let Partial { slot, todo, waiting, .. } = self.partials[n];
            if waiting && self.partials[n].original == original {
                self.hurry(original, slot, todo, out);
            }
        }
    }

    /// The number of parts that were sent and have not ended.
    fn sent(&self) -> usize {
        self.parts.len() - self.prefetches.len()
    }

    /// Sends a prefetch, or lets it wait.
    pub(super) fn send_or_put_off(&mut self, record: PartRecord, now: Nanos, out: &mut Vec<RedcapAction>) {
        if self.prefetches.has_room(self.sent()) {
            return self.send(record, out);
        }
        let PartRecord { fetch, slot, .. } = record;
        let part = self.parts.insert(record);
        self.let_wait(WaitingPrefetch { part, fetch, since: now }, slot);
    }

    fn let_wait(&mut self, prefetch: WaitingPrefetch, slot: u32) {
        self.counters.put_off += 1;
        self.cache.get_mut(slot).put_off += 1;
        self.prefetches.push(prefetch);
    }

    /// A reader waits for `blocks` of a segment. The prefetches of them that wait are sent at once for it. Those in flight
    /// become time-critical, if the reader is.
    pub(super) fn hurry(&mut self, reader: u32, slot: u32, blocks: SegmentBlocks, out: &mut Vec<RedcapAction>) {
        let wanted = |record: &PartRecord| record.slot == slot && !(record.stored & blocks).is_empty();
        while self.cache.get(slot).put_off > 0 {
            let parts = &self.parts;
            let Some(prefetch) = self.prefetches.take_if(|part| wanted(&parts[part])) else { break };
            self.cache.get_mut(slot).put_off -= 1;
            self.dispatch(prefetch.part, Some(reader), out);
        }
        if self.originals[reader].io.criticality == Criticality::TimeCritical {
            self.raise_if(|part| part.in_flight && wanted(part), out);
        }
    }

    /// The chosen parts become time-critical.
    fn raise_if(&self, chosen: impl Fn(&PartRecord) -> bool, out: &mut Vec<RedcapAction>) {
        let raised = self.parts.as_slice().iter().enumerate().filter(|(_, part)| chosen(part));
        out.extend(raised.map(|(n, _)| RedcapAction::Raise { part: PartId(n as u32) }));
    }

    /// Gives up the prefetches that are not worth their turn, and sends those whose turn it is. To be called last, when no
    /// record is being worked on.
    pub(crate) fn settle(&mut self, now: Nanos, out: &mut Vec<RedcapAction>) {
        if self.prefetches.len() == 0 {
            return;
        }
        self.give_up_surplus(now, out);
        while let Some(prefetch) = self.prefetches.take_next(self.sent()) {
            let slot = self.parts[prefetch.part].slot;
            self.cache.get_mut(slot).put_off -= 1;
            self.dispatch(prefetch.part, None, out);
        }
    }

    fn give_up_surplus(&mut self, now: Nanos, out: &mut Vec<RedcapAction>) {
        loop {
            let (parts, cache) = (&self.parts, &self.cache);
            let is_written = |part: u32| (cache.get(parts[part].slot).coming & parts[part].stored).is_empty();
            let written = if self.blocks_taken_out { self.prefetches.take_if(is_written) } else { None };
            self.blocks_taken_out = written.is_some();
            match written.or_else(|| self.prefetches.take_surplus(now)) {
                Some(prefetch) => self.give_up(prefetch, now, out),
                None => return,
            }
        }
    }

    /// Gives up a prefetch that was taken from those that wait.
    fn give_up(&mut self, prefetch: WaitingPrefetch, now: Nanos, out: &mut Vec<RedcapAction>) {
        let slot = self.parts[prefetch.part].slot;
        self.cache.get_mut(slot).put_off -= 1;
        self.counters.given_up += 1;
        self.dropped(PartId(prefetch.part), now, out);
    }
}
