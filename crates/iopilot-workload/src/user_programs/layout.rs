//! The initial files of a description, on the disk.

use super::event::{PositionSpec, ProgramAction};
use super::spec::{FileNode, UserProgramsSpec};
use iopilot_block::{InputError, SECTOR_BYTES};
use iopilot_host::{CacheSettings, FileError, FileId, FileKind, FileSetup, FileSystem, Ufs, UfsSettings};

impl UserProgramsSpec {
    /// Whether it needs a file system.
    fn has_files(&self) -> bool {
        !self.nodes.is_empty() || self.actors().iter().any(|actor| actor.list.has(ProgramAction::is_on_files))
    }

    /// The files on a disk of `capacity` sectors, with a cache; `None` if there are none.
    pub(super) fn layout(
        &self,
        settings: UfsSettings,
        cache: CacheSettings,
        capacity: u64,
    ) -> Result<Option<FileSetup>, InputError> {
        if !self.has_files() {
            return Ok(None);
        }
        let mut ufs = Ufs::new(settings, capacity).map_err(|error| error.in_file(&self.source_name))?;
        let mut cached = Vec::new();
        let bytes_of_disk = capacity.saturating_mul(SECTOR_BYTES);
        for (n, node) in self.nodes.iter().enumerate() {
            let is_there = node.kind == FileKind::Directory || node.bytes.is_some();
            if !is_there {
                continue;
            }
            let (file, bytes) = (FileNode::id(n), node.bytes.unwrap_or(0));
            let error = |why: &str| {
                let expected = format!("a file that fits the disk of {bytes_of_disk} bytes: {why}");
                self.error(node.line, "size", format!("{} of {bytes} bytes", node.name), expected)
            };
            if bytes > bytes_of_disk {
                return Err(error("it is larger"));
            }
            let parent = node.directory.map_or(FileId::ROOT, FileNode::id);
            let refused = |e: FileError| error(&e.to_string());
            ufs.create(parent, file, node.kind, &mut Vec::new()).map_err(refused)?;
            if bytes > 0 {
                ufs.write(file, bytes, &mut Vec::new()).map_err(refused)?;
            }
            cached.extend(node.is_cached.then_some(file));
        }
        Ok(Some(FileSetup { system: Box::new(ufs), cache, cached }))
    }

    /// Checks that reads and writes at given positions are on a disk of `capacity` sectors.
    pub(super) fn check_places(&self, capacity: u64) -> Result<(), InputError> {
        let mut beyond = None;
        let bytes_of_disk = capacity.saturating_mul(SECTOR_BYTES);
        for actor in self.actors() {
            actor.list.each(|line, action, _| {
                let wrong = match *action {
                    ProgramAction::Io { place: PositionSpec::At(lba), sectors, .. }
                        if lba + u64::from(sectors) > capacity =>
                    {
                        let expected = format!("sectors of the disk, which has {capacity}");
                        Some(("lba", format!("{sectors} sectors at {lba}"), expected))
                    }
                    ProgramAction::Io { sectors, .. } if u64::from(sectors) > capacity => {
                        let expected = format!("at most the {capacity} of the disk");
                        Some(("sectors", sectors.to_string(), expected))
                    }
                    ProgramAction::Write { place: PositionSpec::At(offset), bytes, .. }
                        if offset + bytes > bytes_of_disk =>
                    {
                        let expected = format!("a file that fits the disk of {bytes_of_disk} bytes");
                        Some(("write", format!("{bytes} bytes at {offset}"), expected))
                    }
                    _ => None,
                };
                if let Some((field, got, expected)) = wrong {
                    beyond.get_or_insert_with(|| self.error(line, field, got, expected));
                }
            });
        }
        beyond.map_or(Ok(()), Err)
    }
}
