//! The tokens of a text.

use super::files::FileLine;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A run of characters that is not a number.
    Word,
    /// A whole number.
    Int(i64),
    /// A number with a point.
    Float(f64),
    /// `{ } [ ] , =`, and the unused `; : ?`.
    Mark(u8),
    /// A number too large for 64 bits.
    Huge,
}

/// A token: its kind and place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) place: FileLine,
    /// Its range of bytes in the file.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer {
    at: usize,
    place: FileLine,
}

impl Lexer {
    pub(super) fn new(file: u32) -> Self {
        Self { at: 0, place: FileLine { file, line: 1 } }
    }

    pub(super) fn place(&self) -> FileLine {
        self.place
    }

    /// The next token of `text`, which must be the same text at each call; `None` at the end.
    pub(super) fn next(&mut self, text: &str) -> Option<Token> {
        let bytes = text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'\n' => {
                    self.place.line = self.place.line.saturating_add(1);
                    self.at += 1;
                }
                b'#' => self.at += bytes[self.at..].iter().take_while(|&&b| b != b'\n').count(),
                b if is_space(*b) => self.at += 1,
                _ => break,
            }
        }
        let start = self.at;
        let first = bytes[start];
        let kind = if is_mark(first) {
            self.at += 1;
            TokenKind::Mark(first)
        } else {
            self.at += bytes[start..].iter().take_while(|&&b| is_word(b)).count();
            number(&text[start..self.at])
        };
        Some(Token { kind, place: self.place, start, end: self.at })
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn is_mark(byte: u8) -> bool {
    b";{},[]:?=".contains(&byte)
}

fn is_word(byte: u8) -> bool {
    !is_space(byte) && !is_mark(byte) && byte != b'#'
}

/// A whole number, a number with digits on both sides of its decimal point, or a word.
fn number(word: &str) -> TokenKind {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return TokenKind::Word;
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        if hex.is_empty() || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return TokenKind::Word;
        }
        let sign = if word.starts_with('-') { "-" } else { "" };
        return i64::from_str_radix(&format!("{sign}{hex}"), 16).map_or(TokenKind::Huge, TokenKind::Int);
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return word.parse().map_or(TokenKind::Huge, TokenKind::Int);
    }
    match is_float(digits.as_bytes()).then(|| word.parse::<f64>()) {
        Some(Ok(value)) if value.is_finite() => TokenKind::Float(value),
        Some(Ok(_)) => TokenKind::Huge,
        _ => TokenKind::Word,
    }
}

/// Whether the digits are like `12.34`, optionally with an exponent like `e+5` or `e-5`.
fn is_float(digits: &[u8]) -> bool {
    let run = |from: usize| digits[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = run(0);
    if digits.get(whole) != Some(&b'.') {
        return false;
    }
    let fraction = run(whole + 1);
    let mantissa = whole + 1 + fraction;
    if whole == 0 || fraction == 0 {
        return false;
    }
    match digits.get(mantissa..) {
        Some([]) => true,
        Some([b'e' | b'E', b'+' | b'-', rest @ ..]) => !rest.is_empty() && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(0);
        std::iter::from_fn(|| lexer.next(text)).map(|t| t.kind).collect()
    }

    #[test]
    fn numbers_are_whole_hexadecimal_or_have_digits_on_both_sides_of_the_point() {
        use TokenKind::{Float, Huge, Int, Word};
        assert_eq!(kinds("7 -7 0x1f -0x10 007"), [Int(7), Int(-7), Int(31), Int(-16), Int(7)]);
        assert_eq!(kinds("1.0 -1.5 1.5e+3 2.5E-1"), [Float(1.0), Float(-1.5), Float(1500.0), Float(0.25)]);
        assert_eq!(kinds("1. .5 1e5 1.5e3 0x 2nd -x - 1.5e+ 1.2.3"), [Word; 10]);
        assert_eq!(kinds("9223372036854775807 9223372036854775808 1.0e+999"), [Int(i64::MAX), Huge, Huge]);
    }

    #[test]
    fn marks_end_words_and_comments_end_with_the_line() {
        assert_eq!(kinds("a={b,c]}"), {
            use TokenKind::{Mark, Word};
            [Word, Mark(b'='), Mark(b'{'), Word, Mark(b','), Word, Mark(b']'), Mark(b'}')]
        });
        let text = "# one\nDisk.x # two\n\n0.5#three";
        let mut lexer = Lexer::new(3);
        let found: Vec<_> =
            std::iter::from_fn(|| lexer.next(text)).map(|t| (&text[t.start..t.end], t.place.line())).collect();
        assert_eq!(found, [("Disk.x", 2), ("0.5", 4)]);
    }
}
