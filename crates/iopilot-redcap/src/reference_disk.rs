//! [`ReferenceDisk`]: the simulated disk that `vd` and `vd-all-blocks` compare the real one with. GF 3.3 calls it a virtual
//! disk.

use iopilot_block::{Arrival, Lba, Nanos, Op, Sectors, SourceHandle};

/// A request to the reference disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceRequest {
    /// The request. [`ReferenceCompletion`] returns its handle.
    pub request: Arrival,
    /// `Some` for a hit of the simulated cache: it waits for the requests of its process, then takes this long, and does not
    /// use the disk.
    pub copy: Option<Nanos>,
}

/// A request that the reference disk has served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceCompletion {
    /// The handle of the request.
    pub handle: SourceHandle,
    /// The time of the completion.
    pub at: Nanos,
    /// The time from the insertion into the reference disk's scheduler to the completion. Time in the waiting queue, for
    /// requests of the same process, does not count (GF 3.2.4).
    pub wait_and_service: Nanos,
}

/// A simulated disk with a scheduler of its own (GF 3.2). It runs in the time of the cache.
///
/// While the cache is active, the reference disk serves the original requests: it is a system without the cache. While the
/// cache is inactive, it serves the requests that the cache would send.
pub trait ReferenceDisk {
    /// Takes a request. `now` never decreases.
    fn submit(&mut self, request: ReferenceRequest, now: Nanos);

    /// The time of the next call of [`ReferenceDisk::advance`].
    fn next_event(&self) -> Option<Nanos>;

    /// Runs to `now`. Appends the completions to `out`, in order.
    fn advance(&mut self, now: Nanos, out: &mut Vec<ReferenceCompletion>);

    /// The model's time for a request that the real disk has just served (the table's part of eq. 3.1). It is called for
    /// each read in the order of completion.
    fn service(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Nanos;

    /// Drops all requests. None of them completes.
    fn clear(&mut self);

    /// Whether a queue is near its threshold (GF 3.2.6). Meanwhile nothing is submitted or compared. The reference disk
    /// empties its waiting queue by itself; completions of the other requests are ignored. Only [`ReferenceDisk::advance`] and
    /// [`ReferenceDisk::clear`] end the congestion.
    fn is_congested(&self) -> bool;
}

/// No reference disk, for the algorithms that need none.
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

    /// Always true, so that nothing is compared.
    fn is_congested(&self) -> bool {
        true
    }
}

/// An optional reference disk: `None` behaves as [`NoReferenceDisk`].
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
