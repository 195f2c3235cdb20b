//! A solid-state drive's rate of random writes, from the first write to the steady state.

use anyhow::Context as _;
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{DeviceSpec, DiskSpec, PreconditionSpec, SsdSpec};
use iopilot_device::{Device, DeviceRequest};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// About the most units that the simulated drive holds. Larger drives are drawn as one with smaller and fewer blocks,
/// whose rate drops after the same share of its capacity.
const UNITS: u64 = 400_000;
/// 4 KiB.
const SECTORS: u32 = 8;
/// How often the whole capacity is written.
const OVERWRITES: u64 = 3;
/// Requests in the drive: the depth at which Micron's sheets state random rates, or the drive's.
const DEPTH: u32 = 256;
/// Points of the curve.
const POINTS: u64 = 120;

/// Points of (capacities written, MB/s) for random 4 KiB writes to an empty drive with a full queue.
pub(super) fn write_cliff(disk: &DiskSpec, ssd: &SsdSpec, seed: u64) -> anyhow::Result<Vec<(f64, f64)>> {
    let small = DiskSpec {
        device: DeviceSpec::Ssd(Box::new(scaled(ssd))),
        provenance: std::collections::BTreeMap::new(),
        ..disk.clone()
    };
    let mut device = small.build()?;
    let places = device.capacity() / u64::from(SECTORS);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut submit = |device: &mut dyn Device, id: RequestId, now: Nanos| {
        let lba = Lba(random.random_range(0..places) * u64::from(SECTORS));
        let request = DeviceRequest { id, op: Op::Write, lba, sectors: Sectors(SECTORS), flags: Flags::empty() };
        device.submit(request, now);
    };
    for id in 0..device.queue_depth().min(DEPTH) as usize {
        submit(&mut device, RequestId::from_index(id), Nanos::ZERO);
    }
    let window = (places * OVERWRITES / POINTS).max(1);
    let (mut count, mut since, mut out, mut points) = (0, Nanos::ZERO, Vec::new(), Vec::new());
    while count < places * OVERWRITES {
        let now = device.next_event().context("the drive never completes a write")?;
        device.advance(now, &mut out);
        for completion in out.drain(..) {
            count += 1;
            if count % window == 0 {
                let rate = (window * u64::from(SECTORS) * 512) as f64 / 1e6 / (now - since).as_secs_f64();
                points.push(((count as f64 - 0.5 * window as f64) / places as f64, rate));
                since = now;
            }
            submit(&mut device, completion.id, now);
        }
    }
    Ok(points)
}

/// The same drive, empty, with smaller and fewer blocks.
fn scaled(ssd: &SsdSpec) -> SsdSpec {
    let mut small = ssd.clone();
    small.precondition = PreconditionSpec::Empty;
    let n = &mut small.nand;
    let (pages, blocks) = (n.pages_per_block, n.blocks_per_plane);
    let units = ssd.capacity_sectors / (u64::from(ssd.ftl.unit_kib) * 2);
    let raw = u64::from(n.channels * n.chips_per_channel * n.dies_per_chip * n.planes_per_die)
        * u64::from(blocks)
        * u64::from(pages)
        * u64::from(n.page_kib * 2);
    // Open, erased and partly empty blocks must remain a small part of the spare capacity.
    let spare = (1.0 - ssd.capacity_sectors as f64 / raw as f64).max(0.01);
    n.pages_per_block = shrink(pages, units, (4.0 / spare).ceil() as u32);
    let units = units * u64::from(n.pages_per_block) / u64::from(pages);
    n.blocks_per_plane = shrink(blocks, units, (20.0 / spare).ceil() as u32);
    if n.blocks_per_plane < blocks {
        (small.ftl.gc_low_blocks, small.ftl.gc_high_blocks) = (2, 3);
    }
    let whole = |pages: u32, blocks: u32| u128::from(pages) * u128::from(blocks);
    let share = whole(n.pages_per_block, n.blocks_per_plane);
    small.capacity_sectors = (u128::from(ssd.capacity_sectors) * share / whole(pages, blocks)) as u64;
    small
}

/// `value` divided by the ratio of `units` to [`UNITS`], but not below `least`.
fn shrink(value: u32, units: u64, least: u32) -> u32 {
    let factor = units.div_ceil(UNITS).max(1);
    u64::from(value).div_ceil(factor).max(u64::from(least.min(value))) as u32
}
