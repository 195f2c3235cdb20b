//! Every Rust file of a library or a command is a module of it: the compiler does not see one that nobody declares.

use crate::sources::{self, Files, made_up};

/// The files below `src` of a crate that no file above them declares with `mod`.
fn undeclared(files: &Files) -> Vec<&str> {
    let declared = |parent: &str, module: &str| {
        files.get(parent).is_some_and(|text| {
            text.lines().any(|line| {
                let line = line.trim();
                let line =
                    line.split_once(") ").filter(|(left, _)| left.starts_with("pub(")).map_or(line, |(_, rest)| rest);
                line.trim_start_matches("pub ").strip_prefix("mod ") == Some(&format!("{module};"))
            })
        })
    };
    let is_declared = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        let ["crates", _, "src", .., file] = parts[..] else { return true };
        if parts.len() == 4 && matches!(file, "lib.rs" | "main.rs") {
            return true;
        }
        let (folder, module) = if file == "mod.rs" {
            (parts[..parts.len() - 2].join("/"), parts[parts.len() - 2])
        } else {
            (parts[..parts.len() - 1].join("/"), file.trim_end_matches(".rs"))
        };
        let above = ["/lib.rs", "/main.rs", "/mod.rs", ".rs"];
        above.iter().any(|end| declared(&format!("{folder}{end}"), module))
    };
    files.keys().map(String::as_str).filter(|path| !is_declared(path)).collect()
}

#[test]
fn every_file_is_declared() {
    assert_eq!(undeclared(&sources::workspace()), Vec::<&str>::new());
}

#[test]
fn a_file_that_nobody_declares_is_found() {
    let files = made_up(&[
        ("crates/a/src/lib.rs", "mod disk;\npub mod queue;\n"),
        ("crates/a/src/disk.rs", "#[cfg(test)]\nmod tests;\npub(crate) mod arm;\n"),
        ("crates/a/src/disk/tests.rs", ""),
        ("crates/a/src/disk/arm.rs", ""),
        ("crates/a/src/disk/head.rs", ""),
        ("crates/a/src/queue.rs", ""),
        ("crates/a/tests/cli/main.rs", ""),
    ]);
    assert_eq!(undeclared(&files), ["crates/a/src/disk/head.rs"]);
}
