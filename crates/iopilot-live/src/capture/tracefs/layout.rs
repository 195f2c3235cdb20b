//! [`Layouts`]: the field offsets of the running kernel's events, from its `format` files.

use super::instance::TracefsInstance;
use crate::LiveError;
use crate::capture::event::{BlockEvent, BlockEventKind, BlockIo, parse_rwbs};
use iopilot_block::{IoPriority, Lba, Nanos, Sectors};

/// What an event means to the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TraceEventKind {
    Queue,
    Split,
    Merge,
    Insert,
    Issue,
    Complete,
    /// A bio ends without a request.
    Refuse,
    Fork,
    Exit,
}

/// A field of an event: offset and size in bytes.
type Field = (usize, usize);

/// One event: its number and the fields that its kind needs, in the order of [`Layout::parse`].
#[derive(Debug)]
struct Layout {
    id: u16,
    kind: TraceEventKind,
    fields: [Option<Field>; 5],
}

/// The layouts of all events recorded.
#[derive(Debug, Default)]
pub(super) struct Layouts(Vec<Layout>);

impl Layouts {
    /// Adds the event `system/name`.
    pub(super) fn add(
        &mut self,
        instance: &TracefsInstance,
        event: &str,
        kind: TraceEventKind,
    ) -> Result<(), LiveError> {
        let format = instance.read(&format!("events/{event}/format"))?;
        let layout = Layout::parse(&format, kind)
            .map_err(|reason| LiveError::Event { event: event.to_owned(), reason: reason.to_owned() })?;
        self.0.push(layout);
        Ok(())
    }

    /// Decodes an event's bytes; `None` for events and operations that are not recorded.
    pub(super) fn decode(&self, data: &[u8], time: Nanos, cpu: u16) -> Option<BlockEvent> {
        // Every event begins with its number (2 bytes), flags (2) and the current task (4).
        let id = number(data, (0, 2))? as u16;
        let pid = number(data, (4, 4))? as u32;
        let layout = self.0.iter().find(|l| l.id == id)?;
        let field = |n: usize| layout.fields[n].and_then(|f| number(data, f));
        let what = match layout.kind {
            TraceEventKind::Fork => BlockEventKind::Fork { parent: field(0)? as u32, child: field(1)? as u32 },
            TraceEventKind::Exit => BlockEventKind::Exit { pid: field(0)? as u32 },
            kind => {
                let (offset, size) = layout.fields[2]?;
                let (op, flags) = parse_rwbs(data.get(offset..offset + size)?)?;
                let (lba, second) = (Lba(field(0)?), field(1)?);
                if kind == TraceEventKind::Split {
                    BlockEventKind::Split { op, lba, at: Lba(second) }
                } else {
                    let priority = field(3).and_then(|raw| IoPriority::from_kernel(raw as u16));
                    let io = BlockIo { op, flags, lba, sectors: Sectors(second as u32), priority };
                    match kind {
                        TraceEventKind::Queue => BlockEventKind::Queued(io),
                        TraceEventKind::Merge => BlockEventKind::Merged(io),
                        TraceEventKind::Insert => BlockEventKind::Inserted(io),
                        TraceEventKind::Issue => BlockEventKind::Issued(io),
                        TraceEventKind::Refuse => BlockEventKind::Refused(io),
                        _ => BlockEventKind::Completed(io),
                    }
                }
            }
        };
        let comm = layout.fields[4].and_then(|(offset, size)| data.get(offset..offset + size)?.try_into().ok());
        Some(BlockEvent { time, cpu, pid, comm: comm.unwrap_or_default(), what })
    }
}

impl Layout {
    fn parse(format: &str, kind: TraceEventKind) -> Result<Self, &'static str> {
        let id = format.lines().find_map(|l| l.strip_prefix("ID: ")).and_then(|id| id.trim().parse().ok());
        let find = |name: &str| format.lines().find_map(|line| parse_field(line).filter(|f| f.0 == name)).map(|f| f.1);
        let (needed, wanted): (&[&str], &str) = match kind {
            TraceEventKind::Queue
            | TraceEventKind::Merge
            | TraceEventKind::Insert
            | TraceEventKind::Issue
            | TraceEventKind::Complete
            | TraceEventKind::Refuse => (&["sector", "nr_sector", "rwbs"], "ioprio"),
            TraceEventKind::Split => (&["sector", "new_sector", "rwbs"], ""),
            TraceEventKind::Fork => (&["parent_pid", "child_pid"], ""),
            TraceEventKind::Exit => (&["pid"], ""),
        };
        let mut fields = [None; 5];
        for (slot, name) in fields.iter_mut().zip(needed) {
            *slot = Some(find(name).ok_or("its format misses a field, expected the one of Linux 4.19 or later")?);
        }
        fields[3] = find(wanted);
        fields[4] = find("comm").filter(|f| kind == TraceEventKind::Queue && f.1 == 16);
        Ok(Self { id: id.ok_or("its format has no ID")?, kind, fields })
    }
}

/// Name and place of the field on a line such as `field:char rwbs[8]; offset:28; size:8; signed:0;`.
fn parse_field(line: &str) -> Option<(&str, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let name = parts.next()?.split_whitespace().last()?;
    let name = name.split_once('[').map_or(name, |n| n.0);
    let mut value = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    Some((name, (value("offset:")?, value("size:")?)))
}

/// An unsigned number in the machine's byte order.
fn number(data: &[u8], (offset, size): Field) -> Option<u64> {
    let bytes = data.get(offset..offset + size)?;
    Some(match size {
        1 => u64::from(bytes[0]),
        2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
        4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
        8 => u64::from_ne_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Flags, Op};

    const FORMAT: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    #[test]
    fn decodes_by_the_kernels_own_description() {
        let layouts = Layouts(vec![Layout::parse(FORMAT, TraceEventKind::Issue).unwrap()]);
        let mut data = [0u8; 44];
        data[0..2].copy_from_slice(&2104u16.to_ne_bytes());
        data[4..8].copy_from_slice(&77u32.to_ne_bytes());
        data[16..24].copy_from_slice(&4096u64.to_ne_bytes());
        data[24..28].copy_from_slice(&16u32.to_ne_bytes());
        data[32..34].copy_from_slice(&((2u16 << 13) | 3).to_ne_bytes());
        data[34..36].copy_from_slice(b"RA");
        let event = layouts.decode(&data, Nanos(5), 1).unwrap();
        let BlockEventKind::Issued(io) = event.what else { panic!("{event:?}") };
        assert_eq!((event.pid, io.op, io.lba, io.sectors), (77, Op::Read, Lba(4096), Sectors(16)));
        assert_eq!((io.flags, io.priority.unwrap().level), (Flags::READ_AHEAD, 3));
        assert!(layouts.decode(&data[..40], Nanos(5), 1).is_none(), "a short event is not read past its end");
    }

    #[test]
    fn a_format_without_a_field_is_refused() {
        assert!(Layout::parse("ID: 7\n", TraceEventKind::Exit).is_err());
    }
}
