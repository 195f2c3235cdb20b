//! Checks of the options of a virtual disk.

use super::image::Image;
use super::{Backing, VdiskOptions};
use crate::LiveError;
use iopilot_block::{InputError, SECTOR_BYTES};
use iopilot_catalogue::AnyDevice;
use iopilot_device::Device;
use std::fs;

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

/// Whether the kernel should treat it as a rotational disk.
pub(super) fn is_rotational(device: &AnyDevice) -> bool {
    !matches!(device.model(), AnyDevice::Constant(_) | AnyDevice::Flash(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Nanos;
    use iopilot_device::ConstantDevice;
    use std::path::Path;

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
}
