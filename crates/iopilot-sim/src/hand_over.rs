//! [`HandOvers`]: when a kernel asked its scheduler, as a recording tells it.

use iopilot_block::{Nanos, RequestId};
use std::collections::VecDeque;
use std::sync::Arc;

/// When a scheduler was asked, where that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// So long after what it was asked for.
    pub after: Nanos,
    /// From then to the device, where something went there at once.
    pub choice: Option<Nanos>,
}

/// How long the kernel took to hand a request to the device, after something had happened to this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    /// After it was handed to the scheduler; as [`crate::HostConfig::issue_us`] where that is not known.
    pub inserted: Option<Nanos>,
    /// After it was complete; as [`crate::HostConfig::restart_us`] where that is not known.
    pub completed: Option<Nanos>,
    /// After it was itself handed over, where another waited; as [`crate::HostConfig::issue_us`] where that is not known.
    pub issued: Option<Nanos>,
    /// When the scheduler was asked after the same three things, where that was watched: else so long before the device that it had time to
    /// choose.
    pub asked: Option<AskedAfter>,
    /// The handle of the request that got its tag, and `completed` how long that took, where that was in time. Nobody else gets the tag
    /// then, and that request no other; else who is fastest does.
    pub next: Option<u64>,
    /// How long after it was complete, and its task knew it, the scheduler heard of it, and its tag was free.
    pub heard: Nanos,
    /// For how long its task's clock had stood still when it was handed to the scheduler ([`iopilot_sched::Scheduler::clock_stood`]).
    pub stood: Nanos,
}

/// When a scheduler was asked after something had happened to a request, if it was: it is not where something waits for the device, and who
/// has handed over a request does not always go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedAfter {
    /// After it was handed to the scheduler.
    pub inserted: Option<Ask>,
    /// After it was complete.
    pub completed: Option<Ask>,
    /// After it was itself handed over.
    pub issued: Option<Ask>,
}

/// Those of the requests of a recording that is replayed under the scheduler it was recorded under, of Linux 6; nothing changes under
/// older ones.
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
    /// By handle: whether it gets the tag of a certain other one.
    heirs: Arc<[bool]>,
}

impl HandOvers {
    /// The time of handle `n` is `of[n]`; the scheduler chooses `choice` before the request reaches the device.
    pub fn new(of: Arc<[HandOver]>, choice: Nanos) -> Self {
        let mut heirs = vec![false; of.len()];
        for next in of.iter().filter_map(|one| usize::try_from(one.next?).ok()) {
            heirs.get_mut(next).into_iter().for_each(|heir| *heir = true);
        }
        Self { of, choice, heirs: heirs.into() }
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
    due: Vec<Due>,
    /// Who asks now, and who is about to.
    asker: Asker,
    next_asker: Asker,
    /// What the scheduler gave and the device has still to get, in this order, and to whom.
    chosen: VecDeque<(RequestId, Asker)>,
    /// Who has handed over what is on its way.
    on_way: Asker,
    /// Above zero where the device was full just now (the kernel's `dispatch_busy`): then the scheduler is asked for one request at a time.
    busy: u32,
}

/// Who asks a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Asker {
    /// What his clock shows, where it stands still.
    clock: Option<Nanos>,
    /// What he takes from then to the device.
    choice: Nanos,
    /// Whether he was seen to ask: he does so even where somebody else has something that waits for the device.
    seen: bool,
}

impl Asker {
    /// Somebody of whom no more is known than that.
    fn unknown(choice: Nanos) -> Self {
        Self { clock: None, choice, seen: false }
    }
}

/// That a scheduler is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Nanos,
    by: Asker,
}

impl Asks {
    pub(crate) fn new(hand_overs: HandOvers) -> Self {
        let [asker, next_asker, on_way] = [Asker::unknown(hand_overs.choice); 3];
        Self { hand_overs, due: Vec::new(), asker, next_asker, chosen: VecDeque::new(), on_way, busy: 0 }
    }

    /// Which request gets the tag of that of handle `tag`, where that is known, and how long after that is complete it looks for it if it
    /// is in the device `usual` later.
    pub(crate) fn next_of(&self, tag: u64, usual: Nanos) -> Option<(u64, Nanos)> {
        let HandOver { completed, next, .. } = self.hand_overs.of(tag);
        Some((next?, completed.unwrap_or_default().since(usual)))
    }

    /// Whether the request of handle `tag` gets the tag of a certain other one.
    pub(crate) fn is_heir(&self, tag: u64) -> bool {
        usize::try_from(tag).is_ok_and(|tag| self.hand_overs.heirs.get(tag) == Some(&true))
    }

    /// The request of handle `tag` was handed to the scheduler.
    pub(crate) fn inserted(&mut self, tag: u64, now: Nanos, usual: Nanos) {
        let HandOver { inserted, stood, asked, .. } = self.hand_overs.of(tag);
        self.after(inserted.unwrap_or(usual), asked.and_then(|asked| asked.inserted), now, Some(now.since(stood)));
    }

    /// For how long its task's clock has stood still as that hands it to the scheduler.
    pub(crate) fn stood(&self, tag: u64) -> Nanos {
        self.hand_overs.of(tag).stood
    }

    /// How long after the request of handle `tag` is complete the scheduler hears of it.
    pub(crate) fn heard(&self, tag: u64) -> Nanos {
        self.hand_overs.of(tag).heard
    }

    /// It hears of it now, and what waits is to be handed over.
    pub(crate) fn completed(&mut self, tag: u64, now: Nanos, usual: Nanos) {
        let HandOver { completed, asked, heard, .. } = self.hand_overs.of(tag);
        let rest = |after: Nanos| after.since(heard);
        let seen = asked.and_then(|asked| asked.completed).map(|ask| Ask { after: rest(ask.after), ..ask });
        self.after(completed.map_or(usual, rest), seen, now, None);
    }

    /// It has reached the device: the next that was chosen does so then, and when; else the scheduler is asked again.
    pub(crate) fn issued(&mut self, tag: u64, now: Nanos, usual: Nanos) -> Option<(Nanos, RequestId)> {
        let HandOver { issued, asked, .. } = self.hand_overs.of(tag);
        let takes = issued.unwrap_or(usual);
        let Some((id, by)) = self.chosen.pop_front() else {
            let seen = asked.and_then(|asked| asked.issued);
            if asked.is_none() || seen.is_some() {
                self.after(takes, seen, now, self.on_way.clock);
            }
            return None;
        };
        self.on_way = by;
        Some((now + takes, id))
    }

    /// Has the scheduler asked when that was `seen`, else in time for what takes `takes` from `now` to the device.
    fn after(&mut self, takes: Nanos, seen: Option<Ask>, now: Nanos, clock: Option<Nanos>) {
        let usual = self.hand_overs.choice;
        let (after, choice) = match seen {
            Some(Ask { after, choice }) => (after, choice.unwrap_or(usual)),
            None => (takes.since(usual), usual),
        };
        self.due.push(Due { at: now + after, by: Asker { clock, choice, seen: seen.is_some() } });
    }

    /// Whether the scheduler was seen to be asked once that of handle `tag` was complete.
    pub(crate) fn saw_completed(&self, tag: u64) -> bool {
        self.hand_overs.of(tag).asked.is_some_and(|asked| asked.completed.is_some())
    }

    /// Whether who asks now was seen to.
    pub(crate) fn is_seen(&self) -> bool {
        self.asker.seen
    }

    /// The scheduler gave `id`, for which the device has room.
    pub(crate) fn chosen(&mut self, id: RequestId) {
        self.chosen.push_back((id, self.asker));
    }

    /// The first that was chosen is on its way, and when it reaches the device.
    pub(crate) fn begin(&mut self, now: Nanos) -> Option<(Nanos, RequestId)> {
        let (id, by) = self.chosen.pop_front()?;
        self.was_busy(false);
        self.on_way = by;
        Some((now + by.choice, id))
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
        self.due.iter().map(|due| due.at).min()
    }

    /// It is asked now.
    pub(crate) fn asked(&mut self, now: Nanos) {
        self.next_asker = self
            .due
            .iter()
            .filter(|due| due.at <= now)
            .max()
            .map_or(Asker::unknown(self.hand_overs.choice), |due| due.by);
        self.due.retain(|due| due.at > now);
    }

    /// For how long the clock of whoever asks now has stood still.
    pub(crate) fn begin_to_ask(&mut self, now: Nanos) -> Nanos {
        self.asker = self.next_asker;
        self.next_asker = Asker::unknown(self.hand_overs.choice);
        self.asker.clock.map_or(Nanos::ZERO, |clock| now.since(clock))
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
        issues_of("mq-deadline", plug, reads, depth, hand_overs)
    }

    fn issues_of(
        scheduler: &str,
        plug: bool,
        reads: &[TraceRecord],
        depth: u32,
        hand_overs: Option<&[HandOver]>,
    ) -> Vec<Nanos> {
        let records: Vec<ReplayRecord> = reads.iter().map(ReplayRecord::from).collect();
        let config = RunConfig {
            block: BlockConfig {
                queue_depth: Some(depth),
                host_tags: Some(depth),
                nr_requests: (scheduler != "none").then_some(64),
                plug: Some(plug),
                ..BlockConfig::default()
            },
            log: true,
            hand_overs: hand_overs.map(|of| HandOvers::new(of.into(), Nanos(1000))),
            ..RunConfig::default()
        };
        let device = ConstantDevice::simple(1 << 30, depth, Nanos::from_millis(10), 0.0);
        let spec = SchedulerSpec::parse(scheduler).unwrap();
        let report = run(Open::new(records), device, &spec, &config, &Progress::default()).unwrap();
        report.log.unwrap().into_iter().map(|r| r.issue.unwrap()).collect()
    }

    /// After an insertion, a completion and another hand-over.
    fn takes(inserted_us: u64, completed_us: u64, issued_us: u64) -> HandOver {
        let [inserted, completed, issued] = [inserted_us, completed_us, issued_us].map(|after_us| Some(us(after_us)));
        HandOver { inserted, completed, issued, ..HandOver::default() }
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
    fn there_is_no_room_until_the_scheduler_hears_of_it() {
        let reads = [read(1, 0), read(2, 1000), read(3, 10_030)];
        // The first is complete at 10,010 us.
        let issued = |heard_us| {
            let first = HandOver { heard: us(heard_us), ..takes(10, 70, 5) };
            issues(&reads, 1, Some(&[first, takes(4, 5, 5), takes(4, 5, 5)]))
        };
        assert_eq!(issued(19)[1], us(10_034), "whoever asks for the third gets the second");
        assert_eq!(issued(25)[1], us(10_080), "he finds no room");
        assert_eq!(issued(90)[1], us(10_101), "nobody asks before that is free");
    }

    #[test]
    fn as_many_are_chosen_at_once_as_there_is_room_for() {
        let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(4, 35) };
        let reads = [read(1, 0), read(2, 1), read(3, 2), urgent];
        let told = [takes(20, 20, 12); 4];
        // Three are chosen at 19 us and reach the device one after the other; the fourth comes meanwhile, and goes last, 20 us after it came.
        assert_eq!(issues(&reads, 4, Some(&told)), [us(20), us(32), us(44), us(55)]);
    }

    /// As [`takes`] 20 us each, and seen to be asked after the insertion, or not.
    fn seen(inserted: Option<(u64, Option<u64>)>) -> HandOver {
        let ask = |(after, choice): (u64, Option<u64>)| Ask { after: us(after), choice: choice.map(us) };
        let asked = AskedAfter { inserted: inserted.map(ask), ..AskedAfter::default() };
        HandOver { asked: Some(asked), ..takes(20, 20, 20) }
    }

    #[test]
    fn a_scheduler_is_asked_when_that_was_seen() {
        let reads = [read(1, 0), read(2, 5)];
        let issued = |first| issues(&reads, 2, Some(&[seen(first), seen(Some((4, Some(3))))]));
        assert_eq!(issued(Some((3, Some(7)))), [us(10), us(30)], "what another chose meanwhile follows");
        assert_eq!(issued(Some((6, Some(20)))), [us(26), us(46)], "whoever asks at 9 us finds the other on its way");
        assert_eq!(issued(None)[0], us(12), "whoever asks for the other gets it");
    }

    #[test]
    fn two_who_ask_at_once_have_two_requests_wait() {
        let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(4, 3000) };
        let reads = [read(1, 0), read(2, 1000), read(3, 2000), urgent];
        let order = |third| {
            let issues = issues(&reads, 1, Some(&[seen(Some((3, Some(7)))), seen(Some((4, None))), third, seen(None)]));
            let mut order = [0, 1, 2, 3];
            order.sort_by_key(|&n| issues[n]);
            order
        };
        assert_eq!(order(seen(Some((4, None)))), [0, 1, 2, 3], "the third was chosen before the urgent one came");
        assert_eq!(order(seen(None)), [0, 1, 3, 2]);
    }

    #[test]
    fn a_tag_goes_to_whom_it_went() {
        let reads = [read(1, 0), read(2, 1000), read(3, 2000)];
        let alone = |hand_overs: &[HandOver]| issues_of("none", true, &reads, 1, Some(hand_overs));
        // One tag: whoever sleeps first gets it first, unless the recording has it otherwise.
        let known = |next| HandOver { next, completed: Some(us(40)), ..HandOver::default() };
        let issued = alone(&[known(Some(2)), known(None), known(Some(1))]);
        assert_eq!(issued, [us(10), us(20_090), us(10_050)]);
        let fair = alone(&[known(None); 3]);
        assert!(fair.is_sorted(), "{fair:?}");
    }

    #[test]
    fn a_tag_is_kept_for_who_comes_later() {
        let reads = [read(1, 0), read(2, 1000), read(3, 10_100)];
        let known = |next| HandOver { next, completed: Some(us(40)), ..HandOver::default() };
        let issued = issues_of("none", true, &reads, 1, Some(&[known(Some(2)), known(None), known(Some(1))]));
        assert_eq!(issued, [us(10), us(20_150), us(10_110)]);
    }

    #[test]
    fn a_full_device_is_remembered_for_two_hand_overs() {
        let mut asks = Asks::new(HandOvers::new([].into(), Nanos::ZERO));
        asks.was_busy(true);
        let busy: Vec<bool> = (0..3).map(|_| (asks.is_busy(), asks.was_busy(false)).0).collect();
        assert_eq!(busy, [true, true, false]);
    }
}
