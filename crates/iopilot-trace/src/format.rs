//! [`Format`]: the trace formats, and one module for each.

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod blktrace;
pub(crate) mod cloudphysics;
pub(crate) mod detect;
pub(crate) mod disksim;
pub(crate) mod disksim_validate;
pub(crate) mod fio_iolog;
pub(crate) mod hp_srt;
pub(crate) mod mqsim;
pub(crate) mod msr;
pub(crate) mod msr_ms;
pub(crate) mod parquet;
pub(crate) mod scsi;
pub(crate) mod spc;
pub(crate) mod vscsi;

use iopilot_block::{InputError, suggest};
use std::fmt;
use std::str::FromStr;

/// A trace format. Columns and units of each are on the page `docs/trace-format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The text that `blkparse(1)` prints by default.
    Blkparse,
    /// What `blktrace(8)` stores: version 7 binary events, one file a CPU or all in one.
    Blktrace,
    /// An fio I/O log, version 2 or 3 (`write_iolog`).
    FioIolog,
    /// DiskSim's default ("ascii") input.
    Disksim,
    /// DiskSim's validation traces: one request at a time, with measured service times.
    DisksimValidate,
    /// HP Labs' SRT, the binary traces of the "hplajw", "cello" and "snake" systems.
    HpSrt,
    /// MSR Cambridge CSV.
    Msr,
    /// The whitespace-separated cut of MSR Cambridge volumes with times in milliseconds.
    MsrMs,
    /// SPC-1, as the UMass repository distributes it.
    Spc,
    /// VMware's vscsi trace, version 1.
    Vscsi,
    /// CloudPhysics CSV.
    Cloudphysics,
    /// MQSim's ASCII input.
    Mqsim,
    /// Alibaba Cloud's block traces of 2020.
    Alibaba,
    /// iopilot's own stored format.
    Parquet,
}

impl Format {
    /// All formats and their names.
    const ALL: [(Self, &'static str); 14] = [
        (Self::Blkparse, "blkparse"),
        (Self::Blktrace, "blktrace"),
        (Self::FioIolog, "fio-iolog"),
        (Self::Disksim, "disksim"),
        (Self::DisksimValidate, "disksim-validate"),
        (Self::HpSrt, "hp-srt"),
        (Self::Msr, "msr"),
        (Self::MsrMs, "msr-ms"),
        (Self::Spc, "spc"),
        (Self::Vscsi, "vscsi"),
        (Self::Cloudphysics, "cloudphysics"),
        (Self::Mqsim, "mqsim"),
        (Self::Alibaba, "alibaba"),
        (Self::Parquet, "parquet"),
    ];

    /// The names of all formats that can be read.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Self::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = Self::ALL[i].1;
            i += 1;
        }
        names
    };

    /// The names of the formats that [`crate::TraceWriter`] writes.
    pub const WRITABLE: &'static [&'static str] =
        &["fio-iolog", "disksim", "msr", "msr-ms", "spc", "cloudphysics", "mqsim", "alibaba", "parquet"];

    /// Its name, as the command line knows it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(format, _)| *format).ok_or_else(|| {
            let expected = match suggest(name, Self::NAMES.iter().copied()) {
                Some(near) => format!("{near} (or another of {})", Self::NAMES.join(", ")),
                None => format!("one of {}", Self::NAMES.join(", ")),
            };
            InputError::new("trace format", name, expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for name in Format::NAMES {
            assert_eq!(name.parse::<Format>().unwrap().to_string(), *name);
        }
        assert!(Format::WRITABLE.iter().all(|name| Format::NAMES.contains(name)));
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let e = "blkprase".parse::<Format>().unwrap_err();
        assert!(e.to_string().starts_with("trace format: got blkprase, expected blkparse (or"), "{e}");
    }
}
