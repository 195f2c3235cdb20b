//! [`CacheDevice`]: a device that caches another at the same addresses.

use crate::controller_cache::runs::Runs;
use crate::controller_cache::{CacheAccess, CacheAction, ControllerCacheReport, HostOperation, WriteScheme};
use iopilot_block::{Nanos, Op, Slab};

/// The parameters of a cache device. Sizes are in 512-byte blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheDeviceModel {
    /// How many of the first blocks of the cached device are cached.
    pub size: u64,
    /// Larger requests are split before they come here; zero for no limit.
    pub max_request: u32,
    /// Whether writes to the cache device also go to the cached device.
    pub write_scheme: WriteScheme,
    /// Dirty data are copied back when the cached device has been idle for this long.
    pub idle_delay: Option<Nanos>,
    /// The device that serves as the cache.
    pub cache: usize,
    /// The device that is cached.
    pub cached: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessReason {
    /// Reads data for the host.
    Read(u32),
    /// Copies the data of a read to the cache device.
    Populate,
    /// Writes data of the host; the flag says whether it goes to the cache device.
    Write(u32, bool),
    /// Copies the data of a write to the cached device.
    Through,
    /// The read of a copy-back.
    BackRead,
    /// The write of a copy-back.
    BackWrite,
}

#[derive(Clone, Copy, Debug)]
struct IssuedAccess {
    reason: AccessReason,
    lba: u64,
    sectors: u32,
    /// The host wrote some of these blocks after this access began: its data are out of date.
    stale: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CacheDevice {
    model: CacheDeviceModel,
    valid: Runs,
    dirty: Runs,
    operations: Vec<Option<HostOperation>>,
    accesses: Slab<Option<IssuedAccess>>,
    copying_back: bool,
    report: ControllerCacheReport,
}

impl CacheDevice {
    pub(crate) fn new(model: CacheDeviceModel) -> Self {
        Self {
            model,
            valid: Runs::default(),
            dirty: Runs::default(),
            operations: Vec::new(),
            accesses: Slab::new(),
            copying_back: false,
            report: ControllerCacheReport::default(),
        }
    }

    pub(crate) fn model(&self) -> &CacheDeviceModel {
        &self.model
    }

    pub(crate) fn report(&self) -> ControllerCacheReport {
        self.report
    }

    pub(crate) fn begin(&mut self, host: HostOperation, out: &mut Vec<CacheAction>) {
        let number = host.number as usize;
        if number >= self.operations.len() {
            self.operations.resize(number + 1, None);
        }
        self.operations[number] = Some(host);
        if host.op != Op::Read {
            self.report.writes += 1;
            out.push(CacheAction::Transfer(host.number));
            return;
        }
        self.report.reads += 1;
        let end = host.lba + u64::from(host.sectors);
        let hit = end < self.model.size && self.valid.contains(host.lba, end);
        let device = if hit { self.model.cache } else { self.model.cached };
        if hit {
            self.report.read_hits += 1;
        } else {
            self.report.fills += 1;
            self.report.filled += u64::from(host.sectors);
        }
        self.access(AccessReason::Read(host.number), device, host.lba, host.sectors, Op::Read, out);
    }

    pub(crate) fn transferred(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(host) = self.operations[number as usize] else { return };
        if host.op == Op::Read {
            self.operations[number as usize] = None;
            out.extend([CacheAction::Reply(number), CacheAction::Forget(number)]);
            return;
        }
        let end = host.lba + u64::from(host.sectors);
        let inside = end < self.model.size;
        self.overtake(host.lba, end);
        if inside {
            self.report.write_hits += 1;
        } else {
            // The cache device's copy of these blocks is out of date.
            self.valid.remove(host.lba, end);
            self.dirty.remove(host.lba, end);
        }
        let device = if inside { self.model.cache } else { self.model.cached };
        self.access(AccessReason::Write(number, inside), device, host.lba, host.sectors, Op::Write, out);
    }

    pub(crate) fn accessed(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(access) = self.accesses[number].take() else { return };
        self.accesses.remove(number);
        let IssuedAccess { reason, lba, sectors, stale } = access;
        let end = lba + u64::from(sectors);
        match reason {
            AccessReason::Read(operation) => {
                if end < self.model.size && !stale && !self.valid.contains(lba, end) {
                    self.access(AccessReason::Populate, self.model.cache, lba, sectors, Op::Write, out);
                }
                out.push(CacheAction::Transfer(operation));
            }
            AccessReason::Populate => {
                if !stale {
                    self.valid.insert(lba, end);
                }
            }
            AccessReason::Write(operation, inside) => {
                if inside {
                    self.valid.insert(lba, end);
                    self.dirty.insert(lba, end);
                    if self.model.write_scheme == WriteScheme::WriteThrough {
                        self.report.write_backs += 1;
                        self.report.written_back += u64::from(sectors);
                        self.access(AccessReason::Through, self.model.cached, lba, sectors, Op::Write, out);
                    }
                }
                self.operations[operation as usize] = None;
                out.extend([CacheAction::Reply(operation), CacheAction::Forget(operation)]);
            }
            AccessReason::Through => {
                if !stale {
                    self.dirty.remove(lba, end);
                }
            }
            AccessReason::BackRead => {
                self.report.write_backs += 1;
                self.report.written_back += u64::from(sectors);
                let access = IssuedAccess { reason: AccessReason::BackWrite, lba, sectors, stale };
                self.begin_access(access, self.model.cached, Op::Write, out);
            }
            AccessReason::BackWrite => {
                if !stale {
                    self.dirty.remove(lba, end);
                }
                self.copying_back = false;
                out.push(CacheAction::StillIdle(self.model.cached));
            }
        }
    }

    /// The host writes these blocks: the data of other accesses to them become out of date.
    fn overtake(&mut self, from: u64, to: u64) {
        for access in self.accesses.as_mut_slice().iter_mut().flatten() {
            let writes = matches!(access.reason, AccessReason::Write(..));
            access.stale |= !writes && access.lba < to && from < access.lba + u64::from(access.sectors);
        }
    }

    /// Both devices are idle: copies the first dirty run back.
    pub(crate) fn flush_idle(&mut self, device: usize, out: &mut Vec<CacheAction>) {
        if device != self.model.cached || self.copying_back {
            return;
        }
        let Some((from, to)) = self.dirty.first() else { return };
        // A whole run at once: only requests of the host have a maximum size (DiskSim 4.0).
        let sectors = (to - from).min(u64::from(u32::MAX)) as u32;
        self.copying_back = true;
        self.access(AccessReason::BackRead, self.model.cache, from, sectors, Op::Read, out);
    }

    fn access(
        &mut self,
        reason: AccessReason,
        device: usize,
        lba: u64,
        sectors: u32,
        op: Op,
        out: &mut Vec<CacheAction>,
    ) {
        self.begin_access(IssuedAccess { reason, lba, sectors, stale: false }, device, op, out);
    }

    fn begin_access(&mut self, access: IssuedAccess, device: usize, op: Op, out: &mut Vec<CacheAction>) {
        let number = self.accesses.insert(Some(access));
        let IssuedAccess { lba, sectors, .. } = access;
        out.push(CacheAction::Access(CacheAccess { number, device, lba, sectors, op, through: false }));
    }
}
