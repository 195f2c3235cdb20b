//! Consumes single tokens.

use super::{Grammar, Named};
use crate::parse::files::FileLine;
use crate::parse::lexer::{Token, TokenKind};
use iopilot_block::InputError;
use std::sync::Arc;

impl Grammar {
    pub(super) fn is_reserved(&self, token: &Token) -> bool {
        matches!(self.input.text(token), "instantiate" | "as" | "topology" | "source")
    }

    pub(super) fn at_mark(&mut self, mark: u8) -> Result<bool, InputError> {
        Ok(self.input.peek()?.is_some_and(|t| t.kind == TokenKind::Mark(mark)))
    }

    /// Consumes a mark; returns its place.
    pub(super) fn mark(&mut self, mark: u8, field: &str, expected: &str) -> Result<FileLine, InputError> {
        if !self.at_mark(mark)? {
            return Err(self.input.unexpected(field, expected));
        }
        Ok(self.input.next()?.map(|t| t.place).unwrap_or_default())
    }

    /// Consumes a word that is not a number.
    pub(super) fn word(&mut self, field: &str, expected: &str) -> Result<Named, InputError> {
        match self.input.peek()? {
            Some(token) if token.kind == TokenKind::Word && !self.is_reserved(&token) => {
                self.input.next()?;
                let text = self.input.text(&token).to_owned();
                Ok((self.keep(&text), token.place))
            }
            _ => Err(self.input.unexpected(field, expected)),
        }
    }

    /// Consumes a word or a number, as text.
    pub(super) fn any_word(&mut self, field: &str, expected: &str) -> Result<(String, FileLine), InputError> {
        match self.input.peek()? {
            Some(token) if !matches!(token.kind, TokenKind::Mark(_)) && !self.is_reserved(&token) => {
                self.input.next()?;
                Ok((self.input.text(&token).to_owned(), token.place))
            }
            _ => Err(self.input.unexpected(field, expected)),
        }
    }

    pub(super) fn keep(&mut self, word: &str) -> Arc<str> {
        match self.words.get(word) {
            Some(kept) => Arc::clone(kept),
            None => {
                let kept: Arc<str> = Arc::from(word);
                self.words.insert(Arc::clone(&kept));
                kept
            }
        }
    }
}
