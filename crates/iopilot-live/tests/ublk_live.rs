//! A virtual disk by the ublk driver. Needs root and /dev/ublk-control, and says so where they are missing;
//! `ublk-qemu.sh` runs it on a kernel that has the driver.
#![cfg(feature = "ublk")]
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

/// A disk of 4 MiB that takes 3 requests at once, with its notes and data in `folder`; `None`, having said why, where
/// there can be none.
fn serve(folder: &Path) -> Option<VdiskServer> {
    let root = fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0);
    if !root || !Path::new("/dev/ublk-control").exists() {
        let _ = writeln!(std::io::stderr(), "skipped: virtual disks by ublk need root and /dev/ublk-control");
        return None;
    }
    let device = ConstantDevice::simple(8192, 8, Nanos::from_micros(200), 1.0);
    let mut options = VdiskOptions::new("constant", Some(device.into()));
    options.via = Via::Ublk;
    options.depth = Some(3);
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
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (from, to) = (folder.path().join("data"), folder.path().join("copy"));
    fs::write(&from, &data).unwrap();
    let Some(server) = serve(folder.path()) else { return };
    let path = server.device().to_owned();
    assert!(path.starts_with("/dev") && path.to_string_lossy().contains("ublkb"), "{}", path.display());
    assert_eq!(server.attachment().depth, 3);
    dd(&[&format!("if={}", from.display()), &format!("of={}", path.display()), "bs=64k", "oflag=direct", "conv=fsync"]);
    let stats = server.stats();
    assert_eq!((stats.requests.write, stats.bytes.write), (16, 1 << 20));
    assert!(stats.requests.flush >= 1 && stats.real_ms.mean >= stats.modelled_ms.mean, "{stats:?}");
    let attached = vdisk::list(&folder.path().join("state")).unwrap();
    assert_eq!(attached, [server.attachment().clone()]);
    // Not told to: as where its process returns early.
    drop(server);
    assert!(vdisk::list(&folder.path().join("state")).unwrap().is_empty());
    assert!(!path.exists());

    let server = serve(folder.path()).unwrap();
    let device = format!("if={}", server.device().display());
    dd(&[&device, &format!("of={}", to.display()), "bs=64k", "count=16", "iflag=direct"]);
    let attached = server.device().to_string_lossy().into_owned();
    // From another process it goes over the control socket; so it does from here.
    vdisk::detach(&folder.path().join("state"), &attached, false).unwrap();
    server.serve().unwrap();
    assert!(fs::read(to).unwrap() == data, "the disk has other data");
}
