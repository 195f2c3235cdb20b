//! [`FileTables`]: `[cache]` and `[filesystem]` of a machine's description.

use iopilot_block::{InputError, Nanos};
use iopilot_host::{BLOCK_BYTES, HostSettings};
use serde::Deserialize;

/// The page cache, as described in TOML.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CacheTable {
    mib: Option<u64>,
    read_ahead_pages: Option<u32>,
    syncer_ms: Option<f64>,
    syncer_share: Option<f64>,
}

/// The kinds of file systems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileSystemKind {
    #[default]
    Ufs,
}

/// The layout of the disk, as described in TOML.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileSystemTable {
    #[serde(rename = "type")]
    kind: FileSystemKind,
    group_mib: Option<f64>,
    bytes_per_inode: Option<u64>,
    blocks_in_group: Option<u64>,
}

/// Both tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FileTables {
    pub(crate) cache: Option<CacheTable>,
    pub(crate) filesystem: Option<FileSystemTable>,
}

impl FileTables {
    /// Sets the pages that are kept read ahead.
    pub(crate) fn set_read_ahead(&mut self, pages: u32) {
        self.cache.get_or_insert_with(CacheTable::default).read_ahead_pages = Some(pages);
    }

    /// `settings`, changed by the tables.
    ///
    /// # Errors
    /// Names the key whose value is out of range.
    pub(crate) fn apply(&self, mut settings: HostSettings) -> Result<HostSettings, InputError> {
        if let Some(table) = &self.cache {
            let cache = &mut settings.cache;
            cache.bytes = table.mib.map_or(cache.bytes, |mib| mib.saturating_mul(1 << 20));
            cache.read_ahead = table.read_ahead_pages.unwrap_or(cache.read_ahead);
            if let Some(ms) = table.syncer_ms {
                if !(1.0..=1e7).contains(&ms) {
                    return Err(InputError::new("cache.syncer_ms", ms.to_string(), "1 to 10000000 ms"));
                }
                cache.write_back.interval = Nanos::from_millis_f64(ms);
            }
            cache.write_back.share = table.syncer_share.unwrap_or(cache.write_back.share);
        }
        if let Some(table) = &self.filesystem {
            let layout = &mut settings.layout;
            if let Some(mib) = table.group_mib {
                if !(0.25..=1024.0).contains(&mib) {
                    return Err(InputError::new("filesystem.group_mib", mib.to_string(), "0.25 to 1024 MiB"));
                }
                layout.group_blocks = (mib * f64::from(1 << 20)) as u64 / BLOCK_BYTES;
            }
            layout.bytes_per_inode = table.bytes_per_inode.unwrap_or(layout.bytes_per_inode);
            layout.blocks_in_group = table.blocks_in_group.unwrap_or(layout.blocks_in_group);
            if layout.blocks_in_group == 0 {
                return Err(InputError::new("filesystem.blocks_in_group", "0", "at least 1"));
            }
        }
        settings.check()?;
        Ok(settings)
    }

    /// The name of the first table that is given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        self.cache.as_ref().map(|_| "cache").or(self.filesystem.as_ref().map(|_| "filesystem"))
    }
}
