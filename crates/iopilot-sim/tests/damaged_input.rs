//! A brief fuzz of every description that users write: fio job files, Ganger's generators, machines and disks. Any text is
//! read, or refused in one line. Nothing panics, and every description that is read can be used.

use iopilot_catalogue::{Catalogue, DiskSpec};
use iopilot_sim::Machine;
use iopilot_workload::ganger::{GangerSpec, on_own_cpus};
use iopilot_workload::{FioJobs, FioSource};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::path::Path;

const CAPACITY: u64 = 1 << 21;

const MACHINE: &str = "name = \"m\"\ndisk = \"hd-250-32\"\n[block]\nnr_requests = 64\nqueue_depth = 8\nplug = true\n\
                       max_sectors_kb = 512\n[host]\ncpus = 4\n";

/// A machine with one drive, and the sections that are only for one drive.
const CONTROLLED: &str = "disk = \"hp-c2247\"\n[controller]\ncache_kib = 64\nline_kib = 4\nwrite = \"through\"\n\
                          flush_idle_ms = 500\npolicy = \"FCFS\"\nbus_mb_s = 10\n[device]\nspeed = 2.0\n";

const JOBS: [&str; 3] = [
    include_str!("../../../examples/jobs/mixed.fio"),
    include_str!("../../../examples/jobs/priorities.fio"),
    include_str!("../../../examples/jobs/hot-and-cold.fio"),
];

const GENERATORS: &str = include_str!("../../../examples/jobs/ganger-time-sharing.toml");

/// The texts that replace a word.
const WORDS: [&str; 24] = [
    "",
    "0",
    "1",
    "-1",
    "0.5",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "true",
    "\"\"",
    "\"x\"",
    "é",
    "[",
    "]",
    "[[",
    "{}",
    "=",
    "\n",
    "#",
    "100%",
];

type Damage = Vec<(Index, &'static str)>;

fn damage() -> impl Strategy<Value = Damage> {
    prop::collection::vec((any::<Index>(), select(&WORDS[..])), 1..6)
}

/// `text` with some of its words replaced.
fn damaged(text: &str, damage: &Damage) -> String {
    let is_word = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    for (at, word) in damage {
        let at = at.index(pieces.len());
        pieces[at] = word;
    }
    pieces.concat()
}

fn one_line(error: &impl ToString) -> Result<(), TestCaseError> {
    let error = error.to_string();
    prop_assert!(!error.is_empty() && !error.contains('\n'), "{error:?}");
    Ok(())
}

fn read_disk(text: &str) -> Result<(), TestCaseError> {
    match DiskSpec::from_toml(text, "disk.toml") {
        // An accepted description can be built. A drive of more than a few terabytes would only cost time here.
        Ok(spec) => prop_assert!(spec.build().is_ok(), "{text}"),
        Err(e) => one_line(&e)?,
    }
    Ok(())
}

fn read_machine(text: &str) -> Result<(), TestCaseError> {
    match Machine::from_toml(text, Path::new("machine.toml")) {
        Ok(machine) => prop_assert!(machine.check().is_ok() && machine.capacity() > 0, "{text}"),
        Err(e) => one_line(&e)?,
    }
    Ok(())
}

fn read_jobs(text: &str) -> Result<(), TestCaseError> {
    match FioJobs::parse(text, "job.fio").and_then(|jobs| FioSource::new(&jobs, CAPACITY, 1)) {
        Ok(_) => {}
        Err(e) => one_line(&e)?,
    }
    Ok(())
}

fn read_generators(text: &str) -> Result<(), TestCaseError> {
    match GangerSpec::from_toml(text, "g.toml").and_then(|spec| on_own_cpus(&spec, CAPACITY, 1)) {
        Ok(_) => {}
        Err(e) => one_line(&e)?,
    }
    Ok(())
}

#[test]
fn undamaged_descriptions_are_read() {
    for machine in [MACHINE, CONTROLLED] {
        assert!(Machine::from_toml(machine, Path::new("machine.toml")).is_ok());
    }
    for jobs in JOBS {
        assert!(FioJobs::parse(jobs, "job.fio").is_ok());
    }
    assert!(GangerSpec::from_toml(GENERATORS, "g.toml").is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_on_noise(text in "([\\[\\]a-z_ =\"{}.#0-9\\-%$:/,\n]|\\PC){0,120}") {
        read_disk(&text)?;
        read_machine(&text)?;
        read_jobs(&text)?;
        read_generators(&text)?;
    }

    #[test]
    fn nothing_panics_on_damaged_disks(name in select(Catalogue::names().collect::<Vec<_>>()), damage in damage()) {
        read_disk(&damaged(Catalogue::toml(name).expect("the catalogue has it"), &damage))?;
    }

    #[test]
    fn nothing_panics_on_damaged_machines(machine in select(&[MACHINE, CONTROLLED][..]), damage in damage()) {
        read_machine(&damaged(machine, &damage))?;
    }

    #[test]
    fn nothing_panics_on_damaged_job_files(jobs in select(&JOBS[..]), damage in damage()) {
        read_jobs(&damaged(jobs, &damage))?;
    }

    #[test]
    fn nothing_panics_on_damaged_generators(damage in damage()) {
        read_generators(&damaged(GENERATORS, &damage))?;
    }
}
