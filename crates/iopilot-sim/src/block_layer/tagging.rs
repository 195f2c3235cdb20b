//! Tags: who takes one, who sleeps for one, and who gets one that is free again.

use super::{BlockLayer, Race};
use iopilot_block::{Nanos, RequestId};
use iopilot_device::Device;
use iopilot_sched::Scheduler;

impl BlockLayer {
    /// Takes a tag for `id`; false where there is none for it.
    pub(super) fn take_tag(&mut self, id: RequestId) -> bool {
        let rq = &self.rqs[id];
        if let Some(asks) = &self.asks {
            let handle = self.ios.tag(rq.tag);
            if let Some(kept) = self.kept.iter().position(|&kept| kept == handle) {
                self.kept.swap_remove(kept);
                return true;
            }
            // Its tag is still another's.
            if asks.is_heir(handle) && self.tags.are_shared() {
                return false;
            }
        }
        let limit = self.scheduler.depth_limit(rq, self.tags.nr_requests());
        self.tags.take(rq, limit)
    }

    /// The submitter of `id` was woken and looks for a tag; it may find that another task was faster.
    pub(crate) fn wake<D: Device>(&mut self, id: RequestId, now: Nanos, device: &mut D) {
        // A task asleep does not look for a merge again, but what it submits next does. Where requests sleep one by
        // one, each stands for such a next one.
        let merged = !self.is_switching() && !self.serial && self.try_merge(id, now);
        let won = self.winners.iter().position(|winner| *winner == id).map(|at| self.winners.swap_remove(at));
        if won.is_some() {
            if merged || self.is_switching() {
                self.tags.give_back(&self.rqs[id]);
            }
            if self.is_switching() {
                self.tags.sleep(id, &self.rqs[id]);
                self.drained(now);
                return;
            }
        } else {
            if !merged && (self.is_switching() || !self.take_tag(id)) {
                self.tags.asleep_again(id, &self.rqs[id]);
                return;
            }
            self.tags.awake();
        }
        let process = self.rqs[id].process;
        if merged {
            // It needs no tag: that goes to the next.
            self.tags.pass_on(&self.rqs[id], &mut self.effects.wake);
        } else {
            self.admit(id, now);
        }
        if self.serial {
            self.go_on(process, now);
        }
        self.end_batch(now, device);
    }

    /// The request `id`, of handle `tag`, is complete: its task and who slept for its tag race for that, unless it is known who won.
    pub(super) fn free_tag(&mut self, id: RequestId, tag: u64, now: Nanos) {
        let usual = self.queue.issue_latency;
        let next = self.asks.as_ref().filter(|_| self.tags.are_shared()).and_then(|asks| asks.next_of(tag, usual));
        if let Some((next, takes)) = next {
            self.kept.push(next);
            let heir = self.tags.take_out(|sleeper| self.ios.tag(self.rqs[sleeper].tag) == next);
            self.effects.wake_after.extend(heir.map(|heir| (heir, takes)));
            return;
        }
        let woken = self.effects.wake.len();
        self.tags.give(&self.rqs[id], &mut self.effects.wake);
        let behind = self.rqs[id].process;
        self.race.served(behind, now);
        for sleeper in self.effects.wake.drain(woken..) {
            let rq = &self.rqs[sleeper];
            self.effects.race.push(Race { sleeper, behind, loses: self.race.loses((rq.process, rq.cpu), behind) });
        }
    }

    /// The request `sleeper` has won the race for a tag: it looks for it before anybody else does, though it takes until it wakes to go on.
    pub(crate) fn won_race(&mut self, sleeper: RequestId) {
        if self.tags.are_shared() && !self.is_switching() && self.take_tag(sleeper) {
            self.tags.awake();
            self.winners.push(sleeper);
        }
    }

    /// The request `sleeper` has lost the race for a tag.
    pub(crate) fn lost_race(&mut self, sleeper: RequestId) {
        self.race.lose(self.rqs[sleeper].process);
    }
}
