//! Durations and sizes on the command line: a number, perhaps with decimals, and perhaps a unit. Each option defines
//! what a number without a unit means.

use iopilot_block::Nanos;
use iopilot_sim::WarmUp;
use std::time::Duration;

/// Units of time, in nanoseconds.
const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Units of size, in bytes; also with `b` or `ib` behind them.
const SIZES: &[(&str, u64)] = &[("b", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)];

const NANOS_PER_S: u64 = 1_000_000_000;

/// `text` in whole base units. A number without a unit counts `plain` base units each.
fn quantity(text: &str, plain: u64, units: &[(&str, u64)], examples: &str) -> Result<u64, String> {
    let expected = || format!("a number, or one with a unit such as {examples}");
    let lower = text.trim().to_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = (&lower[..end], lower[end..].trim());
    let unit = match unit {
        "" => plain,
        unit => units.iter().find(|(name, _)| *name == unit).map(|&(_, n)| n).ok_or_else(expected)?,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(expected());
    }
    let too_large = || "a number of at most 64 bits".to_owned();
    let digits = u128::from(whole.parse::<u64>().map_err(|_| too_large())?);
    let scale = 10u128.checked_pow(fraction.len() as u32).filter(|_| fraction.len() <= 18).ok_or_else(expected)?;
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().map_err(|_| expected())? };
    let total = (digits * scale + fraction) * u128::from(unit);
    u64::try_from(total / scale).map_err(|_| too_large())
}

fn nanos(text: &str, plain: u64) -> Result<u64, String> {
    quantity(text, plain, TIMES, "500ms, 3s or 2m")
}

/// A length of time above zero; without a unit, seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match nanos(text, NANOS_PER_S)? {
        0 => Err("a time above 0".to_owned()),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

/// A warm-up: a number of requests, or with a unit a length of time.
pub(super) fn warm_up(text: &str) -> Result<WarmUp, String> {
    let text = text.trim();
    if !text.contains(|c: char| c.is_alphabetic()) {
        let requests = text.parse().ok().filter(|&requests| requests > 0);
        let expected = || "a number of requests such as 5000, or a time with a unit such as 10s".to_owned();
        return requests.map(WarmUp::Requests).ok_or_else(expected);
    }
    duration(text).map(|time| WarmUp::Time(Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))))
}

/// Seconds; a number without a unit is taken unchecked, even if it is out of range.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(plain) => Ok(plain),
        Err(_) => nanos(text, NANOS_PER_S).map(|ns| ns as f64 / NANOS_PER_S as f64),
    }
}

/// Whole seconds, at least one.
pub(super) fn whole_seconds(text: &str) -> Result<u32, String> {
    whole(nanos(text, NANOS_PER_S)?, NANOS_PER_S, 1, "whole seconds, such as 90, 90s or 10m")
}

/// Whole microseconds, at least one; also the unit of a plain number.
pub(super) fn microseconds(text: &str) -> Result<u32, String> {
    whole(nanos(text, 1_000)?, 1_000, 1, "whole microseconds, such as 1000 or 1ms")
}

/// Bytes, with units of 1024; without a unit, bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    bytes(text, 1)
}

/// Whole KiB; also the unit of a plain number.
pub(super) fn kibibytes(text: &str) -> Result<u32, String> {
    whole(bytes(text, 1 << 10)?, 1 << 10, 0, "whole KiB, such as 8192 or 8M")
}

/// The kernel's buffer: whole KiB, at least 8.
pub(super) fn buffer_kibibytes(text: &str) -> Result<u32, String> {
    kibibytes(text).and_then(|n| if n < 8 { Err("8 KiB or more".to_owned()) } else { Ok(n) })
}

fn bytes(text: &str, plain: u64) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let short =
        lower.strip_suffix("ib").or(lower.strip_suffix('b').filter(|s| !s.ends_with(|c: char| c.is_ascii_digit())));
    quantity(short.unwrap_or(&lower), plain, SIZES, "512M, 8G or 1.5T")
}

/// `value` as a whole number of `unit`s.
fn whole(value: u64, unit: u64, least: u64, expected: &str) -> Result<u32, String> {
    let units = value / unit;
    if value % unit != 0 || units < least {
        return Err(expected.to_owned());
    }
    u32::try_from(units).map_err(|_| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        for (text, bytes) in [
            ("512", 512),
            ("512b", 512),
            ("4k", 4096),
            ("512M", 1 << 29),
            ("8G", 8 << 30),
            ("8GB", 8 << 30),
            ("1TiB", 1 << 40),
            ("1.5G", 3 << 29),
            ("0.5 k", 512),
            ("0", 0),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "8X", "-1", "8.G", ".5G", "1.2.3k", "99999999999T", "1e3"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!((kibibytes("65536"), kibibytes("64M"), kibibytes("1.5M")), (Ok(65_536), Ok(65_536), Ok(1536)));
        assert!(kibibytes("100b").is_err() && buffer_kibibytes("4").is_err());
    }

    #[test]
    fn times_have_units_and_a_plain_number_means_what_its_option_says() {
        assert_eq!(duration("3"), Ok(Duration::from_secs(3)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!((duration("2m"), duration("1.5h")), (Ok(Duration::from_secs(120)), Ok(Duration::from_secs(5400))));
        assert_eq!((microseconds("1000"), microseconds("1ms"), microseconds("250µs")), (Ok(1000), Ok(1000), Ok(250)));
        assert_eq!((whole_seconds("3600"), whole_seconds("1h")), (Ok(3600), Ok(3600)));
        assert_eq!((seconds("0.5"), seconds("500ms"), seconds("-1")), (Ok(0.5), Ok(0.5), Ok(-1.0)));
        for text in ["", "s", "0", "3 parsecs", "-3s", "3,5s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(warm_up("5000"), Ok(WarmUp::Requests(5000)));
        assert_eq!(warm_up("1.5s"), Ok(WarmUp::Time(Nanos::from_millis(1500))));
        for text in ["", "0", "0s", "1.5", "-3", "10 parsecs"] {
            assert!(warm_up(text).is_err(), "{text}");
        }
        assert!(whole_seconds("1.5s").is_err() && microseconds("1ns").is_err() && seconds("soon").is_err());
    }
}
