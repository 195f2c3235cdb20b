//! [`SystemReport`]: what a run came to.

use crate::system::RunEnding;
use crate::system::build::Assembled;
use iopilot_block::{Histogram, Nanos};
use serde::Serialize;

/// A distribution of times, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimeDistribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of those counted.
    pub std: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl From<&Histogram> for TimeDistribution {
    fn from(h: &Histogram) -> Self {
        let ms = |q| h.quantile(q).as_millis_f64();
        Self {
            mean: h.mean_ms(),
            std: h.stddev_ms(),
            p50: ms(0.5),
            p95: ms(0.95),
            p99: ms(0.99),
            max: h.max().as_millis_f64(),
        }
    }
}

/// What one device did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceUse {
    /// Its name.
    pub name: String,
    /// Accesses that ended.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// From the arrival in the driver's queue to the end.
    pub response_ms: TimeDistribution,
    /// From leaving the driver's queue to the end.
    pub access_ms: TimeDistribution,
    /// In the driver's queue.
    pub queue_ms: TimeDistribution,
}

/// What one logical organisation did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrganisationReport {
    /// Its name.
    pub name: String,
    /// Requests that ended.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// From arrival to the end.
    pub response_ms: TimeDistribution,
}

/// What one bus did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusUse {
    /// Its name.
    pub name: String,
    /// Share of the run in which it was owned.
    pub utilization: f64,
    /// How often it was won.
    pub acquisitions: u64,
    /// From asking for it to having it.
    pub wait_ms: TimeDistribution,
}

/// What the cache of one controller did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheUse {
    /// The controller's name.
    pub name: String,
    /// Reads of the host's.
    pub reads: u64,
    /// Of these, served without an access to a device.
    pub read_hits: u64,
    /// Writes of the host's.
    pub writes: u64,
    /// Of these, onto data that were in the cache.
    pub write_hits: u64,
    /// Accesses that brought data in, and their blocks.
    pub fills: u64,
    /// Blocks they brought.
    pub filled_blocks: u64,
    /// Accesses that wrote data out.
    pub write_backs: u64,
    /// Blocks they wrote.
    pub written_back_blocks: u64,
}

/// Response times of requests as they were issued.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Of all.
    pub response_ms: TimeDistribution,
    /// Of reads.
    pub read_response_ms: TimeDistribution,
    /// Of writes.
    pub write_response_ms: TimeDistribution,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemReport {
    /// Requests that ended, after the warm-up.
    pub requests: u64,
    /// Of the driver's accesses to devices, from arrival in its queues to the end: what DiskSim prints as "IOdriver
    /// Response time". Where an organisation makes one access of each request, this is the requests' response.
    pub response_ms: TimeDistribution,
    /// Of accesses to devices, from leaving the driver's queue to the end.
    pub access_ms: TimeDistribution,
    /// Of accesses to devices, in the driver's queue.
    pub queue_ms: TimeDistribution,
    /// Of requests, from arrival to the end of their last access: DiskSim's "Overall I/O System Response time".
    pub overall: Overall,
    /// By device, in DiskSim's order.
    pub devices: Vec<DeviceUse>,
    /// By logical organisation, in the order of definition.
    pub organisations: Vec<OrganisationReport>,
    /// Buses that have owners.
    pub buses: Vec<BusUse>,
    /// Caches of controllers.
    pub caches: Vec<CacheUse>,
    /// Simulated time, warm-up included.
    pub simulated_ms: f64,
    /// Why it ended: load, trace, idle or saturated.
    pub ended: String,
    /// Requests that were under way at the end and are not counted.
    pub outstanding: u64,
}

impl SystemReport {
    pub(super) fn new(assembled: &Assembled, ending: RunEnding) -> Self {
        let Assembled { simulation: s, built, organisations } = assembled;
        let (mut response, mut access, mut queue) = (Histogram::new(), Histogram::new(), Histogram::new());
        let devices = built.devices.iter().zip(&s.measures.devices).map(|(name, d)| {
            response.merge(&d.response);
            access.merge(&d.access);
            queue.merge(&d.queue);
            DeviceUse {
                name: name.clone(),
                requests: d.reads + d.writes,
                reads: d.reads,
                response_ms: (&d.response).into(),
                access_ms: (&d.access).into(),
                queue_ms: (&d.queue).into(),
            }
        });
        let devices: Vec<_> = devices.collect();
        let organisations = organisations.iter().zip(&s.measures.organisations).map(|(name, o)| OrganisationReport {
            name: name.clone(),
            requests: o.reads + o.writes,
            reads: o.reads,
            response_ms: (&o.response).into(),
        });
        let buses = built.buses.iter().filter_map(|(name, index)| {
            let report = s.parts.subsystem.bus_report(*index);
            (report.acquisitions > 0).then(|| BusUse {
                name: name.clone(),
                utilization: share(report.busy, s.now),
                acquisitions: report.acquisitions,
                wait_ms: (&report.wait).into(),
            })
        });
        let caches = built.controllers.iter().filter_map(|(name, index)| {
            s.parts.subsystem.cache_report(*index).map(|c| CacheUse {
                name: name.clone(),
                reads: c.reads,
                read_hits: c.read_hits,
                writes: c.writes,
                write_hits: c.write_hits,
                fills: c.fills,
                filled_blocks: c.filled,
                write_backs: c.write_backs,
                written_back_blocks: c.written_back,
            })
        });
        Self {
            requests: s.measures.response.count(),
            response_ms: (&response).into(),
            access_ms: (&access).into(),
            queue_ms: (&queue).into(),
            overall: Overall {
                response_ms: (&s.measures.response).into(),
                read_response_ms: (&s.measures.reads).into(),
                write_response_ms: (&s.measures.writes).into(),
            },
            devices,
            organisations: organisations.collect(),
            buses: buses.collect(),
            caches: caches.collect(),
            simulated_ms: s.now.as_millis_f64(),
            ended: match ending {
                RunEnding::Load => "load",
                RunEnding::Trace => "trace",
                RunEnding::Idle => "idle",
                RunEnding::Saturated => "saturated",
            }
            .into(),
            outstanding: s.outstanding(),
        }
    }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.0 as f64 / whole.0 as f64 }
}
