//! `iopilot disksim`.

use crate::Sandbox;
use std::path::PathBuf;

/// DiskSim's own configurations, where they are.
fn runs() -> Option<PathBuf> {
    iopilot_testing::data("disksim/runs")
}

const QUEUE: &str = "disksim_ioqueue { Scheduling policy = 1, Cylinder mapping strategy = 0,
  Write initiation delay = 0.0, Read initiation delay = 0.0, Sequential stream scheme = 0, Maximum concat size = 0,
  Overlapping request scheme = 0, Sequential stream diff maximum = 0, Scheduling timeout scheme = 0,
  Timeout time/weight = 0, Timeout scheduling = 0, Scheduling priority scheme = 0, Priority scheduling = 0 }";

/// One simple disk of 10 ms.
fn one_disk() -> String {
    format!(
        "disksim_iodriver DRIVER {{ type = 1, Constant access time = 0.0, Use queueing in subsystem = 1,
  Scheduler = {QUEUE} }}
disksim_bus BUS {{ type = 1, Arbitration type = 1, Arbitration time = 0.0, Read block transfer time = 0.0,
  Write block transfer time = 0.0, Print stats = 1 }}
disksim_ctlr CTLR {{ type = 1, Scale for delays = 0.0, Bulk sector transfer time = 0.0, Maximum queue length = 0,
  Print stats = 1 }}
disksim_simpledisk SD {{ Block count = 100000, Access time = 10.0, Command overhead = 0.5,
  Bus transaction latency = 0.0, Bulk sector transfer time = 0.0, Never disconnect = 0, Print stats = 1,
  Max queue length = 1, Scheduler = {QUEUE} }}
instantiate [ driver0 ] as DRIVER
instantiate [ bus0, bus1 ] as BUS
instantiate [ ctlr0 ] as CTLR
instantiate [ disk0 ] as SD
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_ctlr ctlr0 [ disksim_bus bus1 [
  disksim_simpledisk disk0 [] ] ] ] ]
disksim_logorg org0 {{ Addressing mode = Parts, Distribution scheme = Asis, Redundancy scheme = Noredun,
  devices = [ disk0 ], Stripe unit = 64, Synch writes for safety = 0, Number of copies = 2, Copy choice on read = 6,
  RMW vs. reconstruct = 0.5, Parity stripe unit = 64, Parity rotation type = 1 }}\n"
    )
}

const TRACE: &str = "0.0 0 100 8 1\n50.0 0 200 8 0\n99.0 0 300 8 1\n";

#[test]
fn runs_a_file_under_a_trace() {
    let s = Sandbox::new();
    s.write("one.parv", one_disk());
    s.write("three.trace", TRACE);
    let text = s.ok("disksim run one.parv --trace three.trace");
    assert!(text.contains("2 requests in 0.099 s; ended: the trace is over; 1 still under way"), "{text}");
    assert!(text.contains("response  10.500"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&s.ok("disksim run one.parv --trace three.trace --json")).unwrap();
    assert_eq!(json["requests"], 2);
    assert_eq!(json["response_ms"]["mean"], 10.5);
    assert_eq!(json["devices"][0]["name"], "disk0");
    let keys = ["mean", "std", "p50", "p95", "p99", "max"];
    assert!(keys.iter().all(|k| json["access_ms"][k].is_number()), "{json}");
}

#[test]
fn parameters_are_replaced() {
    let s = Sandbox::new();
    s.write("one.parv", one_disk());
    s.write("three.trace", TRACE);
    let text = s
        .command()
        .args(["disksim", "run", "one.parv", "--trace", "three.trace", "--set", "disk0:Access time=4.0"])
        .output()
        .unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("response  4.500"), "{text}");
}

#[test]
fn bad_input_is_one_line_with_file_and_line() {
    let s = Sandbox::new();
    s.write("bad.parv", one_disk().replace("Access time = 10.0", "Acces time = 10.0"));
    let e = s.refused("disksim run bad.parv");
    assert!(e.contains("bad.parv:") && e.contains("Acces time"), "{e}");
    s.write("policy.parv", one_disk().replace("Scheduling policy = 1", "Scheduling policy = 99"));
    assert!(s.refused("disksim run policy.parv").contains("Scheduling policy: got 99"));
    s.write("one.parv", one_disk());
    assert!(s.refused("disksim run one.parv").contains("load: got none"));
    s.write("out.trace", "0.0 0 100 8 1\n1.0 3 100 8 1\n");
    let e = s.refused("disksim run one.parv --trace out.trace");
    assert!(e.contains("out.trace:2: request: got device 3"), "{e}");
    assert!(s.refused("disksim run one.parv --trace out.trace --trace-format asci").contains("ascii"));
    assert!(s.refused("disksim run one.parv --trace out.trace --set disk9:Type=1").contains("disk9"));
    assert!(s.refused("disksim run one.parv --set nonsense").contains("COMPONENT:PARAMETER=VALUE"));
    assert!(s.refused("disksim run none.parv").contains("none.parv"));
    s.holds_nothing_but(&["small.trace", "bad.parv", "policy.parv", "one.parv", "out.trace"]);
}

#[test]
fn disksims_own_configurations_run_as_they_are() {
    let Some(runs) = runs() else { return };
    let s = Sandbox::new();
    for (file, trace, mean) in [
        ("synthopen.parv", None, 10.94),
        ("synthclosed.parv", None, 87.8),
        ("synthraid5.parv", None, 22.86),
        ("ascii.parv", Some("ascii.trace"), 13.77),
    ] {
        let mut command = s.command();
        command.args(["disksim", "run", "--json"]).arg(runs.join(file));
        if let Some(trace) = trace {
            command.arg("--trace").arg(runs.join(trace));
        }
        let done = command.output().unwrap();
        assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stderr));
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let ours = json["response_ms"]["mean"].as_f64().unwrap();
        assert!((ours / mean - 1.0).abs() < 0.02, "{file}: {ours} ms, DiskSim {mean} ms");
    }
}
