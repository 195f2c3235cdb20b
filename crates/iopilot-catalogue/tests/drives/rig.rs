//! Drives a device through the protocol of its trait, like the simulator.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, DiskSpec, MechanicalSpec};
use iopilot_device::{Completion, Device, DeviceRequest};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub(crate) struct Rig {
    pub(crate) device: AnyDevice,
    pub(crate) now: Nanos,
    next_id: usize,
    pub(crate) out: Vec<Completion>,
}

/// A drive described by its zones and skews.
pub(crate) const SHEET: &str = "hp-c2247-sheet";

/// A drive of the catalogue, or [`SHEET`], with some parameters changed.
pub(crate) fn disk(name: &str, change: impl Fn(&mut MechanicalSpec)) -> DiskSpec {
    let sheet = || DiskSpec::from_toml(include_str!("hp-c2247-sheet.toml"), SHEET);
    let mut spec = if name == SHEET { sheet() } else { Catalogue::get(name) }.expect("in the catalogue");
    let DeviceSpec::Mechanical(m) = &mut spec.device else { panic!("{name} is mechanical") };
    change(m);
    spec.provenance.clear();
    spec
}

/// Removes the cache: every request needs the medium.
pub(crate) fn bare(m: &mut MechanicalSpec) {
    m.cache = Default::default();
}

impl Rig {
    pub(crate) fn new(spec: &DiskSpec) -> Self {
        Self { device: spec.build().expect("a sound description"), now: Nanos::ZERO, next_id: 0, out: Vec::new() }
    }

    pub(crate) fn submit(&mut self, op: Op, lba: u64, sectors: u32, flags: Flags) -> RequestId {
        let id = RequestId::from_index(self.next_id);
        self.next_id += 1;
        self.device.submit(DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(sectors), flags }, self.now);
        id
    }

    /// Advances to the next event; false if there is none.
    pub(crate) fn step(&mut self) -> bool {
        let Some(at) = self.device.next_event() else { return false };
        assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.now = at;
        self.device.advance(at, &mut self.out);
        true
    }

    /// Runs one request to its completion. Returns its time, too.
    pub(crate) fn run(&mut self, op: Op, lba: u64, sectors: u32, flags: Flags) -> (Completion, Nanos) {
        let start = self.now;
        let id = self.submit(op, lba, sectors, flags);
        loop {
            if let Some(i) = self.out.iter().position(|c| c.id == id) {
                let completion = self.out.remove(i);
                return (completion, completion.at - start);
            }
            assert!(self.step(), "the request was lost");
        }
    }

    pub(crate) fn read(&mut self, lba: u64, sectors: u32) -> (Completion, Nanos) {
        self.run(Op::Read, lba, sectors, Flags::empty())
    }

    pub(crate) fn write(&mut self, lba: u64, sectors: u32) -> (Completion, Nanos) {
        self.run(Op::Write, lba, sectors, Flags::empty())
    }

    /// Runs until the device waits for requests.
    pub(crate) fn settle(&mut self) {
        while self.step() {}
    }

    pub(crate) fn wait(&mut self, time: Nanos) {
        let until = self.now + time;
        while self.device.next_event().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = until;
        self.device.advance(until, &mut self.out);
    }

    pub(crate) fn dirty(&self) -> u64 {
        match &self.device {
            AnyDevice::Mechanical(disk) => disk.dirty_sectors(),
            AnyDevice::Array(array) => array.dirty_sectors(),
            AnyDevice::Constant(_)
            | AnyDevice::Drive(_)
            | AnyDevice::Table(_)
            | AnyDevice::Flash(_)
            | AnyDevice::Hybrid(_)
            | AnyDevice::Controlled(_)
            | AnyDevice::Scaled(_) => 0,
        }
    }

    pub(crate) fn random(&self, seed: u64) -> impl FnMut(u32) -> u64 + use<> {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let capacity = self.device.capacity();
        move |sectors| rng.random_range(0..(capacity - u64::from(sectors)) / 8) * 8
    }

    /// Sequential reads of `sectors` each from `lba`. Returns MB/s.
    pub(crate) fn stream(&mut self, op: Op, lba: u64, sectors: u32, count: u32) -> f64 {
        let start = self.now;
        for i in 0..count {
            self.run(op, lba + u64::from(i * sectors), sectors, Flags::empty());
        }
        let bytes = u64::from(count) * u64::from(sectors) * 512;
        bytes as f64 / 1e6 / (self.now - start).as_secs_f64()
    }

    /// Random reads with `depth` always outstanding. Returns the mean time between completions, ms.
    pub(crate) fn saturate(&mut self, depth: usize, count: usize, seed: u64) -> f64 {
        let mut next = self.random(seed);
        for _ in 0..depth {
            let lba = next(8);
            self.submit(Op::Read, lba, 8, Flags::empty());
        }
        let start = self.now;
        let mut done = 0;
        while done < count {
            assert!(self.step());
            for _ in 0..std::mem::take(&mut self.out).len() {
                done += 1;
                let lba = next(8);
                self.submit(Op::Read, lba, 8, Flags::empty());
            }
        }
        (self.now - start).as_millis_f64() / done as f64
    }
}
