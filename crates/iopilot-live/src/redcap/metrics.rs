//! The metrics of a cache, in the text format of Prometheus.

use super::status::RedcapStatus;
use crate::exposition;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::path::Path;

type Value = fn(&RedcapStatus) -> f64;

/// Name, help text and value.
const FAMILIES: [(&str, &str, Value); 21] = [
    ("active", "1 while reads go through the cache.", |s| f64::from(u8::from(s.state.is_active()))),
    ("reads_total", "Reads of applications that completed.", |s| s.application.requests.read as f64),
    ("read_bytes_total", "Bytes of these reads.", |s| s.application.bytes.read as f64),
    ("read_seconds", "Mean time of these reads.", |s| s.application.read_ms.mean / 1e3),
    ("writes_total", "Writes of applications that completed.", |s| s.application.requests.write as f64),
    ("write_bytes_total", "Bytes of these writes.", |s| s.application.bytes.write as f64),
    ("errors_total", "Requests of applications that failed.", |s| s.application.errors.total() as f64),
    ("in_flight", "Requests of applications under way.", |s| s.application.in_flight as f64),
    ("disk_reads_total", "Reads of the disk below.", |s| s.disk.requests.read as f64),
    ("disk_read_bytes_total", "Bytes of these reads.", |s| s.disk.bytes.read as f64),
    ("disk_prefetches_total", "Prefetches among these reads.", |s| s.disk.prefetches as f64),
    ("disk_prefetches_given_up_total", "Prefetches that waited for room in the queue, and were given up.", |s| {
        s.disk.given_up as f64
    }),
    ("disk_errors_total", "Requests to the disk that failed.", |s| s.disk.errors.total() as f64),
    ("requested_blocks_total", "Blocks of 4 KiB asked of the cache.", |s| s.cache.requested_blocks as f64),
    ("hit_blocks_total", "Blocks that came from the cache.", |s| s.cache.hit_blocks as f64),
    ("prefetched_blocks_total", "Blocks that were prefetched.", |s| s.cache.prefetched_blocks as f64),
    ("used_blocks_total", "Prefetched blocks that were used.", |s| s.cache.used_blocks as f64),
    ("changes_total", "How often the cache was turned on or off.", |s| {
        (s.cache.activations + s.cache.deactivations) as f64
    }),
    ("left_alone_ratio", "The share of the disk that the cache leaves alone.", |s| s.off_percent / 100.0),
    ("memory_bytes", "Memory that the cache takes for data.", |s| s.memory.used as f64),
    ("memory_limit_bytes", "Memory that it may take now.", |s| s.memory.limit as f64),
];

/// `status` of the cache over `disk` in the text format of Prometheus.
pub(super) fn text(status: RedcapStatus, disk: &Path) -> String {
    exposition::text("iopilot_redcap", StatusCollector { status, disk: disk.display().to_string() })
}

/// Encodes the metrics of a status.
#[derive(Debug)]
struct StatusCollector {
    status: RedcapStatus,
    disk: String,
}

impl Collector for StatusCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        FAMILIES.iter().try_for_each(|(name, help, value)| {
            let values = [([("disk", self.disk.as_str())], value(&self.status))];
            exposition::encode_family(&mut encoder, name, help, &values)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn families_are_named_as_prometheus_wants() {
        let names: HashSet<&str> = FAMILIES.iter().map(|family| family.0).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for (name, help, _) in FAMILIES {
            assert!(help.ends_with('.'), "{name}");
        }
    }
}
