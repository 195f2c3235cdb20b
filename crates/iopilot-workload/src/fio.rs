//! fio's job files, unchanged.
//!
//! [`FioJobs`] reads them, [`FioSource`] runs them. Supported options act as in fio. An option that would change the load and
//! is not simulated is an error. An option that would not change it is ignored with a note (`docs/reference/workloads.md` has
//! the table). The behaviour of fio was taken from its manual, and from runs of version 3.33.

mod apply;
mod cursor;
mod ini;
mod job;
mod layout;
mod offset_sampler;
mod options;
mod pace;
mod permutation;
mod random_map;
mod source;
mod task;
mod value;

pub use source::FioSource;
pub(crate) use value::integer as bytes;

use super::WorkloadError;
use crate::text_file::read_text;
use ini::{EnvironmentLookup, Section, Setting};
use iopilot_block::{InputError, SECTOR_BYTES};
use job::{FioEngine, FioJob, TRIM};
use options::OptionSupport;
use std::path::Path;

/// The jobs of a job file.
#[derive(Clone, Debug)]
pub struct FioJobs {
    jobs: Vec<FioJob>,
    notes: Vec<String>,
}

impl FioJobs {
    /// Reads the job file at `path`, and the files it includes. `${NAME}` is looked up in the environment.
    ///
    /// # Errors
    /// If a file cannot be read, and as [`FioJobs::parse`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, WorkloadError> {
        let path = path.as_ref();
        Self::parse(&read_text(path)?, &path.to_string_lossy())
    }

    /// Reads the job file `text`, called `source_name` in messages. Included files are looked up from the working folder, then
    /// from the folder of `source_name`.
    ///
    /// # Errors
    /// If the text is not a job file, an option is unknown, has a bad value, or needs something that is not simulated.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, WorkloadError> {
        Self::parse_in(text, source_name, &|name| std::env::var(name).ok())
    }

    fn parse_in(text: &str, source_name: &str, env: EnvironmentLookup) -> Result<Self, WorkloadError> {
        let mut reader = Reader::default();
        let mut defaults: Option<FioJob> = None;
        let mut jobs: Vec<FioJob> = Vec::new();
        for section in ini::sections(text, source_name, env)? {
            let mut job = match &defaults {
                Some(defaults) => {
                    FioJob { name: section.name.clone(), origin: section.origin.clone(), ..defaults.clone() }
                }
                None => FioJob::new(&section.name, section.origin.clone()),
            };
            reader.section(&mut job, &section)?;
            if section.is_global() {
                defaults = Some(job);
            } else {
                reader.check(&mut job, &jobs)?;
                jobs.push(job);
            }
        }
        if jobs.is_empty() {
            return Err(InputError::new("job file", "no job", "a section such as [job1]").in_file(source_name).into());
        }
        Ok(Self { notes: reader.notes(source_name, &jobs), jobs })
    }

    /// Notes for the user: options that are ignored or replaced.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The names of the jobs, in order of their processes: a job with `numjobs=3` appears three times.
    pub fn process_names(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().flat_map(|job| (0..job.numjobs).map(|_| job.name.as_str()))
    }
}

/// Turns settings into jobs, and collects notes.
#[derive(Default)]
struct Reader {
    ignored: Vec<String>,
    notes: Vec<String>,
}

impl Reader {
    fn section(&mut self, job: &mut FioJob, section: &Section) -> Result<(), InputError> {
        // `kb_base` also applies to sizes on the lines above it.
        for setting in section.settings.iter().filter(|s| s.key == "kb_base") {
            apply::apply(job, "kb_base", setting)?;
        }
        section.settings.iter().try_for_each(|setting| self.setting(job, setting))
    }

    fn setting(&mut self, job: &mut FioJob, setting: &Setting) -> Result<(), InputError> {
        let key = options::canonical(&setting.key);
        match options::fate(key) {
            Some(OptionSupport::Supported) => apply::apply(job, key, setting),
            Some(OptionSupport::Harmless) => {
                if !self.ignored.contains(&setting.key) {
                    self.ignored.push(setting.key.clone());
                }
                Ok(())
            }
            Some(OptionSupport::Refused { unless, .. })
                if unless.contains(&setting.value.as_deref().unwrap_or("1")) =>
            {
                Ok(())
            }
            Some(OptionSupport::Refused { why, unless }) => {
                let off = unless.first().map_or(String::new(), |off| format!(" or {off}"));
                Err(setting.origin.error(
                    &setting.key,
                    setting.value.as_deref().unwrap_or("1"),
                    format!("nothing{off}: {why}"),
                ))
            }
            None => {
                let expected = match options::nearest(&setting.key) {
                    Some(near) => format!("`{near}`"),
                    None => "an option of fio".to_owned(),
                };
                Err(setting.origin.error(&setting.key, "an unknown option", expected))
            }
        }
    }

    /// Checks that need all options of a job.
    fn check(&mut self, job: &mut FioJob, above: &[FioJob]) -> Result<(), InputError> {
        let origin = job.origin.clone();
        let bad = |field: &str, got: String, expected: &str| {
            Err(origin.error(field, format!("{got} (job {})", job.name), expected))
        };
        for d in job.pattern.directions().chain([job::READ, job::WRITE].into_iter().filter(|_| job.bs_is_seq_rand)) {
            let sizes = &job.blocks[d];
            let (min, max) = (sizes.min(), sizes.max());
            let whole = match sizes {
                job::BlockSizes::Range(..) => [min, max].iter().all(|b| b % SECTOR_BYTES == 0),
                job::BlockSizes::Split(parts) => parts.iter().all(|(b, _)| b % SECTOR_BYTES == 0),
            };
            if min == 0 || !whole {
                return bad("bs", format!("{min}"), "a multiple of 512 bytes, as direct I/O needs");
            }
            if max > u64::from(u32::MAX) {
                return bad("bs", format!("{max}"), "less than 4 GiB");
            }
            if job.align[d].is_some_and(|a| a % SECTOR_BYTES != 0) {
                return bad(
                    "ba",
                    format!("{:?}", job.align[d].unwrap_or(0)),
                    "a multiple of 512 bytes, as direct I/O needs",
                );
            }
        }
        if job.skip % SECTOR_BYTES as i64 != 0 {
            return bad("rw", format!("a skip of {}", job.skip), "a multiple of 512 bytes");
        }
        if job.rate.iter().any(|&r| r > 0) && job.rate_iops.iter().any(|&r| r > 0) {
            return bad("rate", "with rate_iops".into(), "only one of rate and rate_iops");
        }
        if let Some(name) = &job.wait_for {
            if above.iter().filter(|j| j.name == *name).count() != 1 {
                return bad("wait_for", name.clone(), "the name of exactly one job above");
            }
        }
        if job.time_based && job.runtime.is_none() {
            job.time_based = false;
            self.note(&origin, &format!("job {}: time_based is ignored, as there is no runtime", job.name));
        }
        if job.iodepth > 1 && job.engine == FioEngine::Sync {
            self.note(&origin, &format!("job {}: iodepth is 1, as {} is synchronous", job.name, job.engine_name));
        } else if job.iodepth > 1 && job.pattern.used[TRIM] {
            self.note(&origin, &format!("job {}: iodepth is 1, as trims are synchronous", job.name));
        }
        if job.ramp > iopilot_block::Nanos::ZERO {
            self.note(&origin, &format!("job {}: the ramp_time is run and counted like the rest", job.name));
        }
        Ok(())
    }

    fn note(&mut self, origin: &ini::SettingOrigin, text: &str) {
        self.notes.push(format!("{}:{}: {text}", origin.file, origin.line));
    }

    fn notes(self, source_name: &str, jobs: &[FioJob]) -> Vec<String> {
        let mut notes = self.notes;
        let buffered: Vec<&str> = jobs.iter().filter(|j| !j.direct).map(|j| j.name.as_str()).collect();
        if !buffered.is_empty() {
            let verb = if buffered.len() == 1 { "job runs" } else { "jobs run" };
            notes.push(format!(
                "{source_name}: {verb} with direct I/O, as there is no page cache: {}",
                buffered.join(", ")
            ));
        }
        if !self.ignored.is_empty() {
            notes.push(format!("{source_name}: ignored, as they do not change the load: {}", self.ignored.join(", ")));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
