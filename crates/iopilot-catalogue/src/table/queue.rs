//! The gain of a disk's own command queue, measured by reads that are in flight together.

use super::device::{TableDisk, TableModel};
use super::simulated_cache::SimulatedCacheModel;
use super::tables::TimeTables;
use iopilot_block::{Lba, Nanos, Sectors};
use iopilot_device::{Synchronous, TimedDevice};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors in a block of 4 kB.
const BLOCK: u64 = 8;
/// Reads issued together: several times the depth of any disk's queue.
const TOGETHER: usize = 256;
/// The number of such batches.
const BATCHES: usize = 4;
/// Reads that measure the time between two completions.
const READS: usize = 1000;
/// The share of reads that must overtake others before the disk is credited with it. Threads between the disk and the
/// caller may swap requests now and then.
const OFTEN: f64 = 0.01;
/// The shallowest queue whose time is within this share of the fastest one is taken as the disk's depth.
const AS_FAST: f64 = 0.03;

/// The queue depth found for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbedQueue {
    /// Requests among which the disk chooses. A FIFO disk cannot be told from one that takes one request at a time: 1.
    pub depth: u32,
}

/// Finds the depth of a disk's queue by the order in which it serves random reads that are issued together. At a
/// completion the disk chooses among the `depth - 1` requests it still has. The last of these to arrive overtakes
/// `depth - 2`. A queue of two has no choice, and counts as none.
///
/// # Errors
/// Those of the device.
pub(crate) fn probe_queue<D: TimedDevice>(device: &mut D, seed: u64) -> Result<ProbedQueue, D::Error> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut ended = Vec::new();
    let mut overtaken = Vec::new();
    for _ in 0..BATCHES {
        let Some(reads) = places(device, TOGETHER, &mut random) else { break };
        device.serve_together(&reads, Sectors(BLOCK as u32), TOGETHER, &mut ended)?;
        let mut order: Vec<usize> = (0..ended.len()).collect();
        order.sort_by_key(|&i| (ended[i], i));
        // The first reads are served while others are still on their way.
        overtaken.extend(order.iter().enumerate().map(|(served, &came)| came.saturating_sub(served)));
    }
    overtaken.sort_unstable_by(|a, b| b.cmp(a));
    let most = overtaken.get((OFTEN * overtaken.len() as f64) as usize).copied().unwrap_or(0);
    Ok(ProbedQueue { depth: if most > 0 { most as u32 + 2 } else { 1 } })
}

/// Factors for the times of random reads in `tables`, by the number of requests that `device` has to choose from, 1 to
/// its depth. Empty if it does not choose. A table knows the distance but not the angle of the platters. So the factors
/// are the gain of choosing by angle beyond that of choosing the nearest.
///
/// # Errors
/// Those of the device.
pub fn queue_factors<D: TimedDevice>(device: &mut D, tables: &TimeTables, seed: u64) -> Result<Vec<f64>, D::Error> {
    let found = probe_queue(device, seed)?.depth as usize;
    if found == 1 {
        return Ok(Vec::new());
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut measured = Vec::new();
    for in_flight in doubled_until(found) {
        let Some(reads) = places(device, READS, &mut random) else { return Ok(Vec::new()) };
        let time = each(device, &reads, in_flight)?;
        measured.push((in_flight, reads, time));
    }
    let best = measured.iter().map(|(.., time)| *time).fold(f64::INFINITY, f64::min);
    // Beyond the disk's depth reads overtake each other, too, if threads lie between the disk and the caller.
    let enough = measured.iter().position(|(.., time)| *time <= (1.0 + AS_FAST) * best).unwrap_or(0);
    measured.truncate(enough + 1);
    let depth = measured.last().map_or(1, |(in_flight, ..)| *in_flight);
    if depth == 1 {
        return Ok(Vec::new());
    }
    let model = TableModel { tables: tables.clone(), cache: SimulatedCacheModel::NONE, queue_depth: depth as u32 };
    let mut tabled = Synchronous::new(TableDisk::new(model).with_queue(vec![1.0; depth]));
    let mut known: Vec<(usize, f64)> = Vec::new();
    let mut alone = None;
    for (in_flight, reads, time) in measured {
        let looked_up = match each(&mut tabled, &reads, in_flight) {
            Ok(time) => time,
            Err(never) => match never {},
        };
        if looked_up > 0.0 {
            let ratio = time / looked_up;
            let alone = *alone.get_or_insert(ratio);
            // At a completion the next request is chosen among the others.
            known.push((in_flight.saturating_sub(1).max(1), ratio / alone));
        }
    }
    Ok((1..=depth).map(|choices| between(&known, choices)).collect())
}

/// 1, 2, 4 and so on, then `last`.
fn doubled_until(last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), move |&n| (n < last).then(|| (2 * n).min(last)))
}

/// The value for `choices`, interpolated between the two known neighbours; with one choice nothing is gained.
fn between(known: &[(usize, f64)], choices: usize) -> f64 {
    if choices == 1 {
        return 1.0;
    }
    let at = known.partition_point(|&(n, _)| n < choices);
    let value = match (known.get(at.wrapping_sub(1)), known.get(at)) {
        (Some(&(low, below)), Some(&(high, above))) => {
            below + (above - below) * (choices - low) as f64 / (high - low) as f64
        }
        (Some(&(_, only)), None) | (None, Some(&(_, only))) => only,
        (None, None) => 1.0,
    };
    // No order gains more than this; measured values scatter.
    value.clamp(0.05, 1.0)
}

/// The mean time between two completions of `reads`, ns.
fn each<D: TimedDevice>(device: &mut D, reads: &[Lba], in_flight: usize) -> Result<f64, D::Error> {
    let mut ended = Vec::new();
    device.serve_together(reads, Sectors(BLOCK as u32), in_flight, &mut ended)?;
    let last = ended.iter().copied().max().unwrap_or(Nanos::ZERO);
    Ok(last.0 as f64 / reads.len().max(1) as f64)
}

/// Random places; `None` on a disk too small for them.
fn places<D: TimedDevice>(device: &D, count: usize, random: &mut Pcg64Mcg) -> Option<Vec<Lba>> {
    let blocks = device.capacity() / BLOCK;
    (blocks > count as u64).then(|| (0..count).map(|_| Lba(random.random_range(0..blocks) * BLOCK)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyDevice, Catalogue, DeviceSpec, TableForm, Training};
    use iopilot_block::Op;

    fn disk(depth: u32) -> AnyDevice {
        let mut spec = Catalogue::get("st3400620as").unwrap();
        let DeviceSpec::Mechanical(m) = &mut spec.device else { panic!("a hard disk") };
        m.interface.queue_depth = depth;
        spec.provenance.clear();
        spec.build().unwrap()
    }

    #[test]
    fn the_depth_follows_from_what_overtakes() {
        for depth in [1, 4, 32] {
            let found = probe_queue(&mut Synchronous::new(disk(depth)), 7).unwrap();
            assert_eq!(found, ProbedQueue { depth });
        }
        let fifo = Catalogue::get("wd1200bb").unwrap().build().unwrap();
        assert_eq!(probe_queue(&mut Synchronous::new(fifo), 7).unwrap().depth, 1);
    }

    /// Threads between a disk and the caller swap requests.
    struct Shuffled(Synchronous<AnyDevice>);

    impl TimedDevice for Shuffled {
        type Error = std::convert::Infallible;

        fn capacity(&self) -> u64 {
            self.0.capacity()
        }

        fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Self::Error> {
            self.0.serve(op, lba, sectors)
        }

        fn serve_together(
            &mut self,
            reads: &[Lba],
            sectors: Sectors,
            in_flight: usize,
            ended: &mut Vec<Nanos>,
        ) -> Result<(), Self::Error> {
            let window = in_flight.min(100);
            let mut sent = reads.to_vec();
            sent.chunks_mut(window).for_each(|chunk| chunk.reverse());
            self.0.serve_together(&sent, sectors, in_flight, ended)?;
            ended.chunks_mut(window).for_each(|chunk| chunk.reverse());
            Ok(())
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

    #[test]
    fn a_queue_that_gains_nothing_from_more_in_flight_is_no_deeper() {
        let training = Training { form: TableForm::Two, samples: 4, seed: 1 };
        let tables = training.run_reads(&mut Synchronous::new(disk(4)), || {}).unwrap().tables.averaged(4);
        let mut shuffled = Shuffled(Synchronous::new(disk(4)));
        assert!(probe_queue(&mut shuffled, 7).unwrap().depth > 50, "by what overtakes alone");
        assert_eq!(queue_factors(&mut shuffled, &tables, 3).unwrap().len(), 4);
    }

    /// Without the queue model, its tables were 1.3 to 1.65 times too slow.
    #[test]
    fn a_trained_disk_is_as_fast_as_the_one_it_was_trained_on() {
        for depth in [1, 4, 32] {
            let mut real = Synchronous::new(disk(depth));
            let training = Training { form: TableForm::Two, samples: 4, seed: 1 };
            let tables = training.run_reads(&mut real, || {}).unwrap().tables.averaged(4);
            let factors = queue_factors(&mut real, &tables, 3).unwrap();
            let model = TableModel { tables, cache: SimulatedCacheModel::NONE, queue_depth: depth };
            let mut tabled = Synchronous::new(TableDisk::new(model).with_queue(factors));
            let mut random = Pcg64Mcg::seed_from_u64(99);
            let reads = places(&real, 4000, &mut random).unwrap();
            for in_flight in [1, depth as usize] {
                let (is, was) =
                    (each(&mut tabled, &reads, in_flight).unwrap(), each(&mut real, &reads, in_flight).unwrap());
                assert!((is / was - 1.0).abs() < 0.1, "depth {depth}, {in_flight} in flight: {is} for {was}");
            }
        }
    }
}
