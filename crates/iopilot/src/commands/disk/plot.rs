//! `iopilot disk plot`: pictures of a model.

use super::cliff::write_cliff;
use crate::commands::CommandContext;
use crate::commands::session::load_disk;
use crate::report::pictures;
use anyhow::Context as _;
use iopilot_block::{Flags, InputError, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, DeviceSpec};
use iopilot_device::{Device, DeviceRequest, Mechanics};
use iopilot_trace::Destination;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io::Write as _;
use std::path::Path;

/// Requests of each direction whose times are drawn.
const REQUESTS: u64 = 5_000;
/// 8 KiB.
const SECTORS: u64 = 16;

/// Writes the pictures of `disk` into `folder`; returns the text to print.
pub(super) fn run(disk: &str, folder: &Path, seed: u64, context: &CommandContext) -> anyhow::Result<String> {
    let spec = load_disk(disk, context)?;
    let device = spec.build()?;
    let name = &spec.name;
    let mut pictures = vec![("service", {
        let [reads, writes] = [Op::Read, Op::Write].map(|op| service_times(&device, op, seed));
        pictures::service_times(name, reads?, writes?)
    })];
    if let DeviceSpec::Ssd(ssd) = &spec.device {
        pictures.push(("cliff", pictures::write_cliff(name, write_cliff(&spec, ssd, seed)?)));
    }
    if let Some(mechanics) = mechanics(&device) {
        pictures.push(("seek", pictures::seek_curve(name, mechanics)));
        pictures.push(("zones", pictures::zones(name, mechanics)));
    }
    std::fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    let mut out = String::new();
    for (what, svg) in pictures {
        let path = folder.join(format!("{name}-{what}.svg"));
        let written = || -> std::io::Result<()> {
            let (destination, mut file) = Destination::create(&path)?;
            file.write_all(svg.as_bytes())?;
            destination.commit(&file)
        };
        written().with_context(|| format!("writing {}", path.display()))?;
        out.push_str(&format!("{}\n", path.display()));
    }
    Ok(out)
}

/// The mechanical parts, if the model has any.
fn mechanics(device: &AnyDevice) -> Option<&Mechanics> {
    match device.model() {
        AnyDevice::Mechanical(disk) => Some(&disk.model().mechanics),
        AnyDevice::Drive(drive) => Some(&drive.drive().model().mechanics),
        AnyDevice::Constant(_)
        | AnyDevice::Array(_)
        | AnyDevice::Table(_)
        | AnyDevice::Flash(_)
        | AnyDevice::Hybrid(_)
        | AnyDevice::Controlled(_)
        | AnyDevice::Scaled(_) => None,
    }
}

/// How long a new device takes for each of [`REQUESTS`] requests at random places, one after the other, ms.
fn service_times(device: &AnyDevice, op: Op, seed: u64) -> anyhow::Result<Vec<f64>> {
    let mut device = device.clone();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let places = device.capacity().checked_sub(SECTORS).ok_or_else(|| {
        InputError::new("disk", format!("{} sectors", device.capacity()), format!("at least {SECTORS} sectors"))
    })?;
    let (mut now, mut done, mut times) = (Nanos::ZERO, Vec::new(), Vec::new());
    for id in 0..REQUESTS {
        let lba = Lba(random.random_range(0..=places));
        let request = DeviceRequest {
            id: RequestId::from_index(id as usize),
            op,
            lba,
            sectors: Sectors(SECTORS as u32),
            flags: Flags::empty(),
        };
        device.submit(request, now);
        let begun = now;
        while done.is_empty() {
            now =
                device.next_event().ok_or_else(|| anyhow::anyhow!("the device never completes request {id}"))?.max(now);
            device.advance(now, &mut done);
        }
        for completion in done.drain(..) {
            times.push((completion.at - begun).as_millis_f64());
            now = now.max(completion.at);
        }
    }
    Ok(times)
}
