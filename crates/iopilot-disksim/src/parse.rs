//! The parameter language: from text to a [`Spec`].
//!
//! All files are read as one stream of tokens, since `source` may occur anywhere. The parser does not know about files.

mod block;
mod files;
mod grammar;
mod input;
mod lexer;
mod modules;
mod names;
mod overrides;
mod spec;

pub use block::{Block, Param, TopologyNode, Value};
pub use files::{FileLine, ParameterFiles};
#[cfg(test)]
pub(crate) use modules::MODULES;
pub(crate) use names::expected_name;
pub use spec::{ComponentInstance, Spec};

#[cfg(test)]
mod tests;
