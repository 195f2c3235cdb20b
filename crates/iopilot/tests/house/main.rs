//! The house is in order: what holds for the sources of the whole workspace, and for its scripts. Sources are read as
//! text, token by token. Each rule is also tried on made-up sources that break it.

// The lint spares `#[test]` functions only, not what they share.
#![allow(clippy::unwrap_used)]

mod golden;
mod import_circles;
mod public_items;
mod sources;
mod unique_names;
