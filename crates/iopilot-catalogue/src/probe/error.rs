//! [`ProbeError`]: why a probe found no disk.

/// Why a disk was not found to be anything.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError<E: std::error::Error> {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] E),
    /// Reads of one place do not end whole revolutions apart.
    #[error("no rotation is to be seen: reads of the same blocks agree to {0:.2} of 1 on any")]
    StandsStill(f64),
    /// Reads of new places are as fast as those of places just read.
    #[error("no rotation is to be seen: places never read before take no longer than those just read")]
    NothingMissed,
    /// Angles do not tell tracks.
    #[error("no tracks are to be seen: {0}")]
    NoTracks(&'static str),
    /// It would have taken longer than it may.
    #[error("not done within {0} s")]
    TimeIsUp(f64),
}
