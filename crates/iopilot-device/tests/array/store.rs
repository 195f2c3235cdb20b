//! Members that hold contents: one symbol of GF(2^8) for each sector. A plan runs with only its own reads and the new
//! data. So a test finds a plan that reads too little, or writes data that it cannot know.

use iopilot_block::{Lba, Op, Sectors};
use iopilot_device::{ArrayLayout, Health, Mapper, MappingRules, MemberIo, Plan};
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;

/// Product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1.
fn times(a: u8, b: u8) -> u8 {
    let (mut a, mut b, mut product) = (a, b, 0);
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        let carry = a & 0x80 != 0;
        a <<= 1;
        if carry {
            a ^= 0x1d;
        }
        b >>= 1;
    }
    product
}

fn inverse(a: u8) -> u8 {
    (1..=255).find(|&b| times(a, b) == 1).expect("not zero")
}

/// The weight of data unit `j` in check unit `check`: 1 in P, 2^j in Q.
fn weight(check: usize, j: usize) -> u8 {
    if check == 0 { 1 } else { (0..j).fold(1, |power, _| times(power, 2)) }
}

fn check_of(check: usize, data: &[u8]) -> u8 {
    data.iter().enumerate().fold(0, |sum, (j, &d)| sum ^ times(weight(check, j), d))
}

/// Completes a stripe's data (at one offset) from the known checks; false if that is not possible.
fn decode(data: &mut [Option<u8>], checks: &[Option<u8>]) -> bool {
    let unknown: Vec<usize> = (0..data.len()).filter(|&j| data[j].is_none()).collect();
    let syndrome = |check: usize| {
        let known = data.iter().enumerate().fold(0, |s, (j, d)| s ^ times(weight(check, j), d.unwrap_or(0)));
        checks[check].map(|value| value ^ known)
    };
    let known: Vec<usize> = (0..checks.len()).filter(|&c| checks[c].is_some()).collect();
    match unknown[..] {
        [] => true,
        [j] if !known.is_empty() => {
            let value = syndrome(known[0]).map(|s| times(s, inverse(weight(known[0], j))));
            data[j] = value;
            true
        }
        [i, j] if known.len() == 2 => {
            // d_i + d_j = p, g^i d_i + g^j d_j = q
            let (Some(p), Some(q)) = (syndrome(0), syndrome(1)) else { return false };
            let d_j = times(q ^ times(weight(1, i), p), inverse(weight(1, i) ^ weight(1, j)));
            (data[i], data[j]) = (Some(p ^ d_j), Some(d_j));
            true
        }
        _ => false,
    }
}

pub(crate) struct Store {
    pub(crate) mapper: Mapper,
    pub(crate) health: Health,
    members: Vec<Vec<u8>>,
    /// The expected contents.
    truth: Vec<u8>,
    plan: Plan,
    rng: Pcg64Mcg,
}

/// The data that a request in progress knows.
struct Known {
    new: HashMap<u64, u8>,
    read: HashMap<(u32, u64), u8>,
}

impl Store {
    pub(crate) fn new(layout: &ArrayLayout, rules: MappingRules, member_sectors: u64, rng: Pcg64Mcg) -> Self {
        Self {
            health: Health::whole(layout.members()),
            members: vec![vec![0; member_sectors as usize]; layout.members() as usize],
            truth: vec![0; layout.capacity() as usize],
            mapper: Mapper::new(layout.clone(), rules),
            plan: Plan::new(),
            rng,
        }
    }

    fn layout(&self) -> &ArrayLayout {
        self.mapper.layout()
    }

    /// Loses a member with its contents.
    pub(crate) fn lose(&mut self, member: u32) {
        self.health.lose(member);
        let rng = &mut self.rng;
        self.members[member as usize].iter_mut().for_each(|symbol| *symbol = rng.random());
    }

    pub(crate) fn write(&mut self, lba: u64, sectors: u32) {
        let mut plan = std::mem::take(&mut self.plan);
        self.mapper.plan(Op::Write, Lba(lba), Sectors(sectors), &self.health, &(), &mut plan);
        let new = (lba..lba + u64::from(sectors)).map(|at| (at, self.rng.random())).collect();
        let known = self.carry_out(&mut plan, Known { new, read: HashMap::new() });
        for (&at, &value) in &known.new {
            self.truth[at as usize] = value;
        }
        self.plan = plan;
        let (first, last) = (self.layout().address(Lba(lba)), self.layout().address(Lba(lba + u64::from(sectors) - 1)));
        for stripe in first.stripe..=last.stripe {
            self.check_stripe(stripe);
        }
    }

    pub(crate) fn read(&mut self, lba: u64, sectors: u32) {
        let mut plan = std::mem::take(&mut self.plan);
        self.mapper.plan(Op::Read, Lba(lba), Sectors(sectors), &self.health, &(), &mut plan);
        assert!(plan.ios().all(|io| io.op == Op::Read));
        let known = self.carry_out(&mut plan, Known { new: HashMap::new(), read: HashMap::new() });
        self.plan = plan;
        for at in lba..lba + u64::from(sectors) {
            let address = self.layout().address(Lba(at));
            let (data, _) = self.old(&known, address.stripe, address.offset);
            let read = data[address.unit as usize];
            assert_eq!(read, Some(self.truth[at as usize]), "sector {at} cannot be known, or is wrong");
        }
    }

    pub(crate) fn rebuild(&mut self, member: u32, first: u64, rows: u64) {
        let mut plan = std::mem::take(&mut self.plan);
        self.mapper.plan_rebuild(member, first, rows, &self.health, &mut plan);
        self.health.rebuilt_to(member, first + rows);
        self.carry_out(&mut plan, Known { new: HashMap::new(), read: HashMap::new() });
        self.plan = plan;
    }

    /// Checks the contents of all members that are not lost.
    pub(crate) fn check(&self) {
        (0..self.layout().stripes()).for_each(|stripe| self.check_stripe(stripe));
    }

    /// Executes the plan in any order that it allows.
    fn carry_out(&mut self, plan: &mut Plan, mut known: Known) -> Known {
        let mut ready: Vec<usize> = Vec::new();
        plan.begin(|i, _| ready.push(i));
        let mut served = 0;
        while !ready.is_empty() {
            let i = ready.swap_remove(self.rng.random_range(0..ready.len()));
            let io = *plan.io(i);
            self.serve(&io, &mut known);
            plan.done(i, |j, _| ready.push(j));
            served += 1;
        }
        assert!(plan.is_done() && served == plan.len(), "some of the plan was never released");
        known
    }

    fn serve(&mut self, io: &MemberIo, known: &mut Known) {
        for lba in io.lba.0..io.end() {
            let unit = self.layout().stripe_unit();
            assert!(!self.health.is_lost(io.member, lba / unit), "a lost unit is used");
            if io.op == Op::Read {
                known.read.insert((io.member, lba), self.members[io.member as usize][lba as usize]);
            } else {
                let value = self.new_value(io.member, lba, known);
                self.members[io.member as usize][lba as usize] = value;
            }
        }
    }

    /// The old contents of a stripe at an offset, as far as the request knows them: data (or its copies) and checks.
    fn old(&self, known: &Known, stripe: u64, offset: u32) -> (Vec<Option<u8>>, Vec<Option<u8>>) {
        let layout = self.layout();
        let at = |position| {
            let place = layout.place(stripe, position);
            known.read.get(&(place.member, layout.row_lba(place.row).0 + u64::from(offset))).copied()
        };
        let data = layout.data_units();
        let copies = |unit| (0..layout.copies()).find_map(|copy| at(unit + copy * data));
        let mut values: Vec<_> = (0..data).map(copies).collect();
        let checks: Vec<_> = (0..layout.check_units()).map(|check| at(data + check)).collect();
        decode(&mut values, &checks);
        (values, checks)
    }

    /// The new contents of a member's sector, computed only from what the request knows.
    fn new_value(&self, member: u32, lba: u64, known: &Known) -> u8 {
        let layout = self.layout();
        let row = lba / layout.stripe_unit();
        let (stripe, position) = layout.at(member, row).expect("within the array");
        let offset = (lba - layout.row_lba(row).0) as u32;
        let data = layout.data_units();
        let first = layout.first_lba(stripe).0 + u64::from(offset);
        let new = |unit: u32| {
            let at = first + u64::from(unit) * u64::from(layout.unit_sectors(stripe));
            known.new.get(&at).copied()
        };
        let (old, checks) = self.old(known, stripe, offset);
        if position < data * layout.copies() {
            let unit = position % data;
            // A rebuild writes the old contents of the unit.
            return new(unit).or(old[unit as usize]).expect("the plan writes only data of the request");
        }
        let check = (position - data) as usize;
        let now: Option<Vec<u8>> = (0..data).map(|unit| new(unit).or(old[unit as usize])).collect();
        if let Some(now) = now {
            return check_of(check, &now);
        }
        let mut value = checks[check].expect("a check unit cannot be known");
        for unit in 0..data {
            if let Some(new) = new(unit) {
                let old = old[unit as usize].expect("old data were not read");
                value ^= times(weight(check, unit as usize), old ^ new);
            }
        }
        value
    }

    fn check_stripe(&self, stripe: u64) {
        let layout = self.layout();
        let data = layout.data_units();
        let unit = layout.unit_sectors(stripe);
        for offset in 0..unit {
            let first = layout.first_lba(stripe).0 + u64::from(offset);
            let truth: Vec<u8> =
                (0..data).map(|j| self.truth[(first + u64::from(j) * u64::from(unit)) as usize]).collect();
            for position in 0..layout.width() {
                let place = layout.place(stripe, position);
                if self.health.is_lost(place.member, place.row) {
                    continue;
                }
                let found =
                    self.members[place.member as usize][(layout.row_lba(place.row).0 + u64::from(offset)) as usize];
                let expected = if position < data * layout.copies() {
                    truth[(position % data) as usize]
                } else {
                    check_of((position - data) as usize, &truth)
                };
                assert_eq!(found, expected, "stripe {stripe}, unit {position}, sector {offset}");
            }
        }
    }
}
