//! The loads.

use std::process::{Command, Stdio};

/// The files that a load needs before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequiredFiles {
    /// A tree of small files in `tree`, and a copy of it in `other`.
    Trees,
    /// Twelve large files, `large0` to `large11`.
    Large,
    /// One file of half the disk, `data`.
    Data,
    /// Nothing.
    Nothing,
}

/// A load: a shell command, run in the folder where the file system is mounted.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedLoad {
    pub(super) name: &'static str,
    pub(super) needs: RequiredFiles,
    /// A program that the load needs and that not every machine has.
    program: &'static str,
    pub(super) script: &'static str,
}

const fn load(name: &'static str, needs: RequiredFiles, program: &'static str, script: &'static str) -> RecordedLoad {
    RecordedLoad { name, needs, program, script }
}

impl RecordedLoad {
    /// Whether this machine has the program.
    pub(super) fn can_run(&self) -> bool {
        let asked = Command::new("sh")
            .args(["-c", "command -v \"$0\"", self.program])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    }
}

const GREP: RecordedLoad = load("grep", RequiredFiles::Trees, "grep", "grep -rqs no-such-word tree; true");
const COPY: RecordedLoad = load("copy", RequiredFiles::Trees, "cp", "cp -r tree copy && sync -f .");
const SQLITE: &str = "{ echo 'create table t(a integer primary key, b text);'; \
    for i in $(seq 60); do echo \"insert into t values($i, hex(randomblob(200)));\"; done; } | sqlite3 base.db";
const SQLITE_LOAD: RecordedLoad = load("sqlite", RequiredFiles::Nothing, "sqlite3", SQLITE);

/// The loads of a quick run.
pub(super) const QUICK: &[RecordedLoad] = &[
    load("grep", RequiredFiles::Trees, "grep", "grep -rqs no-such-word tree; true"),
    load("two-cats", RequiredFiles::Large, "cat", "cat large0 > /dev/null & cat large1 > /dev/null; wait"),
];

pub(super) const ON_A_SHALLOW_DISK: &[RecordedLoad] = &[
    GREP,
    load(
        "tar-and-copy",
        RequiredFiles::Trees,
        "tar",
        "tar cf - tree | cat > /dev/null & cp -r other copy; sync -f .; wait",
    ),
    load("four-cats", RequiredFiles::Large, "cat", "for n in 0 1 2 3; do cat large$n > /dev/null & done; wait"),
    load(
        "random-libaio-8",
        RequiredFiles::Data,
        "fio",
        "fio --name=a --filename=data --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --number_ios=500 --size=100%",
    ),
    load(
        "random-8",
        RequiredFiles::Data,
        "fio",
        "fio --name=a --filename=data --rw=randread --bs=4k --direct=1 --ioengine=psync --numjobs=8 --number_ios=60 --size=100% \
         --thread=0",
    ),
    load(
        "mixed-beside-o-sync",
        RequiredFiles::Data,
        "fio",
        "fio --direct=1 --bs=4k --filename=data --size=100% --name=a --rw=randrw --ioengine=libaio --iodepth=4 --number_ios=250 \
         --name=b --rw=randwrite --sync=1 --ioengine=psync --number_ios=40",
    ),
    SQLITE_LOAD,
    COPY,
];

pub(super) const ON_A_DEEP_DISK: &[RecordedLoad] = &[
    load("find-cat-4", RequiredFiles::Trees, "xargs", "find tree other -type f | xargs -P 4 -n 16 cat > /dev/null"),
    load(
        "streams-12",
        RequiredFiles::Large,
        "fio",
        "fio --direct=1 --bs=64k --rw=read --ioengine=psync --size=12m --name=a --filename=large0 --name=b --filename=large1 \
         --name=c --filename=large2 --name=d --filename=large3 --name=e --filename=large4 --name=f --filename=large5 \
         --name=g --filename=large6 --name=h --filename=large7 --name=i --filename=large8 --name=j --filename=large9 \
         --name=k --filename=large10 --name=l --filename=large11",
    ),
    load(
        "streams-among-random",
        RequiredFiles::Large,
        "fio",
        "fio --direct=1 --ioengine=psync --name=s --rw=read --bs=64k --filename=large0 --size=12m --name=t --rw=read --bs=64k \
         --filename=large1 --size=12m --name=r --rw=randread --bs=4k --filename=large2:large3:large4:large5 --numjobs=16 \
         --number_ios=60",
    ),
    load(
        "random-32",
        RequiredFiles::Data,
        "fio",
        "fio --name=a --filename=data --rw=randread --bs=4k --direct=1 --ioengine=psync --numjobs=32 --number_ios=40 --size=100%",
    ),
    load(
        "mixed-libaio-16",
        RequiredFiles::Data,
        "fio",
        "fio --name=a --filename=data --rw=randrw --bs=8k --direct=1 --ioengine=libaio --iodepth=16 --number_ios=900 --size=100%",
    ),
    SQLITE_LOAD,
    load("untar", RequiredFiles::Trees, "tar", "mkdir new && tar cf - tree | tar xf - -C new && sync -f ."),
    load(
        "grep-beside-writer",
        RequiredFiles::Trees,
        "dd",
        "dd if=/dev/zero of=new bs=1M count=48 conv=fsync status=none & grep -rqs no-such-word tree other; wait",
    ),
];

pub(super) const ON_A_SOLID_STATE_DRIVE: &[RecordedLoad] = &[
    GREP,
    load(
        "random-libaio-4x16",
        RequiredFiles::Data,
        "fio",
        "fio --name=a --filename=data --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=16 --numjobs=4 \
         --number_ios=4000 --size=100%",
    ),
    load(
        "random-16-beside-o-sync",
        RequiredFiles::Data,
        "fio",
        "fio --direct=1 --bs=4k --filename=data --size=100% --ioengine=psync --name=a --rw=randread --numjobs=16 --number_ios=800 \
         --name=b --rw=randwrite --sync=1 --number_ios=200",
    ),
    SQLITE_LOAD,
    COPY,
    load(
        "stream-beside-writers",
        RequiredFiles::Large,
        "fio",
        "fio --direct=1 --ioengine=psync --name=s --rw=read --bs=1m --filename=large0 --size=24m --name=w --rw=randwrite --bs=4k \
         --filename=large1:large2 --numjobs=2 --number_ios=1500",
    ),
    load("find-cat-8", RequiredFiles::Trees, "xargs", "find tree other -type f | xargs -P 8 -n 16 cat > /dev/null"),
    load(
        "fsync-8",
        RequiredFiles::Data,
        "fio",
        "fio --name=a --filename=data --rw=randwrite --bs=4k --fsync=1 --ioengine=psync --numjobs=8 --number_ios=60 --size=100%",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_enough_loads_and_each_has_a_name_of_its_own_on_its_disk() {
        let all = [ON_A_SHALLOW_DISK, ON_A_DEEP_DISK, ON_A_SOLID_STATE_DRIVE];
        assert!(all.iter().map(|loads| loads.len()).sum::<usize>() >= 24);
        for loads in all {
            let names: HashSet<&str> = loads.iter().map(|load| load.name).collect();
            assert_eq!(names.len(), loads.len());
        }
    }
}
