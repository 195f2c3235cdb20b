//! The pages of this project are true of it: links lead somewhere, TOML is TOML, paths exist, and the pages that a
//! user reads first are readable. Their commands are tested in `commands.rs`, among the binary's unit tests.

// The lint exempts `#[test]` functions only, not their helpers.
#![allow(clippy::unwrap_used)]

mod glossary;
mod links;
mod markdown;
mod prose;

use markdown::{Page, files, guides, root};

#[test]
fn toml_is_toml() {
    let mut count = 0;
    for path in files(".", "md") {
        for block in Page::read(&path).blocks().iter().filter(|b| b.language == "toml") {
            count += 1;
            if let Err(e) = block.text.parse::<toml::Table>() {
                panic!("{path}:{}: {e}", block.line);
            }
        }
    }
    assert!(count > 3, "{count}");
}

#[test]
fn what_contributing_names_exists() {
    let page = Page::read("CONTRIBUTING.md");
    let mut count = 0;
    for (number, line) in page.lines() {
        let codes = line.split('`').skip(1).step_by(2);
        // `NAME` stands for what the reader is about to add: the folder has to be there.
        for path in codes.filter(|code| code.contains('/') && !code.contains(' ')) {
            let known = path.split_once("NAME").map_or(path, |(before, _)| before.rsplit_once('/').unwrap().0);
            count += 1;
            assert!(root().join(known).exists(), "CONTRIBUTING.md:{number}: {path}");
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn targets_that_the_guides_name_are_in_the_makefile() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let targets: Vec<_> = makefile.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let mut wrong = Vec::new();
    for page in guides().into_iter().chain([Page::read("CONTRIBUTING.md")]) {
        let blocks = page.blocks();
        let code = blocks
            .iter()
            .flat_map(|b| b.text.lines())
            .chain(page.lines().into_iter().flat_map(|(_, line)| line.split('`').skip(1).step_by(2)));
        for target in code.filter_map(|line| line.strip_prefix("make ")?.split_whitespace().next()) {
            if !targets.contains(&target) {
                wrong.push(format!("{}: make {target}", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
