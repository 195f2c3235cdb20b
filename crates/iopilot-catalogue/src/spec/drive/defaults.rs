//! The defaults of `[drive]`: those of the model.

use super::sections::{BufferSpec, ReadSpec, WriteSpec};
use iopilot_scsi::{DriveBufferModel, ReadModel, WriteModel};

impl Default for BufferSpec {
    fn default() -> Self {
        let m = DriveBufferModel::default();
        Self {
            segments: m.segments,
            segment_sectors: m.segment_blocks,
            write_segments: m.write_segments,
            separate_write_segment: m.separate_write_segment,
            caching: m.caching,
            low_water: m.low_water,
            high_water: m.high_water,
            water_by_request: m.water_by_request,
            direct: m.direct,
        }
    }
}

impl Default for ReadSpec {
    fn default() -> Self {
        let m = ReadModel::default();
        Self {
            ahead: m.ahead,
            min_ahead_sectors: m.min_ahead,
            max_ahead_sectors: m.max_ahead,
            keep: m.keep,
            ahead_on_hit: m.ahead_on_hit,
            immediate: m.immediate,
            free_blocks: m.free_blocks,
            stop_in_sector: m.stop_in_sector,
            almost_hits: m.almost_hits,
            partial_at_once: m.partial_at_once,
            sneaky_full: m.sneaky_full,
            sneaky_partial: m.sneaky_partial,
            sneaky_intermediate: m.sneaky_intermediate,
            hits_on_written: m.hits_on_written,
        }
    }
}

impl Default for WriteSpec {
    fn default() -> Self {
        let m = WriteModel::default();
        Self {
            fast: m.fast,
            immediate: m.immediate,
            combine: m.combine,
            prebuffering: m.prebuffering,
            sequential_overhead: m.sequential_overhead,
            min_seek_delay_ms: m.min_seek_delay / 1e6,
            stops_prefetch: m.stops_prefetch,
            waits_for_prefetch: m.waits_for_prefetch,
            extra_disconnect: None,
        }
    }
}
