//! The loads: shipped job files, made longer for solid-state drives.

use iopilot_workload::{FioJobs, Workload, WorkloadError};

/// A load of the experiment.
#[derive(Debug)]
pub(super) struct ChangingLoad {
    /// The job file's name, without its ending.
    pub(super) name: &'static str,
    /// Whether it changes. If not, no scheduler is better than another for it.
    pub(super) changes: bool,
    /// How many times as much is read and written on a solid-state drive. The files are made for hard disks: a flight
    /// over one as it is would be over in a second.
    pub(super) times_on_ssd: u64,
    path: &'static str,
    text: &'static str,
}

macro_rules! load {
    ($folder:literal, $name:literal, $changes:literal, $times:literal) => {
        ChangingLoad {
            name: $name,
            changes: $changes,
            times_on_ssd: $times,
            path: concat!("examples/jobs/", $folder, $name, ".fio"),
            text: include_str!(concat!("../../../../examples/jobs/", $folder, $name, ".fio")),
        }
    };
}

/// All loads. The factors make a flight on `ssd-160` last at least 20 s.
pub(super) const ALL: &[ChangingLoad] = &[
    load!("changing/", "backup-at-night", true, 2),
    load!("changing/", "build-machine", true, 6),
    load!("changing/", "deep-and-shallow", true, 25),
    load!("changing/", "mixed-sizes", true, 4),
    load!("changing/", "one-stream", true, 2),
    load!("changing/", "readers-and-writers", true, 30),
    load!("changing/", "streams-and-lookups", true, 5),
    load!("changing/", "strided", true, 25),
    load!("changing/", "think-time", true, 3),
    load!("changing/", "web-server", true, 4),
    load!("", "changing", true, 4),
    load!("steady/", "one-reader", false, 1),
    load!("steady/", "light-use", false, 1),
];

impl ChangingLoad {
    /// The load, with `times` as much to read and write.
    pub(super) fn workload(&self, times: u64) -> Result<Workload, WorkloadError> {
        let jobs = FioJobs::parse(&lengthened(self.text, times), self.path)?;
        Ok(Workload::Fio { name: self.path.to_owned(), jobs })
    }
}

/// The job file with `times` as many bytes and requests in each job.
fn lengthened(text: &str, times: u64) -> String {
    let longer = |line: &str| {
        let (key, value) = line.split_once('=').filter(|(key, _)| ["io_size", "number_ios"].contains(key))?;
        let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
        Some(format!("{key}={}{unit}", number.parse::<u64>().ok()? * times))
    };
    text.lines().map(|line| longer(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_sim::Machine;

    #[test]
    fn what_is_lengthened_is_the_amount_of_each_job() {
        let text = "[a]\nbs=4k\nio_size=300m\nsize=10g\n[b]\nnumber_ios=1500\nrate_iops=40\n";
        let expected = "[a]\nbs=4k\nio_size=600m\nsize=10g\n[b]\nnumber_ios=3000\nrate_iops=40\n";
        assert_eq!((lengthened(text, 2).as_str(), lengthened(text, 1).as_str()), (expected, text));
    }

    #[test]
    fn every_load_fits_every_disk_and_every_job_has_an_amount_to_lengthen() {
        for load in ALL {
            let jobs = load.text.lines().filter(|l| l.starts_with('[') && *l != "[global]").count();
            let amounts =
                load.text.lines().filter(|l| l.starts_with("io_size=") || l.starts_with("number_ios=")).count();
            assert_eq!(amounts, jobs, "{}", load.name);
            for disk in ["hd-500-16", "wd1200bb", "ssd-160"] {
                let capacity = Machine::for_disk(disk).unwrap().capacity();
                let workload = load.workload(load.times_on_ssd).unwrap_or_else(|e| panic!("{e}"));
                workload.source(capacity, None, 0).unwrap_or_else(|e| panic!("{disk}: {e}"));
            }
        }
    }
}
