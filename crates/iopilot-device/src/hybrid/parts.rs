//! The two devices of a hybrid drive, each with its queue.

use crate::{Completion, Device, DeviceRequest};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors, Slab};
use std::collections::VecDeque;

/// One of the two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HybridSide {
    Disk,
    Flash,
}

/// The owner of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A request, by its index.
    Request(u32),
    /// Copies to flash what was read.
    Promote { line: u32 },
    /// Reads from flash what the disk is to get.
    DestageRead { line: u32, mask: u64 },
    /// Writes that to the disk.
    DestageWrite { line: u32, mask: u64 },
}

/// A request to one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberPiece {
    pub(super) side: HybridSide,
    pub(super) owner: Owner,
    pub(super) op: Op,
    pub(super) lba: u64,
    pub(super) sectors: u64,
    pub(super) flags: Flags,
    /// A read whose sectors were written before it completed.
    pub(super) overtaken: bool,
}

/// A device and its queue: pieces of the host's requests go first.
#[derive(Clone, Debug)]
pub(super) struct HybridMember<D> {
    pub(super) device: D,
    waiting: [VecDeque<u32>; 2],
    inside: [u32; 2],
}

impl<D: Device> HybridMember<D> {
    pub(super) fn new(device: D) -> Self {
        Self { device, waiting: [VecDeque::new(), VecDeque::new()], inside: [0; 2] }
    }

    fn rank(piece: &MemberPiece) -> usize {
        usize::from(!matches!(piece.owner, Owner::Request(_)))
    }

    pub(super) fn push(&mut self, index: u32, piece: &MemberPiece) {
        self.waiting[Self::rank(piece)].push_back(index);
    }

    /// Issues what the device can take. Background pieces wait while the host has pieces there, except `beside` of
    /// them.
    pub(super) fn send(&mut self, pieces: &Slab<MemberPiece>, beside: u32, now: Nanos) {
        for rank in 0..2 {
            while self.inside[0] + self.inside[1] < self.device.queue_depth() {
                if rank == 1 && self.inside[0] > 0 && self.inside[1] >= beside {
                    return;
                }
                let Some(index) = self.waiting[rank].pop_front() else { break };
                let piece = &pieces[index];
                let request = DeviceRequest {
                    id: RequestId::from_index(index as usize),
                    op: piece.op,
                    lba: Lba(piece.lba),
                    // Pieces are no longer than requests.
                    sectors: Sectors(piece.sectors as u32),
                    flags: piece.flags,
                };
                self.inside[rank] += 1;
                self.device.submit(request, now);
            }
        }
    }

    pub(super) fn next_event(&self) -> Option<Nanos> {
        self.device.next_event()
    }

    pub(super) fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.device.advance(now, out);
    }

    pub(super) fn completed(&mut self, piece: &MemberPiece) {
        self.inside[Self::rank(piece)] -= 1;
    }
}
