//! The settings of `iopilot dads run`, from its file and its options.

use crate::args::{DadsRunArgs, DecisionArgs, FitArg, PolicyArg};
use iopilot_block::{InputError, Nanos, parse_toml};
use iopilot_dads::{Policy, Rule};
use iopilot_sched::SchedulerSpec;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The longest interval, in seconds: a day.
const LONGEST: f64 = 86_400.0;

/// The interval of `seconds` that `field` sets.
pub(super) fn interval(field: &str, seconds: f64) -> Result<Nanos, InputError> {
    match seconds {
        s if (0.001..=LONGEST).contains(&s) => Ok(Nanos::from_millis_f64(s * 1e3)),
        s => Err(InputError::new(field, s.to_string(), format!("0.001 to {LONGEST} seconds"))),
    }
}

/// The autopilot's settings, where it chooses from `candidates`. An interval that is out of range is an error in
/// `--interval`.
pub(super) fn decisions(
    candidates: Vec<SchedulerSpec>,
    args: &DecisionArgs,
) -> Result<iopilot_dads::AutopilotSettings, InputError> {
    let policy = args.policy.unwrap_or_default().policy(!args.no_disk_trials);
    let of_a_rule = [("--revert", args.revert), ("--renew", args.renew)];
    if let (Policy::Confirmed { .. }, Some((option, _))) = (policy, of_a_rule.iter().find(|(_, given)| *given)) {
        let expected = "--policy thesis or guarded beside it: confirmed decisions do so by themselves";
        return Err(InputError::new(*option, "it with the policy confirmed", expected));
    }
    let mut settings = match policy {
        Policy::Interval(rule) => iopilot_dads::AutopilotSettings::thesis(candidates, rule),
        policy @ Policy::Confirmed { .. } => {
            iopilot_dads::AutopilotSettings { policy, ..iopilot_dads::AutopilotSettings::new(candidates) }
        }
    };
    if let Some(seconds) = args.interval {
        settings.interval = interval("--interval", seconds)?;
    }
    settings.trial_requests = args.trial_requests.unwrap_or(settings.trial_requests);
    (settings.revert, settings.renew) = (args.revert, args.renew);
    Ok(settings)
}

/// A settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    audit: Option<PathBuf>,
    metrics: Option<String>,
    #[serde(rename = "default-settings")]
    general: DiskSettings,
    disk: Vec<OneDisk>,
}

/// A disk of a settings file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneDisk {
    device: PathBuf,
    #[serde(default)]
    settings: DiskSettings,
}

/// The autopilot's settings for a disk. A setting that is missing here comes from the next level.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct DiskSettings {
    #[serde(alias = "disk")]
    pub(super) model: Option<String>,
    pub(super) machine: Option<PathBuf>,
    pub(super) learned: Option<PathBuf>,
    pub(super) memory: Option<PathBuf>,
    pub(super) depth: Option<u32>,
    pub(super) fit: Option<FitArg>,
    pub(super) candidates: Option<Vec<String>>,
    pub(super) default: Option<String>,
    pub(super) interval: Option<f64>,
    pub(super) objective: Option<String>,
    pub(super) policy: Option<PolicyArg>,
    pub(super) disk_trials: Option<bool>,
    pub(super) max_error: Option<u32>,
    pub(super) revert: Option<bool>,
    pub(super) renew: Option<bool>,
    pub(super) trial_requests: Option<u64>,
    pub(super) dry_run: Option<bool>,
    pub(super) backend: Option<String>,
}

impl DiskSettings {
    /// These settings, completed with those of `other`.
    fn or(self, other: &Self) -> Self {
        // Each of the three selects the model, so they are taken together.
        let (model, machine, learned) = match (&self.model, &self.machine, &self.learned) {
            (None, None, None) => (other.model.clone(), other.machine.clone(), other.learned.clone()),
            _ => (self.model, self.machine, self.learned),
        };
        Self {
            model,
            machine,
            learned,
            memory: self.memory.or_else(|| other.memory.clone()),
            depth: self.depth.or(other.depth),
            fit: self.fit.or(other.fit),
            candidates: self.candidates.or_else(|| other.candidates.clone()),
            default: self.default.or_else(|| other.default.clone()),
            interval: self.interval.or(other.interval),
            objective: self.objective.or_else(|| other.objective.clone()),
            policy: self.policy.or(other.policy),
            disk_trials: self.disk_trials.or(other.disk_trials),
            max_error: self.max_error.or(other.max_error),
            revert: self.revert.or(other.revert),
            renew: self.renew.or(other.renew),
            trial_requests: self.trial_requests.or(other.trial_requests),
            dry_run: self.dry_run.or(other.dry_run),
            backend: self.backend.or_else(|| other.backend.clone()),
        }
    }
}

impl DiskSettings {
    /// How the autopilot decides.
    pub(super) fn decisions(&self) -> DecisionArgs {
        DecisionArgs {
            policy: self.policy,
            no_disk_trials: self.disk_trials == Some(false),
            interval: self.interval,
            revert: self.revert.unwrap_or(false),
            renew: self.renew.unwrap_or(false),
            trial_requests: self.trial_requests,
        }
    }

    /// The policy, with the model error that the user allows.
    pub(super) fn limited(&self, policy: Policy) -> Policy {
        match (policy, self.max_error) {
            (Policy::Interval(rule), Some(percent)) => {
                let max_error = (percent > 0).then(|| f64::from(percent) / 100.0);
                Policy::Interval(Rule { max_error, ..rule })
            }
            (policy, _) => policy,
        }
    }
}

/// The settings of a daemon.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) disks: Vec<(PathBuf, DiskSettings)>,
    pub(super) audit: Option<PathBuf>,
    pub(super) metrics: Option<String>,
}

impl Settings {
    /// Reads the options, and the file that they name.
    pub(super) fn of(args: &DadsRunArgs) -> anyhow::Result<Self> {
        let file = args.config.as_deref().map(read).transpose()?.unwrap_or_default();
        let given = |flag: bool| flag.then_some(true);
        let options = DiskSettings {
            model: args.model.clone(),
            machine: args.machine.clone(),
            learned: args.learned.clone(),
            memory: args.memory.clone(),
            depth: args.depth,
            fit: args.fit,
            candidates: (!args.candidates.is_empty()).then(|| args.candidates.clone()),
            default: args.default.clone(),
            interval: args.decisions.interval,
            objective: args.objective.clone(),
            policy: args.decisions.policy,
            disk_trials: args.decisions.no_disk_trials.then_some(false),
            max_error: args.max_error,
            revert: if args.no_revert { Some(false) } else { given(args.decisions.revert) },
            renew: if args.no_renew { Some(false) } else { given(args.decisions.renew) },
            trial_requests: args.decisions.trial_requests,
            dry_run: given(args.dry_run),
            backend: args.backend.clone(),
        };
        let of_file = |device: &Path| file.disk.iter().find(|d| d.device == device).map(|d| d.settings.clone());
        let devices: Vec<PathBuf> = match args.devices.is_empty() {
            true => file.disk.iter().map(|d| d.device.clone()).collect(),
            false => args.devices.clone(),
        };
        if devices.is_empty() {
            return Err(InputError::new("DEVICE", "", "a disk such as /dev/sda, or --config with a [[disk]]").into());
        }
        if let Some(twice) = devices.iter().enumerate().find(|(i, d)| devices[..*i].contains(d)) {
            return Err(InputError::new("DEVICE", format!("{} twice", twice.1.display()), "each disk once").into());
        }
        let flown = |device: PathBuf| {
            let own = of_file(&device).unwrap_or_default();
            let all = options.clone().or(&own).or(&file.general);
            (device, all)
        };
        Ok(Self {
            disks: devices.into_iter().map(flown).collect(),
            audit: args.audit.clone().or(file.audit),
            metrics: args.metrics.clone().or(file.metrics),
        })
    }
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| InputError::new("--config", e.to_string(), "a file that can be read").in_file(path.display()))?;
    Ok(parse_toml(&text, &path.display().to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, CliCommand, DadsCommand};
    use clap::Parser;

    fn settings(file: Option<&str>, options: &str) -> anyhow::Result<Settings> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dads.toml");
        let mut words = vec!["iopilot".to_owned(), "dads".to_owned(), "run".to_owned()];
        words.extend(options.split_whitespace().map(str::to_owned));
        if let Some(text) = file {
            std::fs::write(&path, text).unwrap();
            words.extend(["--config".to_owned(), path.display().to_string()]);
        }
        match Cli::try_parse_from(words).unwrap().command {
            CliCommand::Dads(DadsCommand::Run(args)) => Settings::of(&args),
            other => panic!("{other:?}"),
        }
    }

    const FILE: &str = "audit = \"a.jsonl\"\n\n[default-settings]\nmodel = \"hd-500-16\"\ninterval = 2.0\n\n[[disk]]\n\
                        device = \"/dev/sda\"\n\n[[disk]]\ndevice = \"/dev/sdb\"\nsettings = { interval = 1.0, \
                        machine = \"m.toml\", dry_run = true }\n";

    #[test]
    fn options_go_before_a_disk_and_a_disk_before_all() {
        let s = settings(Some(FILE), "--objective p99").unwrap();
        let [(a, sda), (b, sdb)] = &s.disks[..] else { panic!("{s:?}") };
        assert_eq!((a.as_path(), b.as_path()), (Path::new("/dev/sda"), Path::new("/dev/sdb")));
        assert_eq!((sda.interval, sdb.interval), (Some(2.0), Some(1.0)));
        assert_eq!((sda.model.as_deref(), sdb.model.as_deref()), (Some("hd-500-16"), None));
        assert_eq!((sda.dry_run, sdb.dry_run), (None, Some(true)));
        assert_eq!(sdb.objective.as_deref(), Some("p99"));
        let s = settings(Some(FILE), "/dev/sdb --interval 7").unwrap();
        assert_eq!(s.disks.len(), 1);
        assert_eq!((s.disks[0].1.interval, s.disks[0].1.machine.as_deref()), (Some(7.0), Some(Path::new("m.toml"))));
    }

    #[test]
    fn a_file_may_call_the_model_disk() {
        let s = settings(Some("[[disk]]\ndevice = \"/dev/sda\"\nsettings = { disk = \"hd-500-16\" }\n"), "").unwrap();
        assert_eq!(s.disks[0].1.model.as_deref(), Some("hd-500-16"));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_with_its_line() {
        let e = settings(Some("[default-settings]\nintervall = 2\n"), "").unwrap_err().to_string();
        assert!(e.contains("dads.toml:2: key: got intervall") && e.contains("`interval`"), "{e}");
        let e = settings(Some("[default-settings]\npolicy = \"bold\"\n"), "").unwrap_err().to_string();
        assert!(e.contains("dads.toml:2: policy: got bold"), "{e}");
        assert!(settings(Some(""), "").unwrap_err().to_string().contains("DEVICE: got nothing"));
        assert!(settings(None, "/dev/a /dev/a").unwrap_err().to_string().contains("/dev/a twice"));
    }
}
