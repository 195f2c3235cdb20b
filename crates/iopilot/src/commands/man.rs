//! `iopilot man`.

use crate::args::Cli;
use anyhow::Context as _;
use clap::CommandFactory;
use std::path::Path;

/// Writes the man pages of all commands to `out`, or returns the main one.
///
/// # Errors
/// Where the folder or a page cannot be written.
pub(crate) fn run(out: Option<&Path>) -> anyhow::Result<String> {
    let command = Cli::command();
    if let Some(folder) = out {
        let write = || {
            std::fs::create_dir_all(folder)?;
            clap_mangen::generate_to(command, folder)
        };
        write().with_context(|| format!("writing man pages to {}", folder.display()))?;
        return Ok(String::new());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(String::from_utf8(page)?)
}
