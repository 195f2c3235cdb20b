//! [`ReferenceDisk`]: the disk of the other world, for `vd` and `vd-all-blocks` (GF 3.3).

use iopilot_block::{Arrival, Lba, Nanos, Op, Sectors, SourceHandle};

/// A request to the reference disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceRequest {
    /// What it does. Its handle is for [`ReferenceCompletion`].
    pub request: Arrival,
    /// `Some`: a hit of the simulated cache. It waits for what its process waits for, takes this long, and does not use
    /// the disk.
    pub copy: Option<Nanos>,
}

/// A request that the reference disk has served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceCompletion {
    /// As submitted.
    pub handle: SourceHandle,
    /// When.
    pub at: Nanos,
    /// From its insertion into the reference scheduler to its end. Time in the waiting queue, for requests of its own
    /// process, does not count (GF 3.2.4).
    pub wait_and_service: Nanos,
}

/// A simulated disk with a scheduler of its own (GF 3.2). It runs in the time of whoever drives the cache.
///
/// While the cache is active, the reference disk serves the original requests: it is a system without the cache. While
/// inactive, it serves what the cache would send.
pub trait ReferenceDisk {
    /// Takes a request. `now` never goes back.
    fn submit(&mut self, request: ReferenceRequest, now: Nanos);

    /// When [`ReferenceDisk::advance`] is next needed.
    fn next_event(&self) -> Option<Nanos>;

    /// Runs to `now`; adds what was served, in order.
    fn advance(&mut self, now: Nanos, out: &mut Vec<ReferenceCompletion>);

    /// The model's time for a request that the real disk has just served (the table's part of eq. 3.1). It is called for
    /// each read in the order of completion.
    fn service(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Nanos;

    /// Forgets all requests. None of them is reported any more.
    fn clear(&mut self);

    /// Whether a queue is near its threshold (GF 3.2.6). While it is, nothing is submitted or compared. The reference disk
    /// empties its waiting queue by itself; what it serves of the others is ignored. Only [`ReferenceDisk::advance`] and
    /// [`ReferenceDisk::clear`] end it.
    fn is_congested(&self) -> bool;
}

/// No reference disk: for all algorithms that need none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReferenceDisk;

impl ReferenceDisk for NoReferenceDisk {
    fn submit(&mut self, _: ReferenceRequest, _: Nanos) {}

    fn next_event(&self) -> Option<Nanos> {
        None
    }

    fn advance(&mut self, _: Nanos, _: &mut Vec<ReferenceCompletion>) {}

    fn service(&mut self, _: Op, _: Lba, _: Sectors) -> Nanos {
        Nanos::ZERO
    }

    fn clear(&mut self) {}

    /// Always, so that nothing is ever compared.
    fn is_congested(&self) -> bool {
        true
    }
}

/// One that may be absent: `None` is as [`NoReferenceDisk`].
impl<V: ReferenceDisk> ReferenceDisk for Option<V> {
    fn submit(&mut self, request: ReferenceRequest, now: Nanos) {
        if let Some(disk) = self {
            disk.submit(request, now);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.as_ref()?.next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<ReferenceCompletion>) {
        if let Some(disk) = self {
            disk.advance(now, out);
        }
    }

    fn service(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Nanos {
        self.as_mut().map_or(Nanos::ZERO, |disk| disk.service(op, lba, sectors))
    }

    fn clear(&mut self) {
        if let Some(disk) = self {
            disk.clear();
        }
    }

    fn is_congested(&self) -> bool {
        self.as_ref().is_none_or(ReferenceDisk::is_congested)
    }
}
