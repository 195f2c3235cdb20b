//! [`QueueMap`]: the mapping of CPUs to hardware queues.

use std::ops::Range;

/// The mapping of a machine's CPUs to a device's hardware queues.
///
/// It is the kernel's on a machine of one node (`blk_mq_map_queues`, `group_cpus_evenly`, Linux 6.12 to 6.18). Each
/// queue serves CPUs with consecutive numbers. If the CPUs cannot be divided evenly, the first queues serve one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueMap {
    cpus: u16,
    queues: u16,
}

impl QueueMap {
    /// The map of `cpus` CPUs to at most `queues` queues, both at least 1. Each queue has a CPU.
    pub fn new(cpus: u16, queues: u16) -> Self {
        let cpus = cpus.max(1);
        Self { cpus, queues: queues.clamp(1, cpus) }
    }

    /// How many hardware queues there are.
    pub fn queues(self) -> usize {
        usize::from(self.queues)
    }

    /// The index of `cpu` among the machine's CPUs. A CPU that the machine does not have counts as its last one.
    #[inline]
    pub fn cpu(self, cpu: u16) -> usize {
        usize::from(cpu.min(self.cpus - 1))
    }

    /// The queue of `cpu`. A CPU that the machine does not have counts as its last one.
    #[inline]
    pub fn queue_of(self, cpu: u16) -> usize {
        if self.queues == 1 {
            return 0;
        }
        let cpu = cpu.min(self.cpus - 1);
        if self.queues == self.cpus {
            return usize::from(cpu);
        }
        let (each, more) = (self.cpus / self.queues, self.cpus % self.queues);
        let larger = more * (each + 1);
        usize::from(if cpu < larger { cpu / (each + 1) } else { more + (cpu - larger) / each })
    }

    /// The CPUs of `queue`.
    pub(crate) fn cpus_of(self, queue: usize) -> Range<usize> {
        let (each, more) = (usize::from(self.cpus / self.queues), usize::from(self.cpus % self.queues));
        let first = |queue: usize| queue * each + queue.min(more);
        first(queue)..first(queue + 1)
    }
}

impl Default for QueueMap {
    fn default() -> Self {
        Self::new(1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_one_queue_and_every_queue_its_share_of_cpus() {
        for (cpus, queues) in [(1, 1), (2, 2), (4, 1), (5, 3), (16, 8), (7, 12), (64, 64)] {
            let map = QueueMap::new(cpus, queues);
            assert_eq!(map.queues(), usize::from(queues.min(cpus)));
            let all: Vec<usize> = (0..map.queues()).flat_map(|queue| map.cpus_of(queue)).collect();
            assert_eq!(all, (0..usize::from(cpus)).collect::<Vec<_>>(), "{cpus} CPUs, {queues} queues");
            for queue in 0..map.queues() {
                assert!(map.cpus_of(queue).all(|cpu| map.queue_of(cpu as u16) == queue));
            }
        }
        assert_eq!(QueueMap::new(5, 3).cpus_of(0), 0..2, "the first queues have one more");
        assert_eq!(QueueMap::new(2, 2).queue_of(9), 1);
    }
}
