//! Helpers for tests: checks what a test needs of the machine, and reports skipped tests.
//!
//! A test that needs root, a device or a program calls [`has`] first, and returns if something is missing. The harness
//! would count it as passed, so each skipped test prints a line past the harness. Where `IOPILOT_SKIPPED` names a
//! file, as it does in `make test`, the line is added to it as well: tab-separated, the test and the reason.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The variable that names the file to which skipped tests are added.
const LIST: &str = "IOPILOT_SKIPPED";

/// Reports why the test that runs in this thread is skipped, in whole or in part.
pub fn skipped(why: &str) {
    // One line each, whatever an error message holds.
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let test = test();
    // Written to the stream itself, as the harness hides what a passing test prints with macros. In one write, as tests
    // run at once.
    let _ = std::io::stderr().write_all(format!("skipped: {test}: {why}\n").as_bytes());
    if let Some(list) = std::env::var_os(LIST) {
        let added = OpenOptions::new().create(true).append(true).open(&list);
        let added = added.and_then(|mut list| list.write_all(format!("{test}\t{why}\n").as_bytes()));
        added.unwrap_or_else(|e| panic!("{}: {e}", Path::new(&list).display()));
    }
}

/// Whether all of `needs` are there: `root`, `io_uring`, files by their absolute path, and programs by their name.
/// Reports the first that is missing.
pub fn has(needs: &[&str]) -> bool {
    let missing = needs.iter().find(|need| match **need {
        "root" => !is_root(),
        "io_uring" => {
            std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|text| text.trim() == "2")
        }
        path if path.starts_with('/') => !Path::new(path).exists(),
        program => !is_program(program),
    });
    if let Some(missing) = missing {
        skipped(&format!("needs {missing}"));
    }
    missing.is_none()
}

/// The path `part` in the folder that `IOPILOT_TEST_DATA` names, else in `shared/data` beside the project. Reports it
/// if that is missing.
pub fn data(part: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("IOPILOT_TEST_DATA").map_or_else(beside, PathBuf::from).join(part);
    if data.exists() {
        return Some(data);
    }
    skipped("needs real traces and drives: IOPILOT_TEST_DATA names no folder of them");
    None
}

/// Longer than anything takes that happens at all, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two looks at a condition. A look may start a process.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `done` returns true.
///
/// # Panics
///
/// If it does not within two minutes. `what` names the condition in the message.
pub fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Whether this process has the rights of root.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The program and the function, as the harness calls them.
fn test() -> String {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).and_then(|name| name.to_str()).unwrap_or("test");
    // Without the hash that cargo appends.
    let program = program.rsplit_once('-').map_or(program, |(name, _)| name);
    match std::thread::current().name() {
        Some(function) if function != "main" => format!("{program}::{function}"),
        _ => program.to_owned(),
    }
}

/// Checks that `page` holds `text` between its marks `<!-- mark -->` and `<!-- /mark -->`.
///
/// # Panics
/// Where it does not, with the text to paste.
pub fn assert_documented(page: &str, mark: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let whole = std::fs::read_to_string(&path).expect("the page");
    let (_, rest) = whole.split_once(&format!("<!-- {mark} -->\n")).expect("the first mark");
    let (written, _) = rest.split_once(&format!("<!-- /{mark} -->")).expect("the second mark");
    assert!(written == text, "between the marks `{mark}` of {page} there should be:\n\n{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_waited_for_and_not_longer() {
        let mut looks = 0;
        wait("the third look", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }

    #[test]
    fn what_is_there_is_found_and_what_is_not_is_missed() {
        assert!(has(&["/proc/self", "sh"]));
        assert!(!is_program("no-such-program"));
        assert_eq!(test(), "iopilot_testing::tests::what_is_there_is_found_and_what_is_not_is_missed");
    }
}
