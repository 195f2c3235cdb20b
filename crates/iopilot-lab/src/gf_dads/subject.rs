//! The disks, and the autopilot's models of them.

use crate::Setup;
use iopilot_block::Nanos;
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, TableDisk, TableModel, Training, three_tables};
use iopilot_device::Synchronous;

/// A read of 4 kB that takes longer missed the disk's cache (GF 4.3.1).
const HIT_LIMIT: Nanos = Nanos::from_millis(1);
/// Samples that a cell is trained with, and keeps (GF 4.3.1).
const SAMPLES: u32 = 64;

/// A disk of GF 4.5.1.
pub(super) struct TrainedDisk {
    pub(super) name: String,
    pub(super) solid_state: bool,
    pub(super) device: AnyDevice,
    /// The autopilot's model of the disk at the start: three tables, trained off line.
    pub(super) tables: TableDisk,
}

impl TrainedDisk {
    /// The disk of the catalogue called `name`. Its tables are trained with reads only, because the benchmarks write
    /// nothing.
    pub(super) fn new(name: &str, setup: &Setup<'_>) -> anyhow::Result<Self> {
        let spec = Catalogue::get(name)?;
        let device = spec.build()?;
        let (cache_kib, solid_state) = match &spec.device {
            DeviceSpec::Mechanical(m) => (m.cache.size_kib, false),
            // All reads of an SSD count as misses (GF 4.3.1).
            _ => (0, true),
        };
        let mut timed = Synchronous::new(device.clone());
        let (form, _, cache) = three_tables(&mut timed, cache_kib, HIT_LIMIT, setup.seed)?;
        let training = Training { form, samples: if setup.quick { 2 } else { SAMPLES }, seed: setup.seed };
        let trained = training.run_reads(&mut timed, || setup.progress.add(1))?;
        let tables = trained.tables.averaged(SAMPLES);
        let tables = TableDisk::new(TableModel { tables, cache, queue_depth: 1 });
        Ok(Self { name: name.to_owned(), solid_state, device, tables })
    }
}
