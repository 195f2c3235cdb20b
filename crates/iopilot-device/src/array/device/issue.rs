//! Locks, plans, and the requests to the members.

use super::Array;
use crate::Device;
use crate::array::lock::LockedExtent;
use crate::array::member::{IssuedMemberIo, Members};
use crate::array::operation::{ArrayTask, sum};
use crate::array::plan::{MemberIo, Plan};
use crate::{Completion, ServiceBreakdown};
use iopilot_block::{Flags, Lba, Nanos, Op, Sectors};

impl<D: Device + Clone> Array<D> {
    /// Plans and starts an operation, once it has its locks.
    pub(super) fn launch(&mut self, operation: u32, now: Nanos, out: &mut Vec<Completion>) {
        if !self.operations[operation].locked {
            if let Some((extent, exclusive)) = self.lock_for(operation) {
                self.operations[operation].locked = true;
                if !self.locks.acquire(operation, extent, exclusive) {
                    return;
                }
            }
        }
        self.plan_and_issue(operation, now, out);
    }

    /// Plans an operation that has its locks, and issues its first requests.
    fn plan_and_issue(&mut self, operation: u32, now: Nanos, out: &mut Vec<Completion>) {
        let mut plan = std::mem::take(&mut self.operations[operation].plan);
        self.operations[operation].again = false;
        match self.operations[operation].task {
            ArrayTask::Host(request) if request.op == Op::Flush || self.operations[operation].preflush => {
                self.plan_flush(&mut plan);
            }
            ArrayTask::Host(request) => {
                let view = Members(&self.members);
                self.mapper.plan(request.op, request.lba, request.sectors, &self.health, &view, &mut plan);
            }
            ArrayTask::Destage { lba, sectors } => {
                let view = Members(&self.members);
                self.mapper.plan(Op::Write, Lba(lba), Sectors(sectors), &self.health, &view, &mut plan);
            }
            ArrayTask::Rebuild { member, row, rows, .. } => {
                self.mapper.plan_rebuild(member, row, rows, &self.health, &mut plan);
            }
        }
        let mut ready = std::mem::take(&mut self.ready);
        plan.begin(|index, _| ready.push(index as u32));
        self.operations[operation].plan = plan;
        self.issue_all(operation, &mut ready, &ServiceBreakdown::default(), now);
        self.ready = ready;
        if self.operations[operation].plan.is_done() {
            self.plan_done(operation, now, out);
        }
    }

    /// Plans a flush of every working member.
    fn plan_flush(&self, plan: &mut Plan) {
        plan.clear(false);
        for (member, at) in (0u32..).zip(&self.members) {
            if at.present {
                plan.push(MemberIo { member, op: Op::Flush, lba: Lba(0), sectors: Sectors(0) });
            }
        }
    }

    /// Issues the requests in `ready`; requests to missing members complete at once.
    fn issue_all(&mut self, operation: u32, ready: &mut Vec<u32>, path: &ServiceBreakdown, now: Nanos) {
        let mut next = 0;
        while let Some(&index) = ready.get(next) {
            next += 1;
            let op = &mut self.operations[operation];
            let io = *op.plan.io(index as usize);
            if !self.members[io.member as usize].present {
                op.plan.done(index as usize, |freed, _| ready.push(freed as u32));
                continue;
            }
            let durable = matches!(op.task, ArrayTask::Host(request) if request.flags.contains(Flags::FUA));
            let flags = if durable && io.op == Op::Write { Flags::FUA } else { Flags::empty() };
            op.outstanding += 1;
            let number = self.issued.add(IssuedMemberIo { operation, index, io, flags, path: *path, live: true });
            self.members[io.member as usize].submit(number, &self.issued, now);
            self.update_clock(io.member);
        }
        ready.clear();
    }

    /// Continues the operation of a finished member request.
    pub(super) fn member_done(
        &mut self,
        issued: &IssuedMemberIo,
        service: &ServiceBreakdown,
        now: Nanos,
        out: &mut Vec<Completion>,
    ) {
        let operation = issued.operation;
        let op = &mut self.operations[operation];
        op.outstanding -= 1;
        op.all_hits &= service.cache_hit;
        let path = sum(&issued.path, service);
        op.path = path;
        if op.again {
            if op.outstanding == 0 {
                self.launch(operation, now, out);
            }
            return;
        }
        let mut ready = std::mem::take(&mut self.ready);
        op.plan.done(issued.index as usize, |next, _| ready.push(next as u32));
        self.issue_all(operation, &mut ready, &path, now);
        self.ready = ready;
        if self.operations[operation].plan.is_done() {
            self.plan_done(operation, now, out);
        }
    }

    /// Releases an operation's lock and continues the operations that waited for it.
    pub(super) fn unlock(&mut self, operation: u32, now: Nanos, out: &mut Vec<Completion>) {
        if !self.operations[operation].locked {
            return;
        }
        self.operations[operation].locked = false;
        let mut granted = std::mem::take(&mut self.granted);
        let from = granted.len();
        self.locks.release(operation, &mut granted);
        for i in from..granted.len() {
            let next = granted[i];
            self.granted = granted;
            self.plan_and_issue(next, now, out);
            granted = std::mem::take(&mut self.granted);
        }
        granted.truncate(from);
        self.granted = granted;
    }

    /// The lock that an operation needs, and whether it is exclusive. Updates of redundancy need one, and so do reads
    /// that reconstruct lost data.
    fn lock_for(&self, operation: u32) -> Option<(LockedExtent, bool)> {
        let op = &self.operations[operation];
        let layout = self.layout();
        let redundant = layout.check_units() > 0 || self.model.rebuild.is_some();
        let (lba, sectors, exclusive) = match op.task {
            ArrayTask::Host(_) if op.preflush => return None,
            ArrayTask::Host(request) => match request.op {
                Op::Flush => return None,
                Op::Read if layout.check_units() == 0 || !self.health.is_degraded() => return None,
                Op::Read => (request.lba, request.sectors.0, false),
                Op::Write | Op::Discard => (request.lba, request.sectors.0, true),
            },
            ArrayTask::Destage { lba, sectors } => (Lba(lba), sectors, true),
            ArrayTask::Rebuild { member, row, rows, .. } => {
                let stripe = |row| layout.at(member, row).map_or(u64::MAX, |(stripe, _)| stripe);
                let stripes = (stripe(row), stripe(row + rows - 1));
                return Some((LockedExtent { stripes, sectors: (0, u32::MAX) }, true));
            }
        };
        if !redundant || sectors == 0 {
            return None;
        }
        let (first, last) = (layout.address(lba), layout.address(Lba(lba.0 + u64::from(sectors) - 1)));
        let one = first.stripe == last.stripe && first.unit == last.unit;
        let sectors = if one { (first.offset, last.offset + 1) } else { (0, u32::MAX) };
        Some((LockedExtent { stripes: (first.stripe, last.stripe), sectors }, exclusive))
    }
}
