use super::{extents, offsets, run};
use crate::testing::TestDevice;
use iopilot_block::{Flags, IoPriority, Op, PriorityClass};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn a_sequential_job_reads_its_region_in_order() {
    let log = run("[a]\nrw=read\nbs=64k\noffset=1m\nsize=1m\n");
    assert_eq!(offsets(&log), (0..16).map(|i| (1 << 20) + i * 65536).collect::<Vec<u64>>());
    assert!(log.requests.iter().all(|s| s.arrival.op == Op::Read && s.arrival.flags == Flags::empty()));
    assert_eq!(log.exits.len(), 1);
}

/// The sequence that fio 3.33 logs for this job.
#[test]
fn a_negative_skip_reads_backward_from_the_end() {
    let log = run("[a]\nfilename=x\nrw=read:-8k\nbs=4k\nsize=64k\n");
    let backward: Vec<u64> = std::iter::once(0).chain((0..15).rev().map(|i| i * 4096)).collect();
    assert_eq!(offsets(&log), backward);
}

#[test]
fn a_skip_makes_strides() {
    let log = run("[a]\nfilename=/dev/sdb\nrw=read:8k\nbs=4k\nsize=48k\n");
    assert_eq!(offsets(&log), [0, 12288, 24576, 36864]);
    // At its end a file wraps around until `size` is reached: fio reads the first blocks again.
    let log = run("[a]\nfilename=x\nrw=read:4k\nbs=4k\nsize=32k\n");
    assert_eq!(offsets(&log), [0, 8192, 16384, 24576, 0, 8192, 16384, 24576]);
}

#[test]
fn a_random_job_visits_every_block_once() {
    for generator in ["tausworthe", "lfsr"] {
        let log = run(&format!("[a]\nrw=randread\nbs=4k\nsize=4m\nrandom_generator={generator}\n"));
        let mut seen = offsets(&log);
        let rising = seen.windows(2).filter(|w| w[1] == w[0] + 4096).count();
        assert!(rising < 200, "{rising} of 1024 are sequential under {generator}");
        seen.sort_unstable();
        assert_eq!(seen, (0..1024).map(|i| i * 4096).collect::<Vec<u64>>());
    }
}

#[test]
fn blocks_of_different_sizes_cover_the_region_without_overlap() {
    let log = run("[a]\nrw=randwrite\nbsrange=4k-64k\nsize=4m\n");
    let mut seen = extents(&log);
    seen.sort_unstable();
    let mut at = 0;
    for (start, length) in seen {
        assert_eq!(start, at);
        at += length;
    }
    assert_eq!(at, 4 << 20);
}

#[test]
fn without_a_map_blocks_repeat() {
    let log = run("[a]\nrw=randread\nbs=4k\nsize=4m\nnorandommap\n");
    let mut seen = offsets(&log);
    assert_eq!(seen.len(), 1024);
    seen.sort_unstable();
    seen.dedup();
    // The expected share of distinct blocks is 1 - 1/e.
    assert!((590..700).contains(&seen.len()), "{}", seen.len());
}

#[test]
fn rwmixread_sets_the_share_of_reads() {
    let log = run("[a]\nrw=randrw\nrwmixread=70\nbs=4k\nsize=32m\n");
    let reads = log.requests.iter().filter(|s| s.arrival.op == Op::Read).count() as f64;
    assert!((reads / log.requests.len() as f64 - 0.7).abs() < 0.02, "{reads}");
    let writes = log.requests.iter().filter(|s| s.arrival.op == Op::Write);
    assert!(writes.clone().count() > 0 && writes.clone().all(|s| s.arrival.flags == Flags::SYNC | Flags::IDLE));
}

#[test]
fn a_mixed_sequential_job_has_a_position_for_each_direction() {
    let log = run("[a]\nrw=rw\nbs=4k\nsize=1m\n");
    for op in [Op::Read, Op::Write] {
        let of_op = log.requests.iter().filter(|s| s.arrival.op == op).map(|s| s.arrival.lba.0);
        assert!(of_op.eq((0..log.requests.iter().filter(|s| s.arrival.op == op).count() as u64).map(|i| i * 8)));
    }
    assert_eq!(log.requests.len(), 256);
}

#[test]
fn random_n_takes_a_new_offset_every_n_requests() {
    let sequential = offsets(&run("[a]\nrw=randread:8\nbs=4k\nsize=8m\nnorandommap\nio_size=1m\n"));
    let jumps = sequential.windows(2).filter(|w| w[1] != w[0] + 4096).count();
    assert_eq!(jumps, 256 / 8);
    let identical =
        offsets(&run("[a]\nrw=randread:8\nrw_sequencer=identical\nbs=4k\nsize=8m\nnorandommap\nio_size=1m\n"));
    assert_eq!(identical.windows(2).filter(|w| w[1] != w[0]).count(), 256 / 8);
}

#[test]
fn percentage_random_mixes_runs_into_random_jobs() {
    let seen = offsets(&run("[a]\nrw=randread\npercentage_random=25\nbs=4k\nsize=512m\nio_size=16m\nnorandommap\n"));
    let jumps = seen.windows(2).filter(|w| w[1] != w[0] + 4096).count() as f64 / seen.len() as f64;
    assert!((jumps - 0.25).abs() < 0.03, "{jumps}");
}

#[test]
fn bssplit_sets_the_shares_of_block_sizes_for_reads_and_writes() {
    let log = run("[a]\nrw=randrw\nbssplit=4k/60:64k/40,8k\nsize=64m\nnorandommap\n");
    let mut counts: BTreeMap<(bool, u64), usize> = BTreeMap::new();
    for s in &log.requests {
        *counts.entry((s.arrival.op == Op::Read, s.arrival.sectors.bytes())).or_default() += 1;
    }
    let reads = (counts[&(true, 4096)] + counts[&(true, 65536)]) as f64;
    assert!((counts[&(true, 4096)] as f64 / reads - 0.6).abs() < 0.03);
    assert!(counts[&(false, 8192)] > 100 && counts.len() == 3, "{counts:?}");
}

#[test]
fn bsrange_is_uniform_over_multiples_of_the_smallest() {
    let log = run("[a]\nrw=randread\nbsrange=4k-16k\nsize=64m\nnorandommap\n");
    for multiple in 1..=4 {
        let share = log.requests.iter().filter(|s| s.arrival.sectors.0 == multiple * 8).count() as f64;
        assert!((share / log.requests.len() as f64 - 0.25).abs() < 0.03, "{multiple}: {share}");
    }
}

#[test]
fn zipf_hits_few_blocks_often() {
    let log = run("[a]\nrw=randread\nbs=4k\nsize=64m\nrandom_distribution=zipf:1.2\nio_size=32m\n");
    let mut hits: BTreeMap<u64, usize> = BTreeMap::new();
    offsets(&log).into_iter().for_each(|at| *hits.entry(at).or_default() += 1);
    let mut hits: Vec<usize> = hits.into_values().collect();
    hits.sort_unstable_by(|a, b| b.cmp(a));
    let top: usize = hits[..hits.len() / 100].iter().sum();
    assert!(top as f64 / 8192.0 > 0.4, "the first 1% get {top} of 8192");
}

#[test]
fn blockalign_sets_where_random_blocks_start_and_turns_the_map_off() {
    let seen = offsets(&run("[a]\nrw=randread\nbs=64k\nba=4k\nsize=16m\n"));
    assert!(seen.iter().all(|at| at % 4096 == 0 && at + 65536 <= 16 << 20));
    assert!(seen.iter().filter(|at| *at % 65536 != 0).count() > seen.len() / 2);
}

#[test]
fn trims_are_discards_one_at_a_time() {
    let log = run("[a]\nrw=randtrim\nbs=64k\nsize=1m\nioengine=libaio\niodepth=8\n");
    assert!(log.requests.iter().all(|s| s.arrival.op == Op::Discard));
    assert_eq!((log.requests.len(), log.depth[&1000]), (16, 1));
}

#[test]
fn fsync_flushes_after_every_n_writes_and_waits() {
    let log = run("[a]\nrw=write\nbs=4k\nsize=64k\nfsync=4\nend_fsync=1\n");
    let ops: Vec<Op> = log.requests.iter().map(|s| s.arrival.op).collect();
    let four = [Op::Write, Op::Write, Op::Write, Op::Write, Op::Flush];
    // The last four writes end the job: only end_fsync flushes them.
    assert_eq!(ops, four.repeat(4));
    assert!(log.requests.windows(2).all(|w| w[1].at >= w[0].done));
    let log = run("[a]\nrw=randwrite\nbs=4k\nsize=1m\nfsync=8\nioengine=libaio\niodepth=16\n");
    for (i, flush) in log.requests.iter().enumerate().filter(|(_, s)| s.arrival.op == Op::Flush) {
        assert!(log.requests[i + 1..].iter().all(|s| s.at >= flush.done), "libaio's fsync stops the job");
    }
    let log = run("[a]\nrw=write\nbs=4k\nsize=64k\nsync=1\n");
    assert!(log.requests.iter().all(|s| s.arrival.flags.contains(Flags::FUA)));
}

#[test]
fn priorities_are_those_of_ionice() {
    let priority = |options: &str| run(&format!("[a]\nsize=4k\n{options}\n")).requests[0].arrival.priority;
    let of = |class, level| IoPriority { class, level };
    assert_eq!(priority(""), IoPriority::default());
    assert_eq!(priority("prio=2"), of(PriorityClass::BestEffort, 2));
    assert_eq!(priority("prioclass=1\nprio=7"), of(PriorityClass::RealTime, 7));
    assert_eq!(priority("prioclass=idle"), of(PriorityClass::Idle, 0));
    assert_eq!(priority("nice=-20"), of(PriorityClass::None, 0));
    let log = run("[a]\nrw=randread\nbs=4k\nsize=16m\ncmdprio_percentage=20\nioengine=libaio\n");
    let raised = log.requests.iter().filter(|s| s.arrival.priority.class == PriorityClass::RealTime).count();
    assert!((raised as f64 / log.requests.len() as f64 - 0.2).abs() < 0.03, "{raised}");
}

#[test]
fn cpus_are_those_allowed() {
    let cpus = |options: &str| -> Vec<u16> {
        let log = run(&format!("[a]\nsize=4k\nnumjobs=3\n{options}\n"));
        log.requests.iter().map(|s| s.arrival.cpu).collect()
    };
    assert_eq!(cpus(""), [0, 1, 2]);
    assert_eq!(cpus("cpus_allowed=4,6-7\ncpus_allowed_policy=split"), [4, 6, 7]);
    assert_eq!(cpus("cpumask=0x20"), [5, 5, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The load is as specified, whatever the device does.
    #[test]
    fn every_job_issues_its_bytes_within_its_region_and_depth(
        pattern in proptest::sample::select(vec!["read", "write", "rw", "randread", "randwrite", "randrw", "randread:4", "read:-8k"]),
        engine in proptest::sample::select(vec!["psync", "libaio", "io_uring"]),
        (depth, batch, complete, low) in (1u64..20, 0u64..8, 0u64..8, 0u64..20),
        (jobs, blocks, step) in (1u64..4, 8u64..80, 0u64..3),
        think in proptest::sample::select(vec!["", "thinktime=500", "thinktime=500\nthinktime_blocks=3", "rate_iops=2000"]),
        (seed, blocking) in (0u64..100, proptest::sample::select(vec![0.0, 0.3])),
    ) {
        let (size, step) = (blocks * 4096, (step * 4) << 20);
        let text = format!(
            "[a]\nfilename=/dev/sdb\nrw={pattern}\nbs=4k\nsize={size}\noffset=1m\noffset_increment={step}\nioengine={engine}\niodepth={depth}\n\
             iodepth_batch={batch}\niodepth_batch_complete={complete}\niodepth_low={low}\nnumjobs={jobs}\n{think}\n"
        );
        let device = TestDevice { seed, blocking, ..TestDevice::default() };
        let log = device.run(&mut super::source(&text));
        let depth = if engine == "psync" { 1 } else { depth };
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        for s in &log.requests {
            let clone = u64::from(s.arrival.process.0 - 1000);
            let start = (1 << 20) + step * clone;
            let at = s.arrival.lba.0 * 512;
            prop_assert!(at >= start && at + s.arrival.sectors.bytes() <= start + size);
            *bytes.entry(s.arrival.process.0).or_default() += s.arrival.sectors.bytes();
        }
        prop_assert_eq!(bytes.into_values().collect::<Vec<_>>(), vec![size; jobs as usize]);
        prop_assert!(log.depth.values().all(|&d| d as u64 <= depth));
        if blocking == 0.0 && think.is_empty() && blocks >= depth {
            prop_assert!(log.depth.values().all(|&d| d as u64 == depth), "{:?}", log.depth);
        }
        let most = if batch == 0 || batch > depth { depth } else { batch };
        prop_assert!(log.batches.iter().all(|&b| b as u64 <= most));
        prop_assert_eq!(log.exits.len() as u64, jobs);
    }
}
