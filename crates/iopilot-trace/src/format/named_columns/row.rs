//! [`Row`]: the columns of one line, and what they say.

use super::layout::{Column, ColumnLayout, Item, Separator};
use crate::TraceRecord;
use crate::block_events::{BlockEvents, Head, Payload, Rwbs};
use crate::fields::{Fields, byte_extent, decimal, extent, hexadecimal, integer, invalid};
use crate::format::scsi;
use crate::line_records::transfer;
use crate::metadata::TraceMetadata;
use iopilot_block::{Flags, InputError, Lba, Nanos, Op, ProcessId, SECTOR_BYTES, Sectors};

/// The columns of a line, in the layout's order.
pub(super) struct Row<'a>(Vec<(Column, &'a [u8])>);

/// What a line says.
pub(super) enum Said {
    /// No request: one of no length, or a command that is no block I/O.
    Nothing,
    Request(Box<TraceRecord>),
    Event(RowEvent),
}

/// An event of the block layer.
pub(super) struct RowEvent {
    action: Vec<u8>,
    head: Head,
    rwbs: Rwbs,
    payload: Payload,
    command: Vec<u8>,
}

impl<'a> Row<'a> {
    /// Cuts `line` into columns.
    pub(super) fn of(line: &'a [u8], layout: &ColumnLayout) -> Result<Self, InputError> {
        let missing = |column: Column| InputError::new(column.name(), "the end of the line", "a column");
        let mut row = Vec::with_capacity(layout.items().len());
        let mut fields = match layout.separator() {
            Separator::Comma => Fields::separated(line, b','),
            Separator::Blanks => Fields::blank_separated(line),
            Separator::Literal => return Self::cut(line, layout.items()),
        };
        for item in layout.items() {
            let &Item::Column(column) = item else { continue };
            row.push((column, fields.optional().ok_or_else(|| missing(column))?));
        }
        fields.end()?;
        Ok(Self(row))
    }

    /// Columns end where the text that follows them in the layout begins, else at a blank; a command at the end of the
    /// layout is the rest of the line.
    fn cut(line: &'a [u8], items: &[Item]) -> Result<Self, InputError> {
        let mut rest = line;
        let mut row = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            rest = rest.trim_ascii_start();
            match item {
                Item::Text(text) => {
                    rest = rest
                        .strip_prefix(text.as_slice())
                        .ok_or_else(|| invalid("line", rest, &String::from_utf8_lossy(text)))?;
                }
                &Item::Column(column) => {
                    let blank = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                    let end = match items.get(i + 1) {
                        None if column == Column::Command => rest.len(),
                        Some(Item::Text(text)) if !text.is_empty() => memchr::memmem::find(rest, text).unwrap_or(blank),
                        _ => blank,
                    };
                    if end == 0 && column != Column::Command && column != Column::Ignored {
                        return Err(InputError::new(column.name(), "the end of the line", "a column"));
                    }
                    row.push((column, rest[..end].trim_ascii()));
                    rest = &rest[end..];
                }
            }
        }
        Ok(Self(row))
    }

    fn get(&self, column: Column) -> Option<&'a [u8]> {
        self.0.iter().find(|(c, _)| *c == column).map(|(_, field)| *field)
    }

    /// Whether it is a header: its time column holds a word.
    pub(super) fn is_header(&self) -> bool {
        let time = self.0.iter().find(|(c, _)| matches!(c, Column::Time(_)));
        time.is_some_and(|(_, field)| field.first().is_some_and(u8::is_ascii_alphabetic))
    }

    fn number(&self, column: Column) -> Result<Option<u64>, InputError> {
        let Some(field) = self.get(column) else { return Ok(None) };
        let expected = "a whole number of at most 64 bits, not negative";
        integer(field).map(Some).ok_or_else(|| invalid(column.name(), field, expected))
    }

    /// The sum of the columns that `exponent` picks.
    fn time(&self, exponent: impl Fn(Column) -> Option<u32>) -> Result<Option<Nanos>, InputError> {
        let mut sum = None;
        for &(column, field) in &self.0 {
            let Some(exponent) = exponent(column) else { continue };
            let expected = "a time, not negative, at most 584 years";
            let part = decimal(field, exponent).ok_or_else(|| invalid(column.name(), field, expected))?;
            sum = Some(Nanos(part).saturating_add(sum.unwrap_or(Nanos::ZERO)));
        }
        Ok(sum)
    }

    fn device(&self, metadata: &mut TraceMetadata) -> u32 {
        match (self.get(Column::Device), self.get(Column::Major), self.get(Column::Minor)) {
            (Some(name), ..) => metadata.device(name),
            (None, None, None) => 0,
            (None, major, minor) => metadata.device(&[major.unwrap_or(b"?"), b",", minor.unwrap_or(b"?")].concat()),
        }
    }

    /// What it does; `None` for a SCSI command that moves no blocks.
    fn operation(&self) -> Result<Option<Rwbs>, InputError> {
        let plain = |op| Some(Rwbs { op: Some(op), flags: Flags::empty() });
        let flag = |column: Column, one: Op, zero: Op| match self.get(column) {
            Some(b"1") => Ok(plain(one)),
            Some(b"0") => Ok(plain(zero)),
            other => Err(invalid(column.name(), other.unwrap_or_default(), "0 or 1")),
        };
        if let Some(word) = self.get(Column::Op) {
            let upper = word.to_ascii_uppercase();
            let op = match upper.as_slice() {
                b"READ" => plain(Op::Read),
                b"WRITE" => plain(Op::Write),
                b"FLUSH" => Some(Rwbs { op: None, flags: Flags::PREFLUSH }),
                b"DISCARD" | b"TRIM" => plain(Op::Discard),
                _ => Rwbs::parse(&upper),
            };
            let expected = "R, W, or letters such as WS, Read, Write or Flush";
            return op.map(Some).ok_or_else(|| invalid("op", word, expected));
        }
        if self.get(Column::Read).is_some() {
            return flag(Column::Read, Op::Read, Op::Write);
        }
        if self.get(Column::Write).is_some() {
            return flag(Column::Write, Op::Write, Op::Read);
        }
        let field = self.get(Column::Opcode).unwrap_or_default();
        let code = hexadecimal(field).and_then(|code| u8::try_from(code).ok());
        let code = code.ok_or_else(|| invalid("opcode", field, "a SCSI operation code in hexadecimal"))?;
        Ok(scsi::op(code).and_then(plain))
    }

    /// Its sectors. A request of length 0, such as a flush, has no address.
    fn extent(&self) -> Result<(Lba, Sectors), InputError> {
        let (sectors, bytes) = (self.number(Column::Sectors)?, self.number(Column::Bytes)?);
        if sectors.or(bytes) == Some(0) {
            return byte_extent(0, 0);
        }
        match (self.number(Column::Lba)?, self.number(Column::Offset)?) {
            (Some(lba), _) => extent(lba, sectors.or(bytes.map(|b| b.div_ceil(SECTOR_BYTES))).unwrap_or(0)),
            (None, offset) => {
                let too_long = || InputError::new("sectors", "a length", "bytes below 2^63");
                let bytes = match sectors {
                    Some(sectors) => sectors.checked_mul(SECTOR_BYTES).ok_or_else(too_long)?,
                    None => bytes.unwrap_or(0),
                };
                byte_extent(offset.unwrap_or(0), bytes)
            }
        }
    }

    /// Interprets the row.
    pub(super) fn said(&self, layout: &ColumnLayout, metadata: &mut TraceMetadata) -> Result<Said, InputError> {
        let time = |c: Column| if let Column::Time(e) = c { Some(e) } else { None };
        let time = self.time(time)?.unwrap_or(Nanos::ZERO);
        let small = |column: Column| -> Result<Option<u32>, InputError> {
            let number = self.number(column)?;
            let fits =
                |n: u64| u32::try_from(n).map_err(|_| InputError::new(column.name(), n.to_string(), "below 2^32"));
            number.map(fits).transpose()
        };
        let (pid, cpu) = (small(Column::Pid)?, small(Column::Cpu)?);
        let cpu = cpu.map(|n: u32| u16::try_from(n).map_err(|_| InputError::new("cpu", n.to_string(), "below 65536")));
        let cpu = cpu.transpose()?;
        let operation = self.operation()?;
        let Some(rwbs) = operation else {
            metadata.notes.other_commands += 1;
            return Ok(Said::Nothing);
        };
        let (lba, sectors) = self.extent()?;
        let device = self.device(metadata);
        let command = self.get(Column::Command).unwrap_or_default();
        if layout.has_actions() {
            let action = self.get(Column::Action).unwrap_or_default().to_vec();
            let head = Head { device, cpu, time, pid };
            let payload = Payload::Extent(lba, sectors);
            return Ok(Said::Event(RowEvent { action, head, rwbs, payload, command: command.to_vec() }));
        }
        let op = match rwbs.op {
            Some(op) => op,
            None if rwbs.flags.contains(Flags::PREFLUSH) => Op::Flush,
            None => {
                metadata.notes.other_commands += 1;
                return Ok(Said::Nothing);
            }
        };
        let place = if op == Op::Flush { byte_extent(0, 0)? } else { (lba, sectors) };
        let latency = self.time(|c| if let Column::Latency(e) = c { Some(e) } else { None })?;
        let completion = self.time(|c| if let Column::Completion(e) = c { Some(e) } else { None })?;
        let Some(mut record) = transfer(metadata, time, op, place) else { return Ok(Said::Nothing) };
        record.completion = completion.or(latency.map(|l| time.saturating_add(l)));
        if record.completion.is_some_and(|c| c < time) {
            return Err(InputError::new("completion", "a time before the arrival", "a time at or behind it"));
        }
        (record.device, record.cpu, record.flags) = (device, cpu, rwbs.flags);
        record.process = pid.map(ProcessId);
        if let (Some(pid), false) = (pid, command.is_empty()) {
            metadata.name_process(pid, command);
        }
        Ok(Said::Request(Box::new(record)))
    }
}

impl RowEvent {
    /// Adds the event to `events`.
    pub(super) fn take(&self, events: &mut BlockEvents, metadata: &mut TraceMetadata) -> Result<(), InputError> {
        let Self { head, rwbs, payload, command, .. } = self;
        if let Some(cpu) = head.cpu {
            events.check_order(head.device, cpu, head.time)?;
        }
        match self.action.as_slice() {
            b"Q" => events.queue(*head, *rwbs, *payload, command, metadata),
            b"D" => events.issue(*head, *rwbs, *payload, command, metadata),
            b"C" => events.complete(*head, *rwbs, *payload),
            b"M" => events.merge(*head, *rwbs, *payload, true),
            b"F" => events.merge(*head, *rwbs, *payload, false),
            b"R" => events.requeue(*head, *rwbs, *payload),
            // No column says where a split (`X`) cuts.
            b"A" | b"B" | b"G" | b"I" | b"P" | b"S" | b"T" | b"U" | b"UT" | b"W" | b"X" | b"m" => {}
            other => return Err(invalid("action", other, "one of A B C D F G I M P Q R S T U UT W X m")),
        }
        Ok(())
    }
}
