//! [`replay`]: the requests of a validate trace sent to a model, one at a time.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{Device, DeviceRequest};
use iopilot_trace::{ThinkTime, ValidateRecord};

/// The completion after which the next request is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayClock {
    /// The completion in the model, as in DiskSim. The phase of the real spindle is soon lost.
    #[default]
    Model,
    /// The measured completion. The phase is kept as far as the model's rotation period is right, so single requests
    /// can be predicted.
    Measured,
}

/// One request's measured and predicted times, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replayed {
    /// Read or write.
    pub op: Op,
    /// The measured service time.
    pub measured_ms: f64,
    /// The model's service time.
    pub model_ms: f64,
}

/// Sends `records` to `device`, each after the previous one is complete and its think time is over. Records beyond the
/// end of the device are left out.
pub fn replay<D: Device>(
    device: &mut D,
    records: &[ValidateRecord],
    clock: ReplayClock,
    think: ThinkTime,
) -> Vec<Replayed> {
    let mut replayed = Vec::with_capacity(records.len());
    let mut out = Vec::new();
    // When the clock issues the next request, and when the device completed the last.
    let (mut due, mut free) = (Nanos::ZERO, Nanos::ZERO);
    for (i, record) in records.iter().enumerate() {
        let next_think = match think {
            ThinkTime::After => record.think,
            ThinkTime::Before => records.get(i + 1).map_or(Nanos::ZERO, |next| next.think),
        };
        if record.lba.0 + u64::from(record.sectors.0) > device.capacity() {
            due += record.service + next_think;
            continue;
        }
        let now = due.max(free);
        let service = serve(device, record, now, &mut out);
        free = now + service;
        due = match clock {
            ReplayClock::Model => free + next_think,
            ReplayClock::Measured => due + record.service + next_think,
        };
        replayed.push(Replayed {
            op: record.op,
            measured_ms: record.service.as_millis_f64(),
            model_ms: service.as_millis_f64(),
        });
    }
    replayed
}

/// The service time of `device` for one request issued at `now`.
fn serve<D: Device>(
    device: &mut D,
    record: &ValidateRecord,
    now: Nanos,
    out: &mut Vec<iopilot_device::Completion>,
) -> Nanos {
    let (lba, sectors): (Lba, Sectors) = (record.lba, record.sectors);
    let id = RequestId::from_index(0);
    device.submit(DeviceRequest { id, op: record.op, lba, sectors, flags: Flags::empty() }, now);
    while let Some(at) = device.next_event() {
        device.advance(at, out);
        if let Some(completion) = out.pop() {
            return completion.at.since(now);
        }
    }
    // A device always completes its requests.
    Nanos::ZERO
}
