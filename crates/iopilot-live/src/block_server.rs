//! Block devices that a process serves: FUSE and a loop device, or the ublk driver, over a [`Store`].
//!
//! A store takes requests and answers them at once or later, from any thread. An image file under a model of a disk is
//! one (`vdisk`), a disk under a cache is another (`redcap`).

mod answer;
mod block_device;
mod buffer;
mod control;
mod exposed;
mod filesystem;
mod fuse;
mod loop_device;
mod op_counts;
mod queue_depth;
mod registry;
mod server;
mod state;
mod store;
mod sys;
#[cfg(feature = "ublk")]
mod ublk;
mod via;

pub(crate) use answer::Answer;
#[cfg(test)]
pub(crate) use answer::Sent;
pub(crate) use block_device::{is_in_use, mount_points};
pub(crate) use buffer::Buffers;
pub(crate) use control::{answer, ask};
pub(crate) use exposed::{BlockDeviceSpec, Exposed};
pub use op_counts::OpCounts;
pub(crate) use registry::{find_served, look, release};
pub(crate) use server::{EndSignal, ServedDevice, Server};
pub(crate) use state::{AttachedDevice, DeviceClaim, StateFolder};
pub(crate) use store::{BlockRequest, Store};
pub(crate) use sys::{become_io_flusher, become_real_time, before_all_others, monotonic};
pub use via::Via;
pub(crate) use via::{check_name, check_system, depth};
