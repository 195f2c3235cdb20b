//! [`seeds`]: small inputs that are right, to begin with: what is shipped, cut short, and one or two of every format.

use iopilot_block::Nanos;
use iopilot_device::{
    Catalogue, ConstantDevice, DeviceSpec, DiskSpec, HitLimit, SimulatedCacheModel, Synchronous, TableForm, TableModel,
    TableSpec, Training,
};
use iopilot_sched::SchedulerSpec;
use iopilot_trace::{Format, ReadOptions, TraceReader, TraceRecord, TraceWriter};
use std::path::{Path, PathBuf};

/// Requests of a shipped trace that are enough.
const RECORDS: usize = 24;

const BLKPARSE: &str = "  8,0    1        1     0.000000000   300  A  WS 64 + 8 <- (8,1) 0
  8,0    1        2     0.000000010   300  Q  WS 64 + 8 [a]
  8,0    1        3     0.000000100   300  Q  WS 72 + 8 [a]
  8,0    1        4     0.000000150   300  M  WS 72 + 8 [a]
  8,0    2        1     0.000000050   301  Q  RM 4096 + 16 [b c]
  8,0    1        5     0.000000200   300  D  WS 64 + 16 (     100) [a]
  8,0    1        6     0.000000300     0  C  WS 64 + 16 [0]
  8,0    1        7     0.000000400   300  Q   R 0 + 64 [b]
  8,0    1        8     0.000000500   300  X   R 0 / 32 [b]
  8,0    1        9     0.000000600   300  Q FWS [jbd2/sda1-8]
  8,0    1       10     0.000000700     0  C FWS 0 [0]
  8,0    1       11     0.000000800   300  R  RM 4096 + 16 [0]
CPU0 (8,0):
 Reads Queued:           1,      128KiB
";

const PARAMETERS: &str = "disksim_global Global { Init Seed = 42, Real Seed = 0x2a, Stat definition file = statdefs }
disksim_iosim IS0 { I/O Trace Time Scale = 1.0 }
disksim_ioqueue Q0 { Scheduling policy = 3, Cylinder mapping strategy = 1 }
disksim_disk D0 { Scheduler = Q0, Max queue length = 1, Bulk sector transfer time = 0.0, Zones = [ 1, 2.5, z1 .. z3, a ] } # end
D0 D1 { Scheduler = disksim_ioqueue { Scheduling policy = 1 } }
instantiate [ statfoo ] as IS0
instantiate [ disk0 .. disk2, other ] as D1
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_disk disk0 [], disksim_disk disk1 [] ] ]
";

/// What to begin with for the target called `name`.
///
/// # Panics
/// Where the source tree that this was built from is not there any more.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    let text = |texts: &[&str]| texts.iter().map(|t| t.as_bytes().to_vec()).collect::<Vec<_>>();
    match name {
        "blkparse" => text(&[BLKPARSE]),
        "blktrace" => vec![blktrace(false), blktrace(true)],
        "disksim-validate" => text(&["R Hit 8 16 500.0 20.5\nW Doub 9 1 100.25 7\nR Miss 8 16 1e1 0\n"]),
        "hp-srt" => vec![hp_srt()],
        "vscsi" => vec![vscsi()],
        "fio-iolog" => [
            text(&["fio version 2 iolog\nx add\nx open\nx read 0 4096\nx wait 10\nx write 4096 512\nx close\n"]),
            text(&["fio version 3 iolog\n0 x add\n1 x read 0 4096\n5 x trim 0 512\n9 x sync 0 0\n9 x datasync 0 0\n"]),
            written("fio-iolog"),
        ]
        .concat(),
        "msr" => [
            text(&[
                "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,usr,0,Read,0,512,1\n",
            ]),
            written("msr"),
        ]
        .concat(),
        "detect" | "reorder" => {
            let formats = ["blkparse", "blktrace", "disksim-validate", "hp-srt", "vscsi", "alibaba", "parquet", "spc"];
            formats.into_iter().flat_map(seeds).chain(packed()).collect()
        }
        "disk" => {
            let catalogue = Catalogue::names().filter_map(Catalogue::toml).map(|t| t.as_bytes().to_vec());
            catalogue.chain([complete_drive(), tables()]).collect()
        }
        "machine" => shipped("examples/machines", "toml"),
        "fio-job" => shipped("examples/jobs", "fio"),
        "ganger" => shipped("examples/jobs", "toml"),
        "scheduler" => schedulers(),
        "disksim-parameters" => [text(&[PARAMETERS]), vec![whole_system()]].concat(),
        faulty if faulty.starts_with("faulty-") => text(&["0.5 0 8 16 1\n"]),
        format => written(format),
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
    let entries = std::fs::read_dir(root().join(folder)).expect("the source tree is there");
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == ending));
    paths.sort();
    paths.iter().map(|p| std::fs::read(p).expect("the source tree can be read")).collect()
}

/// The beginnings of two shipped traces in a format that can be written.
fn written(format: &str) -> Vec<Vec<u8>> {
    let format: Format = format.parse().expect("the name of a format");
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
    let lists = ["all", "bfq:low_latency=0:slice_idle=4,cfq:slice_idle=0", "mq-deadline:fifo_batch=4,vscan:r=0.4"];
    let lists = lists.into_iter().map(str::to_owned).filter(|l| SchedulerSpec::parse_list(l).is_ok());
    lists.chain(names.chunks(3).map(|c| c.join(","))).map(String::into_bytes).collect()
}

/// Events of queueing, issue and completion, in either byte order.
fn blktrace(swapped: bool) -> Vec<u8> {
    const QUEUE: u32 = 1 | 1 << 16 | 1 << 20;
    const ISSUE: u32 = 7 | 1 << 16 | 1 << 22;
    const COMPLETE: u32 = 8 | 1 << 16 | 1 << 23;
    const NAME: u32 = 1 << 26;
    let mut bytes = Vec::new();
    let mut put = |value: u64, size: usize| match swapped {
        true => bytes.extend(&value.to_be_bytes()[8 - size..]),
        false => bytes.extend(&value.to_le_bytes()[..size]),
    };
    for (time, sector, action, payload) in
        [(0, 0, NAME, "a\0"), (100, 8, QUEUE, ""), (150, 16, QUEUE, ""), (200, 8, ISSUE, ""), (300, 8, COMPLETE, "")]
    {
        // Magic, sequence, time, sector, bytes, action, process, device, CPU, error and payload.
        for (value, size) in [(0x6561_7407, 4), (1, 4), (time, 8), (sector, 8), (4096, 4), (action.into(), 4), (77, 4)]
        {
            put(value, size);
        }
        for (value, size) in [(8 << 20, 4), (1, 4), (0, 2), (payload.len() as u64, 2)] {
            put(value, size);
        }
        payload.bytes().for_each(|byte| put(byte.into(), 1));
    }
    bytes
}

fn hp_srt() -> Vec<u8> {
    let mut bytes = b"$$TR_IOREC-1.3\ndisks = { 0 -> { disktype = hp335h, sectorsize = 256 } };\n\x0c".to_vec();
    for second in 0..3 {
        let record: [i32; 14] = [56, 0x4_0001, second, 5, 174, 19_687, 4096, 16, 8, 4, 1, 27, 0, 1];
        record.iter().for_each(|word| bytes.extend(word.to_be_bytes()));
    }
    bytes
}

fn vscsi() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (length, command, block, time) in [(512u32, 0x28u16, 8u64, 100u64), (4096, 0x2a, 16, 200), (0, 0x35, 0, 300)] {
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(command.to_le_bytes());
        bytes.extend(0x100u16.to_le_bytes());
        bytes.extend(block.to_le_bytes());
        bytes.extend(time.to_le_bytes());
    }
    bytes
}
