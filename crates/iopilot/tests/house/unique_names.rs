//! One name for one thing: two types that are visible beyond their modules do not share a name.

use crate::sources::{Files, Item, Visibility, crates, items, made_up, workspace};
use proc_macro2::TokenTree;
use std::collections::{BTreeMap, BTreeSet};

/// Names that several types share for a good reason, and that reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

#[test]
fn a_type_has_its_name_for_itself() {
    let wrong = wrong(&workspace(), EXCEPTIONS);
    assert!(wrong.is_empty(), "{} names:\n{}", wrong.len(), wrong.join("\n"));
}

/// A line for each name that several types share, and for each exception that is not needed.
fn wrong(files: &Files, exceptions: &[(&str, &str)]) -> Vec<String> {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sources in crates(files) {
        for file in sources.files {
            // Variants of one type for different platforms stand in one module, and count once.
            add_types(&file.tokens, &file.path, &mut places);
        }
    }
    let clash = |name: &str| places.get(name).is_some_and(|places| places.len() > 1);
    let is_excepted = |name: &str| exceptions.iter().any(|(excepted, _)| *excepted == name);
    let clashes = places.iter().filter(|(name, _)| clash(name) && !is_excepted(name));
    let clashes = clashes.map(|(name, places)| {
        format!("{name}: rename all but one of {}", places.iter().cloned().collect::<Vec<_>>().join(", "))
    });
    let needless = exceptions.iter().filter(|(name, _)| !clash(name));
    clashes.chain(needless.map(|(name, _)| format!("{name}: this exception is needed no longer"))).collect()
}

/// Adds the visible types of a module and their place. Inner modules and macro calls are searched, too.
fn add_types(tokens: &[TokenTree], place: &str, places: &mut BTreeMap<String, BTreeSet<String>>) {
    for item in items(tokens) {
        let Item { visibility, keyword, name, .. } = &item;
        match keyword.as_str() {
            "struct" | "enum" | "union" | "trait" | "type" if *visibility != Visibility::Private => {
                places.entry(name.clone()).or_default().insert(place.to_owned());
            }
            "mod" => {
                let inside = format!("{place} ({name})");
                item.braces().iter().for_each(|inner| add_types(inner, &inside, places));
            }
            "macro" => item.braces().iter().for_each(|inner| add_types(inner, place, places)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "pub struct Twice; mod deep { pub(super) enum Deep {} } struct Hidden; pub(crate) type Of = u8;
        bitflags! { pub struct Flags: u8 { const A = 1; } } #[cfg(unix)] pub struct Os; #[cfg(windows)] pub struct Os;
        impl Iterator for Twice { type Item = u8; }";
    const B: &str = "pub(crate) trait Twice {} struct Hidden; mod c; #[cfg(test)] pub struct Deep; pub enum Once {}
        fn f() { struct Of; } pub enum Variants { Twice, Deep }";
    const C: &str = "pub(in crate::c) union Deep { a: u8 } pub use super::Twice; pub struct Flags; pub type Item = u8;";

    fn wrong_with(exceptions: &[(&str, &str)]) -> Vec<String> {
        let files = made_up(&[
            ("crates/a/src/lib.rs", A),
            ("crates/b/src/main.rs", B),
            ("crates/b/src/c.rs", C),
            ("crates/b/tests/d.rs", "pub struct Once;"),
        ]);
        wrong(&files, exceptions)
    }

    #[test]
    fn a_clash_is_found_and_nothing_else() {
        let (a, b, c) = ("crates/a/src/lib.rs", "crates/b/src/main.rs", "crates/b/src/c.rs");
        let expected = [
            format!("Deep: rename all but one of {a} (deep), {c}"),
            format!("Flags: rename all but one of {a}, {c}"),
            format!("Twice: rename all but one of {a}, {b}"),
        ];
        assert_eq!(wrong_with(&[]), expected);
    }

    #[test]
    fn an_exception_spares_a_name_as_long_as_it_is_needed() {
        let wrong = wrong_with(&[("Twice", "for a reason"), ("Flags", "for a reason"), ("Once", "for a reason")]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("Deep: ") && wrong[1] == "Once: this exception is needed no longer", "{wrong:?}");
    }
}
