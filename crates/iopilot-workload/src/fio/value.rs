//! The values of options: sizes, times, ranges, lists for reads, writes and trims.

use iopilot_block::Nanos;

/// A size, or a share of what exists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent.
    Percent(u64),
}

/// A whole number with a unit: `4096`, `0x1000`, `4k`, `4kb`, `4KiB`. As in fio, with `kb_base=1024` (the default)
/// `k` is 1024 and `ki` is 1000; with `kb_base=1000` it is the other way round.
pub(crate) fn integer(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (radix, digits) = match text.strip_prefix("0x") {
        Some(rest) => (16, rest),
        None => (10, text.as_str()),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let number = u64::from_str_radix(&digits[..end], radix).ok()?;
    number.checked_mul(multiplier(&digits[end..], kb_base)?)
}

fn multiplier(unit: &str, kb_base: u64) -> Option<u64> {
    let unit = unit.strip_suffix('b').unwrap_or(unit);
    let (prefix, base) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, if kb_base == 1024 { 1000 } else { 1024 }),
        None => (unit, kb_base),
    };
    let power = match prefix {
        "" if base == kb_base => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    Some(u64::pow(base, power))
}

/// [`integer`] with a sign.
pub(super) fn signed(text: &str, kb_base: u64) -> Option<i64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let n = i64::try_from(integer(text, kb_base)?).ok()?;
    Some(if negative { -n } else { n })
}

/// [`integer`], or a percentage from 1 to 100.
pub(super) fn amount(text: &str, kb_base: u64) -> Option<Amount> {
    match text.trim().strip_suffix('%') {
        Some(percent) => percent.parse().ok().filter(|p| (1..=100).contains(p)).map(Amount::Percent),
        None => integer(text, kb_base).map(Amount::Bytes),
    }
}

/// A time; a bare number counts in `default_unit`.
pub(super) fn time(text: &str, default_unit: Nanos) -> Option<Nanos> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[end..] {
        "" => default_unit.0,
        "d" => 86_400_000_000_000,
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" | "sec" => 1_000_000_000,
        "ms" | "msec" => 1_000_000,
        "us" | "usec" => 1_000,
        "ns" | "nsec" => 1,
        _ => return None,
    };
    text[..end].parse::<u64>().ok()?.checked_mul(unit).map(Nanos)
}

/// Two values with `-` or `:` between, in either order, or one value for both.
pub(super) fn range<T: Copy + PartialOrd>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<(T, T)> {
    match text.split_once(['-', ':']) {
        Some((low, high)) => {
            let (a, b) = (parse(low)?, parse(high)?);
            Some(if a <= b { (a, b) } else { (b, a) })
        }
        None => parse(text).map(|v| (v, v)),
    }
}

/// `READ,WRITE,TRIM`: an empty part keeps the old value. The last part also holds for the following directions, unless a comma
/// ends it. `None` if a part is invalid.
pub(super) fn directions<T: Clone>(text: &str, into: &mut [T; 3], parse: impl Fn(&str) -> Option<T>) -> Option<()> {
    if text.split(',').count() > into.len() {
        return None;
    }
    let mut parts = text.split(',');
    let mut last = parts.next()?.trim();
    for slot in into.iter_mut() {
        if !last.is_empty() {
            *slot = parse(last)?;
        }
        last = parts.next().map_or(last, str::trim);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_fios() {
        for (text, bytes) in
            [("4096", 4096), ("4k", 4096), ("4KB", 4096), ("4kib", 4000), ("0x1000", 4096), ("1t", 1 << 40)]
        {
            assert_eq!(integer(text, 1024), Some(bytes), "{text}");
        }
        assert_eq!((integer("4k", 1000), integer("4ki", 1000)), (Some(4000), Some(4096)));
        for text in ["", "k", "1.5k", "4x", "-4k", "9999999999t", "4 k", "4i"] {
            assert_eq!(integer(text, 1024), None, "{text}");
        }
        assert_eq!((amount("20%", 1024), amount("101%", 1024)), (Some(Amount::Percent(20)), None));
        assert_eq!(signed("-8k", 1024), Some(-8192));
    }

    #[test]
    fn times_have_a_default_unit() {
        assert_eq!(time("10", Nanos::from_micros(1)), Some(Nanos(10_000)));
        assert_eq!(time("2m", Nanos::from_secs(1)), Some(Nanos::from_secs(120)));
        assert_eq!(time("5 parsecs", Nanos(1)), None);
        assert_eq!(range("9-5", |t| time(t, Nanos(1))), Some((Nanos(5), Nanos(9))));
    }

    #[test]
    fn directions_follow_the_comma_rule() {
        let of = |text: &str| {
            let mut v = [4, 4, 4];
            directions(text, &mut v, |t| t.parse().ok()).map(|()| v)
        };
        assert_eq!(of("8"), Some([8, 8, 8]));
        assert_eq!(of("8,32"), Some([8, 32, 32]));
        assert_eq!(of("8,32,"), Some([8, 32, 4]));
        assert_eq!(of(",8"), Some([4, 8, 8]));
        assert_eq!(of(",8,"), Some([4, 8, 4]));
        assert_eq!((of("1,2,3,4"), of("x")), (None, None));
    }
}
