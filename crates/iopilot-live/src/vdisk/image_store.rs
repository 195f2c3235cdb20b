//! [`ImageStore`]: the image of a virtual disk as a block device's store; and [`Timing`]: when its answers are sent.

use super::engine::{RealTimeModel, TimedAnswer};
use super::image::Image;
use super::model_queue::DiskRequest;
use super::stats::{Counted, VdiskTally};
use crate::block_server::{Answer, BlockRequest, Store, monotonic};
use iopilot_block::{Lba, Nanos, Op, RequestId, SECTOR_BYTES, Sectors};
use iopilot_catalogue::AnyDevice;
use std::io;
use std::sync::{Arc, Mutex};

/// The engine of a virtual disk.
pub(super) type ModelEngine = RealTimeModel<AnyDevice, Answer>;

impl TimedAnswer for Answer {
    fn send(self) {
        self.send();
    }

    fn is_error(&self) -> bool {
        self.is_error()
    }
}

/// When requests are answered.
#[derive(Clone)]
pub(super) enum Timing {
    /// When a model has completed them.
    Model(Arc<ModelEngine>),
    /// At once, by the thread that moved the data.
    None(Arc<Mutex<VdiskTally>>),
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    request: DiskRequest,
    stamp: u64,
    /// Its identifier in the model.
    id: Option<RequestId>,
}

impl Timing {
    /// Submits a request that arrives now to the model.
    fn begin(&self, request: DiskRequest) -> PendingRequest {
        let stamp = monotonic();
        let id = match self {
            Self::Model(engine) => Some(engine.enter(request, stamp)),
            Self::None(_) => None,
        };
        PendingRequest { request, stamp, id }
    }

    /// Takes the answer of a request whose data have been moved; it is sent when it is due.
    fn finish(&self, pending: PendingRequest, answer: Answer) {
        match (self, pending) {
            (Self::Model(engine), PendingRequest { id: Some(id), .. }) => engine.deliver(id, answer),
            // No model had it.
            (Self::Model(_), _) => answer.send(),
            (Self::None(tally), PendingRequest { request: DiskRequest { op, sectors, .. }, stamp, .. }) => {
                let failed = answer.is_error();
                answer.send();
                let took = monotonic().saturating_sub(stamp);
                if let Ok(mut tally) = tally.lock() {
                    tally.count(&Counted { op, sectors, late: 0, took, modelled: Nanos::ZERO, failed });
                }
            }
        }
    }
}

/// The image of a virtual disk, whose requests take their time.
pub(super) struct ImageStore {
    pub(super) image: Arc<Image>,
    pub(super) timing: Timing,
}

/// A request of which the data are to be moved.
pub(super) struct Taken {
    request: BlockRequest,
    pending: PendingRequest,
    answer: Answer,
}

impl Store for ImageStore {
    type Taken = Taken;

    fn size(&self) -> u64 {
        self.image.size()
    }

    fn take(&self, request: BlockRequest, answer: Answer) -> Option<Taken> {
        let BlockRequest { op, offset, length, .. } = request;
        let first = offset / SECTOR_BYTES;
        let sectors = match op {
            Op::Flush => 0,
            _ => u32::try_from((offset + length).div_ceil(SECTOR_BYTES) - first).unwrap_or(u32::MAX),
        };
        let pending = self.timing.begin(DiskRequest { op, lba: Lba(first), sectors: Sectors(sectors) });
        Some(Taken { request, pending, answer })
    }

    fn carry_out(&self, Taken { request, pending, mut answer }: Taken) {
        let moved = move_data(&self.image, request, &mut answer);
        answer.set(moved);
        self.timing.finish(pending, answer);
    }
}

/// Moves the data of a request. Returns the number of bytes.
fn move_data(image: &Image, request: BlockRequest, answer: &mut Answer) -> io::Result<usize> {
    let BlockRequest { op, durable, offset, length } = request;
    let bytes = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    match op {
        Op::Read => Ok(image.read(answer.data(bytes)?, offset)?.len()),
        Op::Write => {
            image.write(answer.data(bytes)?, offset)?;
            if durable {
                image.sync()?;
            }
            Ok(bytes)
        }
        Op::Flush => image.sync().map(|()| 0),
        Op::Discard => image.discard(offset, length).map(|()| 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_server::Buffers;
    use std::sync::mpsc::channel;

    #[test]
    fn what_is_written_is_read_until_it_is_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let image = Arc::new(Image::open(&folder.path().join("a.img"), Some(8192)).unwrap());
        let tally = Arc::new(Mutex::new(VdiskTally::new(1.0)));
        let store = ImageStore { image, timing: Timing::None(Arc::clone(&tally)) };
        let buffers = Arc::new(Buffers::default());
        let ask = |op, durable, offset, length| {
            let mut data = buffers.take();
            data.fill(9);
            let (sent, told) = channel();
            let request = BlockRequest { op, durable, offset, length };
            let taken = store.take(request, Answer::test(data, sent)).unwrap();
            store.carry_out(taken);
            told.recv().unwrap()
        };
        assert_eq!(ask(Op::Write, true, 1536, 1024), Ok(vec![9; 1024]));
        assert_eq!(ask(Op::Read, false, 1536, 1024), Ok(vec![9; 1024]));
        assert_eq!((ask(Op::Flush, false, 0, 0), ask(Op::Discard, false, 0, 8192)), (Ok(vec![]), Ok(vec![])));
        assert_eq!(ask(Op::Read, false, 1536, 1024), Ok(vec![0; 1024]));
        assert_eq!(ask(Op::Write, false, 7680, 1024), Err(Some(libc::ENOSPC)), "what lies beyond the end");
        let stats = tally.lock().unwrap().stats(0, 0);
        assert_eq!((stats.requests.read, stats.requests.flush, stats.requests.discard), (2, 1, 1));
        assert_eq!((stats.errors.write, stats.errors.total()), (1, 1));
    }
}
