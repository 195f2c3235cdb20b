//! [`Summary`]: the lines that `blkparse(1)` prints behind the events.

/// Marks that the summary has begun. It ends with the file, or with the next event.
#[derive(Clone, Copy, Debug)]
pub(in crate::format) struct Summary;

/// The beginnings of lines that stand on their own (`show_process_stats`, `show_device_and_cpu_stats`, `show_stats`).
const BEGINNINGS: [&[u8]; 5] = [b"CPU", b"Total (", b"Throughput (", b"Events (", b"Skips: "];

impl Summary {
    /// Whether `line`, which is not blank, belongs to a summary or begins one.
    pub(in crate::format) fn is_line(begun: Option<Self>, line: &[u8]) -> bool {
        let letter = line.trim_ascii_start().first().is_some_and(u8::is_ascii_alphabetic);
        let is_count = begun.is_some() && letter && line.contains(&b':');
        is_count || BEGINNINGS.iter().any(|b| line.starts_with(b)) || is_process(line)
    }
}

/// Whether `line` is `NAME (PID)`, or `NAME (PID, ...)`, with which `blkparse -s` begins the counts of a process.
fn is_process(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let Some(pid) = line.strip_suffix(b")").and_then(|l| l.rsplit(|&b| b == b'(').next()) else { return false };
    let digits = pid.strip_suffix(b", ...").unwrap_or(pid);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && line.len() > pid.len() + 2
}
