//! A virtual disk that this process serves. Needs root, and FUSE and loop devices, or ublk where it was built with that; says so where
//! they are missing. `ublk-qemu.sh` runs it on a kernel that has ublk.

// The lint spares `#[test]` functions only, not what they share.
#![allow(clippy::unwrap_used)]

use iopilot_block::Nanos;
use iopilot_device::ConstantDevice;
use iopilot_live::vdisk::{self, Backing, VdiskOptions, VdiskServer, Via};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Not the model's.
const DEPTH: u32 = 5;

/// A disk of 4 MiB with its notes and data in `folder`; `None`, having said why, where there can be none.
fn serve(folder: &Path, via: Via) -> Option<VdiskServer> {
    let root = fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0);
    let needed: &[&str] = match via {
        Via::Loop => &["/dev/fuse", "/dev/loop-control"],
        Via::Ublk => &["/dev/ublk-control"],
    };
    if !root || !needed.iter().all(|path| Path::new(path).exists()) {
        let _ = writeln!(std::io::stderr(), "skipped: such virtual disks need root, {}", needed.join(", "));
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

/// Runs `dd`: what uses a disk is another process than what serves it.
fn dd(words: &[&str]) {
    assert!(Command::new("dd").args(words).stderr(Stdio::null()).status().unwrap().success(), "{words:?}");
}

#[test]
fn a_disk_goes_with_its_server_and_its_data_stay() {
    a_disk_goes_and_its_data_stay(Via::Loop);
}

#[cfg(feature = "ublk")]
#[test]
fn a_disk_by_ublk_goes_with_its_server_and_its_data_stay() {
    a_disk_goes_and_its_data_stay(Via::Ublk);
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
    // Not told to: as where its process returns early.
    drop(server);
    assert!(vdisk::list(&folder.path().join("state")).unwrap().is_empty());
    assert!(via == Via::Loop || !path.exists());
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(&*folder.path().to_string_lossy()));

    let server = serve(folder.path(), via).unwrap();
    let device = format!("if={}", server.device().display());
    dd(&[&device, &format!("of={}", to.display()), "bs=64k", "count=16", "iflag=direct"]);
    let attached = server.device().to_string_lossy().into_owned();
    // From another process it goes over the control socket; so it does from here.
    vdisk::detach(&folder.path().join("state"), &attached, false).unwrap();
    server.serve().unwrap();
    assert!(fs::read(to).unwrap() == data, "the disk has other data");
}
