//! From a probe's result to a description that `--disk` takes.

use super::Probed;
use crate::{
    CacheSpec, DeviceSpec, DiskSpec, GeometrySpec, InterfaceSpec, LayoutSpec, MechanicalSpec, MechanicsSpec,
    PolicySpec, SeekSpec, ZoneSpec,
};
use std::collections::BTreeMap;

const MS: f64 = 1e6;

impl Probed {
    /// The description of a disk with these parameters. Reads do not reveal all of them; [`Probed::ASSUMED`] lists the
    /// assumptions.
    pub fn spec(&self, name: &str) -> DiskSpec {
        let overhead = self.overhead.map_or(0.0, |o| o.value);
        let mut ms = 0.0f64;
        let rising = self.seek.iter().map(|&(distance, time)| {
            // Noise must not make a longer seek shorter.
            ms = ms.max((time.value / MS).max(0.001));
            (distance, ms)
        });
        let single = self.seek.first().map_or(1.0, |s| s.1.value / MS);
        let ahead = self.cache.read_ahead_sequential.max(self.cache.read_ahead_random);
        let segment = u64::from(ahead + 1).next_power_of_two().max(64);
        let m = MechanicalSpec {
            geometry: GeometrySpec {
                capacity_sectors: Some(self.capacity),
                heads: self.heads,
                layout: if self.band_cylinders > 1 { LayoutSpec::Banded } else { LayoutSpec::Cylinder },
                band_cylinders: (self.band_cylinders > 1).then_some(self.band_cylinders),
                track_skew_revolutions: self.head_skew,
                cylinder_skew_revolutions: Some(self.cylinder_skew),
                zone: self.zone_specs(),
                ..GeometrySpec::default()
            },
            mechanics: MechanicsSpec {
                rotation_rpm: 60e9 / self.period.value,
                initial_angle_revolutions: 0.0,
                head_switch_ms: self.head_switch.map_or(single, |h| (h.value / MS).max(0.0)),
                write_settle_ms: 0.0,
                seek: SeekSpec { table_ms: rising.collect(), ..SeekSpec::default() },
            },
            interface: InterfaceSpec {
                // The protocol is not visible to a probe and stays at its default.
                protocol: None,
                rate_mb_s: self.rate.map_or(300.0, |rate| rate.value),
                queue_depth: self.queue.depth,
                queue_policy: if self.queue.depth > 1 { PolicySpec::Sptf } else { PolicySpec::Fifo },
                age_limit_ms: (self.queue.depth > 1).then(|| self.full_queue_ms()),
                read_overhead_ms: overhead / MS,
                hit_overhead_ms: self.hit.value / MS,
                write_overhead_ms: self.hit.value / MS,
            },
            cache: CacheSpec {
                size_kib: u64::from(self.cache.segments) * segment / 2,
                segments: self.cache.segments,
                read_ahead_sequential_sectors: self.cache.read_ahead_sequential,
                read_ahead_random_sectors: self.cache.read_ahead_random,
                read_ahead_on_hit: self.cache.read_ahead_on_hit,
                ..CacheSpec::default()
            },
        };
        DiskSpec {
            name: name.to_owned(),
            model: "a disk that was probed".to_owned(),
            sources: vec![format!("probed with {} reads, which took {:.0} s", self.requests, self.seconds)],
            device: DeviceSpec::Mechanical(Box::new(m)),
            provenance: BTreeMap::new(),
        }
    }

    /// What [`spec`](Probed::spec) assumes, because reads do not reveal it.
    pub const ASSUMED: &'static str = "writes through the cache and settling as fast as reads; segments just large \
                                       enough for the read-ahead; in its queue the shortest positioning time first, \
                                       and nobody passed over for longer than a full queue takes as it came";

    /// The time of a full queue in order of arrival: the catalogue's rule `age-limit`. The average seek is that over a
    /// third of the cylinders.
    fn full_queue_ms(&self) -> f64 {
        let third = self.seek.last().map_or(0, |s| s.0) / 3;
        let seek = self.seek.iter().find(|s| s.0 >= third).map_or(0.0, |s| s.1.value);
        let each = seek + self.period.value / 2.0 + self.overhead.map_or(0.0, |o| o.value);
        (f64::from(self.queue.depth) * each / MS).round()
    }

    fn zone_specs(&self) -> Vec<ZoneSpec> {
        let spans = zone_cylinders(&self.zones, self.heads, self.capacity);
        let mut first_cylinder = 0;
        let mut zones = Vec::with_capacity(spans.len());
        for ((_, per_track), cylinders) in self.zones.iter().zip(spans) {
            zones.push(ZoneSpec {
                first_cylinder,
                last_cylinder: first_cylinder + cylinders - 1,
                sectors_per_track: *per_track,
                ..ZoneSpec::default()
            });
            first_cylinder += cylinders;
        }
        zones
    }
}

/// The number of cylinders of each zone, from the zones' first sectors and sectors per track.
pub(super) fn zone_cylinders(zones: &[(u64, u32)], heads: u32, capacity: u64) -> Vec<u32> {
    let mut spans = Vec::with_capacity(zones.len());
    let mut given = 0;
    for (i, &(first, per_track)) in zones.iter().enumerate() {
        let cylinder = u64::from(per_track) * u64::from(heads);
        let cylinders = match zones.get(i + 1) {
            // A fraction of a cylinder is a measurement error.
            Some(&(end, _)) => (end.saturating_sub(first) + cylinder / 2) / cylinder,
            // The last zone need not be full. It absorbs the errors of the zones before it.
            None => capacity.saturating_sub(given).div_ceil(cylinder),
        };
        let cylinders = cylinders.max(1);
        given += cylinders * cylinder;
        spans.push(cylinders as u32);
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zones_have_whole_cylinders_and_the_last_one_the_rest() {
        assert_eq!(zone_cylinders(&[(0, 100), (2000, 50)], 4, 2500), [5, 3]);
        // The measured end of the first zone is wrong by a sector; the last zone compensates.
        assert_eq!(zone_cylinders(&[(0, 100), (1801, 50)], 4, 2500), [5, 3]);
        assert_eq!(zone_cylinders(&[(0, 100), (1799, 50)], 4, 2500), [4, 5]);
    }

    proptest! {
        #[test]
        fn all_sectors_have_a_place_for_any_number_of_heads(
            heads in 1u32..12, tracks in prop::collection::vec((1u64..60_000, 8u32..2000), 1..8), rest in 1u64..60_000,
        ) {
            let mut first = 0;
            let zones: Vec<(u64, u32)> = tracks
                .iter()
                .map(|&(sectors, per_track)| {
                    let zone = (first, per_track);
                    first += sectors;
                    zone
                })
                .collect();
            let capacity = zones[zones.len() - 1].0 + rest;
            let spans = zone_cylinders(&zones, heads, capacity);
            let held: u64 = zones.iter().zip(&spans).map(|(z, &n)| u64::from(n) * u64::from(z.1) * u64::from(heads)).sum();
            prop_assert!(held >= capacity && spans.iter().all(|&n| n > 0), "{spans:?}");
        }
    }
}
