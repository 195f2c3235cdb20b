//! Carroll's study in its quick form. Runs of a second are too short for many of his claims; the assertions hold even
//! there.

use crate::Sandbox;
use serde_json::Value;

/// An experiment's rows of `table`, by its quick form.
struct Quick {
    told: Value,
    table: &'static str,
    sandbox: Sandbox,
}

impl Quick {
    fn run(name: &str, table: &'static str) -> Self {
        let sandbox = Sandbox::new();
        let text = sandbox.ok(&format!("experiment run {name} --quick --json --out o -q"));
        let told: Value = serde_json::from_str(&text).unwrap();
        let claims = told["claims"].as_array().unwrap();
        assert!(!claims.is_empty());
        for claim in claims {
            assert_eq!(claim["reproduced"].as_bool().unwrap(), claim["because"].is_null(), "{claim}");
            assert!(claim["source"].as_str().unwrap().starts_with("Carroll "), "{claim}");
        }
        Self { told, table, sandbox }
    }

    fn holds(&self, part: &str) -> bool {
        let claims = self.told["claims"].as_array().unwrap();
        let claim = claims.iter().find(|c| c["claim"].as_str().unwrap().contains(part));
        claim.unwrap_or_else(|| panic!("no claim of {part}"))["reproduced"].as_bool().unwrap()
    }

    fn rows(&self) -> &[Value] {
        self.told["tables"][self.table].as_array().unwrap()
    }

    /// `key` of the row where all `wanted` keys have their values.
    fn number(&self, wanted: &[(&str, Value)], key: &str) -> f64 {
        let row = self.rows().iter().find(|row| wanted.iter().all(|(k, v)| row[*k] == *v));
        row.unwrap_or_else(|| panic!("no row with {wanted:?}"))[key].as_f64().unwrap()
    }
}

#[test]
fn random_readers_are_served_best_by_reordering_and_worst_by_idling() {
    let quick = Quick::run("carroll-random", "bandwidth");
    assert!(quick.holds("noop and FIFO are practically identical"));
    assert_eq!(quick.rows().len(), 8 * 3);
    for row in quick.rows() {
        let of = |key: &str| row[key].as_f64().unwrap();
        assert!(of("cfq") < 0.6 * of("cfq_no_idle"), "{row}");
        assert!(row["processes"] != 256 || of("vr_scan") > 1.2 * of("noop"), "{row}");
    }
    let svg = std::fs::read_to_string(quick.sandbox.path().join("o/carroll-random.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("RAID 1+0 (4)"));
    let csv = std::fs::read_to_string(quick.sandbox.path().join("o/carroll-random-runs.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8 * 3 * 10);
}

#[test]
fn readers_of_large_blocks_are_served_sooner_by_distance_than_by_deadline() {
    let quick = Quick::run("carroll-sequential", "bandwidth");
    assert!(quick.holds("noop and FIFO perform similarly"));
    for machine in ["raid0-8", "raid10-8"] {
        let of = |key: &str| quick.number(&[("machine", machine.into()), ("processes", 256.into())], key);
        assert!(of("vr_scan") > 1.1 * of("deadline") && of("vr_scan") > 1.1 * of("noop"), "{machine}");
    }
}

#[test]
fn anticipation_gains_on_a_disk_and_not_on_eight() {
    let quick = Quick::run("carroll-anticipation", "window");
    assert_eq!(quick.rows().len(), 11);
    let gain = |machine: &str| quick.number(&[("machine", machine.into())], "largest_gain_percent");
    assert!(gain("disk") > 200.0 && gain("raid0-8") < 50.0, "{} {}", gain("disk"), gain("raid0-8"));
    assert!(quick.holds("outside the window anticipation costs much"));
}

#[test]
fn idling_costs_arrays_most_and_depends_on_the_cut() {
    let quick = Quick::run("carroll-cfq-idling", "idling");
    assert!(quick.holds("outperforms CFQ with it in all") && quick.holds("costs arrays most"));
    let share = |load: &str, machine: &str, processes: u32| {
        let wanted = [("load", load.into()), ("machine", machine.into()), ("processes", processes.into())];
        quick.number(&wanted, "share")
    };
    for machine in ["disk", "raid10-4", "raid5-8"] {
        let (two, three) = (share("1 MiB in 512 KiB", machine, 32), share("1 MiB in 496 KiB", machine, 32));
        assert!(three > two + 0.05, "{machine}: {two} {three}");
    }
    assert!(share("16 streams", "disk", 16) > 5.0, "what idling is for");
}

#[test]
fn longer_expiries_cure_deadline() {
    let quick = Quick::run("carroll-deadline", "expiries");
    let of = |key: &str| quick.number(&[("machine", "disk".into()), ("processes", 256.into())], key);
    assert!(of("expire_5_s") > 1.1 * of("deadline"), "{} {}", of("expire_5_s"), of("deadline"));
    assert!(of("scaled") > 1.1 * of("deadline"), "{} {}", of("scaled"), of("deadline"));
}

#[test]
fn a_deep_queue_leaves_nothing_to_the_host() {
    let quick = Quick::run("carroll-deep-queue", "depths");
    assert!(quick.holds("leave one of eight disks idle"));
    let of = |depth: u32, key: &str| {
        let wanted = [("block", "16k".into()), ("machine", "raid0-8".into()), ("depth", depth.into())];
        quick.number(&wanted, key)
    };
    assert!(of(32, "vr_scan") > 1.3 * of(32, "fifo"));
    assert!((of(512, "vr_scan") / of(512, "fifo") - 1.0).abs() < 0.1);
    assert!(of(512, "fifo") > 1.15 * of(32, "vr_scan"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let s = Sandbox::new();
    let run = |threads: u32| s.ok(&format!("experiment run carroll-sequential --quick --json -q --threads {threads}"));
    assert_eq!(run(1), run(3));
}

#[test]
fn merging_pays_where_files_are_written_page_by_page() {
    let quick = Quick::run("carroll-postmark", "postmark");
    assert_eq!(quick.rows().len(), 4 * 2);
    let of = |system: &str, key: &str| quick.number(&[("machine", "disk".into()), ("system", system.into())], key);
    assert!(of("ext2", "noop") > 2.0 * of("ext2", "fifo"), "{} {}", of("ext2", "noop"), of("ext2", "fifo"));
    assert!(of("xfs", "noop") < 1.2 * of("xfs", "fifo"), "{} {}", of("xfs", "noop"), of("xfs", "fifo"));
    assert!(quick.rows().iter().all(|row| row["deadline"].as_f64().unwrap() > 0.0));
}
