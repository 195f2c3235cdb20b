//! [`Programs`]: the programs of `bpf/capture.bpf.c` in the kernel.

use super::message::{BpfMessage, FlagBits, RequestMessage};
use crate::LiveError;
use crate::capture::device::CapturedDevice;
use aya::maps::{Array, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::{Btf, Ebpf, EbpfLoader};
use std::fmt;

/// The object file that `make bpf` builds.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/capture.bpf.o");

/// The programs and their trace points. That of arrivals is attached last, after all that follow an arrival.
const PROGRAMS: [(&str, &str); 9] = [
    ("on_complete", "block_rq_complete"),
    ("on_bio_complete", "block_bio_complete"),
    ("on_issue", "block_rq_issue"),
    ("on_insert", "block_rq_insert"),
    ("on_back_merge", "block_bio_backmerge"),
    ("on_front_merge", "block_bio_frontmerge"),
    ("on_request_merge", "block_rq_merge"),
    ("on_split", "block_split"),
    ("on_bio", "block_bio_queue"),
];
const ARRIVALS: usize = PROGRAMS.len() - 1;
/// Slots in the programs' table of requests in flight.
const SLOTS: u32 = 65536;

/// Words in the programs' `struct state`.
const STATE: usize = 40;
/// The buffer grows with the number of CPUs, up to this many.
const MAX_CPUS: u32 = 8;

/// The programs' counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BpfCounters {
    /// Requests that arrived, and those of them that have ended.
    pub(super) arrived: u64,
    pub(super) over: u64,
    /// Messages for which there was no room.
    pub(super) lost: u64,
}

/// The loaded programs; dropping this unloads them.
pub(super) struct Programs {
    ring: RingBuf<MapData>,
    state: Array<MapData, [u64; STATE]>,
    slots: Array<MapData, [u64; 8]>,
    /// The links of those of [`PROGRAMS`] that are attached.
    links: [Option<BtfTracePointLinkId>; PROGRAMS.len()],
    programs: Ebpf,
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// The error as one line: the verifier's output can be long. A missing right is reported alone.
fn refused(error: &(dyn std::error::Error + 'static)) -> LiveError {
    let mut causes = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        let code = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        if code.is_some_and(|code| [libc::EPERM, libc::EACCES].contains(&code)) {
            return LiveError::NotPermitted("BPF".into());
        }
        let text: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
        if causes.last() != Some(&text) {
            causes.push(text);
        }
        next = cause.source();
    }
    LiveError::Bpf(causes.join(": "))
}

fn program<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut BtfTracePoint, LiveError> {
    let missing = || LiveError::Bpf(format!("the object has no {name}"));
    let program = programs.program_mut(name).ok_or_else(missing)?;
    program.try_into().map_err(|e: aya::programs::ProgramError| refused(&e))
}

impl Programs {
    /// Loads and attaches them. The buffer is as large as asked for, for each CPU, rounded up to a power of two.
    pub(super) fn start(device: &CapturedDevice, buffer_kb: u32) -> Result<Self, LiveError> {
        let btf = Btf::from_sys_fs().map_err(|e| refused(&e))?;
        let (major, minor) = (device.disk >> 20, device.disk & 0xf_ffff);
        let partition = device.partition.unwrap_or_default();
        let flag = u8::from;
        let (requests, write_back, fua) = (flag(device.has_requests), flag(device.write_back), flag(device.knows_fua));
        let page = rustix::param::page_size() as u32;
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32).min(MAX_CPUS);
        let ring = buffer_kb.min(1 << 17).saturating_mul(cpus).saturating_mul(1024).next_power_of_two().max(page);
        let mut programs = EbpfLoader::new()
            .btf(Some(&btf))
            .set_global("disk_major", &major, true)
            .set_global("disk_minor", &minor, true)
            .set_global("partition", &partition, true)
            .set_global("has_requests", &requests, true)
            .set_global("write_back", &write_back, true)
            .set_global("knows_fua", &fua, true)
            .set_max_entries("ring", ring)
            .load(OBJECT)
            .map_err(|e| refused(&e))?;
        for (name, trace_point) in PROGRAMS {
            program(&mut programs, name)?.load(trace_point, &btf).map_err(|e| refused(&e))?;
        }
        let mut take = |name: &str| {
            let missing = || LiveError::Bpf(format!("the object has no {name}"));
            programs.take_map(name).ok_or_else(missing)
        };
        let mut programs = Self {
            ring: RingBuf::try_from(take("ring")?).map_err(|e| refused(&e))?,
            state: Array::try_from(take("state")?).map_err(|e| refused(&e))?,
            slots: Array::try_from(take("slots")?).map_err(|e| refused(&e))?,
            links: [const { None }; PROGRAMS.len()],
            programs,
        };
        programs.attach()?;
        Ok(programs)
    }

    /// Attaches the programs that are detached.
    pub(super) fn attach(&mut self) -> Result<(), LiveError> {
        for ((name, _), link) in PROGRAMS.iter().zip(&mut self.links) {
            if link.is_none() {
                *link = Some(program(&mut self.programs, name)?.attach().map_err(|e| refused(&e))?);
            }
        }
        Ok(())
    }

    /// Detaches all programs, so that they cost the users of the disk nothing.
    pub(super) fn detach(&mut self) -> Result<(), LiveError> {
        (0..PROGRAMS.len()).try_for_each(|which| self.detach_one(which))
    }

    fn detach_one(&mut self, which: usize) -> Result<(), LiveError> {
        let Some(link) = self.links[which].take() else { return Ok(()) };
        program(&mut self.programs, PROGRAMS[which].0)?.detach(link).map_err(|e| refused(&e))
    }

    /// The next message, if there is one; `Some(None)` for one that cannot be decoded.
    pub(super) fn next(&mut self) -> Option<Option<BpfMessage>> {
        self.ring.next().map(|data| BpfMessage::decode(&data))
    }

    /// Ignores new arrivals; requests that have arrived are followed to their end.
    pub(super) fn close(&mut self) -> Result<(), LiveError> {
        self.detach_one(ARRIVALS)
    }

    /// The requests that have not completed.
    pub(super) fn under_way(&self) -> Result<Vec<RequestMessage>, LiveError> {
        let counts = self.counts();
        let mut found = Vec::new();
        for slot in 0..SLOTS {
            // The table is large, and mostly empty.
            if found.len() as u64 >= counts.arrived.saturating_sub(counts.over) {
                break;
            }
            found.extend(RequestMessage::in_slot(&self.slots.get(&slot, 0).map_err(|e| refused(&e))?));
        }
        Ok(found)
    }

    /// The counters; a process can always read its own maps.
    pub(super) fn counts(&self) -> BpfCounters {
        let words = self.words();
        BpfCounters { arrived: words[22], over: words[39], lost: words[5] }
    }

    /// Where the kernel has the flags of requests; known as soon as one has arrived.
    pub(super) fn flag_bits(&self) -> FlagBits {
        let words = self.words();
        FlagBits::new([words[2], words[3]])
    }

    fn words(&self) -> [u64; STATE] {
        self.state.get(&0, 0).unwrap_or([0; STATE])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As POSIX' `cksum` has it.
    fn cksum(data: &[u8]) -> u32 {
        let length = data.len().to_le_bytes();
        let significant = length.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
        let step =
            |crc: u32, &byte: &u8| {
                (0..8).fold(crc ^ u32::from(byte) << 24, |crc, _| {
                    if crc & 1 << 31 != 0 { crc << 1 ^ 0x04c1_1db7 } else { crc << 1 }
                })
            };
        !data.iter().chain(&length[..significant]).fold(0, step)
    }

    #[test]
    fn the_object_was_built_from_the_source_beside_it() {
        assert_eq!(cksum(b"123456789"), 930_766_865);
        let source = include_bytes!("../../../bpf/capture.bpf.c");
        let line = |data: &[u8], name: &str| format!("{} {} {name}\n", cksum(data), data.len());
        let expected = line(source, "capture.bpf.c") + &line(OBJECT, "capture.bpf.o");
        assert_eq!(include_str!("../../../bpf/checksums"), expected, "`make bpf` was forgotten");
    }

    #[test]
    fn what_bpf_refuses_is_told_in_a_line() {
        let verifier = std::io::Error::other("invalid access\n12: (85) call\nprocessed 12 insns");
        assert_eq!(refused(&verifier).to_string(), "BPF: invalid access");
        let denied = std::io::Error::from_raw_os_error(libc::EPERM);
        assert_eq!(refused(&denied).to_string(), "BPF: permission denied; this needs root");
    }
}
