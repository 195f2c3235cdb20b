//! Live Linux block devices. What is decided, and what is simulated, is decided and simulated elsewhere: here are the
//! hands and eyes.

mod capture;
mod error;
mod queue;
mod record;
pub mod vdisk;

pub use capture::{Backend, Capture, CaptureOptions};
pub use error::LiveError;
pub use queue::{BlockQueue, QueueState};
pub use record::{RecordOptions, RecordSummary, record};
