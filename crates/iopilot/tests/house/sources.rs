//! The sources of the workspace: crates, their files as a tree of modules, and the items in them. Test code is left out.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// All Rust files of the workspace, by their path from its top folder.
pub(crate) type Files = BTreeMap<String, String>;

/// A file that belongs to a crate, without its test code.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    /// The path of its module in the crate; empty for the root.
    pub(crate) module: Vec<String>,
    pub(crate) tokens: Vec<TokenTree>,
}

/// A crate: the files that its root declares, directly or through other modules. Test modules are left out.
pub(crate) struct SourceCrate {
    /// As in a path: `iopilot_sched`.
    pub(crate) name: String,
    /// Its folder in `crates`.
    pub(crate) folder: String,
    /// Whether it is a library.
    pub(crate) is_library: bool,
    pub(crate) files: Vec<SourceFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Private,
    /// `pub(crate)` and the like.
    Restricted,
    Public,
}

/// An item of a module.
pub(crate) struct Item {
    pub(crate) visibility: Visibility,
    /// `struct`, `use`, `mod`, `macro_rules` and so on; `macro` for a call of one.
    pub(crate) keyword: String,
    /// Empty for `use`, `impl`, and a call of a macro.
    pub(crate) name: String,
    /// The text of its attributes, without spaces.
    pub(crate) attributes: Vec<String>,
    /// What follows the name: for `use` the tree, for `mod` and others the braces.
    pub(crate) rest: Vec<TokenTree>,
}

/// A name that a `use` brings into scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The path of the imported item. The last part of a glob is `*`.
    pub(crate) path: Vec<String>,
    /// Its name in this module: the one after `as`, if there is one.
    pub(crate) name: String,
}

impl Item {
    /// What stands between its braces, if it has some.
    pub(crate) fn braces(&self) -> Option<Vec<TokenTree>> {
        self.rest.iter().find_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                Some(group.stream().into_iter().collect())
            }
            _ => None,
        })
    }

    /// The names that a `use` brings into scope.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let mut imports = Vec::new();
        if self.keyword == "use" {
            add_imports(&self.rest, &[], &mut imports);
        }
        imports
    }
}

/// The Rust files below `crates` and `fuzz`.
pub(crate) fn workspace() -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Files::new();
    let mut folders = vec!["crates".to_owned(), "fuzz/fuzz_targets".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                let text = fs::read_to_string(entry.path()).unwrap();
                files.insert(path, text);
            }
        }
    }
    assert!(files.len() > 500, "{}", files.len());
    files
}

/// Made-up files, from pairs of path and text.
pub(crate) fn made_up(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// The crates in `files`: each folder of `crates` with `src/lib.rs` or `src/main.rs`. One with both is two.
pub(crate) fn crates(files: &Files) -> Vec<SourceCrate> {
    let mut crates = Vec::new();
    for path in files.keys() {
        let parts: Vec<&str> = path.split('/').collect();
        if let ["crates", folder, "src", root @ ("lib.rs" | "main.rs")] = parts[..] {
            let mut sources = SourceCrate {
                name: folder.replace('-', "_"),
                folder: folder.to_owned(),
                is_library: root == "lib.rs",
                files: Vec::new(),
            };
            sources.add_file(files, path.clone(), Vec::new());
            crates.push(sources);
        }
    }
    crates
}

impl SourceCrate {
    /// Adds a file, and those that it declares as its modules.
    fn add_file(&mut self, files: &Files, path: String, module: Vec<String>) {
        let tokens = without_tests(&tokens(&path, &files[&path]));
        for inside in modules_elsewhere(&tokens, &module) {
            let stem = format!("crates/{}/src/{}", self.folder, inside.join("/"));
            let found = [format!("{stem}.rs"), format!("{stem}/mod.rs")].into_iter().find(|p| files.contains_key(p));
            let found = found.unwrap_or_else(|| panic!("{path}: no file of module {}", inside.join("::")));
            self.add_file(files, found, inside);
        }
        self.files.push(SourceFile { path, module, tokens });
    }
}

/// The paths of the modules that are files of their own.
fn modules_elsewhere(tokens: &[TokenTree], module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for item in items(tokens).iter().filter(|item| item.keyword == "mod") {
        let path = inside(module, &item.name);
        match item.braces() {
            Some(inner) => found.extend(modules_elsewhere(&inner, &path)),
            None => found.push(path),
        }
    }
    found
}

/// The path of the module `name` in a module.
pub(crate) fn inside(module: &[String], name: &str) -> Vec<String> {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The tokens of a file.
pub(crate) fn tokens(path: &str, text: &str) -> Vec<TokenTree> {
    let stream: TokenStream = text.parse().unwrap_or_else(|e| panic!("{path}: {e}"));
    stream.into_iter().collect()
}

/// Whether an attribute restricts what follows to test builds.
fn is_for_tests(attribute: &str) -> bool {
    let Some(condition) = attribute.strip_prefix("cfg(") else { return false };
    let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let others = condition.replace("feature=\"testing\"", "");
    words.contains(&"test") && !words.contains(&"not") && !others.contains("feature")
}

/// `tokens` without the parts that exist in test builds only.
pub(crate) fn without_tests(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let Some(first) = rest.first() {
        if attribute(rest).is_some_and(|text| is_for_tests(&text)) {
            rest = &rest[length_with_attributes(rest)..];
            continue;
        }
        kept.push(match first {
            TokenTree::Group(group) => {
                let inner = without_tests(&group.stream().into_iter().collect::<Vec<_>>());
                proc_macro2::Group::new(group.delimiter(), inner.into_iter().collect()).into()
            }
            other => other.clone(),
        });
        rest = &rest[1..];
    }
    kept
}

/// The attribute at the beginning of `tokens`, as text without spaces.
fn attribute(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..]
            if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group.stream().to_string().replace(' ', ""))
        }
        _ => None,
    }
}

/// The number of tokens of the item, field or statement at the beginning of `tokens`.
fn length_with_attributes(tokens: &[TokenTree]) -> usize {
    const ITEMS: &str = "mod fn use struct enum union trait impl type const static unsafe async extern macro_rules let";
    let mut at = 0;
    while attribute(&tokens[at..]).is_some() {
        at += 2;
    }
    let mut first = at;
    if is_word(tokens.get(first), "pub") {
        first += 1;
        first += usize::from(is_group(tokens.get(first), Delimiter::Parenthesis));
    }
    let word = tokens.get(first).map(ToString::to_string).unwrap_or_default();
    let is_item = ITEMS.split(' ').any(|keyword| keyword == word);
    let ends = |tree: &TokenTree| match tree {
        TokenTree::Punct(punct) => punct.as_char() == ';' || !is_item && punct.as_char() == ',',
        other => is_group(Some(other), Delimiter::Brace),
    };
    tokens[at..].iter().position(ends).map_or(tokens.len(), |length| at + length + 1)
}

fn is_word(tree: Option<&TokenTree>, word: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_punct(tree: Option<&TokenTree>, sign: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_group(tree: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// The items of a module, from its tokens.
pub(crate) fn items(tokens: &[TokenTree]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    let mut attributes = Vec::new();
    while at < tokens.len() {
        if let Some(attribute) = attribute(&tokens[at..]) {
            attributes.push(attribute);
            at += 2;
            continue;
        }
        let mut visibility = Visibility::Private;
        if is_word(tokens.get(at), "pub") {
            at += 1;
            visibility = Visibility::Public;
            if is_group(tokens.get(at), Delimiter::Parenthesis) {
                at += 1;
                visibility = Visibility::Restricted;
            }
        }
        // Words that may precede `fn` and others. `const` and `extern` may also be the keyword itself.
        loop {
            let is_prefix = match tokens.get(at).map(ToString::to_string).as_deref() {
                Some("unsafe" | "async" | "default") => true,
                Some("const") => ["fn", "unsafe", "async", "extern"].iter().any(|w| is_word(tokens.get(at + 1), w)),
                Some("extern") => matches!(tokens.get(at + 1), Some(TokenTree::Literal(_))),
                Some(text) => text.starts_with('"'),
                None => false,
            };
            if !is_prefix {
                break;
            }
            at += 1;
        }
        let Some(TokenTree::Ident(keyword)) = tokens.get(at) else {
            at += 1;
            continue;
        };
        let mut keyword = keyword.to_string();
        let mut name = String::new();
        at += 1;
        match keyword.as_str() {
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "mod" | "const" | "static" => {
                at += usize::from(is_word(tokens.get(at), "mut"));
                name = tokens.get(at).map(ToString::to_string).unwrap_or_default();
                at += 1;
            }
            "macro_rules" => {
                at += 1;
                name = tokens.get(at).map(ToString::to_string).unwrap_or_default();
                at += 1;
            }
            "use" | "impl" | "extern" => {}
            _ => keyword = "macro".to_owned(),
        }
        // These may contain braces before their end.
        let to_semicolon = ["use", "const", "static", "type", "extern"].contains(&keyword.as_str());
        let is_end = |tree: &TokenTree| match tree {
            TokenTree::Group(group) => !to_semicolon && group.delimiter() == Delimiter::Brace,
            other => is_punct(Some(other), ';'),
        };
        let length = tokens[at.min(tokens.len())..].iter().position(is_end).map_or(tokens.len() - at, |n| n + 1);
        let rest = tokens[at..at + length].to_vec();
        at += length;
        items.push(Item { visibility, keyword, name, attributes: std::mem::take(&mut attributes), rest });
    }
    items
}

/// Adds the imports of the tree of a `use` below `path`.
fn add_imports(tokens: &[TokenTree], path: &[String], imports: &mut Vec<Import>) {
    for tree in tokens.split(|tree| is_punct(Some(tree), ',') || is_punct(Some(tree), ';')) {
        let mut path = path.to_vec();
        let mut name = None;
        let mut rest = tree.iter();
        let mut is_whole = !tree.is_empty();
        while let Some(part) = rest.next() {
            match part {
                TokenTree::Ident(ident) if ident == "as" => name = rest.next().map(ToString::to_string),
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == '*' => path.push("*".to_owned()),
                TokenTree::Group(group) => {
                    add_imports(&group.stream().into_iter().collect::<Vec<_>>(), &path, imports);
                    is_whole = false;
                }
                _ => {}
            }
        }
        // `use a::{self}` is `use a`; a path of `self` alone stays one.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if is_whole {
            let name = name.unwrap_or_else(|| path.last().cloned().unwrap_or_default());
            imports.push(Import { path, name });
        }
    }
}

/// All words of `tokens`, at any depth.
pub(crate) fn words(tokens: &[TokenTree], add: &mut impl FnMut(String)) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(ident) => add(ident.to_string()),
            TokenTree::Group(group) => words(&group.stream().into_iter().collect::<Vec<_>>(), add),
            _ => {}
        }
    }
}

/// All paths of `tokens`, at any depth, that begin with one of `first`; also those of a `use` within a function.
pub(crate) fn paths(tokens: &[TokenTree], first: &[&str], add: &mut impl FnMut(Vec<String>)) {
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => paths(&group.stream().into_iter().collect::<Vec<_>>(), first, add),
            TokenTree::Ident(ident) if ident == "use" => {
                let length = tokens[at..].iter().position(|t| is_punct(Some(t), ';')).unwrap_or(tokens.len() - at);
                let mut imports = Vec::new();
                add_imports(&tokens[at + 1..at + length], &[], &mut imports);
                let led = imports
                    .into_iter()
                    .filter(|import| import.path.first().is_some_and(|part| first.contains(&part.as_str())));
                led.for_each(|import| add(import.path));
                at += length;
            }
            // `pub(in crate::a)` limits who may name the item; it imports nothing.
            TokenTree::Ident(ident) if ident == "pub" && matches!(tokens.get(at + 1), Some(TokenTree::Group(_))) => {
                at += 1;
            }
            TokenTree::Ident(ident) if first.iter().any(|f| ident == f) => {
                let mut path = vec![ident.to_string()];
                while is_punct(tokens.get(at + 1), ':') && is_punct(tokens.get(at + 2), ':') {
                    let Some(TokenTree::Ident(next)) = tokens.get(at + 3) else { break };
                    path.push(next.to_string());
                    at += 3;
                }
                if path.len() > 1 {
                    add(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Vec<Item> {
        items(&without_tests(&tokens("made-up", text)))
    }

    #[test]
    fn items_are_told_apart() {
        let text = "//! Docs with struct NotThis.\n use a::{b::C, d as e, f::*, self}; pub(crate) struct S<T>(T) where T: Copy;
            #[derive(Debug)] pub enum E { A, B } const N: [u8; 2] = { [1, 2] }; pub const unsafe fn f() -> u8 { 1 }
            impl S<u8> { pub fn method() { struct Inner; } } pub(in crate::a) type T = u8; pub mod m { pub trait Deep {} }
            macro_rules! mine { ($x:ident) => { pub struct $x; }; } mine!(Made); mine! { pub union U {} } mod elsewhere;
            static TEXT: &str = \"pub struct NotThat;\"; extern \"C\" fn g() {}";
        let found: Vec<String> =
            module(text).iter().map(|i| format!("{:?} {} {}", i.visibility, i.keyword, i.name)).collect();
        let expected = "Private use |Restricted struct S|Public enum E|Private const N|Public fn f|Private impl |\
            Restricted type T|Public mod m|Private macro_rules mine|Private macro |Private macro |Private mod elsewhere|\
            Private static TEXT|Private fn g";
        assert_eq!(found.join("|"), expected);
        assert_eq!(module(text)[2].attributes, ["derive(Debug)"]);
        assert_eq!(module(text)[7].braces().map(|inner| items(&inner)[0].name.clone()), Some("Deep".to_owned()));
        let imports: Vec<String> =
            module(text)[0].imports().iter().map(|i| format!("{} {}", i.path.join("::"), i.name)).collect();
        assert_eq!(imports, ["a::b::C C", "a::d e", "a::f::* *", "a a"]);
    }

    #[test]
    fn test_code_is_left_out_and_nothing_else() {
        let text = "#[cfg(test)] mod tests; #[cfg(all(test, unix))] pub struct A { a: u8 } #[cfg(not(test))] struct B;
            struct C { #[cfg(test)] pub(crate) a: Vec<u8>, b: u8 } #[cfg(any(test, feature = \"testing\"))] pub mod testing;
            #[cfg(any(test, feature = \"ublk\"))] #[inline] fn d() {} impl C { #[cfg(test)] #[inline] fn e(&self) {} fn f() {} }";
        let kept: String = without_tests(&tokens("made-up", text)).into_iter().collect::<TokenStream>().to_string();
        let kept = kept.replace(' ', "");
        let expected =
            "#[cfg(not(test))]structB;structC{b:u8}#[cfg(any(test,feature=\"ublk\"))]#[inline]fnd(){}implC{fnf(){}}";
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_crate_is_what_its_root_reaches() {
        let files = made_up(&[
            ("crates/a-b/src/lib.rs", "mod c; mod d { mod e; } #[cfg(test)] mod tests;"),
            ("crates/a-b/src/c.rs", "mod f;"),
            ("crates/a-b/src/c/f.rs", ""),
            ("crates/a-b/src/d/e.rs", ""),
            ("crates/a-b/src/tests.rs", ""),
            ("crates/a-b/tests/g.rs", ""),
        ]);
        let crates = crates(&files);
        assert_eq!((crates.len(), crates[0].name.as_str(), crates[0].is_library), (1, "a_b", true));
        let mut modules: Vec<String> = crates[0].files.iter().map(|file| file.module.join("::")).collect();
        modules.sort();
        assert_eq!(modules, ["", "c", "c::f", "d::e"]);
    }

    #[test]
    fn paths_are_found_in_code_and_in_macros() {
        let text = "fn f(x: &crate::a::B) { use crate::{d, std::e as f}; use std::g; mine!(super::c(1)); let d = self::e::<u8>(); self.g(); } impl S { pub(in crate::h) fn i() {} }";
        let mut found = Vec::new();
        paths(&tokens("made-up", text), &["crate", "super", "self"], &mut |path| found.push(path.join("::")));
        assert_eq!(found, ["crate::a::B", "crate::d", "crate::std::e", "super::c", "self::e"]);
    }
}
