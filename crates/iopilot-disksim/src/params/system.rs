//! [`System`]: everything a `.parv` describes, as typed parameters.

use super::fields::{Module, check_names};
use super::{
    Bus, BusStats, Cachedev, Cachemem, Ctlr, CtlrCache, CtlrStats, DeviceStats, Disk, DmDisk, Global, Iodriver,
    IodriverStats, Iomap, Ioqueue, Iosim, LayoutG1, LayoutG1Zone, LayoutG2, LayoutG2Zone, LayoutG4, Logorg, MechG1, Pf,
    PfStats, Simpledisk, Stats, Syncset, Synthgen, Synthio, topology,
};
use crate::parse::{Block, FileLine, ParameterFiles, Spec, TopologyNode, Value, expected_name};
use iopilot_block::InputError;
use std::sync::Arc;

/// Named parameters.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// The name.
    pub name: String,
    /// Its place in the files.
    pub place: FileLine,
    /// The block of the parameters.
    pub block: Arc<Block>,
    /// The parameters.
    pub params: T,
}

/// A component, which can be attached in a topology.
pub type Component = Named<ComponentKind>;

/// The kind of a component. Components of one block share their parameters.
#[derive(Clone, Debug)]
pub enum ComponentKind {
    /// A device driver.
    Iodriver(Arc<Iodriver>),
    /// A bus.
    Bus(Arc<Bus>),
    /// A controller.
    Ctlr(Arc<Ctlr>),
    /// A disk drive.
    Disk(Arc<Disk>),
    /// A device with one access time.
    Simpledisk(Arc<Simpledisk>),
}

/// A system and its load.
#[derive(Clone, Debug)]
pub struct System {
    /// Parameters of the whole run; `None` if the file has none.
    pub global: Option<Global>,
    /// The statistics to print.
    pub stats: Option<Stats>,
    /// The processors of synthetic load.
    pub pf: Option<Pf>,
    /// Synthetic load.
    pub synthio: Option<Synthio>,
    /// The mapping of a trace.
    pub iosim: Option<Iosim>,
    /// The components, in the order of instantiation.
    pub components: Vec<Component>,
    /// Logical organisations, numbered in the order of their blocks.
    pub logorgs: Vec<Named<Logorg>>,
    /// Disks that rotate in step.
    pub syncsets: Vec<Named<Syncset>>,
    /// The topology.
    pub topology: Option<TopologyNode>,
    /// Other names of organisations: the instances of their blocks, each with its number.
    logorg_instances: Vec<(String, usize)>,
    /// The files, for messages.
    pub files: ParameterFiles,
    /// Harmless oddities.
    pub warnings: Vec<InputError>,
}

impl System {
    /// Reads everything that a spec instantiates, and checks all references between names.
    ///
    /// # Errors
    /// Names file, line and parameter. Blocks that are never used are also refused if they have parameters unknown to
    /// their module.
    pub fn read(spec: &Spec) -> Result<Self, InputError> {
        for block in &spec.blocks {
            known_names(&spec.files, block)?;
        }
        let mut system = Self {
            global: automatic(spec, "Global")?,
            stats: automatic(spec, "Stats")?,
            pf: automatic(spec, "Proc")?,
            synthio: automatic(spec, "Synthio")?,
            iosim: None,
            components: components(spec)?,
            logorgs: all(spec)?,
            syncsets: all(spec)?,
            topology: spec.topology.clone(),
            logorg_instances: Vec::new(),
            files: spec.files.clone(),
            warnings: spec.warnings.clone(),
        };
        for instance in &spec.instances {
            let block = &instance.block;
            if block.module == Iosim::MODULE {
                if system.iosim.is_some() {
                    let expected = "one instance of disksim_iosim";
                    return Err(spec.files.refuse(instance.place, "instantiate", &*instance.name, expected));
                }
                system.iosim = Some(Iosim::read(&spec.files, block)?);
            }
            if block.module == Logorg::MODULE {
                let number = system.logorgs.iter().position(|l| Some(l.name.as_str()) == block.name.as_deref());
                system.logorg_instances.extend(number.map(|n| (instance.name.to_string(), n)));
            }
        }
        system.check_references(spec)?;
        system.check_topology(spec)?;
        if let Some(file) = system.global.as_ref().map(|g| &g.stat_definition_file) {
            if file.definitions.is_none() {
                let expected = "a file with the shapes of histograms; it was not found, and the defaults are used";
                system.warnings.push(InputError::new("Stat definition file", &file.name, expected));
            }
        }
        Ok(system)
    }

    /// The storage devices, numbered by their order.
    pub fn devices(&self) -> impl Iterator<Item = &Component> {
        let is_device = |c: &&Component| matches!(c.params, ComponentKind::Disk(_) | ComponentKind::Simpledisk(_));
        self.components.iter().filter(is_device)
    }

    /// The number of the storage device called `name`.
    pub fn device(&self, name: &str) -> Option<usize> {
        self.devices().position(|d| d.name == name)
    }

    /// The number of the organisation called `name`, which is that of its block or of an instance.
    pub fn logorg(&self, name: &str) -> Option<usize> {
        let instance = self.logorg_instances.iter().find(|(known, _)| known == name).map(|&(_, number)| number);
        self.logorgs.iter().position(|l| l.name == name).or(instance)
    }

    /// The component called `name`.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|c| c.name == name)
    }

    fn check_references(&self, spec: &Spec) -> Result<(), InputError> {
        let is_device = |name: &str| self.device(name).is_some();
        let refuse = |place: FileLine, field: &str, name: &str, what: &str| {
            let known = self.devices().map(|d| d.name.as_str());
            spec.files.refuse(place, field, name, expected_name(what, name, known))
        };
        let device = "a storage device that is instantiated";
        let lists = self.logorgs.iter().map(|l| (l.place, &l.params.devices));
        for (place, names) in lists.chain(self.syncsets.iter().map(|s| (s.place, &s.params.devices))) {
            if let Some(name) = names.iter().find(|name| !is_device(name)) {
                return Err(refuse(place, "devices", name, device));
            }
        }
        for component in &self.components {
            let ComponentKind::Ctlr(ctlr) = &component.params else { continue };
            let Some(CtlrCache::Device(cache)) = &ctlr.cache else { continue };
            for (field, name) in [("Cache device", &cache.cache_device), ("Cached device", &cache.cached_device)] {
                if !is_device(name) {
                    return Err(refuse(component.place, field, name, device));
                }
            }
        }
        let iosim = spec.instances.iter().find(|i| i.block.module == Iosim::MODULE);
        for map in self.iosim.iter().flat_map(|i| &i.mappings) {
            if !is_device(&map.simdev) && self.logorg(&map.simdev).is_none() {
                let place = iosim.map(|i| i.block.place).unwrap_or_default();
                return Err(refuse(place, "simdev", &map.simdev, device));
            }
        }
        let place = spec.block("Synthio").map(|b| b.place).unwrap_or_default();
        for name in self.synthio.iter().flat_map(|s| &s.generators).flat_map(|g| &g.devices) {
            if !is_device(name) && self.logorg(name).is_none() {
                return Err(refuse(place, "devices", name, "a storage device or a logical organisation"));
            }
        }
        Ok(())
    }

    fn check_topology(&mut self, spec: &Spec) -> Result<(), InputError> {
        let Some(root) = &spec.topology else { return Ok(()) };
        let attached = topology::check(spec, root)?;
        for component in self.components.iter().filter(|c| !attached.contains(c.name.as_str())) {
            let expected = "a place in the topology; it has none";
            self.warnings.push(spec.files.refuse(component.place, "instantiate", &component.name, expected));
        }
        Ok(())
    }
}

/// The block called `name`, for modules that need no instance.
fn automatic<M: Module>(spec: &Spec, name: &str) -> Result<Option<M>, InputError> {
    spec.block(name).map(|block| M::read(&spec.files, block)).transpose()
}

/// All blocks of a module.
fn all<M: Module>(spec: &Spec) -> Result<Vec<Named<M>>, InputError> {
    let read = |block: &Arc<Block>| {
        let name = block.name.as_deref().unwrap_or_default().to_owned();
        Ok(Named { name, place: block.place, block: Arc::clone(block), params: M::read(&spec.files, block)? })
    };
    spec.blocks_of(M::MODULE).map(read).collect()
}

/// The components, reading the parameters of each block once.
fn components(spec: &Spec) -> Result<Vec<Component>, InputError> {
    let mut components: Vec<Component> = Vec::with_capacity(spec.instances.len());
    // Instances of one block follow each other.
    let mut last: Option<(&Arc<Block>, ComponentKind)> = None;
    for instance in &spec.instances {
        let block = &instance.block;
        let params = match &last {
            Some((same, kind)) if Arc::ptr_eq(same, block) => kind.clone(),
            _ => match component(&spec.files, block)? {
                Some(kind) => kind,
                None => continue,
            },
        };
        last = Some((block, params.clone()));
        let (name, block) = (instance.name.to_string(), Arc::clone(block));
        components.push(Named { name, place: instance.place, block, params });
    }
    Ok(components)
}

fn component(files: &ParameterFiles, block: &Block) -> Result<Option<ComponentKind>, InputError> {
    Ok(Some(match block.module {
        Iodriver::MODULE => ComponentKind::Iodriver(Arc::new(Iodriver::read(files, block)?)),
        Bus::MODULE => ComponentKind::Bus(Arc::new(Bus::read(files, block)?)),
        Ctlr::MODULE => ComponentKind::Ctlr(Arc::new(Ctlr::read(files, block)?)),
        Disk::MODULE => ComponentKind::Disk(Arc::new(Disk::read(files, block)?)),
        Simpledisk::MODULE => ComponentKind::Simpledisk(Arc::new(Simpledisk::read(files, block)?)),
        _ => return Ok(None),
    }))
}

/// The parameters of a module.
fn parameters(module: &str) -> Option<&'static [&'static str]> {
    macro_rules! table {
        ($($module:ident),* $(,)?) => {
            match module {
                $($module::MODULE => Some($module::PARAMETERS),)*
                _ => None,
            }
        };
    }
    table![
        Bus,
        BusStats,
        Cachedev,
        Cachemem,
        Ctlr,
        CtlrStats,
        DeviceStats,
        Disk,
        DmDisk,
        Global,
        Iodriver,
        IodriverStats,
        Iomap,
        Ioqueue,
        Iosim,
        LayoutG1,
        LayoutG1Zone,
        LayoutG2,
        LayoutG2Zone,
        LayoutG4,
        Logorg,
        MechG1,
        Pf,
        PfStats,
        Simpledisk,
        Stats,
        Syncset,
        Synthgen,
        Synthio,
    ]
}

/// Refuses parameters that a module does not have, here and in nested blocks.
fn known_names(files: &ParameterFiles, block: &Block) -> Result<(), InputError> {
    if let Some(known) = parameters(block.module) {
        check_names(files, block, known)?;
    }
    block.params.iter().try_for_each(|param| nested_names(files, &param.value))
}

fn nested_names(files: &ParameterFiles, value: &Value) -> Result<(), InputError> {
    match value {
        Value::Block(block) => known_names(files, block),
        Value::List(items) => items.iter().try_for_each(|(_, item)| nested_names(files, item)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::MODULES;

    #[test]
    fn every_module_has_parameters() {
        for module in MODULES {
            assert!(parameters(module).is_some_and(|p| !p.is_empty()), "{module}");
        }
    }
}
