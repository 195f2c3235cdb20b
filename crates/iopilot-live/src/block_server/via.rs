//! [`Via`]: the kernel's drivers by which a process serves a block device, and whether they are there.

use super::queue_depth;
#[cfg(feature = "ublk")]
use super::ublk;
use crate::LiveError;
use iopilot_block::InputError;
use rustix::process::geteuid;
use std::ops::RangeInclusive;
use std::path::Path;

/// The kernel drivers by which a process serves a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// A loop device on a file of FUSE.
    #[default]
    Loop,
    /// The driver ublk, where the kernel has it and this was built with the feature `ublk`.
    Ublk,
}

impl Via {
    /// The queue depths that its devices can have.
    fn depths(self) -> RangeInclusive<u32> {
        match self {
            Self::Loop => queue_depth::LEAST..=queue_depth::MOST,
            #[cfg(feature = "ublk")]
            Self::Ublk => 1..=ublk::MOST,
            // It has been refused.
            #[cfg(not(feature = "ublk"))]
            Self::Ublk => 1..=1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Ublk => "ublk",
        }
    }
}

/// Checks that the user may make block devices.
pub(crate) fn check_user() -> Result<(), LiveError> {
    match geteuid().is_root() {
        true => Ok(()),
        false => {
            Err(InputError::new("user", geteuid().as_raw().to_string(), "root, who alone may mount and attach").into())
        }
    }
}

/// Checks that the kernel has what serves block devices.
pub(crate) fn check_system(via: Via) -> Result<(), LiveError> {
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

/// The queue depth: the one that was asked for, which must be possible; by default the possible one nearest to
/// `natural`.
pub(crate) fn depth(via: Via, asked: Option<u32>, natural: Option<u32>) -> Result<u32, LiveError> {
    let possible = via.depths();
    match asked {
        None => Ok(natural.unwrap_or(queue_depth::MOST).clamp(*possible.start(), *possible.end())),
        Some(depth) if possible.contains(&depth) => Ok(depth),
        Some(depth) => {
            let expected = format!("{} to {}, as {} devices have it", possible.start(), possible.end(), via.name());
            Err(InputError::new("--depth", depth.to_string(), expected).into())
        }
    }
}

/// Checks that a name can be that of a folder.
pub(crate) fn check_name(name: &str) -> Result<(), InputError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && name.len() <= 64 && name.chars().all(plain) && !name.starts_with('.') && name != "lock" {
        true => Ok(()),
        false => Err(InputError::new("--name", name, "up to 64 letters, digits, -, _ and ., the first no .")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_depth_is_the_possible_one_nearest_to_the_natural_one() {
        let of = |asked| depth(Via::Loop, asked, Some(32));
        assert_eq!((of(None).unwrap(), of(Some(4)).unwrap()), (32, 4));
        assert_eq!(depth(Via::Loop, None, Some(1)).unwrap(), 4);
        assert_eq!(depth(Via::Loop, None, None).unwrap(), 128);
        assert_eq!(of(Some(3)).unwrap_err().to_string(), "--depth: got 3, expected 4 to 128, as loop devices have it");
    }

    #[cfg(feature = "ublk")]
    #[test]
    fn ublk_takes_any_depth_that_its_tags_can_number() {
        let of = |asked| depth(Via::Ublk, asked, Some(32));
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
