//! The `iopilot` command.
fn main() {}
