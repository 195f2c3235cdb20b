//! `carroll-random`: random readers of 16 KiB (4.3.3, 5.1.1).

use super::bench::{DISK, DiskConfiguration, RAID_DISK, RAID0_8, RAID5_8, RAID6_8, RAID10_2, RAID10_8, mean, span};
use super::figure;
use super::readers::{CarrollScheduler::*, ReaderResults, TEN, seconds};
use crate::{Claim, Experiment, Outcome, Setup};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "carroll-random",
    source: "Carroll 5.1.1",
    title: "32 to 256 random readers of 16 KiB on eight disk configurations, ten schedulers",
    run,
};

const SOURCE: &str = "Carroll 5.1.1";

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = ReaderResults::run("16k", setup)?;
    let title = "Aggregate bandwidth of random readers of 16 KiB, MiB/s (Figure 5.1)";
    let figure = figure::draw("Random readers of 16 KiB: MiB/s over processes", &results.panels(), 4);
    Ok(Outcome {
        tables: vec![results.table(title)],
        claims: claims(&results),
        notes: vec![format!("{} simulated seconds a run; Carroll ran 200", if setup.quick { 1.0 } else { seconds() })],
        files: vec![("carroll-random.svg".to_owned(), figure), ("carroll-random-runs.csv".to_owned(), results.csv())],
    })
}

fn claims(r: &ReaderResults) -> Vec<Claim> {
    vec![
        deep_fifo_on_arrays(r),
        distance_on_a_disk(r),
        deep_fifo_on_a_disk(r),
        reordering_pays(r),
        noop_is_fifo(r),
        idling_costs(r),
        idling_delays(r),
        without_idling_it_is_below(r),
        without_idling_it_does_not_scale(r),
        levels_are_alike(r),
        mirrors_gain_little(r),
        disks_are_alike(r),
        sstf_is_scan(r),
        anticipation_is_found_useless(r),
        deadline_on_large_arrays(r),
        deadline_falls_on_disks(r),
        anticipatory_does_not_fall(r),
        deadline_has_the_shorter_maximum(r),
    ]
}

fn all(r: &ReaderResults) -> Vec<&'static DiskConfiguration> {
    r.shapes().collect()
}

fn disks() -> [&'static DiskConfiguration; 2] {
    [&DISK, &RAID_DISK]
}

fn deep_fifo_on_arrays(r: &ReaderResults) -> Claim {
    let lead =
        |s: &'static DiskConfiguration| mean(r.queued().map(|l| r.mib_s(s, l, FifoDeep) / r.best(s, l, &[FifoDeep])));
    let leads: Vec<(&DiskConfiguration, f64)> = r.arrays().map(|s| (s, lead(s))).collect();
    let ratios: Vec<String> = leads.iter().map(|(s, lead)| format!("{} {lead:.2}", s.key)).collect();
    Claim::new(
        SOURCE,
        "on arrays FIFO with a deep queue has the highest throughput, by a significant margin",
        "highest (over the best of the others, mean above 32 processes: at least 1.05 on each array)",
        ratios.join(", "),
        leads.iter().all(|&(_, lead)| lead >= 1.05),
        "two disks take and sort 2 x 64 requests; the requests beyond these wait in order of arrival here, \
         while Carroll's controller may have sorted them, too",
    )
}

fn distance_on_a_disk(r: &ReaderResults) -> Claim {
    let share = |s: &&'static DiskConfiguration| {
        let ratio = |l| r.mib_s(s, l, Scan).max(r.mib_s(s, l, Sstf)) / r.best(s, l, &[Scan, Sstf]);
        mean(r.queued().map(ratio))
    };
    let (low, high) = span(disks().iter().map(share));
    Claim::new(
        SOURCE,
        "on single disks V(R) generally performs best",
        "best (over the best of the others, mean above 32 processes: at least 1)",
        format!("{low:.3} and {high:.3}"),
        low >= 1.0,
        "another scheduler is as good",
    )
}

fn deep_fifo_on_a_disk(r: &ReaderResults) -> Claim {
    let (_, most) = r.ends();
    let first = r.queued().next().unwrap_or(most);
    let (low, high) = span(disks().iter().map(|s| r.mib_s(s, most, FifoDeep) / r.mib_s(s, first, FifoDeep)));
    Claim::new(
        SOURCE,
        "on single disks FIFO with a deep queue does not scale above 64 processes",
        format!("does not ({most} processes over {first}: at most 1.05)"),
        format!("{low:.2} to {high:.2}"),
        high <= 1.05,
        "the disk's queue takes only 64 requests",
    )
}

fn reordering_pays(r: &ReaderResults) -> Claim {
    let (fewest, most) = r.ends();
    let gains = |l| {
        let of = move |s| [Scan, Sstf, As, AsNoAntic].map(|w| r.ratio(s, l, w, Noop));
        span(r.shapes().flat_map(of)).0
    };
    let flat = span(r.shapes().flat_map(|s| [Noop, Fifo].map(|w| r.mib_s(s, most, w) / r.mib_s(s, fewest, w)))).1;
    Claim::new(
        SOURCE,
        "schedulers that reorder are faster and scale better than noop and FIFO, whatever the disks",
        format!(
            "V(R) and AS over noop at {most} processes at least 1.1; noop and FIFO gain at most 5 % from {fewest} on"
        ),
        format!("at least {:.2}; at most {:.1} %", gains(most), 100.0 * (flat - 1.0)),
        gains(most) >= 1.1 && flat <= 1.05,
        "one of the schedulers does not gain",
    )
}

fn noop_is_fifo(r: &ReaderResults) -> Claim {
    let (low, high) = span(r.ratios(&all(r), Noop, Fifo));
    Claim::new(
        SOURCE,
        "noop and FIFO are practically identical, as random reads do not merge",
        "identical (within 2 %)",
        format!("{:+.1} to {:+.1} %", 100.0 * (low - 1.0), 100.0 * (high - 1.0)),
        low >= 0.98 && high <= 1.02,
        "requests merged",
    )
}

fn idling_costs(r: &ReaderResults) -> Claim {
    let times = |w| r.ratios(&all(r), w, Cfq);
    let (low, high) = span(TEN.into_iter().filter(|&w| w != Cfq).flat_map(times));
    let (_, shallow) = span(TEN.into_iter().filter(|&w| w != Cfq && w != FifoDeep).flat_map(times));
    Claim::new(
        SOURCE,
        "CFQ that idles is consistently 2 to 15 times slower than the others",
        "2 to 15 times (a quarter off at either end)",
        format!("{low:.1} to {high:.1} times; to {shallow:.1} without deep FIFO"),
        low >= 1.5 && (11.25..=18.75).contains(&high),
        "while CFQ idles, one disk of eight works, and FIFO with a deep queue gains more on eight disks than Carroll's \
         did",
    )
}

fn idling_delays(r: &ReaderResults) -> Claim {
    let more = |f: fn(&super::bench::ArrayResult) -> f64| {
        let of = |s: &'static DiskConfiguration, l: u32| {
            let others = TEN.into_iter().filter(|&w| w != Cfq).map(|w| f(r.at(s, l, w))).fold(0.0, f64::max);
            f(r.at(s, l, Cfq)) / others
        };
        span(r.shapes().flat_map(|s| r.loads.iter().map(move |&l| of(s, l)))).0
    };
    let (means, deviations, maxima) = (more(|m| m.mean_ms), more(|m| m.stddev_ms), more(|m| m.max_ms));
    Claim::new(
        SOURCE,
        "CFQ that idles has very high mean, maximum and standard deviation of latency",
        "very high (each over the largest of the others at least 1.5)",
        format!("at least {means:.1}, {maxima:.1} and {deviations:.1}"),
        means.min(deviations).min(maxima) >= 1.5,
        "another scheduler delays as much",
    )
}

fn without_idling_it_is_below(r: &ReaderResults) -> Claim {
    let rivals = [As, Deadline, Scan, Sstf, FifoDeep];
    let (mut below, mut cases) = (0u32, 0u32);
    for s in r.shapes() {
        for l in r.queued() {
            cases += rivals.len() as u32;
            below += rivals.iter().filter(|&&w| r.ratio(s, l, CfqNoIdle, w) < 1.0).count() as u32;
        }
    }
    let share = 100.0 * f64::from(below) / f64::from(cases.max(1));
    Claim::new(
        SOURCE,
        "CFQ without idling is much faster, yet below AS, deadline, V(R) and deep FIFO in most cases",
        "in most (above 32 processes: in more than half)",
        format!("in {share:.0} % of {cases}"),
        share > 50.0,
        "it is above them",
    )
}

fn without_idling_it_does_not_scale(r: &ReaderResults) -> Claim {
    let (_, most) = r.ends();
    let first = r.queued().next().unwrap_or(most);
    let growth: Vec<f64> = r.shapes().map(|s| r.mib_s(s, most, CfqNoIdle) / r.mib_s(s, first, CfqNoIdle)).collect();
    let (low, high) = span(growth.iter().copied());
    Claim::new(
        SOURCE,
        "CFQ without idling does not scale with the load, and falls in some benchmarks",
        format!("does not ({most} processes over {first}: at most 1.05)"),
        format!("{low:.2} to {high:.2}"),
        high <= 1.05,
        "each time the driver asks for a request, the kernel's CFQ without idling sends one of every process to the \
         sorted dispatch queue, which is an elevator over all that wait; what kept Carroll's from gaining is not known",
    )
}

fn levels_are_alike(r: &ReaderResults) -> Claim {
    let apart = |l: u32| {
        TEN.map(|w| {
            let (low, high) = span([&RAID0_8, &RAID5_8, &RAID6_8].map(|s| r.mib_s(s, l, w)));
            high / low - 1.0
        })
    };
    let (_, worst) = span(r.loads.iter().flat_map(|&l| apart(l)));
    Claim::new(
        SOURCE,
        "RAID 0, 5 and 6 of eight disks are very similar, as reads need no parity",
        "very similar (within 5 %)",
        format!("within {:.1} %", 100.0 * worst),
        worst <= 0.05,
        "parity shifts data over the disks",
    )
}

fn mirrors_gain_little(r: &ReaderResults) -> Claim {
    let gain = mean(r.loads.iter().flat_map(|&l| {
        TEN.map(|w| r.mib_s(&RAID10_8, l, w) / mean([&RAID0_8, &RAID5_8, &RAID6_8].map(|s| r.mib_s(s, l, w))))
    })) - 1.0;
    Claim::new(
        SOURCE,
        "RAID 1+0 of eight disks is only marginally faster, of the order of 5 %",
        "about 5 % (on average 2 to 10 %)",
        format!("{:.1} %", 100.0 * gain),
        (0.02..=0.1).contains(&gain),
        "how Carroll's controller chose among the copies is not known",
    )
}

fn disks_are_alike(r: &ReaderResults) -> Claim {
    let ratios: Vec<f64> = TEN
        .iter()
        .flat_map(|&w| r.loads.iter().map(move |&l| r.mib_s(&DISK, l, w) / r.mib_s(&RAID_DISK, l, w)))
        .collect();
    let (low, high) = span(ratios.iter().copied());
    Claim::new(
        SOURCE,
        "a single disk is about the same on the host's adapter and on the RAID controller",
        "about the same (on average within 3 %, at any point within 10 %)",
        format!(
            "{:+.1} % on average, {:+.1} to {:+.1} %",
            100.0 * (mean(ratios) - 1.0),
            100.0 * (low - 1.0),
            100.0 * (high - 1.0)
        ),
        low >= 0.9 && high <= 1.1,
        "the controller's commands take longer",
    )
}

fn sstf_is_scan(r: &ReaderResults) -> Claim {
    let ratios = r.ratios(&all(r), Sstf, Scan);
    let (low, high) = span(ratios.iter().copied());
    Claim::new(
        SOURCE,
        "V(R) as SSTF and as SCAN are practically the same",
        "the same (within 5 %)",
        format!("{:+.1} to {:+.1} %", 100.0 * (low - 1.0), 100.0 * (high - 1.0)),
        low >= 0.95 && high <= 1.05,
        "a short run is a small sample",
    )
}

fn anticipation_is_found_useless(r: &ReaderResults) -> Claim {
    let (low, high) = span(r.ratios(&all(r), As, AsNoAntic));
    let queued: Vec<f64> = r.shapes().flat_map(|s| r.queued().map(move |l| r.ratio(s, l, As, AsNoAntic))).collect();
    let (low_queued, high_queued) = span(queued);
    Claim::new(
        SOURCE,
        "AS is the same with and without anticipation, as it finds out that it does not help",
        "indistinguishable (within 5 %)",
        format!(
            "{:+.1} to {:+.1} %; above 32 processes {:+.1} to {:+.1} %",
            100.0 * (low - 1.0),
            100.0 * (high - 1.0),
            100.0 * (low_queued - 1.0),
            100.0 * (high_queued - 1.0)
        ),
        low >= 0.95 && high <= 1.05,
        "AS serves another process' request that is nearer than the awaited process' mean seek, and waits for half of \
         the others; with 32 processes that leaves places at the device empty, which costs the more the more disks \
         there are",
    )
}

fn deadline_on_large_arrays(r: &ReaderResults) -> Claim {
    let (fewest, most) = r.ends();
    let large: Vec<&DiskConfiguration> = r.arrays().filter(|s| s.disks >= 4).collect();
    let (share, _) = span(large.iter().flat_map(|s| r.loads.iter().map(|&l| r.ratio(s, l, Deadline, Scan))));
    let (growth, _) = span(large.iter().map(|s| r.mib_s(s, most, Deadline) / r.mib_s(s, fewest, Deadline)));
    Claim::new(
        SOURCE,
        "on larger arrays deadline is similar to V(R) and gains with the load",
        format!("of V(R)'s at least 0.9 everywhere; {most} processes over {fewest} at least 1.2"),
        format!("at least {share:.2}; at least {growth:.2}"),
        share >= 0.9 && growth >= 1.2,
        "its deadlines expire",
    )
}

fn deadline_falls_on_disks(r: &ReaderResults) -> Claim {
    let (_, most) = r.ends();
    let small = [&DISK, &RAID_DISK, &RAID10_2];
    let falls = small.map(|s| {
        let peak = r.loads.iter().map(|&l| r.mib_s(s, l, Deadline)).fold(0.0, f64::max);
        r.mib_s(s, most, Deadline) / peak
    });
    let (low, high) = span(falls);
    Claim::new(
        SOURCE,
        "on single disks and small arrays deadline falls after a certain load (see carroll-deadline)",
        format!("falls (at {most} processes at most 0.95 of its best)"),
        format!("{low:.2} to {high:.2}"),
        high <= 0.95,
        "requests are served before they expire",
    )
}

fn anticipatory_does_not_fall(r: &ReaderResults) -> Claim {
    let (_, most) = r.ends();
    let of_best = |s: &&'static DiskConfiguration| {
        let peak = r.loads.iter().map(|&l| r.mib_s(s, l, As)).fold(0.0, f64::max);
        r.mib_s(s, most, As) / peak
    };
    let (low, _) = span(disks().iter().map(of_best));
    Claim::new(
        SOURCE,
        "AS does not fall there, though its requests expire after 125 ms: its batches are longer",
        format!("does not (at {most} processes at least 0.97 of its best)"),
        format!("at least {low:.2}"),
        low >= 0.97,
        "its batches are cut short",
    )
}

fn deadline_has_the_shorter_maximum(r: &ReaderResults) -> Claim {
    let ratio = |s: &'static DiskConfiguration, l: u32| r.at(s, l, Deadline).max_ms / r.at(s, l, As).max_ms;
    let ratios: Vec<f64> = disks().iter().flat_map(|s| r.queued().map(move |l| ratio(s, l))).collect();
    let (low, high) = span(ratios.iter().copied());
    let average = mean(ratios);
    Claim::new(
        SOURCE,
        "deadline has the shorter maximum latency than AS",
        "shorter (on single disks above 32 processes, on average below 1)",
        format!("{average:.2} on average, {low:.2} to {high:.2}"),
        average < 1.0,
        "AS expires sooner",
    )
}

/// The verdicts on made-up figures: each claim can fail.
#[cfg(test)]
mod tests {
    use super::super::bench::ArrayResult;
    use super::super::readers::CarrollScheduler;
    use super::*;

    fn measured(mib_s: f64) -> ArrayResult {
        ArrayResult { mib_s, mean_ms: 100.0, stddev_ms: 50.0, max_ms: 300.0, unevenness: 0.1 }
    }

    /// The claims that are not reproduced.
    fn failing(cell: impl Fn(&DiskConfiguration, u32, CarrollScheduler) -> ArrayResult) -> Vec<String> {
        let r = ReaderResults::made_up(&[32, 96, 256], cell);
        claims(&r).iter().filter(|c| c.not_because().is_some()).map(|c| c.claim().to_owned()).collect()
    }

    #[test]
    fn claims_of_a_difference_fail_if_all_schedulers_are_equal() {
        let failing = failing(|_, _, _| measured(10.0));
        for part in
            ["deep queue has the highest", "schedulers that reorder", "2 to 15 times", "very high mean", "falls"]
        {
            assert!(failing.iter().any(|c| c.contains(part)), "{part}: {failing:?}");
        }
        assert!(!failing.iter().any(|c| c.contains("practically identical") || c.contains("practically the same")));
    }

    #[test]
    fn claims_of_likeness_fail_if_all_schedulers_differ() {
        let failing = failing(|shape, load, who| {
            let who = TEN.iter().position(|&w| w == who).unwrap_or(0) as f64;
            let shape = shape.key.bytes().map(u32::from).sum::<u32>() % 64;
            measured(10.0 + 5.0 * who + f64::from(shape) + f64::from(load) / 10.0)
        });
        for part in
            ["practically identical", "practically the same", "very similar", "about the same", "does not scale"]
        {
            assert!(failing.iter().any(|c| c.contains(part)), "{part}: {failing:?}");
        }
    }
}
