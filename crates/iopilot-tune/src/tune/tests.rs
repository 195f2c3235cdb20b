//! The whole search, on loads whose best settings are known.

use super::*;
use iopilot_workload::WorkloadOptions;

/// Four tasks that read a file each, in order: who stays with one for a while wins.
const STREAMS: &str = "[streams]\nfilename=/dev/x\nioengine=sync\ndirect=1\nrw=read\nbs=64k\nnumjobs=4\n\
                       offset_increment=20g\nsize=10g\nio_size=16m\n";
/// Random reads, with more and more of them.
const RANDOM: &str =
    "[a]\nfilename=/dev/x\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=16\nsize=8g\nnumber_ios=20000\n";

fn load(disk: &str, jobs: &str) -> TuneLoad {
    let machine = Machine::for_disk(disk).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.fio");
    std::fs::write(&path, jobs).unwrap();
    let workload = Workload::load(&path, &WorkloadOptions::default(), machine.capacity()).unwrap();
    TuneLoad { machine, workload, halves: None }
}

fn options(requests: u64) -> TuneOptions {
    TuneOptions { objective: None, requests, seed: 7, each_model: false, redcap: false }
}

fn tuned(loads: &[TuneLoad], options: &TuneOptions) -> TuneReport {
    tune(loads, options, iopilot_sim::simulate, &Progress::default()).unwrap()
}

#[test]
fn what_is_known_to_be_best_is_found_within_the_budget() {
    let report = tuned(&[load("hd-500-16", STREAMS)], &options(300_000));
    assert!(report.requests <= report.budget_requests, "{report:?}");
    let class = &report.classes[0];
    let best = &class.loads[0].rows[class.best];
    // Idling keeps the arm with one stream; raised weights of the others interrupt it.
    assert!(
        best.settings.to_string().contains("bfq") && best.settings.to_string().contains("low_latency=0"),
        "{best:?}"
    );
    assert!(class.gain_percent > 100.0 && best.beyond_spread, "{best:?}");
    assert!(class.shell.contains(&"echo 0 > /sys/block/sdX/queue/iosched/low_latency".to_owned()), "{:?}", class.shell);
    // On other seeds it is as good.
    let held_out = class.held_out.as_ref().unwrap();
    assert_eq!(held_out.judged_on, "other seeds");
    assert!(held_out.luck_points < 0.2 * held_out.chosen_gain_percent, "{held_out:?}");
    // The front begins with the most throughput, and ends with the least waiting.
    let row = |at: &usize| &class.loads[0].rows[*at];
    let front: Vec<_> = class.front.iter().map(row).collect();
    let most = class.loads[0].rows.iter().map(|row| row.throughput_mb_s).fold(0.0, f64::max);
    assert_eq!(front[0].throughput_mb_s, most);
    assert!(front.windows(2).all(|pair| pair[0].wait_ms_p99 > pair[1].wait_ms_p99), "{front:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let loads = [load("hd-500-16", STREAMS)];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| format!("{:?}", tuned(&loads, &options(100_000))))
    };
    assert_eq!(on(1), on(2));
}

#[test]
fn each_class_of_disks_has_its_own_settings() {
    let loads = [load("hd-500-16", RANDOM), load("wd1200bb", RANDOM), load("ssd-160", RANDOM)];
    let report = tuned(&loads, &options(150_000));
    let classes: Vec<(bool, usize)> =
        report.classes.iter().map(|class| (class.class.rotational, class.loads.len())).collect();
    assert_eq!(classes, [(true, 2), (false, 1)]);
    // The budget is too small for the load.
    assert!(report.classes.iter().flat_map(|class| &class.loads).all(|load| load.clipped && load.requests < 20_000));
    let each = tuned(&loads, &TuneOptions { each_model: true, ..options(150_000) });
    assert_eq!(each.classes.len(), 3);
    assert!(each.classes[1].udev_rule.contains("*WD1200BB*"), "{}", each.classes[1].udev_rule);
}

#[test]
fn a_budget_that_is_too_small_is_refused() {
    let loads = [load("hd-500-16", RANDOM), load("wd1200bb", RANDOM)];
    let error = tune(&loads, &options(63_999), iopilot_sim::simulate, &Progress::default()).unwrap_err().to_string();
    assert!(error.contains("at least 64000 requests"), "{error}");
}

#[test]
fn throughput_is_not_bought_with_a_starving_reader_unless_asked_for() {
    let jobs = "[global]\nfilename=/dev/x\nioengine=libaio\ndirect=1\nruntime=20\ntime_based\n\
                [deep]\nrw=read\nbs=1m\niodepth=10\nsize=4g\n[reader]\nrw=randread\nbs=4k\niodepth=1\noffset=8g\nsize=4g\n";
    let of = |objective| {
        let report = tuned(&[load("hd-500-16", jobs)], &TuneOptions { objective, ..options(200_000) });
        let class = &report.classes[0];
        let rows = &class.loads[0].rows;
        let (best, defaults) = (&rows[class.best], &rows[class.defaults]);
        (best.wait_ms_p99 / defaults.wait_ms_p99, best.throughput_mb_s / defaults.throughput_mb_s)
    };
    // Beyond twice the wait, a longer one costs as much as less throughput.
    let (waits, serves) = of(None);
    assert!(waits <= 2.0 * serves * 1.01, "{waits} {serves}");
    let (waits, serves) = of(Some(Measure::Throughput));
    assert!(waits > 2.0 * serves * 1.01, "{waits} {serves}");
}

#[test]
fn an_objective_is_obeyed() {
    let of = |objective| {
        let report =
            tuned(&[load("hd-500-16", RANDOM)], &TuneOptions { objective: Some(objective), ..options(200_000) });
        let class = report.classes[0].clone();
        (class.loads[0].measure.clone(), class.loads[0].rows[class.best].clone())
    };
    let (measure, fast) = of(Measure::Throughput);
    let (tail_measure, short) = of(Measure::TailWaiting);
    assert_eq!((measure.as_str(), tail_measure.as_str()), ("throughput_mb_s", "wait_ms_p99"));
    assert!(
        short.wait_ms_p99 <= fast.wait_ms_p99 && short.throughput_mb_s <= fast.throughput_mb_s,
        "{short:?} {fast:?}"
    );
}
