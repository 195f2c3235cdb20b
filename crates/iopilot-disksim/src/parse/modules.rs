//! The types of blocks.

/// Every type a block can have, sorted.
pub(crate) const MODULES: &[&str] = &[
    "disksim_bus",
    "disksim_bus_stats",
    "disksim_cachedev",
    "disksim_cachemem",
    "disksim_ctlr",
    "disksim_ctlr_stats",
    "disksim_device_stats",
    "disksim_disk",
    "disksim_global",
    "disksim_iodriver",
    "disksim_iodriver_stats",
    "disksim_iomap",
    "disksim_ioqueue",
    "disksim_iosim",
    "disksim_logorg",
    "disksim_pf",
    "disksim_pf_stats",
    "disksim_simpledisk",
    "disksim_stats",
    "disksim_syncset",
    "disksim_synthgen",
    "disksim_synthio",
    "dm_disk",
    "dm_layout_g1",
    "dm_layout_g1_zone",
    "dm_layout_g2",
    "dm_layout_g2_zone",
    "dm_layout_g4",
    "dm_mech_g1",
];

/// Packages of other authors that add a type of storage device to DiskSim, by the prefix of their type names. None of
/// them is simulated here.
const PACKAGES: &[&str] = &["ssdmodel", "memsmodel"];

/// The package of a type, if it is one of [`PACKAGES`].
pub(super) fn foreign_package(kind: &str) -> Option<&'static str> {
    PACKAGES.iter().copied().find(|package| kind.strip_prefix(package).is_some_and(|rest| rest.starts_with('_')))
}

/// The type as listed in [`MODULES`].
pub(super) fn module(name: &str) -> Option<&'static str> {
    MODULES.binary_search(&name).ok().map(|at| MODULES[at])
}
