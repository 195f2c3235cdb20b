//! Files import each other in no circle of more than two, unless a comment in one of them gives the reason. The comment
//! begins with `Import circle: `.
//!
//! A file imports another one if a `use`, or a path from `crate`, `self` or `super`, leads to an item there. A `pub use`
//! is not an import: the file that uses the re-exported name imports from the file that defines the item.

use crate::sources::{Files, Import, SourceCrate, Visibility, crates, inside, items, made_up, paths, workspace};
use proc_macro2::TokenTree;
use std::collections::{BTreeMap, BTreeSet};

const REASON: &str = "// Import circle: ";

/// The path of a module in its crate; that of the root is empty.
type Module = Vec<String>;

#[test]
fn files_do_not_import_each_other_in_circles() {
    let wrong = wrong(&workspace());
    let hint = format!("break a circle, or say why it is right in one of its files: {REASON}<reason>.");
    assert!(wrong.is_empty(), "{} are wrong; {hint}\n{}", wrong.len(), wrong.join("\n"));
}

/// The circles without a reason, and the reasons without a circle.
fn wrong(files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    for sources in crates(files) {
        let path_of: BTreeMap<&Module, &str> = sources.files.iter().map(|f| (&f.module, f.path.as_str())).collect();
        let gives_reason = |path: &str| files[path].lines().any(|line| reason(line).is_some());
        let graph = graph(&sources);
        let mut in_circles = BTreeSet::new();
        for circle in circles(&graph) {
            in_circles.extend(circle.iter().map(|module| path_of[module]));
            if circle.iter().any(|module| gives_reason(path_of[module])) {
                continue;
            }
            let mut text = format!("{}: a circle of {} files:", sources.folder, circle.len());
            for module in &circle {
                let others = graph[module].iter().filter(|other| circle.contains(*other)).map(|other| path_of[other]);
                text += &format!("\n    {} imports {}", path_of[module], others.collect::<Vec<_>>().join(", "));
            }
            wrong.push(text);
        }
        for file in &sources.files {
            if gives_reason(&file.path) && !in_circles.contains(file.path.as_str()) {
                wrong.push(format!(
                    "{}: there is no circle of imports any more, so that no reason is needed",
                    file.path
                ));
            }
        }
    }
    wrong
}

/// The reason that a line gives for a circle.
fn reason(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix(REASON).filter(|reason| reason.len() > 10)
}

/// The modules that are files, and those that each of them imports.
fn graph(sources: &SourceCrate) -> BTreeMap<Module, BTreeSet<Module>> {
    let modules: BTreeSet<Module> = sources.files.iter().map(|file| file.module.clone()).collect();
    let mut names = Names { modules: &modules, imported: BTreeMap::new() };
    let mut references = Vec::new();
    for file in &sources.files {
        add_references(&file.tokens, &file.module, &mut references);
    }
    for Reference { module, path, name, .. } in &references {
        if let (Some(path), Some(name)) = (names.absolute(module, path), name) {
            names.imported.insert((module.clone(), name.clone()), path);
        }
    }
    let mut graph: BTreeMap<Module, BTreeSet<Module>> = modules.iter().map(|m| (m.clone(), BTreeSet::new())).collect();
    for Reference { module, path, passed_on, .. } in &references {
        let Some(path) = names.absolute(module, path).filter(|_| !passed_on) else { continue };
        let (from, to) = (names.file(module), names.owner(&path, &mut BTreeSet::new()));
        if from != to {
            graph.get_mut(&from).unwrap().insert(to);
        }
    }
    graph
}

/// A path that a module names.
struct Reference {
    module: Module,
    path: Vec<String>,
    /// For a `use`: the name that the item has in this module.
    name: Option<String>,
    /// Whether it is a `use` with any visibility.
    passed_on: bool,
}

fn add_references(tokens: &[TokenTree], module: &Module, references: &mut Vec<Reference>) {
    for item in items(tokens) {
        for Import { path, name } in item.imports() {
            let passed_on = item.visibility != Visibility::Private;
            references.push(Reference { module: module.clone(), path, name: Some(name), passed_on });
        }
        if let ("mod", Some(inner)) = (item.keyword.as_str(), item.braces()) {
            add_references(&inner, &inside(module, &item.name), references);
        } else if item.keyword != "use" {
            paths(&item.rest, &["crate", "self", "super"], &mut |path| {
                references.push(Reference { module: module.clone(), path, name: None, passed_on: false });
            });
        }
    }
}

/// Resolves the names of a crate.
struct Names<'a> {
    /// The modules that are files.
    modules: &'a BTreeSet<Module>,
    /// The path of what a module imports under a name.
    imported: BTreeMap<(Module, String), Vec<String>>,
}

impl Names<'_> {
    /// A path from the root of the crate; `None` if it leads out of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let supers = path.iter().skip_while(|part| *part == "self").take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" | "super" => {
                let rest = path.iter().skip_while(|part| *part == "self" || *part == "super").cloned();
                Some(module.iter().take(module.len().checked_sub(supers)?).cloned().chain(rest).collect())
            }
            first => {
                let child = inside(module, first);
                self.modules.contains(&child).then(|| [&module[..], path].concat())
            }
        }
    }

    /// The file that a module is in.
    fn file(&self, module: &Module) -> Module {
        (0..=module.len()).rev().map(|n| module[..n].to_vec()).find(|part| self.modules.contains(part)).unwrap()
    }

    /// The file that defines the item at `path`. It follows re-exports.
    fn owner(&self, path: &[String], seen: &mut BTreeSet<(Module, String)>) -> Module {
        let mut module = Module::new();
        for (n, part) in path.iter().enumerate() {
            let inside = inside(&module, part);
            if self.modules.contains(&inside) {
                module = inside;
                continue;
            }
            let key = (module.clone(), part.clone());
            match self.imported.get(&key) {
                Some(target) if seen.insert(key) => return self.owner(&[target, &path[n + 1..]].concat(), seen),
                _ => return module,
            }
        }
        module
    }
}

/// The largest sets of more than two files in which each leads to each other one.
fn circles(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|start| {
            let mut reached = BTreeSet::new();
            let mut next = vec![start];
            while let Some(module) = next.pop() {
                next.extend(graph[module].iter().filter(|to| reached.insert(*to)));
            }
            (start, reached)
        })
        .collect();
    let mut circles = BTreeSet::new();
    for (module, to) in &reached {
        circles.insert(to.iter().filter(|other| reached[**other].contains(module)).map(|m| (*m).clone()).collect());
    }
    circles.into_iter().filter(|circle: &BTreeSet<Module>| circle.len() > 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: (&str, &str) =
        ("crates/x/src/a.rs", "mod b; mod c; mod d; pub(crate) use d::D; use b::B; pub struct A;");

    fn wrong_of(b: &str, c: &str, d: &str) -> Vec<String> {
        wrong(&made_up(&[
            ("crates/x/src/lib.rs", "mod a; pub use a::A;"),
            PARENT,
            ("crates/x/src/a/b.rs", b),
            ("crates/x/src/a/c.rs", c),
            ("crates/x/src/a/d.rs", d),
        ]))
    }

    const CIRCLE: [&str; 3] = [
        "use super::D; pub struct B;",
        "use crate::a::b::{B as Other}; pub struct C;",
        "fn f() { super::c::g() } pub struct D;",
    ];

    #[test]
    fn a_circle_is_found() {
        let [b, c, d] = CIRCLE;
        let folder = "crates/x/src/a";
        let expected = format!(
            "x: a circle of 3 files:\n    {folder}/b.rs imports {folder}/d.rs\n    {folder}/c.rs imports {folder}/b.rs\n    \
             {folder}/d.rs imports {folder}/c.rs"
        );
        assert_eq!(wrong_of(b, c, d), [expected]);
    }

    #[test]
    fn two_files_and_tests_and_what_is_passed_on_make_no_circle() {
        // Parent and child; a child of the child's.
        assert!(wrong_of("use super::A; pub struct B;", "use super::D;", "pub struct D;").is_empty());
        let [b, c, _] = CIRCLE;
        assert!(wrong_of(b, c, "#[cfg(test)] mod tests { use crate::a::c::C; } pub struct D;").is_empty());
        assert!(wrong_of(b, c, "pub use super::c::C; pub struct D;").is_empty());
        assert!(
            wrong_of(b, c, "use std::fmt; use other::c::C; fn f() { \"super::c::C\"; /* super::c::C */ }").is_empty()
        );
        // A name that leads nowhere ends, too.
        assert!(
            wrong_of("pub use super::c::X; struct B;", "pub use super::b::X;", "use super::b::X; pub struct D;")
                .is_empty()
        );
    }

    #[test]
    fn a_reason_is_enough_while_there_is_a_circle() {
        let [b, c, d] = CIRCLE;
        let reasoned = format!("// Import circle: the parent owns what its children change.\n{c}");
        assert!(wrong_of(b, &reasoned, d).is_empty());
        assert_eq!(wrong_of(b, &format!("// Import circle: .\n{c}"), d).len(), 1);
        let wrong = wrong_of("pub struct B;", &reasoned, d);
        assert!(wrong.len() == 1 && wrong[0].starts_with("crates/x/src/a/c.rs: there is no circle"), "{wrong:?}");
    }

    #[test]
    fn a_module_within_a_file_imports_for_the_file() {
        let [b, c, _] = CIRCLE;
        assert_eq!(wrong_of(b, c, "pub struct D; mod inner { use super::super::c::C; }").len(), 1);
    }
}
