//! The page of a comparison: one self-contained HTML file with charts.
//!
//! Everything is drawn here as inline SVG; the page loads nothing, and without its script loses only the choice of
//! which schedulers are in colour.

mod emphasis;
mod html;
mod lines;
mod scale;
mod seeks;
mod svg;

use anyhow::Context;
use iopilot_sim::Comparison;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes the page of `comparison` to `path`, whole or not at all.
///
/// # Errors
/// Where the file cannot be written.
pub(crate) fn write(path: &Path, comparison: &Comparison, command: &str) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let whole_or_nothing = || {
        // A temporary file is private; the page gets the permissions of any new file.
        let permissions = Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().prefix(".iopilot-").permissions(permissions).tempfile_in(folder)?;
        file.write_all(html::page(comparison, command).as_bytes())?;
        file.persist(path)?;
        Ok::<_, std::io::Error>(())
    };
    whole_or_nothing().with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn is_written_whole_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write(&path, &fixture::comparison(17), "iopilot compare").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        // To look at the page: IOPILOT_KEEP_REPORT=/tmp/page.html cargo test -p iopilot written_whole
        if let Some(keep) = std::env::var_os("IOPILOT_KEEP_REPORT") {
            std::fs::write(keep, text).unwrap();
        }
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let e = write(Path::new("/nonexistent/x.html"), &fixture::comparison(1), "").unwrap_err();
        assert!(e.to_string().contains("/nonexistent/x.html"));
    }
}
