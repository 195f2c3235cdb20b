//! Programs that a user describes.

use crate::Sandbox;
use serde_json::Value;

const MACHINE: &str = include_str!("../../../../examples/machines/ncr-3433-1995.toml");
const SERVER: &str = include_str!("../../../../examples/workloads/file-server.toml");
const MAKE: &str = include_str!("../../../../examples/workloads/make.toml");
const PAGE: &str = include_str!("../../../../docs/reference/programs.md");

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.write("m.toml", MACHINE);
    s.write("server.toml", SERVER);
    s.write("make.toml", MAKE);
    s
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_file_server_is_judged_by_the_time_of_its_requests() {
    let s = sandbox();
    let line = "compare server.toml -m m.toml -s mq-deadline,prio(mq-deadline)";
    let compared = json(&s.ok(&format!("{line} --json")));
    assert_eq!(
        (&compared["workload"]["kind"], &compared["workload"]["name"]),
        (&"programs".into(), &"server.toml".into())
    );
    assert_eq!(compared["verdict"]["measure"], "task_s_mean");
    assert_eq!(compared["verdict"]["best"], "prio(mq-deadline)");
    for run in compared["runs"].as_array().unwrap() {
        let host = &run["host"];
        assert_eq!((host["external_interrupts"].as_u64(), host["external_lost"].as_u64()), (Some(1000), Some(0)));
        let tasks = host["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 1000);
        for task in tasks {
            assert_eq!(task["name"], "request");
            let sum: f64 = task["times"].as_object().unwrap().values().map(|time| time.as_f64().unwrap()).sum();
            assert!((sum - task["elapsed_s"].as_f64().unwrap()).abs() < 1e-6, "all time is something: {task}");
        }
        // Four workers: the disk has several requests at once.
        assert!(run["queue_length_mean"].as_f64().unwrap() > 0.5, "{run}");
    }
    let shown = s.ok("simulate -w server.toml -m m.toml -s mq-deadline");
    for fact in ["1000 from outside", "request (1000 times)"] {
        assert!(shown.contains(fact), "{fact} is missing: {shown}");
    }
}

#[test]
fn a_build_has_a_task_for_each_compiler() {
    let s = sandbox();
    let run = json(&s.ok("simulate -w make.toml -m m.toml -s clook --json"))["runs"][0].clone();
    let tasks = run["host"]["tasks"].as_array().unwrap();
    let count = |name: &str| tasks.iter().filter(|task| task["name"] == name).count();
    assert_eq!((count("compiler"), count("make")), (24, 1));
    let make = tasks.iter().find(|task| task["name"] == "make").unwrap();
    let computes = make["times"]["computation_s"].as_f64().unwrap();
    // Of 24 compilers, 240 and about 480 ms, and 60 for what they write; of make itself 0.7 s; and the kernel's work for them.
    assert!((19.0..25.0).contains(&computes), "{computes}");
    assert!(run["host"].get("external_interrupts").is_none(), "{run}");
}

#[test]
fn the_example_of_the_page_runs() {
    let s = sandbox();
    let mut seen = 0;
    let blocks = PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for (n, block) in blocks.filter(|block| block.contains("[[process]]")).enumerate() {
        let name = format!("block-{n}.toml");
        s.write(&name, block);
        let run = json(&s.ok(&format!("simulate -w {name} -m m.toml -s clook --json")))["runs"][0].clone();
        assert_eq!(run["host"]["tasks"].as_array().unwrap().len(), 201, "200 requests, and a backup");
        seen += 1;
    }
    assert_eq!(seen, 1);
}

#[test]
fn every_key_and_verb_is_in_the_page() {
    let s = sandbox();
    s.write("bad.toml", "[[process]]\nname = \"a\"\nevents = [{ }]\n");
    let told = s.refused("simulate -w bad.toml -m m.toml");
    let verbs: Vec<&str> = told.split("one of ").nth(1).unwrap().trim().split(", ").collect();
    assert_eq!(verbs.len(), 26, "{told}");
    for verb in verbs {
        assert!(PAGE.contains(&format!("`{verb}")), "{verb} is missing");
    }
}

#[test]
fn what_a_file_is_follows_from_its_content_or_is_said() {
    let s = sandbox();
    let generator = "requests = 5\n[[generator]]\nread_probability = 1\nsize_sectors = 8\ngeneral_time_ms = 1\n";
    s.write("g.toml", generator);
    assert_eq!(json(&s.ok("simulate -w g.toml -m m.toml --json"))["workload"]["kind"], "ganger");
    let told = s.refused("simulate -w g.toml -m m.toml --format programs");
    assert!(told.contains("g.toml:2: generator: got an unknown key"), "{told}");
    let told = s.refused("simulate -w make.toml -m m.toml --format ganger");
    assert!(told.contains("make.toml:") && told.contains("got an unknown key"), "{told}");
    s.write("none.txt", "[[process]]\nname = \"a\"\nevents = [{ compute_ms = 1 }, { io = \"read\", lba = 8 }]\n");
    assert_eq!(json(&s.ok("simulate -w none.txt -m m.toml --format programs --json"))["workload"]["kind"], "programs");
}

#[test]
fn what_is_wrong_is_refused_in_one_line_and_nothing_is_left_behind() {
    let s = Sandbox::new();
    s.write("m.toml", MACHINE);
    let locks = |first: &str, second: &str| {
        format!(
            "{{ lock = \"{first}\" }}, {{ nap_ms = 50 }}, {{ lock = \"{second}\" }}, {{ unlock = \"{second}\" }}, {{ unlock = \"{first}\" }}"
        )
    };
    let process = |name: &str, events: &str| format!("[[process]]\nname = \"{name}\"\nevents = [{events}]\n");
    for (text, told) in [
        (process("a", "{ reed = \"x\" }"), "w.toml:3: reed: got an unknown key, expected `read`"),
        (
            format!("{}cpu = 1\n", process("a", "{ compute_ms = 1 }")),
            "w.toml:1: cpu: got 1, a task on a CPU that is not there",
        ),
        (
            format!("[[channel]]\nname = \"c\"\n{}", process("a", "{ get = \"c\", bytes = 1 }")),
            "w.toml:5: get: got c, a channel nobody fills, expected a put into it",
        ),
        (
            format!("[[file]]\nname = \"f\"\nsize = \"9g\"\n{}", process("a", "{ read = \"f\" }")),
            "w.toml:1: size: got f of 9663676416 bytes, expected a file that fits the disk",
        ),
        (
            format!("{}{}", process("a", &locks("x", "y")), process("b", &locks("y", "x"))),
            "w.toml: processes: got a cycle of waits, expected an order in which all can go on, as a (1000) waits for lock `y` of b (1001)",
        ),
        (
            format!("[[file]]\nname = \"f\"\nsize = \"4k\"\n{}", process("a", "{ remove = \"f\" }, { read = \"f\" }")),
            "w.toml: process a (1000): got `f` does not exist",
        ),
    ] {
        s.write("w.toml", text);
        let line = s.refused("simulate -w w.toml -m m.toml -s clook --requests-out out.parquet --report page.html");
        assert!(line.contains(told), "{line}");
        s.holds_nothing_but(&["small.trace", "m.toml", "w.toml"]);
    }
}

#[test]
fn processes_keep_to_their_cpus() {
    let s = Sandbox::new();
    s.write("m.toml", MACHINE.replace("cpus = 1", "cpus = 2"));
    let two = |cpu: &str| {
        let process =
            |name: &str| format!("[[process]]\nname = \"{name}\"\nevents = [{{ compute_ms = 1000 }}]\n{cpu}\n");
        s.write("w.toml", format!("{}{}", process("a"), process("b")));
        let run = json(&s.ok("simulate -w w.toml -m m.toml --json"))["runs"][0].clone();
        run["host"]["elapsed_s"].as_f64().unwrap()
    };
    let (free, pinned) = (two(""), two("cpu = 1"));
    assert!((1.0..1.1).contains(&free) && (2.0..2.2).contains(&pinned), "{free} {pinned}");
}
