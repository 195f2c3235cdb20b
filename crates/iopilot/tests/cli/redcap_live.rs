//! `iopilot redcap` with real block devices. Needs root, FUSE and loop devices; prints a line if they are missing.
#![cfg(target_os = "linux")]

use crate::Sandbox;
use crate::vdisks::{Disks, device};
use iopilot_testing::{has, wait};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};

/// A virtual disk, and the caches over it.
struct Caches {
    disks: Disks,
    lower: String,
}

impl Caches {
    /// Over a virtual disk of 64 MiB; `None` if it cannot be made; the reason has been printed.
    fn new() -> Option<Self> {
        let disks = Disks::new()?;
        if !has(&["io_uring"]) {
            return None;
        }
        let attached = disks.attach("--disk hd-500-16 --size 64M --depth 32 --time-scale 50");
        let lower = device(&attached).to_owned();
        Some(Self { disks, lower })
    }

    fn sandbox(&self) -> &Sandbox {
        &self.disks.sandbox
    }

    /// Runs `iopilot redcap`, which must succeed; returns its output.
    fn ok(&self, line: &str) -> String {
        self.sandbox().ok(&format!("redcap {line} --state-dir caches"))
    }

    /// Runs `iopilot redcap`, which must refuse its input; returns the error line.
    fn refused(&self, line: &str) -> String {
        self.sandbox().refused(&format!("redcap {line} --state-dir caches"))
    }

    /// Attaches a cache; returns the printed description.
    fn attach(&self, options: &str) -> Value {
        let line = format!("attach {} --json --learned learned.toml {options}", self.lower);
        serde_json::from_str(&self.ok(&line)).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.ok("status --json")).unwrap()
    }

    /// No cache is attached, mounted or noted, and the disk below is free.
    fn are_gone(&self) {
        assert_eq!(self.ok("list --json").trim(), "[]");
        let folder = fs::canonicalize(self.sandbox().path()).unwrap().join("caches");
        assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(&*folder.to_string_lossy()));
        let noted = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(noted.collect::<Vec<_>>(), ["lock"]);
        self.attach("--name again");
        self.ok("detach again");
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        let mounted = self.sandbox().path().join("mounted");
        if mounted.exists() {
            let _ = Command::new("umount").args(["-q", "-l"]).arg(mounted).status();
        }
        let _ = self.sandbox().run("redcap detach --all --force --state-dir caches");
    }
}

#[test]
fn neighbours_of_what_was_read_come_from_memory() {
    let Some(caches) = Caches::new() else { return };
    if !has(&["dd"]) {
        return;
    }
    let cached = caches.attach("--size 4M --algorithm always");
    assert_eq!((cached["size"].as_u64(), cached["cache"].as_u64()), (Some(64 << 20), Some(4 << 20)));
    assert_eq!((cached["name"].as_str(), cached["disk"].as_str()), (Some("redcap0"), Some(&*caches.lower)));
    let path = device(&cached).to_owned();
    // Ten blocks of a segment, one after the other. Another program, such as udev, may read a new device as well. The
    // counts then include its reads, and the next segment is tried.
    let ten = |segment: u32| {
        let before = caches.status();
        let skip = 32 * segment;
        caches.disks.tool(&format!("dd if={path} of=/dev/null iflag=direct status=none bs=4k count=10 skip={skip}"));
        let after = caches.status();
        let more = |part: &str, key: &str| after[part][key].as_u64().unwrap() - before[part][key].as_u64().unwrap();
        let reads = |status: &Value| status["application"]["requests"]["read"].as_u64().unwrap();
        let counts = ["misses", "hit_blocks", "prefetched_blocks"].map(|key| more("cache", key));
        (reads(&after) - reads(&before), counts)
    };
    let alone = (3..23).map(ten).find(|(reads, _)| *reads == 10).expect("a moment in which nobody else reads");
    assert_eq!(alone.1, [1, 9, 31], "misses, and blocks that came from the cache, and that were prefetched");
    let percent = || {
        let status = caches.status();
        let of = |key: &str| status["cache"][key].as_f64().unwrap();
        format!("{:.1} % of those asked for came from the cache", 100.0 * of("hit_blocks") / of("requested_blocks"))
    };
    let told = [percent(), caches.ok("status redcap0"), percent()];
    assert!(told[1].contains(&told[0]) || told[1].contains(&told[2]), "{told:?}");
    caches.ok(&format!("detach {path}"));
    caches.are_gone();
}

/// A file system, verified writes, caches that are turned on and off, and a killed server.
#[test]
fn data_are_kept_whatever_happens() {
    let Some(caches) = Caches::new() else { return };
    if !has(&["fio", "mkfs.ext4", "fsck.ext4", "mount", "umount"]) {
        return;
    }
    let mounted = caches.sandbox().path().join("mounted");
    fs::create_dir(&mounted).unwrap();
    for (n, options) in ["--algorithm v2", "--algorithm adaptive --disk hd-500-16"].into_iter().enumerate() {
        let options = if n == 1 { options.to_owned() } else { format!("--learned learned.toml {options}") };
        let line = format!("attach {} --json --size 2M --segment 32K {options}", caches.lower);
        let cached: Value = serde_json::from_str(&caches.ok(&line)).unwrap();
        let path = device(&cached);
        if n == 0 {
            caches.disks.tool(&format!("mkfs.ext4 -q {path}"));
        }
        caches.disks.tool(&format!("mount {path} mounted"));
        let refused = caches.refused("detach redcap0");
        assert!(refused.contains("in use, by a file system that is mounted, say"), "{refused}");
        caches.disks.tool(
            "fio --name=v --directory=mounted --size=6M --rw=randrw --bsrange=512-64k --bs_unaligned=0 --direct=0 \
             --verify=crc32c --verify_fatal=1 --numjobs=2 --fsync=16 --invalidate=1 --output=fio.txt",
        );
        caches.disks.unmount();
        let status = caches.status();
        assert_eq!(status["application"]["errors"]["read"], 0);
        assert!(status["application"]["requests"]["flush"].as_u64() > Some(0), "{status}");
        caches.ok("detach redcap0");
        // Nothing is missing on the disk itself.
        caches.disks.tool(&format!("fsck.ext4 -f -n {}", caches.lower));
    }
    caches.are_gone();
}

/// However the device goes away during writes, data written durably are there, and the file system can be repaired.
#[test]
fn what_was_durable_survives_any_end_under_load() {
    let Some(caches) = Caches::new() else { return };
    if !has(&["fio", "mkfs.ext4", "fsck.ext4", "mount", "umount", "dd", "cmp", "kill"]) {
        return;
    }
    let mounted = caches.sandbox().path().join("mounted");
    fs::create_dir(&mounted).unwrap();
    caches.disks.tool(&format!("mkfs.ext4 -q {}", caches.lower));
    for (n, end) in ["detach", "TERM", "KILL"].into_iter().enumerate() {
        let cached = caches.attach("--size 2M --segment 32K --algorithm always");
        let (path, pid) = (device(&cached), cached["pid"].as_u64().unwrap());
        caches.disks.tool(&format!("mount {path} mounted"));
        let kept: Vec<u8> = (0..700_000u32).map(|i| ((i + n as u32).wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        caches.sandbox().write("kept", &kept);
        caches.disks.tool(&format!("dd if=kept of=mounted/kept{n} bs=64k conv=fsync status=none"));
        let mut load = Command::new("fio");
        load.args("--name=l --size=4M --rw=randrw --bs=4k-32k --direct=1 --numjobs=2 --fsync=32".split(' '));
        load.args(["--time_based", "--runtime=60"]).arg(format!("--directory={}", mounted.display()));
        let mut load = Load(load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let count = |kind: &str| caches.status()["application"]["requests"][kind].as_u64().unwrap();
        wait("a load", || count("read") > 200 && count("flush") > 4);
        match end {
            "detach" => {
                let refused = caches.refused("detach redcap0");
                assert!(refused.contains("in use, by a file system that is mounted, say"), "{refused}");
                caches.ok("detach redcap0 --force");
            }
            signal => {
                caches.disks.tool(&format!("kill -{signal} {pid}"));
                let pid = pid.to_string();
                let gone = || !fs::exists(format!("/proc/{pid}/stat")).unwrap() || is_zombie(&pid);
                wait("the end of the server", gone);
            }
        }
        wait("the end of the load", || load.0.try_wait().unwrap().is_some());
        assert!(!load.0.wait().unwrap().success(), "{end}: the load is told");
        caches.disks.unmount();
        assert_eq!(caches.ok("list --json").trim(), "[]", "{end}");
        // The first check replays the journal or repairs errors; a second check finds none.
        let mended = Command::new("fsck.ext4").args(["-f", "-y", &caches.lower]).output().unwrap();
        let told = String::from_utf8_lossy(&mended.stdout).into_owned();
        assert!(mended.status.code().is_some_and(|code| code <= 1), "{end}: {told}");
        caches.disks.tool(&format!("fsck.ext4 -f -n {}", caches.lower));
        caches.disks.tool(&format!("mount {} mounted", caches.lower));
        caches.disks.tool(&format!("cmp kept mounted/kept{n}"));
        caches.disks.unmount();
    }
    caches.are_gone();
}

/// A load that ends with its test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_server_leaves_nothing_that_the_next_start_does_not_clear_away() {
    let Some(caches) = Caches::new() else { return };
    let cached = caches.attach("");
    let pid = cached["pid"].as_u64().unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    wait("the end of the server", || !fs::exists(format!("/proc/{pid}/stat")).unwrap() || is_zombie(&pid));
    caches.are_gone();
}

fn is_zombie(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn what_cannot_be_cached_is_refused_in_a_line() {
    let Some(caches) = Caches::new() else { return };
    if !has(&["mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let lower = caches.lower.clone();
    let refused = |line: &str| caches.refused(line);
    let line = refused("attach /dev/no-such-disk");
    assert!(line.contains("/dev/no-such-disk: not there, expected a block device"), "{line}");
    let line = refused("attach small.trace");
    assert!(line.contains("small.trace: not a block device, expected a disk, a partition or a volume"), "{line}");
    let line = refused(&format!("attach {lower} --size 100K"));
    assert!(line.contains("--size: got 102400, expected a multiple of the segment's 131072 bytes"), "{line}");
    let line = refused(&format!("attach {lower} --segment 48K"));
    assert!(line.contains("--segment: got 49152, expected 32K, 64K, 128K or 256K"), "{line}");
    let line = refused(&format!("attach {lower} --algorithm adaptiv"));
    assert!(line.contains("did you mean `adaptive`?"), "{line}");
    let line = refused(&format!("attach {lower} --disk x25-m"));
    assert!(line.contains("x25-m"), "{line}");
    let line = refused("status nothing");
    assert!(line.contains("cached disk: got nothing, expected a cached disk; there is none"), "{line}");
    let cached = caches.attach("");
    let line = refused(&format!("attach {lower}"));
    assert!(line.contains(&format!("{lower}: in use by another program or driver")), "{line}");
    caches.ok(&format!("detach {}", device(&cached)));
    // A mounted one.
    fs::create_dir(caches.sandbox().path().join("mounted")).unwrap();
    caches.disks.tool(&format!("mkfs.ext4 -q {lower}"));
    caches.disks.tool(&format!("mount {lower} mounted"));
    let line = refused(&format!("attach {lower}"));
    assert!(line.contains("in use: mounted at ") && line.contains("/mounted; expected one that nobody uses"), "{line}");
    caches.disks.unmount();
    caches.are_gone();
}

#[test]
fn without_root_it_says_what_it_needs() {
    if !has(&["root", "setpriv", "/dev/fuse", "/dev/loop-control"]) {
        return;
    }
    let s = Sandbox::new();
    let program = s.command().get_program().to_owned();
    let out = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(["redcap", "attach", "/dev/loop0"])
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(2) && told.contains("expected root") || told.contains("ermission"), "{told}");
}
