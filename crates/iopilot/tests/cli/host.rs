//! Processes that share CPUs: `preset` in a machine's `[host]`.

use crate::Sandbox;
use serde_json::Value;

/// Two readers, half of whose requests are read-ahead, and a writer whose requests no process waits for.
const GENERATORS: &str = r#"
requests = 1500
[[generator]]
name = "reader"
processes = 2
read_probability = 1.0
sequential_probability = 0.5
time_critical_probability = 0.5
time_limited_probability = 0.5
time_limit_ms = 20.0
general_time_ms = 8.0
size_sectors = 8
[[generator]]
name = "writer"
read_probability = 0.0
general_time_ms = 20.0
size_sectors = 8
"#;

fn sandbox(host: &str) -> Sandbox {
    let s = Sandbox::new();
    s.write("g.toml", GENERATORS);
    s.write("m.toml", format!("disk = \"hp-c2247\"\n[host]\n{host}\n"));
    s
}

#[test]
fn tasks_share_a_cpu_and_are_judged_by_the_time_that_they_take() {
    let s = sandbox("cpus = 1\npreset = \"1995\"");
    let compare = "compare g.toml --machine m.toml --scheduler fcfs,sptf --replays 1 --json";
    let compared: Value = serde_json::from_str(&s.ok(compare)).unwrap();
    assert_eq!(compared["verdict"]["measure"], "task_s_mean");
    let text = compared["verdict"]["text"].as_str().unwrap();
    assert!(text.starts_with("sptf is best by the time that tasks take"), "{text}");
    let host = &compared["runs"][0]["host"];
    let tasks = host["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 3);
    for task in tasks {
        let times = task["times"].as_object().unwrap();
        let sum: f64 = times.values().map(|time| time.as_f64().unwrap()).sum();
        let elapsed = task["elapsed_s"].as_f64().unwrap();
        assert!((sum - elapsed).abs() < 1e-6, "all time is something: {task}");
    }
    let classes = host["classes"].as_array().unwrap();
    let of = |op: &str| -> u64 {
        classes.iter().filter(|c| c["op"] == op).map(|class| class["requests"].as_u64().unwrap()).sum()
    };
    let (reads, writes) = (of("read"), of("write"));
    assert_eq!(reads + writes, 1500);
    // A read that hits the disk's cache interrupts once, another three times, a write six times.
    let interrupts = reads + 6 * writes..=3 * reads + 6 * writes;
    assert!(interrupts.contains(&host["interrupts"].as_u64().unwrap()), "{host}");
    assert!(host["limits"]["satisfied_percent"].as_f64().unwrap() < 100.0, "{host}");

    let (tasks_end, elapsed) = (host["tasks_end_s"].as_f64().unwrap(), host["elapsed_s"].as_f64().unwrap());
    assert!(tasks_end <= elapsed && host["after_tasks"]["dirty_pages"] == 0, "{host}");
    let processes = host["processes"].as_array().unwrap();
    let counts: Vec<_> = processes.iter().map(|group| (&group["name"], &group["kind"], &group["count"])).collect();
    let named = |name: &str, count: u64| (Value::from(name), Value::from("task"), Value::from(count));
    let expected = [named("reader", 2), named("writer", 1)];
    assert!(counts.into_iter().eq(expected.iter().map(|(name, kind, count)| (name, kind, count))), "{processes:?}");
    let over_time = &host["over_time"];
    let shares = |key: &str| over_time[key].as_array().unwrap().iter().map(|share| share.as_f64().unwrap());
    let mut sums = vec![0.0; shares("idle").count()];
    for key in ["computation", "other", "false_computation", "false_idle", "idle"] {
        sums.iter_mut().zip(shares(key)).for_each(|(sum, share)| *sum += share);
    }
    assert!((64..=128).contains(&sums.len()) && sums.iter().all(|sum| (sum - 1.0).abs() < 1e-9), "{over_time}");
    assert!(over_time["dirty_pages"].is_null(), "there are no files");
    let storage = &compared["runs"][0]["storage"];
    assert!(storage["idle_periods"].as_u64().unwrap() > 0 && storage["seek_cylinders_mean"].as_f64().unwrap() > 1.0);

    let shown = s.ok("simulate --workload g.toml --machine m.toml --scheduler sptf");
    for fact in ["CPUs", "false idle", "time limits", "I/O waits", "reader (2)", "both ends", "disk idle"] {
        assert!(shown.contains(fact), "{shown}");
    }
}

#[test]
fn with_a_faster_cpu_more_of_the_time_is_falsely_idle() {
    let share = |speed: &str| {
        let s = sandbox(&format!("cpus = 1\npreset = \"1995\"\nspeed = {speed}"));
        let run: Value =
            serde_json::from_str(&s.ok("simulate --workload g.toml --machine m.toml --scheduler fcfs --json")).unwrap();
        let host = &run["runs"][0]["host"];
        host["times"]["false_idle_s"].as_f64().unwrap() / host["elapsed_s"].as_f64().unwrap()
    };
    let (slow, fast) = (share("1.0"), share("10.0"));
    assert!(fast > slow + 0.1, "{slow} and {fast}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (host, line) in [
        ("speed = 2.0", "m.toml:3: host.speed: got no preset, expected a preset"),
        ("preset = \"1994\"", "m.toml:3: preset: got 1994, expected a known name; did you mean `1995`?"),
        (
            "preset = \"1995\"\nscheduler = \"svr5\"",
            "m.toml:4: scheduler: got svr5, expected a known name; did you mean `svr4`?",
        ),
        ("preset = \"today\"\nquantum_ms = 50", "m.toml:4: host.quantum_ms: got scheduler fair, expected scheduler rr"),
        ("preset = \"1995\"\nspeed = 0.0", "m.toml:4: host.speed: got 0, expected 0.001 to 1000000"),
        (
            "preset = \"1995\"\n[host.costs]\nirq_us = -1.0",
            "m.toml:5: host.costs.irq_us: got -1, expected 0 to 1000000",
        ),
        ("preset = \"1995\"\n[host.costs]\nirq = 1.0", "m.toml:5: key: got irq, expected one of tick_us, hz, irq_us"),
    ] {
        let told = sandbox(host).refused("simulate --workload g.toml --machine m.toml --scheduler fcfs");
        assert!(told.contains(line), "{told}");
    }
}
