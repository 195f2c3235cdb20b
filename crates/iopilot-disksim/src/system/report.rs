//! [`SystemReport`]: the results of a run.

use crate::system::RunEnding;
use crate::system::build::Assembled;
use iopilot_block::{Histogram, Nanos};
use serde::Serialize;

/// A distribution of times, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimeDistribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
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

/// Statistics of one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceUse {
    /// Its name.
    pub name: String,
    /// Completed accesses.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// From the arrival in the driver's queue to the completion.
    pub response_ms: TimeDistribution,
    /// From leaving the driver's queue to the completion.
    pub access_ms: TimeDistribution,
    /// Time in the driver's queue.
    pub queue_ms: TimeDistribution,
}

/// Statistics of one logical organisation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrganisationReport {
    /// Its name.
    pub name: String,
    /// Completed requests.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// From arrival to completion.
    pub response_ms: TimeDistribution,
}

/// Statistics of one bus.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusUse {
    /// Its name.
    pub name: String,
    /// Share of the run in which it was owned.
    pub utilization: f64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// From the request for the bus to its acquisition.
    pub wait_ms: TimeDistribution,
}

/// Statistics of one controller's cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheUse {
    /// The controller's name.
    pub name: String,
    /// Reads of the host.
    pub reads: u64,
    /// Reads served without an access to a device.
    pub read_hits: u64,
    /// Writes of the host.
    pub writes: u64,
    /// Writes to data that were in the cache.
    pub write_hits: u64,
    /// Accesses that read data into the cache.
    pub fills: u64,
    /// The blocks of those accesses.
    pub filled_blocks: u64,
    /// Accesses that wrote data back.
    pub write_backs: u64,
    /// The blocks of those accesses.
    pub written_back_blocks: u64,
}

/// Response times of requests as issued.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// All requests.
    pub response_ms: TimeDistribution,
    /// Reads.
    pub read_response_ms: TimeDistribution,
    /// Writes.
    pub write_response_ms: TimeDistribution,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemReport {
    /// Requests completed after the warm-up.
    pub requests: u64,
    /// The driver's accesses to devices, from arrival in its queues to completion. DiskSim prints this as "IOdriver
    /// Response time". If an organisation makes one access of each request, this is the response time of requests.
    pub response_ms: TimeDistribution,
    /// Accesses to devices, from leaving the driver's queue to completion.
    pub access_ms: TimeDistribution,
    /// Accesses to devices, time in the driver's queue.
    pub queue_ms: TimeDistribution,
    /// Requests, from arrival to the completion of their last access: DiskSim's "Overall I/O System Response time".
    pub overall: Overall,
    /// By device, in DiskSim's order.
    pub devices: Vec<DeviceUse>,
    /// By logical organisation, in the order of definition.
    pub organisations: Vec<OrganisationReport>,
    /// Buses with owners.
    pub buses: Vec<BusUse>,
    /// Caches of controllers.
    pub caches: Vec<CacheUse>,
    /// Simulated time, including the warm-up.
    pub simulated_ms: f64,
    /// Why it ended: load, trace, idle or saturated.
    pub ended: String,
    /// Requests in flight at the end, which are not counted.
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
