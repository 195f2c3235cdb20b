//! [`TokenInput`]: the tokens of a file and of its included files, as one stream.

use super::files::{FileLine, ParameterFiles};
use super::lexer::{Lexer, Token, TokenKind};
use iopilot_block::InputError;
use std::path::{Path, PathBuf};

/// The maximum depth of inclusion (DiskSim 4.0).
const MAX_DEPTH: usize = 32;

/// The most inclusions in a spec: files that include another one twice grow exponentially.
const MAX_INCLUSIONS: usize = 4096;

/// The maximum nesting of brackets; a topology needs about 20.
const MAX_NESTING: usize = 100;

/// The largest file that is read, bytes.
const MAX_BYTES: u64 = 1 << 28;

/// An open file.
struct Frame {
    lexer: Lexer,
    text: usize,
    /// Its real path; `None` if the text came from no file.
    path: Option<PathBuf>,
    /// Open brackets at the start of the file.
    brackets: usize,
}

/// The stream of tokens.
pub(super) struct TokenInput {
    pub(super) files: ParameterFiles,
    texts: Vec<String>,
    stack: Vec<Frame>,
    /// The places of the open brackets.
    brackets: Vec<(u8, FileLine)>,
    peeked: Option<Token>,
    /// The place of the last token.
    last: FileLine,
}

impl TokenInput {
    pub(super) fn from_file(path: &Path, files: ParameterFiles) -> Result<Self, InputError> {
        let mut input = Self::empty(files);
        input.open(path, path.display().to_string(), |expected| {
            InputError::new("file", path.display().to_string(), expected)
        })?;
        Ok(input)
    }

    pub(super) fn from_text(text: &str, name: &str, folder: Option<&Path>, files: ParameterFiles) -> Self {
        let mut input = Self::empty(files);
        input.push(text.to_owned(), name.to_owned(), folder.map(Path::to_owned), None);
        input
    }

    fn empty(files: ParameterFiles) -> Self {
        let (texts, stack, brackets) = (Vec::new(), Vec::new(), Vec::new());
        Self { files, texts, stack, brackets, peeked: None, last: FileLine::default() }
    }

    fn push(&mut self, text: String, name: String, folder: Option<PathBuf>, path: Option<PathBuf>) {
        let file = self.files.add(name, folder);
        self.texts.push(text);
        let (lexer, text, brackets) = (Lexer::new(file), self.texts.len() - 1, self.brackets.len());
        self.last = lexer.place();
        self.stack.push(Frame { lexer, text, path, brackets });
    }

    fn open(&mut self, path: &Path, name: String, refuse: impl Fn(String) -> InputError) -> Result<(), InputError> {
        let unreadable = |e: std::io::Error| refuse(format!("a file that can be read ({e})"));
        let real = path.canonicalize().map_err(unreadable)?;
        if self.stack.iter().any(|frame| frame.path.as_ref() == Some(&real)) {
            return Err(refuse("a file that is not being read already: files include each other in a circle".into()));
        }
        let metadata = real.metadata().map_err(unreadable)?;
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return Err(refuse(format!("a regular file of at most {MAX_BYTES} bytes")));
        }
        let bytes = std::fs::read(&real).map_err(unreadable)?;
        let text = String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        let folder = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
        self.push(text, name, folder.map(Path::to_owned), Some(real));
        Ok(())
    }

    /// The text of a token.
    pub(super) fn text(&self, token: &Token) -> &str {
        &self.texts[token.place.file as usize][token.start..token.end]
    }

    /// Peeks at the next token; `None` at the end of all files.
    pub(super) fn peek(&mut self) -> Result<Option<Token>, InputError> {
        if self.peeked.is_none() {
            self.peeked = self.fetch()?;
        }
        Ok(self.peeked)
    }

    /// Consumes the next token; `None` at the end of all files.
    pub(super) fn next(&mut self) -> Result<Option<Token>, InputError> {
        let token = match self.peeked.take() {
            Some(token) => Some(token),
            None => self.fetch()?,
        };
        if let Some(token) = &token {
            self.last = token.place;
        }
        Ok(token)
    }

    /// Reports that the next token is not `expected`.
    pub(super) fn unexpected(&mut self, field: &str, expected: &str) -> InputError {
        match self.peek() {
            Err(error) => error,
            Ok(Some(token)) => {
                let got = self.text(&token).to_owned();
                self.files.refuse(token.place, field, got, expected)
            }
            Ok(None) => self.truncated(self.last, field, expected),
        }
    }

    /// Reports that the text ends at `place` instead of with `expected`.
    fn truncated(&self, place: FileLine, field: &str, expected: &str) -> InputError {
        let expected = match self.brackets.last() {
            Some(&(mark, open)) => {
                let close = if mark == b'{' { '}' } else { ']' };
                format!("{expected}; the {} of line {} needs its {close}", char::from(mark), open.line())
            }
            None => expected.to_owned(),
        };
        self.files.refuse(place, field, "the end of the file", expected)
    }

    /// Reads a token from the innermost file, following `source`.
    fn fetch(&mut self) -> Result<Option<Token>, InputError> {
        loop {
            let Some(frame) = self.stack.last_mut() else { return Ok(None) };
            let outer = frame.brackets;
            let Some(token) = frame.lexer.next(&self.texts[frame.text]) else {
                self.leave()?;
                continue;
            };
            match token.kind {
                TokenKind::Word if self.text(&token) == "source" => self.include()?,
                TokenKind::Mark(mark @ (b'{' | b'[')) => {
                    self.brackets.push((mark, token.place));
                    if self.brackets.len() > MAX_NESTING {
                        let expected = format!("at most {MAX_NESTING} brackets within each other");
                        return Err(self.files.refuse(token.place, "", char::from(mark), expected));
                    }
                    return Ok(Some(token));
                }
                TokenKind::Mark(mark @ (b'}' | b']')) => {
                    if self.brackets.len() <= outer {
                        let expected = "a bracket that was opened in this file";
                        return Err(self.files.refuse(token.place, "", char::from(mark), expected));
                    }
                    self.brackets.pop();
                    return Ok(Some(token));
                }
                _ => return Ok(Some(token)),
            }
        }
    }

    /// Leaves the innermost file at its end. The file must have closed its brackets.
    fn leave(&mut self) -> Result<(), InputError> {
        let Some(frame) = self.stack.last() else { return Ok(()) };
        let place = frame.lexer.place();
        if self.stack.len() > 1 && self.brackets.len() != frame.brackets {
            return Err(self.truncated(place, "", "the rest of it"));
        }
        self.stack.pop();
        Ok(())
    }

    /// Follows a `source`: the name of a file comes next, and the next token is the first one of that file.
    fn include(&mut self) -> Result<(), InputError> {
        let Some(frame) = self.stack.last_mut() else { return Ok(()) };
        let here = frame.lexer.place();
        let token = frame.lexer.next(&self.texts[frame.text]);
        let Some(token) = token.filter(|t| !matches!(t.kind, TokenKind::Mark(_))) else {
            return Err(self.files.refuse(here, "source", "", "the name of a file"));
        };
        let (place, name) = (token.place, self.text(&token).to_owned());
        if self.stack.len() > MAX_DEPTH {
            let expected = format!("files that include each other at most {MAX_DEPTH} deep");
            return Err(self.files.refuse(place, "source", name, expected));
        }
        if self.texts.len() > MAX_INCLUSIONS {
            return Err(self.files.refuse(place, "source", name, format!("at most {MAX_INCLUSIONS} inclusions")));
        }
        let path = self.files.find(place, "source", &name)?;
        let shown = path.display().to_string();
        let files = self.files.clone();
        self.open(&path, shown, |expected| files.refuse(place, "source", name.clone(), expected))
    }
}
