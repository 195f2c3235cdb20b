//! The loads.

use std::process::{Command, Stdio};

/// Functions for the scripts. Without `finish` the shell would ignore a failed background command.
const FUNCTIONS: &str = "started=; start() { \"$@\" & started=\"$started $!\"; }; \
    finish() { failed=0; for process in $started; do wait $process || failed=1; done; return $failed; }; ";

/// A load: a shell script that runs in the folder where the file system is mounted. Its standard output is discarded.
/// It fails if any of its commands fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShellLoad {
    pub(super) name: &'static str,
    /// A program that the load needs and that not every machine has.
    program: &'static str,
    script: &'static str,
}

const fn load(name: &'static str, program: &'static str, script: &'static str) -> ShellLoad {
    ShellLoad { name, program, script }
}

impl ShellLoad {
    /// The whole script.
    pub(super) fn script(&self) -> String {
        FUNCTIONS.to_owned() + self.script
    }

    /// Whether this machine has the program.
    pub(super) fn can_run(&self) -> bool {
        let mut asked = Command::new("sh");
        asked.args(["-c", "command -v \"$0\"", self.program]).stdin(Stdio::null()).stdout(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    }
}

/// One process that reads its tree file by file.
const ONE: ShellLoad = load("find-cat-1", "find", "find tree00 -type f -exec cat {} +");

pub(super) const QUICK: &[ShellLoad] = &[ONE];

pub(super) const ALL: &[ShellLoad] = &[
    ONE,
    load(
        "find-cat-8",
        "find",
        "for n in 00 01 02 03 04 05 06 07; do start find tree$n -type f -exec cat {} +; done; finish",
    ),
    load("find-cat-32", "find", "for tree in tree*; do start find $tree -type f -exec cat {} +; done; finish"),
    load("tac-4", "tac", "for n in 0 1 2 3; do start tac large$n; done; finish"),
    load("sequential-4", "cat", "for n in 0 1 2 3; do start cat large$n; done; finish"),
    load(
        "strided-4",
        "fio",
        "fio --name=s --readonly --rw=read:8k --bs=4k --ioengine=psync --io_size=7m --size=22m --invalidate=0 \
         --numjobs=4 --filename_format=large\\$jobnum --output=/dev/null",
    ),
    load(
        "random-8",
        "fio",
        "fio --name=r --filename=data --readonly --rw=randread --bs=4k --ioengine=psync --numjobs=8 --number_ios=120 \
         --size=100% --invalidate=0 --fadvise_hint=0 --output=/dev/null",
    ),
    load("compile", "gcc", "for file in source/*.c; do gcc -O0 -Isource -c $file -o /dev/null || exit 1; done"),
    load(
        "trees-beside-random",
        "fio",
        "for n in 00 01 02 03; do start find tree$n -type f -exec cat {} +; done; \
         start fio --name=r --filename=data --readonly --rw=randread --bs=4k --ioengine=psync --numjobs=4 --number_ios=150 \
         --size=100% --invalidate=0 --fadvise_hint=0 --output=/dev/null; finish",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_fails_if_a_command_in_the_background_does() {
        let run = |script| {
            let whole = load("test", "sh", script).script();
            Command::new("sh").args(["-c", &whole]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        assert!(run("for n in 0 1; do start true; done; finish"));
        assert!(!run("start true; start cat /nonexistent; start true; finish"));
    }
}
