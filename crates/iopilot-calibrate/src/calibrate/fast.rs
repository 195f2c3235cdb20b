//! Writes that complete from the buffer. Only firmware and bus take time, so the times of these writes reveal both.

use super::judge::DriveScore;
use super::replay::Predicted;
use super::timeline::Timed;
use iopilot_block::Op;
use iopilot_catalogue::DriveSpec;

/// The fewest requests of a kind that are used to fit.
const FEWEST: usize = 20;

/// The drive with the overheads and the bus rate of its fast writes. There are four combinations. Writes have one
/// overhead after writes, or a separate one if they continue the previous write. The bus rate is the drive's, or the
/// one that follows from request sizes.
pub(super) fn proposals(judge: &DriveScore, drive: &DriveSpec, predicted: &[Predicted]) -> Vec<DriveSpec> {
    let whole = |op: Op| -> Vec<Sample> {
        let of_op = (1..judge.requests.len()).filter(|&i| judge.requests[i].op == op);
        of_op.filter_map(|i| Sample::of(drive, &judge.requests[i - 1], &judge.requests[i], predicted[i])).collect()
    };
    let (writes, hits) = (whole(Op::Write), whole(Op::Read));
    let mut rates = vec![drive.bus.write_sector_ms];
    rates.extend(slope(&writes));
    let mut out = Vec::new();
    for rate in rates {
        for sequential in [true, false] {
            let mut changed = drive.clone();
            changed.bus.write_sector_ms = rate;
            changed.write.sequential_overhead = sequential;
            let after_write = |s: &&Sample| s.after == Op::Write && (s.continues || !sequential);
            let o = &mut changed.overheads;
            set(&mut o.write_hit_after_write_ms, writes.iter().filter(after_write), rate);
            set(&mut o.write_hit_after_read_ms, writes.iter().filter(|s| !after_write(s)), rate);
            out.push(changed.clone());
            // The bus has the same rate in both directions.
            changed.bus.read_sector_ms = rate;
            let o = &mut changed.overheads;
            set(&mut o.read_hit_after_write_ms, hits.iter().filter(|s| s.after == Op::Write), rate);
            set(&mut o.read_hit_after_read_ms, hits.iter().filter(|s| s.after == Op::Read), rate);
            out.push(changed);
        }
    }
    out
}

/// A request served by the buffer.
struct Sample {
    after: Op,
    continues: bool,
    sectors: f64,
    /// Its overhead and transfer time if the rest of the prediction is right, ms.
    time: f64,
}

impl Sample {
    fn of(drive: &DriveSpec, last: &Timed, request: &Timed, predicted: Predicted) -> Option<Self> {
        let continues = last.behind() == request.lba.0;
        let o = &drive.overheads;
        let (overhead, sector_ms) = match request.op {
            Op::Read if !predicted.hit => return None,
            Op::Read if last.op == Op::Read => (o.read_hit_after_read_ms, drive.bus.read_sector_ms),
            Op::Read => (o.read_hit_after_write_ms, drive.bus.read_sector_ms),
            _ if last.op == Op::Write && (continues || !drive.write.sequential_overhead) => {
                (o.write_hit_after_write_ms, drive.bus.write_sector_ms)
            }
            _ => (o.write_hit_after_read_ms, drive.bus.write_sector_ms),
        };
        let sectors = f64::from(request.sectors.0);
        let time = (request.service - predicted.service) / 1e6 + overhead + sectors * sector_ms;
        Some(Self { after: last.op, continues, sectors, time })
    }
}

/// Sets an overhead to the median time of the requests besides their transfers.
fn set<'a>(overhead: &mut f64, samples: impl Iterator<Item = &'a Sample>, sector_ms: f64) {
    let mut rest: Vec<f64> = samples.map(|s| s.time - s.sectors * sector_ms).collect();
    if let Some(median) = median(&mut rest) {
        *overhead = median.max(0.0);
    }
}

/// The time of a sector, ms: the slope of the least-squares line through the medians by size, of requests after reads.
fn slope(samples: &[Sample]) -> Option<f64> {
    let mut sizes: Vec<f64> = samples.iter().map(|s| s.sectors).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let points = sizes.iter().filter_map(|&size| {
        let of_size = samples.iter().filter(|s| s.sectors == size && s.after == Op::Read);
        let mut times: Vec<f64> = of_size.map(|s| s.time).collect();
        let weight = times.len() as f64;
        median(&mut times).map(|time| (size, time, weight))
    });
    let points: Vec<_> = points.collect();
    let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(|p| p.2 * f(p)).sum::<f64>();
    let weight = sum(&|_| 1.0);
    let (x, y) = (sum(&|p| p.0) / weight, sum(&|p| p.1) / weight);
    let slope = sum(&|p| (p.0 - x) * (p.1 - y)) / sum(&|p| (p.0 - x).powi(2));
    (points.len() > 1 && slope > 0.0).then_some(slope)
}

/// The median; `None` of few values.
fn median(values: &mut [f64]) -> Option<f64> {
    if values.len() < FEWEST {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}
