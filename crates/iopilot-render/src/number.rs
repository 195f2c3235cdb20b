//! Numbers as people read them.

/// About four significant digits without an exponent: `0.042`, `7.31`, `84.2`, `1204`.
pub fn plain(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".into(),
        a if a >= 99.95 => format!("{value:.0}"),
        a if a >= 9.995 => format!("{value:.1}"),
        a if a >= 0.9995 || a == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A whole number up to 99999, then with a suffix: `512k`, `13.2M`.
pub fn short_count(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".into(),
        a if a >= 99.95e9 => format!("{:.0}G", value / 1e9),
        a if a >= 999.5e6 => format!("{:.1}G", value / 1e9),
        a if a >= 99.95e6 => format!("{:.0}M", value / 1e6),
        a if a >= 999.5e3 => format!("{:.1}M", value / 1e6),
        a if a >= 99_999.5 => format!("{:.0}k", value / 1e3),
        _ => format!("{value:.0}"),
    }
}

/// A size in the units disks are sold in: `250.1 GB`.
pub fn bytes(value: u64) -> String {
    let value = value as f64;
    let (scaled, unit) = match value {
        v if v >= 1e12 => (v / 1e12, "TB"),
        v if v >= 1e9 => (v / 1e9, "GB"),
        v if v >= 1e6 => (v / 1e6, "MB"),
        v if v >= 1e3 => (v / 1e3, "kB"),
        v => return format!("{v:.0} B"),
    };
    format!("{} {unit}", plain(scaled))
}

/// A time given in milliseconds with the unit that suits it: `50 µs`, `2 ms`, `10 s`. For axes: round values only.
pub fn time_tick(ms: f64) -> String {
    let (scaled, unit) = match ms {
        m if m >= 1e3 => (m / 1e3, "s"),
        m if m >= 0.9999 => (m, "ms"),
        m if m >= 0.999e-3 => (m * 1e3, "µs"),
        m => (m * 1e6, "ns"),
    };
    format!("{} {unit}", tick(scaled))
}

/// A round number without trailing zeros: `0.5`, `20`, `1500`.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// A share as a percentage: `12.5 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", plain(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_digits_as_help() {
        assert_eq!([0.0417, 7.314, 9.996, 84.21, 99.96, 1204.4].map(plain).join(" "), "0.042 7.31 10.0 84.2 100 1204");
        assert_eq!(plain(f64::NAN), "-");
        assert_eq!(
            [512.0, 99_999.0, 123_456.0, 13.2e6, 312e6, 5.1e9].map(short_count).join(" "),
            "512 99999 123k 13.2M 312M 5.1G"
        );
        assert_eq!(bytes(250_059_350_016), "250 GB");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(percent(0.125), "12.5 %");
    }

    #[test]
    fn ticks_carry_their_unit() {
        assert_eq!([0.01, 0.1, 1.0, 100.0, 10_000.0].map(time_tick).join(", "), "10 µs, 100 µs, 1 ms, 100 ms, 10 s");
        assert_eq!([0.5, 20.0, -0.0, 0.30000000000000004].map(tick).join(" "), "0.5 20 0 0.3");
    }
}
