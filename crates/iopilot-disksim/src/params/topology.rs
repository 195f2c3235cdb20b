//! Checks whether a topology can be built.

use super::fields::Module;
use super::{Bus, Ctlr, Disk, Iodriver, Simpledisk};
use crate::parse::{Spec, TopologyNode, expected_name};
use iopilot_block::InputError;
use std::collections::HashSet;

const FIELD: &str = "topology";

/// The most units on a bus, including the one above it.
const MAX_SLOTS: usize = 15;

/// Refuses a topology that is not a tree of one driver, its bus, controllers and devices. Returns the names of the
/// attached components.
pub(super) fn check<'a>(spec: &'a Spec, root: &'a TopologyNode) -> Result<HashSet<&'a str>, InputError> {
    let mut attached = HashSet::new();
    if root.module != Iodriver::MODULE {
        return Err(refuse(spec, root, root.module, "a device driver at the top: disksim_iodriver"));
    }
    if root.children.len() != 1 {
        let got = format!("{} below {}", root.children.len(), root.name);
        return Err(refuse(spec, root, &got, "exactly one bus below the driver"));
    }
    node(spec, root, 0, &mut attached)?;
    Ok(attached)
}

fn refuse(spec: &Spec, node: &TopologyNode, got: &str, expected: impl Into<String>) -> InputError {
    spec.files.refuse(node.place, FIELD, got, expected)
}

/// Checks a node and its descendants; `controllers` are above it.
fn node<'a>(
    spec: &'a Spec,
    node: &'a TopologyNode,
    controllers: usize,
    attached: &mut HashSet<&'a str>,
) -> Result<(), InputError> {
    let Some(instance) = spec.instance(&node.name) else {
        let known = spec.instances.iter().filter(|i| i.block.module == node.module).map(|i| &*i.name);
        let expected = expected_name("a component that is instantiated", &node.name, known);
        return Err(refuse(spec, node, &node.name, expected));
    };
    if instance.block.module != node.module {
        let expected = format!("{}, which {} is", instance.block.module, node.name);
        return Err(refuse(spec, node, node.module, expected));
    }
    if !attached.insert(&node.name) {
        return Err(refuse(spec, node, &node.name, "each component once"));
    }
    let below: &[&str] = match node.module {
        Iodriver::MODULE | Ctlr::MODULE => &[Bus::MODULE],
        Bus::MODULE => &[Ctlr::MODULE, Disk::MODULE, Simpledisk::MODULE],
        _ => &[],
    };
    let controllers = controllers + usize::from(node.module == Ctlr::MODULE);
    if controllers > 2 {
        return Err(refuse(spec, node, &node.name, "at most 2 controllers between the driver and a device"));
    }
    let is_device = [Disk::MODULE, Simpledisk::MODULE].contains(&node.module);
    if is_device && controllers == 0 {
        return Err(refuse(spec, node, &node.name, "a controller between the driver and a device"));
    }
    // The unit above a bus has slot 0.
    if node.module == Bus::MODULE && node.children.len() >= MAX_SLOTS {
        let got = format!("{} units on {}", node.children.len(), node.name);
        return Err(refuse(spec, node, &got, format!("at most {}", MAX_SLOTS - 1)));
    }
    for child in &node.children {
        if !below.contains(&child.module) {
            let expected = match below {
                [] => format!("nothing below {}", node.module),
                _ => format!("{} below {}", below.join(" or "), node.module),
            };
            return Err(refuse(spec, child, child.module, expected));
        }
        self::node(spec, child, controllers, attached)?;
    }
    Ok(())
}
