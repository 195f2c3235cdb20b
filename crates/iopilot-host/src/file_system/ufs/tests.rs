use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const FILE: FileId = FileId(10);
const DIRECTORY: FileId = FileId(11);

fn disk() -> Ufs {
    // 1 GiB.
    Ufs::new(UfsSettings::default(), 1 << 21).unwrap()
}

fn synchronous(changes: &[Metadata]) -> usize {
    changes.iter().filter(|change| change.update == Some(MetadataUpdate::Sync)).count()
}

#[test]
fn a_created_file_costs_one_write_and_a_removed_file_two() {
    let (mut ufs, mut out) = (disk(), Vec::new());
    ufs.create(FileId::ROOT, FILE, FileKind::Regular, &mut out).unwrap();
    assert_eq!(synchronous(&out), 1, "{out:?}");
    out.clear();
    ufs.write(FILE, 30_000, &mut out).unwrap();
    assert_eq!(synchronous(&out), 0, "data and the inode come later");
    ufs.remove(FILE, &mut out).unwrap();
    assert_eq!(synchronous(&out), 2);
    out.clear();
    ufs.create(FileId::ROOT, DIRECTORY, FileKind::Directory, &mut out).unwrap();
    assert_eq!(synchronous(&out), 6);
    assert_eq!(ufs.create(DIRECTORY, DIRECTORY, FileKind::Regular, &mut out), Err(FileError::Exists(DIRECTORY)));
    assert_eq!(ufs.remove(FILE, &mut out), Err(FileError::Missing(FILE)));
    ufs.create(DIRECTORY, FILE, FileKind::Regular, &mut out).unwrap();
    assert_eq!(ufs.remove(DIRECTORY, &mut out), Err(FileError::NotEmpty(DIRECTORY)));
    assert_eq!(ufs.create(FILE, FileId(12), FileKind::Regular, &mut out), Err(FileError::NoDirectory(FILE)));
}

#[test]
fn files_are_near_their_directory_and_directories_far_apart() {
    let (mut ufs, mut out) = (disk(), Vec::new());
    let group = |ufs: &Ufs, file| ufs.map(file, 0).unwrap().block / ufs.settings.group_blocks;
    let mut groups = BTreeSet::new();
    for d in 0..8 {
        let (directory, file) = (FileId(100 + d), FileId(200 + d));
        ufs.create(FileId::ROOT, directory, FileKind::Directory, &mut out).unwrap();
        ufs.create(directory, file, FileKind::Regular, &mut out).unwrap();
        ufs.write(file, 20_000, &mut out).unwrap();
        assert_eq!(group(&ufs, file), group(&ufs, directory));
        groups.insert(group(&ufs, file));
    }
    assert_eq!(groups.len(), 8);
}

#[test]
fn a_large_file_has_indirect_blocks_and_leaves_its_group() {
    let (mut ufs, mut out) = (disk(), Vec::new());
    ufs.create(FileId::ROOT, FILE, FileKind::Regular, &mut out).unwrap();
    ufs.write(FILE, 30_700_000, &mut out).unwrap();
    let by = |page| ufs.map(FILE, page).unwrap().by;
    assert_eq!((by(0), by(11)), (None, None));
    assert_eq!(by(12), by(1035));
    assert!(by(12).is_some() && by(1036) != by(12));
    assert_eq!(ufs.map(FILE, 7496), None, "30.7 MB are 7,496 pages");
    let groups: BTreeSet<u64> = (0..7496).map(|p| ufs.map(FILE, p).unwrap().block / 2048).collect();
    assert!(groups.len() >= 29, "{}", groups.len());
    let jumps = (1..7496).filter(|&p| ufs.map(FILE, p).unwrap().block != ufs.map(FILE, p - 1).unwrap().block + 1);
    assert!(jumps.count() < 70, "mostly in a row");
    let mut path = Vec::new();
    assert_eq!(ufs.lookup(FILE, &mut path), Ok(1));
    assert_eq!(path.len(), 3, "the root's inode, its names, the inode");
}

#[test]
fn a_full_disk_is_an_error() {
    let mut ufs = Ufs::new(UfsSettings::default(), 1 << 15).unwrap();
    ufs.create(FileId::ROOT, FILE, FileKind::Regular, &mut Vec::new()).unwrap();
    assert_eq!(ufs.write(FILE, 1 << 30, &mut Vec::new()), Err(FileError::Full));
    assert!(
        Ufs::new(UfsSettings::default(), 1000).unwrap_err().to_string().contains("expected at least 16384 sectors")
    );
    let wrong = UfsSettings { bytes_per_inode: 128, ..UfsSettings::default() };
    assert!(Ufs::new(wrong, 1 << 21).unwrap_err().to_string().contains("filesystem.bytes_per_inode"));
}

/// The random parts of a test: files, operations and sizes.
fn operations() -> impl Strategy<Value = Vec<(u32, u8, u64)>> {
    proptest::collection::vec((2u32..40, 0u8..8, 0u64..3_000_000), 1..300)
}

proptest! {
    #[test]
    fn no_block_is_in_two_files_and_free_and_used_blocks_are_all_blocks(operations in operations(), scatter in 0.0f64..1.0) {
        let mut ufs = Ufs::new(UfsSettings::default(), 1 << 18).unwrap();
        ufs.scatter(scatter, 7);
        let empty = ufs.free_blocks();
        let mut out = Vec::new();
        for (file, what, bytes) in operations {
            let (file, parent) = (FileId(file), FileId(1 + file / 8));
            // Whether the operation succeeds does not matter here.
            let _ = match what {
                0 => ufs.create(parent, file, FileKind::Directory, &mut out),
                1 | 2 => ufs.create(parent, file, FileKind::Regular, &mut out),
                3 => ufs.remove(file, &mut out),
                4 => ufs.truncate(file, &mut out),
                _ => ufs.write(file, bytes, &mut out),
            };
        }
        let mut seen = BTreeSet::new();
        for (file, inode) in &ufs.files {
            let mut blocks = Vec::new();
            ufs.own_metadata(*file, &mut blocks);
            if inode.directory.is_none() {
                blocks.extend((0..inode.extents.pages()).map(|page| ufs.map(*file, page).unwrap().block));
            }
            for block in blocks {
                prop_assert!(seen.insert(block), "block {block} is in two files");
            }
            prop_assert!(inode.bytes <= inode.extents.pages() * BLOCK_BYTES);
        }
        // The root's first block was taken before.
        prop_assert_eq!(empty - ufs.free_blocks(), seen.len() as u64 - 1);
        let mut files: Vec<FileId> = ufs.files.keys().copied().filter(|file| *file != FileId::ROOT).collect();
        while !files.is_empty() {
            files.retain(|file| ufs.remove(*file, &mut out).is_err());
        }
        let root = ufs.files[&FileId::ROOT].extents.pages();
        prop_assert_eq!(ufs.free_blocks(), empty + 1 - root);
    }
}
