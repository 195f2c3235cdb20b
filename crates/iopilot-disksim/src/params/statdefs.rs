//! [`StatDefs`]: the bucket edges of histograms, from the file that `Stat definition file` names.
//!
//! For each statistic the file has a title, `Distribution size: n`, `Scale/Equals: s/e`, and edges: n - 1 of them for n
//! = 10, otherwise `Start a step b grow c`.

use super::data_file::{DataFile, DataLine};
use super::fields::{Given, word};
use iopilot_block::InputError;

/// The largest number of buckets a statistic may have.
const MAX_SIZE: usize = 1 << 20;

/// The size for which edges are listed.
const SMALL: usize = 10;

/// The histogram of a statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct StatDef {
    /// Its title.
    pub title: String,
    /// Values are multiplied by this and truncated.
    pub scale: i64,
    /// The number of leading buckets that hold a single value.
    pub equals: usize,
    /// The upper edge of each bucket except the last, which has none.
    pub edges: Vec<i64>,
}

/// `Stat definition file`: the name of the file and its content.
#[derive(Clone, Debug, PartialEq)]
pub struct StatDefinitionFile {
    /// Its name.
    pub name: String,
    /// The content; `None` if there is no such file. Only output depends on it.
    pub definitions: Option<StatDefs>,
}

impl StatDefinitionFile {
    pub(super) fn read(given: &Given<'_>) -> Result<Self, InputError> {
        let name = word(given)?;
        let found = given.files.find(given.place, given.name, &name).is_ok();
        let definitions = found.then(|| StatDefs::of(&DataFile::open(given)?)).transpose()?;
        Ok(Self { name, definitions })
    }
}

/// All histograms of a file, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatDefs {
    /// The histograms.
    pub definitions: Vec<StatDef>,
}

impl StatDefs {
    /// The histogram called `title`.
    pub fn get(&self, title: &str) -> Option<&StatDef> {
        self.definitions.iter().find(|d| d.title == title)
    }

    fn of(file: &DataFile) -> Result<Self, InputError> {
        let mut definitions: Vec<StatDef> = Vec::new();
        let mut lines = file.lines().filter(|line| !line.text.is_empty()).peekable();
        while let Some(title) = lines.next() {
            // A continuation line of listed edges; DiskSim 4.0 ignores it.
            if title.text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !definitions.is_empty() {
                continue;
            }
            let mut next = |expected: &str| lines.next().ok_or_else(|| title.refuse(title.text, "", expected));
            let size = next("`Distribution size: N`")?;
            let size = labelled(&size, "Distribution size:")?;
            let line = next("`Scale/Equals: S/E`")?;
            let scale = line.text.strip_prefix("Scale/Equals:").and_then(|rest| rest.split_once('/'));
            let Some((scale, equals)) = scale else {
                return Err(line.refuse("statistic", line.text, "`Scale/Equals: S/E`"));
            };
            let scale = line.parse("scale", scale, "a whole number")?;
            let equals: usize = line.parse("equals", equals, "a whole number")?;
            let edges = edges(&next("the edges of the buckets")?, size)?;
            if equals > size {
                return Err(line.refuse("equals", &equals.to_string(), format!("at most {size}, the buckets")));
            }
            definitions.push(StatDef { title: title.text.to_owned(), scale, equals, edges });
        }
        Ok(Self { definitions })
    }
}

fn labelled(line: &DataLine<'_>, label: &str) -> Result<usize, InputError> {
    let Some(text) = line.text.strip_prefix(label) else {
        return Err(line.refuse("statistic", line.text, format!("`{label} N`")));
    };
    let size: usize = line.parse(label.trim_end_matches(':'), text, "a whole number")?;
    if (SMALL..=MAX_SIZE).contains(&size) {
        return Ok(size);
    }
    Err(line.refuse(label.trim_end_matches(':'), text.trim(), format!("{SMALL} to {MAX_SIZE}")))
}

fn edges(line: &DataLine<'_>, size: usize) -> Result<Vec<i64>, InputError> {
    let words: Vec<_> = line.text.split_whitespace().collect();
    if size == SMALL {
        let edges = words.iter().map(|word| line.parse("edge", word, "a whole number"));
        let mut edges = edges.collect::<Result<Vec<i64>, _>>()?;
        if edges.len() < SMALL - 1 {
            return Err(line.refuse("edges", &edges.len().to_string(), format!("{} of them", SMALL - 1)));
        }
        edges.truncate(SMALL - 1);
        return Ok(edges);
    }
    let &["Start", start, "step", step, "grow", grow] = words.as_slice() else {
        return Err(line.refuse("edges", line.text, "`Start A step B grow C`"));
    };
    let [start, step, grow]: [i64; 3] = [
        line.parse("Start", start, "a whole number")?,
        line.parse("step", step, "a whole number")?,
        line.parse("grow", grow, "a whole number")?,
    ];
    let mut edge = start;
    let mut edges = Vec::with_capacity(size - 1);
    for _ in 1..size {
        edges.push(edge);
        let grown = edge.saturating_abs().checked_mul(grow).map(|product| product / 100);
        let next = grown.and_then(|grown| edge.checked_add(step)?.checked_add(grown));
        edge = next.ok_or_else(|| line.refuse("edges", line.text, "edges that fit 64 bits"))?;
    }
    Ok(edges)
}
