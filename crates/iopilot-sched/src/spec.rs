//! [`SchedulerSpec`]: schedulers by name, with tunables.

use crate::{
    AnyScheduler, Environment, IoQueuePolicy, Lineage, Prio, PrioTunables, SCHEDULERS, Scheduler, SchedulerInfo,
    Tunable,
};
use crate::{TunableError, Unit};
use iopilot_block::{InputError, suggest};
use std::fmt;

/// A scheduler with settings of its tunables, as on a command line: `bfq:low_latency=0:slice_idle=4`,
/// `prio(bfq:low_latency=0):aging_ms=15000`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerSpec {
    /// The scheduler's name; for `prio(…)`, that of the scheduler inside.
    pub name: &'static str,
    /// Tunables to set on it, in order.
    pub settings: Vec<(String, f64)>,
    /// The tunables to set on the [`Prio`] around it, in order; `None` without `prio(…)`.
    pub prio: Option<Vec<(String, f64)>>,
}

/// The name of [`Prio`], before the parenthesis.
const PRIO: &str = "prio";

/// Splits `text` at each `separator` that is not in parentheses.
pub fn split_outside_parentheses(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0usize;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

impl SchedulerSpec {
    /// All schedulers that work on any device, with their defaults.
    pub fn all() -> Vec<Self> {
        Self::of(|lineage| lineage != Lineage::Positional)
    }

    /// All schedulers that ask the disk for the position of its arm, with their defaults.
    pub fn positional() -> Vec<Self> {
        Self::of(|lineage| lineage == Lineage::Positional)
    }

    /// The schedulers of a group: `all` or `positional`.
    pub fn group(name: &str) -> Option<Vec<Self>> {
        match name {
            "all" => Some(Self::all()),
            "positional" => Some(Self::positional()),
            _ => None,
        }
    }

    fn of(wanted: impl Fn(Lineage) -> bool) -> Vec<Self> {
        let listed = SCHEDULERS.iter().filter(|s| wanted(s.lineage));
        listed.map(|s| Self { name: s.name, settings: Vec::new(), prio: None }).collect()
    }

    /// The text in the parentheses of `prio(…)`, and the text after them; `None` if `text` does not begin with `prio`.
    ///
    /// # Errors
    /// If the parentheses are missing or not closed.
    pub fn inside_prio(text: &str) -> Result<Option<(&str, &str)>, InputError> {
        let Some(rest) = text.trim().strip_prefix(PRIO) else { return Ok(None) };
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_') {
            return Ok(None);
        }
        let rest = rest.trim_start();
        let Some(rest) = rest.strip_prefix('(') else {
            return Err(InputError::new("scheduler", text, "a scheduler in parentheses, such as prio(clook)"));
        };
        let mut depth = 1usize;
        let end = rest.char_indices().find(|&(_, c)| {
            depth = match c {
                '(' => depth + 1,
                ')' => depth - 1,
                _ => depth,
            };
            depth == 0
        });
        let Some((end, _)) = end else { return Err(InputError::new("scheduler", text, "a closing parenthesis")) };
        Ok(Some((&rest[..end], &rest[end + 1..])))
    }

    /// Parses `name[:tunable=value]…`, or the same in `prio(…)[:tunable=value]…`.
    ///
    /// # Errors
    /// Names the unknown scheduler or tunable, or the value out of range.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        match Self::inside_prio(text)? {
            Some((inside, behind)) => Self::parse_plain(inside)?.in_prio(behind),
            None => Self::parse_plain(text),
        }
    }

    /// Adds [`Prio`] around it, with the settings in `behind`, which begins with a colon or is empty.
    fn in_prio(self, behind: &str) -> Result<Self, InputError> {
        let mut parts = behind.split(':');
        let junk = parts.next().unwrap_or_default().trim();
        if !junk.is_empty() {
            return Err(InputError::new("scheduler prio", junk, "nothing, or :TUNABLE=VALUE behind the parenthesis"));
        }
        Ok(Self { prio: Some(settings(PRIO, PrioTunables::SPECS, parts)?), ..self })
    }

    fn parse_plain(text: &str) -> Result<Self, InputError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().trim();
        let Some(info) = SchedulerInfo::of(name) else {
            if Self::inside_prio(name).is_ok_and(|inside| inside.is_some()) {
                return Err(InputError::new("scheduler prio", text, "one scheduler, not prio again"));
            }
            let names = SCHEDULERS.iter().map(|s| s.name);
            let expected = match suggest(name, names.clone()) {
                Some(near) => format!("a scheduler; did you mean `{near}`?"),
                None => format!("one of {}, or prio(SCHEDULER)", names.collect::<Vec<_>>().join(", ")),
            };
            return Err(InputError::new("scheduler", name, expected));
        };
        Ok(Self { name: info.name, settings: settings(name, info.tunables, parts)?, prio: None })
    }

    /// Parses a list separated by commas. `all` stands for [`SchedulerSpec::all`], `positional` for
    /// [`SchedulerSpec::positional`]. `prio(…)` around a list applies to each scheduler in it.
    ///
    /// # Errors
    /// As [`SchedulerSpec::parse`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, InputError> {
        let mut specs = Vec::new();
        for part in split_outside_parentheses(text, ',') {
            match Self::inside_prio(part)? {
                Some((inside, behind)) => {
                    for spec in Self::parse_plain_list(inside)? {
                        specs.push(spec.in_prio(behind)?);
                    }
                }
                None => specs.extend(Self::parse_plain_list(part)?),
            }
        }
        Ok(specs)
    }

    fn parse_plain_list(text: &str) -> Result<Vec<Self>, InputError> {
        let mut specs = Vec::new();
        for part in split_outside_parentheses(text, ',') {
            match Self::group(part.trim()) {
                Some(group) => specs.extend(group),
                None => specs.push(Self::parse_plain(part.trim())?),
            }
        }
        Ok(specs)
    }

    /// Builds the scheduler.
    ///
    /// # Errors
    /// If a setting is not accepted. [`SchedulerSpec::parse`] has already checked the settings that it parsed.
    pub fn build(&self, env: &Environment) -> Result<AnyScheduler, TunableError> {
        let mut scheduler = AnyScheduler::by_name(self.name, env).expect("names are taken from the list");
        for (name, value) in &self.settings {
            scheduler.set(name, *value)?;
        }
        let Some(settings) = &self.prio else { return Ok(scheduler) };
        let mut prio = Prio::new(scheduler, env);
        for (name, value) in settings {
            prio.set(name, *value)?;
        }
        Ok(prio.into())
    }

    /// The description of the scheduler; for `prio(…)`, that of the scheduler inside: `prio` runs as that one does.
    pub fn info(&self) -> &'static SchedulerInfo {
        SchedulerInfo::of(self.name).expect("names are taken from the list")
    }

    /// Checks that a kernel can have this scheduler, and not only a simulation.
    ///
    /// # Errors
    /// If no kernel has it.
    pub fn check_of_a_kernel(&self) -> Result<(), InputError> {
        match self.prio {
            None => Ok(()),
            Some(_) => {
                Err(InputError::new("scheduler", self.to_string(), "one that a kernel has: prio can only be simulated"))
            }
        }
    }

    /// The block layer it belongs to.
    pub fn lineage(&self) -> Lineage {
        self.info().lineage
    }
}

impl fmt::Display for SchedulerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, settings: &[(String, f64)]| {
            settings.iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))
        };
        let Some(around) = &self.prio else {
            f.write_str(self.name)?;
            return write(f, &self.settings);
        };
        write!(f, "{PRIO}({}", self.name)?;
        write(f, &self.settings)?;
        f.write_str(")")?;
        write(f, around)
    }
}

/// Parses settings of `tunables`, which are those of `scheduler`.
fn settings<'a>(
    scheduler: &str,
    tunables: &'static [Tunable],
    parts: impl Iterator<Item = &'a str>,
) -> Result<Vec<(String, f64)>, InputError> {
    parts.map(|part| setting(scheduler, tunables, part)).collect()
}

fn setting(scheduler: &str, tunables: &'static [Tunable], part: &str) -> Result<(String, f64), InputError> {
    let Some((key, value)) = part.split_once('=') else {
        return Err(InputError::new(format!("scheduler {scheduler}"), part, "TUNABLE=VALUE"));
    };
    let (key, value) = (key.trim(), value.trim());
    let field = || format!("scheduler {scheduler}: {key}");
    let is_policy = tunables.iter().any(|t| t.name == key && t.unit == Unit::Policy);
    let number = match value {
        _ if is_policy => match IoQueuePolicy::parse(value) {
            Ok(policy) => f64::from(policy.number()),
            Err(e) => return Err(InputError { field: field(), ..e }),
        },
        "true" | "on" | "yes" => 1.0,
        "false" | "off" | "no" => 0.0,
        _ => value.parse().map_err(|_| InputError::new(field(), value, "a number"))?,
    };
    crate::tunables::check(tunables, key, number).map_err(|e| {
        let (got, expected) = match &e {
            TunableError::Unknown { suggestion: Some(near), .. } => (key, format!("a tunable; did you mean `{near}`?")),
            TunableError::Unknown { known, .. } => (key, format!("one of its tunables ({known})")),
            TunableError::Range { min, max, unit, integer, .. } => {
                let kind = if *integer { "a whole number from" } else { "a number from" };
                (value, format!("{kind} {min} to {max} ({unit})"))
            }
        };
        InputError::new(field(), got, expected)
    })?;
    Ok((key.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_nearest_known() {
        let e = SchedulerSpec::parse("nop").unwrap_err().to_string();
        assert!(e.contains("noop") && !e.contains('\n'), "{e}");
        assert!(SchedulerSpec::parse("noop:fifo_batch=4").is_err());
    }

    #[test]
    fn prio_goes_around_one_scheduler_or_a_list() {
        let names = |text: &str| -> Vec<String> {
            SchedulerSpec::parse_list(text).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(names("clook,prio(clook),bfq, prio( bfq )"), ["clook", "prio(clook)", "bfq", "prio(bfq)"]);
        assert_eq!(
            names("prio(mq-deadline:read_expire=200):aging_ms=15000,prio(ioqueue:policy=FCFS)"),
            ["prio(mq-deadline:read_expire=200):aging_ms=15000", "prio(ioqueue:policy=1)"]
        );
        assert_eq!(
            names("prio(fcfs,cfq:quantum=1):aging_ms=1"),
            ["prio(fcfs):aging_ms=1", "prio(cfq:quantum=1):aging_ms=1"]
        );
        assert_eq!(names("prio(all)").len(), SchedulerSpec::all().len());
    }

    #[test]
    fn errors_in_a_prio_are_reported_in_one_line() {
        let error = |text: &str| SchedulerSpec::parse_list(text).unwrap_err().to_string();
        assert!(error("prio").contains("in parentheses"), "{}", error("prio"));
        assert!(error("prio(clook").contains("a closing parenthesis"));
        assert!(error("prio(prio(clook))").contains("not prio again"));
        assert!(error("prio(clock)").contains("did you mean `clook`?"));
        assert!(error("prio(bfq):agin_ms=4").contains("did you mean `aging_ms`?"), "{}", error("prio(bfq):agin_ms=4"));
        assert!(error("prio(bfq)x").contains("behind the parenthesis"));
        assert!(error("prio()").contains("scheduler"));
        assert!(SchedulerSpec::parse("prio(fcfs,clook)").is_err(), "it must be one scheduler");
    }

    #[test]
    fn a_scheduler_in_prio_keeps_its_lineage_and_features() {
        let spec = SchedulerSpec::parse("prio(bfq)").unwrap();
        assert_eq!((spec.lineage(), spec.info().features.scheduler_tags), (Lineage::Linux6, true));
        let built = spec.build(&Environment::default()).unwrap();
        assert_eq!(built.info().name, "bfq");
        assert!(SchedulerSpec::parse("prio(sptf)").unwrap().build(&Environment::default()).unwrap().needs_positions());
        assert!(spec.check_of_a_kernel().unwrap_err().to_string().contains("can only be simulated"));
    }

    #[test]
    fn policies_are_given_by_number_or_name() {
        let number = |text: &str| SchedulerSpec::parse(text).map(|s| s.settings[0].1).map_err(|e| e.to_string());
        assert_eq!(number("ioqueue:policy=14"), Ok(14.0));
        assert_eq!(number("ioqueue:policy=ASPTF_OPT"), Ok(14.0));
        assert_eq!(number("ioqueue:timeout_policy=look_lbn").unwrap_err().lines().count(), 1);
        let e = number("ioqueue:policy=SPTF_ROT_OTP").unwrap_err();
        assert!(e.contains("scheduler ioqueue: policy") && e.contains("did you mean `SPTF_ROT_OPT`?"), "{e}");
        assert!(number("ioqueue:policy=0").unwrap_err().contains("1 to 28"));
    }

    #[test]
    fn all_runs_anywhere_and_positional_does_not() {
        let env = Environment::default();
        assert!(SchedulerSpec::all().iter().all(|s| s.build(&env).is_ok_and(|s| !s.needs_positions())));
        let blind: Vec<_> = SchedulerSpec::positional()
            .into_iter()
            .filter(|s| s.build(&env).is_ok_and(|s| !s.needs_positions()))
            .map(|s| s.name)
            .collect();
        assert_eq!(blind, ["ioqueue"], "its policy is a tunable");
    }
}
