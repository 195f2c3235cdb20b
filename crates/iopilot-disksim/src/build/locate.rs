//! Adds file and line of the wrong parameter to the errors of a model.

use crate::parse::{Block, ParameterFiles, Value};
use iopilot_block::InputError;

/// The keys of our own files, and the corresponding names in a parameter file.
const NAMES: [(&str, &str); 13] = [
    ("first_cylinder", "First cylinder number"),
    ("last_cylinder", "Last cylinder number"),
    ("sectors_per_track", "Blocks per track"),
    ("spares", "Number of spares"),
    ("slips", "slips"),
    ("defects", "defects"),
    ("heads", "Number of data surfaces"),
    ("cylinders", "Number of cylinders"),
    ("range_cylinders", "Rangesize for sparing"),
    ("remaps", "Remaps"),
    ("zone", "Zones"),
    ("patterns", "TP"),
    ("node", "IDX"),
];

/// The error, located at the parameter of `disk` that it is about; at the nearest block if that is unknown.
pub(super) fn locate(files: &ParameterFiles, disk: &Block, error: InputError) -> InputError {
    let mut block = disk;
    let mut name = error.field.clone();
    let mut place = disk.place;
    for (within, nested) in [("layout_", "Layout Model"), ("mechanics", "Mechanical Model")] {
        if error.field.contains(within) {
            for parameter in ["Model", nested] {
                if let Some(inner) = inner(block, parameter) {
                    block = inner;
                    place = block.place;
                }
            }
        }
    }
    let model = inner(disk, "Model");
    for part in error.field.split('.') {
        let (key, index) = match part.split_once('[') {
            Some((key, index)) => (key, index.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let Some((_, parameter)) = NAMES.iter().find(|(known, _)| *known == key) else { continue };
        // Layout g4 has its own list.
        let parameter = if *parameter == "slips" && block.param("Slips").is_some() { "Slips" } else { parameter };
        let found = block.param(parameter).or_else(|| model.and_then(|m| m.param(parameter)));
        let Some(param) = found else { continue };
        place = param.place;
        name = parameter.to_owned();
        if let (Some(index), Value::List(items)) = (index, &*param.value) {
            if let Some((at, Value::Block(item))) = items.get(index) {
                place = *at;
                block = item;
                name = format!("zone {index}");
            }
        }
    }
    InputError { field: name, ..error }.in_file(files.name(place)).at_line(place.line())
}

fn inner<'a>(block: &'a Block, parameter: &str) -> Option<&'a Block> {
    match &*block.param(parameter)?.value {
        Value::Block(inner) => Some(inner),
        _ => None,
    }
}
