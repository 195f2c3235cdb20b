//! The catalogue as the table in `docs/reference/disks.md`.

use super::Catalogue;
use crate::{AnyDevice, DeviceError, DeviceSpec, DiskSpec};
use iopilot_block::{Lba, Nanos, Op, SECTOR_BYTES, Sectors};
use iopilot_device::{Device, Synchronous, TimedDevice};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::convert::Infallible;

const HEADER: &str = "| name | model | GB | rpm | heads × cylinders | average seek, ms | cache KiB / segments | queue | random read, ms | stream, MB/s |
|---|---|---|---|---|---|---|---|---|---|
";

/// Random reads that are averaged.
const RANDOM_READS: u32 = 2000;
/// Their size: 4 KiB.
const RANDOM_SECTORS: u32 = 8;
/// Sequential reads that are timed. [`FIRST_READS`] precede them and start the read-ahead.
const STREAM_READS: u32 = 400;
const FIRST_READS: u32 = 4;
/// Their size: 128 KiB.
const STREAM_SECTORS: u32 = 256;

impl Catalogue {
    /// The table of all drives in Markdown. The last two columns are simulated, one request at a time: the mean time of
    /// random 4-KiB reads, and the rate of sequential 128-KiB reads from the first block.
    ///
    /// # Errors
    /// Where a description of the catalogue is invalid.
    pub fn markdown() -> Result<String, DeviceError> {
        let mut table = HEADER.to_owned();
        for name in Self::names() {
            table.push_str(&row(name, &Self::get(name)?)?);
        }
        Ok(table)
    }
}

fn row(name: &str, spec: &DiskSpec) -> Result<String, DeviceError> {
    let device = spec.build()?;
    let described = described(&spec.device, &device);
    let gb = (device.capacity() * SECTOR_BYTES) as f64 / 1e9;
    let mut disk = Synchronous::new(device);
    let Ok(random) = random_read_ms(&mut disk);
    let Ok(()) = disk.restart();
    let Ok(stream) = stream_mb_s(&mut disk);
    Ok(format!("| `{name}` | {} | {gb:.1} | {described} | {random:.2} | {stream:.1} |\n", spec.model))
}

/// The columns that come from the description: rpm, heads × cylinders, average seek, cache and queue.
fn described(spec: &DeviceSpec, device: &AnyDevice) -> String {
    let seek = |average_ms: Option<f64>| average_ms.map_or("table".to_owned(), |ms| format!("{ms}"));
    match spec {
        DeviceSpec::Mechanical(m) => {
            let heads = match device {
                AnyDevice::Mechanical(disk) => {
                    let geometry = &disk.model().mechanics.geometry;
                    format!("{} × {}", geometry.heads(), geometry.cylinders())
                }
                _ => "–".to_owned(),
            };
            let (rpm, seek) = (m.mechanics.rotation_rpm, seek(m.mechanics.seek.average_ms));
            let cache = format!("{} / {}", m.cache.size_kib, m.cache.segments);
            format!("{rpm} | {heads} | {seek} | {cache} | {}", m.interface.queue_depth)
        }
        DeviceSpec::Hybrid(h) => {
            let disk = &h.disk;
            let (rpm, seek) = (disk.mechanics.rotation_rpm, seek(disk.mechanics.seek.average_ms));
            let cache = format!("{} / {}", disk.cache.size_kib, disk.cache.segments);
            format!("{rpm} | {} × – | {seek} | {cache} | {}", disk.geometry.heads, disk.interface.queue_depth)
        }
        DeviceSpec::Ssd(s) => format!("– | – | – | {} / – | {}", s.buffer.size_kib, s.host.queue_depth),
        DeviceSpec::Flash(f) => format!("– | – | – | – | {}", f.queue_depth),
        DeviceSpec::Table(t) => format!("– | – | – | – | {}", t.queue_depth),
        DeviceSpec::Drive(d) => {
            let heads = match device {
                AnyDevice::Drive(drive) => {
                    let geometry = &drive.drive().model().mechanics.geometry;
                    format!("{} × {}", geometry.heads(), geometry.cylinders())
                }
                _ => "–".to_owned(),
            };
            let kib = u64::from(d.buffer.segments) * u64::from(d.buffer.segment_sectors) / 2;
            let cache = format!("{kib} / {}", d.buffer.segments);
            format!("{} | {heads} | table | {cache} | {}", d.mechanics.rotation_rpm, d.queue_depth)
        }
    }
}

fn random_read_ms(disk: &mut Synchronous<AnyDevice>) -> Result<f64, Infallible> {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let places = (disk.capacity() - u64::from(RANDOM_SECTORS)) / u64::from(RANDOM_SECTORS);
    let mut sum = 0.0;
    for _ in 0..RANDOM_READS {
        let lba = Lba(rng.random_range(0..places) * u64::from(RANDOM_SECTORS));
        sum += disk.serve(Op::Read, lba, Sectors(RANDOM_SECTORS))?.as_millis_f64();
    }
    Ok(sum / f64::from(RANDOM_READS))
}

fn stream_mb_s(disk: &mut Synchronous<AnyDevice>) -> Result<f64, Infallible> {
    let mut time = Nanos::ZERO;
    for i in 0..FIRST_READS + STREAM_READS {
        let took = disk.serve(Op::Read, Lba(u64::from(i * STREAM_SECTORS)), Sectors(STREAM_SECTORS))?;
        if i >= FIRST_READS {
            time += took;
        }
    }
    let bytes = u64::from(STREAM_READS) * u64::from(STREAM_SECTORS) * SECTOR_BYTES;
    Ok(bytes as f64 / 1e6 / time.as_secs_f64())
}
