//! [`InStep`]: delays each lesson until both disks have served the request.

use super::service::Lesson;
use iopilot_block::{Lba, Sectors};
use std::collections::{HashMap, VecDeque};

/// Sectors of a block of the file system.
const BLOCK: u64 = 8;

/// Counts how often each of the two disks has served each block, and holds lessons back.
///
/// The table disk learns from all requests that the disk has served *by then* (GF 3.2.1). When it is late, it has
/// already learnt the times of requests that it has not served yet. A reader that goes backwards has a miss and the
/// hits that follow in one cell, so that the table disk takes the miss for a hit. O(1) for each block of a request.
#[derive(Default)]
pub(super) struct InStep {
    blocks: HashMap<u64, Block>,
}

#[derive(Default)]
struct Block {
    /// How often the table disk has served the block (`here`), and the disk (`there`).
    here: u32,
    there: u32,
    /// Lessons of requests that begin here, each with the count of `here` at which the table disk has served that
    /// request, too.
    waiting: VecDeque<(u32, Lesson)>,
}

impl InStep {
    /// The disk has served a request. Returns true if the table disk has served it, too; otherwise the lesson is held
    /// back.
    pub(super) fn served_there(&mut self, lesson: &Lesson) -> bool {
        let mut blocks = blocks(lesson.service.lba, lesson.service.sectors);
        let Some(first) = blocks.next() else { return true };
        blocks.for_each(|block| self.blocks.entry(block).or_default().there += 1);
        let first = self.blocks.entry(first).or_default();
        first.there += 1;
        let due = first.there <= first.here;
        if !due {
            first.waiting.push_back((first.there, *lesson));
        }
        due
    }

    /// The table disk has served a request: passes the lessons that waited for it to `learn`.
    pub(super) fn served_here(&mut self, lba: Lba, sectors: Sectors, mut learn: impl FnMut(&Lesson)) {
        for block in blocks(lba, sectors) {
            let block = self.blocks.entry(block).or_default();
            block.here += 1;
            while let Some((_, lesson)) = block.waiting.front().filter(|(at, _)| *at <= block.here) {
                learn(lesson);
                block.waiting.pop_front();
            }
        }
    }
}

fn blocks(lba: Lba, sectors: Sectors) -> impl Iterator<Item = u64> {
    lba.0 / BLOCK..(lba.0 + u64::from(sectors.0)).div_ceil(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gf_table_accuracy::service::DeviceService;
    use iopilot_block::{Nanos, Op};

    fn lesson(lba: u64, sectors: u32) -> Lesson {
        let service = DeviceService {
            op: Op::Read,
            lba: Lba(lba),
            sectors: Sectors(sectors),
            issued: Nanos::ZERO,
            completed: Nanos(1),
            benchmark: 0,
        };
        Lesson { service, previous_end: Lba(0) }
    }

    /// The first sectors of the requests whose times are learnt when the table disk serves this one.
    fn learnt(in_step: &mut InStep, lba: u64, sectors: u32) -> Vec<u64> {
        let mut learnt = Vec::new();
        in_step.served_here(Lba(lba), Sectors(sectors), |lesson| learnt.push(lesson.service.lba.0));
        learnt
    }

    #[test]
    fn a_time_waits_until_the_table_disk_has_served_the_first_block() {
        let mut in_step = InStep::default();
        assert!(!in_step.served_there(&lesson(64, 16)));
        assert!(learnt(&mut in_step, 72, 8).is_empty());
        assert_eq!(learnt(&mut in_step, 64, 8), [64]);
        assert!(learnt(&mut in_step, 64, 8).is_empty(), "only once");
    }

    #[test]
    fn what_the_table_disk_served_first_is_learnt_at_once_as_often_as_it_did() {
        let mut in_step = InStep::default();
        assert!(learnt(&mut in_step, 64, 16).is_empty());
        assert!(in_step.served_there(&lesson(64, 8)));
        assert!(in_step.served_there(&lesson(72, 8)));
        assert!(!in_step.served_there(&lesson(64, 8)), "read again by the disk alone");
        assert!(!in_step.served_there(&lesson(64, 8)));
        assert_eq!(learnt(&mut in_step, 64, 8), [64]);
        assert_eq!(learnt(&mut in_step, 64, 8), [64]);
    }

    #[test]
    fn one_request_here_may_be_several_there() {
        let mut in_step = InStep::default();
        for lba in [8, 0, 16] {
            assert!(!in_step.served_there(&lesson(lba, 8)));
        }
        assert_eq!(learnt(&mut in_step, 0, 24), [0, 8, 16]);
    }
}
