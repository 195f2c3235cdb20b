//! [`WarmFile`]: the file with the addresses of what a cache holds, for a warm restart.

use crate::LiveError;
use iopilot_block::{InputError, SECTOR_BYTES};
use iopilot_trace::Destination;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The first line: what it is, and the version of its format.
const HEAD: &str = "iopilot-redcap-warm 1";
/// What the first line of every version begins with.
const KIND: &str = "iopilot-redcap-warm ";

/// The file with the addresses of what a cache holds. It holds no data, so nothing in it can be out of date: a wrong
/// address costs a prefetch.
#[derive(Clone, Debug)]
pub(super) struct WarmFile {
    path: PathBuf,
    /// Bytes of the disk, and of a segment.
    disk: u64,
    segment: u64,
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WarmFileContent {
    /// The numbers of disk segments, the most recently used first. Empty where there is no file yet.
    Segments(Vec<u64>),
    /// The content is of no use; why, in one line.
    Useless(String),
}

impl WarmFile {
    /// The file at `path`, for a disk of `disk` bytes and segments of `segment` bytes.
    ///
    /// # Errors
    /// Where its folder is not there.
    pub(super) fn new(path: &Path, disk: u64, segment: u64) -> Result<Self, LiveError> {
        // The server leaves the folder that it was started from.
        let path = std::path::absolute(path).map_err(|e| LiveError::io(path, e))?;
        if !path.parent().is_some_and(Path::is_dir) {
            let got = path.display().to_string();
            return Err(InputError::new("--warm", got, "a file in a folder that is there").into());
        }
        Ok(Self { path, disk, segment })
    }

    /// Reads it.
    ///
    /// # Errors
    /// Where it cannot be read, and for a file of another kind, which must not be replaced.
    pub(super) fn read(&self) -> Result<WarmFileContent, LiveError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(WarmFileContent::Segments(Vec::new())),
            Err(e) => return Err(LiveError::io(&self.path, e)),
        };
        let text = String::from_utf8_lossy(&bytes);
        if !text.is_empty() && !text.starts_with(KIND) {
            let first: String = text.lines().next().unwrap_or_default().chars().take(40).collect();
            return Err(self.wrong(1, "--warm", first, format!("`{HEAD}`, or no file")).into());
        }
        Ok(self.parse(&text).map_or_else(|e| WarmFileContent::Useless(e.to_string()), WarmFileContent::Segments))
    }

    fn wrong(&self, line: usize, field: &str, got: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(field, got, expected).in_file(self.path.display()).at_line(line as u64)
    }

    fn parse(&self, text: &str) -> Result<Vec<u64>, InputError> {
        let mut lines = text.lines().enumerate().map(|(n, line)| (n + 1, line));
        let (_, head) = lines.next().unwrap_or((1, ""));
        if head != HEAD {
            return Err(self.wrong(1, "version", head, HEAD));
        }
        let mut number = |field: &'static str| {
            let (at, line) = lines.next().unwrap_or((text.lines().count() + 1, ""));
            let value = line.strip_prefix(field).and_then(|rest| rest.trim().parse::<u64>().ok());
            value.ok_or_else(|| self.wrong(at, field, line, "a number"))
        };
        let fields = [("disk_bytes", self.disk), ("segment_bytes", self.segment)];
        for (n, (field, expected)) in fields.into_iter().enumerate() {
            let got = number(field)?;
            if got != expected {
                return Err(self.wrong(2 + n, field, got.to_string(), format!("{expected}, as it is now")));
            }
        }
        let count = number("segments")?;
        let end = self.disk.div_ceil(self.segment);
        let mut seen = HashSet::new();
        let mut segments = Vec::new();
        for (at, line) in lines {
            let segment = line.parse::<u64>().ok().filter(|&segment| segment < end && seen.insert(segment));
            let expected = || format!("the number of another segment, below {end}");
            segments.push(segment.ok_or_else(|| self.wrong(at, "segment", line, expected()))?);
        }
        if segments.len() as u64 != count {
            return Err(self.wrong(4, "segments", count.to_string(), format!("{}, as there are", segments.len())));
        }
        Ok(segments)
    }

    /// Sectors of a segment, as the file counts them.
    pub(super) fn segment_sectors(&self) -> u64 {
        self.segment / SECTOR_BYTES
    }

    /// Writes the numbers of disk segments, atomically: a reader finds the old content or the new one.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(super) fn write(&self, segments: &[u64]) -> Result<(), LiveError> {
        let (disk, segment, count) = (self.disk, self.segment, segments.len());
        let mut text = format!("{HEAD}\ndisk_bytes {disk}\nsegment_bytes {segment}\nsegments {count}\n");
        for segment in segments {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{segment}");
        }
        let written = || -> io::Result<()> {
            let (destination, mut file) = Destination::create(&self.path)?;
            file.write_all(text.as_bytes())?;
            destination.commit(&file)
        };
        written().map_err(|e| LiveError::io(&self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &tempfile::TempDir) -> WarmFile {
        WarmFile::new(&folder.path().join("warm"), 10 * 32768 + 512, 32768).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        assert_eq!(file.read().unwrap(), WarmFileContent::Segments(Vec::new()), "there is none yet");
        for segments in [vec![10, 0, 7], vec![3]] {
            file.write(&segments).unwrap();
            assert_eq!(file.read().unwrap(), WarmFileContent::Segments(segments));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
    }

    #[test]
    fn what_is_damaged_is_told_in_a_line_and_is_of_no_use() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        file.write(&[10, 0, 7]).unwrap();
        let good = fs::read_to_string(&file.path).unwrap();
        let useless = |text: &str| {
            fs::write(&file.path, text).unwrap();
            match file.read().unwrap() {
                WarmFileContent::Useless(why) => why.split_once("warm:").unwrap().1.to_owned(),
                WarmFileContent::Segments(segments) => panic!("{text:?} gives {segments:?}"),
            }
        };
        assert_eq!(
            useless(&good.replace("warm 1", "warm 2")),
            "1: version: got iopilot-redcap-warm 2, expected iopilot-redcap-warm 1"
        );
        assert_eq!(
            useless(&good.replace("328192", "328704")),
            "2: disk_bytes: got 328704, expected 328192, as it is now"
        );
        assert_eq!(
            useless(&good.replace("32768", "65536")),
            "3: segment_bytes: got 65536, expected 32768, as it is now"
        );
        assert_eq!(
            useless(&good.replace("segments 3", "segments x")),
            "4: segments: got segments x, expected a number"
        );
        assert_eq!(useless(&good.replace("\n7\n", "\n")), "4: segments: got 3, expected 2, as there are");
        assert_eq!(
            useless(&good.replace("\n7\n", "\n11\n")),
            "7: segment: got 11, expected the number of another segment, below 11"
        );
        assert_eq!(
            useless(&good.replace("\n7\n", "\n10\n")),
            "7: segment: got 10, expected the number of another segment, below 11"
        );
        // Torn anywhere, as by a disk that was full; only the last line's end can be missed.
        for length in 0..good.len() - 1 {
            let torn = &good[..length];
            if torn.is_empty() || torn.starts_with(KIND) {
                useless(torn);
            } else {
                fs::write(&file.path, torn).unwrap();
                assert!(file.read().is_err());
            }
        }
    }

    #[test]
    fn a_file_of_another_kind_is_refused_and_so_is_a_folder_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        fs::write(&file.path, b"precious\xff\n").unwrap();
        let told = file.read().unwrap_err().to_string();
        assert!(told.contains("warm:1: --warm: got precious") && told.contains("or no file"), "{told}");
        let told = WarmFile::new(&folder.path().join("no/warm"), 1 << 20, 32768).unwrap_err().to_string();
        assert!(told.contains("no/warm, expected a file in a folder that is there"), "{told}");
    }
}
