//! `iopilot dads run` on a loop device: what happens to its scheduler, and that it is put back whatever happens. Needs
//! root and loop devices, and says so where they are missing.
#![cfg(target_os = "linux")]

use crate::Sandbox;
use crate::loop_device::Loop;
use iopilot_testing::{has, skipped, wait};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A daemon, killed where a test forgets it.
pub(crate) struct Flight {
    pub(crate) child: Child,
}

impl Flight {
    /// Flies `disk`, of which the model says that bfq is far better than anything else for two sequential readers; that
    /// the loop device is a hundred times as fast must not matter here, and what it gains is noise.
    pub(crate) fn start(s: &Sandbox, disk: &str, more: &str) -> Self {
        let disk_model = if more.contains("--learned") { "" } else { "--disk hd-500-16" };
        Self::start_as(s.command(), s, &[disk], disk_model, more)
    }

    /// The same of several disks, by a command to which only the arguments are missing.
    pub(crate) fn start_as(mut command: Command, s: &Sandbox, disks: &[&str], disk_model: &str, more: &str) -> Self {
        // A rule that believes the model: the disk itself would refute it.
        let fixed = "--depth 4 --policy thesis --trial-requests 8000 --interval 0.5 --candidates \
                     mq-deadline:fifo_batch=7,bfq:low_latency=0 --runtime-dir run --audit audit.jsonl --memory memory.json";
        let child = command
            .args(["dads", "run"])
            .args(disks)
            .args(disk_model.split_whitespace())
            .args(fixed.split_whitespace())
            .args(more.split_whitespace())
            .stderr(fs::File::create(s.path().join("stderr")).unwrap())
            .spawn()
            .unwrap();
        let flight = Self { child };
        wait("the daemon listens", || s.run("dads status --runtime-dir run").code == 0);
        flight
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Ends it; its exit code.
    pub(crate) fn end(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Shells that run `dd` again and again, until they are dropped.
pub(crate) struct Readers(Vec<Child>);

impl Readers {
    fn shell(script: &str) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
        shell.process_group(0).spawn().unwrap()
    }

    /// Two sequential readers, far apart. They last long enough for a check to see them go on, however busy the CPUs are.
    pub(crate) fn start(disk: &str) -> Self {
        let reader = |skip: u32| {
            Self::shell(&format!(
                "while dd if={disk} of=/dev/null bs=64k skip={skip} count=15000 iflag=direct; do :; done"
            ))
        };
        Self(vec![reader(0), reader(16_000)])
    }

    /// Two readers of small blocks, as fast as they can.
    fn small(disk: &str) -> Self {
        let reader = |skip: u32| {
            Self::shell(&format!(
                "while dd if={disk} of=/dev/null bs=4k skip={skip} count=100000 iflag=direct; do :; done"
            ))
        };
        Self(vec![reader(0), reader(200_000)])
    }

    /// One reader, of all sizes and everywhere.
    fn wander(disk: &str) -> Self {
        let script = format!(
            "i=1; while :; do for kb in 4 8 16 32 64 128; do i=$((i + 1)); \
             dd if={disk} of=/dev/null bs=${{kb}}k skip=$((i * 7919 % 15000)) count=2 iflag=direct; done; done"
        );
        Self(vec![Self::shell(&script)])
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // With the `dd` that it runs now.
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
            let _ = child.wait();
        }
    }
}

/// A sandbox with a disk whose administrator has tuned mq-deadline.
pub(crate) fn tuned() -> Option<(Sandbox, Loop)> {
    if !has(&["root", "kill"]) {
        return None;
    }
    let s = Sandbox::new();
    let disk = Loop::attach(&s, 2 << 30)?;
    if !disk.queue("scheduler").contains("bfq") || !disk.queue("scheduler").contains("mq-deadline") {
        skipped("the kernel lacks mq-deadline or bfq");
        return None;
    }
    disk.set("scheduler", "mq-deadline");
    disk.set("iosched/fifo_batch", "7");
    Some((s, disk))
}

pub(crate) fn is_as_before(disk: &Loop) -> bool {
    disk.queue("scheduler").contains("[mq-deadline]") && disk.has("iosched/fifo_batch", "7")
}

pub(crate) fn status(s: &Sandbox) -> Value {
    let all: Value = serde_json::from_str(&s.ok("dads status --json --runtime-dir run")).unwrap();
    all["disks"][0].clone()
}

pub(crate) fn events(s: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(s.path().join("audit.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn changes_to_what_is_better_and_puts_everything_back() {
    let Some((s, disk)) = tuned() else { return };
    let flight = Flight::start(&s, &disk.0, "");
    let readers = Readers::start(&disk.0);
    wait("bfq takes over", || disk.queue("scheduler").contains("[bfq]") && disk.has("iosched/low_latency", "0"));
    wait("it is told", || status(&s)["changes"].as_u64() >= Some(1));
    wait("what it gained is told", || status(&s)["last_change"]["measured_gain_percent"].is_f64());
    // Where the machine is busy, the readers may stand still for a window, and mq-deadline be back for a while.
    wait("it explains why", || {
        let told = s.ok("dads explain --runtime-dir run");
        told.contains("bfq is in use") && told.contains("mq-deadline:fifo_batch=7 +")
    });
    // Two cannot fly one disk.
    let other = s.refused(&format!("dads run {} --disk hd-500-16 --runtime-dir run", disk.0));
    assert!(other.contains("another daemon runs"), "{other}");
    let other = s.refused(&format!("dads run {} --disk hd-500-16 --runtime-dir other", disk.0));
    assert!(other.contains(&format!("process {} flies it already", flight.child.id())), "{other}");
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&disk));
    assert_eq!(fs::read_dir(s.path().join("run")).unwrap().count(), 0);
    let events = events(&s);
    let change = events.iter().find(|e| e["event"] == "check" && e["carried_out"] == true).unwrap();
    assert_eq!((&change["decision"], &change["reason"]), (&"bfq:low_latency=0".into(), &"better".into()));
    assert!(change["change_s"].as_f64().unwrap() > 0.0);
    assert!(events.iter().any(|e| e["measured_gain_percent"].is_f64()), "what it gained is told");
    assert_eq!(events.last().unwrap()["event"], "stop");
}

#[test]
fn what_a_killed_daemon_changed_is_put_back_by_the_next_start_or_by_hand() {
    let Some((s, disk)) = tuned() else { return };
    for by_hand in [true, false] {
        let flight = Flight::start(&s, &disk.0, "");
        let readers = Readers::start(&disk.0);
        wait("bfq has taken over", || {
            // It changes nothing more while this looks.
            flight.signal("-STOP");
            let changed = disk.queue("scheduler").contains("[bfq]");
            if !changed {
                flight.signal("-CONT");
            }
            changed
        });
        assert_eq!(flight.end("-KILL"), None);
        drop(readers);
        assert!(!is_as_before(&disk));
        if by_hand {
            let told = s.ok("dads restore --runtime-dir run");
            assert!(told.contains("mq-deadline is restored"), "{told}");
            assert!(is_as_before(&disk));
        } else {
            let next = Flight::start(&s, &disk.0, "--dry-run");
            assert!(is_as_before(&disk));
            assert_eq!(next.end("-INT"), Some(0));
        }
        assert!(is_as_before(&disk));
    }
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_it_would_have_done() {
    let Some((s, disk)) = tuned() else { return };
    let flight = Flight::start(&s, &disk.0, "--dry-run");
    let readers = Readers::start(&disk.0);
    wait("it would change", || status(&s)["last"]["decision"] == "bfq:low_latency=0");
    assert!(is_as_before(&disk));
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&disk));
    assert!(events(&s).iter().all(|e| e["carried_out"] != true));
    let told = fs::read_to_string(s.path().join("stderr")).unwrap();
    assert!(told.contains("(dry run) bfq:low_latency=0 would have saved"), "{told}");
}

#[test]
fn without_a_model_it_learns_one_that_other_commands_take() {
    let Some((s, disk)) = tuned() else { return };
    let flight = Flight::start(&s, &disk.0, "--learned t.toml --dry-run");
    wait("it is told why there is no check", || status(&s)["skips"].as_u64() > Some(0));
    let told = s.ok("dads explain --runtime-dir run").replace('\n', " ");
    assert!(told.contains("the model has learned from 0 requests") && told.contains("needs 256 in 4"), "{told}");
    let told = s.ok("dads status --runtime-dir run");
    assert!(told.contains("none: the model"), "{told}");
    let noted = || fs::read_to_string(s.path().join("stderr")).unwrap();
    wait("it is told without being asked", || noted().contains("no check is made: the model has learned from 0"));
    let readers = Readers::wander(&disk.0);
    wait("enough was learned for a check", || status(&s)["checks"].as_u64() > Some(0));
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    let first = events(&s).into_iter().find(|e| e["event"] != "start").unwrap();
    assert!(first["event"] == "check" || first["why"].as_str().unwrap().contains("has learned from"), "{first}");
    s.ok("disk show t.toml");
    // The next flight begins with it.
    let flight = Flight::start(&s, &disk.0, "--learned t.toml --dry-run");
    assert!(status(&s)["model"].as_str().unwrap().starts_with("learned, "));
    assert_eq!(flight.end("-TERM"), Some(0));
}

#[test]
fn the_hand_of_another_is_respected_and_the_original_is_put_back() {
    let Some((s, disk)) = tuned() else { return };
    let flight = Flight::start(&s, &disk.0, "");
    disk.set("scheduler", "none");
    wait("it stands by", || status(&s)["phase"] == "standing-by");
    let readers = Readers::start(&disk.0);
    let skips = || status(&s)["skips"].as_u64().unwrap();
    let before = skips();
    wait("intervals pass without a check", || skips() > before + 3);
    assert!(disk.queue("scheduler").contains("[none]"), "what is no candidate was put there on purpose");
    disk.set("scheduler", "mq-deadline");
    disk.set("iosched/fifo_batch", "7");
    wait("it flies again", || disk.queue("scheduler").contains("[bfq]"));
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&disk));
    let by_others = events(&s).iter().filter(|e| e["event"] == "changed-by-others").count();
    assert!(by_others >= 2, "{by_others}");
}

#[test]
fn a_full_disk_costs_lines_of_the_audit_and_no_flight() {
    let Some((s, disk)) = tuned() else { return };
    std::os::unix::fs::symlink("/dev/full", s.path().join("audit.jsonl")).unwrap();
    let flight = Flight::start(&s, &disk.0, "");
    let readers = Readers::start(&disk.0);
    wait("it flies without an audit", || {
        let status = status(&s);
        status["changes"].as_u64() >= Some(1) && status["audit_failures"].as_u64().unwrap() > 0
    });
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&disk));
}

/// Reads of a disk that the kernel has counted, as they came.
fn reads(disk: &Loop) -> u64 {
    let text = fs::read_to_string(format!("/sys/block/{}/stat", disk.0.trim_start_matches("/dev/"))).unwrap();
    text.split_whitespace().take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

#[test]
fn looks_away_from_a_disk_that_serves_more_than_is_tried_and_counts_all_the_same() {
    let Some((s, disk)) = tuned() else { return };
    let fixed = "--disk ssd-160-simple --memory memory.json --dry-run --policy thesis --interval 3 --runtime-dir run --audit audit.jsonl";
    let mut command = s.command();
    command.args(["dads", "run", &disk.0]).args(fixed.split(' ')).stderr(Stdio::null());
    let flight = Flight { child: command.spawn().unwrap() };
    wait("the daemon listens", || s.run("dads status --runtime-dir run").code == 0);
    let (before, began) = (reads(&disk), Instant::now());
    let readers = Readers::small(&disk.0);
    wait("the rate is known", || reads(&disk) - before > 30_000 || began.elapsed() > Duration::from_secs(2));
    let rate = (reads(&disk) - before) as f64 / began.elapsed().as_secs_f64();
    if rate < 15_000.0 {
        return skipped(&format!("{rate:.0} reads/s are too few"));
    }
    wait("checks are made and others are not looked at", || {
        let told = status(&s);
        told["checks"].as_u64() > Some(2) && told["counted_only_s"].as_f64() > Some(2.0)
    });
    drop(readers);
    wait("all are counted", || {
        let all = reads(&disk) - before;
        status(&s)["requests"].as_u64().unwrap().abs_diff(all) < all / 50
    });
    assert_eq!(flight.end("-TERM"), Some(0));
    let checks: Vec<Value> = events(&s).into_iter().filter(|e| e["event"] == "check").collect();
    assert!(checks.iter().all(|c| c["tried"].as_u64() <= Some(20_000)));
    assert!(
        checks.iter().any(|c| c["requests"].as_u64() > c["tried"].as_u64()),
        "those that came in the interval are told"
    );
}

#[test]
fn what_cannot_be_flown_is_refused_in_a_line() {
    let s = Sandbox::new();
    for (line, expected) in [
        ("dads run", "DEVICE: got nothing"),
        ("dads run /dev/null --disk hd-500-16", "not a block device"),
        ("dads run /dev/no-such --disk hd-500-16", "No such file"),
        ("dads run --config no.toml", "no.toml"),
        ("dads status --runtime-dir nowhere", "no daemon runs"),
    ] {
        let told = s.refused(line);
        assert!(told.contains(expected), "{line}: {told}");
    }
    let Some((s, disk)) = tuned() else { return };
    let run = |more: &str| s.refused(&format!("dads run {} --runtime-dir run {more}", disk.0));
    for (more, expected) in [
        ("--disk hd-5", "one of the catalogue's names"),
        ("--disk hd-500-16 --candidates cfq", "not offered"),
        ("--disk hd-500-16 --candidates bfq:low_latenc=0", "low_latency"),
        ("--disk hd-500-16 --interval 0", "interval"),
        ("--disk hd-500-16 --objective speed", "objective"),
        ("--disk hd-500-16 --backend ftrace", "backend"),
        ("--disk hd-500-16 --audit no/such/audit", "--audit"),
    ] {
        let told = run(more);
        assert!(told.contains(expected), "{more}: {told}");
    }
    assert!(is_as_before(&disk));
}
