//! From `[array]` to the device.

use super::{ArraySpec, CopyChoiceSpec, LevelSpec, MirrorSpec, RotationSpec};
use crate::AnyDevice;
use iopilot_block::{InputError, Nanos};
use iopilot_device::{
    Array, ArrayLayout, ArrayModel, BlockDesign, CopyChoice, Device, Failure, MappingRules, MirrorOrder, NvramModel,
    Organisation, RebuildModel, Redundancy, Rotation, UpdateRule,
};
use iopilot_sched::{IoQueueConfig, IoQueuePolicy};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors of a KiB.
const KIB: u64 = 2;
/// Added to the seed, so that the initial angles use other random numbers than the choice of copies.
const ANGLES: u64 = 1 << 32;

impl ArraySpec {
    /// The array in a few words.
    pub fn title(&self) -> String {
        let disks = if self.members == 1 { String::new() } else { format!("{} x ", self.members) };
        format!("{} of {disks}{}", self.level.title(), self.disk)
    }

    /// A freshly reset array with members like `disk`. The spindles of real disks are not in step: all members but the
    /// first get an initial angle of their own, which follows from the seed.
    ///
    /// # Errors
    /// Names the key that is wrong, under `array.`.
    pub fn build(&self, disk: &AnyDevice) -> Result<Array<AnyDevice>, InputError> {
        let build = || {
            self.check()?;
            let mut members = vec![disk.clone(); self.members as usize];
            let mut random = Pcg64Mcg::seed_from_u64(self.seed.wrapping_add(ANGLES));
            members.iter_mut().skip(1).for_each(|member| member.respin(random.random()));
            Array::new(self.model(disk.capacity())?, members, None)
        };
        build().map_err(|mut e| {
            e.field = format!("array.{}", self.key(&e.field));
            e
        })
    }

    /// The key behind a field of the model.
    fn key<'a>(&self, field: &'a str) -> &'a str {
        match field {
            "stripe_unit" => "stripe_unit_kib",
            "parity_unit" => "parity_stripe_unit_kib",
            "nvram" => "nvram_mib",
            "failed" if self.failed.is_empty() => "fails",
            "rebuild.rate" => "rebuild.rate_mb_s",
            other => other,
        }
    }

    /// Checks that the keys suit the level and that numbers are in range.
    fn check(&self) -> Result<(), InputError> {
        use LevelSpec::{Concatenated, Declustered, Raid1, Raid5, Raid6, Raid10};
        let mirrored = matches!(self.level, Raid1 | Raid10);
        let rotated = matches!(self.level, Raid5 | Raid6);
        let declustered = self.level == Declustered;
        let keys = [
            ("stripe_unit_kib", self.stripe_unit_kib.is_some(), self.level != Concatenated),
            ("parity_stripe_unit_kib", self.parity_stripe_unit_kib.is_some(), rotated),
            ("layout", self.layout.is_some(), rotated),
            ("copies", self.copies.is_some(), mirrored),
            ("mirrors", self.mirrors.is_some(), mirrored),
            ("copy_choice", self.copy_choice.is_some(), mirrored),
            ("group", self.group.is_some(), declustered),
            ("design", self.design.is_some(), declustered),
            ("checks", self.checks.is_some(), declustered),
        ];
        for (key, given, fits) in keys {
            if given && !fits {
                return Err(InputError::new(key, "a value", format!("no such key for {}", self.level.title())));
            }
        }
        if declustered && self.group.is_some() == self.design.is_some() {
            return Err(InputError::new("group", "", "either `group` or `design` for declustered parity"));
        }
        let rebuild = self.rebuild.as_ref();
        let numbers = [
            ("command_us", Some(self.command_us), 0.0, 1e6),
            ("bus_mb_s", self.bus_mb_s, 1e-3, 1e9),
            ("destage_above", Some(self.destage_above), 0.0, 1.0),
            ("destage_idle_ms", Some(self.destage_idle_ms), 0.0, 1e9),
            ("rebuild.delay_s", rebuild.map(|r| r.delay_s), 0.0, 1e9),
            ("rebuild.rate_mb_s", rebuild.and_then(|r| r.rate_mb_s), 1e-3, 1e9),
        ];
        for (key, value, min, max) in numbers {
            if let Some(value) = value.filter(|v| !(min..=max).contains(v)) {
                return Err(InputError::new(key, value.to_string(), format!("{min} to {max}")));
            }
        }
        let counts = [
            ("members", Some(self.members), Organisation::MAX_MEMBERS),
            ("stripe_unit_kib", self.stripe_unit_kib, 1 << 20),
            ("parity_stripe_unit_kib", self.parity_stripe_unit_kib, 1 << 20),
            ("queue_depth", Some(self.queue_depth), 1 << 16),
            ("member_queue_depth", self.member_queue_depth, 1 << 16),
            ("destage_depth", self.destage_depth, 1 << 16),
        ];
        for (key, value, max) in counts {
            if let Some(value) = value.filter(|v| !(1..=max).contains(v)) {
                return Err(InputError::new(key, value.to_string(), format!("1 to {max}")));
            }
        }
        for fail in &self.fails {
            if !(0.0..1e9).contains(&fail.at_s) {
                return Err(InputError::new("fails", fail.at_s.to_string(), "a time from 0 s on"));
            }
        }
        Ok(())
    }

    fn member_queue(&self, capacity: u64) -> Result<Option<IoQueueConfig>, InputError> {
        let Some(name) = &self.member_scheduler else { return Ok(None) };
        let policy = IoQueuePolicy::parse(name).map_err(|mut e| {
            e.field = "member_scheduler".into();
            e
        })?;
        Ok(Some(IoQueueConfig { capacity, ..IoQueueConfig::with_policy(policy) }))
    }

    fn redundancy(&self) -> Result<Redundancy, InputError> {
        let rotated = |checks| {
            let rotation = match self.layout.unwrap_or(RotationSpec::LeftSymmetric) {
                RotationSpec::LeftSymmetric => Rotation::LeftSymmetric,
                RotationSpec::LeftAsymmetric => Rotation::LeftAsymmetric,
                RotationSpec::RightSymmetric => Rotation::RightSymmetric,
                RotationSpec::RightAsymmetric => Rotation::RightAsymmetric,
            };
            let parity_unit = self.parity_stripe_unit_kib.map(|kib| kib * KIB as u32);
            Redundancy::Rotated { checks, rotation, parity_unit }
        };
        let mirrored = |copies| {
            let order = match self.mirrors.unwrap_or(MirrorSpec::Adjacent) {
                MirrorSpec::Adjacent => MirrorOrder::Adjacent,
                MirrorSpec::Halves => MirrorOrder::Halves,
            };
            Redundancy::Mirrored { copies, order }
        };
        Ok(match self.level {
            LevelSpec::Concatenated | LevelSpec::Raid0 => Redundancy::None,
            LevelSpec::Raid1 => mirrored(self.copies.unwrap_or(self.members)),
            LevelSpec::Raid10 => mirrored(self.copies.unwrap_or(2)),
            LevelSpec::Raid4 => Redundancy::CheckDisks { checks: 1 },
            LevelSpec::Raid5 => rotated(1),
            LevelSpec::Raid6 => rotated(2),
            LevelSpec::Declustered => Redundancy::Declustered {
                checks: self.checks.unwrap_or(1),
                design: match &self.design {
                    Some(tuples) => BlockDesign::new(self.members, tuples.clone())?,
                    None => BlockDesign::balanced(self.members, self.group.unwrap_or_default())?,
                },
            },
        })
    }

    fn model(&self, member_sectors: u64) -> Result<ArrayModel, InputError> {
        let unit = self.stripe_unit_kib.unwrap_or(64) * KIB as u32;
        let layout = ArrayLayout::new(&Organisation {
            members: self.members,
            member_sectors,
            stripe_unit: (self.level != LevelSpec::Concatenated).then_some(unit),
            redundancy: self.redundancy()?,
            use_remainder: false,
        })?;
        let seconds = |s: f64| Nanos::from_secs_f64(s);
        let lost = self.failed.iter().map(|&member| Failure { member, at: Nanos::ZERO });
        let later = self.fails.iter().map(|f| Failure { member: f.member, at: seconds(f.at_s) });
        let cached = self.nvram_mib > 0 && self.battery;
        Ok(ArrayModel {
            rules: MappingRules {
                update: self.read_modify_write_below.map_or(UpdateRule::LeastReads, UpdateRule::Below),
                copy_choice: match self.copy_choice {
                    None | Some(CopyChoiceSpec::ShortestThenNearest) => CopyChoice::ShortestThenNearest,
                    Some(CopyChoiceSpec::First) => CopyChoice::First,
                    Some(CopyChoiceSpec::Random) => CopyChoice::Random,
                    Some(CopyChoiceSpec::RoundRobin) => CopyChoice::RoundRobin,
                    Some(CopyChoiceSpec::Nearest) => CopyChoice::Nearest,
                    Some(CopyChoiceSpec::ShortestQueue) => CopyChoice::ShortestQueue,
                },
                seed: self.seed,
                ..MappingRules::default()
            },
            queue_depth: self.queue_depth,
            member_queue_depth: self.member_queue_depth.unwrap_or(u32::MAX),
            member_queue: self.member_queue(member_sectors)?,
            command: seconds(self.command_us / 1e6),
            bus_ns_per_byte: self.bus_mb_s.map_or(0.0, |rate| 1e3 / rate),
            nvram: cached.then(|| NvramModel {
                sectors: u64::from(self.nvram_mib) * 1024 * KIB,
                destage_above: self.destage_above,
                destage_to: self.destage_to.unwrap_or(0.9 * self.destage_above),
                destage_idle: seconds(self.destage_idle_ms / 1e3),
                destage_depth: self.destage_depth.unwrap_or(2 * self.members),
            }),
            failures: lost.chain(later).collect(),
            rebuild: self.rebuild.map(|r| RebuildModel {
                spares: r.spares,
                rate: r.rate_mb_s.map(|rate| rate * 1e6),
                chunk: u64::from(r.chunk_kib) * KIB,
                delay: seconds(r.delay_s),
            }),
            ..ArrayModel::new(layout, MappingRules::default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use iopilot_block::{Flags, Lba, Op, RequestId, Sectors, parse_toml};
    use iopilot_device::{ConstantDevice, DeviceRequest};

    fn build(text: &str) -> Result<Array<AnyDevice>, InputError> {
        let disk = ConstantDevice::simple(1_000_000, 4, Nanos(1000), 1.0);
        parse_toml::<ArraySpec>(text, "a.toml")?.build(&disk.into())
    }

    fn error(text: &str) -> String {
        build(&format!("disk = \"x\"\n{text}")).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn every_level_builds() {
        for (text, capacity) in [
            ("level = \"concatenated\"\nmembers = 3", 3_000_000),
            ("level = \"raid0\"\nmembers = 3\nstripe_unit_kib = 128", 3 * 999_936),
            ("level = \"raid1\"\nmembers = 2\ncopy_choice = \"nearest\"", 999_936),
            ("level = \"raid1+0\"\nmembers = 8\nmirrors = \"halves\"", 4 * 999_936),
            ("level = \"raid4\"\nmembers = 5", 4 * 999_936),
            ("level = \"raid5\"\nmembers = 8\nlayout = \"right-asymmetric\"\nfailed = [2]", 7 * 999_936),
            ("level = \"raid6\"\nmembers = 8\nstripe_unit_kib = 16\nnvram_mib = 1", 6 * 1_000_000),
            ("level = \"declustered\"\nmembers = 7\ngroup = 3", 7 * 2 * 333_333),
        ] {
            let array = build(&format!("disk = \"x\"\n{text}")).unwrap_or_else(|e| panic!("{e}"));
            let close = array.capacity().abs_diff(capacity) < capacity / 100;
            assert!(close, "{text}: {} {capacity}", array.capacity());
        }
    }

    /// A write ends with the later of two copies: on average over all angles, a sixth of a revolution after a single
    /// copy.
    #[test]
    fn members_turn_at_angles_of_their_own() {
        let disk = Catalogue::get("hp-c2247").unwrap().build().unwrap();
        let mean = |mut device: AnyDevice| {
            let mut random = Pcg64Mcg::seed_from_u64(1);
            let (mut now, mut sum, mut out) = (Nanos::ZERO, Nanos::ZERO, Vec::new());
            const WRITES: u64 = 2000;
            for id in 0..WRITES as usize {
                let lba = Lba(random.random_range(0..device.capacity() / 8) * 8);
                let id = RequestId::from_index(id);
                let issued = now;
                let (op, sectors, flags) = (Op::Write, Sectors(8), Flags::empty());
                device.submit(DeviceRequest { id, op, lba, sectors, flags }, now);
                while out.is_empty() {
                    now = device.next_event().unwrap();
                    device.advance(now, &mut out);
                }
                out.clear();
                sum += now - issued;
            }
            sum.as_millis_f64() / WRITES as f64
        };
        let alone = mean(disk.clone());
        let mirrored = |seed: u64| {
            let text = format!("disk = \"x\"\nlevel = \"raid1\"\nmembers = 2\nseed = {seed}");
            mean(parse_toml::<ArraySpec>(&text, "a.toml").unwrap().build(&disk).unwrap().into())
        };
        let seeds: Vec<f64> = (0..32).map(|seed| mirrored(seed) - alone).collect();
        let more = seeds.iter().sum::<f64>() / 32.0;
        let sixth = 60e3 / 5400.0 / 6.0;
        assert!((more - sixth).abs() < 0.3, "{more} ms more, {sixth} expected: {seeds:?}");
        assert_eq!(mirrored(5), mirrored(5));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error("level = \"raid7\"\nmembers = 3").contains("a.toml:2: level: got raid7, expected"));
        assert!(
            error("level = \"raid5\"\nmembers = 3\nstripe_unit_kb = 3").contains("did you mean `stripe_unit_kib`?")
        );
        assert_eq!(
            error("level = \"raid5\"\nmembers = 3\ncopies = 2"),
            "array.copies: got a value, expected no such key for RAID 5"
        );
        assert_eq!(
            error("level = \"raid1+0\"\nmembers = 3"),
            "array.copies: got 2, expected 2 or more, a divisor of the 3 members"
        );
        assert_eq!(
            error("level = \"raid5\"\nmembers = 3\nfailed = [0, 1]"),
            "array.failed: got [0, 1], expected members that the array survives the loss of"
        );
        assert!(error("level = \"raid5\"\nmembers = 3\nfails = [{ member = 9, at_s = 1 }]").contains("array.fails"));
        assert!(error("level = \"raid0\"\nmembers = 3\nrebuild = {}").contains("array.rebuild"));
        assert!(
            error("level = \"raid0\"\nmembers = 3\nmember_scheduler = \"SPTTF\"")
                .contains("array.member_scheduler: got SPTTF, expected a policy")
        );
        assert!(
            error("level = \"raid0\"\nmembers = 3\nmember_scheduler = \"sptf\"")
                .contains("array.member_scheduler: got a policy by position, expected one that goes by block")
        );
        assert!(error("level = \"raid6\"\nmembers = 0").contains("array.members: got 0, expected 1 to 1024"));
    }
}
