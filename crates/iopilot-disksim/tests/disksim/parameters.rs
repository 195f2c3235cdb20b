//! Invalid typed parameters, on a system of two tiny drives.

use iopilot_disksim::params::{ComponentKind, CtlrCache, RandomDistribution, System};
use iopilot_disksim::{DriveFromDiskSim, Spec, load_drive};
use std::path::Path;
use tempfile::TempDir;

/// The system, with all `from` replaced by `to`.
fn changed(from: &str, to: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut found = false;
    for name in ["tiny.parv", "tiny.diskspecs", "tiny.model", "tiny.seek", "statdefs"] {
        let text = std::fs::read_to_string(files.join(name)).expect("it is part of this repository");
        found |= text.contains(from);
        std::fs::write(folder.path().join(name), text.replace(from, to)).expect("room for a small file");
    }
    assert!(found, "{from} stands nowhere");
    folder
}

fn read(folder: &TempDir) -> Result<System, String> {
    let path = folder.path().join("tiny.parv");
    let spec = Spec::load_with(&path, Vec::new()).map_err(|e| e.to_string())?;
    System::read(&spec).map_err(|e| e.to_string())
}

/// The error, without its folder.
fn refused(from: &str, to: &str) -> String {
    let folder = changed(from, to);
    let error = read(&folder).map(|_| ()).expect_err(&format!("{from} -> {to}"));
    assert!(!error.contains('\n'), "{error}");
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn the_system_is_read_as_it_is() {
    let system = read(&changed("TINY", "TINY")).expect("it is sound");
    assert_eq!(system.devices().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["disk0", "disk1"]);
    assert_eq!((system.device("disk1"), system.logorg("PAIR"), system.device("PAIR")), (Some(1), Some(0), None));
    let ComponentKind::Bus(bus) = &system.component("bus1").expect("it is there").params else { panic!() };
    assert_eq!((bus.read_block_transfer_time, bus.arbitration_time), (0.05, 0.0), "the rest is inherited");
    let generator = &system.synthio.as_ref().expect("it is there").generators[0];
    assert_eq!(generator.general_inter_arrival_times, RandomDistribution::Uniform { min: 0.0, max: 20.0 });
    let statdefs = &system.global.as_ref().expect("it is there").stat_definition_file.definitions;
    let seek = statdefs.as_ref().and_then(|s| s.get("Seek time")).expect("it is there");
    // Each edge is the previous one plus 10 and half of its size, truncated to a whole number.
    assert_eq!((seek.scale, seek.equals, &seek.edges[..4]), (10, 1, &[-5, 7, 20, 40][..]));
    assert_eq!(seek.edges.len(), 11);
    assert!(system.warnings.is_empty(), "{:?}", system.warnings);
}

#[test]
fn types_and_ranges_are_checked() {
    for (from, to, expected) in [
        (
            "Preseeking level = 1",
            "Preseeking level = 7",
            "tiny.diskspecs:25: Preseeking level: got 7, expected 0 after the completion is acknowledged, 1 when",
        ),
        ("Segment size (in blks) = 64", "Segment size (in blks) = 64.5", "got 64.5, expected a whole number"),
        ("Segment size (in blks) = 64", "Segment size (in blks) = 0", "got 0, expected a whole number, 1 to"),
        ("Use separate write segment = 0", "Use separate write segment = 2", "got 2, expected 0 or 1"),
        ("Set watermark by reqsize = 1", "Set watermark by reqsize = yes", "got yes, expected 0 or 1"),
        ("Minimum seek delay = 1.5", "Minimum seek delay = -1.5", "got -1.5, expected milliseconds, not negative"),
        ("Minimum seek delay = 1.5", "Minimum seek delay = 1e3", "got 1e3, expected a number, written like 3, 1.5"),
        ("water mark ] = 0.25", "water mark ] = 1.25", "got 1.25, expected a number, 0 to 1"),
        ("Max queue length = 4", "Max queue lenght = 4", "did you mean `Max queue length`?"),
        ("Fast write level = 2,", "", "Fast write level: got nothing, expected a value; disksim_disk TINY needs it"),
        ("Scheduling policy = 1", "Scheduling policy = 29", "got 29, expected a policy: 1 FCFS, 2 ELEVATOR_LBN,"),
        (
            "Seek type = extracted",
            "Seek type = extrakted",
            "one of constant, linear, curve, hpl, hplplus10, extracted; did you mean extracted?",
        ),
        ("Model = source tiny.model", "Model = TINY", "Model: got TINY, expected a block, dm_disk"),
        ("Redundancy scheme = Shadowed", "Redundancy scheme = shadowed", "did you mean Shadowed?"),
        (
            "[ exponential, 0.0, 8.0 ]",
            "[ exponental, 0.0, 8.0 ]",
            "Sizes: got exponental, expected [ uniform, min, max ]",
        ),
        ("[ exponential, 0.0, 8.0 ]", "[ exponential, 0.0 ]", "Sizes: got exponential, expected [ uniform"),
        ("[ uniform, 0.0, 20.0 ]", "[ uniform, -9.0, -5.0 ]", "times that are not all negative"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn contradictions_are_refused() {
    for (from, to, expected) in [
        (
            "write segments = 2",
            "write segments = 5",
            "tiny.diskspecs:16: Maximum number of write segments: got 5, expected at most the 4 segments",
        ),
        ("Minimum read-ahead (blks) = 8", "Minimum read-ahead (blks) = 65", "at most the 64 blocks of a segment"),
        (
            "Enable caching in buffer = 1",
            "Enable caching in buffer = 0",
            "Buffer continuous read: got 4, expected 0, as",
        ),
        ("Seek type = extracted", "Seek type = constant", "Constant seek time: got nothing"),
        (
            "Seek type = extracted,",
            "Seek type = constant, Constant seek time = 5.0,",
            "Seek type: got constant, expected extracted, as there is a Full seek curve",
        ),
        ("slips = [ 100, 101, 702 ]", "slips = [ 101, 702, 101 ]", "each position once, but 101 stands there twice"),
        ("defects = [ 44, 1595 ]", "defects = [ 44, 1595, 3 ]", "an even number of positions"),
        ("Number of copies = 2", "Number of copies = 3", "at least 2, and a divisor of the 2 devices"),
        ("Distribution scheme = Striped", "Distribution scheme = Asis", "Parts for distribution scheme Asis"),
        (
            "Probability of local access = 0.3",
            "Probability of local access = 0.9",
            "together with Probability of sequential access at most 1",
        ),
        (
            "instantiate [ ctlr0 ] as CTLR",
            "CTLR CTLR3 { type = 3 }\ninstantiate [ ctlr0 ] as CTLR3",
            "Scheduler: got nothing, expected a block; a controller of type 3 needs it",
        ),
    ] {
        let error = refused(from, to);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn units_of_skews_stand_before_the_skews() {
    let error = refused(
        "Skew units = revolutions,\n        First cylinder number = 20,\n        Last cylinder number = 39,\n        Blocks per track = 28,\n        Offset of first block = 0.25,",
        "First cylinder number = 20, Last cylinder number = 39, Blocks per track = 28,\n        Offset of first block = 0.25, Skew units = revolutions,",
    );
    assert!(error.contains("Skew units: got revolutions, expected to stand before Offset of first block"), "{error}");
}

#[test]
fn names_must_refer_to_something() {
    for (from, to, expected) in [
        (
            "devices = [ disk0 .. disk1 ]",
            "devices = [ disk0, disk2 ]",
            "devices: got disk2, expected a storage device that is instantiated; did you mean `disk0`?",
        ),
        ("devices = [ disk0 .. disk1 ]", "devices = [ disk0..disk1 ]", "a range has white space around its `..`"),
        ("devices = [ PAIR ]", "devices = [ PEAR ]", "got PEAR, expected a storage device or a logical organisation"),
        (
            "disksim_disk disk1 [ ]",
            "disksim_disk disk9 [ ]",
            "topology: got disk9, expected a component that is instantiated; did you mean",
        ),
        ("disksim_disk disk1 [ ]", "disksim_disk disk0 [ ]", "topology: got disk0, expected each component once"),
        (
            "disksim_disk disk1 [ ]",
            "disksim_bus disk1 [ ]",
            "topology: got disksim_bus, expected disksim_ctlr or disksim_disk or",
        ),
        (
            "disksim_ctlr ctlr0 [",
            "disksim_ctlr bus1 [",
            "topology: got disksim_ctlr, expected disksim_bus, which bus1 is",
        ),
        ("as TINY", "as TINNY", "instantiate: got TINNY, expected the name of an earlier block; did you mean `TINY`?"),
        ("tiny.seek", "large.seek", "Full seek curve: got large.seek, expected a file in the folder of this one"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(expected), "{error}");
    }
    let system = read(&changed(", disksim_disk disk1 [ ]", "")).expect("a disk may be left over");
    assert_eq!(system.warnings.len(), 1);
    assert!(system.warnings[0].to_string().contains("disk1, expected a place in the topology"));
}

#[test]
fn data_files_are_checked() {
    for (from, to, expected) in [
        ("4, 2.5", "4, fast", "tiny.seek:3: seek time: got fast, expected milliseconds"),
        ("4, 2.5", "40, 2.5", "tiny.seek:4: distance: got 39, expected more than 40"),
        ("4, 2.5", "4", "tiny.seek:3: seek time: got 4, expected `distance, ms`"),
        ("measured: 3", "measured: 4", "tiny.seek: distances: got 3, expected 4 lines, as the first line says"),
        ("4, 2.5", "4, 2.5, 0.1, 2.7", "a fourth column on every line, or on none"),
        ("Scale/Equals: 1/0", "Scale/Equals: 1", "statdefs:3: statistic: got Scale/Equals: 1, expected"),
        ("5 10 20 40 60 90 120 150 200", "5 10 20", "statdefs:4: edges: got 3, expected 9 of them"),
        ("grow 50", "grow 50 x", "`Start A step B grow C`"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn errors_in_a_layout_have_their_line() {
    let of = |from: &str, to: &str| {
        let folder = changed(from, to);
        load_drive(&folder.path().join("tiny.diskspecs")).map(|_| ()).expect_err(to).to_string()
    };
    let error = of("slips = [ 100, 101, 702 ]", "slips = [ 100, 101, 99702 ]");
    assert!(
        error.contains("tiny.model:28: slips: got 99702, expected a place below the zone's 1600 sectors"),
        "{error}"
    );
    let error = of("First cylinder number = 20", "First cylinder number = 19");
    assert!(error.contains("tiny.model:33: First cylinder number: got 19, expected a cylinder behind"), "{error}");
    let error = of("Number of cylinders = 40", "Number of cylinders = 38");
    assert!(error.contains("tiny.model:34: Last cylinder number: got 39, expected a cylinder below 38"), "{error}");
}

/// Published drives have these oddities: a last cylinder as high as the number of cylinders (HP C2490A), and slips that
/// were found later and appended (Quantum Atlas III). DiskSim 4.0 accepts both.
#[test]
fn oddities_of_published_drives_are_accepted() {
    let drive = |from: &str, to: &str| {
        let folder = changed(from, to);
        let path = folder.path().join("tiny.diskspecs");
        load_drive(&path).unwrap_or_else(|e| panic!("{e}"))
    };
    let places = |drive: &DriveFromDiskSim| {
        let geometry = &drive.model.mechanics.geometry;
        (0..geometry.capacity()).map(|lba| geometry.place_of(lba)).collect::<Vec<_>>()
    };
    let plain = drive("TINY", "TINY");
    let one_more = drive("Number of cylinders = 40", "Number of cylinders = 39");
    assert_eq!(places(&one_more), places(&plain));
    let warnings: Vec<_> = one_more.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|w| w.contains("Number of cylinders: got 39, expected 40")), "{warnings:?}");
    let shuffled = drive("slips = [ 100, 101, 702 ]", "slips = [ 702, 100, 101 ]");
    assert_eq!(places(&shuffled), places(&plain));
}

#[test]
fn a_drive_of_a_system_has_the_times_of_its_bus() {
    let folder = changed("TINY", "TINY");
    let drive = |name: &str| load_drive(&folder.path().join(name)).expect("it is sound").model;
    let (alone, attached) = (drive("tiny.diskspecs"), drive("tiny.parv"));
    let times = |m: &iopilot_scsi::DriveModel| (m.bus.block_times.read.round(), m.bus.block_times.write.round());
    assert_eq!(times(&alone), (20_000.0, 20_000.0));
    // The controller passes everything on, so its own time does not count (DiskSim 4.0). 0.05 ms stands for the 0.0512
    // ms of 10 MB/s.
    assert_eq!(times(&attached), (51_200.0, 20_000.0));
    // Overheads are doubled by their scale; delays are not.
    assert_eq!(alone.overheads.read_hit.read.round(), 200_000.0);
    assert_eq!(alone.write.min_seek_delay, 1_500_000.0);
    // 20 cylinders of 2 tracks: 40 less 10 empty and 8 spare sectors, 28 less 24 spares.
    assert_eq!(alone.mechanics.geometry.capacity(), 1600 - 18 + 1120 - 24);
    assert_eq!(alone.mechanics.geometry.place_of(0).sector, 10);
}

#[test]
fn a_controller_has_a_cache_of_either_kind() {
    let system = read(&changed(
        "instantiate [ ctlr0 ] as CTLR",
        "CTLR CTLR3 { type = 3, Scheduler = disksim_ioqueue Q { Scheduling policy = 1, Cylinder mapping strategy = 0,
           Write initiation delay = 0.0, Read initiation delay = 0.0, Sequential stream scheme = 0,
           Maximum concat size = 0, Overlapping request scheme = 0, Sequential stream diff maximum = 0,
           Scheduling timeout scheme = 0, Timeout time/weight = 0, Timeout scheduling = 0,
           Scheduling priority scheme = 0, Priority scheduling = 0 },
         Cache = disksim_cachedev { Cache size = 100, Max request size = 0, Write scheme = 3, Flush policy = 0,
           Flush period = 0.0, Flush idle delay = -1.0, Cache device = disk0, Cached device = disk1 } }
         instantiate [ ctlr0 ] as CTLR3",
    ))
    .expect("it is sound");
    let ComponentKind::Ctlr(ctlr) = &system.component("ctlr0").expect("it is there").params else { panic!() };
    let Some(CtlrCache::Device(cache)) = &ctlr.cache else { panic!() };
    assert_eq!((cache.flush_idle_delay, cache.cached_device.as_str()), (None, "disk1"));
}
