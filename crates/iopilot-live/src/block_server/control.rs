//! The control socket of a block-device server: one line of JSON each way.

use crate::LiveError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest line of a command, bytes.
const LONGEST: u64 = 4096;
/// How long a client may take over its line.
const PATIENCE: Duration = Duration::from_secs(2);

/// The answer to a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<T> {
    Done(T),
    Failed { message: String, bad_input: bool },
}

/// Where a server in `folder` listens.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// Listens in `folder`.
pub(super) fn listen(folder: &Path) -> Result<UnixListener, LiveError> {
    UnixListener::bind(socket(folder)).map_err(|e| LiveError::io(socket(folder), e))
}

/// Reads a command from `stream`.
pub(super) fn receive<C: DeserializeOwned>(stream: &UnixStream) -> io::Result<C> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(io::Read::take(stream, LONGEST)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Answers a command.
pub(crate) fn answer<T: Serialize>(mut stream: &UnixStream, result: Result<T, LiveError>) -> io::Result<()> {
    let outcome = match result {
        Ok(value) => Outcome::Done(value),
        Err(e) => Outcome::Failed { message: e.to_string(), bad_input: e.is_bad_input() },
    };
    let mut line = serde_json::to_vec(&outcome)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Asks the server in `folder`.
pub(crate) fn ask<T: DeserializeOwned>(folder: &Path, command: &impl Serialize) -> Result<T, LiveError> {
    let path = socket(folder);
    let asked = || -> io::Result<Outcome<T>> {
        let mut stream = UnixStream::connect(&path)?;
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    };
    match asked().map_err(|e| LiveError::io(&path, e))? {
        Outcome::Done(value) => Ok(value),
        Outcome::Failed { message, bad_input } => Err(LiveError::Refused { message, bad_input }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    enum Command {
        Stats,
        Detach { force: bool },
    }

    #[test]
    fn an_answer_and_a_refusal_come_over() {
        let folder = tempfile::tempdir().unwrap();
        let listener = listen(folder.path()).unwrap();
        let server = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            assert_eq!(receive::<Command>(&stream).unwrap(), Command::Stats);
            answer(&stream, Ok(7u32)).unwrap();
            let (stream, _) = listener.accept().unwrap();
            assert_eq!(receive::<Command>(&stream).unwrap(), Command::Detach { force: true });
            answer::<u32>(&stream, Err(LiveError::Unplugged("loop0".to_owned()))).unwrap();
            let (stream, _) = listener.accept().unwrap();
            assert!(receive::<Command>(&stream).is_err());
        });
        assert_eq!(ask::<u32>(folder.path(), &Command::Stats).unwrap(), 7);
        let refused = ask::<u32>(folder.path(), &Command::Detach { force: true }).unwrap_err();
        assert_eq!(refused.to_string(), "loop0 was unplugged");
        UnixStream::connect(socket(folder.path())).unwrap().write_all(b"what\n").unwrap();
        server.join().unwrap();
    }
}
