//! Libraries export what others use. The test counts the exported items of each library that no file outside of it names.
//!
//! `IOPILOT_PUBLIC_ITEMS=1 cargo test -p iopilot --test house -- --nocapture libraries` prints the present table.

use crate::sources::{Files, SourceCrate, Visibility, crates, inside, items, made_up, tokens, words, workspace};
use proc_macro2::TokenTree;
use std::collections::{BTreeMap, BTreeSet};

/// How many items each library exports that nobody outside names. They are public because they stand in a signature or a
/// public field of an item that others do name. The numbers only go down.
const UNNAMED: &[(&str, usize)] = &[
    ("iopilot-block", 0),
    ("iopilot-calibrate", 1),
    ("iopilot-catalogue", 13),
    ("iopilot-compare", 1),
    ("iopilot-dads", 1),
    ("iopilot-device", 9),
    ("iopilot-disksim", 75),
    ("iopilot-fuzz", 1),
    ("iopilot-host", 4),
    ("iopilot-lab", 3),
    ("iopilot-live", 9),
    ("iopilot-redcap", 1),
    ("iopilot-render", 0),
    ("iopilot-sched", 3),
    ("iopilot-scsi", 6),
    ("iopilot-sim", 1),
    ("iopilot-testing", 0),
    ("iopilot-trace", 8),
    ("iopilot-tune", 1),
    ("iopilot-workload", 1),
];

#[test]
fn libraries_export_what_others_name() {
    let files = workspace();
    let unnamed = unnamed(&files);
    let counts: Vec<(&str, usize)> = unnamed.iter().map(|(name, items)| (name.as_str(), items.len())).collect();
    if std::env::var_os("IOPILOT_PUBLIC_ITEMS").is_some() {
        println!("{}", table(&counts));
    }
    let wrong = wrong(&unnamed, UNNAMED);
    assert!(wrong.is_empty(), "{}\n\nThe present table:\n{}", wrong.join("\n"), table(&counts));
}

/// The table as this file writes it.
fn table(counts: &[(&str, usize)]) -> String {
    let rows: String = counts.iter().map(|(name, count)| format!("    ({name:?}, {count}),\n")).collect();
    format!("const UNNAMED: &[(&str, usize)] = &[\n{rows}];")
}

/// A line for each library whose count differs from the table. Where the count is higher, the line lists the items.
fn wrong(unnamed: &BTreeMap<String, Vec<String>>, table: &[(&str, usize)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let allowed: BTreeMap<&str, usize> = table.iter().copied().collect();
    for (name, items) in unnamed {
        let (count, items) = (items.len(), items.join(", "));
        match allowed.get(name.as_str()) {
            Some(&most) if count > most => wrong.push(format!(
                "{name}: {count} public items that nobody outside names, {most} are allowed: make pub(crate) one of {items}"
            )),
            Some(&most) if count < most => {
                wrong.push(format!("{name}: {count} public items that nobody outside names: lower the {most} of the table"));
            }
            Some(_) => {}
            None => wrong.push(format!("{name}: has no row in the table; nobody outside names {count}: {items}")),
        }
    }
    let gone = table.iter().filter(|(name, _)| !unnamed.contains_key(*name));
    wrong.extend(gone.map(|(name, _)| format!("{name}: is no library any more, but has a row in the table")));
    wrong
}

/// For each library, by its folder: the exported items that no file outside of it names.
fn unnamed(files: &Files) -> BTreeMap<String, Vec<String>> {
    let words_of: BTreeMap<&String, BTreeSet<String>> =
        files.iter().map(|(path, text)| (path, all_words(&tokens(path, text)))).collect();
    let mut unnamed = BTreeMap::new();
    for sources in crates(files).iter().filter(|sources| sources.is_library) {
        // The binary beside a library is in the same folder, and outside of it; as are tests, benches and examples.
        let inside: BTreeSet<&str> = sources.files.iter().map(|file| file.path.as_str()).collect();
        let own = format!("crates/{}/src/", sources.folder);
        let is_outside = |path: &str| !path.starts_with(&own) || path == format!("{own}main.rs");
        // Only a file that names the crate can mean its items.
        let named: BTreeSet<&String> = words_of
            .iter()
            .filter(|(path, words)| {
                is_outside(path) && !inside.contains(path.as_str()) && words.contains(&sources.name)
            })
            .flat_map(|(_, words)| words)
            .collect();
        let items = exported(sources).into_iter().filter(|item| !named.contains(item)).collect();
        unnamed.insert(sources.folder.clone(), items);
    }
    unnamed
}

fn all_words(tokens: &[TokenTree]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    words(tokens, &mut |word| {
        found.insert(word);
    });
    found
}

/// The names that a library exports: public items of its root and of its public modules, re-exports, and exported
/// macros.
fn exported(sources: &SourceCrate) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    add_exported(sources, &[], &module_of(sources, &[]).unwrap(), &mut names);
    for file in &sources.files {
        let macros = items(&file.tokens).into_iter();
        let macros = macros.filter(|i| i.keyword == "macro_rules" && i.attributes.iter().any(|a| a == "macro_export"));
        names.extend(macros.map(|item| item.name));
    }
    names
}

/// The tokens of a module that is a file.
fn module_of(sources: &SourceCrate, path: &[String]) -> Option<Vec<TokenTree>> {
    sources.files.iter().find(|file| file.module == path).map(|file| file.tokens.clone())
}

fn add_exported(sources: &SourceCrate, module: &[String], tokens: &[TokenTree], names: &mut BTreeSet<String>) {
    for item in items(tokens) {
        if item.keyword == "macro" {
            item.braces().iter().for_each(|inner| add_exported(sources, module, inner, names));
        }
        if item.visibility != Visibility::Public {
            continue;
        }
        match item.keyword.as_str() {
            "use" => {
                for import in item.imports() {
                    if import.name != "*" {
                        names.insert(import.name);
                        continue;
                    }
                    // A glob of a module of this crate: its public items.
                    let path: Vec<String> = import.path[..import.path.len() - 1].to_vec();
                    let path = match path.first().map(String::as_str) {
                        Some("crate") => path[1..].to_vec(),
                        Some("self") => [module, &path[1..]].concat(),
                        _ => [module, &path[..]].concat(),
                    };
                    if let Some(inner) = module_of(sources, &path) {
                        add_exported(sources, &path, &inner, names);
                    }
                }
            }
            "mod" => {
                let path = inside(module, &item.name);
                if let Some(inner) = item.braces().or_else(|| module_of(sources, &path)) {
                    add_exported(sources, &path, &inner, names);
                }
            }
            _ => {
                names.insert(item.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unnamed_of(uses: &str) -> String {
        let files = made_up(&[
            (
                "crates/lib-a/src/lib.rs",
                "mod c; pub mod d; pub use c::{C, Hidden as Shown}; pub use d::e::*; pub fn f() {} struct Private; pub(crate) struct Near;
                 #[cfg(test)] pub struct OfTests; impl Private { pub fn method() {} } bitflags! { pub struct Flags: u8 {} }",
            ),
            ("crates/lib-a/src/c.rs", "pub struct C; pub struct Hidden; #[macro_export] macro_rules! exported { () => {} }"),
            ("crates/lib-a/src/d.rs", "pub mod e; pub const D: u8 = 1;"),
            ("crates/lib-a/src/d/e.rs", "pub trait E {}"),
            ("crates/lib-a/src/main.rs", "fn main() { d::D; }"),
            ("crates/bin-b/src/main.rs", uses),
            // The same names, of another crate.
            ("crates/bin-b/src/other.rs", "use lib_z::{C, Shown, E, f, Flags, exported, D};"),
        ]);
        unnamed(&files)["lib-a"].join(" ")
    }

    #[test]
    fn what_nobody_outside_names_is_found() {
        assert_eq!(unnamed_of(""), "C D E Flags Shown exported f");
        assert_eq!(
            unnamed_of("use lib_a::{C, Shown}; lib_a::exported!(); fn g(flags: Flags) -> lib_a::d::e::E {}"),
            "D f"
        );
    }

    #[test]
    fn tests_benches_and_the_own_binary_are_outside() {
        let count = |path: &str| {
            let files = made_up(&[("crates/lib-a/src/lib.rs", "pub fn f() {}"), (path, "use lib_a::f;")]);
            unnamed(&files)["lib-a"].len()
        };
        assert_eq!(count("crates/lib-a/src/c.rs"), 1);
        let outside =
            ["lib-a/tests/t.rs", "lib-a/benches/t.rs", "lib-a/examples/t.rs", "lib-a/src/main.rs", "b/src/lib.rs"];
        outside.iter().for_each(|path| assert_eq!(count(&format!("crates/{path}")), 0, "{path}"));
        assert_eq!(count("fuzz/fuzz_targets/t.rs"), 0);
    }

    #[test]
    fn the_numbers_only_go_down() {
        let unnamed = BTreeMap::from([("lib-a".to_owned(), vec!["C".to_owned(), "D".to_owned()])]);
        assert!(wrong(&unnamed, &[("lib-a", 2)]).is_empty());
        let more = wrong(&unnamed, &[("lib-a", 1)]);
        assert!(more.len() == 1 && more[0].ends_with("make pub(crate) one of C, D"), "{more:?}");
        let less = wrong(&unnamed, &[("lib-a", 3)]);
        assert!(less.len() == 1 && less[0].ends_with("lower the 3 of the table"), "{less:?}");
        assert_eq!(wrong(&unnamed, &[]).len(), 1);
        assert_eq!(
            wrong(&unnamed, &[("lib-a", 2), ("lib-b", 0)]),
            ["lib-b: is no library any more, but has a row in the table"]
        );
        assert_eq!(table(&[("lib-a", 2)]), "const UNNAMED: &[(&str, usize)] = &[\n    (\"lib-a\", 2),\n];");
    }
}
