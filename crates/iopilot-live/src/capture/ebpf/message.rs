//! [`BpfMessage`]: what the programs write into the ring buffer, decoded. The layouts are those of `bpf/capture.bpf.c`,
//! in the machine's byte order.

use iopilot_block::{Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_trace::TraceRecord;

/// The first word's top byte holds the kind of message. Its top bit is set if a bio was merged into an existing
/// request.
const KIND: u32 = 56;
const KINDS: u64 = 0x7f;
const MERGED: u64 = 1 << 63;
const NUMBER: u64 = (1 << KIND) - 1;

/// A message of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BpfMessage {
    /// A request completed.
    Request(RequestMessage),
    /// The bio of this number ended without becoming a request.
    Refused(u64),
    /// The task that issues the requests that follow.
    Task(TaskMessage),
}

/// A request; times are on the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestMessage {
    pub(super) number: u64,
    pub(super) merged: bool,
    pub(super) arrival: Nanos,
    pub(super) inserted: Option<Nanos>,
    pub(super) issued: Option<Nanos>,
    pub(super) completed: Option<Nanos>,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    /// Operation and flags, as the kernel has them.
    pub(super) opf: u32,
    pub(super) pid: u32,
    pub(super) cpu: u16,
    pub(super) priority: u16,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskMessage {
    pub(super) start: Nanos,
    pub(super) pid: u32,
    /// The process that it is a thread of.
    pub(super) tgid: u32,
    pub(super) parent: u32,
    pub(super) comm: [u8; 16],
    /// Whether a request of it was handed out.
    pub(super) issued: bool,
}

impl BpfMessage {
    /// Decodes a message; `None` for bytes that no program writes.
    pub(super) fn decode(data: &[u8]) -> Option<Self> {
        let head = word(data, 0)?;
        let number = head & NUMBER;
        match head >> KIND & KINDS {
            1 => Some(Self::Request(RequestMessage {
                number,
                merged: head & MERGED != 0,
                arrival: Nanos(word(data, 8)?),
                inserted: moment(word(data, 16)?),
                issued: moment(word(data, 24)?),
                completed: moment(word(data, 32)?),
                sector: word(data, 40)?,
                bytes: half(data, 48)?,
                opf: half(data, 52)?,
                pid: half(data, 56)?,
                cpu: quarter(data, 60)?,
                priority: quarter(data, 62)?,
            })),
            2 => Some(Self::Refused(number)),
            3 => Some(Self::Task(TaskMessage {
                start: Nanos(word(data, 8)?),
                pid: half(data, 16)?,
                tgid: half(data, 20)?,
                parent: half(data, 24)?,
                comm: data.get(32..48)?.try_into().ok()?,
                issued: false,
            })),
            _ => None,
        }
    }
}

impl RequestMessage {
    /// The request in flight in a slot of the programs' table; `None` for an empty slot.
    pub(super) fn in_slot(slot: &[u64; 8]) -> Option<Self> {
        let [bio, number, arrival, sector, sizes, task, ..] = *slot;
        // Two fields of 32 bits, or two of 16 behind one of 32, in the machine's byte order.
        let [low, high] = halves(sizes);
        let [pid, rest] = halves(task);
        let [cpu, merged] = quarters(rest);
        (bio != 0).then_some(Self {
            number,
            merged: merged != 0,
            arrival: Nanos(arrival),
            inserted: None,
            issued: None,
            completed: None,
            sector,
            bytes: low,
            opf: high,
            pid,
            cpu,
            priority: 0,
        })
    }

    /// The request without its times; `None` for operations that are not recorded.
    pub(super) fn record(&self, flags: FlagBits) -> Option<TraceRecord> {
        // A bio without sectors is a flush, whatever it is called.
        let op = if self.bytes == 0 { Op::Flush } else { op(self.opf)? };
        let lba = if op == Op::Flush { 0 } else { self.sector };
        let mut record = TraceRecord::new(Nanos::ZERO, op, Lba(lba), Sectors(self.bytes >> 9));
        record.flags = flags.of(self.opf);
        record.process = Some(ProcessId(self.pid));
        record.cpu = Some(self.cpu);
        record.priority = IoPriority::from_kernel(self.priority).unwrap_or_default();
        Some(record)
    }
}

/// The bit of each of [`Flags`] in the running kernel, in the order of [`Flags`]; zeros while unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlagBits([u8; 9]);

impl FlagBits {
    pub(super) fn new(words: [u64; 2]) -> Self {
        let mut bits = [0; 9];
        for (bit, byte) in bits.iter_mut().zip(words.iter().flat_map(|w| w.to_ne_bytes())) {
            // A larger number is no bit of a 32-bit word.
            *bit = byte & 31;
        }
        Self(bits)
    }

    pub(super) fn known(self) -> bool {
        self.0[0] != 0
    }

    fn of(self, opf: u32) -> Flags {
        let bits = self.0.iter().enumerate();
        let set = bits.filter(|&(_, &at)| opf >> at & 1 != 0).map(|(bit, _)| 1 << bit);
        if self.known() { Flags::from_bits_truncate(set.sum()) } else { Flags::empty() }
    }
}

/// The kernel's `enum req_op`; secure erasure discards, and zeroes are written.
fn op(opf: u32) -> Option<Op> {
    match opf & 0xff {
        0 => Some(Op::Read),
        1 | 9 => Some(Op::Write),
        2 => Some(Op::Flush),
        3 | 5 => Some(Op::Discard),
        _ => None,
    }
}

fn moment(time: u64) -> Option<Nanos> {
    (time != 0).then_some(Nanos(time))
}

fn word(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

fn half(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

fn quarter(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

fn quarters(half: u32) -> [u16; 2] {
    let [a, b, c, d] = half.to_ne_bytes();
    [u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the kernels of 5.17 to 6.18 have them.
    fn bits() -> FlagBits {
        let bytes: [u8; 16] = [11, 19, 12, 13, 17, 18, 15, 20, 14, 0, 0, 0, 0, 0, 0, 0];
        let word = |from: usize| u64::from_ne_bytes(bytes[from..from + 8].try_into().unwrap());
        FlagBits::new([word(0), word(8)])
    }

    fn request(head: u64, opf: u32, bytes: u32) -> Vec<u8> {
        let mut data = Vec::new();
        for word in [head, 1000, 0, 1500, 2500, 4096] {
            data.extend(u64::to_ne_bytes(word));
        }
        for half in [bytes, opf, 77] {
            data.extend(half.to_ne_bytes());
        }
        for quarter in [3u16, (2 << 13) | 6] {
            data.extend(quarter.to_ne_bytes());
        }
        data
    }

    #[test]
    fn a_request_is_read_as_the_program_wrote_it() {
        let Some(BpfMessage::Request(r)) = BpfMessage::decode(&request(MERGED | 1 << KIND | 9, 1 << 19, 8192)) else {
            panic!()
        };
        assert_eq!((r.number, r.merged, r.arrival, r.inserted), (9, true, Nanos(1000), None));
        assert_eq!((r.issued, r.completed), (Some(Nanos(1500)), Some(Nanos(2500))));
        let record = r.record(bits()).unwrap();
        assert_eq!((record.op, record.lba, record.sectors), (Op::Read, Lba(4096), Sectors(16)));
        assert_eq!((record.flags, record.process, record.cpu), (Flags::READ_AHEAD, Some(ProcessId(77)), Some(3)));
        assert_eq!(record.priority.level, 6);
    }

    #[test]
    fn operations_and_flags_are_the_kernels() {
        let of = |opf, bytes| {
            let Some(BpfMessage::Request(r)) = BpfMessage::decode(&request(1 << KIND, opf, bytes)) else { panic!() };
            r.record(bits()).map(|r| (r.op, r.flags, r.lba.0))
        };
        let journal = Flags::SYNC | Flags::META | Flags::PREFLUSH | Flags::FUA | Flags::PRIO;
        let raw = 1 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 17 | 1 << 18;
        assert_eq!(of(raw, 4096), Some((Op::Write, journal, 4096)));
        assert_eq!(of(1 | 1 << 18, 0), Some((Op::Flush, Flags::PREFLUSH, 0)));
        assert_eq!(of(3, 4096).map(|t| t.0), Some(Op::Discard));
        assert_eq!(of(34, 4096), None, "what drivers do among themselves");
    }

    #[test]
    fn a_task_has_name_parent_and_start() {
        let mut data = (3u64 << KIND).to_ne_bytes().to_vec();
        data.extend(5u64.to_ne_bytes());
        for half in [12u32, 11, 1, 0] {
            data.extend(half.to_ne_bytes());
        }
        data.extend(*b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let Some(BpfMessage::Task(task)) = BpfMessage::decode(&data) else { panic!() };
        assert_eq!(
            (task.pid, task.tgid, task.parent, task.start, &task.comm[..4]),
            (12, 11, 1, Nanos(5), &b"fio\0"[..])
        );
        assert_eq!(BpfMessage::decode(&data[..40]), None);
        assert_eq!(BpfMessage::decode(&(2u64 << KIND | 8).to_ne_bytes()), Some(BpfMessage::Refused(8)));
    }

    #[test]
    fn a_slot_holds_what_is_under_way() {
        assert_eq!(RequestMessage::in_slot(&[0; 8]), None);
        let both = |low: u32, high: u32| {
            let (l, h) = (low.to_ne_bytes(), high.to_ne_bytes());
            u64::from_ne_bytes([l[0], l[1], l[2], l[3], h[0], h[1], h[2], h[3]])
        };
        let r = RequestMessage::in_slot(&[1, 5, 100, 8, both(512, 1), both(77, 0), 0, 0]).unwrap();
        assert_eq!((r.number, r.arrival, r.sector, r.bytes, r.opf, r.pid), (5, Nanos(100), 8, 512, 1, 77));
        assert_eq!(r.completed, None);
    }

    proptest! {
        #[test]
        fn garbage_is_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..80), kind in 0u64..5) {
            let mut data = data;
            if let Some(first) = data.get_mut(..8) {
                first.copy_from_slice(&(kind << KIND | 17).to_ne_bytes());
            }
            if let Some(BpfMessage::Request(request)) = BpfMessage::decode(&data) {
                let _ = request.record(bits());
            }
        }
    }
}
