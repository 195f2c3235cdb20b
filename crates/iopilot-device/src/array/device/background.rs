//! Background work of the array: destaging its write cache, and rebuilding onto spares.

use super::Array;
use super::event::ArrayEvent;
use crate::Device;
use crate::array::layout::ArrayLayout;
use crate::array::nvram::Region;
use crate::array::operation::{ArrayOperation, ArrayTask};
use crate::{Completion, ServiceBreakdown};
use iopilot_block::{Lba, Nanos, Op, SECTOR_BYTES};
use std::collections::VecDeque;

/// The longest destage if stripes are longer or do not matter: 1 MiB.
const LONGEST_DESTAGE: u64 = 2048;

/// The state of the background work.
#[derive(Clone, Debug)]
pub(super) struct Background<D> {
    spare: Option<D>,
    spares: u32,
    /// Members to rebuild, the current one first, and its next row.
    rebuilds: VecDeque<u32>,
    next_row: u64,
    rebuilt_at: Option<Nanos>,
    destages: u32,
    /// Whether the cache exceeded its high mark and has not yet reached its low mark.
    relieving: bool,
    /// Whether the whole cache is being destaged because the host is idle.
    draining: bool,
    /// Changes with each request of the host.
    idle_token: u64,
}

impl<D> Background<D> {
    pub(super) fn new(spare: Option<D>, spares: u32) -> Self {
        Self {
            spare,
            spares,
            rebuilds: VecDeque::new(),
            next_row: 0,
            rebuilt_at: None,
            destages: 0,
            relieving: false,
            draining: false,
            idle_token: 0,
        }
    }

    pub(super) fn rebuilt_at(&self) -> Option<Nanos> {
        if self.rebuilds.is_empty() { self.rebuilt_at } else { None }
    }

    /// The host is not idle any more.
    pub(super) fn busy(&mut self) {
        self.draining = false;
        self.idle_token += 1;
    }
}

impl<D: Device + Clone> Array<D> {
    /// The host has no request outstanding: schedules the destage of the whole cache.
    pub(super) fn plan_idle(&mut self, now: Nanos) {
        if let Some(nvram) = self.model.nvram {
            if self.nvram.used() > 0 {
                self.events.push(now + nvram.destage_idle, ArrayEvent::Idle(self.background.idle_token));
            }
        }
    }

    pub(super) fn idle(&mut self, token: u64, now: Nanos, out: &mut Vec<Completion>) {
        if token == self.background.idle_token {
            self.background.draining = true;
            self.destage(now, out);
        }
    }

    /// Starts destages in three cases: between the high and the low mark, while a write waits for room, and while the
    /// host is idle.
    pub(super) fn destage(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let Some(nvram) = self.model.nvram else { return };
        let share = |share: f64| (nvram.sectors as f64 * share) as u64;
        let (high, low) = (share(nvram.destage_above), share(nvram.destage_to));
        while self.background.destages < nvram.destage_depth {
            let used = self.nvram.used();
            self.background.relieving = used > if self.background.relieving { low } else { high };
            if !self.background.relieving && self.unbuffered.is_empty() && !self.background.draining {
                return;
            }
            let layout = self.mapper.layout();
            let Some((lba, sectors)) = self.nvram.pick(|sector| region(layout, sector)) else { return };
            self.background.destages += 1;
            let task = ArrayTask::Destage { lba, sectors: sectors as u32 };
            let operation = self.operations.insert_with(|old| ArrayOperation::new(task, old));
            self.launch(operation, now, out);
        }
    }

    pub(super) fn destaged(&mut self, operation: u32, lba: u64, sectors: u32, now: Nanos, out: &mut Vec<Completion>) {
        self.nvram.written(lba, u64::from(sectors));
        self.background.destages -= 1;
        self.unlock(operation, now, out);
        self.operations.remove(operation);
        self.admit_and_destage(now, out);
    }

    /// A member fails: operations that were reading from it are planned again, and writes to it are dropped.
    pub(super) fn fail(&mut self, member: u32, now: Nanos, out: &mut Vec<Completion>) {
        self.health.lose(member);
        let spare = self.background.spare.clone().filter(|_| self.background.spares > 0);
        let lost: Vec<u32> = self.issued.at_member(member).collect();
        self.members[member as usize].remove(self.model.member_queue.as_ref(), now);
        self.update_clock(member);
        for number in lost {
            let issued = self.issued.take(number);
            if issued.io.op == Op::Read {
                self.operations[issued.operation].again = true;
            }
            let nothing = ServiceBreakdown { cache_hit: true, ..ServiceBreakdown::default() };
            self.member_done(&issued, &nothing, now, out);
        }
        if let (Some(spare), Some(rebuild)) = (spare, self.model.rebuild) {
            self.background.spares -= 1;
            self.members[member as usize].replace(spare);
            self.background.rebuilds.push_back(member);
            if self.background.rebuilds.len() == 1 {
                self.background.next_row = 0;
                self.events.push(now + rebuild.delay, ArrayEvent::Rebuild);
            }
        }
    }

    /// Rebuilds the next rows.
    pub(super) fn rebuild_next_rows(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let (Some(rebuild), Some(&member)) = (self.model.rebuild, self.background.rebuilds.front()) else { return };
        let row = self.background.next_row;
        let rows = (rebuild.chunk / self.layout().stripe_unit()).max(1).min(self.layout().rows() - row);
        let task = ArrayTask::Rebuild { member, row, rows, begun: now };
        let operation = self.operations.insert_with(|old| ArrayOperation::new(task, old));
        self.launch(operation, now, out);
    }

    pub(super) fn rows_rebuilt(
        &mut self,
        operation: u32,
        member: u32,
        row: u64,
        begun: Nanos,
        now: Nanos,
        out: &mut Vec<Completion>,
    ) {
        let done = row >= self.layout().rows();
        if done {
            self.health.restore(member);
        } else {
            self.health.rebuilt_to(member, row);
        }
        let rows = row - self.background.next_row;
        self.background.next_row = row;
        let pace = self
            .model
            .rebuild
            .and_then(|rebuild| rebuild.rate)
            .map_or(0.0, |rate| (rows * self.layout().stripe_unit() * SECTOR_BYTES) as f64 / rate * 1e9);
        self.unlock(operation, now, out);
        self.operations.remove(operation);
        if done {
            self.background.rebuilds.pop_front();
            self.background.next_row = 0;
            self.background.rebuilt_at = Some(now);
            if self.background.rebuilds.is_empty() {
                return;
            }
        }
        self.events.push((begun + Nanos(pace as u64)).max(now), ArrayEvent::Rebuild);
    }
}

/// The sectors that one destage may cover around a sector. With redundancy it is the stripe. Without redundancy, or
/// if stripes are very long, it is a window.
fn region(layout: &ArrayLayout, sector: u64) -> Region {
    if layout.check_units() > 0 {
        let stripe = layout.address(Lba(sector)).stripe;
        let (first, behind) = (layout.first_lba(stripe).0, layout.first_lba(stripe + 1).0);
        if behind - first <= 2 * LONGEST_DESTAGE && behind > sector {
            return Region { first, behind, better_whole: true };
        }
        let first = sector / LONGEST_DESTAGE * LONGEST_DESTAGE;
        return Region { first, behind: (first + LONGEST_DESTAGE).min(layout.capacity()), better_whole: false };
    }
    Region { first: sector, behind: (sector + LONGEST_DESTAGE).min(layout.capacity()), better_whole: false }
}
