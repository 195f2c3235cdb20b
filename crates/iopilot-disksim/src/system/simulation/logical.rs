//! [`LogicalRequests`]: the requests to organisations that are under way.

use crate::system::organisation::AccessPlan;
use iopilot_block::{Criticality, Nanos, Op, Slab};
use std::collections::HashMap;

/// A logical request under way.
#[derive(Debug)]
pub(super) struct LogicalRequest {
    pub(super) organisation: usize,
    pub(super) arrived: Nanos,
    pub(super) op: Op,
    pub(super) criticality: Criticality,
    pub(super) operation: Option<u64>,
    /// Its accesses that have not ended.
    pub(super) remaining: u32,
    pub(super) plan: AccessPlan,
    /// Its accesses in the driver, for raising their priority.
    pub(super) jobs: Vec<u32>,
}

/// The requests under way, by number. Numbers are reused, and with them what their requests have allocated.
#[derive(Debug, Default)]
pub(super) struct LogicalRequests {
    all: Slab<LogicalRequest>,
    /// Those of processes that may still wait for them.
    by_operation: HashMap<u64, u32>,
}

impl LogicalRequests {
    /// Adds a request, whose plan is still to be made. Answers its number.
    pub(super) fn insert(
        &mut self,
        organisation: usize,
        arrived: Nanos,
        op: Op,
        criticality: Criticality,
        operation: Option<u64>,
    ) -> u32 {
        let number = self.all.insert_with(|old| {
            let (plan, mut jobs) = match old {
                Some(old) => (std::mem::take(&mut old.plan), std::mem::take(&mut old.jobs)),
                None => (AccessPlan::default(), Vec::new()),
            };
            jobs.clear();
            LogicalRequest { organisation, arrived, op, criticality, operation, remaining: 0, plan, jobs }
        });
        if let (Some(operation), true) = (operation, criticality != Criticality::TimeNonCritical) {
            self.by_operation.insert(operation, number);
        }
        number
    }

    /// The request of this number.
    pub(super) fn get(&self, number: u32) -> &LogicalRequest {
        &self.all[number]
    }

    /// The request of this number, to change it.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut LogicalRequest {
        &mut self.all[number]
    }

    /// The request that is this operation of a process, if the process may still wait for it.
    pub(super) fn of_operation(&self, operation: u64) -> Option<u32> {
        self.by_operation.get(&operation).copied()
    }

    /// The request has ended: its number is free.
    pub(super) fn remove(&mut self, number: u32) {
        if let Some(operation) = self.all[number].operation {
            self.by_operation.remove(&operation);
        }
        self.all.remove(number);
    }
}
