//! Sends parts to the disk.

use super::{CacheBody, InFlight};
use crate::redcap::ring::Transfer;
use iopilot_block::{Arrival, Nanos, Op, PriorityClass, SECTOR_BYTES};
use iopilot_redcap::{RequestPart, Role};
use std::io;

const NOWHERE: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

impl CacheBody {
    /// Sends a read that failed once more, alone. The kernel merges it with the prefetches beside it, and fails the
    /// whole of a merged request where any block of it is bad. Only the second failure is the reader's own.
    ///
    /// # Errors
    /// Where the part is no read that a process waits for, or cannot be sent.
    pub(super) fn read_alone(&mut self, part: RequestPart, now: Nanos) -> io::Result<()> {
        // After a failed combined read, the policy itself sends the requested part alone.
        if part.op != Op::Read || matches!(part.role, Role::Prefetch | Role::Combined) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.send(part, now)?;
        if let Some(in_flight) = &mut self.parts[part.id.index()] {
            in_flight.again = true;
        }
        // It is submitted at once, since the requests of one batch may be merged again. If that fails, it goes with the
        // next batch.
        let _ = self.ring.submit();
        Ok(())
    }

    pub(super) fn send(&mut self, part: RequestPart, now: Nanos) -> io::Result<()> {
        let index = part.id.index();
        if index >= self.parts.len() {
            self.parts.resize(index + 1, None);
            self.vectors.resize_with(index + 1, || Box::new([NOWHERE; 3]));
        }
        let count = self.place(&part)?;
        // A warm-up read has no original.
        let original = self.originals.as_slice().get(part.io.0 as usize).and_then(Option::as_ref);
        let durable = original.is_some_and(|original| original.durable);
        let transfer = Transfer {
            name: index as u64,
            op: part.op,
            durable,
            idle: part.priority.class == PriorityClass::Idle,
            offset: part.lba.0 * SECTOR_BYTES,
            length: part.sectors.bytes(),
            vectors: (self.vectors[index].as_ptr(), count),
        };
        // SAFETY: the caller holds the lock. The vectors are boxed, and change only with the next part of this index.
        // The policy keeps the frames, and the original's buffer stays in place until its answer is sent, after its
        // last part.
        unsafe { self.ring.push(&transfer) }?;
        self.unsubmitted = true;
        self.parts[index] = Some(InFlight { part, sent: now, again: false });
        self.in_flight += 1;
        Ok(())
    }

    /// Fills in the places of a part's data. Returns the number of pieces.
    fn place(&mut self, part: &RequestPart) -> io::Result<u32> {
        if !part.op.transfers() {
            return Ok(0);
        }
        let length = part.sectors.bytes() as usize;
        let vectors = &mut self.vectors[part.id.index()];
        let mut pieces = 0;
        let mut add = |base: *mut u8, len: usize| {
            if len > 0 {
                vectors[pieces] = libc::iovec { iov_base: base.cast(), iov_len: len };
                pieces += 1;
            }
        };
        let in_segment = (part.lba.0 % self.segment_sectors * SECTOR_BYTES) as usize;
        match part.frames {
            // A prefetch.
            Some(slot) if part.role == Role::Prefetch => add(self.frames.place(slot, in_segment, length), length),
            frames => {
                let original = self.originals[part.io].as_mut().ok_or(io::ErrorKind::InvalidData)?;
                let Arrival { lba, sectors, .. } = original.io;
                let bytes = |from: u64, to: u64| (to.saturating_sub(from) * SECTOR_BYTES) as usize;
                let (first, end) = (part.lba.0, part.lba.0 + u64::from(part.sectors.0));
                // Those of its sectors that the original asked for.
                let from = lba.0.max(first);
                let to = (lba.0 + u64::from(sectors.0)).min(end);
                let (before, asked, behind) = (bytes(first, from), bytes(from, to), bytes(to, end));
                let at = bytes(lba.0, from);
                let answer = original.answer.as_mut().ok_or(io::ErrorKind::InvalidData)?;
                let data = answer.data(at + asked)?[at..].as_mut_ptr();
                match frames {
                    Some(slot) => {
                        add(self.frames.place(slot, in_segment, before), before);
                        add(data, asked);
                        add(self.frames.place(slot, in_segment + before + asked, behind), behind);
                    }
                    None => add(data, asked),
                }
            }
        }
        Ok(pieces as u32)
    }
}
