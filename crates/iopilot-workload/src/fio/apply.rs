//! One setting at a time: from `key=value` to a field of [`FioJob`].

mod pattern;
mod setting;

use super::ini::Setting;
use super::job::{ExitWhat, FileService, FioEngine, FioJob};
use super::options;
use super::value;
use iopilot_block::{InputError, Nanos, PriorityClass};

const SECOND: Nanos = Nanos::from_secs(1);
const MICROSECOND: Nanos = Nanos::from_micros(1);
/// Larger values are typing errors.
const MAX_JOBS: u64 = 16_384;
const MAX_DEPTH: u64 = 65_536;

const ENGINES: &[(&str, FioEngine)] = &[
    ("sync", FioEngine::Sync),
    ("psync", FioEngine::Sync),
    ("vsync", FioEngine::Sync),
    ("pvsync", FioEngine::Sync),
    ("pvsync2", FioEngine::Sync),
    ("libaio", FioEngine::Async),
    ("posixaio", FioEngine::Async),
    ("io_uring", FioEngine::AsyncFlush),
];

/// Applies the supported option `key` (a canonical name).
pub(super) fn apply(job: &mut FioJob, key: &str, s: &Setting) -> Result<(), InputError> {
    let groups = [run, files, pattern::pattern, engine, pace, priority];
    for group in groups {
        if group(job, key, s)? {
            return Ok(());
        }
    }
    // A test applies every supported option, so none gets here.
    Err(s.error("an option that is simulated"))
}

/// The job itself: its name and copies, its start and end. Returns false if `key` is none of these options.
fn run(job: &mut FioJob, key: &str, s: &Setting) -> Result<bool, InputError> {
    match key {
        "name" => s.text("a name")?.clone_into(&mut job.name),
        "kb_base" => job.kb_base = s.choice(&[("1000", 1000), ("1024", 1024)])?,
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
        "exit_what" => {
            let known = [("group", ExitWhat::Group), ("stonewall", ExitWhat::Stonewall), ("all", ExitWhat::All)];
            job.exit_what = s.choice(&known)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The files, and how much of them is used. Returns false if `key` is none of these options.
fn files(job: &mut FioJob, key: &str, s: &Setting) -> Result<bool, InputError> {
    match key {
        "filename" => job.filename = Some(s.text("a file or device")?.to_owned()),
        "filename_format" => job.filename_format = Some(s.text("a name such as $jobname.$jobnum.$filenum")?.to_owned()),
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
        "offset" => job.offset = s.place(job.kb_base)?,
        "offset_increment" => job.offset_increment = s.place(job.kb_base)?,
        "offset_align" => job.offset_align = s.size(job.kb_base)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn file_service(job: &mut FioJob, s: &Setting) -> Result<(), InputError> {
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

/// How requests are issued: the engine, its queue, and flushes. Returns false if `key` is none of these options.
fn engine(job: &mut FioJob, key: &str, s: &Setting) -> Result<bool, InputError> {
    match key {
        "ioengine" => {
            let name = s.text("an engine")?;
            // An external engine names its file behind a colon.
            if let Some(why) = options::engine_refused(name.split_once(':').map_or(name, |(name, _)| name)) {
                let known: Vec<&str> = ENGINES.iter().map(|(name, _)| *name).collect();
                return Err(s.error(format!("one of {}: {why}", known.join(", "))));
            }
            job.engine = s.choice(ENGINES)?;
            name.clone_into(&mut job.engine_name);
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
        _ => return Ok(false),
    }
    Ok(true)
}

fn direct(job: &mut FioJob, s: &Setting, direct: bool) -> Result<(), InputError> {
    if !direct {
        return Err(
            s.error("direct I/O (direct=1): there is no page cache; record a trace of the buffered job instead")
        );
    }
    job.direct = true;
    Ok(())
}

/// The pace of requests. Returns false if `key` is none of these options.
fn pace(job: &mut FioJob, key: &str, s: &Setting) -> Result<bool, InputError> {
    match key {
        "thinktime" => job.thinktime = s.time(MICROSECOND)?,
        "thinktime_spin" => job.thinktime_spin = s.time(MICROSECOND)?,
        "thinktime_blocks" => job.thinktime_blocks = Some(s.number(1..=u64::MAX)?),
        "thinktime_blocks_type" => job.thinktime_issue = s.choice(&[("complete", false), ("issue", true)])?,
        "thinktime_iotime" => job.thinktime_iotime = s.time(SECOND)?,
        "rate" => s.directions(&mut job.rate, |t| value::integer(t, job.kb_base))?,
        "rate_iops" => s.directions(&mut job.rate_iops, |t| value::integer(t, job.kb_base))?,
        "rate_process" => job.poisson = s.choice(&[("linear", false), ("poisson", true)])?,
        "rate_ignore_thinktime" => job.rate_ignores_thinktime = s.flag()?,
        _ => return Ok(false),
    }
    Ok(true)
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

/// I/O priorities and CPUs. Returns false if `key` is none of these options.
fn priority(job: &mut FioJob, key: &str, s: &Setting) -> Result<bool, InputError> {
    match key {
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
        _ => return Ok(false),
    }
    Ok(true)
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
