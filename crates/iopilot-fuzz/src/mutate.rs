//! [`Mutator`]: damage to inputs.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// The longest input, in bytes.
const LONGEST: usize = 16 << 10;

/// Numbers at the edges of what parsers and models can hold.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "0.5",
    "1e-9",
    "1e9",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "18014398509481984",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "0.000000000000000000001",
];

/// Words that mean something in some format.
const WORDS: [&str; 40] = [
    "", " ", "\n", "\r\n", "\t", "\0", ",", ":", "=", "#", "\"", "'", "[", "]", "[[", "{", "}", "..", "+", "-", "/",
    "%", "100%", "k", "ms", "true", "é", "\u{feff}", "R", "W", "Read", "read", "all", "*", "$x", "${HOME}", "include",
    "x y", "[]", "()",
];

/// Makes inputs out of others. Equal seeds give equal sequences.
#[derive(Debug)]
pub struct Mutator {
    random: Pcg64Mcg,
}

impl Mutator {
    /// Begins a sequence.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// One of `pool`, damaged in up to eight places.
    pub fn make(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.one_of(pool);
        for _ in 0..self.random.random_range(1..=8) {
            self.damage(&mut input, pool);
        }
        input.truncate(LONGEST);
        input
    }

    fn one_of(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        pool.choose(&mut self.random).cloned().unwrap_or_default()
    }

    fn damage(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let at = self.random.random_range(0..=input.len());
        match self.random.random_range(0..16) {
            // For text: a word or a number replaced by another.
            0..=3 => {
                let word = self.word(input);
                let other = *NUMBERS.choose(&mut self.random).unwrap_or(&"");
                input.splice(word, other.bytes());
            }
            4 => {
                let word = self.word(input);
                let other = *WORDS.choose(&mut self.random).unwrap_or(&"");
                input.splice(word, other.bytes());
            }
            5 => {
                let other = *WORDS.choose(&mut self.random).unwrap_or(&"");
                input.splice(at..at, other.bytes());
            }
            // A word from elsewhere.
            6 => {
                let (to, from) = (self.word(input), self.word(input));
                let other = input[from].to_vec();
                input.splice(to, other);
            }
            // Lines removed, repeated, or moved.
            7 => drop(input.drain(self.line(input))),
            8 => {
                let line = self.line(input);
                let copy = input[line.clone()].to_vec();
                input.splice(line.end..line.end, copy);
            }
            9 => {
                let moved: Vec<u8> = input.drain(self.line(input)).collect();
                let to = self.line(input).start;
                input.splice(to..to, moved);
            }
            // For binary formats: changed bits, bytes and numbers.
            10 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.random.random_range(0..8);
                }
            }
            11 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.random.random();
                }
            }
            12 => self.number(input, at),
            // For both: an early end, a missing piece or a foreign piece.
            13 => {
                if self.random.random_bool(0.3) {
                    input.truncate(at);
                } else {
                    let end = input.len().min(at + self.random.random_range(1..16));
                    input.drain(at.min(end)..end);
                }
            }
            14 => {
                let other = self.one_of(pool);
                let from = self.random.random_range(0..=other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let end = input.len().min(at + self.random.random_range(1..200));
                let piece = input[at..end].to_vec();
                let times = self.random.random_range(1..4);
                input.splice(at..at, piece.repeat(times));
            }
        }
    }

    /// Overwrites a whole number of 1 to 8 bytes.
    fn number(&mut self, input: &mut [u8], at: usize) {
        let value = *[0u64, 1, 2, 51, 56, 4096, 1 << 20, 1 << 31, 1 << 32, 1 << 54, 1 << 63, u64::MAX, u64::MAX - 7]
            .choose(&mut self.random)
            .unwrap_or(&0);
        let size = 1 << self.random.random_range(0..4);
        // Fields mostly begin at multiples of their size.
        let at = if self.random.random_bool(0.7) { at / size * size } else { at };
        let Some(field) = input.get_mut(at..at + size) else { return };
        match self.random.random_bool(0.5) {
            true => field.copy_from_slice(&value.to_le_bytes()[..size]),
            false => field.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }

    /// A run of letters, digits and the other characters of numbers; if there is none, a run of bytes around some
    /// place.
    fn word(&mut self, input: &[u8]) -> Range<usize> {
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
        let at = self.random.random_range(0..=input.len());
        let begin = input[at..].iter().position(is_word).map_or(at, |n| at + n);
        let begin = begin - input[..begin].iter().rev().position(|b| !is_word(b)).unwrap_or(begin);
        let end = input[begin..].iter().position(|b| !is_word(b)).map_or(input.len(), |n| begin + n);
        begin..end
    }

    /// A line with its end.
    fn line(&mut self, input: &[u8]) -> Range<usize> {
        let at = self.random.random_range(0..=input.len());
        let begin = input[..at].iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
        let end = input[at..].iter().position(|&b| b == b'\n').map_or(input.len(), |n| at + n + 1);
        begin..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_inputs_and_another_makes_others() {
        let pool = [b"0.5 0 8 16 1\n1.0 0 8 16 1\n".to_vec(), Vec::new(), vec![0; 64]];
        let inputs = |seed: u64| {
            let mut mutator = Mutator::new(seed);
            (0..2000).map(|_| mutator.make(&pool)).collect::<Vec<_>>()
        };
        let ours = inputs(1);
        assert_eq!(ours, inputs(1));
        assert_ne!(ours, inputs(2));
        assert!(ours.iter().all(|input| input.len() <= LONGEST));
        let distinct: std::collections::BTreeSet<_> = ours.iter().collect();
        assert!(distinct.len() > 1000, "{}", distinct.len());
    }
}
