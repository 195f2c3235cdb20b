//! [`CaptureOptions`]: what to capture, and how.

use iopilot_block::InputError;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How requests are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// BPF where the kernel takes it, else tracefs.
    #[default]
    Auto,
    /// Programs in the kernel.
    Ebpf,
    /// The kernel's own trace events.
    Tracefs,
}

impl Backend {
    /// As users write them.
    pub const NAMES: &'static [&'static str] = &["auto", "ebpf", "tracefs"];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Ebpf => "ebpf",
            Self::Tracefs => "tracefs",
        })
    }
}

impl FromStr for Backend {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        match text {
            "auto" => Ok(Self::Auto),
            "ebpf" => Ok(Self::Ebpf),
            "tracefs" => Ok(Self::Tracefs),
            _ => Err(InputError::new("backend", text, format!("one of {}", Self::NAMES.join(", ")))),
        }
    }
}

/// When a captured request is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// In order of arrival: once all earlier requests are complete or given up.
    #[default]
    InOrder,
    /// As soon as it is complete, in order of completion.
    AtOnce,
}

/// What to capture.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// The block device or partition.
    pub device: PathBuf,
    /// How.
    pub backend: Backend,
    /// The kernel's buffer, in KiB for each CPU. BPF has one for all, rounded up to a power of two; it counts eight
    /// CPUs at most.
    pub buffer_kb: u32,
    /// When requests are delivered.
    pub delivery: Delivery,
}

impl CaptureOptions {
    /// All of what happens on `device`, with buffers of 8 MiB, which lost nothing at 650,000 events a second.
    pub fn new(device: impl Into<PathBuf>) -> Self {
        Self { device: device.into(), backend: Backend::Auto, buffer_kb: 8192, delivery: Delivery::InOrder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_it_is_read() {
        for name in Backend::NAMES {
            assert_eq!(name.parse::<Backend>().unwrap().to_string(), *name);
        }
        let message = "bpf".parse::<Backend>().unwrap_err().to_string();
        assert_eq!(message, "backend: got bpf, expected one of auto, ebpf, tracefs");
    }
}
