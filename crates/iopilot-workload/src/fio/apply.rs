//! One setting at a time: from `key=value` to a field of [`Job`].

use super::ini::Setting;
use super::job::{BlockSizes, Engine, ExitWhat, FileService, Job, Pattern, Sequencer, Spread};
use super::value::{self, Amount};
use iopilot_block::{InputError, Nanos, PriorityClass, suggest};

const SECOND: Nanos = Nanos::from_secs(1);
const MICROSECOND: Nanos = Nanos::from_micros(1);
/// Beyond these, somebody has mistyped.
const MAX_JOBS: u64 = 16_384;
const MAX_DEPTH: u64 = 65_536;

const ENGINES: &[(&str, Engine)] = &[
    ("sync", Engine::Sync),
    ("psync", Engine::Sync),
    ("vsync", Engine::Sync),
    ("pvsync", Engine::Sync),
    ("pvsync2", Engine::Sync),
    ("libaio", Engine::Async),
    ("posixaio", Engine::Async),
    ("io_uring", Engine::AsyncFlush),
];

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

/// Applies the supported option `key` (a canonical name).
pub(super) fn apply(job: &mut Job, key: &str, s: &Setting) -> Result<(), InputError> {
    match key {
        "name" => s.text("a name")?.clone_into(&mut job.name),
        "kb_base" => job.kb_base = s.choice(&[("1000", 1000), ("1024", 1024)])?,
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
        "random_distribution" => job.spread = spread(job, s)?,
        "norandommap" => job.random_map = !s.flag()?,
        "random_generator" => {
            job.lfsr = s.choice(&[("tausworthe", false), ("tausworthe64", false), ("lfsr", true)])?;
        }
        "percentage_random" => {
            s.directions(&mut job.random_percent, |t| t.parse().ok().filter(|p| *p <= 100))?;
        }
        // Every run is repeatable: a job's numbers depend on the run's seed, `randseed` and the job's place only.
        "randrepeat" => job.randrepeat = s.flag()?,
        "allrandrepeat" => job.randrepeat |= s.flag()?,
        "randseed" => job.randseed = s.size(job.kb_base)?,
        "filename" => job.filename = Some(s.text("a file or device")?.to_owned()),
        "directory" => job.directory = Some(s.text("a folder")?.to_owned()),
        "filesize" => {
            let size = value::integer(s.text("a size")?, job.kb_base).filter(|&b| b > 0);
            job.filesize =
                Some(size.ok_or_else(|| s.error("one size such as 64m; files of random sizes are not simulated"))?);
        }
        "nrfiles" => job.nrfiles = s.number(1..=1_000_000)?,
        "file_service_type" => file_service(job, s)?,
        "size" => job.size = Some(s.amount(job.kb_base)?),
        "io_size" => job.io_size = Some(s.amount(job.kb_base)?),
        "number_ios" => job.number_ios = Some(s.size(job.kb_base)?).filter(|&n| n > 0),
        "offset" => job.offset = s.amount(job.kb_base)?,
        "offset_increment" => job.offset_increment = s.amount(job.kb_base)?,
        "offset_align" => job.offset_align = s.size(job.kb_base)?,
        "ioengine" => {
            job.engine = s.choice(ENGINES)?;
            s.text("an engine")?.clone_into(&mut job.engine_name);
        }
        "iodepth" => job.iodepth = s.number(1..=MAX_DEPTH)?,
        "iodepth_batch" => job.batch = s.number(0..=MAX_DEPTH)?,
        "iodepth_batch_complete_min" => job.complete_min = s.number(0..=MAX_DEPTH)?,
        "iodepth_batch_complete_max" => job.complete_max = s.number(0..=MAX_DEPTH)?,
        "iodepth_low" => job.low = s.number(0..=MAX_DEPTH)?,
        "direct" => direct(job, s, s.flag()?)?,
        "buffered" => direct(job, s, !s.flag()?)?,
        "sync" => {
            job.sync = s.choice(&[("none", false), ("0", false), ("sync", true), ("1", true), ("dsync", true)])?;
        }
        "fsync" => job.fsync = s.size(job.kb_base)?,
        "fdatasync" => job.fdatasync = s.size(job.kb_base)?,
        "end_fsync" | "fsync_on_close" => job.end_fsync |= s.flag()?,
        "numjobs" => job.numjobs = s.number(1..=MAX_JOBS)?,
        "loops" => job.loops = s.number(1..=u64::from(u32::MAX))?,
        "runtime" => job.runtime = Some(s.time(SECOND)?).filter(|&t| t > Nanos::ZERO),
        "time_based" => job.time_based = s.flag()?,
        "ramp_time" => job.ramp = s.time(SECOND)?,
        "startdelay" => {
            let range = value::range(s.text("a time")?, |t| value::time(t, SECOND));
            job.start_delay = range.ok_or_else(|| s.error("a time or a range of times, such as 1s-5s"))?;
        }
        "stonewall" => job.stonewall = s.flag()?,
        "new_group" => job.new_group = s.flag()?,
        "wait_for" => job.wait_for = Some(s.text("the name of a job above")?.to_owned()),
        "exitall" => job.exitall = s.flag()?,
        "exit_what" => job.exit_what = s.choice(&[("group", ExitWhat::Group), ("all", ExitWhat::All)])?,
        "thinktime" => job.thinktime = s.time(MICROSECOND)?,
        "thinktime_spin" => job.thinktime_spin = s.time(MICROSECOND)?,
        "thinktime_blocks" => job.thinktime_blocks = Some(s.number(1..=u64::MAX)?),
        "thinktime_blocks_type" => job.thinktime_issue = s.choice(&[("complete", false), ("issue", true)])?,
        "thinktime_iotime" => job.thinktime_iotime = s.time(SECOND)?,
        "rate" => s.directions(&mut job.rate, |t| value::integer(t, job.kb_base))?,
        "rate_iops" => s.directions(&mut job.rate_iops, |t| value::integer(t, job.kb_base))?,
        "rate_process" => job.poisson = s.choice(&[("linear", false), ("poisson", true)])?,
        "rate_ignore_thinktime" => job.rate_ignores_thinktime = s.flag()?,
        "prio" => job.prio = Some(s.number(0..=7)? as u8),
        "prioclass" => job.prioclass = Some(s.choice(CLASSES)?),
        "nice" => {
            let nice = s.text("a nice value")?.parse().ok().filter(|n| (-20..=19).contains(n));
            job.nice = nice.ok_or_else(|| s.error("a number from -20 to 19"))?;
        }
        "cmdprio_percentage" => {
            s.directions(&mut job.cmdprio_percent, |t| t.parse().ok().filter(|p| *p <= 100))?;
        }
        "cmdprio_class" => job.cmdprio.class = s.choice(CLASSES)?,
        "cmdprio" => job.cmdprio.level = s.number(0..=7)? as u8,
        "cpus_allowed" => job.cpus = cpu_list(s)?,
        "cpumask" => {
            let mask = s.size(job.kb_base)?;
            job.cpus = (0..64).filter(|bit| mask >> bit & 1 == 1).collect();
        }
        "cpus_allowed_policy" => job.cpus_split = s.choice(&[("shared", false), ("split", true)])?,
        // A test applies every supported option, so that none ends up here.
        _ => return Err(s.error("an option that is simulated")),
    }
    Ok(())
}

const CLASSES: &[(&str, PriorityClass)] = &[
    ("0", PriorityClass::None),
    ("1", PriorityClass::RealTime),
    ("2", PriorityClass::BestEffort),
    ("3", PriorityClass::Idle),
    ("none", PriorityClass::None),
    ("rt", PriorityClass::RealTime),
    ("be", PriorityClass::BestEffort),
    ("idle", PriorityClass::Idle),
];

fn direct(job: &mut Job, s: &Setting, direct: bool) -> Result<(), InputError> {
    if !direct {
        return Err(
            s.error("direct I/O (direct=1): there is no page cache; record a trace of the buffered job instead")
        );
    }
    job.direct = true;
    Ok(())
}

/// `rw=PATTERN[:MODIFIER]`; the modifier is a skip in bytes for sequential patterns, a count for random ones.
fn rw(job: &mut Job, s: &Setting) -> Result<(), InputError> {
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
fn block_range(job: &mut Job, s: &Setting) -> Result<(), InputError> {
    let kb_base = job.kb_base;
    let parse =
        |t: &str| value::range(t, |t| value::integer(t, kb_base)).map(|(low, high)| BlockSizes::Range(low, high));
    value::directions(&s.text("a range")?.replace('/', ","), &mut job.blocks, parse)
        .ok_or_else(|| s.error("ranges such as 4k-64k or 4k-16k,8k-64k"))
}

/// `bssplit=4k/10:64k/50:32k/40[,WRITES]`; blank percentages share what is left.
fn block_split(job: &mut Job, s: &Setting) -> Result<(), InputError> {
    let kb_base = job.kb_base;
    s.directions(&mut job.blocks, |t| shares(t, |size| value::integer(size, kb_base), false).map(BlockSizes::Split))
        .map_err(|_| s.error("SIZE/PERCENT:SIZE/PERCENT..., adding up to 100, such as 4k/60:64k/40"))
}

/// A list of `LEFT/RIGHT` pairs as (left, percent), percents adding up to 100 and blank ones sharing what is left. In
/// block splits the percent is on the right, in zones (`percent_first`) on the left.
fn shares<T>(text: &str, parse: impl Fn(&str) -> Option<T>, percent_first: bool) -> Option<Vec<(T, f64)>> {
    let mut parts = Vec::new();
    for pair in text.split(':') {
        let (a, b) = pair.split_once('/').unwrap_or((pair, ""));
        let (thing, percent) = if percent_first { (b, a) } else { (a, b) };
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

fn spread(job: &Job, s: &Setting) -> Result<Spread, InputError> {
    let text = s.text("a distribution")?;
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut numbers = rest.split(':').map(|t| t.trim().parse::<f64>().ok().filter(|v| v.is_finite()));
    let (first, second) = (numbers.next().flatten(), numbers.next());
    let center = second.map(|c| c.filter(|c| (0.0..=1.0).contains(c)).ok_or_else(|| s.error("a centre from 0 to 1")));
    let center = center.transpose();
    match kind {
        "random" => Ok(Spread::Uniform),
        "zipf" => {
            let theta = first.filter(|&t| t > 0.0 && t != 1.0);
            Ok(Spread::Zipf {
                theta: theta.ok_or_else(|| s.error("zipf:THETA with THETA above 0 and not 1"))?,
                center: center?,
            })
        }
        "pareto" => {
            let h = first.filter(|&h| h > 0.0 && h < 1.0);
            Ok(Spread::Pareto {
                h: h.ok_or_else(|| s.error("pareto:POWER with POWER between 0 and 1"))?,
                center: center?,
            })
        }
        "normal" => {
            let deviation = first.filter(|d| (0.0..=100.0).contains(d));
            let deviation = deviation.ok_or_else(|| s.error("normal:DEVIATION in percent of the range, 0 to 100"))?;
            Ok(Spread::Normal { deviation_percent: deviation, center: center?.unwrap_or(0.5) })
        }
        "zoned" | "zoned_abs" => zones(job, s, kind, rest),
        _ => Err(s.error(one_of(kind, ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"]))),
    }
}

/// `zoned:60/10:30/20:10/70`: percent of accesses / percent of the range, or with `zoned_abs` its size.
fn zones(job: &Job, s: &Setting, kind: &str, rest: &str) -> Result<Spread, InputError> {
    let parse = |t: &str| match kind {
        "zoned" => t.trim().parse().ok().filter(|p| (1..=100).contains(p)).map(Amount::Percent),
        _ => value::integer(t, job.kb_base).filter(|&b| b > 0).map(Amount::Bytes),
    };
    let mut zones = [Vec::new(), Vec::new(), Vec::new()];
    let split = |t: &str| -> Option<Vec<(f64, Amount)>> {
        let parts = shares(t, parse, true)?;
        let sizes: u64 = parts.iter().map(|(size, _)| if let Amount::Percent(p) = size { *p } else { 0 }).sum();
        (kind != "zoned" || sizes <= 100).then(|| parts.into_iter().map(|(size, p)| (p, size)).collect())
    };
    value::directions(rest, &mut zones, split)
        .filter(|()| zones.iter().all(|z| !z.is_empty()))
        .ok_or_else(|| s.error(format!("{kind}:PERCENT/SIZE:PERCENT/SIZE..., such as zoned:60/10:40/90")))?;
    Ok(Spread::Zoned(zones))
}

fn file_service(job: &mut Job, s: &Setting) -> Result<(), InputError> {
    let text = s.text("a service type")?;
    let (name, count) = text.split_once(':').map_or((text, None), |(name, count)| (name, Some(count)));
    job.service = match name {
        "roundrobin" => FileService::RoundRobin,
        "sequential" => FileService::Sequential,
        "random" => FileService::Random,
        _ => return Err(s.error("roundrobin, sequential or random; zipf, pareto and normal are not simulated")),
    };
    if let Some(count) = count {
        let count = value::integer(count, job.kb_base).filter(|&n| n > 0);
        job.per_file = count.ok_or_else(|| s.error(format!("{name}:COUNT with a COUNT above 0")))?;
    }
    Ok(())
}

/// `0,2,8-11`.
fn cpu_list(s: &Setting) -> Result<Vec<u16>, InputError> {
    let mut cpus = Vec::new();
    for part in s.text("CPU numbers")?.split(',') {
        let (low, high) = value::range(part, |t| t.trim().parse::<u16>().ok().filter(|&c| c < 4096))
            .ok_or_else(|| s.error("CPU numbers such as 0,2,8-11"))?;
        cpus.extend(low..=high);
    }
    Ok(cpus)
}

fn one_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match suggest(word, known.clone()) {
        Some(near) => format!("`{near}`"),
        None => format!("one of {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

impl Setting {
    fn text(&self, expected: &str) -> Result<&str, InputError> {
        self.value.as_deref().filter(|v| !v.is_empty()).ok_or_else(|| self.error(expected))
    }

    /// True for a key without a value.
    fn flag(&self) -> Result<bool, InputError> {
        match self.value.as_deref() {
            None | Some("1" | "true") => Ok(true),
            Some("0" | "false") => Ok(false),
            Some(_) => Err(self.error("0 or 1")),
        }
    }

    fn size(&self, kb_base: u64) -> Result<u64, InputError> {
        value::integer(self.text("a number")?, kb_base)
            .ok_or_else(|| self.error("a whole number such as 4096, 4k or 1m"))
    }

    fn amount(&self, kb_base: u64) -> Result<Amount, InputError> {
        value::amount(self.text("a size")?, kb_base).ok_or_else(|| self.error("a size such as 64m, or 1% to 100%"))
    }

    fn number(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, InputError> {
        let n = value::integer(self.text("a number")?, 1024).filter(|n| range.contains(n));
        n.ok_or_else(|| self.error(format!("a whole number from {} to {}", range.start(), range.end())))
    }

    fn time(&self, default_unit: Nanos) -> Result<Nanos, InputError> {
        value::time(self.text("a time")?, default_unit)
            .ok_or_else(|| self.error("a time such as 10, 10s, 5ms or 100us"))
    }

    fn choice<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, InputError> {
        let text = self.text("a value")?;
        let found = known.iter().find(|(name, _)| *name == text).map(|&(_, value)| value);
        found.ok_or_else(|| self.error(one_of(text, known.iter().map(|k| k.0).collect::<Vec<_>>())))
    }

    fn directions<T: Clone>(&self, into: &mut [T; 3], parse: impl Fn(&str) -> Option<T>) -> Result<(), InputError> {
        value::directions(self.text("a value")?, into, parse)
            .ok_or_else(|| self.error("READ,WRITE,TRIM values such as 4k or 4k,64k"))
    }
}
