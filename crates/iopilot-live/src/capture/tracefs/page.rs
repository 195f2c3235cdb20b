//! [`each_event`]: the events of one page of the kernel's ring buffer.
//!
//! A page begins with the time of its first event (8 bytes) and the length of what follows (a machine word, whose top
//! bits report lost events). Each event begins with 32 bits: 5 of type, 27 of time since the one before. Types 1 to 28
//! are the data's length in words, 0 says that the length follows, 29 pads, 30 extends the time, 31 sets it.

use iopilot_block::Nanos;

/// The length is in these bits; above are flags.
const LENGTH_BITS: u64 = (1 << 20) - 1;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// An absolute time stamp holds this many bits; the rest is as before.
const STAMP_BITS: u32 = 59;

/// Calls `f` with time and bytes of each event on `page`, whose data begin at `data_offset`.
pub(super) fn each_event(page: &[u8], data_offset: usize, mut f: impl FnMut(Nanos, &[u8])) -> Result<(), &'static str> {
    let mut time = u64::from_ne_bytes(array(page, 0)?);
    let word = if data_offset >= 16 { u64::from_ne_bytes(array(page, 8)?) } else { u64::from(word(page, 8)?) };
    let end = data_offset + (word & LENGTH_BITS) as usize;
    if end > page.len() {
        return Err("the page claims to hold more than a page");
    }
    let mut at = data_offset;
    while at + 4 <= end {
        let header = word_at(page, at, end)?;
        let (kind, delta) = split_header(header);
        match kind {
            PADDING if delta == 0 => return Ok(()),
            PADDING => {
                // An event that its filter discarded late. A delta of 1 only says that this is not the page's end.
                time += if delta == 1 { 0 } else { delta };
                at += 4 + word_at(page, at + 4, end)? as usize;
            }
            TIME_EXTEND | TIME_STAMP => {
                let value = (u64::from(word_at(page, at + 4, end)?) << 27) + delta;
                if kind == TIME_EXTEND {
                    time += value;
                } else {
                    let stamp = value & ((1 << STAMP_BITS) - 1) | time >> STAMP_BITS << STAMP_BITS;
                    time = if stamp < time { stamp + (1 << STAMP_BITS) } else { stamp };
                }
                at += 8;
            }
            0 => {
                time += delta;
                let length = word_at(page, at + 4, end)? as usize;
                let data = length.checked_sub(4).and_then(|n| page[..end].get(at + 8..at + 8 + n));
                f(Nanos(time), data.ok_or("an event is longer than its page")?);
                at += 4 + length.next_multiple_of(4);
            }
            words => {
                time += delta;
                let data = page[..end].get(at + 4..at + 4 + words as usize * 4);
                f(Nanos(time), data.ok_or("an event is longer than its page")?);
                at += 4 + words as usize * 4;
            }
        }
    }
    Ok(())
}

/// Type and time of an event header: bit fields, which each byte order lays out from its own end.
fn split_header(header: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (header & 31, u64::from(header >> 5))
    } else {
        (header >> 27, u64::from(header & ((1 << 27) - 1)))
    }
}

fn word_at(page: &[u8], at: usize, end: usize) -> Result<u32, &'static str> {
    word(&page[..end], at)
}

fn word(page: &[u8], at: usize) -> Result<u32, &'static str> {
    Ok(u32::from_ne_bytes(array(page, at)?))
}

fn array<const N: usize>(page: &[u8], at: usize) -> Result<[u8; N], &'static str> {
    page.get(at..at + N).and_then(|b| b.try_into().ok()).ok_or("an event is longer than its page")
}

#[cfg(all(test, target_endian = "little", target_pointer_width = "64"))]
mod tests {

    use super::*;

    fn page(words: &[u32]) -> Vec<u8> {
        let mut page = 1_000u64.to_ne_bytes().to_vec();
        // With the flag of lost events set, which is not part of the length.
        page.extend(((words.len() as u64 * 4) | (1 << 31)).to_ne_bytes());
        page.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        page.resize(4096, 0);
        page
    }

    fn header(kind: u32, delta: u32) -> u32 {
        delta << 5 | kind
    }

    fn events(words: &[u32]) -> Result<Vec<(u64, usize)>, &'static str> {
        let mut out = Vec::new();
        each_event(&page(words), 16, |time, data| out.push((time.0, data.len())))?;
        Ok(out)
    }

    #[test]
    fn reads_every_type_of_entry() {
        let words = [
            header(2, 5),
            0xaa,
            0xbb, // 8 bytes at 1005
            header(0, 10),
            4 + 4,
            0xcc, // 4 bytes, length given, at 1015
            header(30, 7),
            1, // + 2^27 + 7
            header(1, 0),
            0xdd, // at 1015 + 2^27 + 7
            header(29, 3),
            8,
            0, // discarded: padding of 12 bytes, + 3
            header(31, 9),
            2, // set to 2^28 + 9
            header(1, 1),
            0xee,
        ];
        let then = 1015 + (1 << 27) + 7;
        assert_eq!(events(&words), Ok(vec![(1005, 8), (1015, 4), (then, 4), ((2 << 27) + 10, 4)]));
        assert_eq!(events(&[header(29, 0), 99]), Ok(vec![]), "the rest of the page is empty");
    }

    #[test]
    fn a_damaged_page_is_refused() {
        assert!(events(&[header(9, 0), 0]).is_err());
        assert!(events(&[header(0, 0), 400]).is_err());
        assert!(events(&[header(0, 0), 0]).is_err());
        assert!(each_event(&[0; 8], 16, |_, _| {}).is_err());
    }
}
