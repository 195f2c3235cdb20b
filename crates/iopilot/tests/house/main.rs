//! House rules: tests of the sources of the whole workspace, and of its scripts. They read the sources token by token.
//! Each rule has tests of its own on made-up sources that break it.

// The lint spares `#[test]` functions only, not what they share.
#![allow(clippy::unwrap_used)]

mod golden;
mod import_circles;
mod module_files;
mod public_items;
mod sources;
mod unique_names;
