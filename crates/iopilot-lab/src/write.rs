//! An outcome as files.

use super::Outcome;
use super::outcome::{Cell, ResultTable};
use anyhow::Context as _;
use iopilot_trace::Destination;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes `NAME.json`, each table as `NAME-TABLE.csv`, and the outcome's own files into `folder`. Returns their paths.
pub fn write(folder: &Path, name: &str, json: &str, outcome: &Outcome) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = vec![(format!("{name}.json"), json.to_owned())];
    files.extend(outcome.tables.iter().map(|table| (format!("{name}-{}.csv", table.name()), csv(table))));
    files.extend(outcome.files.iter().cloned());
    let mut paths = Vec::new();
    for (file, content) in files {
        let path = folder.join(file);
        let written = || -> std::io::Result<()> {
            let (destination, mut file) = Destination::create(&path)?;
            file.write_all(content.as_bytes())?;
            destination.commit(&file)
        };
        written().with_context(|| format!("writing {}", path.display()))?;
        paths.push(path);
    }
    Ok(paths)
}

fn csv(table: &ResultTable) -> String {
    let names: Vec<String> = table.columns().iter().map(|name| quoted(name)).collect();
    let mut out = names.join(",") + "\n";
    for row in table.rows() {
        let cells: Vec<String> = row.iter().map(field).collect();
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => quoted(text),
        Cell::Count(count) => count.to_string(),
        Cell::Number(value) if value.is_finite() => value.to_string(),
        Cell::Number(_) => String::new(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_csv_with_all_digits() {
        let mut table = ResultTable::new("t", "", &["name", "value, as measured"]);
        table.row(vec!["a, \"b\"".into(), (1.0 / 3.0).into()]);
        table.row(vec!["c".into(), f64::NAN.into()]);
        assert_eq!(csv(&table), "name,\"value, as measured\"\n\"a, \"\"b\"\"\",0.3333333333333333\nc,\n");
    }
}
