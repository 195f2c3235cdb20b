//! The Markdown of this project, as far as its tests ask.

use std::fs;
use std::path::{Path, PathBuf};

/// The top folder of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page: its path from the top folder, and its text.
pub(crate) struct Page {
    pub(crate) path: String,
    text: String,
}

/// A fenced block of code.
pub(crate) struct Block {
    /// The line of the page on which it begins, from 1.
    pub(crate) line: usize,
    /// What stands behind the fence: `toml`, `sh`, or nothing.
    pub(crate) language: String,
    pub(crate) text: String,
}

impl Page {
    /// The page at this path from the top folder.
    pub(crate) fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        Self { path: path.to_owned(), text }
    }

    /// Its fenced blocks.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut inside = false;
        for (i, line) in self.text.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                inside = !inside;
                if inside {
                    blocks.push(Block { line: i + 1, language: language.trim().to_owned(), text: String::new() });
                }
            } else if inside {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
        assert!(!inside, "{}: a block does not end", self.path);
        blocks
    }

    /// Its lines outside of fenced blocks, each with its number from 1.
    pub(crate) fn lines(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let mut lines = Vec::new();
        for (i, line) in self.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                inside = !inside;
            } else if !inside {
                lines.push((i + 1, line));
            }
        }
        lines
    }
}

/// What a user reads first, in the order in which it is read: the README, the tutorials, the how-to pages.
pub(crate) fn guides() -> Vec<Page> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs/tutorials", "docs/how-to"] {
        pages.extend(files(folder, "md"));
    }
    assert!(pages.len() > 8, "{pages:?}");
    pages.iter().map(|path| Page::read(path)).collect()
}

/// All files in a folder and below whose names end in `.EXTENSION`, as paths from the top folder, in order.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    for entry in entries.map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let path = if folder == "." { name.clone() } else { format!("{folder}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            // Build output and version control are skipped.
            if name != "target" && !name.starts_with('.') {
                found.extend(files(&path, extension));
            }
        } else if name.rsplit_once('.').is_some_and(|(_, end)| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
