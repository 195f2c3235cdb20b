//! How the processes of each name spent their time.

use super::Host;
use crate::process::{HostProcess, ProcessState};
use crate::process_times::ProcessTimes;
use iopilot_block::{Nanos, ProcessGroup, ProcessKind};
use std::collections::BTreeMap;

impl Host {
    /// The processes alive since the report began, by name and kind, in the order of the first start in each group.
    pub(super) fn process_groups(&self, now: Nanos) -> Vec<ProcessGroup> {
        let mut places: BTreeMap<(&str, ProcessKind), usize> = BTreeMap::new();
        let mut groups: Vec<(ProcessGroup, ProcessTimes)> = Vec::new();
        for (process, kind, life) in self.lives(now) {
            let place = *places.entry((&*process.name, kind)).or_insert(groups.len());
            if place == groups.len() {
                let name = process.name.to_string();
                groups.push((
                    ProcessGroup { name, kind, process: process.id.0, ..ProcessGroup::default() },
                    ProcessTimes::default(),
                ));
            }
            let (group, all) = &mut groups[place];
            group.count += 1;
            *all += life;
        }
        groups.into_iter().map(|(group, life)| with_life(group, &life)).collect()
    }

    /// How all processes spent their time since the report began.
    pub(super) fn all_lives(&self, now: Nanos) -> ProcessTimes {
        let mut all = ProcessTimes::default();
        self.lives(now).for_each(|(.., life)| all += life);
        all
    }

    fn lives(&self, now: Nanos) -> impl Iterator<Item = (&HostProcess, ProcessKind, ProcessTimes)> {
        let syncer = self.files.as_ref().map(|files| files.syncer);
        let lived = |process: &HostProcess| match process.state {
            ProcessState::New => false,
            ProcessState::Exited => process.since >= self.reported_from,
            _ => true,
        };
        self.processes.iter().enumerate().filter(move |(_, process)| lived(process)).map(move |(p, process)| {
            let kind = match process.is_task {
                _ if syncer == Some(p) => ProcessKind::Kernel,
                true => ProcessKind::Task,
                false => ProcessKind::Other,
            };
            (process, kind, process.life_until(now) - process.unreported)
        })
    }
}

fn with_life(group: ProcessGroup, life: &ProcessTimes) -> ProcessGroup {
    ProcessGroup {
        life_s: life.length().as_secs_f64(),
        running_s: life.running.as_secs_f64(),
        computation_s: life.computed.as_secs_f64(),
        runnable_s: life.runnable.as_secs_f64(),
        io_waits: life.io_waits,
        io_wait_s: life.io_wait.as_secs_f64(),
        throttled_s: life.throttled.as_secs_f64(),
        other_waits: life.other_waits,
        other_wait_s: life.other_wait.as_secs_f64(),
        ..group
    }
}
