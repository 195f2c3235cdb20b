//! Reading and writing the TOML, with errors that name file, line, key and what was expected.

use super::disk::{DeviceKind, DeviceSpec, DiskSpec, File};
use super::hybrid::{HybridFlashSpec, HybridSpec};
use super::sections::MechanicalSpec;
use crate::DeviceError;
use iopilot_block::{InputError, parse_toml};
use toml::de::{DeTable, DeValue};

impl DiskSpec {
    /// Reads a description; errors call it `source_name`. Zones, inner rate and full stroke are filled in by rule if
    /// left out. The values are checked against each other, so that [`DiskSpec::build`] of the result succeeds.
    ///
    /// # Errors
    /// [`DeviceError::Spec`]: not TOML, an unknown, missing or ill-typed key, or values that contradict each other.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, DeviceError> {
        let file: File = parse_toml(text, source_name)?;
        let place = |e: InputError| DeviceError::from(e.in_toml(text, source_name));
        let mut spec = from_file(file).map_err(place)?;
        spec.fill();
        spec.check().map_err(place)?;
        Ok(spec)
    }

    /// The description as TOML, which [`DiskSpec::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        let mut file = File {
            name: self.name.clone(),
            model: self.model.clone(),
            kind: DeviceKind::FlashSimple,
            sources: self.sources.clone(),
            geometry: None,
            mechanics: None,
            interface: None,
            cache: None,
            flash: None,
            drive: None,
            table: None,
            ssd: None,
            hybrid: None,
            provenance: self.provenance.clone(),
        };
        match &self.device {
            DeviceSpec::Flash(flash) => file.flash = Some(flash.clone()),
            DeviceSpec::Drive(drive) => {
                file.kind = DeviceKind::Drive;
                file.drive = Some((**drive).clone());
            }
            DeviceSpec::Table(table) => {
                file.kind = DeviceKind::Table;
                file.table = Some((**table).clone());
            }
            DeviceSpec::Ssd(ssd) => {
                file.kind = DeviceKind::Ssd;
                file.ssd = Some((**ssd).clone());
            }
            DeviceSpec::Hybrid(h) => {
                file.kind = DeviceKind::Hybrid;
                file.geometry = Some(h.disk.geometry.clone());
                file.mechanics = Some(h.disk.mechanics.clone());
                file.interface = Some(h.disk.interface.clone());
                file.cache = Some(h.disk.cache.clone());
                match &h.flash {
                    HybridFlashSpec::Simple(flash) => file.flash = Some(flash.clone()),
                    HybridFlashSpec::Ssd(ssd) => file.ssd = Some((**ssd).clone()),
                }
                file.hybrid = Some(h.hybrid.clone());
            }
            DeviceSpec::Mechanical(m) => {
                file.kind = DeviceKind::Mechanical;
                file.geometry = Some(m.geometry.clone());
                file.mechanics = Some(m.mechanics.clone());
                file.interface = Some(m.interface.clone());
                file.cache = Some(m.cache.clone());
            }
        }
        toml::to_string(&file).expect("the sections hold only what TOML can say")
    }

    /// The dotted keys of all given parameters, without the provenance. A list of zones or rows counts as one.
    pub fn parameters(&self) -> Vec<String> {
        let text = self.to_toml();
        let mut keys = Vec::new();
        if let Ok(root) = DeTable::parse(&text) {
            for (key, value) in root.get_ref() {
                let known = ["name", "model", "type", "sources", "provenance"];
                if !known.contains(&key.get_ref().as_ref()) {
                    collect_keys(key.get_ref(), value.get_ref(), &mut keys);
                }
            }
        }
        keys
    }
}

fn collect_keys(path: &str, value: &DeValue<'_>, keys: &mut Vec<String>) {
    match value {
        DeValue::Table(table) => {
            for (key, value) in table {
                collect_keys(&format!("{path}.{}", key.get_ref()), value.get_ref(), keys);
            }
        }
        _ => keys.push(path.to_owned()),
    }
}

fn from_file(file: File) -> Result<DiskSpec, InputError> {
    let missing = |section: &str| InputError::new(section, "", format!("a section [{section}] for this type"));
    let own: &[&str] = match file.kind {
        DeviceKind::Mechanical => &["geometry", "mechanics", "interface", "cache"],
        DeviceKind::FlashSimple => &["flash"],
        DeviceKind::Drive => &["drive"],
        DeviceKind::Table => &["table"],
        DeviceKind::Ssd => &["ssd"],
        DeviceKind::Hybrid => &["geometry", "mechanics", "interface", "cache", "flash", "ssd", "hybrid"],
    };
    for (section, given) in [
        ("geometry", file.geometry.is_some()),
        ("mechanics", file.mechanics.is_some()),
        ("interface", file.interface.is_some()),
        ("cache", file.cache.is_some()),
        ("flash", file.flash.is_some()),
        ("drive", file.drive.is_some()),
        ("table", file.table.is_some()),
        ("ssd", file.ssd.is_some()),
        ("hybrid", file.hybrid.is_some()),
    ] {
        if given && !own.contains(&section) {
            return Err(InputError::new(section, "a section", format!("no [{section}] for this type")));
        }
    }
    let device = match file.kind {
        DeviceKind::Mechanical => DeviceSpec::Mechanical(Box::new(MechanicalSpec {
            geometry: file.geometry.ok_or_else(|| missing("geometry"))?,
            mechanics: file.mechanics.ok_or_else(|| missing("mechanics"))?,
            interface: file.interface.ok_or_else(|| missing("interface"))?,
            cache: file.cache.ok_or_else(|| missing("cache"))?,
        })),
        DeviceKind::FlashSimple => DeviceSpec::Flash(file.flash.ok_or_else(|| missing("flash"))?),
        DeviceKind::Drive => DeviceSpec::Drive(Box::new(file.drive.ok_or_else(|| missing("drive"))?)),
        DeviceKind::Table => DeviceSpec::Table(Box::new(file.table.ok_or_else(|| missing("table"))?)),
        DeviceKind::Ssd => DeviceSpec::Ssd(Box::new(file.ssd.ok_or_else(|| missing("ssd"))?)),
        DeviceKind::Hybrid => DeviceSpec::Hybrid(Box::new(HybridSpec {
            disk: MechanicalSpec {
                geometry: file.geometry.ok_or_else(|| missing("geometry"))?,
                mechanics: file.mechanics.ok_or_else(|| missing("mechanics"))?,
                interface: file.interface.ok_or_else(|| missing("interface"))?,
                cache: file.cache.ok_or_else(|| missing("cache"))?,
            },
            flash: match (file.flash, file.ssd) {
                (Some(flash), None) => HybridFlashSpec::Simple(flash),
                (None, Some(ssd)) => HybridFlashSpec::Ssd(Box::new(ssd)),
                (None, None) => return Err(InputError::new("ssd", "", "a section [ssd] or [flash] for this type")),
                _ => return Err(InputError::new("flash", "a section", "[ssd] or [flash], not both")),
            },
            hybrid: file.hybrid.ok_or_else(|| missing("hybrid"))?,
        })),
    };
    Ok(DiskSpec { name: file.name, model: file.model, sources: file.sources, device, provenance: file.provenance })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    fn error(change: impl Fn(&str) -> String) -> String {
        let text = Catalogue::toml("st3400620as").unwrap();
        let text = change(text);
        DiskSpec::from_toml(&text, "my.toml").unwrap_err().to_string()
    }

    fn line_of(needle: &str) -> usize {
        let text = Catalogue::toml("st3400620as").unwrap();
        text.lines().position(|line| line.starts_with(needle)).unwrap() + 1
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        let e = error(|t| t.replace("rotation_rpm", "rotation_rmp"));
        let line = line_of("rotation_rpm");
        assert_eq!(
            e,
            format!("my.toml:{line}: key: got rotation_rmp, expected a known name; did you mean `rotation_rpm`?")
        );
    }

    #[test]
    fn wrong_types_and_values_name_the_key_and_what_was_expected() {
        let e = error(|t| t.replace("rotation_rpm = 7200.0", "rotation_rpm = \"fast\""));
        assert_eq!(e, format!("my.toml:{}: rotation_rpm: got \"fast\", expected a number", line_of("rotation_rpm")));
        let e = error(|t| t.replace("queue_policy = \"sptf\"", "queue_policy = \"scan\""));
        assert_eq!(
            e,
            format!("my.toml:{}: queue_policy: got scan, expected one of fifo, sptf", line_of("queue_policy"))
        );
        let e = error(|t| t.replace("rotation_rpm = 7200.0", "rotation_rpm = 0.0"));
        assert_eq!(
            e,
            format!(
                "my.toml:{}: mechanics.rotation_rpm: got 0, expected revolutions per minute, 100 to 100000",
                line_of("rotation_rpm")
            )
        );
    }

    #[test]
    fn missing_keys_and_sections_are_named() {
        assert!(
            error(|t| t.replace("rotation_rpm = 7200.0", ""))
                .contains("rotation_rpm: got nothing, expected a value for this key")
        );
        let e = error(|t| t.replace("[cache]", "[cash]"));
        assert!(e.contains("key: got cash, expected a known name; did you mean `cache`?"), "{e}");
        assert!(error(|_| "name = 3".into()).contains("my.toml:1: name"));
        assert!(error(|_| "name = \"x".into()).starts_with("my.toml:1:"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for name in Catalogue::names() {
            let spec = Catalogue::get(name).unwrap();
            assert_eq!(DiskSpec::from_toml(&spec.to_toml(), name).unwrap(), spec);
        }
    }
}
