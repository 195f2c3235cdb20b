//! How results are shown: tables and numbers on a terminal, charts as SVG. Shared by the command line and the laboratory.

pub mod number;
mod scale;
pub mod svg;
mod table;
mod terminal;

pub use scale::Scale;
pub use table::{Alignment, Table, fit, pad, wrap};
pub use terminal::Terminal;
