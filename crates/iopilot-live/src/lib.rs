//! Live Linux block devices. What is decided, and what is simulated, is decided and simulated elsewhere: here are the
//! hands and eyes.

mod error;
mod queue;

pub use error::LiveError;
pub use queue::{BlockQueue, QueueState};
