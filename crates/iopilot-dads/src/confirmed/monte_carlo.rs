//! The rule against rates that were measured on virtual disks: sequences of loads that last 2 to 300 s, where each
//! candidate serves each load as it did when it was in place from the start, or was put in place under load.

use super::progress::ClassProgress;
use super::rule::ConfirmedRule;
use super::settling::CandidateTraits;
use super::signature::LoadSignature;
use flate2::read::GzDecoder;
use iopilot_sched::SchedulerSpec;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;

const CANDIDATES: [&str; 6] = ["none", "mq-deadline", "kyber", "bfq", "bfq:low_latency=0", "bfq:strict_guarantees=1"];
const N: usize = CANDIDATES.len();
const LOW_LATENCY_OFF: usize = 4;
/// Seconds of a bin of the measured rates.
const BIN: f64 = 0.25;
/// Bins after which a candidate that was in place from the start has settled, and one that was put in place under load.
const SETTLED: usize = 20;
const SETTLED_UNDER_LOAD: usize = 16;

/// The measured rates of a load, in requests a second, by candidate.
#[derive(Deserialize)]
struct Measured {
    /// In place from the start.
    #[serde(rename = "F")]
    fixed: BTreeMap<String, Vec<f64>>,
    /// Put in place under load, for 8 s.
    #[serde(rename = "S")]
    long: BTreeMap<String, Vec<Vec<f64>>>,
    /// Put in place under load, for up to 2 s.
    #[serde(rename = "T")]
    short: BTreeMap<String, Vec<Vec<f64>>>,
    /// How long changes took, in seconds, and the share of the rate meanwhile.
    sw: Vec<f64>,
    swfrac: Vec<f64>,
}

struct Load {
    number: usize,
    is_sequential: bool,
    /// Whether an installation of `low_latency=0` under this load may fail.
    may_fail: bool,
    fixed: Vec<Vec<f64>>,
    late: Vec<f64>,
    /// What an installation under load may do, and how it goes on.
    under_load: Vec<Vec<(Vec<f64>, Vec<f64>)>>,
    long: Vec<Vec<Vec<f64>>>,
    changes: Vec<(f64, f64)>,
    rate: f64,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl Load {
    fn new(number: usize, name: &str, measured: &Measured) -> Self {
        let fixed: Vec<Vec<f64>> = (0..N).map(|c| measured.fixed[&c.to_string()].clone()).collect();
        let of = |all: &BTreeMap<String, Vec<Vec<f64>>>, c: usize| all.get(&c.to_string()).cloned().unwrap_or_default();
        let under_load = |c: usize| {
            let long = of(&measured.long, c);
            let tails: Vec<&[f64]> =
                std::iter::once(&fixed[c][SETTLED..]).chain(long.iter().map(|s| &s[SETTLED_UNDER_LOAD..])).collect();
            let closest = |rate: f64| -> Vec<f64> {
                let off = |tail: &&&[f64]| (rate.max(0.1) / mean(tail).max(0.1)).ln().abs();
                tails.iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap().to_vec()
            };
            let mut pool: Vec<_> =
                long.iter().flat_map(|s| vec![(s.clone(), s[SETTLED_UNDER_LOAD..].to_vec()); 4]).collect();
            for short in of(&measured.short, c) {
                match short.len() {
                    4.. => pool.push((short.clone(), closest(mean(&short[short.len() - 2..])))),
                    2 if c < 2 || c == LOW_LATENCY_OFF => pool.push((short.clone(), closest(short[1]))),
                    _ => {}
                }
            }
            pool
        };
        let under_load: Vec<_> = (0..N).map(under_load).collect();
        let means = fixed.iter().map(|rates| mean(rates).ln()).collect::<Vec<_>>();
        Self {
            number,
            is_sequential: ["streams4", "strided8", "streams16", "streams_rand", "files"].contains(&name),
            may_fail: ["streams4", "strided8", "streams16", "streams_rand"].contains(&name),
            late: fixed.iter().map(|rates| mean(&rates[SETTLED..])).collect(),
            under_load,
            long: (0..N).map(|c| of(&measured.long, c)).collect(),
            changes: measured.sw.iter().zip(&measured.swfrac).map(|(&s, &share)| (s, share.min(1.0))).collect(),
            rate: mean(&means).exp(),
            fixed,
        }
    }

    /// How long `work` requests take with a candidate in place from the start.
    fn takes(&self, candidate: usize, mut work: f64) -> f64 {
        let mut seconds = 0.0;
        for rate in &self.fixed[candidate] {
            if rate * BIN >= work {
                return seconds + work / rate;
            }
            work -= rate * BIN;
            seconds += BIN;
        }
        seconds + work / self.late[candidate]
    }
}

/// A disk that serves a sequence of loads at the measured rates.
struct World<'a> {
    loads: &'a [Load],
    phases: Vec<(usize, f64)>,
    phase: usize,
    left: f64,
    now: f64,
    current: usize,
    rates: Vec<f64>,
    tail: Vec<f64>,
    position: f64,
    offset: usize,
    random: Pcg64Mcg,
    errors: Vec<[f64; N]>,
    common: Vec<f64>,
    /// When the load that runs is noticed.
    noticed: Option<f64>,
    /// An idle gap came before this phase.
    gap: bool,
    done: bool,
}

impl World<'_> {
    fn load(&self) -> &Load {
        &self.loads[self.phases[self.phase].0]
    }

    fn normal(&mut self) -> f64 {
        let (a, b): (f64, f64) = (self.random.random(), self.random.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
    }

    fn begin_phase(&mut self) {
        let (load, work) = self.phases[self.phase];
        self.left = work;
        self.rates = self.loads[load].fixed[self.current].clone();
        self.tail = self.rates[SETTLED..].to_vec();
        self.position = 0.0;
        let is_seen = self.gap || self.phase == 0 || self.random.random::<f64>() < 0.9;
        self.noticed = is_seen.then_some(self.now + 1.0);
    }

    /// Lets time pass; ends early when the phase does. Returns the requests served.
    fn pass(&mut self, seconds: f64, share: f64) -> f64 {
        let end = self.now + seconds;
        let mut work = 0.0;
        while self.now < end - 1e-9 {
            let bin = (self.position / BIN) as usize;
            if bin == self.rates.len() {
                self.offset = self.random.random_range(0..self.tail.len());
            }
            let rate = share
                * self.rates.get(bin).copied().unwrap_or_else(|| self.tail[(bin + self.offset) % self.tail.len()]);
            let to_bin = (bin + 1) as f64 * BIN - self.position;
            let mut step = (end - self.now).min(if to_bin > 1e-9 { to_bin } else { BIN });
            let ends = rate * step >= self.left;
            if ends {
                step = self.left / rate.max(1e-9);
            }
            work += rate * step;
            self.left -= rate * step;
            self.now += step;
            self.position += step + if ends { 0.0 } else { 1e-12 };
            if ends {
                self.left = 0.0;
                break;
            }
        }
        work
    }

    /// The simulated prediction for the load that runs: ln rates.
    fn prediction(&mut self) -> Vec<f64> {
        let number = self.load().number;
        (0..N)
            .map(|c| {
                let noise = 0.02 * self.normal();
                self.load().late[c].ln() + self.errors[number][c] + self.common[number] + noise
            })
            .collect()
    }

    /// Installs a candidate under load. Returns the seconds it took.
    fn install(&mut self, candidate: usize) -> f64 {
        let at = self.random.random_range(0..self.load().changes.len());
        let (seconds, share) = self.load().changes[at];
        let began = self.now;
        self.pass(seconds, share.max(0.05));
        self.current = candidate;
        let coin: f64 = self.random.random();
        let any: u32 = self.random.random();
        let load = self.load();
        let fixed = &load.fixed[candidate];
        let pick = |n: usize| any as usize % n;
        let (rates, tail) = match candidate {
            LOW_LATENCY_OFF if load.may_fail && coin < 0.5 => {
                let mut rates = vec![fixed[8] * 0.6];
                rates.extend_from_slice(&fixed[9..]);
                (rates, fixed[SETTLED..].to_vec())
            }
            LOW_LATENCY_OFF if load.may_fail => {
                let slow = &load.long[candidate][pick(load.long[candidate].len())];
                (slow.clone(), slow[SETTLED_UNDER_LOAD..].to_vec())
            }
            _ if load.under_load[candidate].is_empty() => (fixed.clone(), fixed[SETTLED..].to_vec()),
            _ => load.under_load[candidate][pick(load.under_load[candidate].len())].clone(),
        };
        (self.rates, self.tail, self.position) = (rates, tail, 0.0);
        self.now - began
    }
}

/// Signatures of loads: as far apart as their numbers.
fn signature(load: &Load) -> LoadSignature {
    let sequential = if load.is_sequential { 1.0 } else { 0.0 };
    LoadSignature { size_log2: 2.0 * load.number as f64, sequential, ..LoadSignature::default() }
}

/// Flies the rule. Returns how much longer it took than the best candidate from the start, as a share.
fn fly(loads: &[Load], seed: u64, deviation: f64, wrong: f64) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut phases, mut total) = (Vec::new(), 0.0);
    while total < 900.0 {
        let load = random.random_range(0..loads.len());
        let seconds = (random.random_range(2f64.ln()..300f64.ln())).exp();
        phases.push((load, seconds * loads[load].rate));
        total += seconds;
    }
    let best = (0..N)
        .map(|c| phases.iter().map(|&(load, work)| loads[load].takes(c, work)).sum::<f64>())
        .fold(f64::MAX, f64::min);
    let start = random.random_range(0..4);
    let mut world = World {
        loads,
        phases,
        phase: 0,
        left: 0.0,
        now: 0.0,
        current: start,
        rates: Vec::new(),
        tail: Vec::new(),
        position: 0.0,
        offset: 0,
        random,
        errors: Vec::new(),
        common: Vec::new(),
        noticed: None,
        gap: false,
        done: false,
    };
    for _ in loads {
        let common = 0.1 * world.normal();
        world.common.push(common);
        let errors = std::array::from_fn(|_| {
            let own = deviation * world.normal();
            let coin: f64 = world.random.random();
            let sign = if world.random.random::<f64>() < 0.5 { 1.0 } else { -1.0 };
            own + if coin < wrong { sign * 3f64.ln() } else { 0.0 }
        });
        world.errors.push(errors);
    }
    let traits = CANDIDATES.map(|name| CandidateTraits::of(&SchedulerSpec::parse(name).unwrap())).to_vec();
    let mut rule = ConfirmedRule::new(traits, start, 0.3, true);
    world.begin_phase();
    let (mut next_prediction, mut known) = (5.0, None);
    while !world.done {
        let (began, window) = (world.now, 0.5);
        let work = world.pass(window, 1.0);
        let seconds = (world.now - began).max(1e-6);
        if world.left <= 0.0 && !next_phase(&mut world, &mut rule) {
            break;
        }
        if world.noticed.is_some_and(|at| world.now >= at) {
            world.noticed = None;
            let prediction = world.prediction();
            rule.begin_load(signature(world.load()), &prediction, false);
            (next_prediction, known) = (world.now + 5.0, Some(world.phase));
            continue;
        }
        if known.is_some() && world.now >= next_prediction {
            next_prediction = world.now + 5.0;
            let prediction = world.prediction();
            if rule.predict_again(signature(world.load()), &prediction, false) {
                continue;
            }
        }
        let progress = ClassProgress::of_rates([(0, work.max(0.5) / seconds)].into_iter(), seconds);
        if let Some(which) = rule.window(&progress).install {
            let took = world.install(which);
            rule.installed(which, took, true);
            if world.left <= 0.0 && !next_phase(&mut world, &mut rule) {
                break;
            }
        }
    }
    world.now / best - 1.0
}

/// Goes to the next phase, with an idle gap before it in every second case. False after the last.
fn next_phase(world: &mut World<'_>, rule: &mut ConfirmedRule) -> bool {
    world.phase += 1;
    if world.phase == world.phases.len() {
        world.done = true;
        return false;
    }
    world.gap = world.random.random::<f64>() < 0.5;
    if world.gap {
        if let Some(home) = rule.idle().install {
            world.current = home;
            rule.installed(home, 0.0, false);
        }
    }
    world.begin_phase();
    true
}

/// The loads of a disk of this queue depth; `None`, reported, where the measurements are not there.
fn loads(depth: &str) -> Option<Vec<Load>> {
    let path = iopilot_testing::data("../prototypes/autopilot/rates.json.gz")?;
    let all: BTreeMap<String, Measured> = serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap();
    let name = |key: &str| {
        let parts: Vec<&str> = key.split('|').collect();
        (parts[0] == "hd-500-16" && parts[1] == depth).then(|| parts[2].to_owned())
    };
    let wanted = all.iter().filter_map(|(key, measured)| Some((name(key)?, measured)));
    let wanted = wanted.filter(|(name, _)| !["low", "open60", "seqw"].contains(&name.as_str()));
    Some(wanted.enumerate().map(|(n, (name, measured))| Load::new(n, &name, measured)).collect())
}

/// Mean, 90 %, 99 % and worst of `flights`, in per cent.
fn regret(loads: &[Load], flights: u64, deviation: f64, wrong: f64) -> [f64; 4] {
    let mut all: Vec<f64> = (0..flights).map(|seed| 100.0 * fly(loads, seed, deviation, wrong)).collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all[((share * all.len() as f64) as usize).min(all.len() - 1)];
    [mean(&all), at(0.9), at(0.99), at(1.0)]
}

#[test]
fn on_measured_rates_it_is_near_the_best_fixed_candidate() {
    let Some(loads) = loads("4") else { return };
    for (deviation, wrong, bounds) in [(0.1, 0.0, [2.0, 8.0]), (0.3, 0.0, [2.0, 9.0]), (0.1, 0.15, [4.0, 18.0])] {
        let [mean, most, tail, worst] = regret(&loads, 300, deviation, wrong);
        eprintln!("prior {deviation}, wrong {wrong}: {mean:.1} / {most:.1} / {tail:.1} / {worst:.1}");
        assert!(mean < bounds[0] && most < bounds[1], "prior {deviation}, wrong {wrong}: {mean} {most}");
    }
}
