//! [`seeds`]: small valid inputs to begin with: shipped files, cut short, and one or two samples of every format.

use iopilot_block::Nanos;
use iopilot_catalogue::{
    Catalogue, DeviceSpec, DiskSpec, HitLimit, SimulatedCacheModel, TableForm, TableModel, TableSpec, Training,
};
use iopilot_device::{ConstantDevice, Synchronous};
use iopilot_sched::SchedulerSpec;
use iopilot_trace::{Format, ReadOptions, TraceReader, TraceRecord, TraceWriter};
use std::path::{Path, PathBuf};

/// Requests that are taken from a shipped trace.
const RECORDS: usize = 24;

const PARAMETERS: &str = "disksim_global Global { Init Seed = 42, Real Seed = 0x2a, Stat definition file = statdefs }
disksim_iosim IS0 { I/O Trace Time Scale = 1.0 }
disksim_ioqueue Q0 { Scheduling policy = 3, Cylinder mapping strategy = 1 }
disksim_disk D0 { Scheduler = Q0, Max queue length = 1, Bulk sector transfer time = 0.0, Zones = [ 1, 2.5, z1 .. z3, a ] } # end
D0 D1 { Scheduler = disksim_ioqueue { Scheduling policy = 1 } }
instantiate [ statfoo ] as IS0
instantiate [ disk0 .. disk2, other ] as D1
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_disk disk0 [], disksim_disk disk1 [] ] ]
";

/// Programs with the events that the shipped ones do not have.
const EVERY_EVENT: &str = r#"
[[directory]]
name = "d"
[[file]]
name = "f"
size = "64k"
directory = "d"
cached = true
[[channel]]
name = "c"
[[external]]
name = "e"
at_ms = [1, 2.5, 2.5]
handler_us = 50.0
wakeup = "k"
all = true
[[process]]
name = "a"
count = 2
cpu = 0
state = "runnable"
events = [{ open = "f" }, { readdir = "d" }, { create = "t", directory = "d" }, { write = "t", offset = "next", bytes = 9000 },
    { lock = "l" }, { fsync = "t" }, { unlock = "l" }, { truncate = "t" }, { remove = "t" }, { sync = true },
    { repeat = 2, events = [{ io = "read", lba = "random", sectors = 8, class = "limited", number = 7 }, { await = 7 }] },
    { io = "write", class = "noncritical" }, { await_all = true }, { put = "c", bytes = 3 }, { exit = true }]
[[process]]
name = "b"
state = "sleeping"
key = "k"
events = [{ get = "c", bytes = 6 }, { fork = "p" }, { wait = true }, { mkdir = "m" }]
[[program]]
name = "p"
repeat = 3
events = [{ compute_ms = { distribution = "twovalue", default = 1.0, second = 2.0, probability = 0.5 } }, { nap_ms = 4 }]
"#;

/// The seeds of the target called `name`.
///
/// # Panics
/// If the source tree that this was built from has gone.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    let text = |texts: &[&str]| texts.iter().map(|t| t.as_bytes().to_vec()).collect::<Vec<_>>();
    match name {
        "detect" | "reorder" => {
            let all = Format::ALL.iter().flat_map(|&format| samples(format));
            all.chain(packed()).collect()
        }
        "disk" => {
            let catalogue = Catalogue::names().filter_map(Catalogue::toml).map(|t| t.as_bytes().to_vec());
            catalogue.chain([complete_drive(), tables()]).collect()
        }
        "machine" => shipped("examples/machines", "toml"),
        "fio-job" => shipped("examples/jobs", "fio"),
        "ganger" => shipped("examples/jobs", "toml"),
        "scheduler" => schedulers(),
        "programs" => {
            let named = text(&[
                "compress",
                "copytree:scale=0.25:aged=0.5",
                "synrgen:users=16:tasks=3:scale=2",
                "removetree:scale=1e-2",
                EVERY_EVENT,
            ]);
            [named, shipped("examples/workloads", "toml")].concat()
        }
        "redcap" => text(&[
            "64x128k",
            "512x128k,algorithm=v2,miss=split",
            "1x32k,algorithm=v0,strict=on,max_sectors=8,carry=off",
        ]),
        "disksim-parameters" => [text(&[PARAMETERS]), vec![whole_system()]].concat(),
        faulty if faulty.starts_with("faulty-") => text(&["0.5 0 8 16 1\n"]),
        format => {
            let format: Format = format.parse().expect("the name of a target");
            let written = if format.is_writable() { written(format) } else { Vec::new() };
            samples(format).into_iter().chain(written).collect()
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the small files of the parser's tests are.
const FILES: &str = "crates/iopilot-disksim/tests/files";

/// A drive with every parameter, in TOML.
fn complete_drive() -> Vec<u8> {
    let drive = iopilot_disksim::load_drive(&root().join(FILES).join("tiny.diskspecs"));
    drive.expect("it is part of the source tree").spec.to_toml().into_bytes()
}

/// A table-based disk with three tables.
fn tables() -> Vec<u8> {
    let mut disk = Synchronous::new(ConstantDevice::simple(100_000, 1, Nanos(100_000), 3.0));
    let form = TableForm::Three(HitLimit { base: Nanos(50_000), per_sector: Nanos::ZERO });
    let Ok(trained) = Training { form, samples: 1, seed: 0 }.run(&mut disk, || {});
    let cache = SimulatedCacheModel {
        read_segments: 3,
        write_segments: 1,
        segment_sectors: 512,
        read_ahead_sequential: 256,
        read_ahead_random: 32,
        read_ahead_on_hit: true,
        sector_time: Nanos(4_000),
    };
    let model = TableModel { tables: trained.tables.averaged(8), cache, queue_depth: 1 };
    let spec = DiskSpec {
        name: "tables".into(),
        model: "a latency and a bandwidth, as tables".into(),
        sources: Vec::new(),
        device: DeviceSpec::Table(Box::new(TableSpec::new(&model, false, 8))),
        provenance: Default::default(),
    };
    spec.to_toml().into_bytes()
}

/// A system without the files that it includes: they stand where they are named, and the seek curve is a formula.
fn whole_system() -> Vec<u8> {
    let read = |name: &str| std::fs::read_to_string(root().join(FILES).join(name)).expect("it is there");
    let curve = "Seek type = hpl, HPL seek equation values = [ 10, 1.0, 0.5, 2.0, 0.1, -1.0 ],";
    let model = read("tiny.model").replace("Seek type = extracted,", curve);
    let model = model.replace("Full seek curve = tiny.seek,", "");
    let disk = read("tiny.diskspecs").replace("source tiny.model", &model);
    read("tiny.parv").replace("source tiny.diskspecs", &disk).into_bytes()
}

/// The files of a folder of the source tree whose names end in `ending`, in order of name.
fn shipped(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    files(folder, |path| path.extension().is_some_and(|e| e == ending))
}

/// Those files of a folder of the source tree that are `wanted`, in order of name.
fn files(folder: &str, wanted: impl Fn(&Path) -> bool) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the source tree is there");
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|path| wanted(path));
    paths.sort();
    paths.iter().map(|p| std::fs::read(p).expect("the source tree can be read")).collect()
}

/// The samples of a format, in order of name.
fn samples(format: Format) -> Vec<Vec<u8>> {
    let named = |path: &Path| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.split('.').next() == Some(format.name()))
    };
    let in_code = Some(format.spec().sample).filter(|sample| !sample.is_empty());
    in_code
        .map(|sample| sample.as_bytes().to_vec())
        .into_iter()
        .chain(files("crates/iopilot-trace/samples", named))
        .collect()
}

/// The beginnings of two shipped traces in a format that can be written.
fn written(format: Format) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("seed");
    let write = |records: Vec<TraceRecord>| {
        let mut writer = TraceWriter::create(&path, format).expect("a format that can be written");
        records.iter().for_each(|record| writer.write(record).expect("room for a small file"));
        writer.finish().expect("room for a small file");
        std::fs::read(&path).expect("it was written just now")
    };
    ["sqlite.parquet", "mixed.parquet"].map(|name| write(beginning(name))).to_vec()
}

fn beginning(name: &str) -> Vec<TraceRecord> {
    let path = root().join("examples/traces").join(name);
    let reader = TraceReader::open(&path, &ReadOptions::default()).expect("the shipped traces are there");
    reader.take(RECORDS).map(|record| record.expect("the shipped traces can be read")).collect()
}

/// A trace packed in each way that can be written.
fn packed() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pack = |ending: &str| {
        let path = folder.path().join(format!("seed.{ending}"));
        let mut writer = TraceWriter::create(&path, Format::Disksim).expect("a format that can be written");
        beginning("sqlite.parquet").iter().for_each(|record| writer.write(record).expect("room for a small file"));
        writer.finish().expect("room for a small file");
        std::fs::read(&path).expect("it was written just now")
    };
    ["gz", "zst"].map(pack).to_vec()
}

/// Lists of schedulers, with and without tunables.
fn schedulers() -> Vec<Vec<u8>> {
    let names: Vec<&str> = SchedulerSpec::all().iter().map(|s| s.name).collect();
    let lists = [
        "all",
        "bfq:low_latency=0:slice_idle=4,cfq:slice_idle=0",
        "mq-deadline:fifo_batch=4,vscan:r=0.4",
        "prio(clook,bfq:low_latency=0):aging_ms=50,prio(kyber)",
    ];
    let lists = lists.into_iter().map(str::to_owned).filter(|l| SchedulerSpec::parse_list(l).is_ok());
    lists.chain(names.chunks(3).map(|c| c.join(","))).map(String::into_bytes).collect()
}
