//! The translation layer against a shadow that keeps the data, and against theory.

use super::NONE;
use super::blocks::EraseBlockState;
use super::ftl::{CollectionStep, Ftl, WriteFrontier};
use super::model::{FlashBufferModel, FlashHostModel, FlashModel, FtlModel, NandModel, Precondition, StripeOrder};
use super::theory::steady_write_amplification;
use crate::CacheControl;
use iopilot_block::Nanos;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A small drive: `dies` on one channel, blocks of `pages` pages of `units` units.
fn model(dies: u32, planes: u32, blocks: u32, pages: u32, units: u32, precondition: Precondition) -> FlashModel {
    let mut model = FlashModel {
        capacity: 0,
        precondition,
        seed: 3,
        nand: NandModel {
            channels: 1,
            chips_per_channel: dies,
            dies_per_chip: 1,
            planes_per_die: planes,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_sectors: 8 * units,
            codeword_sectors: 8,
            multi_plane: true,
            independent_plane_reads: false,
            stripe: StripeOrder::ChannelChipDie,
            read: vec![Nanos(50_000)],
            program: vec![Nanos(300_000), Nanos(900_000)],
            erase: Nanos(3_000_000),
            channel_ns_per_byte: 10.0,
            suspend: None,
        },
        host: FlashHostModel {
            read_ns_per_byte: 2.0,
            write_ns_per_byte: 2.0,
            full_duplex: false,
            queues: 1,
            cache_control: CacheControl::default(),
            queue_depth: 32,
            command: Nanos(1_000),
            read_latency: Nanos(5_000),
            write_latency: Nanos(5_000),
        },
        buffer: FlashBufferModel { sectors: 8 * 64, write_back: true, keep_sectors: 0, power_loss_protected: false },
        ftl: FtlModel {
            unit_sectors: 8,
            placement: Nanos(0),
            gc_low_blocks: 2,
            gc_high_blocks: 3,
            copy_back: false,
            wear_spread: Some(6),
        },
    };
    let row = planes * units;
    model.capacity = u64::from(dies * (blocks - 5) * (pages - 1) * row) * 8;
    model
}

/// A translation layer and its expected contents: the version of each unit, and in each slot the version written
/// there.
struct Shadow {
    ftl: Ftl,
    version: Vec<u32>,
    flash: Vec<Option<(u32, u32)>>,
    place: Vec<u32>,
    die: u32,
    written: u64,
}

impl Shadow {
    fn new(model: &FlashModel) -> Self {
        let ftl = Ftl::new(model);
        let shape = &ftl.shape;
        let mut flash = vec![None; (shape.dies * shape.blocks * shape.units_per_block) as usize];
        let place: Vec<u32> = (0..shape.logical).map(|unit| ftl.slot(unit)).collect();
        for (&slot, unit) in place.iter().zip(0..) {
            if slot != NONE {
                assert_eq!(flash[slot as usize].replace((unit, 0)), None, "two units in slot {slot}");
            }
        }
        Self { version: vec![0; place.len()], flash, place, ftl, die: 0, written: 0 }
    }

    fn put(&mut self, row: u32, at: usize, unit: u32, version: u32) {
        let slot = row * self.ftl.shape.units_per_row + at as u32;
        assert_eq!(self.flash[slot as usize].replace((unit, version)), None, "slot {slot} was not erased");
        self.place[unit as usize] = slot;
    }

    fn step(&mut self, die: u32) -> bool {
        let before: Vec<Option<(u32, u32)>> = self.flash.clone();
        let Some(step) = self.ftl.collect(die) else { return false };
        match step {
            CollectionStep::Move { units, row, .. } => {
                let mut moved = 0;
                for at in 0..self.ftl.shape.units_per_row as usize {
                    let slot = row * self.ftl.shape.units_per_row + at as u32;
                    if let Some(unit) = self.ftl.current_owner(slot) {
                        let old = before[self.place[unit as usize] as usize];
                        let (owner, version) = old.expect("a moved unit was written before");
                        assert_eq!(owner, unit);
                        self.put(row, at, unit, version);
                        moved += 1;
                    }
                }
                assert_eq!(moved, units);
            }
            CollectionStep::Erase(block) => {
                let size = self.ftl.shape.units_per_block;
                for slot in block * size..(block + 1) * size {
                    self.flash[slot as usize] = None;
                }
                self.ftl.erased(block);
            }
        }
        true
    }

    /// Writes a row of units, and collects garbage if a die needs it.
    fn write(&mut self, units: &[u32]) {
        let dies = self.ftl.shape.dies;
        for tried in 0.. {
            assert!(tried <= 2 * dies, "no die takes a row");
            let die = self.die;
            self.die = (die + 1) % dies;
            while self.ftl.collects(die, false) && self.step(die) {}
            if self.ftl.accepts(die) {
                let row = self.ftl.place(die, WriteFrontier::Host, units);
                for (at, &unit) in units.iter().enumerate() {
                    self.version[unit as usize] += 1;
                    self.put(row, at, unit, self.version[unit as usize]);
                }
                self.written += units.len() as u64;
                return;
            }
        }
    }

    fn trim(&mut self, unit: u32) {
        self.ftl.trim(unit);
        self.version[unit as usize] += 1;
        self.place[unit as usize] = NONE;
    }

    /// Reads return the last write; counts of valid units and erased blocks are right.
    fn check(&self) {
        let shape = &self.ftl.shape;
        let blocks = self.ftl.blocks();
        for (unit, &place) in (0u32..).zip(&self.place) {
            assert_eq!(self.ftl.slot(unit), place, "unit {unit}");
            if place != NONE {
                assert_eq!(self.flash[place as usize], Some((unit, self.version[unit as usize])), "unit {unit}");
                assert_eq!(self.ftl.current_owner(place), Some(unit));
            }
        }
        let mapped = self.place.iter().filter(|&&place| place != NONE).count();
        let valid: u32 = (0..shape.dies * shape.blocks).map(|block| blocks.valid(block)).sum();
        assert_eq!(valid as usize, mapped);
        for die in 0..shape.dies {
            let of = |state| (0..shape.blocks).filter(|b| blocks.state(die * shape.blocks + b) == state).count();
            assert_eq!(blocks.free(die) as usize, of(EraseBlockState::Free));
            assert!(of(EraseBlockState::Open) <= 2 && of(EraseBlockState::Erasing) == 0);
        }
    }
}

fn geometry() -> impl Strategy<Value = (u32, u32, u32, u32, u32)> {
    (1u32..4, 1u32..3, 8u32..20, 2u32..9, 1u32..4)
}

fn precondition() -> impl Strategy<Value = Precondition> {
    prop_oneof![Just(Precondition::Empty), Just(Precondition::Sequential), Just(Precondition::Random)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No state of the drive, from empty to full, loses a unit or blocks a write.
    #[test]
    fn reads_return_the_last_write(
        (dies, planes, blocks, pages, units) in geometry(),
        precondition in precondition(),
        seed in any::<u64>(),
        trims in 0.0..0.3,
        hot in 0.05..1.0,
    ) {
        let mut s = Shadow::new(&model(dies, planes, blocks, pages, units, precondition));
        s.check();
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let (logical, row) = (s.ftl.shape.logical, s.ftl.shape.units_per_row);
        let span = ((f64::from(logical) * hot) as u32).max(row);
        for i in 0..3 * logical / row {
            let len = if random.random_bool(0.8) { row } else { random.random_range(1..=row) };
            let first = random.random_range(0..span);
            let row: Vec<u32> = (0..len).map(|i| (first + i * 7919) % logical).collect();
            let mut unique = row.clone();
            unique.sort_unstable();
            unique.dedup();
            s.write(&unique);
            if random.random_bool(trims) {
                s.trim(random.random_range(0..logical));
            }
            if i % 64 == 0 {
                s.check();
            }
        }
        s.check();
        for unit in 0..logical {
            s.trim(unit);
        }
        s.check();
    }

    /// In the initial state every unit has a slot of its own, and the inverse agrees.
    #[test]
    fn the_initial_state_is_one_to_one((dies, planes, blocks, pages, units) in geometry(), fill in 0.1..1.0) {
        for precondition in [Precondition::Sequential, Precondition::Random] {
            let mut model = model(dies, planes, blocks, pages, units, precondition);
            model.capacity = ((model.capacity as f64 * fill) as u64).max(8);
            Shadow::new(&model).check();
        }
    }
}

/// Random overwrites of single units, in rows; returns the units written to flash for each unit.
fn amplification(s: &mut Shadow, overwrites: f64, random: &mut Pcg64Mcg) -> f64 {
    let (logical, row) = (s.ftl.shape.logical, s.ftl.shape.units_per_row);
    let (written, moved) = (s.written, s.ftl.counters.moved + s.ftl.counters.padded);
    for _ in 0..(f64::from(logical) * overwrites / f64::from(row)) as u64 {
        let mut units: Vec<u32> = (0..row).map(|_| random.random_range(0..logical)).collect();
        units.sort_unstable();
        units.dedup();
        s.write_unchecked(&units);
    }
    let (written, moved) = (s.written - written, s.ftl.counters.moved + s.ftl.counters.padded - moved);
    1.0 + moved as f64 / written as f64
}

impl Shadow {
    /// Like `write`, without the shadow's bookkeeping.
    fn write_unchecked(&mut self, units: &[u32]) {
        loop {
            let die = self.die;
            self.die = (die + 1) % self.ftl.shape.dies;
            while self.ftl.collects(die, false) {
                match self.ftl.collect(die) {
                    Some(CollectionStep::Erase(block)) => self.ftl.erased(block),
                    Some(CollectionStep::Move { .. }) => {}
                    None => break,
                }
            }
            if self.ftl.accepts(die) {
                self.ftl.place(die, WriteFrontier::Host, units);
                self.written += units.len() as u64;
                return;
            }
        }
    }
}

/// One overwrite in random order, then the mean over two: near the formula, whatever the initial state.
#[test]
fn write_amplification_of_random_overwrites_agrees_with_theory() {
    for (spare, tolerance) in [(0.10, 0.06), (0.25, 0.05), (0.40, 0.05)] {
        for (precondition, before) in [(Precondition::Random, 0.0), (Precondition::Sequential, 3.0)] {
            let mut m = model(1, 1, 256, 256, 1, precondition);
            m.ftl.wear_spread = None;
            let slots = f64::from(256 * 256);
            m.capacity = (slots * (1.0 - spare)) as u64 * 8;
            let mut s = Shadow::new(&m);
            let mut random = Pcg64Mcg::seed_from_u64(1);
            amplification(&mut s, before, &mut random);
            let got = amplification(&mut s, 2.0, &mut random);
            // Two open blocks and two to three erased ones a die hold no collectable data.
            let used = slots * (256.0 - 3.5) / 256.0;
            let want = steady_write_amplification(m.capacity as f64 / 8.0 / used);
            assert!(
                (got / want - 1.0).abs() < tolerance,
                "{precondition:?}, {spare} spare: {got:.3}, in theory {want:.3}"
            );
        }
    }
}

/// A hot twentieth of the drive is overwritten; the rest is cold.
#[test]
fn wear_levelling_bounds_the_spread_of_erases() {
    let spread = |limit| {
        let mut m = model(2, 1, 64, 16, 1, Precondition::Sequential);
        m.ftl.wear_spread = limit;
        let mut s = Shadow::new(&m);
        let mut random = Pcg64Mcg::seed_from_u64(9);
        let hot = s.ftl.shape.logical / 20;
        for _ in 0..400 * s.ftl.shape.logical / 20 {
            let unit = random.random_range(0..hot);
            s.write_unchecked(&[unit]);
        }
        let erases = s.ftl.erases();
        let (least, most) = (erases.iter().min().copied(), erases.iter().max().copied());
        (most.unwrap_or(0) - least.unwrap_or(0), s.ftl.counters.levelled)
    };
    let (without, moved) = spread(None);
    assert!(without > 30 && moved == 0, "{without}");
    let (with, moved) = spread(Some(6));
    assert!(with <= 8 && moved > 0, "{with}");
}

#[test]
fn a_large_drive_needs_little_memory() {
    // 512 GB: 64 dies of 8 GiB, 4 KiB units.
    let mut m = model(64, 2, 2048, 256, 2, Precondition::Random);
    m.capacity = 512_000_000_000 / 512;
    let mut ftl = Ftl::new(&m);
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let mut units = [0; 4];
    for i in 0..125_000 {
        let die = i % 64;
        while ftl.collects(die, false) {
            if let Some(CollectionStep::Erase(block)) = ftl.collect(die) {
                ftl.erased(block);
            }
        }
        units.fill_with(|| random.random_range(0..ftl.shape.logical));
        ftl.place(die, WriteFrontier::Host, &units);
    }
    let moved = 500_000 + ftl.counters.moved;
    assert!(ftl.map().bytes() as u64 <= moved * 8 * 3, "{} bytes, {moved} units", ftl.map().bytes());
}
