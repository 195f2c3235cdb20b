//! The beginning of a trace, by which its format is recognised.

/// How many bytes of the beginning are inspected to recognise the format.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Lines that are inspected.
const LINES: usize = 512;

/// The mark that some programs put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// The beginning of a text: its first lines, trimmed, without blank lines and comments.
#[derive(Clone, Debug)]
pub(crate) struct TextHead<'a> {
    first: &'a [u8],
    lines: Vec<&'a [u8]>,
}

impl<'a> TextHead<'a> {
    /// `None` where there is no line.
    pub(crate) fn of(head: &'a [u8]) -> Option<Self> {
        let complete = head.len() < HEAD_BYTES;
        let mut lines: Vec<&[u8]> = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).collect();
        if !complete {
            lines.pop(); // may be cut short
        }
        lines.retain(|line| !line.is_empty() && line[0] != b'#' && !line.starts_with(b"Input file"));
        lines.truncate(LINES);
        Some(Self { first: lines.first()?, lines })
    }

    /// The first line.
    pub(crate) fn first(&self) -> &'a [u8] {
        self.first
    }

    /// The lines, at most [`LINES`]; at least one.
    pub(crate) fn lines(&self) -> &[&'a [u8]] {
        &self.lines
    }

    /// The first line that is no header of comma-separated columns.
    pub(crate) fn first_row(&self) -> &'a [u8] {
        let named = self.first.first().is_some_and(u8::is_ascii_alphabetic) && self.first.contains(&b',');
        match self.lines.get(1) {
            Some(second) if named => second,
            _ => self.first,
        }
    }
}

/// The length of the byte-order mark that `head` begins with: 0 where there is none, or where it is no text.
pub(crate) fn byte_order_mark(head: &[u8]) -> usize {
    if head.starts_with(BYTE_ORDER_MARK) && !looks_binary(head) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// Whether `head` has bytes that no text has.
pub(crate) fn looks_binary(head: &[u8]) -> bool {
    head.iter().take(4096).any(|&b| b == 0 || (b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_the_byte_order_is_no_part_of_a_text() {
        assert_eq!(byte_order_mark(b"\xef\xbb\xbfTimestamp,"), 3);
        assert_eq!((byte_order_mark(b"Timestamp"), byte_order_mark(b"\xef\xbb\xbf\x00\x01")), (0, 0));
    }
}
