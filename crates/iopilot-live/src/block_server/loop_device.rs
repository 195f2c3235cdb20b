//! [`LoopDevice`]: a block device on a file, by the kernel's loop driver.

use crate::LiveError;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const CONTROL: &str = "/dev/loop-control";
// From include/uapi/linux/loop.h.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LO_FLAGS_DIRECT_IO: u32 = 16;
const LO_NAME_SIZE: usize = 64;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; LO_NAME_SIZE],
    crypt_name: [u8; LO_NAME_SIZE],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

/// A loop device, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoopDevice {
    path: PathBuf,
}

impl LoopDevice {
    /// The loop device at `path`, attached or not.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Attaches `file` to the first free loop device, with logical blocks of `logical_block` bytes. It uses direct I/O,
    /// so that all requests are in flight at once.
    pub(super) fn attach(file: &Path, logical_block: u32) -> Result<Self, LiveError> {
        let control = open(Path::new(CONTROL))?;
        let backing = OpenOptions::new().read(true).write(true).open(file).map_err(|e| LiveError::io(file, e))?;
        let mut file_name = [0; LO_NAME_SIZE];
        let bytes = file.as_os_str().as_bytes();
        let kept = bytes.len().min(LO_NAME_SIZE - 1);
        file_name[..kept].copy_from_slice(&bytes[..kept]);
        let info = LoopInfo64 {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            sizelimit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_DIRECT_IO,
            file_name,
            crypt_name: [0; LO_NAME_SIZE],
            encrypt_key: [0; 32],
            init: [0; 2],
        };
        let config = LoopConfig { fd: backing.as_raw_fd() as u32, block_size: logical_block, info, reserved: [0; 8] };
        for _ in 0..100 {
            // SAFETY: takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            if number < 0 {
                return Err(LiveError::io(CONTROL, io::Error::last_os_error()));
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = open(&path)?;
            // SAFETY: the kernel reads the structure, laid out as its own, which outlives the call.
            if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) } == 0 {
                return Ok(Self { path });
            }
            match io::Error::last_os_error() {
                // Another process has just taken it.
                e if e.raw_os_error() == Some(libc::EBUSY) => {}
                e => return Err(LiveError::io(path, e)),
            }
        }
        Err(LiveError::io(CONTROL, io::ErrorKind::ResourceBusy.into()))
    }

    /// Its path, such as `/dev/loop0`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file it is attached to; `None` where it is attached to none.
    pub(super) fn backing(&self) -> Option<PathBuf> {
        let name = self.path.file_name()?;
        let text = fs::read_to_string(Path::new("/sys/block").join(name).join("loop/backing_file")).ok()?;
        let text = text.trim_end();
        Some(PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(text)))
    }

    /// Detaches the file. Returns true when that is done. Returns false after `patience` if somebody has the device
    /// open; it is then detached when they close it.
    pub(super) fn detach(&self, patience: Duration) -> Result<bool, LiveError> {
        {
            let device = open(&self.path)?;
            // SAFETY: takes no argument.
            if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD as _) } != 0 {
                match io::Error::last_os_error() {
                    // It is not attached.
                    e if e.raw_os_error() == Some(libc::ENXIO) => return Ok(true),
                    e => return Err(LiveError::io(&self.path, e)),
                }
            }
        }
        let end = Instant::now() + patience;
        while self.backing().is_some() {
            if Instant::now() >= end {
                return Ok(false);
            }
            sleep(Duration::from_millis(5));
        }
        Ok(true)
    }
}

fn open(path: &Path) -> Result<File, LiveError> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(|e| LiveError::io(path, e))
}
