//! From a topology to a storage subsystem.

use super::build::check_positions;
use super::queue::queue_config;
use crate::build::drive_model;
use crate::params::{self, BusType, Cachemem, Component, ComponentKind, Ctlr, CtlrCache, CtlrType, Simpledisk, System};
use crate::parse::{Spec, TopologyNode};
use iopilot_block::{InputError, Nanos};
use iopilot_scsi::{
    AllocationPolicy, AnyTarget, Arbitration, BlockTimes, BusIndex, BusModel, CacheDeviceModel, ControllerCacheModel,
    ControllerIndex, ControllerModel, Drive, FlushPolicy, MemoryCacheModel, Ownership, Prefetch, ReplacementPolicy,
    SimpleDisk, SimpleDiskModel, SmartModel, Subsystem, SubsystemBuilder, WriteScheme,
};

/// The built components, by name.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// The index of the driver among the components.
    pub(super) driver: usize,
    /// In DiskSim's order, that of instantiation.
    pub(super) devices: Vec<String>,
    pub(super) buses: Vec<(String, BusIndex)>,
    pub(super) controllers: Vec<(String, ControllerIndex)>,
}

impl Built {
    pub(super) fn device(&self, name: &str) -> Option<usize> {
        self.devices.iter().position(|d| d == name)
    }
}

fn ns(ms: f64) -> f64 {
    // A negative time has no effect: the slowest part of a path counts.
    (ms * 1e6).max(0.0)
}

/// The mean number of sectors per cylinder, from the first disk's file.
pub(super) fn average_cylinder(system: &System) -> u64 {
    let mut components = system.components.iter();
    components
        .find_map(|c| match &c.params {
            ComponentKind::Disk(disk) => Some(disk.avg_sectors_per_cylinder),
            _ => None,
        })
        .unwrap_or(1)
}

/// Builds the tree below the driver.
pub(super) fn subsystem(spec: &Spec, system: &System) -> Result<(Subsystem<AnyTarget>, Built), InputError> {
    let Some(root) = &system.topology else {
        return Err(InputError::new("topology", "none", "topology disksim_iodriver NAME [ ... ]"));
    };
    let driver = system.components.iter().position(|c| c.name == *root.name).unwrap_or_default();
    // Devices are numbered by their instantiation, not by their place in the tree.
    let in_tree = |name: &str| find(root, name);
    let devices: Vec<String> = system.devices().map(|d| d.name.clone()).collect();
    if let Some(missing) = system.devices().find(|d| !in_tree(&d.name)) {
        let expected = "a place in the topology, as devices are numbered in the order of their instantiation";
        return Err(system.files.refuse(missing.place, "instantiate", &missing.name, expected));
    }
    let built = Built { driver, devices, ..Built::default() };
    let mut tree = Tree { spec, system, builder: SubsystemBuilder::new(), built, targets: Vec::new() };
    for node in &root.children {
        tree.bus(node, None)?;
    }
    let Tree { mut builder, built, mut targets, .. } = tree;
    targets.sort_by_key(|(number, ..)| *number);
    for (_, bus, slot, target) in targets {
        builder.device_in_slot(bus, slot, target);
    }
    let subsystem = builder.build().map_err(|fault| {
        system.files.refuse(root.place, "topology", fault.to_string(), "one controller of type 2 at most on a path")
    })?;
    for component in &system.components {
        let ComponentKind::Ctlr(ctlr) = &component.params else { continue };
        let (CtlrType::Smart, Some(scheduler)) = (ctlr.kind, &ctlr.scheduler) else { continue };
        for (device, name) in built.devices.iter().enumerate() {
            let known = subsystem.positions(device).is_some();
            check_positions(system, component.place, &queue_config(scheduler, average_cylinder(system)), known, name)?;
        }
    }
    Ok((subsystem, built))
}

fn find(node: &TopologyNode, name: &str) -> bool {
    &*node.name == name || node.children.iter().any(|child| find(child, name))
}

struct Tree<'a> {
    spec: &'a Spec,
    system: &'a System,
    builder: SubsystemBuilder<AnyTarget>,
    built: Built,
    /// Devices with their numbers, which determine the order of attachment.
    targets: Vec<(usize, BusIndex, usize, AnyTarget)>,
}

impl Tree<'_> {
    fn component(&self, node: &TopologyNode) -> Result<&Component, InputError> {
        let expected = "a component that is instantiated";
        let refuse = || self.system.files.refuse(node.place, "topology", &*node.name, expected);
        self.system.component(&node.name).ok_or_else(refuse)
    }

    fn bus(&mut self, node: &TopologyNode, master: Option<ControllerIndex>) -> Result<(), InputError> {
        let component = self.component(node)?;
        let ComponentKind::Bus(bus) = &component.params else { return Ok(()) };
        let model = bus_model(bus);
        let index = self.builder.bus(master, model);
        self.built.buses.push((node.name.to_string(), index));
        for child in &node.children {
            match &self.component(child)?.params {
                ComponentKind::Ctlr(ctlr) => {
                    let model = self.controller_model(child, &ctlr.clone())?;
                    let controller = self.builder.controller(index, model);
                    self.built.controllers.push((child.name.to_string(), controller));
                    for below in &child.children {
                        self.bus(below, Some(controller))?;
                    }
                }
                _ => self.device(child, index)?,
            }
        }
        Ok(())
    }

    fn device(&mut self, node: &TopologyNode, bus: BusIndex) -> Result<(), InputError> {
        let target = match &self.component(node)?.params {
            ComponentKind::Disk(disk) => {
                let block = self.spec.instance(&node.name).map(|i| i.block.clone());
                let Some(block) = block else { return Ok(()) };
                AnyTarget::from(Drive::new(drive_model(&self.system.files, &block, disk)?))
            }
            ComponentKind::Simpledisk(disk) => AnyTarget::from(simple_disk(disk)),
            _ => return Ok(()),
        };
        let number = self.built.device(&node.name).unwrap_or_default();
        let slot = self.builder.slot(bus);
        self.targets.push((number, bus, slot, target));
        Ok(())
    }

    fn controller_model(&self, node: &TopologyNode, ctlr: &Ctlr) -> Result<ControllerModel, InputError> {
        let delay = |ms: f64| Nanos::from_millis_f64(ms * ctlr.scale_for_delays);
        let block_time = ns(ctlr.bulk_sector_transfer_time);
        Ok(match ctlr.kind {
            CtlrType::PassThrough => ControllerModel::PassThrough { delay: delay(1.0) },
            CtlrType::Simple => ControllerModel::Scsi53c700 { delay: delay(0.5), block_time },
            CtlrType::Smart => ControllerModel::Smart(Box::new(SmartModel {
                delay: delay(0.5),
                block_time,
                interleaved: false,
                queue_depth: narrow(ctlr.maximum_queue_length.saturating_add(1)),
                per_device: narrow(ctlr.max_per_disk_pending_count.unwrap_or(1).max(1)),
                queue: ctlr
                    .scheduler
                    .as_ref()
                    .map(|q| queue_config(q, average_cylinder(self.system)))
                    .unwrap_or_default(),
                cache: self.cache_model(node, ctlr)?,
            })),
        })
    }

    fn cache_model(&self, node: &TopologyNode, ctlr: &Ctlr) -> Result<ControllerCacheModel, InputError> {
        let place = self.component(node)?.place;
        match &ctlr.cache {
            Some(CtlrCache::Memory(memory)) => {
                let model = memory_cache(memory);
                match model.fault() {
                    Some((parameter, got, expected)) => {
                        let got = format!("{parameter} {got}");
                        Err(self.system.files.refuse(place, "Cache", &got, expected))
                    }
                    None => Ok(ControllerCacheModel::Memory(model)),
                }
            }
            Some(CtlrCache::Device(cache)) => {
                let number = |field, name: &str| {
                    let below = find(node, name);
                    let expected = "a device below this controller";
                    let refuse = || self.system.files.refuse(place, field, name, expected);
                    self.built.device(name).filter(|_| below).ok_or_else(refuse)
                };
                Ok(ControllerCacheModel::Device(CacheDeviceModel {
                    size: cache.cache_size,
                    max_request: narrow(cache.max_request_size),
                    write_scheme: write_scheme(cache.write_scheme),
                    idle_delay: cache.flush_idle_delay.map(Nanos::from_millis_f64),
                    cache: number("Cache device", &cache.cache_device)?,
                    cached: number("Cached device", &cache.cached_device)?,
                }))
            }
            None => Err(self.system.files.refuse(place, "Cache", "none", "a cache for a controller of type 3")),
        }
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn bus_model(bus: &params::Bus) -> BusModel {
    BusModel {
        ownership: match bus.kind {
            BusType::Owned => Ownership::Exclusive,
            BusType::Shared => Ownership::Shared,
        },
        arbitration: match bus.arbitration_type {
            params::ArbitrationType::SlotPriority => Arbitration::SlotPriority,
            params::ArbitrationType::Fcfs => Arbitration::Fifo,
        },
        arbitration_time: Nanos::from_millis_f64(bus.arbitration_time),
        block_times: BlockTimes { read: ns(bus.read_block_transfer_time), write: ns(bus.write_block_transfer_time) },
    }
}

fn simple_disk(disk: &Simpledisk) -> SimpleDisk {
    SimpleDisk::new(SimpleDiskModel {
        capacity: disk.block_count,
        queue_depth: disk.max_queue_length.max(1),
        command_overhead: Nanos::from_millis_f64(disk.command_overhead),
        access_time: Nanos::from_millis_f64(disk.access_ms()),
        block_time: ns(disk.bulk_sector_transfer_time),
        message_latency: Nanos::from_millis_f64(disk.bus_transaction_latency),
        never_disconnect: disk.never_disconnect,
    })
}

fn write_scheme(scheme: params::WriteSchemeParam) -> WriteScheme {
    match scheme {
        params::WriteSchemeParam::Synchronous => WriteScheme::Synchronous,
        params::WriteSchemeParam::WriteThrough => WriteScheme::WriteThrough,
        params::WriteSchemeParam::WriteBack => WriteScheme::WriteBack,
    }
}

fn memory_cache(cache: &Cachemem) -> MemoryCacheModel {
    let prefetch = |bits: u8| Prefetch { front: bits & 1 != 0, rest: bits & 2 != 0 };
    MemoryCacheModel {
        size: cache.cache_size,
        segments: cache.slru_segments.clone(),
        line: narrow(cache.line_size),
        bit_granularity: narrow(cache.bit_granularity),
        lock_granularity: narrow(cache.lock_granularity),
        shared_read_locks: cache.shared_read_locks,
        max_request: narrow(cache.max_request_size),
        replacement: match cache.replacement_policy {
            params::ReplacementPolicyParam::Fifo => ReplacementPolicy::Fifo,
            params::ReplacementPolicyParam::SegmentedLru => ReplacementPolicy::SegmentedLru,
            params::ReplacementPolicyParam::Random => ReplacementPolicy::Random,
            params::ReplacementPolicyParam::Lifo => ReplacementPolicy::Lifo,
        },
        allocation: match cache.allocation_policy {
            params::AllocationPolicyParam::Strict => AllocationPolicy::Strict,
            params::AllocationPolicyParam::CleanFirst => AllocationPolicy::SkipDirty,
        },
        write_scheme: write_scheme(cache.write_scheme),
        flush: match cache.flush_policy {
            params::FlushPolicyParam::OnDemand => FlushPolicy::OnDemand,
            params::FlushPolicyParam::Periodic => FlushPolicy::Periodic(Nanos::from_millis_f64(cache.flush_period)),
        },
        flush_wakeups: 1,
        idle_delay: cache.flush_idle_delay.map(Nanos::from_millis_f64),
        idle_counts_host: false,
        flush_cluster: narrow(cache.flush_max_line_cluster.max(1)),
        read_prefetch: prefetch(cache.read_prefetch_type),
        write_prefetch: prefetch(cache.write_prefetch_type),
        line_by_line: cache.line_by_line_fetches,
        max_gather: narrow(cache.max_gather),
        seed: 1,
    }
}
