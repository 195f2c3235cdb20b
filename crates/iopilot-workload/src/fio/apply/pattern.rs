//! The options of a job's pattern: directions, order, sizes and places of its requests.

use super::super::ini::Setting;
use super::super::job::{BlockSizes, FioJob, OffsetDistribution, Pattern, Sequencer};
use super::super::value::{self, Amount};
use super::setting::one_of;
use iopilot_block::InputError;

/// The name of a pattern; whether it reads, writes and trims; whether it is random.
const PATTERNS: &[(&str, [bool; 3], bool)] = &[
    ("read", [true, false, false], false),
    ("write", [false, true, false], false),
    ("trim", [false, false, true], false),
    ("rw", [true, true, false], false),
    ("readwrite", [true, true, false], false),
    ("randread", [true, false, false], true),
    ("randwrite", [false, true, false], true),
    ("randtrim", [false, false, true], true),
    ("randrw", [true, true, false], true),
];

/// The order, sizes and places of reads, writes and trims. Returns false if `key` is none of these options.
pub(super) fn pattern(job: &mut FioJob, key: &str, s: &Setting) -> Result<bool, InputError> {
    match key {
        "rw" => rw(job, s)?,
        "rw_sequencer" => {
            job.sequencer = s.choice(&[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)])?;
        }
        "bs" => {
            s.directions(&mut job.blocks, |t| {
                value::integer(t, job.kb_base).map(|bytes| BlockSizes::Range(bytes, bytes))
            })?;
        }
        "bsrange" => block_range(job, s)?,
        "bssplit" => block_split(job, s)?,
        "bs_is_seq_rand" => job.bs_is_seq_rand = s.flag()?,
        "ba" => s.directions(&mut job.align, |t| value::integer(t, job.kb_base).filter(|&a| a > 0).map(Some))?,
        "rwmixread" => job.read_percent = s.number(0..=100)?,
        "rwmixwrite" => job.read_percent = 100 - s.number(0..=100)?,
        "random_distribution" => {
            job.spread = spread(job, s)?;
            s.text("a distribution")?.clone_into(&mut job.spread_text);
        }
        "norandommap" => job.random_map = !s.flag()?,
        "random_generator" => {
            job.lfsr = s.choice(&[("tausworthe", false), ("tausworthe64", false), ("lfsr", true)])?;
        }
        "percentage_random" => {
            s.directions(&mut job.random_percent, |t| t.parse().ok().filter(|p| *p <= 100))?;
        }
        // Every run is repeatable: a job's random numbers depend only on the run's seed, `randseed` and the job's place.
        "randrepeat" => job.randrepeat = s.flag()?,
        "allrandrepeat" => job.randrepeat |= s.flag()?,
        "randseed" => job.randseed = s.size(job.kb_base)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// `rw=PATTERN[:MODIFIER]`; the modifier is a skip in bytes for sequential patterns, a count for random ones.
fn rw(job: &mut FioJob, s: &Setting) -> Result<(), InputError> {
    let text = s.text("a pattern such as randread")?;
    let (name, modifier) = match text.split_once(':') {
        Some((name, modifier)) => (name.trim(), Some(modifier.trim())),
        None => (text, None),
    };
    let Some(&(_, used, random)) = PATTERNS.iter().find(|(known, ..)| *known == name) else {
        if matches!(name, "trimwrite" | "randtrimwrite") {
            return Err(s.error("a pattern that is simulated: trim-then-write pairs are not"));
        }
        return Err(s.error(one_of(name, PATTERNS.iter().map(|p| p.0))));
    };
    (job.pattern, job.skip, job.per_offset) = (Pattern { used, random }, 0, 1);
    match modifier {
        None => {}
        Some(count) if random => {
            let count = value::integer(count, job.kb_base).filter(|&n| n > 0);
            job.per_offset = count.ok_or_else(|| s.error(format!("{name}:COUNT with a COUNT above 0")))?;
        }
        Some(skip) => {
            job.skip =
                value::signed(skip, job.kb_base).ok_or_else(|| s.error(format!("{name}:SKIP, such as {name}:8k")))?;
        }
    }
    Ok(())
}

/// `bsrange=1k-4k[,2k-8k]`; a slash may stand for the comma.
fn block_range(job: &mut FioJob, s: &Setting) -> Result<(), InputError> {
    let kb_base = job.kb_base;
    let parse =
        |t: &str| value::range(t, |t| value::integer(t, kb_base)).map(|(low, high)| BlockSizes::Range(low, high));
    value::directions(&s.text("a range")?.replace('/', ","), &mut job.blocks, parse)
        .ok_or_else(|| s.error("ranges such as 4k-64k or 4k-16k,8k-64k"))
}

/// `bssplit=4k/10:64k/50:32k/40[,WRITES]`; blank percentages share what is left.
fn block_split(job: &mut FioJob, s: &Setting) -> Result<(), InputError> {
    let kb_base = job.kb_base;
    s.directions(&mut job.blocks, |t| shares(t, |size| value::integer(size, kb_base)).map(BlockSizes::Split))
        .map_err(|_| s.error("SIZE/PERCENT:SIZE/PERCENT..., adding up to 100, such as 4k/60:64k/40"))
}

/// A list of `SIZE/PERCENT` pairs as (size, percent), percents adding up to 100 and blank ones sharing what is left.
fn shares<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, f64)>> {
    let mut parts = Vec::new();
    for pair in text.split(':') {
        let (thing, percent) = pair.split_once('/').unwrap_or((pair, ""));
        let percent = match percent.trim() {
            "" => None,
            p => Some(p.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p))?),
        };
        parts.push((parse(thing)?, percent));
    }
    let given: f64 = parts.iter().filter_map(|(_, p)| *p).sum();
    let blanks = parts.iter().filter(|(_, p)| p.is_none()).count();
    if given > 100.0 + 1e-9 || (blanks == 0 && given < 100.0 - 1e-9) {
        return None;
    }
    let blank = (100.0 - given).max(0.0) / blanks.max(1) as f64;
    Some(parts.into_iter().map(|(thing, p)| (thing, p.unwrap_or(blank))).collect())
}

fn spread(job: &FioJob, s: &Setting) -> Result<OffsetDistribution, InputError> {
    let text = s.text("a distribution")?;
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut numbers = rest.split(':').map(|t| t.trim().parse::<f64>().ok().filter(|v| v.is_finite()));
    let (first, second) = (numbers.next().flatten(), numbers.next());
    let center = second.map(|c| c.filter(|c| (0.0..=1.0).contains(c)).ok_or_else(|| s.error("a centre from 0 to 1")));
    let center = center.transpose();
    match kind {
        "random" => Ok(OffsetDistribution::Uniform),
        "zipf" => {
            let theta = first.filter(|&t| t > 0.0 && t != 1.0);
            Ok(OffsetDistribution::Zipf {
                theta: theta.ok_or_else(|| s.error("zipf:THETA with THETA above 0 and not 1"))?,
                center: center?,
            })
        }
        "pareto" => {
            let h = first.filter(|&h| h > 0.0 && h < 1.0);
            Ok(OffsetDistribution::Pareto {
                h: h.ok_or_else(|| s.error("pareto:POWER with POWER between 0 and 1"))?,
                center: center?,
            })
        }
        "normal" => {
            let deviation = first.filter(|d| (0.0..=100.0).contains(d));
            let deviation = deviation.ok_or_else(|| s.error("normal:DEVIATION in percent of the range, 0 to 100"))?;
            Ok(OffsetDistribution::Normal { deviation_percent: deviation, center: center?.unwrap_or(0.5) })
        }
        "zoned" | "zoned_abs" => zones(job, s, kind, rest),
        _ => Err(s.error(one_of(kind, ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"]))),
    }
}

/// `zoned:60/10:30/20:10/70`: percent of accesses / percent of the range, or with `zoned_abs` its size. Zones of blank
/// percentages share what the others leave of the range, in whole percents as in fio.
fn zones(job: &FioJob, s: &Setting, kind: &str, rest: &str) -> Result<OffsetDistribution, InputError> {
    let percents = kind == "zoned";
    let size = |t: &str| match (percents, t.trim()) {
        (true, "") => Some(None),
        (true, t) => t.parse().ok().filter(|p| (1..=100).contains(p)).map(|p| Some(Amount::Percent(p))),
        (false, t) => value::integer(t, job.kb_base).filter(|&b| b > 0).map(|bytes| Some(Amount::Bytes(bytes))),
    };
    let split = |t: &str| -> Option<Vec<(f64, Amount)>> {
        let mut parts = Vec::new();
        for pair in t.split(':') {
            let (share, of) = pair.split_once('/')?;
            parts.push((share.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p))?, size(of)?));
        }
        let accesses: f64 = parts.iter().map(|(share, _)| share).sum();
        let given: u64 = parts.iter().map(|(_, size)| if let Some(Amount::Percent(p)) = size { *p } else { 0 }).sum();
        let blanks = parts.iter().filter(|(_, size)| size.is_none()).count() as u64;
        let left = 100u64.checked_sub(given)?;
        if (accesses - 100.0).abs() > 1e-9 || (blanks > 0 && left < blanks) {
            return None;
        }
        let blank = Amount::Percent(left / blanks.max(1));
        Some(parts.into_iter().map(|(share, size)| (share, size.unwrap_or(blank))).collect())
    };
    let mut zones = [Vec::new(), Vec::new(), Vec::new()];
    let expected = if percents { "zoned:60/10:40/90 or zoned:60/10:40/" } else { "zoned_abs:60/1g:40/8g" };
    value::directions(rest, &mut zones, split)
        .filter(|()| zones.iter().all(|z| !z.is_empty()))
        .ok_or_else(|| s.error(format!("{kind}:PERCENT/SIZE:PERCENT/SIZE..., such as {expected}")))?;
    Ok(OffsetDistribution::Zoned(zones))
}
