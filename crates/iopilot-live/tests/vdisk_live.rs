//! A virtual disk that this process serves. Needs root, and FUSE and loop devices, or ublk where it was built with
//! that; without them, the tests say that they are skipped. `ublk-qemu.sh` runs it on a kernel that has ublk.

// The lint spares `#[test]` functions only, not what they share.
#![allow(clippy::unwrap_used)]

use iopilot_block::Nanos;
use iopilot_device::ConstantDevice;
use iopilot_live::vdisk::{self, Backing, VdiskOptions, VdiskServer, Via};
use iopilot_testing::{has, wait};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::spawn;
use std::time::Duration;

/// Not the model's.
const DEPTH: u32 = 5;

/// A disk of 4 MiB with its state and data in `folder`; `None` where there can be none: the test then says that it is
/// skipped.
fn serve(folder: &Path, via: Via) -> Option<VdiskServer> {
    let needed: &[&str] = match via {
        Via::Loop => &["root", "/dev/fuse", "/dev/loop-control"],
        Via::Ublk => &["root", "/dev/ublk-control"],
    };
    if !has(needed) {
        return None;
    }
    let device = ConstantDevice::simple(8192, 8, Nanos::from_micros(200), 1.0);
    let mut options = VdiskOptions::new("constant", Some(device.into()));
    options.via = via;
    options.depth = Some(DEPTH);
    options.backing = Backing::File(folder.join("disk.img"));
    options.state = folder.join("state");
    Some(VdiskServer::start(options).unwrap())
}

/// Runs `dd`: another process than the server uses the disk.
fn dd(words: &[&str]) {
    assert!(Command::new("dd").args(words).stderr(Stdio::null()).status().unwrap().success(), "{words:?}");
}

#[test]
fn a_disk_goes_with_its_server_and_its_data_stay() {
    a_disk_goes_and_its_data_stay(Via::Loop);
}

/// A container that starts while a disk is attached gets a copy of its mount.
#[test]
fn a_disk_detaches_though_another_mount_namespace_has_its_mount() {
    let folder = tempfile::tempdir().unwrap();
    if !has(&["unshare"]) {
        return;
    }
    let Some(server) = serve(folder.path(), Via::Loop) else { return };
    let mut container = Command::new("unshare").args(["--mount", "sleep", "60"]).spawn().unwrap();
    let mounts = format!("/proc/{}/ns/mnt", container.id());
    wait("it has mounts of its own", || fs::read_link(&mounts).unwrap() != fs::read_link("/proc/self/ns/mnt").unwrap());
    let (tell, detached) = channel();
    spawn(move || tell.send(server.detach(false)));
    let result = detached.recv_timeout(Duration::from_secs(20));
    container.kill().unwrap();
    container.wait().unwrap();
    result.expect("it waits for the container").unwrap();
}

#[cfg(feature = "ublk")]
#[test]
fn a_disk_by_ublk_goes_with_its_server_and_its_data_stay() {
    a_disk_goes_and_its_data_stay(Via::Ublk);
}

#[cfg(feature = "ublk")]
#[test]
fn the_server_of_a_ublk_disk_that_another_removes_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = serve(folder.path(), Via::Ublk) else { return };
    stop_ublk(server.device());
    // It waits for a signal or for this.
    let ended = server.serve().unwrap_err().to_string();
    assert!(ended.contains("/dev/ublk") && ended.contains("No such"), "{ended}");
    assert!(vdisk::list(&folder.path().join("state")).unwrap().is_empty());
}

/// Stops the device as another ublk program would: `UBLK_U_CMD_STOP_DEV`.
#[cfg(feature = "ublk")]
fn stop_ublk(device: &Path) {
    use std::os::fd::AsRawFd;
    let number: u32 = device.to_str().and_then(|path| path.strip_prefix("/dev/ublkb")?.parse().ok()).unwrap();
    let control = fs::File::options().read(true).write(true).open("/dev/ublk-control").unwrap();
    let mut command = [0; 80];
    command[..4].copy_from_slice(&number.to_ne_bytes());
    command[4..6].fill(0xff);
    let stop = 3 << 30 | 32 << 16 | u32::from(b'u') << 8 | 0x07;
    let file = io_uring::types::Fd(control.as_raw_fd());
    let entry = io_uring::opcode::UringCmd80::new(file, stop).cmd(command).build();
    let mut ring: io_uring::IoUring<io_uring::squeue::Entry128> = io_uring::IoUring::builder().build(4).unwrap();
    // SAFETY: the command has no memory beside itself.
    unsafe { ring.submission().push(&entry) }.unwrap();
    ring.submit_and_wait(1).unwrap();
    assert_eq!(ring.completion().next().unwrap().result(), 0);
}

fn a_disk_goes_and_its_data_stay(via: Via) {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (from, to) = (folder.path().join("data"), folder.path().join("copy"));
    fs::write(&from, &data).unwrap();
    let Some(server) = serve(folder.path(), via) else { return };
    assert_eq!(server.attachment().depth, DEPTH);
    let path = server.device().to_owned();
    let device = format!("of={}", path.display());
    dd(&[&format!("if={}", from.display()), &device, "bs=64k", "oflag=direct", "conv=fsync"]);
    let stats = server.stats();
    assert_eq!((stats.requests.write, stats.bytes.write), (16, 1 << 20));
    assert!(stats.requests.flush >= 1 && stats.real_ms.mean >= stats.modelled_ms.mean, "{stats:?}");
    let attached = vdisk::list(&folder.path().join("state")).unwrap();
    assert_eq!(attached, [server.attachment().clone()]);
    // Without a command, as if its process returned early.
    drop(server);
    assert!(vdisk::list(&folder.path().join("state")).unwrap().is_empty());
    assert!(via == Via::Loop || !path.exists());
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(&*folder.path().to_string_lossy()));

    let server = serve(folder.path(), via).unwrap();
    let device = format!("if={}", server.device().display());
    dd(&[&device, &format!("of={}", to.display()), "bs=64k", "count=16", "iflag=direct"]);
    let attached = server.device().to_string_lossy().into_owned();
    // Another process detaches it over the control socket; so does this one.
    vdisk::detach(&folder.path().join("state"), &attached, false).unwrap();
    server.serve().unwrap();
    assert!(fs::read(to).unwrap() == data, "the disk has other data");
}
