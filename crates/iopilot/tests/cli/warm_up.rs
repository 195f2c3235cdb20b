//! `--warm-up`: a beginning that the results leave out.

use crate::Sandbox;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn requests_of_the_warm_up_do_not_count() {
    let s = Sandbox::new();
    let line = "simulate -w small.trace --format disksim -d hd-250-32 -s deadline --json";
    let whole = json(&s.ok(line))["runs"][0].clone();
    let later = json(&s.ok(&format!("{line} --warm-up 100 --requests-out out.parquet")))["runs"][0].clone();
    assert_eq!((whole["requests"].as_u64(), later["requests"].as_u64()), (Some(400), Some(300)));
    assert_eq!(json(&s.ok("trace stat out.parquet --json"))["requests"], 400, "the trace has all");
    // Requests arrive every 4 ms.
    let timed = json(&s.ok(&format!("{line} --warm-up 1.2s")))["runs"][0].clone();
    assert!((90..=110).contains(&timed["requests"].as_u64().unwrap()), "{timed}");
    let (all, some) = (whole["elapsed_s"].as_f64().unwrap(), timed["elapsed_s"].as_f64().unwrap());
    assert!((1.15..=1.2001).contains(&(all - some)), "{all} and {some}");
}

#[test]
fn a_comparison_leaves_it_out_of_each_run() {
    let s = Sandbox::new();
    let line = "compare small.trace --format disksim -d hd-250-32 -s deadline,noop --warm-up 300 --json";
    let runs = json(&s.ok(line))["runs"].as_array().unwrap().clone();
    assert!(runs.iter().all(|run| run["requests"] == 100), "{runs:?}");
}

#[test]
fn of_a_host_only_what_comes_later_counts() {
    let s = Sandbox::new();
    s.write("m.toml", include_str!("../../../../examples/machines/ncr-3433-1995.toml"));
    let line = "simulate -w synrgen:users=2:tasks=4 -m m.toml -s clook --json";
    let host = |text: &str| json(text)["runs"][0]["host"].clone();
    let (whole, later) = (host(&s.ok(line)), host(&s.ok(&format!("{line} --warm-up 40s"))));
    let tasks = |host: &Value| host["tasks"].as_array().unwrap().clone();
    let (all, some) = (tasks(&whole), tasks(&later));
    assert!(!some.is_empty() && some.len() < all.len(), "{} of {} tasks", some.len(), all.len());
    assert!(some.iter().all(|task| all.contains(task)), "tasks are what they were");
    let elapsed = |host: &Value| host["elapsed_s"].as_f64().unwrap();
    assert!((elapsed(&whole) - elapsed(&later) - 40.0).abs() < 1e-6);
    let times: f64 = later["times"].as_object().unwrap().values().map(|time| time.as_f64().unwrap()).sum();
    assert!((times - elapsed(&later)).abs() < 1e-6, "all time is something: {later}");
    assert!(later["cache"]["hits"].as_u64().unwrap() < whole["cache"]["hits"].as_u64().unwrap());
    let tasks_end = |host: &Value| host["tasks_end_s"].as_f64().unwrap();
    assert!((tasks_end(&whole) - tasks_end(&later) - 40.0).abs() < 1e-6);
    assert_eq!(whole["after_tasks"], later["after_tasks"]);
    let syncer = later["processes"].as_array().unwrap().iter().find(|group| group["name"] == "syncer").unwrap();
    assert!((syncer["life_s"].as_f64().unwrap() - elapsed(&later)).abs() < 1e-6, "{syncer}");
}

#[test]
fn one_that_is_longer_than_the_run_is_refused() {
    let s = Sandbox::new();
    for (warm_up, told) in [("1h", "warm-up: got 3600.000 s, expected"), ("400", "warm-up: got 400 requests, expected")]
    {
        for command in ["simulate -w small.trace -s noop", "compare small.trace -s noop,deadline"] {
            let told_us = s.refused(&format!("{command} --format disksim -d hd-250-32 --warm-up {warm_up}"));
            assert!(told_us.contains(told), "{told_us}");
        }
    }
    let wrong = s.run("simulate -w small.trace -d hd-250-32 --warm-up 10");
    assert_eq!(wrong.code, 0, "{}", wrong.stderr);
    for text in ["0", "1.5", "soon"] {
        let wrong = s.run(&format!("simulate -w small.trace -d hd-250-32 --warm-up {text}"));
        assert_eq!(wrong.code, 2, "{}", wrong.stderr);
        assert!(wrong.stderr.contains("--warm-up"), "{}", wrong.stderr);
    }
    let both = s.run("compare synrgen -d hp-c2247 --models open --warm-up 10");
    assert_eq!(both.code, 2, "{}", both.stderr);
}
