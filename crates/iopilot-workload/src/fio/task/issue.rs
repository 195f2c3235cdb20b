//! The next request of a [`FioTask`]: its direction, file and offset.

use super::super::job::{FioEngine, READ, WRITE};
use super::{FIRST_PROCESS, FLUSH, FioTask, HANDLE_SHIFT, Phase, Sleep};
use crate::{Arrival, SourceHandle, Step};
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, SECTOR_BYTES, Sectors};
use rand::Rng;

impl FioTask {
    /// Issues one request or flush, or begins to wait for the rate. Returns whether it submitted a batch.
    pub(super) fn issue(&mut self, direction: Option<usize>, now: Nanos, out: &mut Vec<Step>) -> bool {
        if self.flush_is_due() {
            self.wrote_last = false;
            self.queue_flush();
            if self.job.engine == FioEngine::AsyncFlush {
                self.phase = Phase::Fill;
                return self.queued.len() as u64 >= self.batch_size && self.submit(out);
            }
            self.phase = Phase::Flush;
            return self.submit(out);
        }
        let direction = direction.unwrap_or_else(|| self.pick_direction());
        let direction = match self.hold_back(direction, now) {
            Ok(direction) => direction,
            Err((wake, direction)) => {
                self.phase = Phase::Quiesce(Sleep::Rate(wake, direction));
                return false;
            }
        };
        let Some((address, length)) = self.place(direction) else {
            self.files_ended = true;
            self.phase = Phase::Drain;
            return false;
        };
        self.queue(direction, address, length);
        self.phase = Phase::Fill;
        self.queued.len() as u64 >= self.batch_size && self.submit(out)
    }

    fn flush_is_due(&self) -> bool {
        let writes = self.issues[WRITE];
        let due = |every: u64| every > 0 && writes > 0 && writes % every == 0;
        self.wrote_last && (due(self.job.fsync) || due(self.job.fdatasync))
    }

    fn pick_direction(&mut self) -> usize {
        let pattern = self.job.pattern;
        if pattern.is_mixed() {
            let read = self.random.direction.random_range(1..=100) <= self.job.read_percent;
            return if read { READ } else { WRITE };
        }
        pattern.directions().next().unwrap_or(READ)
    }

    /// The direction to issue now, or an error with a later time and its direction. A mixed job that is ahead in one direction
    /// issues the other.
    fn hold_back(&self, direction: usize, now: Nanos) -> Result<usize, (Nanos, usize)> {
        let Some(pace) = &self.pace else { return Ok(direction) };
        let at = |d: usize| self.epoch.saturating_add(pace.next(d));
        if at(direction) <= now {
            return Ok(direction);
        }
        let other = if direction == READ { WRITE } else { READ };
        let share = if other == READ { self.job.read_percent } else { 100 - self.job.read_percent };
        if !self.job.pattern.is_mixed() || share == 0 {
            return Err((at(direction), direction));
        }
        if at(other) <= now {
            return Ok(other);
        }
        let first = if at(direction) <= at(other) { direction } else { other };
        Err((at(first), first))
    }

    /// The address and length of the next request; `None` if all files are done.
    fn place(&mut self, direction: usize) -> Option<(u64, u64)> {
        self.offset_left -= 1;
        let fresh = self.offset_left == 0;
        if fresh {
            self.offset_left = self.job.per_offset;
        }
        let single = self.files.len() == 1;
        let wraps = (self.job.time_based && single) || (self.job.pattern.is_mixed() && self.limit > self.size);
        loop {
            self.choose_file()?;
            let file = &mut self.files[self.file];
            if let Some(found) = file.next(&self.job, direction, fresh, wraps, &mut self.random) {
                self.file_left = self.file_left.saturating_sub(1);
                return Some(found);
            }
            file.done = true;
        }
    }

    /// Moves on to the next file if the current one has had its turn, or is done; `None` if all are done.
    fn choose_file(&mut self) -> Option<()> {
        use crate::fio::job::FileService::{Random, RoundRobin, Sequential};
        let n = self.files.len();
        let stays = self.job.service == Sequential || self.file_left > 0;
        if stays && !self.files[self.file].done {
            return Some(());
        }
        self.file_left = self.job.per_file;
        let from = match self.job.service {
            Random => self.random.other.random_range(0..n),
            RoundRobin | Sequential => self.file + 1,
        };
        self.file = (from..from + n).map(|i| i % n).find(|&i| !self.files[i].done)?;
        Some(())
    }

    fn queue(&mut self, direction: usize, address: u64, length: u64) {
        let job = &self.job;
        let (op, mut flags) = match direction {
            READ => (Op::Read, Flags::empty()),
            WRITE => (Op::Write, Flags::SYNC | Flags::IDLE),
            _ => (Op::Discard, Flags::SYNC),
        };
        if job.sync && direction == WRITE {
            flags |= Flags::FUA;
        }
        let raised = job.cmdprio_percent[direction];
        let raised = raised > 0 && self.random.other.random_range(1..=100) <= raised;
        let priority = if raised { job.cmdprio } else { job.priority() };
        let arrival = self.arrival(op, Lba(address / SECTOR_BYTES), length, flags, priority);
        self.queued.push(arrival);
        self.taken += 1;
        self.bytes += length;
        self.pass_bytes += length;
        self.issues[direction] += 1;
        self.wrote_last = direction == WRITE;
        self.written_since_flush |= direction != READ;
        self.last_direction = direction;
        if let Some(pace) = &mut self.pace {
            pace.issued(direction, length, &mut self.random.other);
        }
    }

    pub(super) fn queue_flush(&mut self) {
        let priority = self.job.priority();
        let mut arrival = self.arrival(Op::Flush, Lba(0), 0, Flags::SYNC, priority);
        arrival.handle.0 |= FLUSH;
        self.queued.push(arrival);
        self.flushing = true;
        self.written_since_flush = false;
        if self.job.engine == FioEngine::AsyncFlush {
            self.taken += 1;
        }
    }

    fn arrival(&mut self, op: Op, lba: Lba, bytes: u64, flags: Flags, priority: IoPriority) -> Arrival {
        self.serial += 1;
        let index = u64::from(self.process.0 - FIRST_PROCESS);
        Arrival {
            op,
            lba,
            sectors: Sectors((bytes / SECTOR_BYTES) as u32),
            flags,
            process: self.process,
            priority,
            // With several requests in flight, the job waits for one when its slots run out.
            criticality: if self.depth == 1 { Criticality::TimeCritical } else { Criticality::TimeLimited },
            cpu: self.cpu,
            handle: SourceHandle(index << HANDLE_SHIFT | (self.serial << 1)),
        }
    }

    /// Submits the queued requests to the block layer as one batch. Returns whether there were any.
    pub(super) fn submit(&mut self, out: &mut Vec<Step>) -> bool {
        let any = !self.queued.is_empty();
        self.in_flight += self.queued.len() as u64;
        out.extend(self.queued.drain(..).map(Step::Request));
        any
    }
}
