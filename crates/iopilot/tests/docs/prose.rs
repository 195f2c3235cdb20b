//! The pages that a user reads first have short sentences.

use crate::markdown::{Page, guides};

/// No sentence has more words than this.
const LONGEST: usize = 40;
/// Half of a page's sentences have fewer.
const MEDIAN: usize = 18;

#[test]
fn sentences_are_short() {
    let mut wrong = Vec::new();
    for page in guides() {
        let sentences = sentences(&page);
        let mut lengths: Vec<usize> = sentences.iter().map(|s| s.split_whitespace().count()).collect();
        for (sentence, &words) in sentences.iter().zip(&lengths) {
            if words > LONGEST {
                wrong.push(format!("{}: {words} words: {sentence}", page.path));
            }
        }
        lengths.sort_unstable();
        assert!(lengths.len() > 5, "{}: {sentences:?}", page.path);
        let median = lengths[lengths.len() / 2];
        if median >= MEDIAN {
            wrong.push(format!("{}: median of {median} words", page.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sentences of paragraphs and lists: no headings, tables, pictures, code. A link counts as its text.
fn sentences(page: &Page) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut last = 0;
    for (number, line) in page.lines() {
        let text = line.trim();
        let item = text.starts_with("- ") || text.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        let skipped = text.is_empty() || ["#", "|", "![", "<"].iter().any(|start| text.starts_with(start));
        // A block of code that was left out ends a paragraph, too.
        if skipped || item || number != last + 1 {
            paragraphs.push(String::new());
        }
        last = number;
        if !skipped {
            let text = if item { text.split_once(' ').unwrap().1 } else { text };
            let paragraph = paragraphs.last_mut().unwrap();
            paragraph.push_str(text);
            paragraph.push(' ');
        }
    }
    paragraphs.iter().flat_map(|p| split(&plain(p))).collect()
}

/// A paragraph without the targets of its links, a piece of code as one word.
fn plain(paragraph: &str) -> String {
    let mut text: String =
        paragraph.split('`').enumerate().map(|(i, part)| if i % 2 == 1 { "code" } else { part }).collect();
    while let Some(at) = text.find("](") {
        let end = text[at..].find(')').map_or(text.len(), |n| at + n + 1);
        text.replace_range(at..end, "");
    }
    text.replace(['[', '*', '_'], "")
}

/// Cut behind full stops, question and exclamation marks that a space follows.
fn split(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let sentence = sentences.last_mut().unwrap();
        sentence.push_str(word);
        sentence.push(' ');
        let ends = word.trim_end_matches([')', '"']).ends_with(['.', '?', '!']);
        if ends && !["e.g.", "i.e.", "GF.", "no."].contains(&word) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|s| s.chars().any(char::is_alphabetic));
    sentences
}

#[test]
fn sentences_are_told_apart() {
    assert_eq!(split(&plain("One. A [link to it](x.md#y), `a b c`? It is 1.5 ms.")).len(), 3);
    assert_eq!(split("a 2.6.24 b").len(), 1);
}
