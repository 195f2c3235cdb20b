//! [`Format`]: the table of trace formats, and one module for each.
//!
//! To add a format, write its module with a [`FormatSpec`], add a row to the table below, and add a row to the table on
//! the page `docs/reference/trace-formats.md`. Tests name what is missing.

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod block_trace;
mod cloudphysics;
mod columns;
pub(crate) mod detect;
mod disksim;
pub(crate) mod disksim_validate;
mod fio_iolog;
mod fiu;
mod five_numbers;
mod fixed_records;
mod hp_srt;
mod mqsim;
mod msr;
mod msr_ms;
pub(crate) mod named_columns;
mod oracle_general;
mod parquet;
mod scsi;
mod spc;
pub(crate) mod spec;
mod systor17;
mod tencent;
pub(crate) mod think_time;
mod vscsi;
mod vscsi2;

use iopilot_block::{InputError, suggest};
use spec::FormatSpec;
use std::fmt;
use std::str::FromStr;

/// Lists the formats once: documentation, `Variant = module;`.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $module:ident;)*) => {
        /// A trace format. Columns and units of each are on the page `docs/reference/trace-formats.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// Every format there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its properties.
            pub const fn spec(self) -> &'static FormatSpec {
                match self {
                    $(Self::$variant => &$module::SPEC,)*
                }
            }
        }
    };
}

formats! {
    /// The text that `blkparse(1)` prints by default.
    Blkparse = blkparse;
    /// What `blktrace(8)` stores: version 7 binary events, one file a CPU or all in one.
    Blktrace = blktrace;
    /// An fio I/O log, version 2 or 3 (`write_iolog`).
    FioIolog = fio_iolog;
    /// DiskSim's default ("ascii") input.
    Disksim = disksim;
    /// DiskSim's validation traces: one request at a time, with measured service times.
    DisksimValidate = disksim_validate;
    /// HP Labs' SRT, the binary traces of the "hplajw", "cello" and "snake" systems.
    HpSrt = hp_srt;
    /// MSR Cambridge CSV.
    Msr = msr;
    /// The whitespace-separated cut of MSR Cambridge volumes with times in milliseconds.
    MsrMs = msr_ms;
    /// SPC-1, as the UMass repository distributes it.
    Spc = spc;
    /// VMware's vscsi trace, version 1.
    Vscsi = vscsi;
    /// CloudPhysics CSV.
    Cloudphysics = cloudphysics;
    /// MQSim's ASCII input.
    Mqsim = mqsim;
    /// Alibaba Cloud's block traces of 2020.
    Alibaba = alibaba;
    /// VMware's vscsi trace, version 2.
    Vscsi2 = vscsi2;
    /// Florida International University's I/O Deduplication and SRCMap traces.
    Fiu = fiu;
    /// Tencent's cloud block storage of 2018.
    Tencent = tencent;
    /// The virtual desktops of SYSTOR '17.
    Systor17 = systor17;
    /// libCacheSim's oracleGeneral.
    OracleGeneral = oracle_general;
    /// The kernel's block events as text: `perf script`, `trace-cmd report`, ftrace.
    BlockEvents = block_trace;
    /// The text of biosnoop.
    Biosnoop = biosnoop;
    /// Any text whose columns the user names.
    Columns = named_columns;
    /// iopilot's own stored format.
    Parquet = parquet;
}

/// How many formats can be written.
const WRITABLE: usize = {
    let (mut count, mut i) = (0, 0);
    while i < Format::ALL.len() {
        count += Format::ALL[i].is_writable() as usize;
        i += 1;
    }
    count
};

impl Format {
    /// The names of all formats that can be read.
    pub const NAMES: &'static [&'static str] = &{
        let (mut names, mut i) = ([""; Self::ALL.len()], 0);
        while i < names.len() {
            names[i] = Self::ALL[i].name();
            i += 1;
        }
        names
    };

    /// The names of the formats that [`crate::TraceWriter`] writes.
    pub const WRITABLE: &'static [&'static str] = &{
        let (mut names, mut found, mut i) = ([""; WRITABLE], 0, 0);
        while i < Self::ALL.len() {
            if Self::ALL[i].is_writable() {
                names[found] = Self::ALL[i].name();
                found += 1;
            }
            i += 1;
        }
        names
    };

    /// Its name, as the command line knows it.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether [`crate::TraceWriter`] writes it.
    pub const fn is_writable(self) -> bool {
        self.spec().writing.is_some()
    }

    /// The format in which files are written whose names end in `.ending`.
    pub fn by_ending(ending: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name() == ending || f.spec().endings.contains(&ending))
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
        Self::ALL.iter().copied().find(|f| f.name() == name).ok_or_else(|| {
            let expected = match suggest(name, Self::NAMES.iter().copied()) {
                Some(near) => format!("{near} (or another of {})", Self::NAMES.join(", ")),
                None => format!("one of {}", Self::NAMES.join(", ")),
            };
            InputError::new("trace format", name, expected)
        })
    }
}

/// The samples that every format has, in its [`FormatSpec`] or in the folder `samples`: names and contents.
#[cfg(test)]
pub(crate) fn samples() -> Vec<(String, Vec<u8>)> {
    let specs = Format::ALL.iter().map(|format| format.spec()).filter(|spec| !spec.sample.is_empty());
    let in_code = specs.map(|spec| (spec.name.to_owned(), spec.sample.as_bytes().to_vec()));
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let entries = std::fs::read_dir(folder).expect("samples are part of the source tree");
    let paths = entries.map(|e| e.expect("a folder can be listed").path());
    let files = paths.map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(p).unwrap()));
    in_code.chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), *format);
            assert_eq!(format.to_string(), format.name());
        }
    }

    #[test]
    fn names_and_endings_are_unique() {
        let of = |f: &Format| std::iter::once(f.name()).chain(f.spec().endings.iter().copied()).collect::<Vec<_>>();
        let mut all: Vec<_> = Format::ALL.iter().flat_map(of).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        assert_eq!(Format::by_ending("iolog"), Some(Format::FioIolog));
        assert_eq!(Format::by_ending("csv"), None);
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let e = "blkprase".parse::<Format>().unwrap_err();
        assert!(e.to_string().starts_with("trace format: got blkprase, expected blkparse (or"), "{e}");
    }
}
