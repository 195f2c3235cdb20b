//! The lines of a job file: sections, settings, comments, `include`, and `${VARIABLES}`.

use super::super::WorkloadError;
use iopilot_block::InputError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How deep files may include files; fio's own limit.
const MAX_INCLUDE_DEPTH: u32 = 16;

/// The file and line of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SettingOrigin {
    pub(super) file: Arc<str>,
    pub(super) line: u64,
}

impl SettingOrigin {
    /// An error about `field` here.
    pub(super) fn error(&self, field: &str, got: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(field, got, expected).in_file(&self.file).at_line(self.line)
    }
}

/// One `key=value` or `key`.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) origin: SettingOrigin,
}

impl Setting {
    /// The error that the value is not `expected`.
    pub(super) fn error(&self, expected: impl Into<String>) -> InputError {
        self.origin.error(&self.key, self.value.clone().unwrap_or_default(), expected)
    }
}

/// A `[name]` and what follows it.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) origin: SettingOrigin,
    pub(super) settings: Vec<Setting>,
}

impl Section {
    /// Whether it sets defaults for the jobs below. As in fio, any name that starts with `global` does.
    pub(super) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Looks up an environment variable.
pub(super) type EnvironmentLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The sections of `text`, in order, with included files in their place.
pub(super) fn sections(text: &str, source_name: &str, env: EnvironmentLookup) -> Result<Vec<Section>, WorkloadError> {
    let mut out = Vec::new();
    read(text, Path::new(source_name), env, 0, &mut out)?;
    Ok(out)
}

fn read(
    text: &str,
    path: &Path,
    env: EnvironmentLookup,
    depth: u32,
    out: &mut Vec<Section>,
) -> Result<(), WorkloadError> {
    let file: Arc<str> = path.to_string_lossy().into();
    for (index, raw) in text.lines().enumerate() {
        let origin = SettingOrigin { file: Arc::clone(&file), line: index as u64 + 1 };
        // As in fio, a comment may also follow a setting.
        let line = raw.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| origin.error("section", line, "[NAME]"))?.to_owned();
            out.push(Section { name, origin, settings: Vec::new() });
            continue;
        }
        if let Some(target) = line.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace)) {
            include(target.trim(), path, &origin, env, depth, out)?;
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(expand(value.trim(), env, &origin)?)),
            None => (line, None),
        };
        let section = out.last_mut().ok_or_else(|| origin.error(key, "an option outside a section", "[NAME] first"))?;
        section.settings.push(Setting { key: key.to_owned(), value, origin });
    }
    Ok(())
}

/// Reads `target`, which is looked for from the working folder, then from the including file's folder.
fn include(
    target: &str,
    from: &Path,
    origin: &SettingOrigin,
    env: EnvironmentLookup,
    depth: u32,
    out: &mut Vec<Section>,
) -> Result<(), WorkloadError> {
    if depth >= MAX_INCLUDE_DEPTH {
        return Err(origin.error("include", target, format!("at most {MAX_INCLUDE_DEPTH} nested files")).into());
    }
    let mut path = PathBuf::from(expand(target, env, origin)?);
    if !path.exists() {
        path = from.parent().unwrap_or(Path::new("")).join(path);
    }
    let text =
        fs::read_to_string(&path).map_err(|e| origin.error("include", format!("{target} ({e})"), "a readable file"))?;
    read(&text, &path, env, depth + 1, out)
}

/// Replaces `${NAME}` by the environment's value, and fio's `$pagesize`.
fn expand(value: &str, env: EnvironmentLookup, origin: &SettingOrigin) -> Result<String, InputError> {
    for keyword in ["$mb_memory", "$ncpus"] {
        if value.contains(keyword) {
            return Err(origin.error(keyword, value, "a number: this would depend on the computer that simulates"));
        }
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or_else(|| origin.error("${", value, "a closing }"))?;
        out.push_str(before);
        out.push_str(&env(name).ok_or_else(|| origin.error(name, "", "an environment variable that is set"))?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out.replace("$pagesize", "4096"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        (name == "SIZE").then(|| "64m".to_owned())
    }

    #[test]
    fn reads_sections_comments_flags_and_variables() {
        let text = "; a comment\n[global]\nbs = 4k # why\n\n[a]\nsize=${SIZE}\n  stonewall\n";
        let sections = sections(text, "a.fio", &env).unwrap();
        assert_eq!(
            sections.iter().map(|s| (s.name.as_str(), s.is_global())).collect::<Vec<_>>(),
            [("global", true), ("a", false)]
        );
        let flat: Vec<_> = sections.iter().flat_map(|s| &s.settings).collect();
        assert_eq!((flat[0].key.as_str(), flat[0].value.as_deref(), flat[0].origin.line), ("bs", Some("4k"), 3));
        assert_eq!(flat[1].value.as_deref(), Some("64m"));
        assert_eq!((flat[2].key.as_str(), flat[2].value.as_deref()), ("stonewall", None));
    }

    #[test]
    fn errors_name_file_and_line() {
        let message = |text: &str| sections(text, "x.fio", &env).unwrap_err().to_string();
        assert_eq!(
            message("[a]\nsize=${NOPE}"),
            "x.fio:2: NOPE: got nothing, expected an environment variable that is set"
        );
        assert_eq!(message("bs=4k"), "x.fio:1: bs: got an option outside a section, expected [NAME] first");
        assert_eq!(message("[a"), "x.fio:1: section: got [a, expected [NAME]");
    }

    #[test]
    fn included_files_are_read_in_their_place_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().join("outer.fio");
        fs::write(folder.path().join("inner.fio"), "bs=8k\n[inner]\n").unwrap();
        let sections_of = |text: &str| sections(text, outer.to_str().unwrap(), &env);
        let read = sections_of("[outer]\ninclude inner.fio\nsize=1m\n").unwrap();
        assert_eq!(
            read.iter().map(|s| (s.name.as_str(), s.settings.len())).collect::<Vec<_>>(),
            [("outer", 1), ("inner", 1)]
        );
        fs::write(folder.path().join("inner.fio"), "include inner.fio\n").unwrap();
        assert!(sections_of("[a]\ninclude inner.fio\n").unwrap_err().to_string().contains("at most 16 nested files"));
    }
}
