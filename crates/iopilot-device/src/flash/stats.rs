//! The counters of a [`crate::FlashDrive`].

use serde::Serialize;

/// Counters since time 0. A unit is the map's unit of placement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlashCounters {
    pub(super) host_read_sectors: u64,
    pub(super) host_written_sectors: u64,
    pub(super) read_units: u64,
    pub(super) buffer_read_units: u64,
    pub(super) unmapped_read_units: u64,
    pub(super) buffered: u64,
    pub(super) coalesced: u64,
    pub(super) filled: u64,
    pub(super) programmed: u64,
    pub(super) padded: u64,
    pub(super) moved: u64,
    pub(super) move_reads: u64,
    pub(super) levelled: u64,
    pub(super) erases: u64,
    pub(super) trimmed: u64,
    pub(super) suspensions: u64,
}

/// What a solid-state drive did since time 0. A unit is the map's unit of placement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashStats {
    /// Bytes that the host read.
    pub host_read_bytes: u64,
    /// Bytes that the host wrote.
    pub host_written_bytes: u64,
    /// Bytes written to flash, including units moved by garbage collection and the padding of rows written early.
    pub flash_written_bytes: u64,
    /// Bytes written to flash over bytes written by the host; 0 before the first write.
    pub write_amplification: f64,
    /// Units read from flash for the host.
    pub units_read: u64,
    /// Units read from the write buffer.
    pub units_read_from_buffer: u64,
    /// Units read that hold no data.
    pub units_read_unmapped: u64,
    /// Units written into the buffer.
    pub units_buffered: u64,
    /// Units written onto a unit that was still in the buffer.
    pub units_coalesced: u64,
    /// Units read from flash because only a part of them was written.
    pub units_filled: u64,
    /// Units programmed for the host.
    pub units_programmed: u64,
    /// Slots in rows that were programmed without data.
    pub units_padded: u64,
    /// Units that garbage collection and wear levelling moved.
    pub units_moved: u64,
    /// Page reads for those moves.
    pub move_reads: u64,
    /// Units that discards freed.
    pub units_trimmed: u64,
    /// Blocks whose data wear levelling moved.
    pub blocks_levelled: u64,
    /// Programs and erases suspended for reads.
    pub suspensions: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Erases of the block erased least.
    pub erases_min: u32,
    /// Erases of the block erased most.
    pub erases_max: u32,
    /// Mean erases of all blocks.
    pub erases_mean: f64,
}

impl FlashStats {
    pub(super) fn new(c: &FlashCounters, erases: &[u32], unit_bytes: u32) -> Self {
        let flash_written_bytes = (c.programmed + c.moved + c.padded) * u64::from(unit_bytes);
        let host_written_bytes = c.host_written_sectors * 512;
        Self {
            host_read_bytes: c.host_read_sectors * 512,
            host_written_bytes,
            flash_written_bytes,
            write_amplification: if host_written_bytes == 0 {
                0.0
            } else {
                flash_written_bytes as f64 / host_written_bytes as f64
            },
            units_read: c.read_units,
            units_read_from_buffer: c.buffer_read_units,
            units_read_unmapped: c.unmapped_read_units,
            units_buffered: c.buffered,
            units_coalesced: c.coalesced,
            units_filled: c.filled,
            units_programmed: c.programmed,
            units_padded: c.padded,
            units_moved: c.moved,
            move_reads: c.move_reads,
            units_trimmed: c.trimmed,
            blocks_levelled: c.levelled,
            suspensions: c.suspensions,
            erases: c.erases,
            erases_min: erases.iter().copied().min().unwrap_or(0),
            erases_max: erases.iter().copied().max().unwrap_or(0),
            erases_mean: erases.iter().map(|&e| f64::from(e)).sum::<f64>() / erases.len().max(1) as f64,
        }
    }
}
