//! [`lay_out`]: which part of the device each process works on.
//!
//! A job that names a device has all of it, and so has a job that names nothing and has no size. Other files are laid out one
//! after the other from the start of the device, in the order in which the jobs name them and aligned to 1 MiB, as on a fresh
//! file system. Each is as long as the largest size that a job gives it.

use super::ini::SettingOrigin;
use super::job::FioJob;
use super::value::Amount;
use iopilot_block::InputError;

const FILE_ALIGNMENT: u64 = 1 << 20;

/// One file, and the region of it that a process works on. In bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FileRegion {
    /// Where the file starts on the device.
    pub(super) base: u64,
    /// Its length.
    pub(super) real_size: u64,
    /// Where in the file the region starts.
    pub(super) offset: u64,
    /// The region's length.
    pub(super) io_size: u64,
}

/// A file, while the files are collected.
struct File {
    name: String,
    base: u64,
    size: u64,
}

/// The regions of each process, in order; the clones of a job are consecutive.
pub(super) fn lay_out(jobs: &[FioJob], capacity: u64) -> Result<Vec<Vec<FileRegion>>, InputError> {
    let names = names_of(jobs)?;
    let files = collect(jobs, &names, capacity)?;
    let mut places = Vec::with_capacity(names.len());
    for (process, (job, clone)) in clones(jobs).enumerate() {
        let place = |name: Option<&String>| -> Result<FileRegion, InputError> {
            let file = name.and_then(|name| files.iter().find(|f| f.name == *name));
            let (base, real_size) = file.map_or((0, capacity), |f| (f.base, f.size));
            region(job, clone, names[process].len().max(1) as u64, base, real_size, file.is_some())
        };
        places.push(match names[process].as_slice() {
            [] => vec![place(None)?],
            names => names.iter().map(|name| place(Some(name))).collect::<Result<_, _>>()?,
        });
    }
    Ok(places)
}

/// Each job once for each of its clones, with the clone's number.
pub(super) fn clones(jobs: &[FioJob]) -> impl Iterator<Item = (&FioJob, u64)> {
    jobs.iter().flat_map(|job| (0..job.numjobs).map(move |clone| (job, clone)))
}

/// The files of each process; none for the device.
pub(super) fn names_of(jobs: &[FioJob]) -> Result<Vec<Vec<String>>, InputError> {
    let mut device: Option<String> = None;
    let mut out = Vec::new();
    for (job, clone) in clones(jobs) {
        let Some(text) = &job.filename else {
            out.push(if has_own_files(job) { own_files(job, clone) } else { Vec::new() });
            continue;
        };
        let names = split_names(text);
        if !names.iter().any(|n| n.starts_with("/dev/")) {
            out.push(names.into_iter().map(|name| in_folder(job, 0, &name)).collect());
            continue;
        }
        let known = device.get_or_insert_with(|| names[0].clone());
        if names != [known.as_str()] {
            let mut all = vec![known.clone()];
            all.extend(names.into_iter().filter(|name| name != known));
            if all.len() == 1 {
                all.push(known.clone());
            }
            let got = format!("{} (job {})", all.join(" and "), job.name);
            return Err(job.origin.error("filename", got, "one device: the simulated machine has one"));
        }
        out.push(Vec::new());
    }
    Ok(out)
}

/// Whether a job without `filename=` has its own files, as in fio. Without a size in bytes fio would not run it; here it has
/// the whole device, and percentages are of the device.
fn has_own_files(job: &FioJob) -> bool {
    job.directory.is_some()
        || job.filename_format.is_some()
        || job.nrfiles > 1
        || job.filesize.is_some()
        || matches!(job.size, Some(Amount::Bytes(_)))
}

/// The names that fio makes up.
fn own_files(job: &FioJob, clone: u64) -> Vec<String> {
    let format = job.filename_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
    let name = |file: u64| {
        let name = format.replace("$jobname", &job.name).replace("$clientuid", "localhost");
        name.replace("$jobnum", &clone.to_string()).replace("$filenum", &file.to_string())
    };
    let mut names: Vec<String> = (0..job.nrfiles).map(|file| in_folder(job, clone, &name(file))).collect();
    names.dedup();
    names
}

/// `name` in one of the job's folders: clones take turns, named files are in the first.
fn in_folder(job: &FioJob, clone: u64, name: &str) -> String {
    let folders = job.directory.as_deref().map_or(Vec::new(), split_names);
    match folders.get((clone % folders.len().max(1) as u64) as usize) {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    }
}

/// Names are separated by colons, unless a backslash says otherwise.
fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            ':' if !escaped => names.push(String::new()),
            _ => {
                if let Some(name) = names.last_mut() {
                    name.push(c);
                }
                escaped = false;
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn collect(jobs: &[FioJob], names: &[Vec<String>], capacity: u64) -> Result<Vec<File>, InputError> {
    let mut files: Vec<(File, Option<&SettingOrigin>)> = Vec::new();
    for ((job, clone), names) in clones(jobs).zip(names) {
        for name in names {
            let size = wanted_size(job, clone, names.len() as u64)?;
            match files.iter_mut().find(|(f, _)| f.name == *name) {
                Some((file, _)) => file.size = file.size.max(size),
                None => files.push((File { name: name.clone(), base: 0, size }, Some(&job.origin))),
            }
        }
    }
    // A job file for a single file that exists already: the disk stands for the file.
    if let [(file, _)] = files.as_mut_slice() {
        if file.size == 0 {
            file.size = capacity;
        }
    }
    let mut base: u64 = 0;
    for (file, origin) in &mut files {
        let at = |got: String, expected: String| origin.map(|o| o.error("size", got, expected));
        if file.size == 0 {
            return Err(at(format!("none for file {}", file.name), "size= or filesize=".into()).unwrap_or_default());
        }
        file.base = base;
        let end = base.checked_add(file.size).filter(|&end| end <= capacity);
        let Some(end) = end else {
            let got = format!("file {} of {} bytes at {base}", file.name, file.size);
            return Err(at(got, format!("files that fit the disk's {capacity} bytes")).unwrap_or_default());
        };
        base = end.next_multiple_of(FILE_ALIGNMENT);
    }
    Ok(files.into_iter().map(|(file, _)| file).collect())
}

/// The file size that this process needs; 0 if the job does not say.
fn wanted_size(job: &FioJob, clone: u64, files: u64) -> Result<u64, InputError> {
    if let Some(size) = job.filesize {
        return Ok(size);
    }
    let Some(Amount::Bytes(size)) = job.size else { return Ok(0) };
    let (Amount::Bytes(offset), Amount::Bytes(step)) = (job.offset, job.offset_increment) else {
        return Err(job.origin.error("offset", "a percentage", "bytes, or a filesize for it to be a percentage of"));
    };
    let end = step.checked_mul(clone).and_then(|o| o.checked_add(offset)).and_then(|o| o.checked_add(size / files));
    end.ok_or_else(|| job.origin.error("offset", format!("{offset}"), "a file below 2^64 bytes"))
}

fn region(
    job: &FioJob,
    clone: u64,
    files: u64,
    base: u64,
    real_size: u64,
    is_file: bool,
) -> Result<FileRegion, InputError> {
    let percent = |p: u64| (u128::from(real_size) * u128::from(p) / 100) as u64;
    let unit = job.min_block().max(1);
    let in_file = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(p) if job.offset_align > 0 => percent(p).next_multiple_of(job.offset_align),
        Amount::Percent(p) => percent(p) / unit * unit,
    };
    let step = u128::from(in_file(job.offset_increment)) * u128::from(clone);
    let offset = step + u128::from(in_file(job.offset));
    let what = if is_file { "file" } else { "disk" };
    if offset % 512 != 0 {
        return Err(job.origin.error("offset", format!("{offset} (job {})", job.name), "a multiple of 512 bytes"));
    }
    if offset >= u128::from(real_size) {
        let got = format!("{offset} (job {})", job.name);
        return Err(job.origin.error("offset", got, format!("less than the {what}'s {real_size} bytes")));
    }
    let offset = offset as u64;
    let rest = real_size - offset;
    let io_size = match job.size {
        // With `filesize`, fio takes a `size` in bytes for the amount alone, and a percentage for the region.
        Some(Amount::Bytes(_)) if job.filesize.is_some() && is_file => rest,
        None => rest,
        Some(Amount::Percent(p)) => percent(p).min(rest) / unit * unit,
        Some(Amount::Bytes(size)) if size / files <= rest => size / files,
        Some(Amount::Bytes(size)) => {
            let got = format!("{size} from offset {offset} (job {})", job.name);
            return Err(job.origin.error(
                "size",
                got,
                format!("at most the {rest} bytes that the {what} has from there"),
            ));
        }
    };
    if io_size < unit {
        let got = format!("{io_size} (job {})", job.name);
        return Err(job.origin.error("size", got, format!("at least one block of {unit} bytes")));
    }
    Ok(FileRegion { base, real_size, offset, io_size })
}
