//! Links, and paths of pages in the code.

use crate::markdown::{Page, files, root};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files(".", "md") {
        let page = Page::read(&path);
        for (number, link) in links(&page) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => path.clone(),
                _ => join(&path, file),
            };
            if !root().join(&target).exists() {
                wrong.push(format!("{path}:{number}: {link}: no such file"));
            } else if !anchor.is_empty() && target.ends_with(".md") && !anchors(&Page::read(&target)).contains(anchor) {
                wrong.push(format!("{path}:{number}: {link}: no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "{count}");
}

#[test]
fn every_page_can_be_reached_from_the_map() {
    let mut reached = BTreeSet::new();
    let mut next = vec!["docs/README.md".to_owned()];
    while let Some(path) = next.pop() {
        if path.ends_with(".md") && reached.insert(path.clone()) {
            let here = links(&Page::read(&path)).into_iter().filter(|(_, link)| !link.contains("://"));
            next.extend(
                here.map(|(_, link)| join(&path, link.split('#').next().unwrap())).filter(|p| root().join(p).is_file()),
            );
        }
    }
    let lost: Vec<_> = files("docs", "md").into_iter().filter(|path| !reached.contains(path)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn pages_that_the_code_names_exist() {
    let mut count = 0;
    for path in ["rs", "toml", "fio", "sh"].iter().flat_map(|end| files(".", end)) {
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        for (at, _) in text.match_indices("docs/") {
            let name: String =
                text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "/-_.".contains(*c)).collect();
            if let Some((page, _)) = name.split_once(".md") {
                count += 1;
                assert!(root().join(format!("{page}.md")).exists(), "{path}: {page}.md");
            }
        }
    }
    assert!(count > 20, "{count}");
}

/// The targets of a page's links and pictures, each with its line.
fn links(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in page.lines() {
        // Text in code is no link.
        let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for (at, _) in text.match_indices("](") {
            found.push((number, text[at + 2..].split([')', ' ']).next().unwrap().to_owned()));
        }
        if let Some((_, rest)) = line.split_once("srcset=\"") {
            found.push((number, rest.split('"').next().unwrap().to_owned()));
        }
    }
    found
}

/// The path that a page's link names, without `..`.
fn join(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = Path::new(page).parent().unwrap().iter().map(|p| p.to_str().unwrap()).collect();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in page.lines().into_iter().filter(|(_, line)| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept: String = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect();
        let anchor = kept.replace(' ', "-");
        let again = (1..).map(|n| format!("{anchor}-{n}")).find(|a| !anchors.contains(a)).unwrap();
        anchors.insert(if anchors.contains(&anchor) { again } else { anchor });
    }
    anchors
}
