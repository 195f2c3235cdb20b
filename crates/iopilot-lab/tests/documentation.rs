//! Every experiment is described in the laboratory's pages.

use std::collections::BTreeSet;
use std::path::Path;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab/README.md");
    std::fs::read_to_string(path).expect("docs/lab/README.md")
}

/// The names in the first columns of the tables that begin with the column `name`.
fn rows(page: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut listed = false;
    for line in page.lines() {
        if !line.starts_with('|') {
            listed = false;
        } else if line.starts_with("| name |") {
            listed = true;
        } else if let Some(name) = line.strip_prefix("| `").filter(|_| listed).and_then(|l| l.split('`').next()) {
            names.push(name);
        }
    }
    names
}

#[test]
fn each_experiment_has_a_row_and_each_row_is_of_an_experiment() {
    let page = page();
    let rows = rows(&page);
    let documented: BTreeSet<&str> = rows.iter().copied().collect();
    let run: BTreeSet<&str> = iopilot_lab::ALL.iter().map(|e| e.name).collect();
    assert_eq!(documented, run, "the rows of docs/lab/README.md (left), and the experiments (right)");
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "each has one row: {rows:?}");
}

#[test]
fn commands_of_the_page_name_experiments_that_exist() {
    let page = page();
    let run = page.lines().filter_map(|line| line.split("iopilot experiment run ").nth(1));
    let named: Vec<&str> = run.filter_map(|rest| rest.split(|c: char| c.is_whitespace() || c == '`').next()).collect();
    assert!(named.len() >= 3, "{named:?}");
    for name in named {
        assert!(iopilot_lab::find(name).is_ok(), "{name}");
    }
}
