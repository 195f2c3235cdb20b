//! A cache over a disk that fails and waits, under verified loads. Needs root, FUSE, loop devices and io_uring; without
//! them, the tests say that they are skipped.

mod faulty_disk;

use super::*;
use crate::redcap::RedcapModel;
use crate::redcap::body::now;
use faulty_disk::{FaultyDisk, FaultyStore};
use iopilot_block::Nanos;
use iopilot_device::ConstantDevice;
use iopilot_testing::has;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use tempfile::TempDir;

/// Bytes of the disk, and of a block.
const SIZE: usize = 48 << 20;
const BLOCK: u64 = 4096;
/// Blocks of a segment of 32 KiB.
const SEGMENT: u64 = 8;

/// A cache over a faulty disk. What is mounted on it is unmounted at the end, and both go.
struct Stage {
    mounted: Option<PathBuf>,
    server: Option<RedcapServer>,
    disk: FaultyDisk,
    folder: TempDir,
}

impl Stage {
    /// A cache with `settings` over `bytes`; `None` where there can be none: the test then says that it is skipped.
    fn new(settings: &str, bytes: Vec<u8>) -> Option<Self> {
        if !has(&["root", "/dev/fuse", "/dev/loop-control", "io_uring", "dd"]) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::new(folder.path(), bytes);
        let mut stage = Self { mounted: None, server: None, disk, folder };
        stage.start(settings, None);
        Some(stage)
    }

    /// Attaches a cache with `settings`, whose addresses are kept in a file.
    fn start(&mut self, settings: &str, warm: Option<PathBuf>) {
        let spec = RedcapSpec::parse(settings).unwrap();
        let mut options = RedcapOptions::new(self.disk.path(), spec);
        let device = ConstantDevice::simple((SIZE / 512) as u64, 8, Nanos::from_micros(200), 1.0);
        options.model = RedcapModel::Given { name: "constant".to_owned(), device: device.into() };
        (options.state, options.warm) = (self.folder.path().join("state"), warm);
        self.server = Some(RedcapServer::start(options).unwrap());
    }

    /// The same over an empty disk, with a file system that is mounted.
    fn with_files(settings: &str) -> Option<Self> {
        if !has(&["fio", "mkfs.ext4", "fsck.ext4", "mount", "umount"]) {
            return None;
        }
        let mut stage = Self::new(settings, vec![0; SIZE])?;
        tool("mkfs.ext4", &["-q", &stage.device()]);
        let place = stage.folder.path().join("mounted");
        fs::create_dir(&place).unwrap();
        tool("mount", &[&stage.device(), place.to_str().unwrap()]);
        stage.mounted = Some(place);
        Some(stage)
    }

    fn device(&self) -> String {
        self.server.as_ref().unwrap().attachment().device.to_str().unwrap().to_owned()
    }

    fn monitor(&self) -> Arc<Monitor> {
        Arc::clone(&self.server.as_ref().unwrap().server.parts().monitor)
    }

    fn store(&self) -> &FaultyStore {
        &self.disk.store
    }

    /// Runs a load whose reads are verified, and `meanwhile` again and again until it ends, counting from 0.
    fn verify(&self, mut meanwhile: impl FnMut(usize)) {
        let place = self.mounted.as_ref().unwrap().to_str().unwrap();
        let load = "--name=v --size=3M --io_size=6M --rw=randrw --bs=4k,4k-32k --direct=1 --ioengine=psync --numjobs=3 \
                    --verify=crc32c --verify_fatal=1 --verify_backlog=48 --fsync=64 --runtime=60";
        let mut fio = Command::new("fio");
        fio.args(load.split_whitespace()).arg(format!("--directory={place}")).stdin(Stdio::null());
        // It leaves files in the folder that it runs in.
        fio.current_dir(self.folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut fio = Running(fio.spawn().unwrap());
        let mut count = 0;
        while fio.0.try_wait().unwrap().is_none() {
            meanwhile(count);
            count += 1;
            sleep(Duration::from_millis(5));
        }
        let told = fio.told();
        assert!(fio.0.wait().unwrap().success() && count > 20, "{count} times meanwhile: {told}");
    }

    /// Unmounts and detaches; the file system is clean on the disk below.
    fn end_clean(mut self) {
        tool("umount", &[self.mounted.take().unwrap().to_str().unwrap()]);
        self.server.take().unwrap().detach(false).unwrap();
        *self.store().faults() = faulty_disk::Faults::default();
        tool("fsck.ext4", &["-f", "-n", self.disk.path().to_str().unwrap()]);
    }

    /// Reads a block by another process; `None` where that fails.
    fn read(&self, block: u64) -> Option<Vec<u8>> {
        let mut dd = Command::new("dd");
        dd.arg(format!("if={}", self.device())).args(["bs=4k", "count=1", "iflag=direct", "status=none"]);
        let out = dd.arg(format!("skip={block}")).output().unwrap();
        out.status.success().then_some(out.stdout)
    }

    /// Fills a block with a byte, by another process; whether that succeeds.
    fn write(&self, block: u64, byte: u8) -> bool {
        let from = self.folder.path().join("block");
        fs::write(&from, vec![byte; BLOCK as usize]).unwrap();
        let mut dd = Command::new("dd");
        dd.arg(format!("if={}", from.display())).arg(format!("of={}", self.device()));
        dd.args(["bs=4k", "count=1", "oflag=direct", "conv=notrunc", "status=none"]).arg(format!("seek={block}"));
        dd.stderr(Stdio::null()).status().unwrap().success()
    }

    /// Waits until nothing is in flight below.
    fn settle(&self) {
        let monitor = self.monitor();
        wait_until("the end of all requests", || monitor.disk.lock().in_flight() == 0);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.store().release();
        if let Some(place) = &self.mounted {
            let _ = Command::new("umount").arg("-l").arg(place).status();
        }
    }
}

/// A process that is killed, and that nobody waits for.
struct Running(Child);

impl Running {
    fn told(&mut self) -> String {
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().map(|mut from| std::io::Read::read_to_string(&mut from, &mut out));
        self.0.stderr.take().map(|mut from| std::io::Read::read_to_string(&mut from, &mut err));
        format!("{out}{err}")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tool(program: &str, words: &[&str]) {
    let out = Command::new(program).args(words).output().unwrap();
    let told = [out.stdout, out.stderr].map(|told| String::from_utf8_lossy(&told).into_owned()).concat();
    assert!(out.status.success(), "{program} {words:?}: {told}");
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("{what} did not come");
}

/// Bytes of a disk whose blocks hold their numbers.
fn numbered(blocks: u64) -> Vec<u8> {
    (0..blocks).flat_map(|block| [block as u8; BLOCK as usize]).collect()
}

#[test]
fn data_are_kept_while_the_cache_is_turned_on_and_off() {
    for settings in ["24x32k,algorithm=always", "24x32k,algorithm=always,miss=combined,strict=on"] {
        let Some(stage) = Stage::with_files(settings) else { return };
        let monitor = stage.monitor();
        stage.verify(|n| monitor.disk.with(|body| body.set_active(n % 2 == 1, now())));
        let status = monitor.status();
        assert!(status.cache.activations > 10 && status.cache.hits > 0, "{status:?}");
        assert_eq!(status.application.errors.total(), 0);
        stage.end_clean();
    }
}

/// A sign of memory pressure is exceptional data (POLLPRI) to the kernel, as urgent data of a socket are.
#[test]
fn data_are_kept_while_memory_is_short() {
    let Some(stage) = Stage::with_files("64x32k,algorithm=always") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let kernel = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (told, _) = listener.accept().unwrap();
    let consumed = told.try_clone().unwrap();
    let sign = |socket: &TcpStream, take: bool| {
        let mut byte = [1u8];
        let (socket, data) = (socket.as_raw_fd(), byte.as_mut_ptr().cast());
        // SAFETY: one byte is there, to be read or written.
        let moved = unsafe {
            if take { libc::recv(socket, data, 1, libc::MSG_OOB) } else { libc::send(socket, data, 1, libc::MSG_OOB) }
        };
        assert_eq!(moved, 1);
    };
    let (stopped, stop) = UnixStream::pair().unwrap();
    let (monitor, shrinking) = (stage.monitor(), stage.monitor());
    let told = fs::File::from(OwnedFd::from(told));
    let shrink =
        move || pressure::shrink_under_pressure(&told, &stopped, &shrinking.disk, &shrinking.limit, &Arc::default());
    let thread = thread::spawn(shrink);
    stage.verify(|n| match n % 16 {
        0 => {
            let before = monitor.limit.shrinks.load(Ordering::Relaxed);
            sign(&kernel, false);
            wait_until("a smaller cache", || monitor.limit.shrinks.load(Ordering::Relaxed) > before);
            sign(&consumed, true);
        }
        // As after ten seconds without pressure.
        8 => {
            let segments = monitor.limit.grow();
            monitor.disk.with(|body| body.set_limit(segments));
        }
        _ => {}
    });
    drop(stop);
    thread.join().unwrap();
    let status = monitor.status();
    assert!(status.memory.shrinks > 2 && status.memory.limit < status.memory.cap, "{status:?}");
    assert!(status.cache.hits > 0 && status.memory.used <= status.memory.limit, "{status:?}");
    assert_eq!(status.application.errors.total(), 0);
    stage.end_clean();
}

/// Every read of the disk that is longer than any of the load's fails: prefetches, and what the kernel merges with
/// them.
#[test]
fn data_are_kept_while_prefetches_fail() {
    for miss in ["split", "combined"] {
        let Some(stage) = Stage::with_files(&format!("24x32k,algorithm=always,miss={miss}")) else { return };
        let monitor = stage.monitor();
        // Only now and then, so that others succeed.
        stage.verify(|n| stage.store().faults().longest = (n % 4 < 2).then_some(BLOCK));
        let status = monitor.status();
        assert!(status.disk.errors.read > 10 && status.cache.hits > 0, "{miss}: {status:?}");
        assert_eq!(status.application.errors.total(), 0, "{miss}");
        stage.end_clean();
    }
}

#[test]
fn an_error_reaches_the_reader_or_writer_of_that_block_alone() {
    for miss in ["split", "combined"] {
        let settings = format!("8x32k,algorithm=always,miss={miss}");
        let Some(stage) = Stage::new(&settings, numbered(8 * SEGMENT)) else { return };
        let block = |n: u64| n * BLOCK..(n + 1) * BLOCK;
        // A block within each of two segments.
        stage.store().faults().unreadable = vec![block(SEGMENT + 5), block(2 * SEGMENT)];
        for n in [SEGMENT + 4, SEGMENT + 6, SEGMENT, 2 * SEGMENT + 3, 2 * SEGMENT + 1, 2 * SEGMENT + 7] {
            assert_eq!(stage.read(n), Some(vec![n as u8; BLOCK as usize]), "{miss}: block {n}");
        }
        assert_eq!((stage.read(SEGMENT + 5), stage.read(2 * SEGMENT)), (None, None), "{miss}");
        // A write to a cached block fails. A read then returns what the disk has.
        assert_eq!(stage.read(4 * SEGMENT), Some(vec![4 * SEGMENT as u8; BLOCK as usize]));
        stage.settle();
        stage.store().faults().unwritable = vec![block(4 * SEGMENT + 2)];
        assert!(!stage.write(4 * SEGMENT + 2, 0xEE), "{miss}: it is told");
        assert!(stage.write(4 * SEGMENT + 1, 0xDD) && stage.write(4 * SEGMENT + 3, 0xDD), "{miss}");
        for (n, byte) in [(1, 0xDD), (2, 4 * SEGMENT as u8 + 2), (3, 0xDD), (4, 4 * SEGMENT as u8 + 4)] {
            assert_eq!(stage.read(4 * SEGMENT + n), Some(vec![byte; BLOCK as usize]), "{miss}: block {n}");
        }
        // The disk works again.
        *stage.store().faults() = faulty_disk::Faults::default();
        assert_eq!(stage.read(SEGMENT + 5), Some(vec![SEGMENT as u8 + 5; BLOCK as usize]), "{miss}");
        assert!(stage.write(4 * SEGMENT + 2, 0xEE), "{miss}");
        assert_eq!(stage.read(4 * SEGMENT + 2), Some(vec![0xEE; BLOCK as usize]), "{miss}");
        let errors = stage.monitor().status().application.errors;
        assert!(errors.read >= 2 && errors.write == 1, "{miss}: {errors:?}");
    }
}

/// A prefetch waits at the disk, with data that it read before the write came.
#[test]
fn what_is_prefetched_too_early_is_not_served() {
    let Some(stage) = Stage::new("8x32k,algorithm=always", numbered(16 * SEGMENT)) else { return };
    let monitor = stage.monitor();
    let whole = |n: u64| Some(vec![n as u8; BLOCK as usize]);
    stage.store().faults().held_above = Some(BLOCK);
    assert_eq!(stage.read(SEGMENT), whole(SEGMENT), "its reader does not wait for the prefetch");
    wait_until("a prefetch", || stage.store().faults().held == 1);
    assert!(stage.write(SEGMENT + 3, 0xEE));
    assert_eq!(stage.read(SEGMENT + 3), Some(vec![0xEE; BLOCK as usize]), "while it is on its way");
    stage.store().release();
    stage.settle();
    assert_eq!(stage.read(SEGMENT + 3), Some(vec![0xEE; BLOCK as usize]));
    let before = monitor.status().cache;
    assert_eq!(stage.read(SEGMENT + 4), whole(SEGMENT + 4));
    let after = monitor.status().cache;
    assert_eq!((before.doomed_blocks, after.hits - before.hits), (1, 1), "the rest of the prefetch is used");

    // The cache shrinks to a segment while a prefetch fills it, and is turned off and on.
    stage.store().faults().held_above = Some(BLOCK);
    assert_eq!(stage.read(2 * SEGMENT), whole(2 * SEGMENT));
    wait_until("a prefetch", || stage.store().faults().held == 1);
    monitor.disk.with(|body| body.set_limit(1));
    for active in [false, true] {
        monitor.disk.with(|body| body.set_active(active, now()));
    }
    assert_eq!(stage.read(3 * SEGMENT), whole(3 * SEGMENT));
    assert!(stage.write(2 * SEGMENT + 1, 0xCC));
    stage.store().release();
    stage.settle();
    for n in 2 * SEGMENT + 2..4 * SEGMENT {
        assert_eq!(stage.read(n), whole(n), "block {n}");
    }
    assert_eq!(stage.read(2 * SEGMENT + 1), Some(vec![0xCC; BLOCK as usize]));
    assert!(monitor.disk.lock().cache.segments() <= 1);
}

#[test]
fn a_disk_is_given_up_only_when_its_prefetches_have_ended() {
    let Some(mut stage) = Stage::new("8x32k,algorithm=always", numbered(8 * SEGMENT)) else { return };
    stage.store().faults().held_above = Some(BLOCK);
    assert!(stage.read(SEGMENT).is_some());
    wait_until("a prefetch", || stage.store().faults().held == 1);
    let server = stage.server.take().unwrap();
    let store = stage.store();
    thread::scope(|scope| {
        let detached = scope.spawn(|| server.detach(false));
        sleep(Duration::from_millis(300));
        assert!(!detached.is_finished() && store.faults().held == 1, "it waits for the prefetch");
        store.release();
        detached.join().unwrap().unwrap();
    });
    assert_eq!(store.faults().held, 0);
    assert!(!crate::block_server::is_in_use(&stage.disk.path()), "others may have the disk");
}

/// Readers and writers that keep the device open while it is detached get errors. None waits for ever, and none reaches
/// the disk later.
#[test]
fn a_device_that_is_detached_under_load_answers_everybody() {
    let Some(mut stage) = Stage::new("24x32k,algorithm=always", vec![0; SIZE]) else { return };
    if !has(&["fio"]) {
        return;
    }
    let mut fio = Command::new("fio");
    let load = "--name=l --rw=randrw --bs=4k-32k --direct=1 --ioengine=libaio --iodepth=8 --numjobs=2 --time_based \
                --runtime=60 --size=40M";
    fio.args(load.split_whitespace()).arg(format!("--filename={}", stage.device())).stdin(Stdio::null());
    fio.current_dir(stage.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut fio = Running(fio.spawn().unwrap());
    let monitor = stage.monitor();
    wait_until("a load", || monitor.status().application.requests.read > 500);
    stage.server.take().unwrap().detach(true).unwrap();
    let body = monitor.disk.lock();
    assert_eq!((body.pending(), body.in_flight()), (0, 0), "nothing is under way");
    drop(body);
    // The disk keeps its present content.
    let bytes = stage.store().bytes().clone();
    wait_until("the end of the load", || !matches!(monitor.disk.lock().pending(), 1..) && ended(fio.0.id()));
    assert!(!fio.0.wait().unwrap().success(), "it is told");
    assert!(*stage.store().bytes() == bytes, "a write came after the end");
}

/// What the cache held is read again in order of the disk, once the cache is on, with the disk's present content.
#[test]
fn a_warm_restart_reads_what_was_held_and_serves_nothing_old() {
    let settings = "4x32k,algorithm=always";
    let Some(mut stage) = Stage::new(settings, numbered(16 * SEGMENT)) else { return };
    let warm = stage.folder.path().join("warm");
    let kept = || fs::read_to_string(&warm).unwrap_or_default();
    stage.server.take().unwrap().detach(false).unwrap();
    stage.start(settings, Some(warm.clone()));
    for segment in [9, 3, 12, 5, 7] {
        assert!(stage.read(segment * SEGMENT).is_some());
    }
    stage.settle();
    stage.server.take().unwrap().detach(false).unwrap();
    let lines: Vec<String> = kept().lines().map(str::to_owned).collect();
    assert_eq!(lines[..4], ["iopilot-redcap-warm 1", "disk_bytes 524288", "segment_bytes 32768", "segments 4"]);
    // Another program, such as udev at a new device, may have read other blocks before.
    assert_eq!(lines[4..], ["7", "5", "12", "3"], "the latest first");

    // The disk changes without the cache.
    stage.store().bytes()[(5 * SEGMENT * BLOCK) as usize..][..(SEGMENT * BLOCK) as usize].fill(0xEE);
    // There is room for what another program reads meanwhile.
    stage.start("8x32k,algorithm=always", Some(warm.clone()));
    let monitor = stage.monitor();
    monitor.disk.with(|body| body.set_active(false, now()));
    sleep(Duration::from_millis(700));
    let status = monitor.status();
    assert_eq!(status.warm.map(|warm| (warm.read, warm.left)), Some((0, 4)), "while it is off, nothing is read");
    // Errors and holes of warm-up reads reach no reader.
    stage.store().faults().unreadable.push(12 * SEGMENT * BLOCK..12 * SEGMENT * BLOCK + 1);
    monitor.disk.with(|body| body.set_active(true, now()));
    wait_until("the segments", || monitor.status().warm.is_some_and(|warm| warm.left == 0));
    stage.settle();
    let before = monitor.status();
    assert_eq!((before.warm.unwrap().read, before.application.errors.total()), (4, 0));
    *stage.store().faults() = faulty_disk::Faults::default();
    assert_eq!(stage.read(7 * SEGMENT + 2), Some(vec![7 * SEGMENT as u8 + 2; BLOCK as usize]));
    assert_eq!(stage.read(5 * SEGMENT), Some(vec![0xEE; BLOCK as usize]), "what is on the disk now");
    let after = monitor.status();
    assert!(after.cache.hits >= before.cache.hits + 2, "from memory: {after:?}");

    // With a useless file, the cache starts cold.
    drop(monitor);
    stage.server.take().unwrap().detach(false).unwrap();
    fs::write(&warm, kept().replace("segment_bytes 32768", "segment_bytes 65536")).unwrap();
    stage.start(settings, Some(warm.clone()));
    let warnings = stage.server.as_ref().unwrap().attachment().warnings.concat();
    assert!(warnings.contains("begins cold") && warnings.contains("segment_bytes: got 65536"), "{warnings}");
}

/// Whether a process has ended, though nobody has waited for it.
fn ended(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}
