//! [`LearningTableDisk`]: a table-based disk that learns from the disk beside it while both run.

use super::Learning;
use super::in_step::InStep;
use super::service::{DeviceService, Lesson};
use super::sizeless::SizelessService;
use iopilot_block::{Flags, Lba, Nanos, RequestId};
use iopilot_catalogue::{SimulatedCacheModel, TableDisk, TableModel, TimeTables};
use iopilot_device::{Completion, Device, DeviceRequest};

/// Serves requests with the times of its tables. Before each request the tables learn what the disk has served by then.
pub(super) struct LearningTableDisk<'a> {
    disk: TableDisk,
    /// The disk's services in order of completion; empty if nothing is learnt.
    lessons: &'a [DeviceService],
    previous_end: Lba,
    /// Holds back what this disk has not served yet, if the variant is in step.
    in_step: Option<InStep>,
    /// Serves in place of `disk`, if the sizes of requests are left out.
    sizeless: Option<SizelessService>,
}

impl<'a> LearningTableDisk<'a> {
    pub(super) fn new(
        tables: TimeTables,
        cache: SimulatedCacheModel,
        learning: Learning,
        services: &'a [DeviceService],
    ) -> Self {
        Self {
            disk: TableDisk::new(TableModel { tables, cache, queue_depth: 1 }),
            lessons: if learning == Learning::No { &[] } else { services },
            previous_end: Lba(0),
            in_step: (learning == Learning::InStep).then(InStep::default),
            sizeless: None,
        }
    }

    /// The same, but the tables' times leave out the sizes of requests. Without a simulated cache only.
    pub(super) fn without_size(self) -> Self {
        Self { sizeless: Some(SizelessService::default()), ..self }
    }
}

fn learn(disk: &mut TableDisk, lesson: &Lesson) {
    let DeviceService { op, lba, sectors, .. } = lesson.service;
    let served = DeviceRequest { id: RequestId::from_index(0), op, lba, sectors, flags: Flags::empty() };
    disk.observe(&served, lesson.previous_end, lesson.service.time());
}

impl Device for LearningTableDisk<'_> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        while let Some((&service, later)) = self.lessons.split_first().filter(|(service, _)| service.completed <= now) {
            let lesson = Lesson { service, previous_end: self.previous_end };
            let due = self.in_step.as_mut().is_none_or(|in_step| in_step.served_there(&lesson));
            if due {
                learn(&mut self.disk, &lesson);
            }
            self.previous_end = service.end();
            self.lessons = later;
        }
        match &mut self.sizeless {
            Some(sizeless) => sizeless.begin(self.disk.tables(), &request, now),
            None => self.disk.submit(request, now),
        }
        if let Some(in_step) = &mut self.in_step {
            in_step.served_here(request.lba, request.sectors, |lesson| learn(&mut self.disk, lesson));
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        match &self.sizeless {
            Some(sizeless) => sizeless.current.map(|completion| completion.at),
            None => self.disk.next_event(),
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        match &mut self.sizeless {
            Some(sizeless) => out.extend(sizeless.current.take_if(|completion| completion.at <= now)),
            None => self.disk.advance(now, out),
        }
    }

    fn capacity(&self) -> u64 {
        self.disk.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.disk.queue_depth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, Sectors};
    use iopilot_catalogue::TableForm;

    /// The time of the second of three requests in a row, if the disk has served all three.
    fn second(learning: Learning) -> Nanos {
        let mut issued = 0;
        let services: Vec<DeviceService> = [100, 200, 600]
            .into_iter()
            .enumerate()
            .map(|(i, took)| {
                let (lba, sectors) = (Lba(i as u64 * 8), Sectors(8));
                let service = (Nanos(issued), Nanos(issued + took));
                issued += took;
                DeviceService { op: Op::Read, lba, sectors, issued: service.0, completed: service.1, benchmark: 0 }
            })
            .collect();
        let tables = TimeTables::new(TableForm::Two, 1 << 21, 64);
        let mut disk = LearningTableDisk::new(tables, SimulatedCacheModel::NONE, learning, &services);
        let mut done = Vec::new();
        for (service, now) in services.iter().zip([Nanos::ZERO, Nanos(2000)]) {
            let DeviceService { op, lba, sectors, .. } = *service;
            disk.submit(DeviceRequest { id: RequestId::from_index(0), op, lba, sectors, flags: Flags::empty() }, now);
            disk.advance(Nanos(1_000_000), &mut done);
        }
        done[1].at - Nanos(2000)
    }

    #[test]
    fn a_late_disk_learns_what_was_served_by_then_or_what_it_has_served_too() {
        assert_eq!(second(Learning::No), Nanos::ZERO);
        assert_eq!(second(Learning::InTime), Nanos(300));
        assert_eq!(second(Learning::InStep), Nanos(100));
    }
}
