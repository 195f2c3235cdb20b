//! [`Target`]: a drive as its bus sees it (Ganger A.1.2.2, B.2; DiskSim 4.0).
//!
//! A controller sends a command; from then on the target owns the bus until it says [`Signal::Release`]. It speaks in
//! [`Message`]s, each of which the controller acknowledges, and asks for the bus again with [`Signal::Arbitrate`].
//! How long arbitration and messages take is the bus's and the controller's affair; what the target does in between
//! is here. Data need no events of their own: the target knows what a block costs on the way and computes the sum.

use iopilot_block::{Nanos, Positions, RequestId};
use iopilot_device::{DeviceRequest, ServiceBreakdown};

/// What a target has to say about a request. Each message is to be acknowledged with [`Target::acknowledged`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The request it is about.
    pub id: RequestId,
    /// What it says.
    pub kind: MessageKind,
}

/// The four things a target says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Data can flow at once: the answer to a command. Blocks move from the acknowledgement on.
    Ready,
    /// The target leaves the bus and will come back. It releases the bus at the acknowledgement.
    Disconnect,
    /// The target is back. Blocks move, or the completion follows, from the acknowledgement on.
    Reconnect,
    /// The request is done; [`Target::service`] tells where its time went. The target releases the bus and forgets
    /// the request at the acknowledgement.
    Complete,
}

/// What a target wants of its bus and controller, at the moment of the call that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It wants the bus; answer with [`Target::granted`]. It waits: another command may arrive before.
    Arbitrate,
    /// It gives the bus up.
    Release,
    /// It says something to the controller.
    Message(Message),
}

/// What a 512-byte block costs between the buffer of a target and its controller, ns.
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
    pub fn slower(self, other: Self) -> Self {
        Self { read: self.read.max(other.read), write: self.write.max(other.write) }
    }
}

/// A drive (or a simpler disk) at the end of a bus: a pure state machine.
///
/// Each call may append to `out`; its entries are to be acted on in order, all at `now`. Time never goes back.
/// [`Target::next_event`] is asked after every call and [`Target::advance`] called at that time.
///
/// On a bus that one user owns at a time, commands arrive only while the target does not own it. On a shared bus they
/// may arrive at any moment, also between messages about another request.
pub trait Target {
    /// A command arrives; the target owns the bus from now on. At most [`Target::queue_depth`] are outstanding.
    fn submit(&mut self, request: DeviceRequest, now: Nanos, out: &mut Vec<Signal>);

    /// The target has the bus it asked for.
    fn granted(&mut self, now: Nanos, out: &mut Vec<Signal>);

    /// The controller has taken note of `message`.
    fn acknowledged(&mut self, message: Message, now: Nanos, out: &mut Vec<Signal>);

    /// When the target next acts of itself; `None` where it waits for others. O(1) for one request outstanding.
    fn next_event(&self) -> Option<Nanos>;

    /// Lets the target act up to `now`.
    fn advance(&mut self, now: Nanos, out: &mut Vec<Signal>);

    /// What a block costs on this connection in all: the bus's, the controller's and the target's own times
    /// ([`Target::own_block_times`]), combined as the controller does. To be set before the first command.
    fn set_block_times(&mut self, times: BlockTimes);

    /// What a block costs the target itself.
    fn own_block_times(&self) -> BlockTimes;

    /// Where the time of `id` went, from its [`MessageKind::Complete`] until that is acknowledged.
    fn service(&self, id: RequestId) -> ServiceBreakdown;

    /// Its size in sectors.
    fn capacity(&self) -> u64;

    /// What a queue before it may ask about positions; `None` where it knows none.
    fn positions(&self) -> Option<&dyn Positions> {
        None
    }

    /// How many commands it takes at once.
    fn queue_depth(&self) -> u32;
}
