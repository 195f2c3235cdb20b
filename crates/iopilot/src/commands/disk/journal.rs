//! [`JournaledDevice`]: a live disk whose training can be interrupted and resumed.
//!
//! A training is determined by its seed and the disk's response times, so only these times are kept. A resumed training
//! issues the same requests again, and the journal answers them as far as it reaches.

use iopilot_block::{InputError, Lba, Nanos, Op, Sectors};
use iopilot_device::TimedDevice;
use iopilot_live::Signals;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Times in a batch that is written at once. A killed process loses at most one batch.
const TOGETHER: usize = 256;

/// Why a training ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError<E: std::error::Error> {
    /// The disk failed.
    #[error(transparent)]
    Device(#[from] E),
    /// The journal cannot be written.
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    /// A signal arrived.
    #[error("interrupted; the same command goes on where it ended ({0})")]
    Interrupted(PathBuf),
}

/// The times of a training so far.
pub(super) struct TrainingJournal {
    path: PathBuf,
    file: File,
    /// Bytes before the times.
    header: usize,
    /// Times from an earlier run, and how many of them have been used as answers.
    known: Vec<u64>,
    answered: usize,
    /// Times that are not written yet.
    new: Vec<u64>,
    signals: Signals,
}

impl TrainingJournal {
    /// Opens or begins the journal beside `output` for a training that `what` describes on one line.
    ///
    /// # Errors
    /// If it cannot be read or written, or belongs to another training.
    pub(super) fn open(output: &Path, what: &str) -> anyhow::Result<Self> {
        let mut name = output.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let mut reader = BufReader::new(&file);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let mut known = Vec::new();
        if first.is_empty() {
            file.write_all(format!("{what}\n").as_bytes())?;
        } else if first.trim_end() != what {
            let expected = format!("`{what}`, or no such file: it belongs to another training");
            return Err(InputError::new("training", first.trim_end(), expected).in_file(path.display()).into());
        } else {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            // A time that was cut short by a crash is ignored.
            known.extend(bytes.chunks_exact(8).map(|time| u64::from_le_bytes(time.try_into().unwrap_or_default())));
            file.set_len((first.len() + known.len() * 8) as u64)?;
        }
        let (header, new) = (what.len() + 1, Vec::with_capacity(TOGETHER));
        Ok(Self { path, file, header, known, answered: 0, new, signals: Signals::catch()? })
    }

    /// The number of times known from an earlier run.
    pub(super) fn known(&self) -> usize {
        self.known.len()
    }

    /// Removes the journal of a finished training.
    ///
    /// # Errors
    /// If the journal cannot be removed.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    /// Drops the known times that have not been used as answers.
    fn forget_rest<E: std::error::Error>(&mut self) -> Result<(), JournalError<E>> {
        if self.answered < self.known.len() {
            self.known.truncate(self.answered);
            let length = (self.header + self.answered * 8) as u64;
            let cut = self.file.set_len(length);
            return cut.map_err(|error| JournalError::Io { path: self.path.clone(), error });
        }
        Ok(())
    }

    fn next_known(&mut self) -> Option<Nanos> {
        let time = self.known.get(self.answered).copied();
        self.answered += usize::from(time.is_some());
        time.map(Nanos)
    }

    fn learn<E: std::error::Error>(&mut self, times: &[Nanos]) -> Result<(), JournalError<E>> {
        self.new.extend(times.iter().map(|time| time.0));
        let interrupted = self.signals.caught().is_some();
        if interrupted || self.new.len() >= TOGETHER {
            let bytes: Vec<u8> = self.new.drain(..).flat_map(u64::to_le_bytes).collect();
            self.file.write_all(&bytes).map_err(|error| JournalError::Io { path: self.path.clone(), error })?;
        }
        if interrupted { Err(JournalError::Interrupted(self.path.clone())) } else { Ok(()) }
    }
}

/// A disk that serves only the requests that its journal cannot answer.
pub(super) struct JournaledDevice<'a, D> {
    pub(super) device: D,
    pub(super) journal: &'a mut TrainingJournal,
}

impl<D> JournaledDevice<'_, D> {
    fn is_replaying(&self) -> bool {
        self.journal.answered < self.journal.known.len()
    }
}

impl<D: TimedDevice> TimedDevice for JournaledDevice<'_, D> {
    type Error = JournalError<D::Error>;

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Self::Error> {
        if let Some(time) = self.journal.next_known() {
            return Ok(time);
        }
        let time = self.device.serve(op, lba, sectors)?;
        self.journal.learn::<D::Error>(&[time])?;
        Ok(time)
    }

    fn serve_together(
        &mut self,
        reads: &[Lba],
        sectors: Sectors,
        in_flight: usize,
        ended: &mut Vec<Nanos>,
    ) -> Result<(), Self::Error> {
        // The reads are one measurement: times of only a part of them are dropped.
        if self.journal.known.len() - self.journal.answered >= reads.len() {
            ended.clear();
            ended.extend((0..reads.len()).filter_map(|_| self.journal.next_known()));
            return Ok(());
        }
        self.journal.forget_rest::<D::Error>()?;
        self.device.serve_together(reads, sectors, in_flight, ended)?;
        self.journal.learn(ended)
    }

    fn restart(&mut self) -> Result<(), Self::Error> {
        if self.is_replaying() { Ok(()) } else { Ok(self.device.restart()?) }
    }

    fn pause(&mut self, time: Nanos) -> Result<(), Self::Error> {
        if self.is_replaying() { Ok(()) } else { Ok(self.device.pause(time)?) }
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_catalogue::{Catalogue, TableForm, Training};
    use iopilot_device::Synchronous;

    /// Counts its requests.
    struct Counting<'a> {
        disk: Synchronous<iopilot_catalogue::AnyDevice>,
        asked: &'a mut u64,
        /// Fails after this many requests.
        most: u64,
    }

    impl TimedDevice for Counting<'_> {
        type Error = io::Error;
        fn capacity(&self) -> u64 {
            self.disk.capacity()
        }
        fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> io::Result<Nanos> {
            if *self.asked >= self.most {
                return Err(io::ErrorKind::Interrupted.into());
            }
            *self.asked += 1;
            self.disk.serve(op, lba, sectors).map_err(|never| match never {})
        }
        fn restart(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn pause(&mut self, _: Nanos) -> io::Result<()> {
            Ok(())
        }
        fn now(&self) -> Nanos {
            self.disk.now()
        }
    }

    #[test]
    fn a_training_goes_on_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("trained.toml");
        let training = Training { form: TableForm::Two, samples: 2, seed: 3 };
        let run = |most: u64| {
            let mut journal = TrainingJournal::open(&output, "a training").unwrap();
            let (known, mut asked) = (journal.known() as u64, 0);
            let disk = Synchronous::new(Catalogue::get("hp-c2247").unwrap().build().unwrap());
            let device = Counting { disk, asked: &mut asked, most };
            let trained = training.run(&mut JournaledDevice { device, journal: &mut journal }, || {});
            if trained.is_ok() {
                journal.remove().unwrap();
            }
            (known, asked, trained.ok().map(|t| t.requests))
        };
        let (known, asked, whole) = run(1000);
        assert_eq!((known, asked, whole), (0, 1000, None));
        let (known, asked, whole) = run(u64::MAX);
        // All but the last, incomplete batch.
        assert_eq!(known, 1000 / TOGETHER as u64 * TOGETHER as u64);
        assert_eq!(whole, Some(known + asked));
        assert!(!folder.path().join("trained.toml.part").exists());
    }

    #[test]
    fn what_is_left_of_another_training_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("trained.toml");
        drop(TrainingJournal::open(&output, "one").unwrap());
        let error = TrainingJournal::open(&output, "other").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("trained.toml.part: training: got one, expected `other`, or no such file"), "{error}");
    }
}
