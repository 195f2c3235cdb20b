//! The `iopilot` command.

#[cfg(test)]
mod fixture;
mod render;
mod report;
mod terminal;
fn main() {}
