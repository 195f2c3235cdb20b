//! [`DiskSpec`]: a drive's whole description, and the layout of its file.

use super::drive::DriveSpec;
use super::hybrid::{HybridCacheSpec, HybridSpec};
use super::sections::{CacheSpec, FlashSpec, GeometrySpec, InterfaceSpec, MechanicalSpec, MechanicsSpec};
use super::ssd::SsdSpec;
use super::table::TableSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A drive as a data sheet describes it. It is made by [`DiskSpec::from_toml`] or by hand; [`DiskSpec::build`] makes
/// the device.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpec {
    /// Short name, as in the catalogue.
    pub name: String,
    /// Maker and model.
    pub model: String,
    /// The sources of the numbers, as text.
    pub sources: Vec<String>,
    /// Which model, and its parameters.
    pub device: DeviceSpec,
    /// The source of each parameter, by dotted key: `data sheet: `, `paper: ` or `derived: `, followed by the sheet,
    /// paper or inputs. Either empty or complete.
    pub provenance: BTreeMap<String, String>,
}

/// Which model a drive uses.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceSpec {
    /// `type = "mechanical"`
    Mechanical(Box<MechanicalSpec>),
    /// `type = "flash-simple"`
    Flash(FlashSpec),
    /// `type = "drive"`
    Drive(Box<DriveSpec>),
    /// `type = "table"`
    Table(Box<TableSpec>),
    /// `type = "ssd"`
    Ssd(Box<SsdSpec>),
    /// `type = "hybrid"`
    Hybrid(Box<HybridSpec>),
}

/// The file. All sections are optional to serde, so that errors about a missing one keep their line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) model: String,
    #[serde(rename = "type")]
    pub(super) kind: DeviceKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sources: Vec<String>,
    pub(super) geometry: Option<GeometrySpec>,
    pub(super) mechanics: Option<MechanicsSpec>,
    pub(super) interface: Option<InterfaceSpec>,
    pub(super) cache: Option<CacheSpec>,
    pub(super) flash: Option<FlashSpec>,
    pub(super) drive: Option<DriveSpec>,
    pub(super) table: Option<TableSpec>,
    pub(super) ssd: Option<SsdSpec>,
    pub(super) hybrid: Option<HybridCacheSpec>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) provenance: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DeviceKind {
    #[serde(rename = "mechanical")]
    Mechanical,
    #[serde(rename = "flash-simple")]
    FlashSimple,
    #[serde(rename = "drive")]
    Drive,
    #[serde(rename = "table")]
    Table,
    #[serde(rename = "ssd")]
    Ssd,
    #[serde(rename = "hybrid")]
    Hybrid,
}
