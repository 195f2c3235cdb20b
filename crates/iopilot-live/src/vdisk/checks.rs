//! Checks of the options of a virtual disk.

use super::image::Image;
#[cfg(feature = "ublk")]
use super::ublk;
use super::{Backing, VdiskOptions, Via, queue_depth};
use crate::LiveError;
use iopilot_block::{InputError, SECTOR_BYTES};
use iopilot_device::{AnyDevice, Device};
use rustix::process::geteuid;
use std::fs;
use std::path::Path;

/// Checks that the user may use virtual disks.
pub(super) fn check_user() -> Result<(), LiveError> {
    match geteuid().is_root() {
        true => Ok(()),
        false => {
            Err(InputError::new("user", geteuid().as_raw().to_string(), "root, who alone may mount and attach").into())
        }
    }
}

/// Checks that the kernel supports virtual disks.
pub(super) fn check_system(via: Via) -> Result<(), LiveError> {
    check_user()?;
    match via {
        Via::Loop => check_loop(),
        #[cfg(feature = "ublk")]
        Via::Ublk => ublk::check(),
        #[cfg(not(feature = "ublk"))]
        Via::Ublk => {
            Err(InputError::new("--via", "ublk", "loop; this was built without the cargo feature ublk").into())
        }
    }
}

fn check_loop() -> Result<(), LiveError> {
    for (path, module) in [("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")] {
        if !Path::new(path).exists() {
            let reason = format!("not there; the kernel needs its module {module}: modprobe {module}");
            return Err(LiveError::Device { path: path.into(), reason });
        }
    }
    Ok(())
}

/// The requested depth, else the possible one that is nearest to the model's.
pub(super) fn depth(options: &VdiskOptions) -> Result<u32, LiveError> {
    let (possible, whose) = match options.via {
        Via::Loop => (queue_depth::LEAST..=queue_depth::MOST, "loop"),
        #[cfg(feature = "ublk")]
        Via::Ublk => (1..=ublk::MOST, "ublk"),
        // It has been refused.
        #[cfg(not(feature = "ublk"))]
        Via::Ublk => (1..=1, "ublk"),
    };
    match options.depth {
        None => {
            let device = options.device.as_ref().map_or(queue_depth::MOST, Device::queue_depth);
            Ok(device.clamp(*possible.start(), *possible.end()))
        }
        Some(depth) if possible.contains(&depth) => Ok(depth),
        Some(depth) => {
            let expected = format!("{} to {}, as {whose} devices have it", possible.start(), possible.end());
            Err(InputError::new("--depth", depth.to_string(), expected).into())
        }
    }
}

/// The backing file, with a size that the disk can have.
pub(super) fn open_image(options: &VdiskOptions) -> Result<Image, LiveError> {
    let capacity = options.device.as_ref().map(|device| device.capacity() * SECTOR_BYTES);
    let check = |size: u64, field: &str| {
        if size == 0 || size % SECTOR_BYTES != 0 {
            let expected = format!("a multiple of {SECTOR_BYTES}, above 0");
            return Err(InputError::new(field, size.to_string(), expected));
        }
        if let Some(capacity) = capacity.filter(|&capacity| size > capacity) {
            let expected = format!("at most {capacity}, the size of {}", options.disk);
            return Err(InputError::new(field, size.to_string(), expected));
        }
        Ok(())
    };
    if let Some(size) = options.size {
        check(size, "--size")?;
    }
    match &options.backing {
        Backing::File(path) => {
            let there = fs::metadata(path).map(|file| file.len()).ok().filter(|&length| length > 0);
            if let (None, Some(length)) = (options.size, there) {
                check(length, "--backing")?;
            }
            Image::open(path, options.size.or(there).or(capacity))
        }
        Backing::In(folder) => {
            let Some(size) = options.size.or(capacity) else {
                return Err(InputError::new("--size", "", "a size such as 8G, as no disk tells it").into());
            };
            let disk: String = options
                .disk
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' })
                .collect();
            Image::open_in(folder, &format!("{disk}-{size}"), size)
        }
    }
}

/// Checks that a name can be that of a folder.
pub(super) fn check_name(name: &str) -> Result<(), InputError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && name.len() <= 64 && name.chars().all(plain) && !name.starts_with('.') && name != "lock" {
        true => Ok(()),
        false => Err(InputError::new("--name", name, "up to 64 letters, digits, -, _ and ., the first no .")),
    }
}

/// Whether the kernel should treat it as a rotational disk.
pub(super) fn is_rotational(device: &AnyDevice) -> bool {
    !matches!(device, AnyDevice::Constant(_) | AnyDevice::Flash(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Nanos;
    use iopilot_device::ConstantDevice;

    fn options(folder: &Path) -> VdiskOptions {
        let device = ConstantDevice::simple(1000, 32, Nanos(1000), 0.0);
        VdiskOptions { backing: Backing::In(folder.to_owned()), ..VdiskOptions::new("c", Some(device.into())) }
    }

    #[test]
    fn the_size_is_the_disks_where_none_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let image = open_image(&options(folder.path())).unwrap();
        assert_eq!(image.size(), 512_000);
        assert!(image.path().ends_with("c-512000.img"));
    }

    #[test]
    fn a_size_that_cannot_be_is_refused_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let of = |size, device: bool| {
            let mut options = VdiskOptions { size, ..options(folder.path()) };
            options.device = options.device.filter(|_| device);
            open_image(&options).unwrap_err().to_string()
        };
        assert_eq!(of(Some(0), true), "--size: got 0, expected a multiple of 512, above 0");
        assert_eq!(of(Some(700), true), "--size: got 700, expected a multiple of 512, above 0");
        assert_eq!(of(Some(1 << 20), true), "--size: got 1048576, expected at most 512000, the size of c");
        assert_eq!(of(None, false), "--size: got nothing, expected a size such as 8G, as no disk tells it");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_depth_is_the_models_as_far_as_it_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let of = |asked| depth(&VdiskOptions { depth: asked, ..options(folder.path()) });
        assert_eq!((of(None).unwrap(), of(Some(4)).unwrap()), (32, 4));
        assert_eq!(of(Some(3)).unwrap_err().to_string(), "--depth: got 3, expected 4 to 128, as loop devices have it");
    }

    #[cfg(feature = "ublk")]
    #[test]
    fn ublk_takes_any_depth_that_its_tags_can_tell() {
        let folder = tempfile::tempdir().unwrap();
        let of = |asked| depth(&VdiskOptions { depth: asked, via: Via::Ublk, ..options(folder.path()) });
        assert_eq!((of(None).unwrap(), of(Some(1)).unwrap(), of(Some(4096)).unwrap()), (32, 1, 4096));
        assert_eq!(
            of(Some(4097)).unwrap_err().to_string(),
            "--depth: got 4097, expected 1 to 4096, as ublk devices have it"
        );
    }

    #[test]
    fn names_are_those_of_files() {
        assert!(check_name("disk-1.a_b").is_ok());
        for name in ["", "..", "a/b", "lock", "a b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
