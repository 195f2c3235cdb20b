//! The text format of Prometheus (version 0.0.4), encoded by `prometheus-client`.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabel, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// The media type of the format.
pub(crate) use prometheus_text::CONTENT_TYPE;

/// Whole numbers below this are exact as `f64`.
const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// The metrics of `collector`, whose names begin with `prefix` and an underscore.
pub(crate) fn text(prefix: &str, collector: impl Collector) -> String {
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(collector));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = prometheus_text::encode(&mut text, &registry);
    text
}

/// Encodes a family of metrics, each with its labels. A name that ends in `_total` is that of counters, another one that of
/// gauges.
pub(crate) fn encode_family<L: EncodeLabel, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: &[([L; N], f64)],
) -> fmt::Result {
    let counter = name.strip_suffix("_total");
    let kind = if counter.is_some() { MetricType::Counter } else { MetricType::Gauge };
    let mut family = encoder.encode_descriptor(counter.unwrap_or(name), help, None, kind)?;
    for (labels, value) in values {
        let mut metric = family.encode_family(labels)?;
        let is_whole = value.fract() == 0.0 && value.abs() < EXACT;
        match kind {
            MetricType::Counter if is_whole => {
                metric.encode_counter::<NoLabelSet, u64, f64>(&(*value as u64), None)?;
            }
            MetricType::Counter => metric.encode_counter::<NoLabelSet, f64, f64>(value, None)?,
            _ if is_whole => metric.encode_gauge(&(*value as i64))?,
            _ => metric.encode_gauge(value)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Example;

    impl Collector for Example {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let labels = |disk| [("disk", disk)];
            encode_family(
                &mut encoder,
                "reads_total",
                "Reads.",
                &[(labels("sda"), 42.0), (labels("a\"b\\c\nd"), 1.5)],
            )?;
            encode_family(&mut encoder, "error_ratio", "Error.", &[(labels("sda"), -0.25), (labels("sdb"), -2.0)])
        }
    }

    #[test]
    fn families_are_described_and_labels_escaped() {
        let expected = "# HELP x_reads_total Reads.\n# TYPE x_reads_total counter\nx_reads_total{disk=\"sda\"} 42\n\
                        x_reads_total{disk=\"a\\\"b\\\\c\\nd\"} 1.5\n# HELP x_error_ratio Error.\n# TYPE x_error_ratio gauge\n\
                        x_error_ratio{disk=\"sda\"} -0.25\nx_error_ratio{disk=\"sdb\"} -2\n";
        assert_eq!(text("x", Example), expected);
    }
}
