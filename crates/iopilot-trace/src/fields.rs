//! Reading numbers, times and extents from the columns of a text trace.

use iopilot_block::{InputError, Lba, Nanos, SECTOR_BYTES, Sectors};

/// No device ends beyond this sector: Linux measures devices in bytes with 63 bits.
const LAST_SECTOR: u64 = (1 << 63) / SECTOR_BYTES;

/// The columns of one line, from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    separator: Option<u8>,
}

impl<'a> Fields<'a> {
    /// Columns between any amount of blanks.
    pub(crate) fn blank_separated(line: &'a [u8]) -> Self {
        Self { rest: line.trim_ascii(), separator: None }
    }

    /// Columns between `separator`s; blanks around them are dropped.
    pub(crate) fn separated(line: &'a [u8], separator: u8) -> Self {
        Self { rest: line, separator: Some(separator) }
    }

    /// The next column, where there is one.
    pub(crate) fn optional(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest;
        if rest.is_empty() {
            return None;
        }
        let (field, rest) = match self.separator {
            Some(separator) => match memchr::memchr(separator, rest) {
                Some(at) => (rest[..at].trim_ascii(), &rest[at + 1..]),
                None => (rest.trim_ascii(), &rest[rest.len()..]),
            },
            None => {
                let at = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                (&rest[..at], rest[at..].trim_ascii_start())
            }
        };
        self.rest = rest;
        Some(field)
    }

    /// The next column, which is called `name` and should be `expected`.
    pub(crate) fn text(&mut self, name: &str, expected: &str) -> Result<&'a [u8], InputError> {
        self.optional().ok_or_else(|| InputError::new(name, "the end of the line", expected))
    }

    /// A whole number.
    pub(crate) fn number(&mut self, name: &str) -> Result<u64, InputError> {
        let field = self.text(name, "a whole number")?;
        integer(field).ok_or_else(|| invalid(name, field, "a whole number of at most 64 bits, not negative"))
    }

    /// A whole number that names something (a device, a process).
    pub(crate) fn id(&mut self, name: &str) -> Result<u32, InputError> {
        let field = self.text(name, "a whole number")?;
        let id = integer(field).and_then(|n| u32::try_from(n).ok());
        id.ok_or_else(|| invalid(name, field, "a whole number of at most 32 bits, not negative"))
    }

    /// A time in units of 10^`exponent` ns, perhaps with decimals; to the nearest nanosecond.
    pub(crate) fn time(&mut self, name: &str, exponent: u32) -> Result<Nanos, InputError> {
        let expected = "a time, not negative, at most 584 years";
        let field = self.text(name, expected)?;
        decimal(field, exponent).map(Nanos).ok_or_else(|| invalid(name, field, expected))
    }

    /// Fails where there is another column.
    pub(crate) fn end(&mut self) -> Result<(), InputError> {
        match self.optional() {
            None => Ok(()),
            Some(more) => Err(invalid("line", more, "the end of the line after the last column")),
        }
    }
}

/// `field` is not what column `name` should be.
pub(crate) fn invalid(name: &str, field: &[u8], expected: &str) -> InputError {
    InputError::new(name, String::from_utf8_lossy(&field[..field.len().min(256)]), expected)
}

/// A whole number in decimal digits and nothing else.
pub(crate) fn integer(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut n: u64 = 0;
    for &c in digits {
        let digit = c.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(n)
}

/// `text` times 10^`exponent`, rounded to the nearest whole number. Exact for plain decimals; numbers with an exponent
/// ("1.5e3") go through a float.
pub(crate) fn decimal(text: &[u8], exponent: u32) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &text[text.len()..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return scientific(text, exponent);
    }
    let mut n = if whole.is_empty() { 0 } else { integer(whole)? };
    for place in 0..exponent as usize {
        let digit = fraction.get(place).map_or(0, |c| c - b'0');
        n = n.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    let round_up = fraction.get(exponent as usize).is_some_and(|&c| c >= b'5');
    n.checked_add(u64::from(round_up))
}

fn scientific(text: &[u8], exponent: u32) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let scaled = text.parse::<f64>().ok()? * 10f64.powi(exponent as i32);
    (scaled >= 0.0 && scaled < u64::MAX as f64).then(|| scaled.round() as u64)
}

/// A non-negative hexadecimal number with or without `0x`.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    if digits.first() == Some(&b'+') {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// `sectors` at `lba`, if a device can have them.
pub(crate) fn extent(lba: u64, sectors: u64) -> Result<(Lba, Sectors), InputError> {
    let Ok(length) = u32::try_from(sectors) else {
        return Err(InputError::new("sectors", sectors.to_string(), "a length below 2^32 sectors"));
    };
    if lba > LAST_SECTOR || lba + sectors > LAST_SECTOR {
        return Err(InputError::new("lba", format!("{lba} + {sectors}"), "sectors below 2^54 (bytes below 2^63)"));
    }
    Ok((Lba(lba), Sectors(length)))
}

/// The sectors that hold `bytes` bytes at byte `offset`.
pub(crate) fn byte_extent(offset: u64, bytes: u64) -> Result<(Lba, Sectors), InputError> {
    let end = match offset.checked_add(bytes) {
        Some(end) if end <= 1 << 63 => end,
        _ => return Err(InputError::new("offset", format!("{offset} + {bytes}"), "bytes below 2^63")),
    };
    let first = offset / SECTOR_BYTES;
    // A length of zero stays zero at any offset.
    extent(first, if bytes == 0 { 0 } else { end.div_ceil(SECTOR_BYTES) - first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(b"13.191135", 6), Some(13_191_135));
        assert_eq!(decimal(b"0.1234567895", 9), Some(123_456_790));
        assert_eq!(decimal(b"128166372003061629", 2), Some(12_816_637_200_306_162_900));
        assert_eq!(decimal(b".5", 3), Some(500));
        assert_eq!(decimal(b"7.", 0), Some(7));
        assert_eq!(decimal(b"1.5e3", 3), Some(1_500_000));
        for bad in [&b""[..], b".", b"-1", b"1.2.3", b"inf", b"NaN", b"1e99", b"99999999999999999999", b"-1e3"] {
            assert_eq!(decimal(bad, 9), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn extents_cover_what_they_touch() {
        assert_eq!(byte_extent(0, 512).unwrap(), (Lba(0), Sectors(1)));
        assert_eq!(byte_extent(511, 2).unwrap(), (Lba(0), Sectors(2)));
        assert_eq!(byte_extent(700, 0).unwrap(), (Lba(1), Sectors(0)));
        assert!(byte_extent(1 << 63, 512).is_err());
        assert!(byte_extent(u64::MAX, 2).is_err());
        assert!(extent(u64::MAX, 8).is_err());
        assert!(extent(0, 1 << 32).is_err());
    }

    #[test]
    fn columns_may_be_separated_by_blanks_or_commas() {
        let mut f = Fields::blank_separated(b"  1 \t 2.5  x ");
        assert_eq!(f.number("a").unwrap(), 1);
        assert_eq!(f.time("b", 3).unwrap(), Nanos(2500));
        assert_eq!(f.text("c", "a letter").unwrap(), b"x");
        assert!(f.end().is_ok());
        assert_eq!(f.number("d").unwrap_err().to_string(), "d: got the end of the line, expected a whole number");
        let mut f = Fields::separated(b"1, -2,,4", b',');
        assert_eq!(f.number("a").unwrap(), 1);
        assert!(f.number("b").unwrap_err().to_string().starts_with("b: got -2, expected a whole number"));
        assert!(f.number("c").unwrap_err().to_string().starts_with("c: got nothing, expected a whole number"));
        assert!(f.end().unwrap_err().to_string().contains("got 4"));
    }
}
