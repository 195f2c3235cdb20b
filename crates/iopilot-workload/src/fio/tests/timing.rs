use super::{parse, run, source};
use crate::FioSource;
use crate::testing::{SourceLog, TestDevice};
use iopilot_block::Nanos;

fn seconds(s: f64) -> Nanos {
    Nanos::from_secs_f64(s)
}

/// Times between the completion of a request and the issue of the next.
fn gaps(log: &SourceLog) -> Vec<Nanos> {
    log.requests.windows(2).map(|w| w[1].at.since(w[0].done)).collect()
}

#[test]
fn a_synchronous_job_issues_when_the_last_request_is_done() {
    assert!(gaps(&run("[a]\nsize=1m\n")).iter().all(|&gap| gap == Nanos::ZERO));
}

#[test]
fn thinktime_passes_after_completions() {
    assert!(gaps(&run("[a]\nsize=64k\nthinktime=300\n")).iter().all(|&gap| gap == Nanos::from_micros(300)));
    let every_four = gaps(&run("[a]\nsize=128k\nthinktime=2ms\nthinktime_blocks=4\n"));
    for (i, gap) in every_four.into_iter().enumerate() {
        assert_eq!(gap, if i % 4 == 3 { Nanos::from_millis(2) } else { Nanos::ZERO });
    }
    // An asynchronous job first waits for everything in flight.
    let log = run(
        "[a]\nsize=256k\nioengine=libaio\niodepth=8\nthinktime=5ms\nthinktime_blocks=8\nthinktime_blocks_type=issue\n",
    );
    for (i, s) in log.requests.iter().enumerate().skip(8).step_by(8) {
        let before = log.requests[..i].iter().map(|s| s.done).max().unwrap();
        assert_eq!(s.at.since(before), Nanos::from_millis(5));
    }
}

#[test]
fn thinktime_iotime_alternates_work_and_rest() {
    let text = "[a]\nsize=1g\nruntime=10\nthinktime=1s\nthinktime_iotime=2s\n";
    let log = TestDevice::fixed(10).run(&mut source(text));
    let rests: Vec<Nanos> = gaps(&log).into_iter().filter(|&gap| gap > Nanos::ZERO).collect();
    assert_eq!(rests, [seconds(1.0), seconds(1.0), seconds(1.0)]);
    assert!((700..=710).contains(&log.requests.len()), "{}", log.requests.len());
}

#[test]
fn rate_iops_is_kept_where_the_device_can() {
    for (options, mean_ms) in
        [("rate_iops=100", 10.0), ("rate=409600", 10.0), ("rate_iops=50\nioengine=libaio\niodepth=4", 20.0)]
    {
        let log = TestDevice::fixed(1).run(&mut source(&format!("[a]\nrw=randread\nbs=4k\nsize=2m\n{options}\n")));
        let span = log.requests.last().unwrap().at.as_millis_f64();
        assert!((span / (log.requests.len() - 1) as f64 - mean_ms).abs() < 0.1, "{options}: {span}");
    }
    // A device that is too slow is kept busy, and the job catches up without a pause.
    let log = TestDevice::fixed(20).run(&mut source("[a]\nbs=4k\nsize=256k\nrate_iops=100\n"));
    assert!(gaps(&log).iter().all(|&gap| gap == Nanos::ZERO));
}

#[test]
fn a_poisson_rate_has_exponential_gaps_of_the_right_mean() {
    let text = "[a]\nrw=randread\nbs=4k\nsize=32m\nrate_iops=100\nrate_process=poisson\n";
    let log = TestDevice::fixed(0).run(&mut source(text));
    let gaps: Vec<f64> = log.requests.windows(2).map(|w| w[1].at.since(w[0].at).as_millis_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((mean - 10.0).abs() < 0.3 && (deviation - 10.0).abs() < 0.5, "{mean} {deviation}");
}

#[test]
fn mixed_rates_hold_for_each_direction() {
    let text = "[a]\nrw=randrw\nbs=4k\nsize=512m\nruntime=20\nrate_iops=100,25\n";
    let log = TestDevice::fixed(1).run(&mut source(text));
    let reads = log.requests.iter().filter(|s| s.arrival.op == iopilot_block::Op::Read).count();
    let writes = log.requests.len() - reads;
    assert!((1990..=2010).contains(&reads) && (490..=510).contains(&writes), "{reads} {writes}");
}

#[test]
fn ignoring_thinktime_lets_a_rated_job_not_catch_up() {
    let text = |ignore: u32| {
        format!(
            "[a]\nbs=4k\nsize=1g\nruntime=10\nrate_iops=100\nthinktime=1s\nthinktime_blocks=100\nrate_ignore_thinktime={ignore}\n"
        )
    };
    let count = |ignore| TestDevice::fixed(1).run(&mut source(&text(ignore))).requests.len();
    // 100 requests take a second of rate or, catching up, 0.1 s of service; then a second of thought.
    assert!((500..=600).contains(&count(1)), "{}", count(1));
    assert!(count(0) > 850, "{}", count(0));
}

#[test]
fn runtime_ends_a_job_and_time_based_keeps_it_going() {
    let ends = |text: &str| {
        let log = TestDevice::fixed(10).run(&mut source(text));
        (log.requests.len(), log.exits[0].0)
    };
    assert_eq!(ends("[a]\nsize=1g\nruntime=2\n"), (200, seconds(2.0)));
    assert_eq!(ends("[a]\nsize=64k\nruntime=2\n"), (16, seconds(0.16)));
    assert_eq!(ends("[a]\nsize=64k\nruntime=2\ntime_based\n"), (200, seconds(2.0)));
    assert_eq!(ends("[a]\nsize=64k\nrw=randread\nruntime=2\ntime_based\nramp_time=1\n"), (300, seconds(3.0)));
    assert_eq!(ends("[a]\nsize=1g\nruntime=2\nthinktime=1500ms\n"), (2, seconds(2.0)));
}

#[test]
fn counts_and_sizes_end_a_job() {
    let count = |options: &str| run(&format!("[a]\nbs=4k\nsize=1m\n{options}\n")).requests.len();
    assert_eq!(count(""), 256);
    assert_eq!(count("number_ios=10"), 10);
    assert_eq!(count("io_size=64k"), 16);
    assert_eq!(count("io_size=3m"), 768);
    assert_eq!(count("io_size=3m\nrw=randread"), 768);
    assert_eq!(count("io_size=50%"), 128);
    assert_eq!(count("loops=3"), 768);
    assert_eq!(count("loops=2\nrw=randrw\nioengine=libaio\niodepth=8"), 512);
    assert_eq!(run("[a]\nsize=25%\nbs=1m\n").requests.len(), 256);
}

#[test]
fn the_same_offsets_come_in_every_loop_unless_randrepeat_is_off() {
    let halves = |randrepeat: u32| {
        let log = run(&format!("[a]\nrw=randread\nsize=1m\nloops=2\nrandrepeat={randrepeat}\n"));
        let offsets = super::offsets(&log);
        (offsets[..256].to_vec(), offsets[256..].to_vec())
    };
    let (first, second) = halves(1);
    assert_eq!(first, second);
    let (first, second) = halves(0);
    assert_ne!(first, second);
}

#[test]
fn startdelay_counts_from_the_start_of_the_run() {
    let log = run("[a]\nsize=4k\n[b]\nsize=4k\nstartdelay=3\n[c]\nsize=4k\nstartdelay=1-2\n");
    let at = |process| log.requests.iter().find(|s| s.arrival.process.0 == process).unwrap().at;
    assert_eq!((at(1000), at(1001)), (Nanos::ZERO, seconds(3.0)));
    assert!((seconds(1.0)..=seconds(2.0)).contains(&at(1002)));
}

#[test]
fn stonewall_and_wait_for_keep_the_order() {
    let log =
        run("[a]\nsize=1m\nnumjobs=2\n[b]\nsize=64k\nstonewall\nnumjobs=2\n[c]\nsize=64k\n[d]\nsize=4k\nwait_for=c\n");
    let times = |process: u32| {
        let of = log.requests.iter().filter(|s| s.arrival.process.0 == process);
        (of.clone().map(|s| s.at).min().unwrap(), of.map(|s| s.done).max().unwrap())
    };
    let wall = times(1000).1.max(times(1001).1);
    for process in [1002, 1003, 1004] {
        assert_eq!(times(process).0, wall, "clones and later jobs start together behind the wall");
    }
    assert_eq!(times(1005).0, times(1004).1);
    assert_eq!(log.exits.len(), 6);
}

#[test]
fn exitall_ends_the_group() {
    let text =
        "[global]\nfilename=/dev/sdb\n[long]\nsize=1g\n[short]\nsize=64k\nexitall\n[after]\nsize=64k\nstonewall\n";
    let log = TestDevice::fixed(1).run(&mut source(text));
    let count = |process| log.requests.iter().filter(|s| s.arrival.process.0 == process).count();
    assert_eq!((count(1001), count(1002)), (16, 16));
    assert!((16..=17).contains(&count(1000)), "{}", count(1000));
}

#[test]
fn exit_what_stonewall_ends_running_jobs_but_not_those_behind_the_stonewall() {
    let text = "[global]\nfilename=/dev/sdb\nexitall\n[slow]\nrw=randread\nnumber_ios=5\nexit_what=stonewall\n\
                [fast]\nrw=randread\nsize=64m\n[after]\nstonewall\nrw=read\nsize=1m\n";
    let log = TestDevice::fixed(1).run(&mut source(text));
    let count = |process| log.requests.iter().filter(|s| s.arrival.process.0 == process).count();
    assert_eq!((count(1000), count(1002)), (5, 256));
    assert!((5..=6).contains(&count(1001)), "{}", count(1001));
}

#[test]
fn iodepth_low_lets_the_queue_drain_and_batches_go_out_together() {
    let text = "[a]\nrw=randread\nsize=1m\nioengine=libaio\niodepth=16\niodepth_low=4\niodepth_batch=4\n";
    let log = TestDevice::default().run(&mut source(text));
    assert!(log.batches.iter().all(|&b| b == 4), "{:?}", log.batches);
    // After the first 16, the next are issued only when 12 are done.
    let done_by = |at: Nanos| log.requests.iter().filter(|s| s.done <= at).count();
    assert_eq!(done_by(log.requests[16].at), 12);
    // Requests of a job that submits one at a time are not plugged together.
    let log = run("[a]\nrw=randread\nsize=1m\nioengine=libaio\niodepth=16\n");
    assert!(log.batches.iter().all(|&b| b == 1));
}

#[test]
fn io_uring_counts_a_flush_as_a_request_and_libaio_does_not() {
    let text = |engine: &str| format!("[a]\nrw=randwrite\nsize=1m\nioengine={engine}\niodepth=4\nfsync=2\n");
    for engine in ["libaio", "io_uring"] {
        let log = TestDevice::default().run(&mut source(&text(engine)));
        let flushes = log.requests.iter().filter(|s| s.arrival.sectors.0 == 0).count();
        assert_eq!((log.requests.len() - flushes, flushes), (256, 127), "{engine}");
        assert!(log.depth[&1000] <= 5);
    }
}

#[test]
fn a_source_can_be_cloned_in_the_middle_of_a_run() {
    let jobs = parse("[a]\nrw=randread\nsize=1m\n");
    let source = FioSource::new(&jobs, super::CAPACITY, 1).unwrap();
    let (mut a, mut b) = (source.clone(), source);
    assert_eq!(TestDevice::default().run(&mut a), TestDevice::default().run(&mut b));
    assert_eq!(a.processes().count(), 1);
}
