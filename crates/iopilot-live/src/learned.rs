//! [`LearnedDisk`]: a table-based disk that learns from the requests of a live disk (GF 3.2.1, "Dynamic behavior").

mod service;

use crate::{BlockQueue, DiskIdentity, LiveError};
use iopilot_block::{InputError, Op, Sectors};
use iopilot_device::{
    AnyDevice, DeviceSpec, DiskSpec, SimulatedCacheModel, TableDisk, TableForm, TableLookup, TableModel, TableShape,
    TableSpec, TimeTables,
};
use iopilot_trace::{Destination, TraceRecord};
use service::{Served, ServiceOrder};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Samples that a cell keeps: the number that was most accurate (GF 3.5.1).
const SAMPLES: u32 = 64;
/// The least samples, and the least cells with samples, of a usable model.
const ENOUGH: (u64, usize) = (256, 16);

/// A model learned from a live disk. It is kept in a file of its own, which `--disk` accepts.
///
/// It learns from requests that had the disk for themselves: issued when none was at the device, and completed before the
/// next was issued. The times of overlapping requests cannot be separated. It has two tables (GF 3.2.1); the effect of the
/// disk's cache is in their times.
#[derive(Clone, Debug)]
pub struct LearnedDisk {
    identity: DiskIdentity,
    path: PathBuf,
    tables: TimeTables,
    order: ServiceOrder,
    /// The samples of this run, and one for each cell that was read from the file.
    samples: u64,
}

impl LearnedDisk {
    /// The model of the disk of `queue`, from the file at `path`; an empty one if there is no such file. The usual path is
    /// [`DiskIdentity::state_file`].
    ///
    /// # Errors
    /// Where the file cannot be read, is damaged, or of another disk; or the disk is gone, or larger than tables can be.
    pub fn open(queue: &BlockQueue, path: &Path) -> Result<Self, LiveError> {
        Self::of(DiskIdentity::of(queue)?, path)
    }

    fn of(identity: DiskIdentity, path: &Path) -> Result<Self, LiveError> {
        if identity.sectors == 0 || identity.sectors > TableShape::LARGEST {
            let expected = format!("a disk of 1 to {} sectors", TableShape::LARGEST);
            return Err(InputError::new("disk", format!("{} sectors", identity.sectors), expected).into());
        }
        let tables = match fs::read_to_string(path) {
            Ok(text) => read(&text, &identity, path)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => TimeTables::new(TableForm::Two, identity.sectors, SAMPLES),
            Err(e) => return Err(LiveError::io(path, e)),
        };
        let samples = tables.named().map(|(_, table)| table.coverage().samples).sum();
        Ok(Self { identity, path: path.to_owned(), tables, order: ServiceOrder::default(), samples })
    }

    /// Learns from a completed request of a capture; they come in order of arrival. O(log n) in those that are not yet
    /// known to be next at the disk.
    pub fn observe(&mut self, record: &TraceRecord) {
        self.order.take(record);
        while let Some((served, previous_end)) = self.order.next_alone() {
            let Served { op: Op::Read | Op::Write, lba, sectors, issue, completion } = served else { continue };
            let lookup = TableLookup::new(served.op, lba, Sectors(sectors), previous_end);
            // A frozen clock measures nothing.
            if completion > issue {
                self.tables.observe(&lookup, completion - issue);
                self.samples += 1;
            }
        }
    }

    /// Notes that some requests were not captured, so the position of the disk before the next one is unknown.
    pub fn captures_missed(&mut self) {
        self.order = ServiceOrder::default();
    }

    /// Requests learned from; each cell that was read from the file counts once.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The model; `None` until it has 256 samples in 16 cells.
    pub fn device(&self) -> Option<AnyDevice> {
        self.lacks().is_none().then(|| TableDisk::new(self.model()).into())
    }

    /// What the model still lacks for a [device](Self::device), as a sentence for the user; `None` if it lacks nothing.
    pub fn lacks(&self) -> Option<String> {
        let filled: usize = self.tables.named().map(|(_, table)| table.coverage().filled).sum();
        let (samples, cells) = ENOUGH;
        (self.samples < samples || filled < cells).then(|| {
            format!(
                "the model has learned from {} requests that had the disk for themselves, in {filled} cells of its tables, \
                 and needs {samples} in {cells}; where the disk is never without others, `iopilot disk train` or `disk \
                 probe` makes a model for --disk",
                self.samples
            )
        })
    }

    /// Writes the file atomically, and creates its directory if needed. Writes nothing as long as nothing was learned. Of each
    /// cell only the mean is kept (GF 3.2.5).
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&self) -> Result<(), LiveError> {
        if self.samples == 0 {
            return Ok(());
        }
        let table = TableSpec::new(&self.model(), self.identity.rotational, SAMPLES);
        let spec = DiskSpec {
            name: self.identity.file_name(),
            model: self.identity.model.clone(),
            sources: vec![format!("learnt on line from {}", self.identity.id)],
            device: DeviceSpec::Table(Box::new(table)),
            provenance: BTreeMap::new(),
        };
        let written = || -> io::Result<()> {
            if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                fs::create_dir_all(folder)?;
            }
            let (destination, mut file) = Destination::create(&self.path)?;
            file.write_all(spec.to_toml().as_bytes())?;
            destination.commit(&file)
        };
        written().map_err(|e| LiveError::io(&self.path, e))
    }

    fn model(&self) -> TableModel {
        TableModel { tables: self.tables.clone(), cache: SimulatedCacheModel::NONE, queue_depth: 1 }
    }
}

/// The tables in a saved file.
fn read(text: &str, identity: &DiskIdentity, path: &Path) -> Result<TimeTables, LiveError> {
    let name = path.display().to_string();
    let wrong = |field: &str, got: String, expected: String| InputError::new(field, got, expected).in_file(&name);
    let spec = DiskSpec::from_toml(text, &name).map_err(|e| LiveError::State(e.to_string()))?;
    let expected = identity.file_name();
    if spec.name != expected {
        return Err(wrong("name", spec.name, format!("{expected}, which is the disk at hand")).into());
    }
    let DeviceSpec::Table(table) = &spec.device else {
        return Err(wrong("type", "another kind of disk".to_owned(), "table".to_owned()).into());
    };
    let model = table.model().map_err(|e| e.in_file(&name))?;
    if model.tables.form() != TableForm::Two || model.tables.shape().capacity() != identity.sectors {
        let got = format!("{} sectors", model.tables.shape().capacity());
        return Err(wrong("table", got, format!("two tables of {} sectors", identity.sectors)).into());
    }
    Ok(model.tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, RequestId};
    use iopilot_device::{Device, DeviceRequest};

    fn identity() -> DiskIdentity {
        DiskIdentity { id: "naa.1".to_owned(), model: "Disk".to_owned(), sectors: 1 << 24, rotational: true }
    }

    /// One process, one request at a time, each of which takes 200 µs.
    fn teach(disk: &mut LearnedDisk, count: u64) {
        for n in 0..count {
            let at = Nanos::from_millis(20 * n);
            let op = if n % 5 == 0 { Op::Write } else { Op::Read };
            let mut r = TraceRecord::new(at, op, Lba(n * n * 4096 % (1 << 20)), Sectors(8 << (n % 4)));
            r.issue = Some(at + Nanos(5000));
            r.completion = Some(at + Nanos(5000) + Nanos::from_micros(200));
            disk.observe(&r);
        }
    }

    #[test]
    fn what_was_learnt_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/naa.1.toml");
        let mut disk = LearnedDisk::of(identity(), &path).unwrap();
        disk.save().unwrap();
        assert!(!path.exists(), "nothing is known yet");
        teach(&mut disk, 10);
        assert!(disk.device().is_none(), "too little");
        let lacks = disk.lacks().unwrap();
        assert!(lacks.contains(&format!("from {} requests", disk.samples())) && lacks.contains("256 in 16"), "{lacks}");
        teach(&mut disk, 1000);
        assert_eq!(disk.lacks(), None);
        disk.save().unwrap();
        let again = LearnedDisk::of(identity(), &path).unwrap();
        let mut device = disk.device().unwrap();
        let id = RequestId::from_index(0);
        let flags = iopilot_block::Flags::empty();
        device.submit(DeviceRequest { id, op: Op::Read, lba: Lba(4096), sectors: Sectors(8), flags }, Nanos(0));
        assert_eq!(device.next_event(), Some(Nanos::from_micros(200)));
        assert!(again.samples() > 0);
        // Any command takes it.
        let spec = DiskSpec::from_toml(&fs::read_to_string(&path).unwrap(), "t").unwrap();
        assert_eq!((spec.name.as_str(), spec.capacity().unwrap()), ("naa.1-16777216", 1 << 24));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn the_file_of_another_disk_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let mut disk = LearnedDisk::of(identity(), &path).unwrap();
        teach(&mut disk, 300);
        disk.save().unwrap();
        let other = DiskIdentity { id: "naa.2".to_owned(), ..identity() };
        let error = LearnedDisk::of(other, &path).unwrap_err();
        assert!(
            error.is_bad_input() && error.to_string().contains("name: got naa.1-16777216, expected naa.2"),
            "{error}"
        );
        fs::write(&path, "damaged").unwrap();
        let error = LearnedDisk::of(identity(), &path).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("x.toml"), "{error}");
    }
}
