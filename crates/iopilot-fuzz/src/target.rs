//! [`TARGETS`]: what is fuzzed, by name.

use crate::faulty::FAULTY;
use crate::traces::{reordered, trace};
use crate::used;

/// One thing that is fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: a trace format, or what is described.
    pub name: &'static str,
    /// Reads the input and uses what it says.
    ///
    /// # Panics
    /// Where there is a fault: what fuzzing looks for.
    pub check: fn(&[u8]) -> String,
}

macro_rules! traces {
    ($($name:literal),*) => {
        [$(Target { name: $name, check: |bytes| trace(bytes, Some($name)) }),*]
    };
}

const TRACES: [Target; 14] = traces!(
    "blkparse",
    "blktrace",
    "fio-iolog",
    "disksim",
    "disksim-validate",
    "hp-srt",
    "msr",
    "msr-ms",
    "spc",
    "vscsi",
    "cloudphysics",
    "mqsim",
    "alibaba",
    "parquet"
);

const OTHERS: [Target; 8] = [
    Target { name: "detect", check: |bytes| trace(bytes, None) },
    Target { name: "reorder", check: reordered },
    Target { name: "disk", check: |bytes| text(bytes, used::disk) },
    Target { name: "machine", check: |bytes| text(bytes, used::machine) },
    Target { name: "fio-job", check: |bytes| text(bytes, used::fio_job) },
    Target { name: "ganger", check: |bytes| text(bytes, used::ganger) },
    Target { name: "scheduler", check: |bytes| text(bytes, used::scheduler) },
    Target { name: "disksim-parameters", check: |bytes| text(bytes, used::disksim_parameters) },
];

/// All of them: a trace format each, its detection and reordering, and each description that users write.
pub const TARGETS: &[Target] = &{
    let mut all = [OTHERS[0]; TRACES.len() + OTHERS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < TRACES.len() { TRACES[i] } else { OTHERS[i - TRACES.len()] };
        i += 1;
    }
    all
};

/// The target called `name`.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain(&FAULTY).find(|t| t.name == name)
}

/// Gives `bytes` to the target called `name`.
///
/// # Panics
/// Where there is a fault, and where there is no such target.
pub fn fuzz(name: &str, bytes: &[u8]) {
    let target = target(name).expect("the name of a target");
    (target.check)(bytes);
}

/// Descriptions are text: what is not, the file's reader refuses before.
fn text(bytes: &[u8], check: fn(&str) -> String) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| "no text".to_owned(), check)
}

/// The answer of what refuses its input, which it does in one line.
pub(crate) fn refused(error: &impl ToString) -> String {
    let line = error.to_string();
    assert!(!line.is_empty() && !line.contains('\n') && line.len() < 4096, "one line: {line}");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds;
    use std::collections::BTreeSet;

    #[test]
    fn every_format_is_fuzzed() {
        for name in iopilot_trace::Format::NAMES {
            assert!(target(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_target_is_also_one_of_cargo_fuzz() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
        let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let ours: BTreeSet<_> = TARGETS.iter().map(|t| format!("{}.rs", t.name.replace('-', "_"))).collect();
        assert_eq!(files.collect::<BTreeSet<_>>(), ours);
    }

    #[test]
    fn what_is_begun_with_is_accepted() {
        for target in TARGETS {
            let seeds = seeds(target.name);
            assert!(!seeds.is_empty(), "{}", target.name);
            for seed in seeds {
                let answer = (target.check)(&seed);
                assert!(answer.starts_with("ok"), "{}: {answer}", target.name);
            }
        }
    }

    #[test]
    fn the_disks_of_a_whole_system_serve_requests() {
        let target = target("disksim-parameters").expect("the name of a target");
        let system = seeds(target.name).pop().expect("there are some");
        assert_eq!((target.check)(&system), "ok, read");
    }
}
