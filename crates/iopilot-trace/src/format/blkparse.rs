//! The text that `blkparse(1)` prints by default, one event a line:
//! `major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [command]`.
//!
//! Events become requests in [`crate::correlate`]. The summary that `blkparse` prints behind the events ends the trace.

use super::columns::columns;
use super::detect::Detect;
use super::spec::FormatSpec;
use crate::correlate::{Correlator, Extent};
use crate::fields::{decimal, extent, integer, invalid};
use crate::lines::Lines;
use crate::metadata::TraceMetadata;
use crate::reader::{Records, TraceReader};
use crate::reorder::CpuOrder;
use crate::source::Source;
use crate::{TraceError, TraceRecord};
use iopilot_block::{Flags, InputError, Lba, Nanos, Op, ProcessId, Sectors};

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "blkparse",
    summary: "text of blkparse(1), default layout",
    endings: &[],
    detect: &[Detect::Text(|head| is_event(head.first()))],
    open: |input| Ok(Box::new(Reader::new(input.source, input.options.reorder))),
    file_set: None,
    writing: None,
};

/// Whether `line` begins as an event does.
fn is_event(line: &[u8]) -> bool {
    let c = columns(line, None);
    c.len() >= 7
        && c[0].split(|&b| b == b',').filter(|n| integer(n).is_some()).count() == 2
        && integer(c[1]).is_some()
        && c[3].contains(&b'.')
        && decimal(c[3], 9).is_some()
}

struct Reader {
    lines: Lines,
    events: Events,
    at_end: bool,
}

impl Reader {
    /// A reader of `source`; records may be late by what `reorder` says, CPUs must keep order where it says nothing.
    fn new(source: Source, reorder: Option<usize>) -> Self {
        let order = reorder.is_none().then(CpuOrder::default);
        Self { lines: Lines::new(source), events: Events::new(order), at_end: false }
    }
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            if let Some(record) = self.events.correlator.pop(self.at_end) {
                return Ok(Some(record));
            }
            if self.at_end {
                return Ok(None);
            }
            match self.lines.next()? {
                None => self.at_end = true,
                Some(line) => match self.events.line(line, metadata) {
                    Ok(more) => self.at_end = !more,
                    Err(e) => return Err(self.lines.locate(e)),
                },
            }
            metadata.notes.unmatched_completions = self.events.correlator.unmatched_completions;
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.lines.locate(e)
    }

    fn reorder_limit(&self) -> usize {
        TraceReader::CPU_REORDER
    }
}

struct Events {
    correlator: Correlator,
    /// Where each CPU must keep order.
    order: Option<CpuOrder>,
    /// The device of the last event: nearly always that of the next.
    device: (Vec<u8>, u32),
}

/// The tokens of a line, which blanks separate. Faster than `Fields`, which splits at any white space.
struct Tokens<'a>(&'a [u8]);

impl<'a> Tokens<'a> {
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0;
        let mut begin = 0;
        while begin < line.len() && line[begin] == b' ' {
            begin += 1;
        }
        let mut end = begin;
        while end < line.len() && line[end] != b' ' {
            end += 1;
        }
        self.0 = &line[end..];
        (end > begin).then(|| &line[begin..end])
    }

    fn expect(&mut self, name: &str, expected: &str) -> Result<&'a [u8], InputError> {
        self.next().ok_or_else(|| InputError::new(name, "the end of the line", expected))
    }

    fn number(&mut self, name: &str) -> Result<u64, InputError> {
        let word = self.expect(name, "a whole number")?;
        integer(word).ok_or_else(|| invalid(name, word, "a whole number, not negative"))
    }
}

/// What the head of a line says.
#[derive(Clone, Copy)]
struct Head {
    device: u32,
    cpu: u16,
    time: Nanos,
    pid: u32,
}

/// What follows the head.
#[derive(Clone, Copy)]
enum Payload {
    /// Sectors, perhaps none.
    Extent(Lba, Sectors),
    /// A command that is no block I/O.
    Command,
}

impl Events {
    fn new(order: Option<CpuOrder>) -> Self {
        Self { correlator: Correlator::new(), order, device: (Vec::new(), 0) }
    }

    /// Takes one line in; `false` where the events are over.
    fn line(&mut self, line: &[u8], metadata: &mut TraceMetadata) -> Result<bool, InputError> {
        let mut tokens = Tokens(line);
        let Some(first) = tokens.next() else { return Ok(true) };
        if first.starts_with(b"CPU") || first == b"Total" {
            return Ok(false);
        }
        if first == b"Input" {
            return Ok(true); // "Input file sda.blktrace.0 added"
        }
        let device = self.device(first, metadata)?;
        let cpu = tokens.number("cpu")?;
        let cpu = u16::try_from(cpu).map_err(|_| InputError::new("cpu", cpu.to_string(), "a number below 65536"))?;
        tokens.number("sequence")?;
        let field = tokens.expect("time", "seconds.nanoseconds")?;
        let time = decimal(field, 9).map(Nanos).ok_or_else(|| invalid("time", field, "seconds.nanoseconds"))?;
        if let Some(order) = &mut self.order {
            order.check(device, cpu.into(), time)?;
        }
        let pid = tokens.number("pid")?;
        let pid = u32::try_from(pid).map_err(|_| InputError::new("pid", pid.to_string(), "a number below 2^32"))?;
        let head = Head { device, cpu, time, pid };
        match tokens.expect("action", "a letter")? {
            b"Q" => self.queue(head, &mut tokens, metadata)?,
            b"D" => self.issue(head, &mut tokens, metadata)?,
            b"C" => self.complete(head, &mut tokens, metadata)?,
            action @ (b"M" | b"F") => self.merge(head, &mut tokens, action == b"M")?,
            b"R" => self.requeue(head, &mut tokens)?,
            b"X" => self.split(head, &mut tokens)?,
            b"A" | b"B" | b"G" | b"I" | b"P" | b"S" | b"T" | b"U" | b"UT" | b"W" | b"m" => {}
            other => return Err(invalid("action", other, "one of A B C D F G I M P Q R S T U UT W X m")),
        }
        Ok(true)
    }

    fn device(&mut self, name: &[u8], metadata: &mut TraceMetadata) -> Result<u32, InputError> {
        if name == self.device.0 {
            return Ok(self.device.1);
        }
        let numbers = memchr::memchr(b',', name).map(|at| (integer(&name[..at]), integer(&name[at + 1..])));
        if !matches!(numbers, Some((Some(_), Some(_)))) {
            return Err(invalid("device", name, "major,minor"));
        }
        self.device = (name.to_vec(), metadata.device(name));
        Ok(self.device.1)
    }

    fn queue(&mut self, head: Head, tokens: &mut Tokens<'_>, metadata: &mut TraceMetadata) -> Result<(), InputError> {
        let rwbs = rwbs(tokens)?;
        if let Some(record) = record(head, rwbs, payload(tokens)?, metadata) {
            metadata.name_process(head.pid, command(tokens.0));
            self.correlator.queue(record);
        }
        Ok(())
    }

    fn issue(&mut self, head: Head, tokens: &mut Tokens<'_>, metadata: &mut TraceMetadata) -> Result<(), InputError> {
        let rwbs = rwbs(tokens)?;
        let Payload::Extent(lba, sectors) = payload(tokens)? else { return Ok(()) };
        let Some(op) = rwbs.op else { return Ok(()) };
        let what = Extent { device: head.device, op, start: lba.0, sectors: sectors.0 };
        let name = command(tokens.0);
        self.correlator.issue(what, head.time, || {
            metadata.name_process(head.pid, name);
            let mut record = TraceRecord::new(head.time, op, lba, sectors);
            set(&mut record, head, rwbs.flags);
            record
        });
        Ok(())
    }

    fn complete(
        &mut self,
        head: Head,
        tokens: &mut Tokens<'_>,
        metadata: &mut TraceMetadata,
    ) -> Result<(), InputError> {
        let rwbs = rwbs(tokens)?;
        // The zero-length completion of a flush machinery's own request says "FN"; that of its submitter "FW".
        let Some(op) = rwbs.op else { return Ok(()) };
        if tokens.0.trim_ascii_start().first() == Some(&b'(') {
            metadata.notes.other_commands += 1;
            return Ok(());
        }
        if let Payload::Extent(lba, sectors) = payload(tokens)? {
            let what = Extent { device: head.device, op, start: lba.0, sectors: sectors.0 };
            self.correlator.complete(what, head.time);
        }
        Ok(())
    }

    fn merge(&mut self, head: Head, tokens: &mut Tokens<'_>, behind: bool) -> Result<(), InputError> {
        let rwbs = rwbs(tokens)?;
        if let (Some(op), Payload::Extent(lba, sectors)) = (rwbs.op, payload(tokens)?) {
            let what = Extent { device: head.device, op, start: lba.0, sectors: sectors.0 };
            self.correlator.merge(what, behind);
        }
        Ok(())
    }

    fn requeue(&mut self, head: Head, tokens: &mut Tokens<'_>) -> Result<(), InputError> {
        let rwbs = rwbs(tokens)?;
        if let (Some(op), Payload::Extent(lba, sectors)) = (rwbs.op, payload(tokens)?) {
            self.correlator.requeue(Extent { device: head.device, op, start: lba.0, sectors: sectors.0 });
        }
        Ok(())
    }

    fn split(&mut self, head: Head, tokens: &mut Tokens<'_>) -> Result<(), InputError> {
        rwbs(tokens)?;
        let start = tokens.number("sector")?;
        match tokens.expect("split", "/")? {
            b"/" => {}
            other => return Err(invalid("split", other, "/")),
        }
        let at = tokens.number("new sector")?;
        self.correlator.split(head.device, start, split_sector(start, at));
        Ok(())
    }
}

/// Where a split cuts: `blkparse` prints only the lower 32 bits.
pub(crate) fn split_sector(start: u64, printed: u64) -> u64 {
    if printed > start {
        return printed;
    }
    let at = (start & !0xffff_ffff) | (printed & 0xffff_ffff);
    if at > start { at } else { at.saturating_add(1 << 32) }
}

/// Operation and hints of an event; no operation for what moves no data (`N`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rwbs {
    pub(crate) op: Option<Op>,
    pub(crate) flags: Flags,
}

fn rwbs(tokens: &mut Tokens<'_>) -> Result<Rwbs, InputError> {
    let word = tokens.expect("rwbs", "letters such as R, WS or FWFS")?;
    parse_rwbs(word).ok_or_else(|| invalid("rwbs", word, "letters such as R, WS or FWFS"))
}

/// `[F](R|W|D|DE|F|N)[F][A][S][M][B]`: flush before, operation, FUA, read-ahead, synchronous, metadata, (old) barrier.
fn parse_rwbs(word: &[u8]) -> Option<Rwbs> {
    let mut flags = Flags::empty();
    let mut rest = word;
    if rest.len() > 1 && rest[0] == b'F' && matches!(rest[1], b'R' | b'W' | b'D' | b'F' | b'N') {
        flags |= Flags::PREFLUSH;
        rest = &rest[1..];
    }
    let (first, rest) = rest.split_first()?;
    let op = match first {
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Discard),
        b'F' | b'N' => None,
        _ => return None,
    };
    for c in rest {
        flags |= match c {
            b'F' => Flags::FUA,
            b'A' => Flags::READ_AHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            b'B' => Flags::PREFLUSH | Flags::FUA,
            b'E' | b'U' => Flags::empty(),
            _ => return None,
        };
    }
    Some(Rwbs { op, flags })
}

/// `sector + sectors`, `sector`, or nothing before the brackets; a SCSI command is `bytes (hex ...)`.
fn payload(tokens: &mut Tokens<'_>) -> Result<Payload, InputError> {
    let rest = tokens.0.trim_ascii_start();
    if matches!(rest.first(), Some(b'[' | b'(')) {
        return Ok(Payload::Extent(Lba(0), Sectors(0)));
    }
    let sector = tokens.number("sector")?;
    let rest = tokens.0.trim_ascii_start();
    match rest.first() {
        Some(b'+') => {
            tokens.next();
            let sectors = tokens.number("sectors")?;
            extent(sector, sectors).map(|(lba, sectors)| Payload::Extent(lba, sectors))
        }
        Some(b'(') => Ok(Payload::Command),
        Some(b'[') => Ok(Payload::Extent(Lba(0), Sectors(0))),
        _ => Err(invalid("sectors", rest, "+ and a number of sectors")),
    }
}

/// The command between the first `[` and the last `]`.
fn command(rest: &[u8]) -> &[u8] {
    match (memchr::memchr(b'[', rest), memchr::memrchr(b']', rest)) {
        (Some(begin), Some(end)) if begin < end => &rest[begin + 1..end],
        _ => b"",
    }
}

fn set(record: &mut TraceRecord, head: Head, flags: Flags) {
    record.flags = flags;
    record.device = head.device;
    record.cpu = Some(head.cpu);
    record.process = Some(ProcessId(head.pid));
}

fn record(head: Head, rwbs: Rwbs, payload: Payload, metadata: &mut TraceMetadata) -> Option<TraceRecord> {
    let Payload::Extent(lba, sectors) = payload else {
        metadata.notes.other_commands += 1;
        return None;
    };
    let op = match rwbs.op {
        _ if sectors.0 == 0 && rwbs.flags.contains(Flags::PREFLUSH) => Op::Flush,
        Some(_) if sectors.0 == 0 => {
            metadata.notes.empty += 1;
            return None;
        }
        Some(op) => op,
        None => {
            metadata.notes.other_commands += 1;
            return None;
        }
    };
    let mut record = TraceRecord::new(head.time, op, lba, sectors);
    set(&mut record, head, rwbs.flags);
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<TraceRecord>, InputError> {
        let (mut events, mut metadata) = (Events::new(Some(CpuOrder::default())), TraceMetadata::default());
        for line in text.lines() {
            if !events.line(line.as_bytes(), &mut metadata)? {
                break;
            }
        }
        Ok(std::iter::from_fn(|| events.correlator.pop(true)).collect())
    }

    #[test]
    fn follows_a_request_from_queue_to_completion() {
        let text = "\
  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632
  8,16   5        2     0.000001850 18615  Q  RA 1444645666 + 256 [Web Content]
  8,16   5        3     0.000006438 18615  G  RA 1444645666 + 256 [Web Content]
  8,16   5        4     0.000008750 18615  P   N [Web Content]
  8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request
  8,16   5        6     0.000031865 18615  D  RA 1444645666 + 256 (   25427) [Web Content]
  8,16   5        7     0.000046560 18615  U   N [Web Content] 1
  8,16   5       15     0.000356669     0  C  RA 1444645666 + 256 (  324804) [0]
CPU5 (8,16):
 Reads Queued:           1,      128KiB
";
        let all = read(text).unwrap();
        assert_eq!(all.len(), 1);
        let r = &all[0];
        assert_eq!((r.arrival, r.issue, r.completion), (Nanos(1850), Some(Nanos(31_865)), Some(Nanos(356_669))));
        assert_eq!(
            (r.lba, r.sectors, r.process, r.cpu),
            (Lba(1_444_645_666), Sectors(256), Some(ProcessId(18_615)), Some(5))
        );
        assert_eq!(r.flags, Flags::READ_AHEAD);
    }

    #[test]
    fn flushes_have_no_sectors_and_complete_for_their_submitter() {
        let text = "\
  8,0    0        1     0.000000001   300  Q FWS [jbd2/sda1-8]
  8,0    0        2     0.000000002   300  D  FN [kworker/0:1H]
  8,0    0        3     0.000000003     0  C  FN 0 [0]
  8,0    0        4     0.000000004     0  C FWS 0 [0]
  8,0    0        5     0.000000005   300  Q  WS 8 + 8 [jbd2/sda1-8]
  8,0    0        6     0.000000006   300  D   N 36 (12 00 00 00 24 00 ..) [smartd]
  8,0    0        7     0.000000007   300  C   N (12 00 00 00 24 00 ..) [0]
";
        let all = read(text).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].op, all[0].sectors, all[0].completion), (Op::Flush, Sectors(0), Some(Nanos(4))));
        assert_eq!((all[1].op, all[1].flags, all[1].completion), (Op::Write, Flags::SYNC, None));
    }

    #[test]
    fn letters_of_the_rwbs_column() {
        let p = |s: &str| parse_rwbs(s.as_bytes());
        assert_eq!(p("FWFSM").unwrap().flags, Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META);
        assert_eq!(p("DS").unwrap(), Rwbs { op: Some(Op::Discard), flags: Flags::SYNC });
        assert_eq!(p("WBS").unwrap().flags, Flags::PREFLUSH | Flags::FUA | Flags::SYNC);
        assert_eq!(p("N").unwrap().op, None);
        assert_eq!(p("FN").unwrap(), Rwbs { op: None, flags: Flags::PREFLUSH });
        assert!(p("Q").is_none() && p("").is_none());
    }

    #[test]
    fn splits_beyond_32_bits() {
        assert_eq!(split_sector(100, 200), 200);
        assert_eq!(split_sector((1 << 32) + 100, 200), (1 << 32) + 200);
        assert_eq!(split_sector((1 << 32) - 8, 8), (1 << 32) + 8);
    }

    #[test]
    fn errors_name_the_field() {
        let e = |line: &str| read(line).unwrap_err().to_string();
        assert_eq!(e("8:16 1 1 0.1 1 Q R 1 + 8 [a]"), "device: got 8:16, expected major,minor");
        assert_eq!(e("8,16 1 1 -0.1 1 Q R 1 + 8 [a]"), "time: got -0.1, expected seconds.nanoseconds");
        assert_eq!(e("8,16 1 1 0.1 1 Q R 1 + -8 [a]"), "sectors: got -8, expected a whole number, not negative");
        assert!(e("8,16 1 1 0.1 1 Q R 9223372036854775807 + 8 [a]").starts_with("lba: got 9223372036854775807 + 8, "));
        assert!(e("8,16 1 1 0.1 1 Q").starts_with("rwbs: got the end of the line"));
    }
}
