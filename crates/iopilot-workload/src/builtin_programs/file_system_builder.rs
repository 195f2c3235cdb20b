//! [`FileSystemBuilder`]: the files that exist before a workload begins.

use iopilot_block::InputError;
use iopilot_host::{BLOCK_BYTES, CacheSettings, FileError, FileId, FileKind, FileSetup, FileSystem, Ufs, UfsSettings};
use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// A file system that is being filled.
pub(super) struct FileSystemBuilder {
    ufs: Ufs,
    next: u32,
    pub(super) random: Pcg64Mcg,
    cached: Vec<FileId>,
}

/// A filled file system.
pub(super) struct FilledFileSystem {
    ufs: Ufs,
    cached: Vec<FileId>,
}

impl FilledFileSystem {
    /// The file system with a cache of these settings.
    pub(super) fn under(self, cache: CacheSettings) -> FileSetup {
        FileSetup { system: Box::new(self.ufs), cache, cached: self.cached }
    }
}

/// A directory with files in it.
pub(super) struct DirectoryTree {
    /// Directories, each after its parent.
    pub(super) directories: Vec<FileId>,
    /// Files: the index of the directory, the file, and its bytes.
    pub(super) files: Vec<(usize, FileId, u64)>,
}

impl FileSystemBuilder {
    pub(super) fn new(settings: UfsSettings, capacity: u64, seed: u64) -> Result<Self, InputError> {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Ok(Self { ufs: Ufs::new(settings, capacity)?, next: FileId::ROOT.0 + 1, random, cached: Vec::new() })
    }

    /// From now on, places `share` of the blocks further on in the group instead of right behind the previous block.
    pub(super) fn age(&mut self, share: f64) {
        let seed = self.random.random();
        self.ufs.scatter(share, seed);
    }

    /// The number of a file to be created.
    pub(super) fn name(&mut self) -> FileId {
        self.next += 1;
        FileId(self.next - 1)
    }

    pub(super) fn directory(&mut self, parent: FileId) -> Result<FileId, FileError> {
        let file = self.name();
        self.ufs.create(parent, file, FileKind::Directory, &mut Vec::new())?;
        Ok(file)
    }

    pub(super) fn file(&mut self, parent: FileId, bytes: u64) -> Result<FileId, FileError> {
        let file = self.name();
        self.ufs.create(parent, file, FileKind::Regular, &mut Vec::new())?;
        self.ufs.write(file, bytes, &mut Vec::new())?;
        Ok(file)
    }

    /// Checks that there is room for `bytes` more.
    pub(super) fn reserve(&self, bytes: u64) -> Result<(), FileError> {
        if self.ufs.free_blocks() < bytes.div_ceil(BLOCK_BYTES) { Err(FileError::Full) } else { Ok(()) }
    }

    /// Puts the file into the cache at the start of the workload.
    pub(super) fn cache(&mut self, file: FileId) {
        self.cached.push(file);
    }

    /// `count` file sizes with a sum of `bytes`, log-normal around their mean.
    pub(super) fn sizes(&mut self, count: usize, bytes: u64, sigma: f64) -> Vec<u64> {
        let weights: Vec<f64> =
            (0..count).map(|_| (sigma * self.random.sample::<f64, _>(StandardNormal)).exp()).collect();
        let all: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| (weight / all * bytes as f64).round().max(1.0) as u64).collect()
    }

    /// A tree of `directories` (at least 1) under `parent`, with files of these sizes spread over them.
    pub(super) fn tree(
        &mut self,
        parent: FileId,
        directories: usize,
        sizes: &[u64],
    ) -> Result<DirectoryTree, FileError> {
        let mut tree = DirectoryTree { directories: vec![self.directory(parent)?], files: Vec::new() };
        for _ in 1..directories {
            let parent = tree.directories[self.random.random_range(0..tree.directories.len())];
            let directory = self.directory(parent)?;
            tree.directories.push(directory);
        }
        for &bytes in sizes {
            let at = self.random.random_range(0..tree.directories.len());
            let file = self.file(tree.directories[at], bytes)?;
            tree.files.push((at, file, bytes));
        }
        Ok(tree)
    }

    /// The parent of a directory of a tree, by index; `None` for its root.
    pub(super) fn parent(&self, tree: &DirectoryTree, directory: usize) -> Option<usize> {
        let parent = self.ufs.parent(tree.directories[directory])?;
        tree.directories.iter().position(|&other| other == parent)
    }

    pub(super) fn fill(self) -> FilledFileSystem {
        let Self { ufs, cached, .. } = self;
        FilledFileSystem { ufs, cached }
    }
}
