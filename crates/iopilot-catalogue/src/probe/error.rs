//! [`ProbeError`]: why a probe failed.

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError<E: std::error::Error> {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] E),
    /// Reads of one place do not end whole revolutions apart. Holds the best coherence found, 0 to 1.
    #[error("no rotation is to be seen: reads of the same blocks agree at no rate of rotation (best {0:.2} of 1)")]
    NoRotation(f64),
    /// Reads of random places are as fast as cache hits.
    #[error("no rotation is to be seen: places never read before take no longer than those just read")]
    NoMisses,
    /// No tracks can be inferred from the angles.
    #[error("no tracks are to be seen: {0}")]
    NoTracks(&'static str),
    /// The time limit in seconds was reached.
    #[error("not done within {0} s")]
    TimeLimit(f64),
}
