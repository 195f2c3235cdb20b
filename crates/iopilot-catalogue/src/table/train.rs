//! [`Training`]: fills tables offline (GF 3.2.5, 4.3.5).

use super::shape::{ROWS, TableShape};
use super::tables::{Lookup, TableForm, TimeTables};
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_device::TimedDevice;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors in a block of 4 kB.
const BLOCK: u64 = 8;
/// Strides that benefit from a disk's cache: contiguous, and gaps of 4 kB to 128 kB, in blocks.
const STRIDES: [u64; 7] = [0, 1, 2, 4, 8, 16, 32];
/// Sequential readers that alternate, so that hits lie in different segments.
const STREAMS: usize = 4;
/// Groups of such readers for each size, each group at other places.
const GROUPS: usize = 4;

/// Reads of 4 kB, and as many of [`LARGER`], that are compared. Seek and rotation average out to some hundredths of a
/// millisecond.
const RANDOM_READS: u64 = 10_000;
/// 64 kB: fits the segments of small caches, so that no drive has to interrupt a read for lack of space.
const LARGER: u64 = 16 * BLOCK;

/// How to train: one process issues one request at a time, at random and uniformly over all cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// The tables to fill.
    pub form: TableForm,
    /// Samples for each cell.
    pub samples: u32,
    /// Seed of the random choices.
    pub seed: u64,
}

/// The result of a training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The tables, with the mean of each cell's samples.
    pub tables: TimeTables,
    /// Requests that were issued.
    pub requests: u64,
    /// Their total time.
    pub time: Nanos,
}

impl Training {
    /// The approximate number of requests that [`Training::run`] issues on a device of `capacity` sectors.
    pub fn requests(&self, capacity: u64) -> u64 {
        let cells = (TableShape::new(capacity).columns() * ROWS) as u64;
        self.read_requests(capacity) + cells * u64::from(self.samples)
    }

    /// The approximate number of requests that [`Training::run_reads`] issues.
    pub fn read_requests(&self, capacity: u64) -> u64 {
        let cells = (TableShape::new(capacity).columns() * ROWS) as u64;
        let hits = match self.form {
            TableForm::Two => 0,
            TableForm::Three(_) => (ROWS * (STRIDES.len() + GROUPS)) as u64,
        };
        (cells + hits) * u64::from(self.samples)
    }

    /// Trains on `device`; its content is overwritten. Calls `tell` for each request.
    ///
    /// # Errors
    /// Those of the device.
    pub fn run<D: TimedDevice>(&self, device: &mut D, tell: impl FnMut()) -> Result<Trained, D::Error> {
        self.run_ops(device, true, tell)
    }

    /// Trains with reads only. The table of writes stays empty, and a write then takes as long as a read.
    ///
    /// # Errors
    /// Those of the device.
    pub fn run_reads<D: TimedDevice>(&self, device: &mut D, tell: impl FnMut()) -> Result<Trained, D::Error> {
        self.run_ops(device, false, tell)
    }

    fn run_ops<D: TimedDevice>(&self, device: &mut D, writes: bool, tell: impl FnMut()) -> Result<Trained, D::Error> {
        let capacity = device.capacity();
        let mut run = Run {
            device,
            samples: self.samples,
            random: Pcg64Mcg::seed_from_u64(self.seed),
            capacity,
            previous: None,
            trained: Trained { tables: TimeTables::averaging(self.form, capacity), requests: 0, time: Nanos::ZERO },
            tell,
        };
        run.all_cells(Op::Read)?;
        if matches!(self.form, TableForm::Three(_)) {
            run.cache_hits()?;
        }
        if writes {
            run.all_cells(Op::Write)?;
        }
        Ok(run.trained)
    }
}

/// The average time that each sector beyond the first 4 kB adds to a random read, for [`HitLimit::per_sector`]. This is
/// the rate of the medium; the cache does not affect it.
///
/// # Errors
/// Those of the device.
///
/// [`HitLimit::per_sector`]: crate::HitLimit::per_sector
pub(super) fn further_sector_time<D: TimedDevice>(device: &mut D, seed: u64) -> Result<Nanos, D::Error> {
    let sizes = [BLOCK, LARGER];
    let Some(last) = device.capacity().checked_sub(sizes[1]) else { return Ok(Nanos::ZERO) };
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut sums = [Nanos::ZERO; 2];
    for _ in 0..RANDOM_READS {
        for (size, sum) in sizes.into_iter().zip(&mut sums) {
            let lba = random.random_range(0..=last / BLOCK) * BLOCK;
            *sum += device.serve(Op::Read, Lba(lba), Sectors(size as u32))?;
        }
    }
    Ok(Nanos(sums[1].saturating_sub(sums[0]).0 / (RANDOM_READS * (sizes[1] - sizes[0]))))
}

/// A training in progress.
struct Run<'a, D, T> {
    device: &'a mut D,
    samples: u32,
    random: Pcg64Mcg,
    capacity: u64,
    /// The first sector of the previous request, and the one behind its last.
    previous: Option<(u64, u64)>,
    trained: Trained,
    tell: T,
}

impl<D: TimedDevice, T: FnMut()> Run<'_, D, T> {
    /// Each round visits every cell once, in random order.
    fn all_cells(&mut self, op: Op) -> Result<(), D::Error> {
        let shape = self.trained.tables.shape();
        let mut cells: Vec<u32> = (0..(shape.columns() * ROWS) as u32).collect();
        for _ in 0..self.samples {
            cells.shuffle(&mut self.random);
            for &cell in &cells {
                let (row, column) = (cell as usize % ROWS, cell as usize / ROWS);
                let size = shape.size(row);
                let Some(distance) = self.distance(shape, column, u64::from(size)) else { continue };
                let lba = match self.place(distance, u64::from(size)) {
                    Some(lba) => lba,
                    None => match self.starting_point(distance, u64::from(size)) {
                        Some((from, lba)) => {
                            self.serve(op, from, BLOCK as u32)?;
                            lba
                        }
                        None => continue,
                    },
                };
                self.measure(op, lba, size)?;
            }
        }
        Ok(())
    }

    /// Patterns that benefit from the disk's cache (GF 4.3.5): sequential, with small strides, and several at a time.
    fn cache_hits(&mut self) -> Result<(), D::Error> {
        let shape = self.trained.tables.shape();
        for row in 0..ROWS {
            let size = shape.size(row);
            for stride in STRIDES {
                self.streams(1, size, stride * BLOCK, self.samples)?;
            }
            for _ in 0..GROUPS {
                self.streams(STREAMS, size, 0, self.samples / STREAMS as u32)?;
            }
        }
        Ok(())
    }

    /// `count` readers at random places that alternate. Each makes `reads` reads of `size` sectors and skips `gap`
    /// after each.
    fn streams(&mut self, count: usize, size: u32, gap: u64, reads: u32) -> Result<(), D::Error> {
        let step = u64::from(size) + gap;
        let Some(last) = self.capacity.checked_sub(step * u64::from(reads)) else { return Ok(()) };
        let mut places = [0; STREAMS];
        for place in &mut places[..count] {
            *place = self.random.random_range(0..=last / BLOCK) * BLOCK;
        }
        for _ in 0..reads {
            for place in &mut places[..count] {
                self.measure(Op::Read, *place, size)?;
                *place += step;
            }
        }
        Ok(())
    }

    /// A random distance of `column` that a request of `size` can have on this disk.
    fn distance(&mut self, shape: TableShape, column: usize, size: u64) -> Option<u64> {
        let most = self.capacity.checked_sub(size + BLOCK)? / BLOCK;
        let blocks = shape.blocks(column);
        let end = most.min(*blocks.end());
        (*blocks.start() <= end).then(|| self.random.random_range(*blocks.start()..=end) * BLOCK)
    }

    /// The start of a request of `size` at `distance` from the previous one: behind it, or before it if it does not
    /// overlap the blocks just accessed.
    fn place(&mut self, distance: u64, size: u64) -> Option<u64> {
        let (start, end) = self.previous?;
        let behind = Some(end + distance).filter(|lba| lba + size <= self.capacity);
        let before = end.checked_sub(distance).filter(|lba| lba + size <= start);
        match (behind, before) {
            (Some(behind), Some(before)) => Some(if self.random.random() { behind } else { before }),
            (one, other) => one.or(other),
        }
    }

    /// The place of a preparatory access of one block, and the start of the request itself.
    fn starting_point(&mut self, distance: u64, size: u64) -> Option<(u64, u64)> {
        let places = self.capacity.checked_sub(BLOCK + distance + size)? / BLOCK;
        let first = self.random.random_range(0..=places) * BLOCK;
        let forward = distance < size + BLOCK || self.random.random();
        Some(match forward {
            true => (first, first + BLOCK + distance),
            // The distance counts from the end of the block.
            false => (first + distance - BLOCK, first),
        })
    }

    /// A request whose time is not a sample.
    fn serve(&mut self, op: Op, lba: u64, sectors: u32) -> Result<Nanos, D::Error> {
        let time = self.device.serve(op, Lba(lba), Sectors(sectors))?;
        self.previous = Some((lba, lba + u64::from(sectors)));
        self.trained.requests += 1;
        self.trained.time += time;
        (self.tell)();
        Ok(time)
    }

    /// A request whose time is a sample, unless its cell is full.
    fn measure(&mut self, op: Op, lba: u64, sectors: u32) -> Result<(), D::Error> {
        let previous = self.previous;
        let time = self.serve(op, lba, sectors)?;
        if let Some((_, end)) = previous {
            let lookup = Lookup::new(op, Lba(lba), Sectors(sectors), Lba(end));
            let tables = &mut self.trained.tables;
            if tables.samples(&lookup, time) < self.samples {
                tables.observe(&lookup, time);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, HitLimit};
    use iopilot_device::{ConstantDevice, Synchronous};

    const LIMIT: HitLimit = HitLimit { base: Nanos::from_millis(1), per_sector: Nanos(10_000) };

    fn train(device: impl iopilot_device::Device + Clone, form: TableForm, samples: u32) -> Trained {
        Training { form, samples, seed: 1 }.run(&mut Synchronous::new(device), || {}).unwrap()
    }

    #[test]
    fn every_cell_gets_its_samples_and_holds_the_device_s_time() {
        let device = ConstantDevice::simple(20 << 21, 1, Nanos(1000), 2.0);
        let trained = train(device, TableForm::Two, 3);
        let shape = trained.tables.shape();
        for table in [trained.tables.reads(), trained.tables.writes()] {
            let coverage = table.coverage();
            // The largest requests do not fit into the last column, which ends with the disk.
            assert!(coverage.filled >= coverage.cells - ROWS, "{coverage:?}");
            for column in 0..shape.columns() - 1 {
                for row in 0..ROWS {
                    assert_eq!(table.cell(row, column), Some(Nanos(1000 + u64::from(shape.size(row)) * 1024)));
                    assert_eq!(table.count(row, column), 3);
                }
            }
        }
    }

    #[test]
    fn training_is_deterministic_and_its_length_is_known() {
        let device = Catalogue::get("hp-c2247").unwrap().build().unwrap();
        let form = TableForm::Three(LIMIT);
        let (one, two) = (train(device.clone(), form, 2), train(device.clone(), form, 2));
        assert_eq!((one.requests, one.time), (two.requests, two.time));
        let expected =
            Training { form, samples: 2, seed: 1 }.requests(iopilot_device::Device::capacity(&device)) as f64;
        assert!((one.requests as f64 - expected).abs() < 0.1 * expected, "{} {expected}", one.requests);
    }

    #[test]
    fn training_by_reads_writes_nothing_and_serves_lookups_of_writes() {
        struct ReadOnly(Synchronous<ConstantDevice>);
        impl TimedDevice for ReadOnly {
            type Error = std::convert::Infallible;
            fn capacity(&self) -> u64 {
                self.0.capacity()
            }
            fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Self::Error> {
                assert_eq!(op, Op::Read);
                self.0.serve(op, lba, sectors)
            }
            fn restart(&mut self) -> Result<(), Self::Error> {
                self.0.restart()
            }
            fn pause(&mut self, time: Nanos) -> Result<(), Self::Error> {
                self.0.pause(time)
            }
            fn now(&self) -> Nanos {
                self.0.now()
            }
        }
        let training = Training { form: TableForm::Two, samples: 2, seed: 1 };
        let mut disk = ReadOnly(Synchronous::new(ConstantDevice::simple(4 << 21, 1, Nanos(1000), 2.0)));
        let mut calls = 0;
        let trained = training.run_reads(&mut disk, || calls += 1).unwrap();
        assert_eq!((trained.tables.writes().coverage().filled, trained.requests), (0, calls));
        let write = Lookup::new(Op::Write, Lba(0), Sectors(8), Lba(0));
        assert_eq!(trained.tables.time(&write), Some(Nanos(1000 + 8 * 1024)));
        assert!(training.read_requests(4 << 21).abs_diff(calls) < calls / 10);
    }

    #[test]
    fn hits_and_misses_go_to_their_tables() {
        let device = Catalogue::get("hd-320-16").unwrap().build().unwrap();
        let trained = train(device, TableForm::Three(LIMIT), 4);
        let is_hit = |row: usize, time| LIMIT.is_hit(trained.tables.shape().size(row), time);
        let hits = trained.tables.hits().unwrap();
        for column in 0..hits.shape().columns() {
            for row in 0..ROWS {
                assert!(hits.cell(row, column).is_none_or(|time| is_hit(row, time)));
                assert!(trained.tables.reads().cell(row, column).is_none_or(|time| !is_hit(row, time)));
            }
        }
        assert!((0..ROWS).all(|row| hits.cell(row, 0).is_some()), "sequential reads hit");
    }

    #[test]
    fn a_further_sector_takes_the_time_of_the_medium() {
        let mut constant = Synchronous::new(ConstantDevice::simple(1 << 24, 1, Nanos(256), 2.0));
        assert_eq!(further_sector_time(&mut constant, 1).unwrap(), Nanos(1024));
        // 78 MB/s in the outer zone, about half in the inner one.
        let mut disk = Synchronous::new(Catalogue::get("st3400620as").unwrap().build().unwrap());
        let time = further_sector_time(&mut disk, 1).unwrap().0;
        assert!((5500..10_000).contains(&time), "{time}");
        let mut tiny = Synchronous::new(ConstantDevice::simple(64, 1, Nanos(256), 2.0));
        assert_eq!(further_sector_time(&mut tiny, 1).unwrap(), Nanos::ZERO);
    }

    #[test]
    fn a_failing_device_ends_the_training() {
        struct Broken(u32);
        impl TimedDevice for Broken {
            type Error = std::io::Error;
            fn capacity(&self) -> u64 {
                1 << 24
            }
            fn serve(&mut self, _: Op, _: Lba, _: Sectors) -> std::io::Result<Nanos> {
                self.0 = self.0.checked_sub(1).ok_or_else(|| std::io::Error::other("head crash"))?;
                Ok(Nanos(1))
            }
            fn restart(&mut self) -> std::io::Result<()> {
                Ok(())
            }
            fn pause(&mut self, _: Nanos) -> std::io::Result<()> {
                Ok(())
            }
            fn now(&self) -> Nanos {
                Nanos::ZERO
            }
        }
        let training = Training { form: TableForm::Two, samples: 1, seed: 1 };
        let mut served = 0;
        let error = training.run(&mut Broken(100), || served += 1).unwrap_err();
        assert_eq!((served, error.to_string().as_str()), (100, "head crash"));
    }

    #[test]
    fn a_disk_smaller_than_a_request_is_not_trained() {
        let trained = train(ConstantDevice::simple(16, 1, Nanos(1000), 2.0), TableForm::Two, 2);
        assert!(trained.tables.reads().coverage().filled <= 4);
    }
}
