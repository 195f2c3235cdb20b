//! [`Rival`]: other caches that a user could put over a disk, with as many bytes of memory.

use super::memory_limit::MemoryLimit;
use crate::mounts::tool;
use anyhow::{Context as _, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The size of each cache, bytes.
pub(super) const CACHE: u64 = 64 << 20;
/// Sectors of a block of dm-cache, as large as a segment of the REDCAP cache.
const BLOCK_SECTORS: u64 = 256;
/// Bytes of dm-cache's metadata: 4 MiB, and 16 bytes for each block of the cache
/// (`Documentation/admin-guide/device-mapper`).
const METADATA: u64 = (4 << 20) + 16 * CACHE / (512 * BLOCK_SECTORS);
/// The longest time until a program's device exists.
const PATIENCE: Duration = Duration::from_secs(10);
/// Memory of nbdkit beyond its cache, for itself and for the kernel's pages of the disk, bytes. Its 64 threads take
/// nearly 60 MiB once each has read 128 KiB.
const BESIDE: u64 = 96 << 20;
const NBD: &str = "/dev/nbd0";

/// Another cache in RAM over a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    /// nbdkit's filter `cache`, which keeps what was read.
    NbdkitCache,
    /// nbdkit's filter `readahead` above that.
    NbdkitReadahead,
    /// The kernel's dm-cache over memory.
    DmCache,
}

impl Rival {
    /// The name in tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NbdkitCache => "nbdkit cache",
            Self::NbdkitReadahead => "nbdkit readahead+cache",
            Self::DmCache => "dm-cache",
        }
    }

    /// What the cache needs and this machine does not have; `None` if it can be used.
    pub(super) fn missing(self) -> Option<String> {
        let needs = |programs: &[&str]| {
            programs.iter().find(|program| !is_program(program)).map(|program| format!("needs the program {program}"))
        };
        match self {
            Self::NbdkitCache | Self::NbdkitReadahead => needs(&["nbdkit"]).or_else(|| {
                let client = NbdClient::new();
                client.is_none().then(|| format!("needs nbd-client and {NBD}, or nbdfuse and losetup"))
            }),
            Self::DmCache => needs(&["dmsetup", "losetup"]).or_else(|| {
                // The module may not be loaded yet.
                let _ =
                    Command::new("modprobe").args(["-q", "dm-cache", "dm-cache-smq"]).stderr(Stdio::null()).status();
                let out = Command::new("dmsetup").arg("targets").stdin(Stdio::null()).output().ok()?;
                let targets = String::from_utf8_lossy(&out.stdout).into_owned();
                let has = targets.lines().any(|line| line.split_whitespace().next() == Some("cache"));
                (!has).then(|| "needs a kernel with dm-cache".to_owned())
            }),
        }
    }

    /// Puts the cache over `disk`, which has `sectors`. Its files go to `folder`, which is in memory.
    pub(super) fn attach(self, disk: &Path, sectors: u64, folder: &Path) -> anyhow::Result<RivalCache> {
        let mut attached = RivalCache {
            device: PathBuf::new(),
            programs: Vec::new(),
            undo: Vec::new(),
            files: Vec::new(),
            memory: None,
        };
        match self {
            Self::NbdkitCache => attached.nbdkit(disk, folder, false),
            Self::NbdkitReadahead => attached.nbdkit(disk, folder, true),
            Self::DmCache => attached.dm_cache(disk, sectors, folder),
        }
        .with_context(|| format!("attaching {}", self.name()))?;
        Ok(attached)
    }
}

/// Makes a block device of an NBD server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NbdClient {
    /// The kernel's driver.
    Kernel,
    /// FUSE and a loop device.
    Fuse,
}

impl NbdClient {
    fn new() -> Option<Self> {
        match () {
            () if is_program("nbd-client") && Path::new(NBD).exists() => Some(Self::Kernel),
            () if is_program("nbdfuse") && is_program("losetup") => Some(Self::Fuse),
            () => None,
        }
    }
}

/// A rival's block device. Detached when dropped.
pub(super) struct RivalCache {
    pub(super) device: PathBuf,
    /// The programs that serve it, in the order in which they were started.
    programs: Vec<Child>,
    /// Commands that detach it, in the reverse order.
    undo: Vec<Vec<String>>,
    files: Vec<PathBuf>,
    /// The programs' memory limit.
    memory: Option<MemoryLimit>,
}

impl RivalCache {
    fn nbdkit(&mut self, disk: &Path, folder: &Path, readahead: bool) -> anyhow::Result<()> {
        let socket = folder.join("nbd.sock");
        // Its plugin reads through the kernel's page cache, which would be a second cache without a limit.
        self.memory = MemoryLimit::new("nbdkit", CACHE + BESIDE).ok();
        let mut nbdkit = self.memory.as_ref().map_or_else(|| Command::new("nbdkit"), |memory| memory.command("nbdkit"));
        // The filter keeps its blocks in an unlinked file in `TMPDIR`.
        nbdkit.args(nbdkit_words(disk, &socket, readahead)).env("TMPDIR", folder);
        self.files.push(socket.clone());
        self.start(&mut nbdkit)?;
        wait_for(&socket)?;
        match NbdClient::new().context("no client of NBD")? {
            NbdClient::Kernel => {
                tool(Command::new("nbd-client").arg("-unix").arg(&socket).args([NBD, "-b", "512"]))?;
                self.undo.push(words(&["nbd-client", "-d", NBD]));
                self.device = NBD.into();
            }
            NbdClient::Fuse => {
                let place = folder.join("nbdfuse");
                fs::create_dir(&place).context("making a mount point")?;
                self.files.push(place.clone());
                let file = place.join("disk");
                let uri = format!("nbd+unix:///?socket={}", socket.display());
                self.undo.push(words(&["umount", &place.to_string_lossy()]));
                self.start(Command::new("nbdfuse").arg(&file).arg(uri))?;
                wait_for(&file)?;
                self.device = self.loop_device(&file, true)?;
            }
        }
        Ok(())
    }

    fn dm_cache(&mut self, disk: &Path, sectors: u64, folder: &Path) -> anyhow::Result<()> {
        let mut memory = |name: &str, bytes: u64| -> anyhow::Result<PathBuf> {
            let file = folder.join(name);
            File::create(&file).and_then(|new| new.set_len(bytes)).context("making a file in memory")?;
            self.files.push(file.clone());
            self.loop_device(&file, false)
        };
        let (metadata, cache) = (memory("dm-metadata", METADATA)?, memory("dm-cache", CACHE)?);
        let name = format!("iopilot-lab-{}", std::process::id());
        let table = dm_table(sectors, &metadata, &cache, disk);
        tool(Command::new("dmsetup").args(["create", &name, "--table", &table]))?;
        self.undo.push(words(&["dmsetup", "remove", "--retry", &name]));
        self.device = Path::new("/dev/mapper").join(name);
        Ok(())
    }

    fn loop_device(&mut self, file: &Path, direct: bool) -> anyhow::Result<PathBuf> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show"]).args(direct.then_some("--direct-io=on")).arg(file);
        let out = losetup.stdin(Stdio::null()).output().context("running losetup")?;
        let path = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        if !out.status.success() || path.is_empty() {
            bail!("losetup: {}", String::from_utf8_lossy(&out.stderr).trim_end());
        }
        self.undo.push(words(&["losetup", "--detach", &path]));
        Ok(path.into())
    }

    fn start(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let name = command.get_program().to_string_lossy().into_owned();
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        self.programs.push(started.with_context(|| format!("running {name}"))?);
        Ok(())
    }
}

impl Drop for RivalCache {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            if let Err(e) = tool(Command::new(&command[0]).args(&command[1..])) {
                eprintln!("{e:#}");
            }
        }
        for program in self.programs.iter_mut().rev() {
            let _ = program.kill();
            let _ = program.wait();
        }
        for file in self.files.iter().rev() {
            let _ = if file.is_dir() { fs::remove_dir(file) } else { fs::remove_file(file) };
        }
    }
}

/// The arguments of nbdkit (nbdkit(1), nbdkit-cache-filter(1), nbdkit-readahead-filter(1)). Filters come from the
/// outermost to the innermost, and `readahead` makes the filter below it cache.
fn nbdkit_words(disk: &Path, socket: &Path, readahead: bool) -> Vec<String> {
    let mut nbdkit = words(&["--foreground", "--exit-with-parent", "--unix"]);
    nbdkit.push(socket.to_string_lossy().into_owned());
    nbdkit.extend(readahead.then(|| "--filter=readahead".to_owned()));
    nbdkit.extend(words(&["--filter=cache", "file"]));
    nbdkit.push(format!("file={}", disk.display()));
    nbdkit.extend(words(&["cache=writethrough", "cache-on-read=true"]));
    nbdkit.push(format!("cache-max-size={CACHE}"));
    nbdkit
}

/// The table of dm-cache (`Documentation/admin-guide/device-mapper/cache.rst`).
fn dm_table(sectors: u64, metadata: &Path, cache: &Path, disk: &Path) -> String {
    let (metadata, cache, disk) = (metadata.display(), cache.display(), disk.display());
    format!("0 {sectors} cache {metadata} {cache} {disk} {BLOCK_SECTORS} 1 writethrough smq 0")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn is_program(name: &str) -> bool {
    let mut asked = Command::new("sh");
    asked.args(["-c", "command -v \"$0\"", name]).stdin(Stdio::null()).stdout(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

fn wait_for(path: &Path) -> anyhow::Result<()> {
    let began = Instant::now();
    while !path.exists() {
        if began.elapsed() > PATIENCE {
            bail!("{} did not come", path.display());
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nbdkit_gets_as_much_memory_and_its_filters_in_order() {
        let (disk, socket) = (Path::new("/dev/loop3"), Path::new("/dev/shm/x/nbd.sock"));
        assert_eq!(
            nbdkit_words(disk, socket, true).join(" "),
            "--foreground --exit-with-parent --unix /dev/shm/x/nbd.sock --filter=readahead --filter=cache file \
             file=/dev/loop3 cache=writethrough cache-on-read=true cache-max-size=67108864"
        );
        assert!(!nbdkit_words(disk, socket, false).contains(&"--filter=readahead".to_owned()));
    }

    #[test]
    fn the_table_of_dm_cache_has_blocks_of_a_segment() {
        let [metadata, cache, disk] = ["/dev/loop4", "/dev/loop5", "/dev/loop3"].map(Path::new);
        assert_eq!(
            dm_table(2_097_152, metadata, cache, disk),
            "0 2097152 cache /dev/loop4 /dev/loop5 /dev/loop3 256 1 writethrough smq 0"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        for rival in [Rival::NbdkitCache, Rival::NbdkitReadahead, Rival::DmCache] {
            assert!(rival.missing().is_none_or(|why| why.starts_with("needs ")), "{}", rival.name());
        }
    }
}
