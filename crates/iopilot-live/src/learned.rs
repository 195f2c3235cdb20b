//! [`LearnedDisk`]: a table-based disk that learns from the requests of a live disk (GF 4.3.1, "Dynamic behavior").

mod cache_fit;
mod file;
mod service;

use crate::{BlockQueue, DiskIdentity, LiveError};
use cache_fit::CacheFit;
use iopilot_block::{InputError, Nanos, Op, Sectors};
use iopilot_catalogue::{AnyDevice, HitLimit, TableDisk, TableForm, TableLookup, TableModel, TableShape, TimeTables};
use iopilot_trace::TraceRecord;
pub(crate) use service::most_at_disk;
use service::{ServedRequest, ServiceOrder};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Samples that a cell keeps: the number that was most accurate (GF 3.5.1).
const SAMPLES: u32 = 64;
/// The least samples, and the least cells with samples, of a usable model.
const ENOUGH: (u64, usize) = (256, 4);
/// A read of 4 kB that takes longer misses the disk's cache (GF 4.3.1); and what each further sector may take, at 100
/// MB/s.
const HIT: HitLimit = HitLimit { base: Nanos::from_millis(1), per_sector: Nanos(5_120) };
/// On a disk that does not rotate, every read misses (GF 4.3.1).
const NEVER_HIT: HitLimit = HitLimit { base: Nanos::ZERO, per_sector: Nanos::ZERO };

/// A model learned from a live disk, busy or not.
///
/// The disk serves one request at a time, in the order in which it completes them. A request's time is counted from
/// when it was issued, or from when the one before it was complete. It has three tables (GF 4.3.1); a simulated cache,
/// which is chosen by how well it predicts hits, selects one of two for a read. It is kept in a file of its own, which
/// `--disk` accepts.
#[derive(Clone, Debug)]
pub struct LearnedDisk {
    identity: DiskIdentity,
    /// `None` for a given model, which learns on, but is not changed on disk.
    path: Option<PathBuf>,
    tables: TimeTables,
    cache: CacheFit,
    order: ServiceOrder,
    /// The most requests that were seen at the disk at once.
    depth: u32,
    /// The samples of this run, and those that were read from the file.
    samples: u64,
    /// Whether something was learned since the file was written.
    changed: bool,
}

impl LearnedDisk {
    /// The model of the disk of `queue`, from the file at `path`; an empty one if there is no such file. The usual path
    /// is [`DiskIdentity::state_file`].
    ///
    /// # Errors
    /// Where the file cannot be read, is damaged, or of another disk; or the disk is gone, or larger than tables can
    /// be.
    pub fn open(queue: &BlockQueue, path: &Path) -> Result<Self, LiveError> {
        Self::of(DiskIdentity::of(queue)?, path)
    }

    /// A given model of the disk of `queue`, which goes on learning. It is not saved.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub(crate) fn given(queue: &BlockQueue, disk: &TableDisk) -> Result<Self, LiveError> {
        Ok(Self::with(DiskIdentity::of(queue)?, None, Some(disk.model())))
    }

    fn of(identity: DiskIdentity, path: &Path) -> Result<Self, LiveError> {
        if identity.sectors == 0 || identity.sectors > TableShape::LARGEST {
            let expected = format!("a disk of 1 to {} sectors", TableShape::LARGEST);
            return Err(InputError::new("disk", format!("{} sectors", identity.sectors), expected).into());
        }
        let known = match fs::read_to_string(path) {
            Ok(text) => Some(file::read(&text, &identity, path)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(LiveError::io(path, e)),
        };
        Ok(Self::with(identity, Some(path.to_owned()), known))
    }

    fn with(identity: DiskIdentity, path: Option<PathBuf>, known: Option<TableModel>) -> Self {
        let limit = if identity.rotational { HIT } else { NEVER_HIT };
        let (rotational, capacity) = (identity.rotational, identity.sectors);
        let cache = CacheFit::new(rotational, known.as_ref().map(|model| model.cache));
        let depth = known.as_ref().map_or(1, |model| model.queue_depth);
        let new = || TimeTables::new(TableForm::Three(limit), capacity, SAMPLES);
        let tables = known.map_or_else(new, |model| model.tables);
        let samples = tables.named().map(|(_, table)| table.coverage().samples).sum();
        Self { identity, path, tables, cache, order: ServiceOrder::default(), depth, samples, changed: false }
    }

    /// Learns from a completed request of a capture; they come about in order of completion. O(log n) in those that
    /// completed in the last 50 ms.
    pub fn observe(&mut self, record: &TraceRecord) {
        let Self { order, tables, cache, samples, changed, .. } = self;
        order.take(record, |served| *changed |= learn(tables, cache, samples, served));
    }

    /// Learns from the requests that were still held back, as others could have completed before them.
    pub fn settle(&mut self) {
        let Self { order, tables, cache, samples, changed, .. } = self;
        order.rest(|served| *changed |= learn(tables, cache, samples, served));
    }

    /// Notes how many of `records`, a window, were at the disk at once.
    pub(crate) fn observe_depth(&mut self, records: &[TraceRecord]) {
        self.depth = self.depth.max(most_at_disk(records));
    }

    /// Notes that some requests were not captured, so the position of the disk before the next one is unknown.
    pub(crate) fn captures_missed(&mut self) {
        self.settle();
        self.order = ServiceOrder::default();
    }

    /// Requests learned from.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The model; `None` until it has 256 samples in 4 cells.
    pub fn device(&mut self) -> Option<AnyDevice> {
        self.why_incomplete().is_none().then(|| TableDisk::new(self.model()).into())
    }

    /// Why there is no [device](Self::device) yet, as a sentence for the user; `None` if there is one. A given model is
    /// always complete.
    pub(crate) fn why_incomplete(&self) -> Option<String> {
        let filled: usize = self.tables.named().map(|(_, table)| table.coverage().filled).sum();
        let (samples, cells) = ENOUGH;
        let is_incomplete = self.path.is_some() && (self.samples < samples || filled < cells);
        is_incomplete.then(|| {
            format!(
                "the model has learned from {} requests, in {filled} cells of its tables, and needs {samples} in {cells}; \
                 until then, a model for --disk comes from `iopilot disk train` or `disk probe`",
                self.samples
            )
        })
    }

    /// Writes the file atomically, and creates its directory if needed. Writes nothing where nothing was learned. Of
    /// each cell the mean is kept (GF 3.2.5), and the number of its samples, so that a restart weighs them as before.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&mut self) -> Result<(), LiveError> {
        self.settle();
        if let Some(path) = self.path.clone().filter(|_| self.changed) {
            let model = self.model();
            file::write(&path, &self.identity, &model)?;
            self.changed = false;
        }
        Ok(())
    }

    fn model(&mut self) -> TableModel {
        TableModel { tables: self.tables.clone(), cache: self.cache.best(), queue_depth: self.depth.max(1) }
    }
}

/// Learns from a request that the disk served. Returns whether it did.
fn learn(tables: &mut TimeTables, cache: &mut CacheFit, samples: &mut u64, served: &ServedRequest) -> bool {
    let ServedRequest { op: op @ (Op::Read | Op::Write), lba, sectors, start, completion, previous_end } = *served
    else {
        return false;
    };
    // A frozen clock measures nothing, and several requests may be reported at once.
    if completion <= start {
        return false;
    }
    let measured = completion - start;
    tables.observe(&TableLookup::new(op, lba, Sectors(sectors), previous_end), measured);
    let hit = match tables.form() {
        TableForm::Three(limit) => limit.is_hit(sectors, measured),
        TableForm::Two => false,
    };
    cache.take(served, hit);
    *samples += 1;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, RequestId};
    use iopilot_catalogue::DiskSpec;
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
        let why = disk.why_incomplete().unwrap();
        assert!(why.contains(&format!("from {} requests", disk.samples())) && why.contains("256 in 4"), "{why}");
        teach(&mut disk, 1000);
        assert_eq!(disk.why_incomplete(), None);
        disk.save().unwrap();
        let (mut again, samples) = (LearnedDisk::of(identity(), &path).unwrap(), disk.samples());
        let kept: u64 = disk.tables.named().map(|(_, table)| table.coverage().samples).sum();
        assert!(
            again.samples() == kept && kept <= samples && again.why_incomplete().is_none(),
            "a restart does not forget"
        );
        assert!(again.device().is_some());
        let mut device = disk.device().unwrap();
        let id = RequestId::from_index(0);
        let flags = iopilot_block::Flags::empty();
        device.submit(DeviceRequest { id, op: Op::Read, lba: Lba(4096), sectors: Sectors(8), flags }, Nanos(0));
        assert_eq!(device.next_event(), Some(Nanos::from_micros(200)));
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
