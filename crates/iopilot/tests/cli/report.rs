//! The page.

use crate::Sandbox;

#[test]
fn the_page_is_self_contained_and_the_same_each_time() {
    let s = Sandbox::new();
    let make = || {
        s.ok("compare small.trace --disk hd-250-32 --report page.html");
        std::fs::read_to_string(s.path().join("page.html")).unwrap()
    };
    let page = make();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for word in ["http://", "https://", "src=", "url(", "@import", "<link", "NaN"] {
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(word), "{word}");
    }
    for word in ["mq-deadline", "Response time", "Throughput", "Queue length", "Seeks", "<path", "hd-250-32"] {
        assert!(page.contains(word), "{word}");
    }
    assert_eq!(page, make());
    let left: Vec<_> = std::fs::read_dir(s.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn tags_balance() {
    let s = Sandbox::new();
    s.ok("compare small.trace --disk hd-250-32 --scheduler all --report page.html");
    let page = std::fs::read_to_string(s.path().join("page.html")).unwrap();
    for tag in ["svg", "g", "section", "table", "tr", "td", "figure", "button", "text", "div", "dl", "nav"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}
