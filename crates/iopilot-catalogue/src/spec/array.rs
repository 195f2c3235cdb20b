//! [`ArraySpec`]: an array as a machine's `[array]` describes it.

mod build;

use serde::Deserialize;

/// `[array]`: several disks of one kind behind a controller.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArraySpec {
    /// The organisation.
    pub(crate) level: LevelSpec,
    /// The members: a name of the catalogue, or a TOML file.
    pub disk: String,
    /// Number of members.
    pub members: u32,
    /// Stripe unit; 64 if left out.
    pub(crate) stripe_unit_kib: Option<u32>,
    /// The amount of data on a member after which the parity moves on; the stripe unit if left out. RAID 5 and 6.
    pub(crate) parity_stripe_unit_kib: Option<u32>,
    /// Where the parity of successive stripes lies. RAID 5 and 6.
    pub(crate) layout: Option<RotationSpec>,
    /// Copies of each unit; if left out, all members for RAID 1, and 2 for RAID 1+0.
    pub(crate) copies: Option<u32>,
    /// Which members are copies of each other. RAID 1+0.
    pub(crate) mirrors: Option<MirrorSpec>,
    /// Which copy a read goes to. RAID 1 and 1+0.
    pub(crate) copy_choice: Option<CopyChoiceSpec>,
    /// Units of a stripe, parity included, that a known block design spreads over the members. Declustered.
    pub(crate) group: Option<u32>,
    /// A custom block design: the members of each stripe. Declustered.
    pub(crate) design: Option<Vec<Vec<u32>>>,
    /// Check units of a stripe, 1 or 2. Declustered.
    pub(crate) checks: Option<u32>,
    /// Read-modify-write where fewer than this many units of a stripe are written; if left out, the method with the
    /// fewest reads.
    pub(crate) read_modify_write_below: Option<u32>,
    /// Requests that the controller takes at once.
    #[serde(default = "default_queue_depth")]
    pub(crate) queue_depth: u32,
    /// Requests that each member is given at once; if left out, as many as the member takes.
    pub(crate) member_queue_depth: Option<u32>,
    /// Order in which further requests are given to a member, a policy of [`IoQueue`](iopilot_sched::IoQueue); if left
    /// out, the order of arrival.
    pub(crate) member_scheduler: Option<String>,
    /// Processing of a command.
    #[serde(default)]
    pub(crate) command_us: f64,
    /// Data rate between host and controller, 10^6 bytes per second; unlimited if left out.
    pub(crate) bus_mb_s: Option<f64>,
    /// Write-back cache; 0 for none.
    #[serde(default)]
    pub(crate) nvram_mib: u32,
    /// Whether the cache has its battery. Without a battery it does not cache writes.
    #[serde(default = "default_battery")]
    pub(crate) battery: bool,
    /// Destaging starts above this used share of the cache.
    #[serde(default = "default_destage_above")]
    pub(crate) destage_above: f64,
    /// Destaging ends at this used share; nine tenths of `destage_above` if left out.
    pub(crate) destage_to: Option<f64>,
    /// Idle time of the host after which the whole cache is destaged.
    #[serde(default = "default_destage_idle_ms")]
    pub(crate) destage_idle_ms: f64,
    /// Destages at once; twice the members if left out.
    pub(crate) destage_depth: Option<u32>,
    /// Members that have failed before the start.
    #[serde(default)]
    pub(crate) failed: Vec<u32>,
    /// Members that fail later.
    #[serde(default)]
    pub(crate) fails: Vec<FailureSpec>,
    /// Whether and how failed members are rebuilt onto spares.
    pub(crate) rebuild: Option<RebuildSpec>,
    /// Seed of the choice among equally good copies, and of the members' initial angles.
    #[serde(default)]
    pub(crate) seed: u64,
}

fn default_queue_depth() -> u32 {
    256
}

fn default_battery() -> bool {
    true
}

fn default_destage_above() -> f64 {
    0.5
}

fn default_destage_idle_ms() -> f64 {
    100.0
}

/// `level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum LevelSpec {
    /// One member after the other.
    #[serde(rename = "concatenated")]
    Concatenated,
    /// Striping.
    #[serde(rename = "raid0")]
    Raid0,
    /// Copies.
    #[serde(rename = "raid1")]
    Raid1,
    /// Striping over copies.
    #[serde(rename = "raid1+0")]
    Raid10,
    /// Parity on the last member.
    #[serde(rename = "raid4")]
    Raid4,
    /// Rotating parity.
    #[serde(rename = "raid5")]
    Raid5,
    /// Rotating P and Q.
    #[serde(rename = "raid6")]
    Raid6,
    /// Parity declustering.
    #[serde(rename = "declustered")]
    Declustered,
}

impl LevelSpec {
    /// The name in running text.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Concatenated => "concatenation",
            Self::Raid0 => "RAID 0",
            Self::Raid1 => "RAID 1",
            Self::Raid10 => "RAID 1+0",
            Self::Raid4 => "RAID 4",
            Self::Raid5 => "RAID 5",
            Self::Raid6 => "RAID 6",
            Self::Declustered => "declustered parity",
        }
    }
}

/// `layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RotationSpec {
    /// See [`iopilot_device::Rotation::LeftSymmetric`].
    LeftSymmetric,
    /// See [`iopilot_device::Rotation::LeftAsymmetric`].
    LeftAsymmetric,
    /// See [`iopilot_device::Rotation::RightSymmetric`].
    RightSymmetric,
    /// See [`iopilot_device::Rotation::RightAsymmetric`].
    RightAsymmetric,
}

/// `mirrors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MirrorSpec {
    /// See [`iopilot_device::MirrorOrder::Adjacent`].
    Adjacent,
    /// See [`iopilot_device::MirrorOrder::Halves`].
    Halves,
}

/// `copy_choice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CopyChoiceSpec {
    /// See [`iopilot_device::CopyChoice::First`].
    First,
    /// See [`iopilot_device::CopyChoice::Random`].
    Random,
    /// See [`iopilot_device::CopyChoice::RoundRobin`].
    RoundRobin,
    /// See [`iopilot_device::CopyChoice::Nearest`].
    Nearest,
    /// See [`iopilot_device::CopyChoice::ShortestQueue`].
    ShortestQueue,
    /// See [`iopilot_device::CopyChoice::ShortestThenNearest`].
    ShortestThenNearest,
}

/// One of `fails`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureSpec {
    /// Which member.
    pub(crate) member: u32,
    /// When, in seconds from the start.
    pub(crate) at_s: f64,
}

/// `rebuild`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RebuildSpec {
    /// Spare disks.
    #[serde(default = "default_spares")]
    pub(crate) spares: u32,
    /// The maximum rate at which a spare is written, 10^6 bytes per second; unlimited if left out.
    pub(crate) rate_mb_s: Option<f64>,
    /// How much is rebuilt at once.
    #[serde(default = "default_chunk_kib")]
    pub(crate) chunk_kib: u32,
    /// The delay from the failure to the start of the rebuild.
    #[serde(default)]
    pub(crate) delay_s: f64,
}

fn default_spares() -> u32 {
    1
}

fn default_chunk_kib() -> u32 {
    512
}
