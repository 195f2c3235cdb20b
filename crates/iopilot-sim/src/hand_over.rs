//! [`HandOvers`]: when a kernel asked its scheduler, as a recording tells it.

use iopilot_block::{Nanos, RequestId};
use std::collections::VecDeque;
use std::sync::Arc;

/// How long the kernel took to hand a request to the device, after something had happened to this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    /// After it was handed to the scheduler; as [`crate::HostConfig::issue_us`] where that is not known.
    pub inserted: Option<Nanos>,
    /// After it was complete; as [`crate::HostConfig::restart_us`] where that is not known.
    pub completed: Option<Nanos>,
    /// After it was itself handed over, where another waited; as [`crate::HostConfig::issue_us`] where that is not known.
    pub issued: Option<Nanos>,
}

/// Those of the requests of a recording that is replayed under the scheduler it was recorded under. Linux 6 with a scheduler only;
/// nothing changes under others.
///
/// Between an insertion, a completion or another hand-over and the device a kernel takes 2 to 35 µs, now and then 100, and what comes in
/// this time takes part in the choice. To a scheduler whose choices hang on who came first, such as `bfq`, they make the difference between
/// one course of a run and another.
#[derive(Clone, Debug)]
pub struct HandOvers {
    /// By the source's handle ([`crate::Arrival::tag`]).
    of: Arc<[HandOver]>,
    /// From the scheduler's choice to the device: what is left of the times in `of` after it.
    choice: Nanos,
}

impl HandOvers {
    /// The time of handle `n` is `of[n]`; the scheduler chooses `choice` before the request reaches the device.
    pub fn new(of: Arc<[HandOver]>, choice: Nanos) -> Self {
        Self { of, choice }
    }

    fn of(&self, tag: u64) -> HandOver {
        usize::try_from(tag).ok().and_then(|tag| self.of.get(tag)).copied().unwrap_or_default()
    }
}

/// When the scheduler is to be asked, and what it gave.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    hand_overs: HandOvers,
    /// In no order; as many as there are CPUs that run the queue, which are few.
    due: Vec<Nanos>,
    /// What the scheduler gave and the device has still to get, in this order.
    chosen: VecDeque<RequestId>,
    /// Above zero where the device was full just now (the kernel's `dispatch_busy`): then the scheduler is asked for one request at a time.
    busy: u32,
}

impl Asks {
    pub(crate) fn new(hand_overs: HandOvers) -> Self {
        Self { hand_overs, due: Vec::new(), chosen: VecDeque::new(), busy: 0 }
    }

    /// The request of handle `tag` was handed to the scheduler.
    pub(crate) fn inserted(&mut self, tag: u64, now: Nanos, usual: Nanos) {
        self.after(self.hand_overs.of(tag).inserted.unwrap_or(usual), now);
    }

    /// It is complete, and what waits is to be handed over.
    pub(crate) fn completed(&mut self, tag: u64, now: Nanos, usual: Nanos) {
        self.after(self.hand_overs.of(tag).completed.unwrap_or(usual), now);
    }

    /// It has reached the device: the next that was chosen does so then, and when; else the scheduler is asked again.
    pub(crate) fn issued(&mut self, tag: u64, now: Nanos, usual: Nanos) -> Option<(Nanos, RequestId)> {
        let takes = self.hand_overs.of(tag).issued.unwrap_or(usual);
        let next = self.chosen.pop_front();
        if next.is_none() {
            self.after(takes, now);
        }
        next.map(|id| (now + takes, id))
    }

    fn after(&mut self, takes: Nanos, now: Nanos) {
        self.due.push(now + takes.since(self.hand_overs.choice));
    }

    /// The scheduler gave `id`, for which the device has room.
    pub(crate) fn chosen(&mut self, id: RequestId) {
        self.chosen.push_back(id);
    }

    /// The first that was chosen is on its way, and when it reaches the device.
    pub(crate) fn begin(&mut self, now: Nanos) -> Option<(Nanos, RequestId)> {
        let id = self.chosen.pop_front()?;
        self.was_busy(false);
        Some((now + self.hand_overs.choice, id))
    }

    /// The device was full, or was not (`blk_mq_update_dispatch_busy`): remembered for a while.
    pub(crate) fn was_busy(&mut self, busy: bool) {
        self.busy = (self.busy * 7 + if busy { 16 } else { 0 }) / 8;
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// When the scheduler is to be asked next.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.due.iter().min().copied()
    }

    /// It is asked now.
    pub(crate) fn asked(&mut self, now: Nanos) {
        self.due.retain(|at| *at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::replay::{Open, ReplayRecord};
    use crate::{BlockConfig, Progress, RunConfig, run};
    use iopilot_block::{IoPriority, Lba, Op, PriorityClass, ProcessId, Sectors};
    use iopilot_device::ConstantDevice;
    use iopilot_sched::SchedulerSpec;
    use iopilot_trace::TraceRecord;

    fn us(us: u64) -> Nanos {
        Nanos::from_micros(us)
    }

    /// A read of the task `process`, which is handed to the scheduler at `at_us`.
    fn read(process: u32, at_us: u64) -> TraceRecord {
        TraceRecord {
            process: Some(ProcessId(process)),
            ..TraceRecord::new(us(at_us), Op::Read, Lba(1000 * u64::from(process)), Sectors(8))
        }
    }

    /// When each of `reads` reaches a device that takes `depth` of them and 10 ms for each, under mq-deadline.
    fn issues(reads: &[TraceRecord], depth: u32, hand_overs: Option<&[HandOver]>) -> Vec<Nanos> {
        let [plugged, not] = [true, false].map(|plug| issues_through(plug, reads, depth, hand_overs));
        assert_eq!(plugged, not, "a batch of one is the same with and without a plug");
        plugged
    }

    fn issues_through(plug: bool, reads: &[TraceRecord], depth: u32, hand_overs: Option<&[HandOver]>) -> Vec<Nanos> {
        let records: Vec<ReplayRecord> = reads.iter().map(ReplayRecord::from).collect();
        let config = RunConfig {
            block: BlockConfig {
                queue_depth: Some(depth),
                host_tags: Some(depth),
                plug: Some(plug),
                ..BlockConfig::default()
            },
            log: true,
            hand_overs: hand_overs.map(|of| HandOvers::new(of.into(), Nanos(1000))),
            ..RunConfig::default()
        };
        let device = ConstantDevice::simple(1 << 30, depth, Nanos::from_millis(10), 0.0);
        let spec = SchedulerSpec::parse("mq-deadline").unwrap();
        let report = run(Open::new(records), device, &spec, &config, &Progress::default()).unwrap();
        report.log.unwrap().into_iter().map(|r| r.issue.unwrap()).collect()
    }

    /// After an insertion, a completion and another hand-over.
    fn takes(inserted_us: u64, completed_us: u64, issued_us: u64) -> HandOver {
        HandOver { inserted: Some(us(inserted_us)), completed: Some(us(completed_us)), issued: Some(us(issued_us)) }
    }

    #[test]
    fn requests_reach_the_device_when_they_did() {
        let reads = [read(1, 0), read(2, 1000)];
        let told = [takes(30, 70, 5), takes(4, 5, 5)];
        // The second waits for the first, which takes 10 ms.
        assert_eq!(issues(&reads, 1, Some(&told)), [us(30), us(10_100)]);
        let unknown = [HandOver::default(); 2];
        assert_eq!(issues(&reads, 1, Some(&unknown)), [us(10), us(10_030)], "as the host does");
        assert_eq!(issues(&reads, 1, None), [us(10), us(10_030)]);
    }

    #[test]
    fn what_comes_before_the_choice_takes_part_in_it() {
        let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(2, 5) };
        let reads = [read(1, 0), urgent];
        let told = |first_us| [takes(first_us, 20, 20), takes(50, 20, 20)];
        let first = |issues: Vec<Nanos>| usize::from(issues[1] < issues[0]);
        assert_eq!(first(issues(&reads, 1, Some(&told(5)))), 0, "the choice was made 4 us after the first came");
        assert_eq!(first(issues(&reads, 1, Some(&told(9)))), 1, "and here 8 us after");
    }

    #[test]
    fn as_many_are_chosen_at_once_as_there_is_room_for() {
        let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(4, 35) };
        let reads = [read(1, 0), read(2, 1), read(3, 2), urgent];
        let told = [takes(20, 20, 12); 4];
        // Three are chosen at 19 us and reach the device one after the other; the fourth comes meanwhile, and goes last, 20 us after it came.
        assert_eq!(issues(&reads, 4, Some(&told)), [us(20), us(32), us(44), us(55)]);
    }

    #[test]
    fn a_full_device_is_remembered_for_two_hand_overs() {
        let mut asks = Asks::new(HandOvers::new([].into(), Nanos::ZERO));
        asks.was_busy(true);
        let busy: Vec<bool> = (0..3).map(|_| (asks.is_busy(), asks.was_busy(false)).0).collect();
        assert_eq!(busy, [true, true, false]);
    }
}
