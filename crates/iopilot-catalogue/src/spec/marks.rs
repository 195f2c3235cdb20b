//! The marks of `[provenance]`: the sources of values.

use super::disk::DiskSpec;
use super::rules::{RULES, cited};
use iopilot_block::{InputError, suggest};
use serde::Serialize;

/// The kinds of marks. A mark is a kind, a colon, and the sheet, paper or inputs.
const MARKS: [&str; 3] = ["data sheet", "paper", "derived"];

/// The number of values of a description by kind of source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MarkCounts {
    /// The maker published it.
    pub data_sheet: usize,
    /// Measured or stated in the literature.
    pub paper: usize,
    /// Computed from named inputs by a stated rule.
    pub derived: usize,
}

impl DiskSpec {
    /// The number of values with each of the three marks; all zero if a description has no marks.
    pub fn mark_counts(&self) -> MarkCounts {
        let count = |mark| self.provenance.values().filter(|m| m.starts_with(mark)).count();
        let [data_sheet, paper, derived] = MARKS.map(count);
        MarkCounts { data_sheet, paper, derived }
    }

    /// Checks that each mark is one of the three, on a value that is given. If there are any marks, all values must
    /// have one.
    pub(super) fn check_marks(&self) -> Result<(), InputError> {
        if self.provenance.is_empty() {
            return Ok(());
        }
        let parameters = self.parameters();
        for (key, mark) in &self.provenance {
            let field = format!("provenance.{key}");
            if !parameters.contains(key) {
                return Err(InputError::new(field, "a note on a parameter that is not given", "a key of this file"));
            }
            check_mark(&field, mark)?;
        }
        match parameters.iter().find(|key| !self.provenance.contains_key(*key)) {
            Some(key) => Err(InputError::new(format!("provenance.{key}"), "", format!("a mark: {}", MARKS.join(", ")))),
            _ => Ok(()),
        }
    }
}

fn check_mark(field: &str, mark: &str) -> Result<(), InputError> {
    let said = MARKS.iter().find_map(|known| mark.strip_prefix(known)?.strip_prefix(": "));
    if said.is_none_or(|text| text.trim().is_empty()) {
        let want = format!("{}, a colon and from what", MARKS.join(" or "));
        return Err(InputError::new(field, mark, want));
    }
    match cited(mark) {
        Some(rule) if !RULES.contains(&rule) => {
            let near = suggest(rule, RULES).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(InputError::new(field, mark, format!("a rule of docs/reference/disks.md: {}{near}", RULES.join(", "))))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn every_value_has_one_of_three_marks() {
        let refused = |key: &str, mark: Option<&str>| {
            let mut spec = Catalogue::get("wd1200bb").unwrap();
            match mark {
                Some(mark) => spec.provenance.insert(key.to_owned(), mark.to_owned()),
                None => spec.provenance.remove(key),
            };
            spec.check_marks().unwrap_err().to_string()
        };
        let rpm = "mechanics.rotation_rpm";
        for mark in ["assumed: the class", "paper", "paper: ", "derived from the class", "data sheets: WD"] {
            let want = "expected data sheet or paper or derived, a colon and from what";
            assert_eq!(refused(rpm, Some(mark)), format!("provenance.{rpm}: got {mark}, {want}"));
        }
        let e = refused(rpm, None);
        assert_eq!(e, format!("provenance.{rpm}: got nothing, expected a mark: data sheet, paper, derived"));
        let e = refused(rpm, Some("derived: rule full-strike"));
        assert!(
            e.contains("expected a rule of docs/reference/disks.md: ") && e.ends_with("did you mean full-stroke?"),
            "{e}"
        );
        let e = refused("mechanics.rpm", Some("paper: GF"));
        assert!(e.contains("a note on a parameter that is not given"), "{e}");
    }

    #[test]
    fn marks_are_counted() {
        for name in Catalogue::names() {
            let spec = Catalogue::get(name).unwrap();
            let counts = spec.mark_counts();
            assert_eq!(counts.data_sheet + counts.paper + counts.derived, spec.parameters().len(), "{name}");
        }
        let mut spec = Catalogue::get("ssd-64-simple").unwrap();
        assert_eq!((spec.mark_counts().paper, spec.mark_counts().derived), (4, 3));
        spec.provenance.clear();
        assert_eq!(spec.mark_counts(), super::MarkCounts::default());
    }
}
