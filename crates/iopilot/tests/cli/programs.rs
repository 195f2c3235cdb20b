//! Programs by name, on a machine with a page cache and a file system.

use crate::Sandbox;
use serde_json::Value;

const MACHINE: &str = include_str!("../../../../examples/machines/ncr-3433-1995.toml");

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.write("m.toml", MACHINE);
    s
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_program_is_reported_with_its_task_its_requests_and_its_cache() {
    let s = sandbox();
    let line = "simulate -w copytree:scale=0.05 -m m.toml -s clook";
    let report = json(&s.ok(&format!("{line} --json")));
    let run = &report["runs"][0];
    let host = &run["host"];
    assert_eq!(report["workload"]["kind"], "programs");
    let tasks = host["tasks"].as_array().unwrap();
    assert_eq!((tasks.len(), &tasks[0]["name"]), (1, &Value::from("copytree")));
    let classes = host["classes"].as_array().unwrap();
    let requests: u64 = classes.iter().map(|class| class["requests"].as_u64().unwrap()).sum();
    assert_eq!(requests, run["requests"].as_u64().unwrap());
    let has = |op: &str, class: &str| classes.iter().any(|c| c["op"] == op && c["class"] == class);
    assert!(has("read", "time-critical") && has("read", "time-limited") && has("write", "time-non-critical"), "{host}");
    assert!(host["limits"]["wanted"].as_u64().unwrap() > 0, "{host}");
    let cache = &host["cache"];
    let writes: u64 =
        classes.iter().filter(|c| c["op"] == "write").map(|class| class["requests"].as_u64().unwrap()).sum();
    assert_eq!((cache["pages"].as_u64(), cache["written"].as_u64()), (Some(8192), Some(writes)));
    assert!(cache["read_ahead_used"].as_u64() <= cache["read_ahead"].as_u64());

    let shown = s.ok(line);
    for fact in ["page cache    33.6 MB", "read ahead", "time limits", "  copytree  "] {
        assert!(shown.contains(fact), "{fact} is missing: {shown}");
    }
}

#[test]
fn what_is_unknown_or_does_not_fit_is_refused_with_what_was_meant() {
    let s = sandbox();
    for (workload, told) in [
        ("copytre:scale=0.05", "workload: got copytre, "),
        ("copytre:scale=0.05", "did you mean copytree?"),
        ("copytree:scal=0.05", "workload copytree: key: got scal, expected one of scale, aged; did you mean scale?"),
        ("synrgen:user=2", "did you mean users?"),
        ("uncompress:scale=0", "workload uncompress: scale: got 0, expected a number from 0.001 to 100"),
        ("uncompress:scale=100", "workload uncompress:scale=100: got no space left on the device"),
    ] {
        let line = s.refused(&format!("simulate -w {workload} -m m.toml -s clook"));
        assert!(line.contains(told), "{line}");
    }
    for section in ["[cache]\nmib = 4", "[filesystem]\ntype = \"ufs\""] {
        s.write("bare.toml", format!("disk = \"hp-c2247\"\n{section}\n"));
        let line = s.refused("simulate -w copytree:scale=0.05 -m bare.toml -s clook");
        assert!(line.contains("got no host.preset, expected a preset"), "{line}");
    }
}

#[test]
fn models_of_a_program_are_told_apart() {
    let s = sandbox();
    let line = "compare removetree:scale=0.2 -m m.toml -s clook,fcfs --models open,closed,system";
    let compared = json(&s.ok(&format!("{line} --json")));
    assert_eq!((&compared["traced"], compared["population"].as_u64()), (&Value::from("clook"), Some(1)));
    let runs = compared["runs"].as_array().unwrap();
    let named: Vec<String> =
        runs.iter().map(|run| format!("{} {}", run["model"], run["scheduler"]).replace('"', "")).collect();
    assert_eq!(
        named,
        ["open clook", "open fcfs", "closed clook", "closed fcfs", "system clook", "system fcfs"],
        "each model says something of each scheduler"
    );
    assert!(runs.iter().all(|run| run["elapsed_s"].as_f64().unwrap() > 1.0), "{compared}");
    // The open model replays what the first scheduler did.
    assert_eq!(runs[0]["response_ms"], runs[4]["response_ms"]);

    let shown = s.ok(line);
    for fact in ["removetree:scale=0.2 on NCR 3433 of 1995", "change %", "closed  fcfs", "from clook"] {
        assert!(shown.contains(fact), "{fact} is missing: {shown}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let s = sandbox();
    for line in [
        "compare removetree:scale=0.2 -m m.toml -s clook,fcfs --models open,closed,system --json",
        "simulate -w synrgen:users=2:tasks=2 -m m.toml -s clook -s fcfs --json",
    ] {
        let with = |threads: &str| {
            let words = line.split_whitespace();
            let output = s.command().env("RAYON_NUM_THREADS", threads).args(words).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        assert!(with("1") == with("8"), "{line}");
    }
}

#[test]
fn models_are_of_processes_and_have_names() {
    let s = sandbox();
    let told = s.refused("compare small.trace --format disksim -d hd-250-32 --models open,system");
    assert!(told.contains("open replay of small.trace, expected a workload whose processes wait"), "{told}");
    for models in ["open,closd", "Open", "open,,system"] {
        let told = s.refused(&format!("compare removetree:scale=0.2 -m m.toml -s clook --models {models}"));
        assert!(told.contains("expected open, closed or system"), "{told}");
    }
}

#[test]
fn programs_are_judged_by_the_time_that_their_tasks_take() {
    let s = sandbox();
    let line = "compare uncompress:scale=0.05 -m m.toml -s clook,prio(clook)";
    let verdict = json(&s.ok(&format!("{line} --json")))["verdict"].clone();
    assert_eq!(verdict["measure"], "task_s_mean");
    assert!(verdict["text"].as_str().unwrap().to_lowercase().contains("by the time that tasks take"), "{verdict}");
    assert!(s.ok(&format!("{line} --report page.html")).contains("time that tasks take"));
    let page = std::fs::read_to_string(s.path().join("page.html")).unwrap();
    for part in ["<h2>Host</h2>", "false idle", "critical reads", "limited reads", "page cache"] {
        assert!(page.contains(part), "{part} is missing");
    }
}
