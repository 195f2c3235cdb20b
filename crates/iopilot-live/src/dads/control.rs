//! The control socket of a daemon: a client sends the line `status`, and gets a line of JSON.

use super::status::Status;
use crate::LiveError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The name of the socket in the runtime folder.
pub(super) const SOCKET: &str = "control.sock";

/// The longest line of a client, bytes.
const LONGEST: u64 = 256;
/// How long a client may take to send its line, or to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause after a client could not be accepted.
const AGAIN: Duration = Duration::from_millis(250);
/// The most clients served at once; others are refused.
const CLIENTS: usize = 8;

/// The listening socket; removed when it is dropped.
pub(super) struct ControlSocket {
    path: PathBuf,
    listener: UnixListener,
    clients: Arc<AtomicUsize>,
}

impl ControlSocket {
    /// Listens in `folder`, and replaces the socket of a dead daemon.
    ///
    /// # Errors
    /// Where another daemon listens, or the folder cannot be written to.
    pub(super) fn listen(folder: &Path) -> Result<Self, LiveError> {
        fs::create_dir_all(folder).map_err(|e| LiveError::io(folder, e))?;
        let path = folder.join(SOCKET);
        if UnixStream::connect(&path).is_ok() {
            let reason = "another daemon runs; several disks are flown by one: iopilot dads run /dev/X /dev/Y";
            return Err(LiveError::Device { path, reason: reason.to_owned() });
        }
        let listen = || -> io::Result<UnixListener> {
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(|e| LiveError::io(&path, e))?;
        Ok(Self { path, listener, clients: Arc::default() })
    }

    /// Serves waiting clients; waits for one for `period` at most, or until a signal. Call it again and again.
    pub(super) fn serve(&self, period: Duration, status: &dyn Fn() -> Status) {
        let timeout = Timespec { tv_sec: period.as_secs() as i64, tv_nsec: i64::from(period.subsec_nanos()) };
        // A signal ends the wait; the caller handles it.
        let _ = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&timeout));
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // Without room for another open file, the client stays in the backlog: try again later.
                Err(_) => return thread::sleep(period.min(AGAIN)),
            };
            if self.clients.fetch_add(1, Ordering::SeqCst) >= CLIENTS {
                self.clients.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (clients, status) = (Arc::clone(&self.clients), status());
            thread::spawn(move || {
                // A client that has gone misses its answer.
                let _ = answer(&stream, &status);
                clients.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn answer(stream: &UnixStream, status: &Status) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST)).read_until(b'\n', &mut line)?;
    let mut reply = match line.trim_ascii() {
        b"status" => serde_json::to_vec(status)?,
        _ => br#"{"error":"expected `status`"}"#.to_vec(),
    };
    reply.push(b'\n');
    (&*stream).write_all(&reply)
}

/// Asks the daemon whose runtime folder is `folder` for its status.
///
/// # Errors
/// Where no daemon runs, or it does not answer.
pub fn ask(folder: &Path) -> Result<Status, LiveError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Reply {
        Status(Box<Status>),
        Error { error: String },
    }
    let path = folder.join(SOCKET);
    let mut stream = UnixStream::connect(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => LiveError::Device {
            path: path.clone(),
            reason: "no daemon runs; start one with iopilot dads run /dev/X".to_owned(),
        },
        _ => LiveError::io(&path, e),
    })?;
    let mut text = String::new();
    let talk = || -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"status\n")?;
        stream.read_to_string(&mut text)?;
        Ok(())
    };
    let mut talk = talk;
    talk().map_err(|e| LiveError::io(&path, e))?;
    match serde_json::from_str(&text) {
        Ok(Reply::Status(status)) => Ok(*status),
        Ok(Reply::Error { error }) => Err(LiveError::Failed(error)),
        Err(e) => Err(LiveError::io(&path, e.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// What the socket answers to `said`, served until it does.
    fn says(folder: &Path, control: &ControlSocket, said: &[u8]) -> String {
        let mut stream = UnixStream::connect(folder.join(SOCKET)).unwrap();
        stream.write_all(said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        control.serve(PATIENCE, &|| Status { pid: 7, ..Status::default() });
        let mut text = String::new();
        // A connection that is closed while something said is unread ends in an error, not in silence.
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn garbage_is_answered_with_an_error_and_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let control = ControlSocket::listen(folder.path()).unwrap();
        for garbage in [&b""[..], b"\n", b"\xff\xfe\x00\n", b"status please\n", b"{}", &[b'x'; 200]] {
            assert_eq!(says(folder.path(), &control, garbage), "{\"error\":\"expected `status`\"}\n");
        }
        says(folder.path(), &control, &[b'y'; 100_000]);
        assert!(says(folder.path(), &control, b"status\n").starts_with("{\"pid\":7,"));
    }

    #[test]
    fn one_daemon_listens_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ask(folder.path()).unwrap_err().to_string().contains("no daemon runs"));
        let control = ControlSocket::listen(folder.path()).unwrap();
        assert!(ControlSocket::listen(folder.path()).err().unwrap().to_string().contains("another daemon runs"));
        let begun = Instant::now();
        let asked = thread::scope(|s| {
            let asking = s.spawn(|| ask(folder.path()));
            while !asking.is_finished() && begun.elapsed() < PATIENCE {
                control.serve(Duration::from_millis(1), &|| Status { pid: 9, ..Status::default() });
            }
            asking.join().unwrap()
        });
        assert_eq!(asked.unwrap().pid, 9);
        drop(control);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // What a killed daemon left is no obstacle.
        drop(UnixListener::bind(folder.path().join(SOCKET)).unwrap());
        ControlSocket::listen(folder.path()).unwrap();
    }
}
