//! [`Benchmark`]: what the processes read, through the page cache (GF 2.4.3).

use crate::threads::in_threads;
use iopilot_live::Signals;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KIB: u64 = 1024;

/// One of the benchmarks. Each process reads a file, or a tree, of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Benchmark {
    /// A file is read from its beginning, 64 kB at a time.
    Ior,
    /// Every file of a tree is read.
    Lkr,
    /// 4 kB are read, then 512 kB are left out.
    Strided512,
    /// A file is read from its end, 8 kB at a time.
    Tac,
    /// 4 kB are read, then 8 kB are left out.
    Strided8,
    /// 4 kB are read anywhere in a file that two processes share: one has the highest priority of the best-effort
    /// class, the other the lowest. This is not one of the source's benchmarks.
    Random,
}

/// What is read in a row of benchmarks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BenchmarkLoad {
    pub(super) processes: u32,
    /// The share of the full amount that is read.
    pub(super) share: f64,
}

impl Benchmark {
    /// In the source's order (GF 4.5.3).
    pub(super) const ALL: [Self; 5] = [Self::Ior, Self::Lkr, Self::Strided512, Self::Tac, Self::Strided8];

    /// For the full amount: the number of reads that a process makes of its large file, the bytes of each, and the
    /// distance between two.
    fn reads(self) -> (u64, u64, u64) {
        match self {
            Self::Ior => (900, 64 * KIB, 64 * KIB),
            Self::Strided512 => (540, 4 * KIB, 516 * KIB),
            Self::Tac => (1000, 8 * KIB, 8 * KIB),
            Self::Strided8 => (600, 4 * KIB, 12 * KIB),
            Self::Random => (160, 4 * KIB, 0),
            Self::Lkr => (0, 0, 0),
        }
    }

    /// Runs all processes, in the file system mounted at `root`.
    pub(super) fn run(self, root: &Path, load: &BenchmarkLoad, signals: &Signals) -> io::Result<()> {
        let of_a_file = if self == Self::Random { 2 } else { 1 };
        let work = |n: u32| self.process(&folder(root, n / of_a_file), n, load.share, signals);
        in_threads(of_a_file * load.processes, work)
    }

    fn process(self, folder: &Path, n: u32, share: f64, signals: &Signals) -> io::Result<()> {
        if self == Self::Lkr {
            return read_tree(&folder.join(TREE), signals);
        }
        let file = File::open(folder.join(LARGE))?;
        let size = file.metadata()?.len();
        let (reads, bytes, apart) = self.reads();
        let mut data = vec![0; bytes as usize];
        let mut random = Pcg64Mcg::seed_from_u64(u64::from(n));
        if self == Self::Random {
            // Turns the kernel's read-ahead off.
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
            prioritise(if n % 2 == 0 { 0 } else { 7 })?;
        }
        for n in 0..(reads as f64 * share).ceil() as u64 {
            if signals.caught().is_some() {
                return Ok(());
            }
            let at = match self {
                Self::Tac => size - (n + 1) * bytes,
                Self::Random => random.random_range(0..size / bytes) * bytes,
                // At the end of the file, begins again one read further on.
                _ => {
                    let a_round = (size - bytes) / apart;
                    n % a_round * apart + n / a_round * bytes
                }
            };
            file.read_exact_at(&mut data, at)?;
        }
        Ok(())
    }
}

/// Gives the calling thread `level` of the best-effort class, from 0 to 7.
fn prioritise(level: u8) -> io::Result<()> {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("ionice");
    command.args(["-c", "2", "-n", &level.to_string(), "-p", &thread]).stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(io::Error::other(format!("ionice ended with {status}"))),
        Err(e) => Err(io::Error::other(format!("running ionice (of util-linux): {e}"))),
    }
}

/// The folder that process `n` reads.
pub(super) fn folder(root: &Path, n: u32) -> PathBuf {
    root.join(format!("p{n}"))
}

/// The names of a process' large file and of its tree.
pub(super) const LARGE: &str = "large";
pub(super) const TREE: &str = "tree";

fn read_tree(root: &Path, signals: &Signals) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(root)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let mut data = Vec::new();
    for path in entries {
        if signals.caught().is_some() {
            return Ok(());
        }
        if path.is_dir() {
            read_tree(&path, signals)?;
        } else {
            data.clear();
            File::open(&path)?.read_to_end(&mut data)?;
        }
    }
    Ok(())
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ior => "IOR",
            Self::Lkr => "LKR",
            Self::Strided512 => "512k-SR",
            Self::Tac => "TAC",
            Self::Strided8 => "8k-SR",
            Self::Random => "random",
        })
    }
}
