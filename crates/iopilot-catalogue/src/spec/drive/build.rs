//! From `[drive]` to the model.

use super::layouts::{G1Spec, G1ZoneSpec, G2Spec, G4Spec};
use super::sections::{
    BufferSpec, BusSpec, DriveMechanicsSpec, DriveSeekSpec, DriveSpec, ExtraDisconnectSpec, OverheadsSpec, ReadSpec,
    ThreePointSpec, WriteSpec,
};
use crate::spec::bounds;
use iopilot_block::InputError;
use iopilot_device::{
    G1Layout, G1Zone, G2Extent, G2Layout, G2Zone, G4Layout, G4Remap, Geometry, Mechanics, SeekCurve, SkewUnit,
    TrackPattern,
};
use iopilot_scsi::{
    After, BlockTimes, BusPolicy, DriveBufferModel, DriveModel, ExtraDisconnect, Overheads, ReadModel, WriteModel,
};

const MS: f64 = 1e6;

/// The longest time that may be given, ms.
const MAX_MS: f64 = 1e9;

impl DriveSpec {
    /// The model.
    ///
    /// # Errors
    /// Names the dotted key whose value is out of range or contradicts another.
    pub fn model(&self) -> Result<DriveModel, InputError> {
        let geometry = self.geometry()?;
        if !(1..=65_536).contains(&self.queue_depth) {
            return Err(InputError::new("drive.queue_depth", self.queue_depth.to_string(), "1 to 65536 commands"));
        }
        Ok(DriveModel {
            mechanics: self.mechanics.model(geometry)?,
            buffer: self.buffer.model()?,
            read: self.read.model(),
            write: self.write.model()?,
            bus: self.bus.model()?,
            overheads: self.overheads.model()?,
            preseek: self.preseek,
            queue_depth: self.queue_depth,
            queue: self.queue.config()?,
        })
    }

    /// The geometry, from the one layout given.
    fn geometry(&self) -> Result<Geometry, InputError> {
        match (&self.layout_g1, &self.layout_g2, &self.layout_g4) {
            (Some(g1), None, None) => Geometry::g1(&g1.layout()?).map_err(|e| renamed("drive.layout_g1", e)),
            (None, Some(g2), None) => Geometry::g2(&g2.layout()).map_err(|e| renamed("drive.layout_g2", e)),
            (None, None, Some(g4)) => Geometry::g4(&g4.layout()).map_err(|e| renamed("drive.layout_g4", e)),
            _ => {
                let given = [self.layout_g1.is_some(), self.layout_g2.is_some(), self.layout_g4.is_some()];
                let got = format!("{} layouts", given.iter().filter(|&&g| g).count());
                Err(InputError::new("drive", got, "one of layout_g1, layout_g2 and layout_g4"))
            }
        }
    }
}

/// Renames the error's field to our own key. A geometry names a wrong parameter as DiskSim does, for instance
/// `zone 3: slips`. Parts of a layout without a key of their own are named by their list.
fn renamed(table: &str, mut error: InputError) -> InputError {
    let (zone, parameter) = match error.field.strip_prefix("zone ").and_then(|rest| rest.split_once(": ")) {
        Some((zone, parameter)) => (Some(zone.to_owned()), parameter.to_owned()),
        None => (None, error.field.clone()),
    };
    let key = match parameter.as_str() {
        "First cylinder number" => "first_cylinder",
        "Last cylinder number" => "last_cylinder",
        "Blocks per track" => "sectors_per_track",
        "Number of spares" => "spares",
        "slips" | "Slips" => "slips",
        "defects" => "defects",
        "Number of data surfaces" => "heads",
        "Number of cylinders" => "cylinders",
        "Rangesize for sparing" => "range_cylinders",
        "Remaps" => "remaps",
        "Zones" => "zone",
        p if p.starts_with("TP") => "patterns",
        p if p.starts_with("IDX") => "node",
        _ => "",
    };
    if key.is_empty() {
        let at = zone.map_or_else(String::new, |zone| format!(".zone[{zone}]"));
        error.expected = format!("{} ({parameter})", error.expected);
        error.field = format!("{table}{at}");
    } else {
        if parameter.contains(' ') && matches!(key, "patterns" | "node") {
            error.expected = format!("{} ({parameter})", error.expected);
        }
        let at = zone.map_or_else(|| ".".to_owned(), |zone| format!(".zone[{zone}]."));
        error.field = format!("{table}{at}{key}");
    }
    error
}

/// Checks a value of `[drive]` and returns it.
fn within(key: &str, value: f64, low: f64, high: f64, what: &str) -> Result<f64, InputError> {
    bounds::within(&format!("drive.{key}"), value, low, high, what).map(|()| value)
}

/// Milliseconds as ns.
fn ns(key: &str, ms: f64) -> Result<f64, InputError> {
    within(key, ms, 0.0, MAX_MS, "milliseconds").map(|ms| ms * MS)
}

/// The same for a time that may be negative.
fn signed_ns(key: &str, ms: f64) -> Result<f64, InputError> {
    within(key, ms, -MAX_MS, MAX_MS, "milliseconds").map(|ms| ms * MS)
}

impl DriveMechanicsSpec {
    fn model(&self, geometry: Geometry) -> Result<Mechanics, InputError> {
        let rpm = within("mechanics.rotation_rpm", self.rotation_rpm, 1.0, 1e6, "revolutions per minute")?;
        let angle = self.initial_angle_revolutions;
        Ok(Mechanics {
            seek: self.seek.curve(geometry.cylinders())?,
            geometry,
            period: 60e9 / rpm,
            initial_angle: within("mechanics.initial_angle_revolutions", angle, 0.0, 1.0, "revolutions")?,
            head_switch: ns("mechanics.head_switch_ms", self.head_switch_ms)?,
            write_settle: signed_ns("mechanics.write_settle_ms", self.write_settle_ms)?,
        })
    }
}

impl DriveSeekSpec {
    fn curve(&self, cylinders: u32) -> Result<SeekCurve, InputError> {
        const KEY: &str = "drive.mechanics.seek";
        let forms = [
            self.constant_ms.is_some(),
            self.linear.is_some(),
            self.lee.is_some(),
            self.hpl.is_some(),
            !self.table_ms.is_empty(),
        ];
        let forms = forms.iter().filter(|&&given| given).count();
        if forms != 1 {
            let expected = "one of constant_ms, linear, lee, hpl and table_ms";
            return Err(InputError::new(KEY, format!("{forms} seek curves"), expected));
        }
        if !self.write_table_ms.is_empty() && self.table_ms.is_empty() {
            return Err(InputError::new(format!("{KEY}.write_table_ms"), "a table", "one only beside table_ms"));
        }
        if let Some(ms) = self.constant_ms {
            return Ok(SeekCurve::Constant(ns("mechanics.seek.constant_ms", ms)?));
        }
        if let Some(three) = &self.linear {
            let [single, average, full] = three.ns("mechanics.seek.linear")?;
            return Ok(SeekCurve::Linear { single, average, full, cylinders });
        }
        if let Some(three) = &self.lee {
            let [single, average, full] = three.ns("mechanics.seek.lee")?;
            return Ok(SeekCurve::lee(single, average, full, cylinders));
        }
        if let Some(hpl) = &self.hpl {
            let all = |key: &str, values: &[f64]| {
                let key = format!("mechanics.seek.hpl.{key}");
                values.iter().map(|&ms| signed_ns(&key, ms)).collect::<Result<Vec<_>, _>>()
            };
            let (short, long) = (all("short_ms", &hpl.short_ms)?, all("long_ms", &hpl.long_ms)?);
            return Ok(SeekCurve::TwoPart {
                measured: all("measured_ms", &hpl.measured_ms)?,
                boundary: hpl.boundary_cylinders,
                short: [short[0], short[1]],
                long: [long[0], long[1]],
            });
        }
        let points = |points: &[(u32, f64)]| points.iter().map(|&(d, ms)| (d, ms * MS)).collect::<Vec<_>>();
        let (reads, writes) = (points(&self.table_ms), points(&self.write_table_ms));
        let curve = if writes.is_empty() { SeekCurve::table(&reads) } else { SeekCurve::tables(&reads, &writes) };
        curve.map_err(|mut e| {
            // If the first table is valid alone, the second one is wrong.
            let key = if SeekCurve::table(&reads).is_err() { "table_ms" } else { "write_table_ms" };
            e.field = format!("{KEY}.{key}");
            e
        })
    }
}

impl ThreePointSpec {
    fn ns(&self, key: &str) -> Result<[f64; 3], InputError> {
        Ok([
            ns(&format!("{key}.single_cylinder_ms"), self.single_cylinder_ms)?,
            ns(&format!("{key}.average_ms"), self.average_ms)?,
            ns(&format!("{key}.full_stroke_ms"), self.full_stroke_ms)?,
        ])
    }
}

impl BufferSpec {
    fn model(&self) -> Result<DriveBufferModel, InputError> {
        within("buffer.segments", self.segments.into(), 1.0, 1_048_576.0, "segments")?;
        within("buffer.segment_sectors", self.segment_sectors.into(), 1.0, 1e9, "sectors")?;
        let most = f64::from(self.segments);
        within("buffer.write_segments", self.write_segments.into(), 1.0, most, "segments")?;
        Ok(DriveBufferModel {
            segments: self.segments,
            segment_blocks: self.segment_sectors,
            write_segments: self.write_segments,
            separate_write_segment: self.separate_write_segment,
            caching: self.caching,
            low_water: within("buffer.low_water", self.low_water, 0.0, 1.0, "a share")?,
            high_water: within("buffer.high_water", self.high_water, 0.0, 1.0, "a share")?,
            water_by_request: self.water_by_request,
            direct: self.direct,
        })
    }
}

impl ReadSpec {
    fn model(&self) -> ReadModel {
        ReadModel {
            ahead: self.ahead,
            min_ahead: self.min_ahead_sectors,
            max_ahead: self.max_ahead_sectors,
            keep: self.keep,
            ahead_on_hit: self.ahead_on_hit,
            immediate: self.immediate,
            free_blocks: self.free_blocks,
            stop_in_sector: self.stop_in_sector,
            almost_hits: self.almost_hits,
            partial_at_once: self.partial_at_once,
            sneaky_full: self.sneaky_full,
            sneaky_partial: self.sneaky_partial,
            sneaky_intermediate: self.sneaky_intermediate,
            hits_on_written: self.hits_on_written,
        }
    }
}

impl WriteSpec {
    fn model(&self) -> Result<WriteModel, InputError> {
        Ok(WriteModel {
            fast: self.fast,
            immediate: self.immediate,
            combine: self.combine,
            prebuffering: self.prebuffering,
            sequential_overhead: self.sequential_overhead,
            min_seek_delay: ns("write.min_seek_delay_ms", self.min_seek_delay_ms)?,
            stops_prefetch: self.stops_prefetch,
            waits_for_prefetch: self.waits_for_prefetch,
            extra_disconnect: self.extra_disconnect.as_ref().map(ExtraDisconnectSpec::model).transpose()?,
        })
    }
}

impl ExtraDisconnectSpec {
    fn model(&self) -> Result<ExtraDisconnect, InputError> {
        let ns = |key: &str, ms| ns(&format!("write.extra_disconnect.{key}"), ms);
        Ok(ExtraDisconnect {
            command: ns("command_ms", self.command_ms)?,
            disconnect: ns("disconnect_ms", self.disconnect_ms)?,
            away: ns("away_ms", self.away_ms)?,
            second_disconnect: ns("second_disconnect_ms", self.second_disconnect_ms)?,
            seek_delta: signed_ns("write.extra_disconnect.seek_delta_ms", self.seek_delta_ms)?,
            buffered_first: self.buffered_first_sectors,
        })
    }
}

impl BusSpec {
    fn model(&self) -> Result<BusPolicy, InputError> {
        // The slowest part of the path determines the time, and no transfer takes less than 0.
        let sector = |key: &str, ms: f64| signed_ns(key, ms).map(|ns| ns.max(0.0));
        Ok(BusPolicy {
            never_disconnect: self.never_disconnect,
            hold_read: self.hold_read,
            hold_write: self.hold_write,
            block_times: BlockTimes {
                read: sector("bus.read_sector_ms", self.read_sector_ms)?,
                write: sector("bus.write_sector_ms", self.write_sector_ms)?,
            },
        })
    }
}

impl OverheadsSpec {
    fn model(&self) -> Result<Overheads, InputError> {
        let ns = |key: &str, ms| ns(&format!("overheads.{key}"), ms);
        let after = |key: &str, read, write| {
            Ok(After {
                read: ns(&format!("{key}_after_read_ms"), read)?,
                write: ns(&format!("{key}_after_write_ms"), write)?,
            })
        };
        Ok(Overheads {
            per_request: ns("per_request_ms", self.per_request_ms)?,
            read_hit: after("read_hit", self.read_hit_after_read_ms, self.read_hit_after_write_ms)?,
            read_miss: after("read_miss", self.read_miss_after_read_ms, self.read_miss_after_write_ms)?,
            write_hit: after("write_hit", self.write_hit_after_read_ms, self.write_hit_after_write_ms)?,
            write_miss: after("write_miss", self.write_miss_after_read_ms, self.write_miss_after_write_ms)?,
            read_completion: ns("read_completion_ms", self.read_completion_ms)?,
            write_completion: ns("write_completion_ms", self.write_completion_ms)?,
            data_preparation: ns("data_preparation_ms", self.data_preparation_ms)?,
            first_reselect: ns("first_reselect_ms", self.first_reselect_ms)?,
            other_reselect: ns("other_reselect_ms", self.other_reselect_ms)?,
            read_disconnect: after(
                "read_disconnect",
                self.read_disconnect_after_read_ms,
                self.read_disconnect_after_write_ms,
            )?,
            write_disconnect: ns("write_disconnect_ms", self.write_disconnect_ms)?,
        })
    }
}

impl G1Spec {
    fn layout(&self) -> Result<G1Layout, InputError> {
        let zones = self.zone.iter().enumerate().map(|(i, zone)| zone.layout(i)).collect::<Result<_, _>>()?;
        Ok(G1Layout {
            heads: self.heads,
            cylinders: self.cylinders,
            order: self.head_order,
            sparing: self.sparing,
            range_cylinders: self.range_cylinders,
            zones,
        })
    }
}

impl G1ZoneSpec {
    fn layout(&self, index: usize) -> Result<G1Zone, InputError> {
        let sectors =
            [self.offset_sectors, self.track_skew_sectors, self.cylinder_skew_sectors, self.range_skew_sectors];
        let revolutions = [
            self.offset_revolutions,
            self.track_skew_revolutions,
            self.cylinder_skew_revolutions,
            self.range_skew_revolutions,
        ];
        let in_revolutions = revolutions.iter().any(Option::is_some);
        if in_revolutions && sectors.iter().any(Option::is_some) {
            let key = format!("drive.layout_g1.zone[{index}]");
            return Err(InputError::new(key, "angles in sectors and in revolutions", "all in one of the two"));
        }
        let (skew_unit, angles) =
            if in_revolutions { (SkewUnit::Revolutions, revolutions) } else { (SkewUnit::Sectors, sectors) };
        let [offset, track_skew, cylinder_skew, range_skew] = angles.map(Option::unwrap_or_default);
        Ok(G1Zone {
            first_cylinder: self.first_cylinder,
            last_cylinder: self.last_cylinder,
            blocks_per_track: self.sectors_per_track,
            offset,
            empty: self.empty_sectors,
            track_skew,
            cylinder_skew,
            range_skew,
            skew_unit,
            spares: self.spares,
            slips: self.slips.clone(),
            defects: self.defects.clone(),
        })
    }
}

impl G2Spec {
    fn layout(&self) -> G2Layout {
        let zones = self.zone.iter().map(|z| G2Zone {
            first_cylinder: z.first_cylinder,
            last_cylinder: z.last_cylinder,
            first_block: z.first_block,
            last_block: z.last_block,
            blocks_per_track: z.sectors_per_track,
            offset: z.offset_revolutions,
            track_skew: z.track_skew_revolutions,
            cylinder_skew: z.cylinder_skew_revolutions,
        });
        let extents = self.extents.iter();
        G2Layout {
            heads: self.heads,
            cylinders: self.cylinders,
            capacity: self.capacity_sectors,
            zones: zones.collect(),
            extents: extents
                .map(|&(first, blocks, cylinder, head, sector)| G2Extent { first, blocks, cylinder, head, sector })
                .collect(),
        }
    }
}

impl G4Spec {
    fn layout(&self) -> G4Layout {
        let patterns = self.patterns.iter().map(|&(low, high, per_turn)| TrackPattern { low, high, per_turn });
        let remaps = self.remaps.iter().map(|&(first, blocks, cylinder, head, sector, per_turn)| G4Remap {
            first,
            blocks,
            cylinder,
            head,
            sector,
            per_turn,
        });
        G4Layout {
            heads: self.heads,
            cylinders: self.cylinders,
            capacity: self.capacity_sectors,
            patterns: patterns.collect(),
            nodes: self.node.iter().map(|node| node.entries.clone()).collect(),
            slips: self.slips.clone(),
            remaps: remaps.collect(),
        }
    }
}
