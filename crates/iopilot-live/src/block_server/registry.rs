//! Finds served block devices, by name or path.

use super::block_device::mount_points;
use super::control;
use super::state::{AttachedDevice, FoundDevices, StateFolder};
use super::via::check_user;
use crate::LiveError;
use iopilot_block::InputError;
use serde::Serialize;
use std::path::Path;

/// The folder `state`, and the devices found in it. Leftovers of dead servers are cleared away, unless they are in use.
pub(crate) fn look<A: AttachedDevice>(state: &Path) -> Result<(StateFolder<A>, FoundDevices<A>), LiveError> {
    check_user()?;
    let state = StateFolder::open(state)?;
    let found = state.look()?;
    Ok((state, found))
}

/// Whether a device is called `which`, by name or path.
pub(crate) fn is_called<A: AttachedDevice>(attachment: &A, which: &str) -> bool {
    attachment.name() == which || attachment.device() == Path::new(which)
}

/// The device of `attached` that is called `which`.
pub(crate) fn find<A: AttachedDevice>(attached: Vec<A>, which: &str) -> Result<A, InputError> {
    let known: Vec<String> = attached.iter().map(|a| format!("{} ({})", a.name(), a.device().display())).collect();
    attached.into_iter().find(|attachment| is_called(attachment, which)).ok_or_else(|| {
        let expected = match known.is_empty() {
            true => format!("a {}; there is none", A::KIND),
            false => format!("one of {}", known.join(", ")),
        };
        InputError::new(A::KIND, which, expected)
    })
}

/// The device called `which`, whose server must be alive, and the folder in which that listens.
pub(crate) fn find_served<A: AttachedDevice>(state: &Path, which: &str) -> Result<(A, std::path::PathBuf), LiveError> {
    let (state, found) = look::<A>(state)?;
    let attachment = find(found.attached, which)?;
    if !attachment.is_served() {
        return Err(dead(&attachment));
    }
    let folder = state.folder(attachment.name());
    Ok((attachment, folder))
}

/// Ends the server of the device called `which` by the command `detach`. The device is gone on return.
///
/// # Errors
/// Where there is no such device, its server does not answer, or somebody uses it (unless `force`).
pub(crate) fn release<A: AttachedDevice>(
    state: &Path,
    which: &str,
    force: bool,
    detach: &impl Serialize,
) -> Result<A, LiveError> {
    let (state, FoundDevices { attached, cleared }) = look::<A>(state)?;
    // A device whose server is dead has just been cleared away.
    if let Some(attachment) = cleared.into_iter().find(|attachment| is_called(attachment, which)) {
        return Ok(attachment);
    }
    let attachment = find(attached, which)?;
    if !attachment.is_served() {
        if !force {
            return Err(dead(&attachment));
        }
        state.clear_away(attachment.name())?;
        return Ok(attachment);
    }
    control::ask::<()>(&state.folder(attachment.name()), detach)?;
    Ok(attachment)
}

/// The error for a device that is in use although its server is dead.
fn dead<A: AttachedDevice>(attachment: &A) -> LiveError {
    let path = attachment.device().to_owned();
    let reason = match mount_points(&path).first() {
        Some(place) => format!("its server is dead, and it is still mounted: umount {place}"),
        None => {
            "its server is dead, and it is still in use: end those that use it, or detach it with --force".to_owned()
        }
    };
    LiveError::Device { path, reason }
}
