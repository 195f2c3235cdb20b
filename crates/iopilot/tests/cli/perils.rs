//! `iopilot dads run` where things go wrong around it: data are verified while schedulers change, disks vanish, and the kernel
//! refuses what it is asked for. Needs root and what each test says where it is missing.
#![cfg(target_os = "linux")]

use crate::Sandbox;
use crate::flying::{Flight, Readers, events, is_as_before, tuned};
use crate::recording::MOUNT_TRACEFS;
use crate::vdisks::{Disks, device};
use iopilot_testing::{has, skipped, wait};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const MODEL: &str = "--disk hd-500-16";

/// Sets an attribute of a disk's queue, as an administrator would; whether the kernel took it.
fn set(disk: &str, attribute: &str, value: &str) -> bool {
    let name = disk.trim_start_matches("/dev/");
    fs::write(format!("/sys/block/{name}/queue/{attribute}"), value).is_ok()
}

fn queue(disk: &str, attribute: &str) -> String {
    let name = disk.trim_start_matches("/dev/");
    fs::read_to_string(format!("/sys/block/{name}/queue/{attribute}")).unwrap_or_default().trim().to_owned()
}

fn disks_of(s: &Sandbox) -> Vec<Value> {
    let told: Value = serde_json::from_str(&s.ok("dads status --json --runtime-dir run")).unwrap();
    told["disks"].as_array().unwrap().clone()
}

fn ended(s: &Sandbox, which: usize) -> bool {
    disks_of(s)[which]["phase"] == "ended"
}

/// Waits until each disk has had two more intervals: the daemon then has looked at it anew, and has acted on what it saw.
fn wait_for_intervals(s: &Sandbox) {
    let intervals = || -> Vec<u64> {
        let count = |disk: &Value| disk["checks"].as_u64().unwrap() + disk["skips"].as_u64().unwrap();
        disks_of(s).iter().map(count).collect()
    };
    let before = intervals();
    wait("two intervals pass", || intervals().iter().zip(&before).all(|(now, before)| *now >= before + 2));
}

/// One that reads on until it is dropped.
struct Reader(Child);

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_data_are_lost_while_schedulers_change() {
    let Some(disks) = Disks::new() else { return };
    if !has(&["fio", "mkfs.ext4", "fsck.ext4", "mount", "umount", "dd"]) {
        return;
    }
    let attachment = disks.attach("--disk none --size 2G --depth 32");
    let disk = device(&attachment);
    if !queue(disk, "scheduler").contains("bfq") || !set(disk, "scheduler", "mq-deadline") {
        return skipped("the kernel lacks mq-deadline or bfq");
    }
    // For a disk that turns, the model of bfq waits for readers to go on, and is better here.
    assert!(set(disk, "iosched/fifo_batch", "7") && set(disk, "rotational", "1"));
    disks.tool(&format!("mkfs.ext4 -q {disk}"));
    fs::create_dir(disks.sandbox.path().join("mounted")).unwrap();
    disks.tool(&format!("mount {disk} mounted"));

    let flight = Flight::start(&disks.sandbox, disk, "");
    let readers = Readers::start(disk);
    wait("the daemon changes it by itself", || queue(disk, "scheduler").contains("[bfq]"));
    // What was written is read again and checked soon after, between the writes of others, and all of it at the end. This
    // is repeated until the flight has landed.
    let fio = "fio --name=verified --filename=mounted/file --size=48M --rw=randrw --bsrange=4k-64k --direct=1 \
               --ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1 --verify_backlog=128 \
               --time_based --runtime=3";
    let mut fio = Command::new("sh")
        .args(["-c", &format!("until [ -e landed ]; do {fio} || exit; done > fio.txt")])
        .current_dir(disks.sandbox.path())
        .spawn()
        .unwrap();
    // Behind the daemon's back: one that it does not fly, one that it does.
    let mut by_hand = 0;
    for _ in 0..2 {
        for scheduler in ["none", "mq-deadline", "bfq"] {
            wait_for_intervals(&disks.sandbox);
            by_hand += u32::from(set(disk, "scheduler", scheduler));
            let _ = set(disk, "iosched/low_latency", "0");
        }
    }
    // It lands under load as well.
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(fio.try_wait().unwrap().is_none(), "fio failed under way");
    disks.sandbox.write("landed", "");
    assert!(queue(disk, "scheduler").contains("[mq-deadline]"));
    assert_eq!(queue(disk, "iosched/fifo_batch"), "7");
    let status = fio.wait().unwrap();
    let told = fs::read_to_string(disks.sandbox.path().join("fio.txt")).unwrap_or_default();
    assert!(status.success() && !told.contains("verify: bad") && told.contains("err= 0"), "{told}");
    let events = events(&disks.sandbox);
    let own = events.iter().filter(|e| e["carried_out"] == true).count();
    let others = events.iter().filter(|e| e["event"] == "changed-by-others").count();
    assert!(own >= 1 && others >= 2 && by_hand == 6, "{own} {others} {by_hand}");

    disks.unmount();
    disks.tool(&format!("fsck.ext4 -f -n {disk}"));
    disks.ok("detach vd0");
    disks.are_gone();
}

/// A loop device that can be removed as a disk that is unplugged is. Attached to a file of the sandbox.
struct Removable {
    number: u32,
    path: String,
}

impl Removable {
    fn attach(s: &Sandbox) -> Option<Self> {
        if !has(&["root", "perl", "/dev/loop-control"]) {
            return None;
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = 200 + (std::process::id() + 400 * MADE.fetch_add(1, Ordering::Relaxed)) % 800;
        let made = Self { number, path: format!("/dev/loop{number}") };
        if !made.control("0x4C80") || !Path::new(&made.path).exists() {
            skipped("no loop device can be made");
            return None;
        }
        fs::File::create(s.path().join("removable")).unwrap().set_len(2 << 30).unwrap();
        let done = Command::new("losetup").arg(&made.path).arg(s.path().join("removable")).status();
        assert!(done.unwrap().success());
        assert!(set(&made.path, "scheduler", "mq-deadline") && set(&made.path, "iosched/fifo_batch", "7"));
        Some(made)
    }

    /// An ioctl of /dev/loop-control: LOOP_CTL_ADD, LOOP_CTL_REMOVE.
    fn control(&self, request: &str) -> bool {
        let script = r#"open(F, "+<", "/dev/loop-control") && ioctl(F, hex($ARGV[0]), $ARGV[1] + 0) or exit 1"#;
        let done = Command::new("perl").args(["-e", script, request, &self.number.to_string()]).status();
        done.is_ok_and(|status| status.success())
    }

    fn detach(&self) {
        assert!(Command::new("losetup").args(["-d", &self.path]).status().unwrap().success());
    }

    /// It is gone from the kernel: its node, its queue, everything.
    fn remove(&self) {
        wait("the kernel lets it go", || self.control("0x4C81"));
        assert!(!Path::new(&format!("/sys/block/loop{}", self.number)).exists());
    }
}

impl Drop for Removable {
    fn drop(&mut self) {
        if Path::new(&self.path).exists() {
            let _ = Command::new("losetup").args(["-d", &self.path]).stderr(Stdio::null()).status();
            self.control("0x4C81");
        }
    }
}

#[test]
fn a_disk_that_is_unplugged_ends_its_own_flight_only() {
    let Some((s, kept)) = tuned() else { return };
    let Some(gone) = Removable::attach(&s) else { return };
    let flight = Flight::start_as(s.command(), &s, &[&gone.path, &kept.0], MODEL, "--fit wrap");
    let readers = Readers::start(&kept.0);
    wait("both are flown", || disks_of(&s).len() == 2);
    gone.detach();
    gone.remove();
    wait("it is noticed", || ended(&s, 0));
    assert!(disks_of(&s)[0]["error"].as_str().unwrap().ends_with("was unplugged"));
    // The other one is flown on.
    let before = disks_of(&s)[1]["checks"].as_u64().unwrap();
    wait("the other one is watched", || disks_of(&s)[1]["checks"].as_u64().unwrap() > before + 2);
    assert!(!ended(&s, 1));
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&kept));
    assert_eq!(fs::read_dir(s.path().join("run")).unwrap().count(), 0, "no journal is left");
    let told = fs::read_to_string(s.path().join("stderr")).unwrap();
    assert!(told.contains(&format!("loop{}: ended: loop{} was unplugged", gone.number, gone.number)), "{told}");
    let stop = events(&s).into_iter().find(|e| e["event"] == "stop").unwrap();
    assert!(stop["why"].as_str().unwrap().ends_with("was unplugged") && stop["scheduler"].is_null(), "{stop}");
}

#[test]
fn with_its_last_disk_the_daemon_ends() {
    // Whether there are the schedulers that it takes.
    let Some((s, _)) = tuned() else { return };
    let Some(disk) = Removable::attach(&s) else { return };
    let mut flight = Flight::start_as(s.command(), &s, &[&disk.path], MODEL, "");
    let readers = Readers::start(&disk.path);
    wait("bfq takes over", || queue(&disk.path, "scheduler").contains("[bfq]"));
    drop(readers);
    // The queue of a loop device outlives its disk, and is put back.
    disk.detach();
    assert_eq!(flight.child.wait().unwrap().code(), Some(0));
    assert!(queue(&disk.path, "scheduler").contains("[mq-deadline]"));
    assert_eq!(queue(&disk.path, "iosched/fifo_batch"), "7");
    assert_eq!(fs::read_dir(s.path().join("run")).unwrap().count(), 0);
    let told = fs::read_to_string(s.path().join("stderr")).unwrap();
    assert!(told.contains("was unplugged"), "{told}");
}

#[test]
fn a_virtual_disk_whose_server_dies_takes_nothing_with_it() {
    let Some((s, kept)) = tuned() else { return };
    let Some(virtuals) = Disks::new() else { return };
    let attachment = virtuals.attach("--disk none --size 2G --depth 32 --scheduler mq-deadline");
    let dying = device(&attachment).to_owned();
    let flight = Flight::start_as(s.command(), &s, &[&dying, &kept.0], MODEL, "");
    let readers = (Readers::start(&dying), Readers::start(&kept.0));
    wait("both have requests", || disks_of(&s).iter().all(|disk| disk["requests"].as_u64().unwrap() > 100));
    virtuals.tool(&format!("kill -KILL {}", attachment["pid"]));
    // All that reaches it fails now; that is no reason to stop watching.
    wait_for_intervals(&s);
    assert!(!ended(&s, 0) && !ended(&s, 1));
    drop(readers);
    // What is left of it is cleared away.
    virtuals.ok("list");
    wait("it is noticed", || ended(&s, 0));
    assert!(!ended(&s, 1));
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&kept));
    virtuals.are_gone();
}

/// Whether `setpriv` and `unshare` can take from a process what it needs; says so where not.
fn can_deny() -> bool {
    if !has(&["root", "setpriv", "unshare"]) {
        return false;
    }
    let works = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        Command::new(words[0]).args(&words[1..]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let can = works("unshare --mount setpriv --bounding-set=-bpf,-sys_admin,-perfmon true");
    if !can {
        skipped("this root may not give up capabilities, or not make a mount namespace");
    }
    can
}

/// Runs it without the capabilities that BPF needs, having run `before` in a mount namespace of its own.
fn without_bpf(s: &Sandbox, before: &str) -> Command {
    let script = format!("{before} exec setpriv --bounding-set=-bpf,-sys_admin,-perfmon \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_iopilot")]).current_dir(s.path());
    command
}

#[test]
fn where_bpf_is_denied_tracefs_takes_over() {
    let Some((s, disk)) = tuned() else { return };
    if !has(&["/sys/kernel/tracing"]) || !can_deny() {
        return;
    }
    // As where it is mounted: without CAP_SYS_ADMIN the daemon cannot do that for itself.
    let mounted = format!("{MOUNT_TRACEFS};");
    let flight = Flight::start_as(without_bpf(&s, &mounted), &s, &[&disk.0], MODEL, "");
    let told = disks_of(&s)[0].clone();
    assert_eq!(told["capture"], "tracefs");
    assert!(told["notes"][0].as_str().unwrap().starts_with("no BPF: "), "{told}");
    let readers = Readers::start(&disk.0);
    wait("bfq takes over", || disk.queue("scheduler").contains("[bfq]"));
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&disk));
}

#[test]
fn where_nothing_can_be_seen_it_says_so_in_a_line() {
    let Some((s, disk)) = tuned() else { return };
    if !can_deny() {
        return;
    }
    let refused = |mut command: Command, expected: &str| {
        let line = format!("dads run {} {MODEL} --runtime-dir run", disk.0);
        let out = command.args(line.split(' ')).output().unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{told}");
        assert!(told.lines().count() == 1 && told.contains(expected), "{told}");
        assert!(is_as_before(&disk) && out.stdout.is_empty());
        let left = fs::read_dir(s.path().join("run")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "nothing is left behind");
    };
    let hidden = "for at in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs none $at 2>&-; done;";
    refused(without_bpf(&s, hidden), "needs root");

    // And as nobody.
    let program = s.path().join("iopilot");
    fs::copy(env!("CARGO_BIN_EXE_iopilot"), &program).unwrap();
    for path in [s.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "./iopilot"]).current_dir(s.path());
    refused(nobody, "needs root");
}

#[test]
fn a_scheduler_that_has_gone_astray_is_put_in_place_anew() {
    let Some(disks) = Disks::new() else { return };
    if !has(&["dd"]) {
        return;
    }
    let attachment = disks.attach("--disk hd-500-16 --size 2G --depth 4");
    let disk = device(&attachment);
    if !queue(disk, "scheduler").contains("bfq") || !set(disk, "scheduler", "bfq") {
        return skipped("the kernel lacks bfq");
    }
    // The model is of a disk that has no arm, so that each trial of bfq takes a fraction of what is measured. What the scheduler does
    // with two readers does not matter.
    let fly = |more: &str| {
        let line = format!(
            "dads run {disk} --disk ssd-160 --depth 4 --interval 0.4 --candidates bfq --policy thesis --renew --trial-requests 500 --runtime-dir run \
             --audit audit.jsonl {more}"
        );
        let child = disks.sandbox.command().args(line.split_whitespace()).stderr(Stdio::null()).spawn().unwrap();
        wait("the daemon listens", || disks.sandbox.run("dads status --runtime-dir run").code == 0);
        Flight { child }
    };
    let reader = |skip: u32| {
        let script = format!("exec dd if={disk} of=/dev/null bs=64k skip={skip} iflag=direct");
        Reader(Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap())
    };
    let readers = [0, 16_000].map(reader);
    let status = || disks_of(&disks.sandbox)[0].clone();
    let dry = fly("--dry-run");
    wait("it would be put in place anew", || events(&disks.sandbox).iter().any(|e| e["reason"] == "degraded"));
    assert_eq!((&status()["renewals"], &status()["changes"]), (&Value::from(0), &Value::from(0)));
    assert_eq!(dry.end("-TERM"), Some(0));

    assert!(set(disk, "iosched/slice_idle", "7"));
    let flight = fly("--candidates bfq:slice_idle=7");
    wait("it is put in place anew", || status()["renewals"].as_u64() > Some(0));
    assert_eq!(status()["changes"], 0);
    assert!(queue(disk, "scheduler").contains("[bfq]"));
    assert_eq!(queue(disk, "iosched/slice_idle"), "7", "with its tunables");
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    let renewed = |e: &&Value| e["reason"] == "degraded" && e["carried_out"] == true && e["decision"] == e["scheduler"];
    assert!(events(&disks.sandbox).iter().any(|e| renewed(&e) && e["times"].as_f64() > Some(2.0)));
    assert_eq!(queue(disk, "iosched/slice_idle"), "7");
    disks.ok("detach vd0");
    disks.are_gone();
}

/// Nothing is given but a disk and its model.
#[test]
fn what_simulation_proposes_is_tried_on_the_disk() {
    let Some(disks) = Disks::new() else { return };
    if !has(&["dd"]) {
        return;
    }
    let attachment = disks.attach("--disk hd-500-16 --size 2G --depth 4");
    let disk = device(&attachment);
    if !queue(disk, "scheduler").contains("bfq") || !set(disk, "scheduler", "none") {
        return skipped("the kernel lacks bfq");
    }
    let s = &disks.sandbox;
    let line = format!("dads run {disk} --model hd-500-16 --runtime-dir run --audit audit.jsonl --memory m.json");
    let child = s.command().args(line.split_whitespace()).stderr(Stdio::null()).spawn().unwrap();
    wait("the daemon listens", || s.run("dads status --runtime-dir run").code == 0);
    let flight = Flight { child };
    let readers = Readers::start(disk);
    let done = |e: &&Value| e["event"] == "check" && e["carried_out"] == true;
    wait("a candidate is put in place", || events(s).iter().any(|e| done(&e)));
    let first = events(s).iter().find(done).unwrap().clone();
    let candidates = first["candidates"].as_array().unwrap();
    assert!(candidates.iter().any(|c| c["scheduler"] == "bfq:low_latency=0"), "a default candidate: {first}");
    let ends = |e: &&Value| e["reason"] == "adopted" || e["reason"] == "aborted";
    if first["reason"] == "trial" {
        wait("the trial has ended", || events(s).iter().any(|e| ends(&e)));
        let ended = events(s).iter().find(ends).unwrap().clone();
        assert!(ended["measured_gain_percent"].is_f64() && ended["measured_cost"].is_f64(), "{ended}");
    } else {
        // Where other work takes the CPUs, the readers leave the disk half idle: nothing can be tried on it.
        assert_eq!(first["reason"], "better", "{first}");
    }
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert_eq!(queue(disk, "scheduler").split(' ').find(|name| name.starts_with('[')), Some("[none]"));
    let kept: Value = serde_json::from_str(&fs::read_to_string(s.path().join("m.json")).unwrap()).unwrap();
    assert!(kept["candidates"].as_array().unwrap().len() >= 4 && kept["experience"]["error"].is_object(), "{kept}");
    disks.ok("detach vd0");
    disks.are_gone();
}
