//! The results of an experiment.

use super::Experiment;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// A value in a table. JSON and CSV have all digits of a number; terminals print about four.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A measured number; `null` in JSON if it is not finite.
    Number(f64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// A table of results.
#[derive(Clone, Debug)]
pub struct ResultTable {
    name: &'static str,
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl ResultTable {
    /// An empty table. `name` is its name in files. The columns are keys in JSON and name their units, as in `read_ms`.
    pub fn new(name: &'static str, title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&c| c.to_owned()).collect();
        Self { name, title: title.into(), columns, rows: Vec::new() }
    }

    /// Adds a row with one cell for each column.
    ///
    /// # Panics
    /// If there are more or fewer cells.
    pub fn row(&mut self, cells: Vec<Cell>) {
        assert_eq!(cells.len(), self.columns.len(), "table {}", self.name);
        self.rows.push(cells);
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }
}

/// One claim of the source.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    source: String,
    claim: String,
    goal: String,
    ours: String,
    reproduced: bool,
    because: Option<String>,
}

impl Claim {
    /// A claim that `source` makes, with what has to come out (`goal`) and what came out (`ours`). If it is not
    /// `reproduced`, `because` is the reason.
    pub fn new(
        source: &str,
        claim: impl Into<String>,
        goal: impl Into<String>,
        ours: impl Into<String>,
        reproduced: bool,
        because: impl Into<String>,
    ) -> Self {
        Self {
            source: source.to_owned(),
            claim: claim.into(),
            goal: goal.into(),
            ours: ours.into(),
            reproduced,
            because: (!reproduced).then(|| because.into()),
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn claim(&self) -> &str {
        &self.claim
    }

    pub(crate) fn goal(&self) -> &str {
        &self.goal
    }

    pub(crate) fn ours(&self) -> &str {
        &self.ours
    }

    /// The reason why the claim is not reproduced; `None` if it is.
    pub(crate) fn not_because(&self) -> Option<&str> {
        self.because.as_deref()
    }
}

/// The results of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The results.
    pub tables: Vec<ResultTable>,
    /// The claims, in the source's order.
    pub claims: Vec<Claim>,
    /// Notes on how the experiment was done.
    pub notes: Vec<String>,
    /// More files for `--out`: name and content.
    pub files: Vec<(String, String)>,
}

/// An outcome in the form that `--json` prints.
#[derive(Serialize)]
pub struct ExperimentReport<'a> {
    experiment: &'static str,
    source: &'static str,
    title: &'static str,
    quick: bool,
    seed: u64,
    tables: Tables<'a>,
    claims: &'a [Claim],
    notes: &'a [String],
}

impl<'a> ExperimentReport<'a> {
    /// `outcome` of a run of `experiment` with these settings.
    pub fn new(experiment: &Experiment, quick: bool, seed: u64, outcome: &'a Outcome) -> Self {
        Self {
            experiment: experiment.name,
            source: experiment.source,
            title: experiment.title,
            quick,
            seed,
            tables: Tables(&outcome.tables),
            claims: &outcome.claims,
            notes: &outcome.notes,
        }
    }
}

/// Maps each table's name to its rows. A row is an object with the columns as keys.
struct Tables<'a>(&'a [ResultTable]);

struct Rows<'a>(&'a ResultTable);

struct Row<'a>(&'a [String], &'a [Cell]);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for table in self.0 {
            map.serialize_entry(table.name, &Rows(table))?;
        }
        map.end()
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.rows.len()))?;
        for cells in &self.0.rows {
            rows.serialize_element(&Row(&self.0.columns, cells))?;
        }
        rows.end()
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, cell) in self.0.iter().zip(self.1) {
            map.serialize_entry(key, cell)?;
        }
        map.end()
    }
}
