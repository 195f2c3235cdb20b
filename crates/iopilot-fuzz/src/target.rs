//! [`TARGETS`]: the fuzz targets, by name.

use crate::faulty::FAULTY;
use crate::traces::{reordered, trace};
use crate::used;
use iopilot_trace::Format;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct FuzzTarget {
    /// Its name: a trace format, or what is described.
    pub name: &'static str,
    pub(crate) input: FuzzInput,
}

/// What a target's input is.
#[derive(Clone, Copy)]
pub(crate) enum FuzzInput {
    /// A trace in one format.
    Trace(Format),
    /// What this function reads and uses.
    Other(fn(&[u8]) -> String),
}

impl FuzzTarget {
    /// Parses `bytes` and uses the result. Inputs that behave differently get different answers.
    ///
    /// # Panics
    /// If there is a fault, which is what fuzzing looks for.
    pub fn check(&self, bytes: &[u8]) -> String {
        match self.input {
            FuzzInput::Trace(format) => trace(bytes, Some(format)),
            FuzzInput::Other(check) => check(bytes),
        }
    }
}

const fn other(name: &'static str, check: fn(&[u8]) -> String) -> FuzzTarget {
    FuzzTarget { name, input: FuzzInput::Other(check) }
}

const OTHERS: [FuzzTarget; 10] = [
    other("detect", |bytes| trace(bytes, None)),
    other("reorder", reordered),
    other("disk", |bytes| text(bytes, used::disk)),
    other("machine", |bytes| text(bytes, used::machine)),
    other("fio-job", |bytes| text(bytes, used::fio_job)),
    other("ganger", |bytes| text(bytes, used::ganger)),
    other("scheduler", |bytes| text(bytes, used::scheduler)),
    other("programs", |bytes| text(bytes, used::programs)),
    other("redcap", |bytes| text(bytes, used::redcap)),
    other("disksim-parameters", |bytes| text(bytes, used::disksim_parameters)),
];

/// All of them: each trace format of the table, detection and reordering, and each description that users write.
pub const TARGETS: &[FuzzTarget] = &{
    let formats = Format::ALL;
    let mut all = [OTHERS[0]; Format::ALL.len() + OTHERS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < formats.len() {
            FuzzTarget { name: formats[i].name(), input: FuzzInput::Trace(formats[i]) }
        } else {
            OTHERS[i - formats.len()]
        };
        i += 1;
    }
    all
};

/// The target called `name`.
pub fn target(name: &str) -> Option<&'static FuzzTarget> {
    TARGETS.iter().chain(&FAULTY).find(|t| t.name == name)
}

/// Gives `bytes` to the target called `name`.
///
/// # Panics
/// Where there is a fault, and where there is no such target.
pub fn fuzz(name: &str, bytes: &[u8]) {
    target(name).expect("the name of a target").check(bytes);
}

/// The one target of cargo-fuzz for all trace formats: the first byte of an input is the format's place in the table.
const TRACES: &str = "traces";

/// Reads the trace behind the first byte of `input` in the format of that place; `false` where there is none.
///
/// # Panics
/// Where there is a fault.
pub fn fuzz_traces(input: &[u8]) -> bool {
    let Some((&place, bytes)) = input.split_first() else { return false };
    let Some(&format) = Format::ALL.get(usize::from(place)) else { return false };
    trace(bytes, Some(format));
    true
}

impl FuzzTarget {
    /// The target of cargo-fuzz that includes this one.
    pub fn cargo_fuzz_name(&self) -> String {
        match self.input {
            FuzzInput::Trace(_) => TRACES.to_owned(),
            FuzzInput::Other(_) => self.name.replace('-', "_"),
        }
    }

    /// `seed` as an input of [`Self::cargo_fuzz_name`].
    pub fn cargo_fuzz_input(&self, seed: &[u8]) -> Vec<u8> {
        match self.input {
            FuzzInput::Trace(format) => {
                let place = Format::ALL.iter().position(|f| *f == format).expect("every format is listed");
                [&[u8::try_from(place).expect("there are fewer than 256 formats")], seed].concat()
            }
            FuzzInput::Other(_) => seed.to_vec(),
        }
    }
}

/// Descriptions are text; the file's reader refuses anything else earlier.
fn text(bytes: &[u8], check: fn(&str) -> String) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| "no text".to_owned(), check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds;
    use std::collections::BTreeSet;

    #[test]
    fn every_target_is_also_one_of_cargo_fuzz() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
        let files = std::fs::read_dir(folder.join("fuzz_targets")).unwrap();
        let files = files.map(|e| e.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>();
        let ours: BTreeSet<_> = TARGETS.iter().map(|t| format!("{}.rs", t.cargo_fuzz_name())).collect();
        assert_eq!(files, ours);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for file in ours {
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{file}\"")), "fuzz/Cargo.toml: no {file}");
        }
    }

    #[test]
    fn an_input_of_cargo_fuzz_names_its_format() {
        let target = target("spc").unwrap();
        let input = target.cargo_fuzz_input(b"0,8,512,R,0.5");
        assert!(fuzz_traces(&input) && input.ends_with(b"R,0.5"));
        assert!(!fuzz_traces(b"") && !fuzz_traces(&[u8::MAX]));
    }

    #[test]
    fn seeds_are_accepted() {
        for target in TARGETS {
            let seeds = seeds(target.name);
            assert!(!seeds.is_empty(), "{}", target.name);
            for seed in seeds {
                let answer = target.check(&seed);
                assert!(answer.starts_with("ok"), "{}: {answer}", target.name);
            }
        }
    }

    #[test]
    fn the_disks_of_a_whole_system_serve_requests() {
        let target = target("disksim-parameters").expect("the name of a target");
        let system = seeds(target.name).pop().expect("there are some");
        assert_eq!(target.check(&system), "ok, read");
    }
}
