//! [`Chip`]: a controller like the 53C700 chip, which handles one command or transfer at a time.

use crate::Message;
use std::collections::VecDeque;

/// What the chip is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChipState {
    /// Nothing.
    #[default]
    Free,
    /// A command is on its way to its device; it can be put back while it waits for a bus.
    Command(u32),
    /// A device has the command, or data move.
    Connected,
    /// A device reconnects; the host has been told.
    Reconnecting,
    /// A device disconnects or is done; the host has been told.
    Ending,
}

/// The state of such a controller; its behaviour is in `topology/messages.rs`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chip {
    pub(crate) state: ChipState,
    /// Commands that wait for the chip, in order.
    pub(crate) commands: VecDeque<u32>,
    /// Reconnections that came while the chip was busy: the device and its message.
    pub(crate) reconnections: VecDeque<(usize, Message)>,
}
