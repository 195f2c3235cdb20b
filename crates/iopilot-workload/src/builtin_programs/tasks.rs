//! The four tasks of Ganger 5.2. Their traces are lost. Their behaviour follows from their request counts, and from the CPU
//! times of Tables 7.3 to 7.5.

use super::file_system_builder::{FileSystemBuilder, FilledFileSystem};
use super::script_builder::ScriptBuilder;
use iopilot_block::Nanos;
use iopilot_host::{BLOCK_BYTES, FileCall, FileError, FileId, TaskSpec};

/// Size in bytes of the file of compress and uncompress, plain and compressed.
const PLAIN: f64 = 30.7e6;
const COMPRESSED: f64 = 10.7e6;
/// Files and bytes of the tree, and its directories.
const FILES: f64 = 535.0;
const TREE: f64 = 14.3e6;
const DIRECTORIES: f64 = 12.0;
/// The spread of the sizes of files.
const SIGMA: f64 = 1.2;
/// Pages of a program that are read when it starts.
const IMAGE: u64 = 12 * BLOCK_BYTES;

/// Computation in milliseconds on a 33 MHz 486, without the kernel's: for each page that is read, or written by copytree, and
/// for each file and directory that is removed. With the kernel's it sums to 160.6 s for compress (Table 7.3), 90.3 s for
/// uncompress, 17.2 s for copytree and 3.05 s for removetree.
const COMPRESS_MS: f64 = 21.1;
const UNCOMPRESS_MS: f64 = 33.9;
const COPY_MS: f64 = 3.99;
const REMOVE_MS: f64 = 4.73;

/// The share of a large file's blocks that are not placed right behind the previous one: of compress' reads, 9.9 % miss the
/// disk's buffer (Table 7.3).
const AGED_FILE: f64 = 0.1;
/// The same share for a tree of users' files: of copytree's reads, only 4 % hit the disk's buffer (Table 7.5).
const AGED: f64 = 0.9;

type Built = Result<(Vec<TaskSpec>, FilledFileSystem), FileError>;

fn scaled(of: f64, scale: f64) -> u64 {
    (of * scale).round().max(1.0) as u64
}

fn task(name: &str, lines: ScriptBuilder) -> TaskSpec {
    TaskSpec { name: name.into(), program: lines.script().into(), start: Nanos::ZERO, is_task: true }
}

/// Starts a program from the disk: reads its image.
fn start(layout: &mut FileSystemBuilder) -> Result<ScriptBuilder, FileError> {
    let programs = layout.directory(FileId::ROOT)?;
    let image = layout.file(programs, IMAGE)?;
    let mut lines = ScriptBuilder::default();
    lines.open(image);
    lines.read_all(image, IMAGE, 0.0);
    Ok(lines)
}

/// Makes from a file of `from` bytes another of `to` bytes, page by page, and removes the first.
fn transform(name: &str, (from, to): (u64, u64), ms: f64, aged: Option<f64>, mut layout: FileSystemBuilder) -> Built {
    let mut lines = start(&mut layout)?;
    let home = layout.directory(FileId::ROOT)?;
    let directory = layout.directory(home)?;
    layout.age(aged.unwrap_or(AGED_FILE));
    let (source, target) = (layout.file(directory, from)?, layout.name());
    layout.reserve(to)?;
    lines.open(source);
    lines.create(directory, target);
    let mut written = 0;
    for page in 0..from.div_ceil(BLOCK_BYTES) {
        lines.read(source, page * BLOCK_BYTES);
        lines.compute(ms);
        let done = ((page + 1) * BLOCK_BYTES).min(from);
        let made = (done as f64 / from as f64 * to as f64) as u64;
        while made - written >= BLOCK_BYTES {
            lines.write(target, written, BLOCK_BYTES);
            written += BLOCK_BYTES;
        }
    }
    if to > written {
        lines.write(target, written, to - written);
    }
    lines.remove(source);
    Ok((vec![task(name, lines)], layout.fill()))
}

pub(super) fn compress(scale: f64, aged: Option<f64>, layout: FileSystemBuilder) -> Built {
    let sizes = (scaled(PLAIN, scale), scaled(COMPRESSED, scale));
    transform("compress", sizes, COMPRESS_MS, aged, layout)
}

pub(super) fn uncompress(scale: f64, aged: Option<f64>, layout: FileSystemBuilder) -> Built {
    let sizes = (scaled(COMPRESSED, scale), scaled(PLAIN, scale));
    transform("uncompress", sizes, UNCOMPRESS_MS, aged, layout)
}

/// `cp -r`: directory by directory, file by file, page by page.
pub(super) fn copytree(scale: f64, aged: Option<f64>, mut layout: FileSystemBuilder) -> Built {
    let mut lines = start(&mut layout)?;
    let home = layout.directory(FileId::ROOT)?;
    layout.age(aged.unwrap_or(AGED));
    let sizes = layout.sizes(scaled(FILES, scale) as usize, scaled(TREE, scale), SIGMA);
    let tree = layout.tree(home, scaled(DIRECTORIES, scale) as usize, &sizes)?;
    layout.reserve(sizes.iter().map(|bytes| bytes.next_multiple_of(BLOCK_BYTES)).sum())?;
    // The copy is placed in free space, which is less scattered than the old files.
    layout.age(AGED_FILE);
    let mut copies: Vec<FileId> = Vec::new();
    for directory in 0..tree.directories.len() {
        let copy = layout.name();
        let parent = layout.parent(&tree, directory).map_or(home, |parent| copies[parent]);
        copies.push(copy);
        lines.make_directory(parent, copy);
        lines.open(tree.directories[directory]);
        lines.file(FileCall::ReadDir(tree.directories[directory]));
        for &(_, file, bytes) in tree.files.iter().filter(|(at, ..)| *at == directory) {
            let target = layout.name();
            lines.open(file);
            lines.create(copy, target);
            for offset in (0..bytes).step_by(BLOCK_BYTES as usize) {
                lines.read(file, offset);
                lines.compute(COPY_MS);
                lines.write(target, offset, BLOCK_BYTES.min(bytes - offset));
            }
        }
    }
    Ok((vec![task("copytree", lines)], layout.fill()))
}

/// `rm -r` of a freshly made tree, most of which is in the cache.
pub(super) fn removetree(scale: f64, aged: Option<f64>, mut layout: FileSystemBuilder) -> Built {
    let mut lines = start(&mut layout)?;
    let home = layout.directory(FileId::ROOT)?;
    layout.age(aged.unwrap_or(AGED_FILE));
    let sizes = layout.sizes(scaled(FILES, scale) as usize, scaled(TREE, scale), SIGMA);
    let tree = layout.tree(home, scaled(DIRECTORIES, scale) as usize, &sizes)?;
    tree.directories.iter().for_each(|&directory| layout.cache(directory));
    for (directory, &own) in tree.directories.iter().enumerate().rev() {
        lines.open(own);
        lines.file(FileCall::ReadDir(own));
        for &(_, file, _) in tree.files.iter().filter(|(at, ..)| *at == directory) {
            layout.cache(file);
            lines.compute(REMOVE_MS);
            lines.remove(file);
        }
        lines.compute(REMOVE_MS);
        lines.remove(own);
    }
    Ok((vec![task("removetree", lines)], layout.fill()))
}
