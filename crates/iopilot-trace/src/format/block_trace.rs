//! The kernel's block trace events as text, as `perf script`, `trace-cmd report` and ftrace's `trace` file print them:
//! `comm pid [cpu] seconds: block:block_rq_issue: major,minor rwbs bytes (cmd) sector + sectors [comm]`.
//!
//! The layout behind the event's name is that of the kernel (`include/trace/events/block.h`); newer kernels print an I/O
//! priority before the last brackets. Before it stand the task as `comm pid` or `comm-pid`, the CPU in brackets, perhaps
//! flags, and the time. Lines without a block event (stacks, other events) are left out; other events are counted.

use super::spec::{Detect, FormatSpec, Records};
use crate::block_events::{BlockEvents, Head, Payload, Rwbs};
use crate::fields::{decimal, extent, integer, invalid};
use crate::lines::Lines;
use crate::metadata::TraceMetadata;
use crate::reader::TraceReader;
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Lba, Nanos, Sectors};

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "block-events",
    summary: "block events as text (perf script, trace-cmd, ftrace)",
    endings: &[],
    detect: &[Detect::Text(|head| head.lines().iter().any(|line| Line::of(line).is_some()))],
    open: |input| {
        let events = BlockEvents::new(input.reorder);
        Ok(Box::new(Reader { lines: Lines::new(input.source), events, requests_seen: false, at_end: false }))
    },
    file_set: None,
    sample: "",
    writing: None,
};

struct Reader {
    lines: Lines,
    events: BlockEvents,
    /// Whether events of requests were seen. Completions of bios count only before that; later ones repeat those of
    /// requests.
    requests_seen: bool,
    at_end: bool,
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            if let Some(record) = self.events.pop(self.at_end, metadata) {
                return Ok(Some(record));
            }
            if self.at_end {
                return Ok(None);
            }
            let Some(line) = self.lines.next()? else {
                self.at_end = true;
                continue;
            };
            let taken = match Line::of(line) {
                Some(line) => take(line, &mut self.events, &mut self.requests_seen, metadata),
                None => {
                    metadata.notes.other_events += u64::from(is_other_event(line));
                    Ok(())
                }
            };
            taken.map_err(|e| self.lines.locate(e))?;
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.lines.locate(e)
    }

    fn reorder_limit(&self) -> usize {
        TraceReader::CPU_REORDER
    }
}

/// A line with a block event.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    /// The task, the CPU and what stands before the time.
    before: &'a [u8],
    /// The time, without its colon.
    time: &'a [u8],
    /// The event behind `block_`, without its colon.
    event: &'a [u8],
    /// The text behind the event's name.
    says: &'a [u8],
}

impl<'a> Line<'a> {
    /// `None` where the line has no block event.
    fn of(line: &'a [u8]) -> Option<Self> {
        let at = memchr::memmem::find_iter(line, b"block_").find(|&at| {
            at >= 2 && (line[..at].ends_with(b": ") || line[..at].ends_with(b" block:") || line[..at].ends_with(b" "))
        })?;
        let event = &line[at + b"block_".len()..];
        let end = memchr::memchr(b':', event)?;
        let (event, says) = (&event[..end], event[end + 1..].trim_ascii());
        if !event.iter().all(|&c| c.is_ascii_lowercase() || c == b'_') {
            return None;
        }
        let head = line[..at].strip_suffix(b"block:").unwrap_or(&line[..at]).trim_ascii_end();
        let head = head.strip_suffix(b":")?;
        let time_at = head.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
        let (before, time) = (head[..time_at].trim_ascii(), &head[time_at..]);
        decimal(time, 9)?;
        Some(Self { before, time, event, says })
    }

    /// The CPU, the process and its name, as far as they are there.
    fn task(&self) -> (Option<u16>, Option<u32>, &'a [u8]) {
        let mut words = self.before.split(u8::is_ascii_whitespace);
        let cpu_word = words.rfind(|w| w.len() > 2 && w[0] == b'[' && w.ends_with(b"]"));
        let cpu = cpu_word.and_then(|w| integer(&w[1..w.len() - 1])).and_then(|n| u16::try_from(n).ok());
        let end = match (cpu, cpu_word) {
            (Some(_), Some(word)) => memchr::memmem::rfind(self.before, word).unwrap_or(self.before.len()),
            _ => self.before.len(),
        };
        let mut task = self.before[..end].trim_ascii();
        // ftrace's column of thread groups: "(  1234)", "(-------)".
        if task.ends_with(b")") {
            task = memchr::memrchr(b'(', task).map_or(task, |at| task[..at].trim_ascii());
        }
        let cut = task.iter().rposition(|&c| c == b'-' || c.is_ascii_whitespace());
        let (name, id) = cut.map_or((&b""[..], task), |at| (task[..at].trim_ascii(), &task[at + 1..]));
        // perf may print "pid/tid".
        let id = memchr::memchr(b'/', id).map_or(id, |at| &id[at + 1..]);
        let id = integer(id).and_then(|n| u32::try_from(n).ok());
        (cpu, id, if id.is_some() { name } else { b"" })
    }
}

/// Whether `line` has a time and a name as all events do.
fn is_other_event(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let time = words.find(|w| w.strip_suffix(b":").is_some_and(|t| t.contains(&b'.') && decimal(t, 9).is_some()));
    time.is_some() && words.next().is_some()
}

/// The words of an event's text, from left to right.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self, name: &str, expected: &str) -> Result<&'a [u8], InputError> {
        let rest = self.0.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.0 = &rest[end..];
        if end == 0 { Err(InputError::new(name, "the end of the line", expected)) } else { Ok(&rest[..end]) }
    }

    fn number(&mut self, name: &str) -> Result<u64, InputError> {
        let word = self.next(name, "a whole number")?;
        integer(word).ok_or_else(|| invalid(name, word, "a whole number, not negative"))
    }

    /// The command in parentheses, where there are any; whether it is empty.
    fn command_is_empty(&mut self) -> Result<bool, InputError> {
        let rest = self.0.trim_ascii_start();
        let Some(inside) = rest.strip_prefix(b"(") else { return Ok(true) };
        let end = memchr::memchr(b')', inside).ok_or_else(|| invalid("cmd", rest, "a closing )"))?;
        self.0 = &inside[end + 1..];
        Ok(inside[..end].trim_ascii().is_empty())
    }

    /// `sector + sectors`.
    fn extent(&mut self) -> Result<Payload, InputError> {
        // A flush has the sector -1.
        let word = self.next("sector", "a whole number")?;
        let sector = if word == b"-1" { Some(u64::MAX) } else { integer(word) };
        let sector = sector.ok_or_else(|| invalid("sector", word, "a whole number, not negative"))?;
        match self.next("sectors", "+ and a number of sectors")? {
            b"+" => {}
            other => return Err(invalid("sectors", other, "+ and a number of sectors")),
        }
        match self.number("sectors")? {
            0 => Ok(Payload::Extent(Lba(0), Sectors(0))),
            sectors => extent(sector, sectors).map(|(lba, sectors)| Payload::Extent(lba, sectors)),
        }
    }
}

/// Takes an event in.
fn take(
    line: Line<'_>,
    events: &mut BlockEvents,
    requests_seen: &mut bool,
    metadata: &mut TraceMetadata,
) -> Result<(), InputError> {
    let known = matches!(
        line.event,
        b"bio_queue"
            | b"bio_backmerge"
            | b"bio_frontmerge"
            | b"bio_complete"
            | b"split"
            | b"rq_insert"
            | b"rq_issue"
            | b"rq_complete"
            | b"rq_requeue"
            | b"rq_error"
    );
    if !known {
        // Plugs, remaps and allocations add nothing to the other events.
        return Ok(());
    }
    let time = decimal(line.time, 9).map(Nanos).ok_or_else(|| invalid("time", line.time, "seconds"))?;
    let mut words = Words(line.says);
    let device = words.next("device", "major,minor")?;
    let numbers = memchr::memchr(b',', device).map(|at| (integer(&device[..at]), integer(&device[at + 1..])));
    if !matches!(numbers, Some((Some(_), Some(_)))) {
        return Err(invalid("device", device, "major,minor"));
    }
    let device = metadata.device(device);
    let (cpu, pid, name) = line.task();
    if let Some(cpu) = cpu {
        events.check_order(device, cpu, time)?;
    }
    let head = Head { device, cpu, time, pid };
    let word = words.next("rwbs", "letters such as R, WS or FWFS")?;
    let rwbs = Rwbs::parse(word).ok_or_else(|| invalid("rwbs", word, "letters such as R, WS or FWFS"))?;
    match line.event {
        b"bio_queue" => events.queue(head, rwbs, words.extent()?, name, metadata),
        b"bio_backmerge" => events.merge(head, rwbs, words.extent()?, true),
        b"bio_frontmerge" => events.merge(head, rwbs, words.extent()?, false),
        b"bio_complete" if !*requests_seen => events.complete(head, rwbs, words.extent()?),
        b"split" => {
            let start = words.number("sector")?;
            match words.next("split", "/")? {
                b"/" => {}
                other => return Err(invalid("split", other, "/")),
            }
            events.split(device, start, words.number("new sector")?);
        }
        b"rq_insert" | b"rq_issue" => {
            *requests_seen = true;
            words.number("bytes")?;
            if !words.command_is_empty()? {
                metadata.notes.other_commands += u64::from(line.event == b"rq_issue");
                return Ok(());
            }
            let payload = words.extent()?;
            if line.event == b"rq_issue" {
                events.issue(head, rwbs, payload, name, metadata);
            } else {
                events.insert(head, rwbs, payload, name, metadata);
            }
        }
        b"rq_complete" | b"rq_requeue" => {
            *requests_seen = true;
            if !words.command_is_empty()? {
                return Ok(());
            }
            let payload = words.extent()?;
            if line.event == b"rq_complete" {
                events.complete(head, rwbs, payload);
            } else {
                events.requeue(head, rwbs, payload);
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, ProcessId};

    fn read(text: &str) -> Result<(Vec<TraceRecord>, TraceMetadata), InputError> {
        let (mut events, mut metadata, mut seen) = (BlockEvents::new(None), TraceMetadata::default(), false);
        for line in text.lines() {
            match Line::of(line.as_bytes()) {
                Some(line) => take(line, &mut events, &mut seen, &mut metadata)?,
                None => metadata.notes.other_events += u64::from(is_other_event(line.as_bytes())),
            }
        }
        let all = std::iter::from_fn(|| events.pop(true, &mut metadata)).collect();
        Ok((all, metadata))
    }

    #[test]
    fn perf_script_from_queue_to_completion() {
        let text = "\
Web Content  1234 [001]  1234.567890:  block:block_bio_queue: 8,0 RA 1000 + 8 [Web Content]
Web Content  1234 [001]  1234.567900:  block:block_rq_insert: 8,0 RA 4096 () 1000 + 8 be,0,4 [Web Content]
Web Content  1234/1235 [001]  1234.567910:   block:block_rq_issue: 8,0 RA 4096 () 1000 + 8 be,0,4 [Web Content]
        ffffffff8148a3b2 blk_mq_start_request+0x52 ([kernel.kallsyms])
    swapper     0 [000]  1234.568890: block:block_rq_complete: 8,0 RA () 1000 + 8 be,0,4 [0]
    swapper     0 [000]  1234.568891: block:block_bio_complete: 8,0 RA 1000 + 8 [0]
    swapper     0 [000]  1234.568892: sched:sched_switch: prev_comm=swapper
";
        let (all, metadata) = read(text).unwrap();
        assert_eq!(all.len(), 1);
        let r = &all[0];
        let since = |t: Option<Nanos>| t.unwrap() - r.arrival;
        assert_eq!((since(r.issue), since(r.completion)), (Nanos(20_000), Nanos(1_000_000)));
        assert_eq!((r.op, r.lba, r.process, r.cpu), (Op::Read, Lba(1000), Some(ProcessId(1234)), Some(1)));
        assert_eq!(metadata.processes()[&1234], "Web Content");
        assert_eq!((metadata.notes.other_events, metadata.notes.unmatched_completions), (1, 0));
    }

    #[test]
    fn ftrace_with_and_without_flags_and_thread_groups() {
        let text = "\
# tracer: nop
           fio-77      [003] d..1.   10.000100: block_rq_issue: 259,0 WS 8192 () 64 + 16 [fio]
          <idle>-0     (-------) [002] d.h2.   10.000300: block_rq_complete: 259,0 WS () 64 + 16 [0]
    kworker/0:1H-212   [000]    10.000400: block_rq_issue: 259,0 FF 0 () 18446744073709551615 + 0 [kworker/0:1H]
     smartd-9          [000]    10.000500: block_rq_issue: 259,0 N 36 (12 00 00 00 24 00) 0 + 0 [smartd]
";
        let (all, metadata) = read(text).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].issue.is_some(), all[0].process), (true, Some(ProcessId(77))));
        assert_eq!(all[0].completion.unwrap() - all[0].arrival, Nanos(200_000));
        assert_eq!(metadata.notes.other_commands, 1);
    }

    #[test]
    fn bios_alone_are_enough_and_errors_name_the_field() {
        let text = "\
 dd-5 [000] 1.000000: block_bio_queue: 252,0 W 0 + 8 [dd]
 dd-5 [000] 1.000100: block_bio_complete: 252,0 W 0 + 8 [0]
";
        let (all, _) = read(text).unwrap();
        assert_eq!(all[0].completion.unwrap() - all[0].arrival, Nanos(100_000));
        let e = |says: &str| read(&format!(" a-1 [0] 1.0: block_bio_queue: {says}")).unwrap_err().to_string();
        assert_eq!(e("8:0 R 1 + 8 [a]"), "device: got 8:0, expected major,minor");
        assert_eq!(e("8,0 R 1 + -8 [a]"), "sectors: got -8, expected a whole number, not negative");
        assert!(e("8,0 R 9223372036854775807 + 8 [a]").starts_with("lba: got 9223372036854775807 + 8, "));
    }
}
