//! The grammar, rule by rule, and what it refuses.

use super::{Block, Spec, Value};
use proptest::prelude::*;
use std::fs;

fn parse(text: &str) -> Spec {
    Spec::parse(text, "t.parv", None).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    Spec::parse(text, "t.parv", None).unwrap_err().to_string()
}

fn value(block: &Block, name: &str) -> String {
    block.param(name).unwrap_or_else(|| panic!("no {name}")).value.describe()
}

fn words(value: &Value) -> Vec<String> {
    let Value::List(values) = value else { panic!("{value:?} is no list") };
    values.iter().map(|(_, v)| v.describe()).collect()
}

#[test]
fn a_block_has_parameters_of_several_words() {
    let spec = parse(
        "disksim_bus BUS0 { # comment\n type = 1,\n Arbitration\n  time=0.5 , Read block   transfer time = -2\n}",
    );
    let bus = spec.block("BUS0").unwrap();
    assert_eq!((bus.module, bus.params.len(), bus.place.line()), ("disksim_bus", 3, 1));
    assert_eq!(value(bus, "Arbitration time"), "0.5");
    assert_eq!(value(bus, "Read block transfer time"), "-2");
    assert_eq!(bus.param("Read block transfer time").unwrap().place.line(), 4);
    assert!(parse("disksim_bus B { }").block("B").unwrap().params.is_empty());
}

#[test]
fn a_block_inherits_from_an_earlier_one() {
    let spec = parse("disksim_bus A { type = 1, Print stats = 0 } A B { Print stats = 1, Arbitration time = 2.0 }");
    let b = spec.block("B").unwrap();
    assert_eq!(b.module, "disksim_bus");
    assert_eq!(["type", "Print stats", "Arbitration time"].map(|n| value(b, n)), ["1", "1", "2.0"]);
    assert_eq!(value(spec.block("A").unwrap(), "Print stats"), "0");
}

#[test]
fn lists_nest_and_ranges_are_written_out() {
    let spec = parse("disksim_logorg L { devices = [ d1, disk9 .. disk11, x ], TP = [ [ 1, 2.5 ], [] ] }");
    let block = spec.block("L").unwrap();
    let list = |name: &str| block.param(name).unwrap().value.clone();
    assert_eq!(words(&list("devices")), ["d1", "disk9", "disk10", "disk11", "x"]);
    let Value::List(rows) = &*list("TP") else { panic!() };
    assert_eq!(words(&rows[0].1), ["1", "2.5"]);
    assert!(words(&rows[1].1).is_empty());
}

#[test]
fn several_parameters_share_a_value() {
    let spec = parse("disksim_bus B { [ Read block transfer time, Write block transfer time ] = 0.5, type = 1 }");
    let b = spec.block("B").unwrap();
    assert_eq!(value(b, "Read block transfer time"), "0.5");
    assert_eq!(value(b, "Write block transfer time"), "0.5");
}

#[test]
fn blocks_stand_within_blocks_with_a_name_or_without() {
    let spec = parse(
        "disksim_ctlr C { Scheduler = disksim_ioqueue { Scheduling policy = 3 },
           Cache = disksim_cachemem M { Line size = 8 } }
         disksim_ctlr D { Cache = M { Cache size = 2 } }",
    );
    let Value::Block(cache) = &*spec.block("D").unwrap().param("Cache").unwrap().value else { panic!() };
    assert_eq!((cache.module, value(cache, "Line size")), ("disksim_cachemem", "8".to_owned()));
    assert!(spec.block("M").is_none(), "a nested block is not at the top level");
}

#[test]
fn components_are_instantiated_in_order() {
    let spec = parse("disksim_disk D { } disksim_bus B { } instantiate [ d0 .. d2, e ] as D instantiate [ b ] as B");
    let names: Vec<_> = spec.instances.iter().map(|i| &*i.name).collect();
    assert_eq!(names, ["d0", "d1", "d2", "e", "b"]);
    assert_eq!(spec.instance("b").unwrap().block.module, "disksim_bus");
}

#[test]
fn the_topology_is_a_tree() {
    let spec =
        parse("topology disksim_iodriver d [ disksim_bus b [ disksim_ctlr c [ ], disksim_disk x [] # last\n ] ]");
    let root = spec.topology.unwrap();
    assert_eq!((root.module, &*root.name, root.children.len()), ("disksim_iodriver", "d", 1));
    let children: Vec<_> = root.children[0].children.iter().map(|n| &*n.name).collect();
    assert_eq!(children, ["c", "x"]);
}

#[test]
fn the_first_block_keeps_a_name_and_a_second_one_is_a_warning() {
    let spec = parse("disksim_bus B { type = 1 }\ndisksim_bus B { type = 2 }");
    assert_eq!(value(spec.block("B").unwrap(), "type"), "1");
    let warnings: Vec<_> = spec.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["t.parv:2: B: got a second disksim_bus B, expected one; the first, of line 1, stays"]);
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_known_one() {
    assert_eq!(
        refused("\ndisksim_buss B { }"),
        "t.parv:2: type: got disksim_buss, expected a module or the name of an earlier block; did you mean `disksim_bus`?"
    );
    assert!(refused("disksim_disk DISK9 { } instantiate [ d ] as DISC9").ends_with("did you mean `DISK9`?"));
    assert!(refused("topology disksim_driver d []").contains("did you mean `disksim_iodriver`?"));
}

#[test]
fn packages_that_are_not_simulated_are_named() {
    assert_eq!(
        refused("\nssdmodel_ssd SSD { }"),
        "t.parv:2: type: got ssdmodel_ssd, expected a module of DiskSim 4.0 itself; not simulated: ssdmodel"
    );
    assert!(refused("topology memsmodel_mems m []").ends_with("not simulated: memsmodel"));
}

#[test]
fn a_parameter_stands_once() {
    let e = refused("disksim_bus B {\n type = 1,\n Print stats = 0,\n type = 2 }");
    assert_eq!(e, "t.parv:4: type: got it again, expected it once; line 2 has it already");
    assert!(refused("disksim_bus B { } instantiate [ b, b ] as B").contains("it is there already"));
    assert!(refused("topology disksim_iodriver d [] topology disksim_iodriver d []").contains("a second one"));
}

#[test]
fn a_text_that_ends_early_says_what_is_open() {
    assert_eq!(
        refused("disksim_bus B {\n type = 1,"),
        "t.parv:2: got the end of the file, expected a parameter; the { of line 1 needs its }"
    );
    for text in [
        "disksim_bus",
        "disksim_bus B",
        "disksim_bus B {",
        "disksim_bus B { type",
        "disksim_bus B { type =",
        "disksim_bus B { type = [",
        "disksim_bus B { type = 1",
        "instantiate",
        "instantiate [ a",
        "instantiate [ a ]",
        "topology",
        "topology disksim_bus b [",
        "source",
        "disksim_bus B { type = [ a ..",
    ] {
        let e = refused(text);
        assert!(e.contains("got the end of the file") || e.contains("got nothing"), "{text}: {e}");
    }
}

#[test]
fn marks_must_be_where_they_belong() {
    assert_eq!(refused("disksim_bus B { type = 1, }"), "t.parv:1: got }, expected a parameter");
    assert!(refused("disksim_bus B { type = [ 1, ] }").contains("type: got ], expected a number"));
    assert!(refused("disksim_bus B { type = 1 Print stats = 2 }").contains("got Print, expected `,`"));
    assert!(refused("disksim_bus B { type = 1 ] }").contains("got ], expected"));
    assert!(refused("}").contains("a bracket that was opened in this file"));
    assert!(refused("disksim_bus B { type : 1 }").contains("type: got :, expected = and a value"));
    assert!(refused("disksim_bus B { type = as }").contains("type: got as, expected"));
    assert!(refused("disksim_bus B { type = 99999999999999999999 }").contains("fits 64 bits"));
    assert!(refused("disksim_bus B { type = one two }").contains("expected one word"));
}

#[test]
fn ranges_count_upwards_within_bounds() {
    let of = |range: &str| refused(&format!("disksim_logorg L {{ devices = [ {range} ] }}"));
    assert!(of("disk8 .. disk0").contains("devices: got disk8 .. disk0, expected two names"));
    assert!(of("disk0 .. disc8").contains("expected two names"));
    assert!(of("disk .. disk8").contains("expected two names"));
    assert!(of("1 .. 5").contains("expected two names"));
    assert!(of("d0 .. d99999999").contains("at most 65536 names"));
    assert!(of("d0 .. d40000, e0 .. e40000").contains("at most 65536 names"));
}

#[test]
fn nesting_is_bounded() {
    assert!(refused(&"disksim_ctlr C { a = ".repeat(5000)).contains("at most 100 brackets"));
    assert!(refused(&format!("disksim_ctlr C {{ a = {}", "[".repeat(100_000))).contains("at most 100 brackets"));
}

#[test]
fn files_are_included_wherever_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("main.parv", "source sub/disk.specs\ndisksim_bus B { type = source one }");
    write("sub/disk.specs", "disksim_disk D {\n Model = source d.model\n}");
    write("sub/d.model", "# a comment\ndm_disk m { Block count = 5 }\n");
    fs::write(other.path().join("one"), "1").unwrap();
    let spec = Spec::load_with(&folder.path().join("main.parv"), vec![other.path().to_owned()]).unwrap();
    let Value::Block(model) = &*spec.block("D").unwrap().param("Model").unwrap().value else { panic!() };
    let count = model.param("Block count").unwrap();
    assert!(spec.files.name(count.place).ends_with("d.model") && count.place.line() == 2);
    assert_eq!(value(spec.block("B").unwrap(), "type"), "1");
    let found = spec.files.find(count.place, "x", "disk.specs").unwrap();
    assert!(found.ends_with("sub/disk.specs"), "data files are looked for beside the file that names them");
    assert!(spec.files.find(count.place, "x", "one").unwrap().starts_with(other.path()));
    let absolute = folder.path().join("sub/d.model");
    assert!(spec.files.find(count.place, "x", absolute.to_str().unwrap()).is_ok());
}

#[test]
fn inclusion_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let load = |files: &[(&str, &str)]| {
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Spec::load_with(&folder.path().join(files[0].0), Vec::new()).unwrap_err().to_string()
    };
    let e = load(&[("a", "\nsource b"), ("b", "source a")]);
    assert!(e.contains("/b:1: source: got a, expected a file that is not being read already"), "{e}");
    let e = load(&[("a", "source nowhere")]);
    assert!(e.contains("/a:1: source: got nowhere, expected a file in the folder of this one"), "{e}");
    let e = load(&[("a", "source b }"), ("b", "disksim_bus B { type = 1")]);
    assert!(e.contains("/b:1: got the end of the file"), "an included file closes what it opens: {e}");
    let e = load(&[("a", "disksim_bus B { type = source b"), ("b", "1 }")]);
    assert!(e.contains("/b:1: got }, expected a bracket that was opened in this file"), "{e}");
    let deep: Vec<_> = (0..40).map(|i| (format!("f{i}"), format!("source f{}", i + 1))).collect();
    let deep: Vec<_> = deep.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    assert!(load(&deep).contains("at most 32 deep"));
    let twice: Vec<_> = (0..20).map(|i| (format!("f{i}"), format!("source f{0}\nsource f{0}", i + 1))).collect();
    let mut twice: Vec<_> = twice.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    twice.push(("f20", "# nothing"));
    assert!(load(&twice).contains("at most 4096 inclusions"));
    assert!(refused("source x").contains("no file name in a text that is not a file"));
    let missing = Spec::load(&folder.path().join("missing.parv")).unwrap_err().to_string();
    assert!(missing.contains("missing.parv, expected a file that can be read"), "{missing}");
}

/// Fragments for texts that reach deep into the grammar.
fn fragment() -> impl Strategy<Value = String> {
    const WORDS: [&str; 20] = [
        "disksim_bus",
        "disksim_disk",
        "instantiate",
        "topology",
        "as",
        "B",
        "type",
        "=",
        "{",
        "}",
        "[",
        "]",
        ",",
        "..",
        "disk0",
        "disk7",
        "1",
        "-2.5",
        "\n",
        "# x\n",
    ];
    prop_oneof![4 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read_or_refused_in_one_line(parts in prop::collection::vec(fragment(), 0..60)) {
        if let Err(e) = Spec::parse(&parts.join(" "), "noise", None) {
            prop_assert!(!e.to_string().contains('\n'));
        }
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_in_one_line(at in 0usize..400, byte: u8, cut: bool) {
        let text = "disksim_bus A { type = 1, [ x y, z ] = [ 1, a .. b, c1 .. c3 ] } # end\nA B { t = A { u = 0x1f } }
            instantiate [ d0 .. d2 ] as B topology disksim_iodriver d [ disksim_bus d1 [ ], disksim_bus d2 [] ]";
        let mut bytes = text.as_bytes().to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Err(e) = Spec::parse(&String::from_utf8_lossy(&bytes), "noise", None) {
            prop_assert!(!e.to_string().contains('\n'));
        }
    }
}
