//! [`Target`]: a drive as its bus sees it (Ganger A.1.2.2, B.2; DiskSim 4.0).
//!
//! A controller sends a command. From then on the target owns the bus until it signals [`Signal::Release`]. It sends
//! [`Message`]s, each of which the controller acknowledges, and asks for the bus again with [`Signal::Arbitrate`].
//! The bus and the controller decide how long arbitration and messages take. The target decides what happens in
//! between. Data need no events of their own: the target knows the time of a block on the path and computes the sum.

use iopilot_block::{Nanos, Positions, RequestId};
use iopilot_device::{DeviceRequest, ServiceBreakdown};

/// A target's message about a request. The controller answers each with [`Target::acknowledged`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The request it is about.
    pub id: RequestId,
    /// Which message it is.
    pub kind: MessageKind,
}

/// The four messages of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The answer to a command: data can flow at once. Blocks move from the acknowledgement on.
    Ready,
    /// The target leaves the bus and will come back. It releases the bus at the acknowledgement.
    Disconnect,
    /// The target is back. Blocks move, or the completion follows, from the acknowledgement on.
    Reconnect,
    /// The request is done; [`Target::service`] says where its time went. The target releases the bus and forgets the
    /// request at the acknowledgement.
    Complete,
}

/// What a target wants from its bus and controller, at the moment of the call that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It wants the bus; answer with [`Target::granted`]. Another command may arrive before that.
    Arbitrate,
    /// It releases the bus.
    Release,
    /// It sends the controller a message.
    Message(Message),
}

/// The time of a 512-byte block between the buffer of a target and its controller, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockTimes {
    /// Towards the host.
    pub read: f64,
    /// Towards the medium.
    pub write: f64,
}

impl BlockTimes {
    /// The slower of two for each direction: a chain is as fast as its slowest part.
    #[must_use]
    pub(crate) fn slower(self, other: Self) -> Self {
        Self { read: self.read.max(other.read), write: self.write.max(other.write) }
    }
}

/// A drive (or a simpler disk) at the end of a bus: a pure state machine.
///
/// Each call may append to `out`; the caller acts on the entries in order, all at `now`. Time never goes back. After
/// every call the caller asks for [`Target::next_event`], and calls [`Target::advance`] at that time.
///
/// On an exclusive bus, commands arrive only while the target does not own it. On a shared bus they may arrive at any
/// moment, also between messages about another request.
pub trait Target {
    /// A command arrives; the target owns the bus from now on. At most [`Target::queue_depth`] commands are
    /// outstanding.
    fn submit(&mut self, request: DeviceRequest, now: Nanos, out: &mut Vec<Signal>);

    /// The target has been granted the bus.
    fn granted(&mut self, now: Nanos, out: &mut Vec<Signal>);

    /// The controller has acknowledged `message`.
    fn acknowledged(&mut self, message: Message, now: Nanos, out: &mut Vec<Signal>);

    /// When the target next acts on its own; `None` if it waits for its controller. O(1) for one request outstanding.
    fn next_event(&self) -> Option<Nanos>;

    /// Lets the target act up to `now`.
    fn advance(&mut self, now: Nanos, out: &mut Vec<Signal>);

    /// Sets the time of a block on this connection: the bus's, the controller's and the target's own
    /// ([`Target::own_block_times`]), combined by the controller. Called before the first command.
    fn set_block_times(&mut self, times: BlockTimes);

    /// The time of a block in the target itself.
    fn own_block_times(&self) -> BlockTimes;

    /// Where the time of `id` went, from its [`MessageKind::Complete`] until that is acknowledged.
    fn service(&self, id: RequestId) -> ServiceBreakdown;

    /// Its size in sectors.
    fn capacity(&self) -> u64;

    /// What a queue before it may ask about positions; `None` if the target knows none.
    fn positions(&self) -> Option<&dyn Positions> {
        None
    }

    /// How many commands it accepts at once.
    fn queue_depth(&self) -> u32;
}
