//! [`Scsi`]: a controller like the 53C700 chip, which has one command or transfer in hand.

use crate::Message;
use std::collections::VecDeque;

/// What the chip has in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ChipState {
    /// Nothing.
    #[default]
    Free,
    /// A command on its way to its device; while it waits for a bus it can be put back.
    Command(u32),
    /// A device has the command, or data move.
    Connected,
    /// A device is back; the host has been told.
    Reconnecting,
    /// A device has left or is done; the host has been told.
    Ending,
}

/// The state of such a controller; what it does is in the subsystem's event loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Scsi {
    pub(super) state: ChipState,
    /// Commands that wait for it, in order.
    pub(super) commands: VecDeque<u32>,
    /// Devices that came back while it was taken: which, and what they said.
    pub(super) reconnections: VecDeque<(usize, Message)>,
}
