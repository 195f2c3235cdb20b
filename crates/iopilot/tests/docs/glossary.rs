//! Every term of the glossary is linked to it where a page for users first says it.

use crate::markdown::{Page, guides};

#[test]
fn terms_are_linked_at_first_use() {
    let glossary = Page::read("docs/glossary.md");
    let terms: Vec<&str> = glossary.lines().into_iter().filter_map(|(_, line)| line.strip_prefix("### ")).collect();
    assert!(terms.len() > 30, "{terms:?}");
    let mut sorted = terms.clone();
    sorted.sort_by_key(|term| term.to_lowercase());
    assert_eq!(terms, sorted, "in the order of the alphabet");
    let mut wrong = Vec::new();
    for page in guides() {
        let prose = prose(&page);
        for term in &terms {
            let anchor = format!("glossary.md#{}", term.to_lowercase().replace(' ', "-").replace(['\'', '/'], ""));
            if let Some(at) = first(&prose, &term.to_lowercase(), &terms) {
                let rest = &prose[at..];
                let link = rest.split_once("](").map_or("", |(text, target)| {
                    if text.contains(['[', ']']) { "" } else { target.split(')').next().unwrap() }
                });
                if !link.ends_with(&anchor) {
                    let text: String = rest.chars().take(60).collect();
                    wrong.push(format!("{}: {term}: {text}", page.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a term is first said by itself, not as a part of a longer term or word; plurals count.
fn first(prose: &str, term: &str, terms: &[&str]) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    prose.match_indices(term).map(|(at, _)| at).find(|&at| {
        let rest = &prose[at + term.len()..];
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let longer = terms
            .iter()
            .map(|t| t.to_lowercase())
            .filter(|t| t.len() > term.len())
            .any(|t| t.match_indices(term).any(|(inside, _)| at >= inside && prose[at - inside..].starts_with(&t)));
        !longer && !prose[..at].ends_with(is_word) && !rest.starts_with(is_word)
    })
}

/// A page's text in small letters without headings, tables, code, and links that lead elsewhere than to the glossary.
fn prose(page: &Page) -> String {
    let lines = page.lines().into_iter().map(|(_, line)| line).filter(|line| !line.starts_with(['#', '|', '<']));
    let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
    let text = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let mut kept = String::new();
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once('[') {
        kept.push_str(before);
        let (link, after) = link.split_once(')').unwrap_or((link, ""));
        if link.contains("glossary.md#") {
            kept.extend(["[", link, ")"]);
        }
        rest = after;
    }
    kept + rest
}
