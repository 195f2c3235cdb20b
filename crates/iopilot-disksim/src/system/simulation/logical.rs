//! [`LogicalRequests`]: the requests to organisations in flight.

use crate::system::organisation::AccessPlan;
use iopilot_block::{Criticality, Nanos, Op, Slab};
use std::collections::HashMap;

/// A logical request in flight.
#[derive(Debug)]
pub(super) struct LogicalRequest {
    pub(super) organisation: usize,
    pub(super) arrived: Nanos,
    pub(super) op: Op,
    pub(super) criticality: Criticality,
    pub(super) operation: Option<u64>,
    /// Its uncompleted accesses.
    pub(super) remaining: u32,
    pub(super) plan: AccessPlan,
    /// Its accesses in the driver, for raising their priority.
    pub(super) jobs: Vec<u32>,
}

/// The requests in flight, by number. Numbers are reused together with the allocations of their requests.
#[derive(Debug, Default)]
pub(super) struct LogicalRequests {
    all: Slab<LogicalRequest>,
    /// Requests for which a process may still wait.
    by_operation: HashMap<u64, u32>,
}

impl LogicalRequests {
    /// Adds a request, whose plan is still to be made. Returns its number.
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

    /// The request with this number.
    pub(super) fn get(&self, number: u32) -> &LogicalRequest {
        &self.all[number]
    }

    /// The request with this number, to be changed.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut LogicalRequest {
        &mut self.all[number]
    }

    /// The request of this operation, if the process may still wait for it.
    pub(super) fn of_operation(&self, operation: u64) -> Option<u32> {
        self.by_operation.get(&operation).copied()
    }

    /// Removes a completed request: its number becomes free.
    pub(super) fn remove(&mut self, number: u32) {
        if let Some(operation) = self.all[number].operation {
            self.by_operation.remove(&operation);
        }
        self.all.remove(number);
    }
}
