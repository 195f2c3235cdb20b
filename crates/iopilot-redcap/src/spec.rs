//! [`RedcapSpec`]: the settings of a cache, as on the command line or in a machine description.

use crate::choices::unknown;
use crate::{Algorithm, CacheGeometry, Interval, Miss, Ratio};
use iopilot_block::InputError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The settings of a cache, as in `64x128k,algorithm=v2,miss=split` or in the table `[redcap]` of a machine.
///
/// The value of an option that is `None` depends on the algorithm, unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedcapSpec {
    /// The number and size of the segments.
    pub geometry: CacheGeometry,
    /// The algorithm that turns the cache on and off.
    pub algorithm: Algorithm,
    /// How misses go to the disk. `None`: combined for `vd` and `vd-all-blocks`, else split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss: Option<Miss>,
    /// Whether a block is dropped after a hit. The thesis keeps it.
    pub strict: bool,
    /// The check interval. `None`: fixed for `v0`, adaptive for `v1` and `v2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Whether eq. 2.5 has the terms of the last inactive period. `None`: not for `v0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carry: Option<bool>,
    /// The ratio that is compared. `None`: sums for `vd`, each for `vd-all-blocks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// The longest prefetch in sectors of 512 bytes; a longer one is split.
    pub max_sectors: u32,
    /// The number of groups of adjacent segments into which `adaptive` divides the disk, to turn the cache on or off for each.
    /// With 0 or 1 it does not divide the disk.
    pub regions: u32,
    /// Whether `adaptive` may change the number and size of the segments, where that surely saves time.
    pub resize: bool,
    /// The size to which `adaptive` may let the cache grow, in MiB. `None`: it does not grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
    /// The cost of copying, in microseconds per KiB, until a copy is measured.
    pub copy_us_per_kib: f64,
}

impl Default for RedcapSpec {
    fn default() -> Self {
        Self {
            geometry: CacheGeometry::default(),
            algorithm: Algorithm::Adaptive,
            miss: None,
            strict: false,
            interval: None,
            carry: None,
            ratio: None,
            // 128 KiB, the longest request of the kernels of the thesis.
            max_sectors: 256,
            // 8 GB on a disk of 500 GB. Files with the same access pattern lie nearer to each other than that.
            regions: 64,
            resize: true,
            cap: None,
            // 10 GB/s.
            copy_us_per_kib: 0.1,
        }
    }
}

const KEYS: [&str; 12] = [
    "geometry",
    "algorithm",
    "miss",
    "strict",
    "interval",
    "carry",
    "ratio",
    "max_sectors",
    "regions",
    "resize",
    "cap",
    "copy_us_per_kib",
];

/// The largest number of groups.
const MOST_REGIONS: u32 = 4096;

impl RedcapSpec {
    /// Reads `[GEOMETRY][,KEY=VALUE]…`.
    ///
    /// # Errors
    /// Names the unknown key or the value that is not accepted, with the nearest accepted one.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let mut spec = Self::default();
        for (i, part) in text.split(',').enumerate() {
            match part.split_once('=') {
                Some((key, value)) => spec.set(key.trim(), value.trim())?,
                None if i == 0 => spec.geometry = CacheGeometry::parse(part)?,
                None => return Err(InputError::new("redcap", part, "KEY=VALUE")),
            }
        }
        spec.check()?;
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), InputError> {
        let number = |_| InputError::new(format!("redcap: {key}"), value, "a number");
        match key {
            "geometry" => self.geometry = CacheGeometry::parse(value)?,
            "algorithm" => self.algorithm = Algorithm::parse(key, value)?,
            "miss" => self.miss = Some(Miss::parse(key, value)?),
            "strict" => self.strict = on_or_off(key, value)?,
            "interval" => self.interval = Some(Interval::parse(key, value)?),
            "carry" => self.carry = Some(on_or_off(key, value)?),
            "ratio" => self.ratio = Some(Ratio::parse(key, value)?),
            "max_sectors" => {
                let whole = |_| InputError::new(format!("redcap: {key}"), value, "a whole number of sectors");
                self.max_sectors = value.parse().map_err(whole)?;
            }
            "regions" => {
                let whole = |_| InputError::new(format!("redcap: {key}"), value, "a whole number of groups");
                self.regions = value.parse().map_err(whole)?;
            }
            "resize" => self.resize = on_or_off(key, value)?,
            "cap" => {
                let whole = |_| InputError::new(format!("redcap: {key}"), value, "a whole number of MiB");
                self.cap = Some(value.parse().map_err(whole)?);
            }
            "copy_us_per_kib" => self.copy_us_per_kib = value.parse().map_err(number)?,
            _ => return Err(unknown("key", key, || KEYS.into_iter())),
        }
        Ok(())
    }

    /// Checks that all numbers are within their ranges.
    ///
    /// # Errors
    /// Names the one that is not.
    pub fn check(&self) -> Result<(), InputError> {
        self.geometry.check()?;
        if self.max_sectors < 8 {
            let got = self.max_sectors.to_string();
            return Err(InputError::new("redcap: max_sectors", got, "at least the 8 sectors of a block"));
        }
        if let Some(cap) = self.cap.filter(|&cap| u64::from(cap) << 20 < self.geometry.bytes()) {
            let expected = format!("at least the cache's {} MiB", self.geometry.bytes().div_ceil(1 << 20));
            return Err(InputError::new("redcap: cap", cap.to_string(), expected));
        }
        if self.regions > MOST_REGIONS {
            let expected = format!("a number from 0 to {MOST_REGIONS}");
            return Err(InputError::new("redcap: regions", self.regions.to_string(), expected));
        }
        if !(0.0..=1e6).contains(&self.copy_us_per_kib) {
            let got = self.copy_us_per_kib.to_string();
            return Err(InputError::new("redcap: copy_us_per_kib", got, "a number from 0 to 1000000"));
        }
        Ok(())
    }

    /// The largest size of the cache's data, in bytes.
    pub fn most_bytes(&self) -> u64 {
        self.cap.map_or(self.geometry.bytes(), |cap| u64::from(cap) << 20)
    }

    /// How misses go to the disk, given or by default.
    pub fn miss_or_default(&self) -> Miss {
        self.miss.unwrap_or(if self.algorithm.needs_reference_disk() { Miss::Combined } else { Miss::Split })
    }

    /// The check interval, given or by default.
    pub(crate) fn interval_or_default(&self) -> Interval {
        self.interval.unwrap_or(if self.algorithm == Algorithm::V0 { Interval::Fixed } else { Interval::Adaptive })
    }

    /// Whether eq. 2.5 has the terms of the last inactive period, given or by default.
    pub(crate) fn carry_or_default(&self) -> bool {
        self.carry.unwrap_or(self.algorithm != Algorithm::V0)
    }

    /// The ratio that is compared, given or by default.
    pub(crate) fn ratio_or_default(&self) -> Ratio {
        self.ratio.unwrap_or(if self.algorithm == Algorithm::VdAllBlocks { Ratio::Each } else { Ratio::Sums })
    }
}

fn on_or_off(key: &str, value: &str) -> Result<bool, InputError> {
    match value {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(InputError::new(format!("redcap: {key}"), value, "on or off")),
    }
}

impl fmt::Display for RedcapSpec {
    /// The settings that differ from the defaults, as [`RedcapSpec::parse`] reads them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        let on = |on: bool| if on { "on" } else { "off" };
        write!(f, "{}", self.geometry)?;
        if self.algorithm != default.algorithm {
            write!(f, ",algorithm={}", self.algorithm)?;
        }
        if let Some(miss) = self.miss {
            write!(f, ",miss={miss}")?;
        }
        if self.strict {
            write!(f, ",strict=on")?;
        }
        if let Some(interval) = self.interval {
            write!(f, ",interval={interval}")?;
        }
        if let Some(carry) = self.carry {
            write!(f, ",carry={}", on(carry))?;
        }
        if let Some(ratio) = self.ratio {
            write!(f, ",ratio={ratio}")?;
        }
        if self.max_sectors != default.max_sectors {
            write!(f, ",max_sectors={}", self.max_sectors)?;
        }
        if self.regions != default.regions {
            write!(f, ",regions={}", self.regions)?;
        }
        if !self.resize {
            write!(f, ",resize=off")?;
        }
        if let Some(cap) = self.cap {
            write!(f, ",cap={cap}")?;
        }
        if self.copy_us_per_kib != default.copy_us_per_kib {
            write!(f, ",copy_us_per_kib={}", self.copy_us_per_kib)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::parse_toml;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn error(text: &str) -> String {
        RedcapSpec::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn defaults_depend_on_the_algorithm() {
        let of = |algorithm| RedcapSpec { algorithm, ..RedcapSpec::default() };
        for &algorithm in Algorithm::ALL {
            let combined = matches!(algorithm, Algorithm::Vd | Algorithm::VdAllBlocks);
            assert_eq!(of(algorithm).miss_or_default() == Miss::Combined, combined);
        }
        let v0 = of(Algorithm::V0);
        assert_eq!((v0.interval_or_default(), v0.carry_or_default()), (Interval::Fixed, false));
        let v1 = of(Algorithm::V1);
        assert_eq!((v1.interval_or_default(), v1.carry_or_default()), (Interval::Adaptive, true));
        assert_eq!(of(Algorithm::Vd).ratio_or_default(), Ratio::Sums);
    }

    #[test]
    fn errors_name_the_key_and_what_was_meant() {
        assert_eq!(
            error("64x128k,algoritm=v2"),
            "redcap: key: got algoritm, expected a known name; did you mean `algorithm`?"
        );
        assert_eq!(
            error("64x128k,miss=spilt"),
            "redcap: miss: got spilt, expected a known name; did you mean `split`?"
        );
        assert!(error("64x128k,interval=often").contains("one of fixed, adaptive"));
        assert!(error("64x128k,v2").contains("KEY=VALUE"));
        assert!(error("64x128k,strict=perhaps").contains("on or off"));
        assert!(error("64x128k,max_sectors=4").contains("at least"));
        assert!(error("64x128k,regions=5000").contains("from 0 to 4096"));
        assert!(error("64x128k,regions=-1").contains("a whole number"));
        assert_eq!(error("64x128k,cap=7"), "redcap: cap: got 7, expected at least the cache's 8 MiB");
        assert!(error("64x128k,cap=16M").contains("a whole number of MiB"));
        assert!(error("64x128k,copy_us_per_kib=NaN").contains("from 0"));
        assert!(error("").contains("SEGMENTSxSIZEk"));
        assert_eq!(RedcapSpec::parse("algorithm=v1").map(|spec| spec.algorithm), Ok(Algorithm::V1));
    }

    #[test]
    fn a_table_of_a_machine_has_the_same_keys() {
        let text = "geometry = \"512x128k\"\nalgorithm = \"vd-all-blocks\"\nmiss = \"split\"\ncarry = false\n";
        let spec: RedcapSpec = parse_toml(text, "m.toml").unwrap();
        assert_eq!(spec, RedcapSpec::parse("512x128k,algorithm=vd-all-blocks,miss=split,carry=off").unwrap());
        let e = parse_toml::<RedcapSpec>("algoritm = \"v1\"\n", "m.toml").unwrap_err().to_string();
        assert!(e.contains("did you mean `algorithm`?"), "{e}");
        let e = parse_toml::<RedcapSpec>("algorithm = \"v9\"\n", "m.toml").unwrap_err().to_string();
        assert!(e.starts_with("m.toml:1: algorithm: got v9"), "{e}");
        let e = parse_toml::<RedcapSpec>("geometry = \"64x16k\"\n", "m.toml").unwrap_err().to_string();
        assert!(e.starts_with("m.toml:1: geometry: got \"64x16k\"") && e.contains("32k, 64k"), "{e}");
    }

    #[test]
    fn former_names_of_algorithms_are_read() {
        for (former, name) in [("rig", "adaptive"), ("vd-literal", "vd-all-blocks")] {
            let spec = RedcapSpec::parse(&format!("64x128k,algorithm={former}")).unwrap();
            assert_eq!(spec.algorithm.name(), name);
            assert_eq!(parse_toml::<RedcapSpec>(&format!("algorithm = \"{former}\"\n"), "m.toml"), Ok(spec));
        }
    }

    fn specs() -> impl Strategy<Value = RedcapSpec> {
        let geometry =
            (1u32..1000, 3u32..=6).prop_map(|(segments, log)| CacheGeometry { segments, segment_blocks: 1 << log });
        let choices = (
            select(Algorithm::ALL),
            option::of(select(Miss::ALL)),
            option::of(select(Interval::ALL)),
            option::of(select(Ratio::ALL)),
        );
        let rest = (
            any::<bool>(),
            option::of(any::<bool>()),
            8u32..1024,
            0u32..100,
            any::<bool>(),
            option::of(250u32..300),
            0.0..10.0,
        );
        (geometry, choices, rest).prop_map(|(geometry, (algorithm, miss, interval, ratio), rest)| {
            let (strict, carry, max_sectors, regions, resize, cap, copy_us_per_kib) = rest;
            RedcapSpec {
                geometry,
                algorithm,
                miss,
                strict,
                interval,
                carry,
                ratio,
                max_sectors,
                regions,
                resize,
                cap,
                copy_us_per_kib,
            }
        })
    }

    proptest! {
        #[test]
        fn a_displayed_spec_is_read_back(spec in specs()) {
            prop_assert_eq!(RedcapSpec::parse(&spec.to_string()), Ok(spec));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            let _ = RedcapSpec::parse(&text);
        }
    }
}
