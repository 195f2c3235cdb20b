//! [`DriveModel`]: every parameter of a drive with a buffer, a bus and a queue of its own (Ganger B.2, DiskSim 4.0).
//!
//! Times are nanoseconds, sizes 512-byte blocks. The names in quotation marks are those of DiskSim's parameter files.

use crate::BlockTimes;
use iopilot_block::Op;
use iopilot_device::Mechanics;
use iopilot_sched::IoQueueConfig;
use serde::{Deserialize, Serialize};

/// A drive: its mechanics, its buffer, what its firmware does and how long that takes.
#[derive(Clone, Debug)]
pub struct DriveModel {
    /// Platters, heads and arm.
    pub mechanics: Mechanics,
    /// The buffer and its segments.
    pub buffer: DriveBufferModel,
    /// What is read, and when it can be sent.
    pub read: ReadModel,
    /// What is written, and when that is reported as done.
    pub write: WriteModel,
    /// When the drive stays on the bus.
    pub bus: BusPolicy,
    /// How long the firmware takes.
    pub overheads: Overheads,
    /// When the arm may turn to the next request.
    pub preseek: Preseek,
    /// Commands accepted at once; at least 1 ("Max queue length").
    pub queue_depth: u32,
    /// The order in which they get the arm ("Scheduler"). Requests of a sequential stream are not joined here, and
    /// the capacity is the drive's.
    pub queue: IoQueueConfig,
}

/// The buffer is cut into equal segments, each of which holds one run of consecutive blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveBufferModel {
    /// How many; at least 1 ("Number of buffer segments").
    pub segments: u32,
    /// The size of each; at least 1 ("Segment size (in blks)").
    pub segment_blocks: u32,
    /// How many of them may hold dirty blocks; at least 1 ("Maximum number of write segments").
    pub write_segments: u32,
    /// One fixed segment takes all writes and never serves a read ("Use separate write segment").
    pub separate_write_segment: bool,
    /// Blocks that were read or written may serve later reads ("Enable caching in buffer"). Without it a segment is
    /// emptied when its request completes.
    pub caching: bool,
    /// A disconnected write reconnects for more data when at most this part is still to be written, 0 to 1 ("Low
    /// (write) water mark").
    pub low_water: f64,
    /// A disconnected read reconnects when this part can be sent, 0 to 1 ("High (read) water mark").
    pub high_water: f64,
    /// The marks are fractions of the request, as far as it fits a segment; otherwise of the segment ("Set watermark
    /// by reqsize").
    pub water_by_request: bool,
    /// There must be room for a sector when it begins to pass; otherwise when it ends ("Read directly to buffer").
    pub direct: bool,
}

/// How far a drive reads ahead of a request ("Buffer continuous read").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAheadRule {
    /// Not at all.
    None,
    /// To the end of the request's last track.
    Track,
    /// The whole of the request's last track: to its end, and when it comes round again the blocks before the
    /// request. No drive of DiskSim does so; some real ones do.
    WholeTrack,
    /// To the end of the request's last cylinder.
    Cylinder,
    /// Up to the maximum.
    Segment,
    /// To the end of the track of the block after the request. One track more if the segment already holds blocks
    /// from before that track, which is a sequential stream.
    Adaptive,
}

/// What bounds read-ahead if no maximum is given ("Read-ahead over requested").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepRequested {
    /// The requested blocks are dropped when they have been sent, and their room is reused.
    Drop,
    /// They stay: requested and read-ahead blocks together fill at most a segment.
    Keep,
    /// They may be overwritten by a segment full of later ones.
    Overwrite,
}

/// Reads and read-ahead.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadModel {
    /// How far the drive reads on.
    pub ahead: ReadAheadRule,
    /// At least this many blocks are read ahead before another request may use the arm ("Minimum read-ahead (blks)").
    pub min_ahead: u32,
    /// The most blocks that are read ahead, except with [`ReadAheadRule::Adaptive`]; 0 for the bound of
    /// [`KeepRequested`] ("Maximum read-ahead (blks)").
    pub max_ahead: u32,
    /// What bounds read-ahead without a maximum.
    pub keep: KeepRequested,
    /// A full hit starts read-ahead if the arm is idle ("Read-ahead on idle hit").
    pub ahead_on_hit: bool,
    /// Sectors are read in the order in which they pass once the arm is on the track ("Immediate buffer read").
    pub immediate: bool,
    /// Sectors that pass between arrival on the track and the first requested one are kept ("Read any free blocks").
    pub free_blocks: bool,
    /// Read-ahead can be broken off within a sector ("Stop prefetch in sector").
    pub stop_in_sector: bool,
    /// A request that starts with the block that is just being read ahead is a hit ("Allow almost read hits").
    pub almost_hits: bool,
    /// A partial hit is served from the buffer at once; otherwise only once the high water mark is reached ("Immed
    /// transfer partial hit").
    pub partial_at_once: bool,
    /// A full hit may be sent while others wait for the bus or the arm is busy ("Allow sneaky full read hits").
    pub sneaky_full: bool,
    /// The same for partial hits ("Allow sneaky partial read hits").
    pub sneaky_partial: bool,
    /// A disconnected hit may be sent before its turn ("Allow sneaky intermediate read hits").
    pub sneaky_intermediate: bool,
    /// Blocks that were written may serve reads ("Allow read hits on write data").
    pub hits_on_written: bool,
}

/// When a write is reported as done ("Fast write level").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FastWrite {
    /// When it is on the medium.
    Off,
    /// When it is in the buffer. A write that continues the one being written joins it if no other request waits.
    Alone,
    /// When it is in the buffer. A write that continues the one being written joins it.
    Always,
}

/// Writes.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteModel {
    /// When they are reported.
    pub fast: FastWrite,
    /// Sectors are written in the order in which they pass once the arm is on the track ("Immediate buffer write").
    pub immediate: bool,
    /// Writes of adjacent blocks share a segment and become one access ("Combine seq writes").
    pub combine: bool,
    /// A write takes its data before its turn ("Allow write prebuffering").
    pub prebuffering: bool,
    /// A fast write has the overhead of a write after a write only if it continues that write. Any other claims a new
    /// place in the buffer and has the overhead of a write after a read.
    pub sequential_overhead: bool,
    /// The least time of an arm movement for writes that do not continue the previous one, ns ("Minimum seek delay").
    pub min_seek_delay: f64,
    /// A write to blocks that are being read ahead ends the read-ahead ("Write hit stop prefetch").
    pub stops_prefetch: bool,
    /// A new command does not break off read-ahead while the arm moves or a sector passes: it disconnects and waits
    /// ("Disconnect write if seek").
    pub waits_for_prefetch: bool,
    /// Some drives leave the bus before they take the data of a write that does not continue the previous one.
    pub extra_disconnect: Option<ExtraDisconnect>,
}

/// The additional disconnection of a write that follows another write ("Extra write disconnect"), ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtraDisconnect {
    /// Command processing ("Extradisc command overhead").
    pub command: f64,
    /// Then disconnecting ("Extradisc disconnect overhead").
    pub disconnect: f64,
    /// From there to the reconnection ("Extradisc inter-disconnect delay").
    pub away: f64,
    /// The time of the next disconnection ("Extradisc 2nd disconnect overhead").
    pub second_disconnect: f64,
    /// From the end of command processing to the start of the arm ("Extradisc seek delta").
    pub seek_delta: f64,
    /// How many blocks, or the whole request, must be in the buffer before the medium is written. The first value is
    /// for requests below 45 blocks, the second for others. DiskSim 4.0 has 10 and 15 built in.
    pub buffered_first: [u32; 2],
}

/// When the drive stays on the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct BusPolicy {
    /// It stays from the command to the completion ("Never disconnect").
    pub never_disconnect: bool,
    /// It stays while the rest of a read comes from the medium ("Hold bus entire read xfer").
    pub hold_read: bool,
    /// It stays while room for the rest of a write is made ("Hold bus entire write xfer").
    pub hold_write: bool,
    /// The time of a block in the drive ("Bulk sector transfer time").
    pub block_times: BlockTimes,
}

/// A time that depends on whether the request completed last was a read or a write, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct After {
    /// After a read.
    pub read: f64,
    /// After a write.
    pub write: f64,
}

impl After {
    /// The same after both.
    pub fn either(ns: f64) -> Self {
        Self { read: ns, write: ns }
    }

    pub(super) fn of(self, last: Op) -> f64 {
        if last == Op::Read { self.read } else { self.write }
    }
}

/// How long the firmware takes, ns; already multiplied by "Time scale for overheads".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overheads {
    /// Before anything else ("Per-request overhead time").
    pub per_request: f64,
    /// Until the data of a hit flow ("Read hit over. after ...").
    pub read_hit: After,
    /// Until the arm starts, and the first part of disconnecting ("Read miss over. after ...").
    pub read_miss: After,
    /// As for misses, with fast writes ("Write hit over. after ...").
    pub write_hit: After,
    /// Until the arm starts and data flow, without fast writes ("Write miss over. after ...").
    pub write_miss: After,
    /// From the last block to the message ("Read completion overhead").
    pub read_completion: f64,
    /// From the last block to the message, for writes ("Write completion overhead").
    pub write_completion: f64,
    /// Before each transfer after a command or reconnection ("Data preparation overhead").
    pub data_preparation: f64,
    /// Reconnecting ("First reselect overhead").
    pub first_reselect: f64,
    /// Reconnecting again after an [`ExtraDisconnect`] ("Other reselect overhead").
    pub other_reselect: f64,
    /// Disconnecting in a read ("Read disconnect after...").
    pub read_disconnect: After,
    /// Disconnecting in a write ("Write disconnect overhead").
    pub write_disconnect: f64,
}

/// From when the arm may turn to the next request ("Preseeking level").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preseek {
    /// When the completion of the current one is acknowledged.
    Acknowledged,
    /// When the completion of the current one is sent.
    Sent,
    /// When the medium is done with the current one.
    Media,
}

impl DriveModel {
    /// A drive around `mechanics` with a minimal buffer and no overheads: one request at a time, one segment of 256
    /// blocks, no read-ahead, writes reported when they are on the medium.
    pub fn plain(mechanics: Mechanics) -> Self {
        Self {
            mechanics,
            buffer: DriveBufferModel::default(),
            read: ReadModel::default(),
            write: WriteModel::default(),
            bus: BusPolicy::default(),
            overheads: Overheads::default(),
            preseek: Preseek::Acknowledged,
            queue_depth: 1,
            queue: IoQueueConfig::default(),
        }
    }
}

impl Default for DriveBufferModel {
    /// One segment of 256 blocks.
    fn default() -> Self {
        Self {
            segments: 1,
            segment_blocks: 256,
            write_segments: 1,
            separate_write_segment: false,
            caching: true,
            low_water: 0.0,
            high_water: 0.0,
            water_by_request: true,
            direct: true,
        }
    }
}

impl Default for ReadModel {
    /// In order, no read-ahead, hits served only in their turn.
    fn default() -> Self {
        Self {
            ahead: ReadAheadRule::None,
            min_ahead: 0,
            max_ahead: 0,
            keep: KeepRequested::Keep,
            ahead_on_hit: false,
            immediate: false,
            free_blocks: false,
            stop_in_sector: true,
            almost_hits: false,
            partial_at_once: true,
            sneaky_full: false,
            sneaky_partial: false,
            sneaky_intermediate: false,
            hits_on_written: true,
        }
    }
}

impl Default for WriteModel {
    /// In order, one by one, reported when they are on the medium.
    fn default() -> Self {
        Self {
            fast: FastWrite::Off,
            immediate: false,
            combine: false,
            prebuffering: false,
            sequential_overhead: false,
            min_seek_delay: 0.0,
            stops_prefetch: true,
            waits_for_prefetch: false,
            extra_disconnect: None,
        }
    }
}

impl Default for BusPolicy {
    /// On the bus only to transfer or send messages; blocks take the drive no time.
    fn default() -> Self {
        Self { never_disconnect: false, hold_read: false, hold_write: false, block_times: BlockTimes::default() }
    }
}
