//! `iopilot vdisk` with real block devices. Needs root, FUSE and loop devices; prints a line if they are missing.
#![cfg(target_os = "linux")]

use crate::Sandbox;
use iopilot_testing::{has, skipped, wait};
use serde_json::Value;
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for the virtual disks of one test, which are removed at the end.
pub(crate) struct Disks {
    pub(crate) sandbox: Sandbox,
}

impl Disks {
    /// `None` if it cannot be made; the reason has been printed.
    pub(crate) fn new() -> Option<Self> {
        has(&["root", "/dev/fuse", "/dev/loop-control"]).then(|| Self { sandbox: Sandbox::new() })
    }

    /// Runs `iopilot vdisk`, which must succeed; returns its output.
    pub(crate) fn ok(&self, line: &str) -> String {
        self.sandbox.ok(&format!("vdisk {line} --state-dir state"))
    }

    /// Runs `iopilot vdisk`, which must refuse its input; returns the error line.
    fn refused(&self, line: &str) -> String {
        self.sandbox.refused(&format!("vdisk {line} --state-dir state"))
    }

    /// Attaches a disk; returns the printed description.
    pub(crate) fn attach(&self, options: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("attach --json --backing disk.img {options}"))).unwrap()
    }

    fn list(&self) -> Vec<Value> {
        serde_json::from_str(&self.ok("list --json")).unwrap()
    }

    /// Nothing is attached, mounted or noted.
    pub(crate) fn are_gone(&self) {
        assert!(self.list().is_empty());
        assert_eq!(self.attached(), Vec::<PathBuf>::new());
        assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(&*self.folder().to_string_lossy()));
        let noted = fs::read_dir(self.sandbox.path().join("state")).unwrap().map(|e| e.unwrap().file_name());
        assert_eq!(noted.collect::<Vec<_>>(), ["lock"]);
    }

    fn folder(&self) -> PathBuf {
        fs::canonicalize(self.sandbox.path()).unwrap()
    }

    /// The loop devices that are attached to files of the sandbox.
    fn attached(&self) -> Vec<PathBuf> {
        let devices = fs::read_dir("/sys/block").unwrap().map(|e| e.unwrap().path());
        let of_us = |device: &PathBuf| {
            let backing = fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
            Path::new(&backing).starts_with(self.folder())
        };
        devices.filter(of_us).collect()
    }

    /// Runs a program, which must succeed; returns its output.
    pub(crate) fn tool(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        let out = command.args(words).current_dir(self.sandbox.path()).output().unwrap();
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    /// Unmounts a file system of the test, once no process that is just starting holds it.
    pub(crate) fn unmount(&self) {
        let mounted = self.sandbox.path().join("mounted");
        wait("unmounting", || Command::new("umount").arg("-q").arg(&mounted).status().unwrap().success());
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        let mounted = self.sandbox.path().join("mounted");
        if mounted.exists() {
            let _ = Command::new("umount").args(["-q", "-l"]).arg(mounted).status();
        }
        let _ = self.sandbox.run("vdisk detach --all --force --state-dir state");
    }
}

pub(crate) fn device(attachment: &Value) -> &str {
    attachment["device"].as_str().unwrap()
}

fn queue(attachment: &Value, attribute: &str) -> String {
    let name = Path::new(device(attachment)).file_name().unwrap();
    let path = Path::new("/sys/block").join(name).join("queue").join(attribute);
    fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn data_survive_detach_and_attach_and_a_file_system_check() {
    let Some(disks) = Disks::new() else { return };
    if !has(&["mkfs.ext4", "fsck.ext4", "mount", "umount"]) {
        return;
    }
    let written: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let disk = disks.attach("--disk hd-500-16 --size 64M --depth 4 --time-scale 50");
    disks.tool(&format!("mkfs.ext4 -q {}", device(&disk)));
    fs::create_dir(disks.sandbox.path().join("mounted")).unwrap();
    disks.tool(&format!("mount {} mounted", device(&disk)));
    disks.sandbox.write("mounted/file", &written);
    let line = disks.refused("detach vd0");
    assert!(line.contains("in use, by a file system that is mounted, say"), "{line}");
    disks.unmount();
    disks.ok("detach vd0");
    disks.are_gone();

    // Its size is that of its file.
    let disk = disks.attach("--disk hd-500-16 --time-scale 50");
    assert_eq!(disk["size"], 64 << 20);
    disks.tool(&format!("fsck.ext4 -f -n {}", device(&disk)));
    disks.tool(&format!("mount {} mounted", device(&disk)));
    assert!(fs::read(disks.sandbox.path().join("mounted/file")).unwrap() == written, "the file has other data");
    disks.unmount();
    disks.ok(&format!("detach {}", device(&disk)));
    disks.are_gone();
}

#[test]
fn a_disk_is_what_was_asked_for_and_tells_what_it_did() {
    let Some(disks) = Disks::new() else { return };
    let disk = disks.attach("--disk hd-500-16 --size 1G --depth 4 --scheduler bfq --name mine --requests-out log.csv");
    assert_eq!(
        (disk["size"].as_u64(), disk["depth"].as_u64(), disk["name"].as_str()),
        (Some(1 << 30), Some(4), Some("mine"))
    );
    assert_eq!(disks.tool(&format!("blockdev --getsize64 {}", device(&disk))).trim(), (1u64 << 30).to_string());
    assert_eq!(queue(&disk, "rotational"), "1");
    assert!(queue(&disk, "scheduler").contains("[bfq]"));
    let stats = || -> Value { serde_json::from_str(&disks.ok("stats mine --json")).unwrap() };
    let before = stats();
    disks.tool(&format!("dd if={} of=/dev/null bs=4k count=20 skip=1000 iflag=direct", device(&disk)));
    disks.tool(&format!("dd if=small.trace of={} bs=4k count=1 oflag=direct conv=fsync,notrunc", device(&disk)));
    let after = stats();
    let grown = |group: &str, of: &str| after[group][of].as_u64().unwrap() - before[group][of].as_u64().unwrap();
    // A program that watches for new disks may read from it too.
    assert!(grown("requests", "read") >= 20 && grown("bytes", "read") >= 20 * 4096, "{after}");
    assert!(grown("requests", "write") == 1 && grown("requests", "flush") >= 1, "{after}");
    let number = |value: &Value| value.as_f64().unwrap();
    // No request is answered before its modelled completion.
    assert!(number(&after["modelled_ms"]["mean"]) > 0.0, "{after}");
    assert!(number(&after["real_ms"]["mean"]) >= number(&after["modelled_ms"]["mean"]), "{after}");
    assert!(disks.ok("stats mine").contains("lateness"));
    disks.ok("detach mine");

    let log = fs::read_to_string(disks.sandbox.path().join("log.csv")).unwrap();
    let mut lines = log.lines();
    assert_eq!(lines.next(), Some("op,lba,sectors,arrived_ns,due_ns,left_ns,model_ns"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.iter().filter(|row| row[0] == "write").count(), 1);
    let times = |row: &[&str]| -> Vec<u64> { row[3..].iter().map(|t| t.parse().unwrap()).collect() };
    // The model's clock runs like the real one, and started with the disk.
    let began = |row: &[&str]| times(row)[0] - times(row)[3];
    for row in &rows {
        assert!(times(row)[..3].is_sorted(), "{row:?}");
        assert_eq!(began(row), began(&rows[0]), "{row:?}");
    }
    disks.are_gone();
}

#[test]
fn a_disk_that_is_reset_has_nothing_in_its_cache() {
    let Some(disks) = Disks::new() else { return };
    let disk = disks.attach("--disk hd-500-16 --size 1G --name again --requests-out log.csv");
    // Far from the addresses where other programs look for file systems and partitions.
    let read = || disks.tool(&format!("dd if={} of=/dev/null bs=4k count=1 skip=100000 iflag=direct", device(&disk)));
    read();
    read();
    // A program that inspects new disks may be reading.
    let told = RefCell::new(String::new());
    wait("an idle disk", || {
        let reset = disks.sandbox.run("vdisk reset again --json --state-dir state");
        *told.borrow_mut() = reset.stdout;
        reset.code == 0
    });
    let clocks: Value = serde_json::from_str(&told.borrow()).unwrap();
    read();
    disks.ok("detach again");

    let log = fs::read_to_string(disks.sandbox.path().join("log.csv")).unwrap();
    let number = |line: &str, n: usize| -> u64 { line.split(',').nth(n).unwrap().parse().unwrap() };
    let of_place: Vec<&str> = log.lines().filter(|line| line.starts_with("read,800000,")).collect();
    let took: Vec<u64> = of_place.iter().map(|line| number(line, 4) - number(line, 3)).collect();
    assert_eq!(took.len(), 3, "{log}");
    assert!(took[1] < 500_000 && took[2] > 2 * took[1], "the second hits, the third does not: {took:?}");
    let began = |of: &[u64; 2]| of[0] - of[1];
    let [monotonic, model] = ["monotonic_ns", "model_ns"].map(|key| clocks[key].as_u64().unwrap());
    assert_eq!(began(&[monotonic, model]), began(&[number(of_place[0], 3), number(of_place[0], 6)]));

    disks.attach("--disk none --name bare");
    let line = disks.refused("reset bare");
    assert!(line.contains("a disk without a model, expected one that has one to be reset"), "{line}");
    disks.ok("detach bare");
    disks.are_gone();
}

#[test]
fn what_a_killed_server_leaves_is_cleared_away() {
    let Some(disks) = Disks::new() else { return };
    let kill = |signal: &str, disk: &Value| {
        let pid = disk["pid"].as_u64().unwrap();
        disks.tool(&format!("kill -{signal} {pid}"));
        wait("its end", || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        });
    };
    let killed = disks.attach("--disk wd1200bb --size 16M --depth 4");
    kill("KILL", &killed);
    // The next attach finds the name and the file free.
    let disk = disks.attach("--disk wd1200bb");
    assert_eq!((&disk["name"], &disk["size"]), (&killed["name"], &killed["size"]));
    assert_eq!((disks.attached().len(), disks.list().len()), (1, 1));
    // A server that gets SIGTERM ends cleanly by itself.
    kill("TERM", &disk);
    assert_eq!(disks.attached(), Vec::<PathBuf>::new());
    let left = disks.sandbox.path().join("state").join(disk["name"].as_str().unwrap());
    assert!(!left.exists());

    let killed = disks.attach("--disk none");
    kill("KILL", &killed);
    disks.ok(&format!("detach {}", device(&killed)));
    disks.are_gone();
}

#[test]
fn a_dead_disk_that_is_mounted_is_listed_until_it_is_unmounted() {
    let Some(disks) = Disks::new().filter(|_| has(&["mkfs.ext4", "mount"])) else { return };
    let killed = disks.attach("--disk none --size 16M");
    disks.tool(&format!("mkfs.ext4 -q {}", device(&killed)));
    fs::create_dir(disks.sandbox.path().join("mounted")).unwrap();
    disks.tool(&format!("mount {} mounted", device(&killed)));
    disks.tool(&format!("kill -KILL {}", killed["pid"]));
    wait("it is listed as dead", || disks.list().iter().any(|disk| disk["served"] == false));
    assert!(disks.ok("list").contains("dead, in use"));
    for command in ["stats", "reset", "detach"] {
        let line = disks.refused(&format!("{command} {}", device(&killed)));
        assert!(line.contains("its server is dead, and it is still mounted: umount /"), "{line}");
    }
    disks.unmount();
    disks.are_gone();
}

#[test]
fn what_does_not_fit_is_told_before_and_counted_after() {
    let Some(disks) = Disks::new().filter(|_| has(&["mount", "dd"])) else { return };
    fs::create_dir(disks.sandbox.path().join("mounted")).unwrap();
    disks.tool("mount -t tmpfs -o size=2m none mounted");
    let done =
        disks.sandbox.run("vdisk attach --disk none --size 16M --name small --backing mounted/d.img --state-dir state");
    assert!(done.code == 0 && done.stderr.contains("may grow by 16777216 bytes, but its file system has room for 2"));
    let dd = format!("if=/dev/urandom of={} bs=1M count=4 oflag=direct", done.stdout.trim());
    assert!(!Command::new("dd").args(dd.split_whitespace()).output().unwrap().status.success());
    let stats: Value = serde_json::from_str(&disks.ok("stats small --json")).unwrap();
    assert!(stats["errors"]["write"].as_u64() > Some(0) && stats["stored"].as_u64() <= Some(2 << 20), "{stats}");
    disks.ok("detach small --force");
    disks.unmount();
    disks.are_gone();
}

#[test]
fn a_disk_without_a_model_stores_and_discards() {
    let Some(disks) = Disks::new() else { return };
    if !has(&["dd", "cmp", "blkdiscard"]) {
        return;
    }
    let disk = disks.attach("--disk none --size 32M");
    assert_eq!(queue(&disk, "rotational"), "0");
    disks.tool("dd if=/dev/urandom of=data bs=1M count=8");
    disks.tool(&format!("dd if=data of={} bs=1M oflag=direct conv=fsync", device(&disk)));
    disks.tool(&format!("cmp -n 8388608 data {}", device(&disk)));
    let room = || fs::metadata(disks.sandbox.path().join("disk.img")).unwrap().blocks();
    let full = room();
    disks.tool(&format!("blkdiscard -o 0 -l 4M {}", device(&disk)));
    assert!(room() < full);
    disks.tool(&format!("cmp -n 4194304 /dev/zero {}", device(&disk)));
    disks.tool(&format!("cmp -i 4194304 -n 4194304 data {}", device(&disk)));
    disks.ok("detach --all");
    disks.are_gone();
}

#[test]
fn what_cannot_be_is_refused_in_a_line_and_leaves_nothing() {
    let Some(disks) = Disks::new() else { return };
    for (options, told) in [
        ("--disk hd-500-61", "did you mean hd-500-16?"),
        ("--disk hd-500-16 --size 1X", "--size: got 1X, expected"),
        ("--disk hd-500-16 --size 0", "--size: got 0, expected a multiple of 512, above 0"),
        ("--disk hd-500-16 --size 1000", "--size: got 1000, expected a multiple of 512, above 0"),
        ("--disk hd-500-16 --size 9T", "the size of hd-500-16"),
        ("--disk none", "--size: got nothing, expected a size such as 8G"),
        ("--disk hd-500-16 --size 1M --depth 3", "--depth: got 3, expected 4 to 128"),
        ("--disk hd-500-16 --size 1M --depth 129", "--depth: got 129, expected 4 to 128"),
        ("--disk hd-500-16 --size 1M --time-scale 0", "--time-scale: got 0, expected a number above 0"),
        ("--disk hd-500-16 --size 1M --name a/b", "--name: got a/b, expected up to 64 letters"),
        ("--disk hd-500-16 --size 1M --requests-out no/log", "no/log: No such file"),
    ] {
        let done = disks.sandbox.run(&format!("vdisk attach --backing new.img --state-dir state {options}"));
        assert!(done.code == 2 || options.contains("no/log"), "{options}: {}", done.stderr);
        assert!(done.stderr.contains(told) && done.stderr.lines().count() == 1, "{options}: {}", done.stderr);
    }
    let line = disks.refused("attach --disk hd-500-16 --size 1M --backing made.img --scheduler cfq");
    assert!(line.contains("scheduler cfq is not offered, expected one of none"), "{line}");
    disks.sandbox.write("small.img", [0; 4096]);
    let line = disks.refused("attach --disk hd-500-16 --size 1M --backing small.img");
    assert!(line.contains("--size: got 1048576, expected 4096, the size of small.img"), "{line}");
    assert!(disks.refused("attach --disk hd-500-16 --backing .").contains("--backing: got ., expected a file"));
    assert!(disks.refused("detach vd7").contains("virtual disk: got vd7, expected a virtual disk; there is none"));
    disks.attach("--disk none --size 1M");
    assert!(disks.refused("attach --disk none --backing disk.img").contains("in use by another virtual disk"));
    assert!(disks.refused("stats vd7").contains("expected one of vd0 (/dev/loop"));
    disks.ok("detach vd0");
    disks.are_gone();
}

#[test]
fn where_there_is_no_ublk_a_line_says_so() {
    let Some(disks) = Disks::new() else { return };
    let line = match (cfg!(feature = "ublk"), Path::new("/dev/ublk-control").exists()) {
        (true, true) => return skipped("there is ublk"),
        (true, false) => "/dev/ublk-control: not there; the kernel needs its module ublk_drv: modprobe ublk_drv",
        (false, _) => "--via: got ublk, expected loop; this was built without the cargo feature ublk",
    };
    let refusal = disks.refused("attach --disk none --size 1M --backing disk.img --via ublk");
    assert!(refusal.contains(line), "{refusal}");
    disks.are_gone();
}
