//! [`FaultyDisk`]: a block device of the kernel that fails or waits on a test's demand.

use crate::block_server::{
    Answer, BlockDeviceSpec, BlockRequest, Buffers, DeviceClaim, Exposed, StateFolder, Store, Via,
};
use crate::redcap::RedcapAttachment;
use iopilot_block::Op;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Requests that are served at once, so that some can be held while others go on.
const THREADS: usize = 8;

/// What is wrong with a disk. Places are in bytes.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Reads that touch these fail.
    pub(super) unreadable: Vec<Range<u64>>,
    /// Writes that touch these fail.
    pub(super) unwritable: Vec<Range<u64>>,
    /// Reads longer than this fail.
    pub(super) longest: Option<u64>,
    /// Reads longer than this wait until the limit is removed.
    pub(super) held_above: Option<u64>,
    /// Reads that wait.
    pub(super) held: usize,
}

impl Faults {
    fn fail(&self, request: BlockRequest) -> bool {
        let BlockRequest { op, offset, length, .. } = request;
        let meets = |places: &[Range<u64>]| places.iter().any(|bad| bad.start < offset + length && offset < bad.end);
        match op {
            Op::Read => meets(&self.unreadable) || self.longest.is_some_and(|longest| length > longest),
            Op::Write | Op::Discard => meets(&self.unwritable),
            Op::Flush => false,
        }
    }

    fn hold(&self, request: BlockRequest) -> bool {
        request.op == Op::Read && self.held_above.is_some_and(|longest| request.length > longest)
    }
}

/// Bytes in memory, and what is wrong with them.
pub(super) struct FaultyStore {
    bytes: Mutex<Vec<u8>>,
    faults: Mutex<Faults>,
    changed: Condvar,
}

impl FaultyStore {
    /// What is wrong with it, to be changed.
    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap()
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap()
    }

    /// Releases all requests that are held.
    pub(super) fn release(&self) {
        self.faults().held_above = None;
        self.changed.notify_all();
    }

    fn serve(&self, request: BlockRequest, answer: &mut Answer) -> io::Result<usize> {
        let mut faults = self.faults.lock().unwrap();
        // The data are read when the request arrives, and answered late.
        let early = (request.op == Op::Read).then(|| self.copy(request));
        faults.held += 1;
        while faults.hold(request) {
            faults = self.changed.wait(faults).unwrap();
        }
        faults.held -= 1;
        if faults.fail(request) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        drop(faults);
        let length = request.length as usize;
        match (request.op, early) {
            (Op::Read, Some(read)) => answer.data(length)?.copy_from_slice(&read),
            (Op::Write, _) => {
                let data = answer.data(length)?;
                self.bytes()[request.offset as usize..][..length].copy_from_slice(data);
            }
            (Op::Discard, _) => self.bytes()[request.offset as usize..][..length].fill(0),
            _ => {}
        }
        Ok(if request.op.transfers() { length } else { 0 })
    }

    fn copy(&self, request: BlockRequest) -> Vec<u8> {
        self.bytes()[request.offset as usize..][..request.length as usize].to_vec()
    }
}

impl Store for FaultyStore {
    type Taken = (BlockRequest, Answer);

    fn size(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn take(&self, request: BlockRequest, answer: Answer) -> Option<Self::Taken> {
        Some((request, answer))
    }

    fn carry_out(&self, (request, mut answer): Self::Taken) {
        let result = self.serve(request, &mut answer);
        answer.set(result);
        answer.send();
    }
}

/// A block device over a [`FaultyStore`]. Dropping it removes the device.
pub(super) struct FaultyDisk {
    pub(super) store: Arc<FaultyStore>,
    exposed: Exposed,
    claim: DeviceClaim<RedcapAttachment>,
}

impl FaultyDisk {
    /// A disk of `bytes` without faults; its state file is in `folder`.
    pub(super) fn new(folder: &Path, bytes: Vec<u8>) -> Self {
        let store = FaultyStore { bytes: Mutex::new(bytes), faults: Mutex::default(), changed: Condvar::new() };
        let store = Arc::new(store);
        let claim = StateFolder::<RedcapAttachment>::open(&folder.join("faulty")).unwrap().claim(None).unwrap();
        let mut exposed = Exposed::new(&claim);
        let shape = BlockDeviceSpec {
            name: "faulty",
            via: Via::Loop,
            depth: 32,
            rotational: true,
            logical_block: 512,
            discards: true,
            threads: THREADS,
        };
        exposed.make(&store, &claim, &Arc::new(Buffers::default()), &shape, || (), || ()).unwrap();
        Self { store, exposed, claim }
    }

    /// Its path.
    pub(super) fn path(&self) -> PathBuf {
        self.exposed.path().unwrap().to_owned()
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        self.store.release();
        for result in self.exposed.take_down() {
            result.unwrap();
        }
        self.claim.release().unwrap();
    }
}
