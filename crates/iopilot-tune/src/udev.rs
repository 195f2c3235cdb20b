//! The udev rule that applies settings to every disk of a class.

use crate::advice::attributes;
use crate::report::DiskClass;
use crate::settings::TunedSettings;

/// The kernel's names of disks. Loop devices, RAM disks and device-mapper devices have a queue, too.
const DISKS: &str = "sd*|vd*|xvd*|nvme*|mmcblk*";
/// Those that have `device/queue_depth`.
const SCSI_DISKS: &str = "sd*";

/// The rule for disks of `class`, with a comment above it.
pub(crate) fn rule(class: &DiskClass, settings: &TunedSettings) -> String {
    let attributes = attributes(settings);
    let (of_device, of_queue): (Vec<_>, Vec<_>) = attributes.iter().partition(|(file, _)| file.starts_with("device/"));
    let line = |kernel: &str, attributes: &[&(String, String)]| {
        let mut keys = vec![
            "ACTION==\"add|change\"".to_owned(),
            "SUBSYSTEM==\"block\"".to_owned(),
            "ENV{DEVTYPE}==\"disk\"".to_owned(),
            format!("KERNEL==\"{kernel}\""),
            format!("ATTR{{queue/rotational}}==\"{}\"", u8::from(class.rotational)),
        ];
        keys.extend(class.model.as_deref().map(|model| format!("ATTRS{{model}}==\"{}\"", pattern(model))));
        keys.extend(attributes.iter().map(|(file, value)| format!("ATTR{{{file}}}=\"{value}\"")));
        keys.join(", ") + "\n"
    };
    let mut text = format!("# {}: {settings}\n", title(class));
    if !of_device.is_empty() {
        text += &line(SCSI_DISKS, &of_device);
    }
    text + &line(DISKS, &of_queue)
}

/// The class in words.
fn title(class: &DiskClass) -> String {
    let kind = if class.rotational { "disks that turn" } else { "disks without moving parts" };
    // A comment is one line.
    let model = class.model.as_deref().map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
    model.map_or_else(|| kind.to_owned(), |model| format!("{kind}, {model}"))
}

/// A pattern for what a disk of `model` says it is: the longest word of letters and digits, as makers' names are left out there;
/// else all words in order.
fn pattern(model: &str) -> String {
    let words: Vec<String> = model
        .split('(')
        .next()
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let is_number = |word: &&String| {
        word.len() >= 5 && word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(|c| c.is_ascii_alphabetic())
    };
    let number = words.iter().filter(is_number).max_by_key(|word| word.len());
    number.map_or_else(|| format!("*{}*", words.join("*")), |number| format!("*{number}*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_sched::SchedulerSpec;
    use iopilot_testing::{has, skipped};
    use std::process::Command;

    fn settings() -> TunedSettings {
        let scheduler = SchedulerSpec::parse("bfq:low_latency=0").unwrap();
        TunedSettings { scheduler, nr_requests: None, queue_depth: Some(4), read_ahead_kb: None }
    }

    #[test]
    fn a_class_has_a_rule_of_its_own() {
        let class = DiskClass { rotational: true, model: None };
        assert_eq!(
            rule(&class, &settings()),
            "# disks that turn: bfq:low_latency=0 queue_depth=4\n\
             ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"sd*\", \
             ATTR{queue/rotational}==\"1\", ATTR{device/queue_depth}=\"4\"\n\
             ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"sd*|vd*|xvd*|nvme*|mmcblk*\", \
             ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"bfq\", ATTR{queue/iosched/low_latency}=\"0\"\n"
        );
        for (model, expected) in [
            ("Seagate Barracuda 7200.10 ST3500630AS", "*ST3500630AS*"),
            ("Micron 7600 MAX 6.4 TB (NVMe, PCIe 5.0, TLC)", "*Micron*7600*MAX*6*4*TB*"),
            ("a \"quoted\"\nname", "*a*quoted*name*"),
        ] {
            assert_eq!(pattern(model), expected);
        }
        let class = DiskClass { rotational: false, model: Some("Intel X-25M SSDSA2MH160G2C1 (MLC)".to_owned()) };
        assert!(rule(&class, &settings()).contains("ATTRS{model}==\"*SSDSA2MH160G2C1*\""));
    }

    #[test]
    fn udev_accepts_it() {
        if !has(&["udevadm"]) {
            return;
        }
        // `verify` is of systemd 254.
        if !Command::new("udevadm").args(["verify", "--help"]).output().unwrap().status.success() {
            return skipped("needs udevadm verify");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("60-iopilot.rules");
        let classes = [None, Some("Seagate Barracuda 7200.10 ST3500630AS".to_owned())]
            .map(|model| DiskClass { rotational: true, model });
        std::fs::write(&path, classes.map(|class| rule(&class, &settings())).concat()).unwrap();
        let verified = Command::new("udevadm").arg("verify").arg(&path).output().unwrap();
        assert!(verified.status.success(), "{verified:?}");
    }
}
