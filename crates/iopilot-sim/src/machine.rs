//! [`Machine`]: a disk, the block layer above it and the CPUs above that.

use crate::block_config::BlockConfig;
use crate::cpu_overheads::CpuOverheads;
use crate::error::SimError;
use crate::file_tables::{CacheTable, FileSystemTable, FileTables};
use crate::report::MachineSummary;
use crate::run_config::RunConfig;
use crate::simulate::RunOptions;
use iopilot_block::{InputError, SECTOR_BYTES, parse_toml};
use iopilot_catalogue::{
    AnyDevice, ArraySpec, ControllerSpec, DeviceError, DeviceSpec, DiskSpec, TableForm, TableShape, TimeTables,
    Training, load_disk,
};
use iopilot_device::{Device, SpeedFactor, Synchronous};
use iopilot_host::HostSettings;
use iopilot_redcap::RedcapSpec;
use serde::Deserialize;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A machine with one disk, or one array of disks.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The disk's catalogue name or file; for an array, a description in a few words.
    pub disk_name: String,
    /// The disk's description; for an array, that of its members.
    pub disk: DiskSpec,
    /// The array, if it is one.
    pub array: Option<ArraySpec>,
    /// The factor by which the disk or array is faster than described.
    pub speed: SpeedFactor,
    /// The disk or array before its first request.
    pristine: AnyDevice,
    /// The block layer's settings.
    pub block: BlockConfig,
    /// The CPUs.
    pub host: CpuOverheads,
    /// A cache above the block layer, if there is one.
    pub redcap: Option<RedcapSpec>,
    /// The page cache, and the layout of files on the disk.
    files: FileTables,
    /// Whether its description has a `[host]`.
    pub sets_host: bool,
    /// See [`Machine::time_tables`].
    tables: Arc<OnceLock<Arc<TimeTables>>>,
}

/// The largest number of requests of a training, and of samples of each cell, which is that of GF 3.5.2.
const TRAINING_REQUESTS: u64 = 500_000;
const TRAINING_SAMPLES: u64 = 64;

/// Trains the two tables of a reference disk on a model (GF 3.2.5): up to 500,000 requests, one at a time. O(requests).
pub fn train_two_tables<D: Device + Clone>(device: D) -> TimeTables {
    let training = |samples| Training { form: TableForm::Two, samples, seed: 0 };
    let samples = (TRAINING_REQUESTS / training(1).requests(device.capacity()).max(1)).clamp(1, TRAINING_SAMPLES);
    match training(samples as u32).run(&mut Synchronous::new(device), || {}) {
        Ok(trained) => trained.tables,
        Err(never) => match never {},
    }
}

/// A machine as described in TOML.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: Option<String>,
    disk: Option<String>,
    array: Option<ArraySpec>,
    controller: Option<ControllerSpec>,
    #[serde(default)]
    device: WholeDevice,
    #[serde(default)]
    block: BlockConfig,
    host: Option<CpuOverheads>,
    cache: Option<CacheTable>,
    filesystem: Option<FileSystemTable>,
    redcap: Option<RedcapSpec>,
}

/// `[device]`: settings of the disk or array as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeDevice {
    /// The factor by which it is faster than described.
    speed: Option<f64>,
}

impl Machine {
    /// A machine with the kernel's defaults around `disk`, a name of the catalogue or a TOML file.
    ///
    /// # Errors
    /// If there is no such disk, or its description is wrong.
    pub fn for_disk(disk: &str) -> Result<Self, SimError> {
        Self::with_disk(disk, load_disk(disk)?)
    }

    /// A machine with the kernel's defaults around the disk that `spec` describes, called `name`.
    ///
    /// # Errors
    /// If the description contradicts itself.
    pub fn with_disk(name: &str, spec: DiskSpec) -> Result<Self, SimError> {
        Ok(Self {
            name: name.to_owned(),
            disk_name: name.to_owned(),
            pristine: spec.build()?,
            disk: spec,
            array: None,
            speed: SpeedFactor::ONE,
            block: BlockConfig::default(),
            host: CpuOverheads::default(),
            redcap: None,
            files: FileTables::default(),
            sets_host: false,
            tables: Arc::default(),
        })
    }

    /// Reads a machine from a TOML file. If its `disk` is a file, it is looked up in the same folder.
    ///
    /// # Errors
    /// If it cannot be read, and as [`Machine::from_toml`].
    pub fn load(path: &Path) -> Result<Self, SimError> {
        Self::load_with(path, load_disk)
    }

    /// As [`Machine::load`]; `load_disk` finds the disk by its name or path.
    ///
    /// # Errors
    /// As [`Machine::load`].
    pub fn load_with(path: &Path, load_disk: impl Fn(&str) -> Result<DiskSpec, DeviceError>) -> Result<Self, SimError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SimError::Io { path: path.display().to_string(), source })?;
        Self::from_toml_with(&text, path, load_disk)
    }

    /// Reads the description `text` of the file at `path`.
    ///
    /// # Errors
    /// Names the file, the line, the wrong key, and the expected value.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, SimError> {
        Self::from_toml_with(text, path, load_disk)
    }

    fn from_toml_with(
        text: &str,
        path: &Path,
        load_disk: impl Fn(&str) -> Result<DiskSpec, DeviceError>,
    ) -> Result<Self, SimError> {
        let shown = path.display().to_string();
        let description: Description = parse_toml(text, &shown)?;
        let at = |e: InputError| e.in_toml(text, &shown);
        let (key, disk) = match (&description.disk, &description.array) {
            (Some(disk), None) => ("disk", disk),
            (None, Some(array)) => ("array.disk", &array.disk),
            (Some(disk), Some(_)) => {
                let expected = "none beside an [array], which names its own";
                return Err(at(InputError::new("disk", disk.as_str(), expected)).into());
            }
            (None, None) => return Err(at(InputError::new("disk", "", "a value for this key")).at_line(1).into()),
        };
        let beside = path.with_file_name(disk);
        let is_file = Path::new(disk).extension().is_some() && beside.exists();
        let disk = if is_file { beside.display().to_string() } else { disk.clone() };
        let on_disk = load_disk(&disk).map_err(SimError::from).and_then(|spec| Self::with_disk(&disk, spec));
        let mut on_disk = on_disk.map_err(|e| match e {
            SimError::Device(DeviceError::UnknownDisk { name, names, hint }) => {
                let expected = format!("a TOML file or one of the catalogue's names: {names}{hint}");
                SimError::Input(at(InputError::new(key, name, expected)))
            }
            e => e,
        })?;
        if let Some(array) = description.array {
            on_disk.pristine = array.build(&on_disk.pristine).map_err(at)?.into();
            on_disk.tables = Arc::default();
            on_disk.disk_name = array.title();
            on_disk.array = Some(array);
        }
        if let Some(controller) = description.controller {
            if on_disk.array.is_some() {
                let expected = "none beside an [array], which has a controller of its own";
                return Err(at(InputError::new("controller", "a section", expected)).into());
            }
            on_disk.pristine = controller.build(&on_disk.pristine).map_err(at)?.into();
            on_disk.disk_name += &format!(" behind a controller with {} KiB", controller.cache_kib);
        }
        if let Some(factor) = description.device.speed {
            let of_key = |e: InputError| at(InputError { field: "device.speed".to_owned(), ..e });
            on_disk.speed = SpeedFactor::new(factor).map_err(of_key)?;
            on_disk.pristine = on_disk.pristine.at_speed(on_disk.speed);
            if on_disk.speed != SpeedFactor::ONE {
                on_disk.disk_name += &format!(", {factor} times as fast");
            }
        }
        let machine = Self {
            name: description.name.unwrap_or_else(|| shown.clone()),
            block: description.block,
            sets_host: description.host.is_some(),
            host: description.host.unwrap_or_default(),
            redcap: description.redcap,
            files: FileTables { cache: description.cache, filesystem: description.filesystem },
            ..on_disk
        };
        machine.check().map_err(at)?;
        Ok(machine)
    }

    /// Checks that the settings are valid together.
    ///
    /// # Errors
    /// Names the one that is not.
    pub fn check(&self) -> Result<(), InputError> {
        self.host.check()?;
        match (self.host.processes(), self.files.first()) {
            (Some(processes), _) => _ = self.files.apply(processes)?,
            (None, Some(table)) => {
                return Err(InputError::new(
                    table,
                    "no host.preset",
                    "a preset, as files are those of processes on CPUs",
                ));
            }
            (None, None) => {}
        }
        if let Some(redcap) = &self.redcap {
            // The error names the key of the table.
            redcap.check().map_err(|e| InputError { field: e.field.replacen(": ", ".", 1), ..e })?;
        }
        self.block.check()
    }

    /// The same machine with this cache, or without one.
    #[must_use]
    pub fn with_redcap(&self, redcap: Option<RedcapSpec>) -> Self {
        Self { redcap, ..self.clone() }
    }

    /// The pages that its page cache keeps read ahead of a sequential reader, if its description has a `preset`.
    pub fn read_ahead_pages(&self) -> Option<u32> {
        self.processes().map(|processes| processes.cache.read_ahead)
    }

    /// The same machine with a page cache that keeps `pages` read ahead of a sequential reader.
    #[must_use]
    pub fn with_read_ahead(&self, pages: u32) -> Self {
        let mut machine = self.clone();
        machine.files.set_read_ahead(pages);
        machine
    }

    /// A device of this machine, new and idle.
    pub fn device(&self) -> AnyDevice {
        self.pristine.clone()
    }

    /// The CPUs that processes run on, if its description has a `preset` for them.
    pub fn processes(&self) -> Option<HostSettings> {
        // The settings have been checked.
        self.host.processes().and_then(|processes| self.files.apply(processes).ok())
    }

    /// The settings of a run on it.
    pub fn run_config(&self, options: &RunOptions) -> RunConfig {
        RunConfig {
            block: self.block.clone(),
            host: self.host.clone(),
            redcap: self.redcap.clone(),
            tables: self.redcap.as_ref().and_then(|redcap| self.time_tables(redcap)),
            rotational: self.is_rotational(),
            seed: options.seed,
            log: options.log,
            disk_log: false,
            outcomes: false,
            warm_up: options.warm_up,
        }
    }

    /// The times of its disk or array from an off-line training (GF 3.2.5), if `redcap` needs them. The training takes place
    /// once for all runs on this machine and its clones.
    fn time_tables(&self, redcap: &RedcapSpec) -> Option<Arc<TimeTables>> {
        if !redcap.algorithm.needs_reference_disk() || self.capacity() > TableShape::LARGEST {
            return None;
        }
        Some(self.tables.get_or_init(|| Arc::new(train_two_tables(self.device()))).clone())
    }

    /// The disk's size in sectors.
    pub fn capacity(&self) -> u64 {
        self.pristine.capacity()
    }

    /// Whether seeks cost time on its disk or disks (`queue/rotational`).
    pub fn is_rotational(&self) -> bool {
        match &self.disk.device {
            DeviceSpec::Mechanical(_) | DeviceSpec::Drive(_) | DeviceSpec::Hybrid(_) => true,
            DeviceSpec::Table(table) => table.rotational,
            DeviceSpec::Flash(_) | DeviceSpec::Ssd(_) => false,
        }
    }

    /// Whether its disk accepts no other request during a flush.
    pub(crate) fn drains_for_flushes(&self) -> bool {
        self.pristine.cache_control().flush_drains
    }

    /// The `queue_depth` of its block layer and the smaller one that its device accepts, which is used; `None` if there is no
    /// such difference.
    pub fn capped_queue_depth(&self) -> Option<(u32, u32)> {
        let accepted = self.pristine.queue_depth();
        self.block.queue_depth.filter(|&asked| asked > accepted).map(|asked| (asked, accepted))
    }

    /// The machine in a few words.
    pub fn summary(&self) -> MachineSummary {
        let depth = self.pristine.queue_depth();
        MachineSummary {
            name: self.name.clone(),
            disk: self.disk_name.clone(),
            capacity_bytes: self.capacity() * SECTOR_BYTES,
            queue_depth: self.block.queue_depth.map_or(depth, |d| d.min(depth)),
            cpus: self.host.cpus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Machine::from_toml(text, Path::new("m.toml")).unwrap_err().to_string()
    }

    #[test]
    fn a_queue_deeper_than_the_disks_is_capped() {
        let depth = |disk, depth| {
            let mut machine = Machine::for_disk(disk).unwrap();
            machine.block.queue_depth = Some(depth);
            machine.capped_queue_depth()
        };
        assert_eq!(depth("wd1200bb", 32), Some((32, 1)));
        assert_eq!((depth("wd1200bb", 1), depth("hd-500-16", 32)), (None, None));
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        assert_eq!(
            error("disk = \"hd-500-16\"\n[block]\nnomerges = 3\n"),
            "m.toml:3: block.nomerges: got 3, expected 0, 1 or 2"
        );
        assert!(
            error("\ndisk = \"hd-500\"\n").starts_with("m.toml:2: disk: got hd-500, expected a TOML file or one of")
        );
        assert!(error("disk = \"hd-500-16\"\n[host]\ncpu = 2\n").contains("m.toml:3: key: got cpu, expected"));
        assert_eq!(error("[host]\n"), "m.toml:1: disk: got nothing, expected a value for this key");
    }

    #[test]
    fn a_disk_or_array_can_be_faster_than_described() {
        let text = |rest: &str| format!("disk = \"hd-500-16\"\n{rest}\n");
        let machine = Machine::from_toml(&text("[device]\nspeed = 2.0"), Path::new("m.toml")).unwrap();
        assert_eq!((machine.speed.get(), machine.summary().disk.as_str()), (2.0, "hd-500-16, 2 times as fast"));
        assert!(machine.is_rotational());
        let own = Machine::from_toml(&text("[device]\nspeed = 1.0"), Path::new("m.toml")).unwrap();
        assert_eq!(own.summary().disk, "hd-500-16");
        assert_eq!(error(&text("[device]\nspeed = 0")), "m.toml:3: device.speed: got 0, expected 0.001 to 1000");
        assert!(error(&text("[device]\nsped = 2")).contains("m.toml:3: key: got sped, expected"));
    }

    #[test]
    fn a_controller_goes_above_a_drive_only() {
        let text = |disk: &str, rest: &str| format!("disk = \"{disk}\"\n[controller]\n{rest}\n");
        let machine = Machine::from_toml(&text("hp-c2247", "flush_idle_ms = 500"), Path::new("m.toml")).unwrap();
        assert_eq!(machine.summary().disk, "hp-c2247 behind a controller with 1024 KiB");
        assert_eq!(machine.summary().queue_depth, 16);
        assert!(machine.is_rotational());
        assert!(error(&text("hd-500-16", "")).starts_with("m.toml:2: controller: got another kind of disk, expected"));
        assert_eq!(
            error(&text("hp-c2247", "cache_kib = 8")),
            "m.toml:3: controller.cache_kib: got 8, expected 0, or 2 to 262144 lines of line_kib"
        );
        assert!(error(&text("hp-c2247", "policy = \"FCSF\"")).contains("m.toml:3: controller.policy: got FCSF"));
        assert!(error(&text("hp-c2247", "write = \"bak\"")).starts_with("m.toml:3"));
        assert_eq!(
            error(&text("hp-c2247", "flush_wakeups = 4")),
            "m.toml:3: controller.flush_wakeups: got 4, expected 1 without a flush_period_ms, of which they are parts"
        );
        assert_eq!(
            error(&text("hp-c2247", "flush_period_ms = 0.01\nflush_wakeups = 11")),
            "m.toml:4: controller.flush_wakeups: got 11, expected parts of flush_period_ms of 0.001 ms at least"
        );
        assert_eq!(
            error(&text("hp-c2247", "bus = \"interleaved\"")),
            "m.toml:3: controller.bus: got interleaved, expected a bus_mb_s, of which each transfer has a share"
        );
        let both = "flush_period_ms = 30000\nflush_wakeups = 30\nbus_mb_s = 10\nbus = \"interleaved\"";
        assert!(Machine::from_toml(&text("hp-c2247", both), Path::new("m.toml")).is_ok());
        let array = "[array]\nlevel = \"raid1\"\ndisk = \"hd-500-16\"\nmembers = 2\n[controller]\n";
        assert!(error(array).starts_with("m.toml:5: controller: got a section, expected none beside an [array]"));
    }

    #[test]
    fn a_cache_is_checked_with_its_line() {
        let text = |rest: &str| format!("disk = \"hd-500-16\"\n[redcap]\ngeometry = \"64x128k\"\n{rest}\n");
        let machine = Machine::from_toml(&text("algorithm = \"v2\""), Path::new("m.toml")).unwrap();
        assert_eq!(machine.redcap.unwrap().to_string(), "64x128k,algorithm=v2");
        assert!(error(&text("max_sectors = 7")).starts_with("m.toml:4: redcap.max_sectors: got 7, expected at least"));
        assert!(error(&text("algoritm = \"v2\"")).contains("m.toml:4: key: got algoritm, expected"));
        assert!(error("disk = \"hd-500-16\"\n[redcap]\ngeometry = \"64x100k\"\n").contains("32k, 64k, 128k or 256k"));
    }

    #[test]
    fn an_array_takes_the_place_of_a_disk() {
        let text = "name = \"m\"\n[array]\nlevel = \"raid5\"\ndisk = \"hd-500-16\"\nmembers = 4\n";
        let machine = Machine::from_toml(text, Path::new("m.toml")).unwrap();
        assert_eq!(machine.summary().disk, "RAID 5 of 4 x hd-500-16");
        assert!(machine.is_rotational());
        let disk = Machine::for_disk("hd-500-16").unwrap().capacity();
        assert!(machine.capacity() <= 3 * disk && machine.capacity() > 3 * disk - 1000);
        assert_eq!(
            error(&text.replace("members = 4", "members = 2\nqueue_depth = 0\n[block]\nqueue_depth = 4")),
            "m.toml:6: array.queue_depth: got 0, expected 1 to 65536"
        );
        assert_eq!(
            error(&text.replace("members = 4", "members = 2\nrebuild = { rate_mb_s = 0.0 }")),
            "m.toml:6: array.rebuild.rate_mb_s: got 0, expected 0.001 to 1000000000"
        );
        assert!(error(&text.replace("hd-500-16", "hd-5")).starts_with("m.toml:4: array.disk: got hd-5, expected"));
        assert!(error(&format!("disk = \"hd-500-16\"\n{text}")).starts_with("m.toml:1: disk: got hd-500-16, expected"));
        assert!(error(&text.replace("members = 4", "")).contains("members: got nothing"));
    }
}
