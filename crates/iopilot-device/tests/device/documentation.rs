//! The catalogue's table in `docs/reference/disks.md` is what the models do. `IOPILOT_BLESS=1` rewrites it.

use crate::rig::Rig;
use iopilot_block::Op;
use iopilot_device::{AnyDevice, Catalogue, Device, DeviceSpec, DiskSpec};
use std::path::Path;

fn row(name: &str, spec: &DiskSpec) -> String {
    let mut rig = Rig::new(spec);
    let gb = rig.device.capacity() as f64 * 512.0 / 1e9;
    let mut next = rig.random(1);
    let count = 2000;
    let random = (0..count).map(|_| rig.read(next(8), 8).1.as_millis_f64()).sum::<f64>() / f64::from(count);
    let mut rig = Rig::new(spec);
    rig.stream(Op::Read, 0, 256, 4);
    let stream = rig.stream(Op::Read, 1024, 256, 400);
    let text = format!("| `{name}` | {} | {gb:.1} | ", spec.model);
    let parts = match (&spec.device, &rig.device) {
        (DeviceSpec::Mechanical(m), AnyDevice::Mechanical(disk)) => {
            let geometry = &disk.model().mechanics.geometry;
            let seek = m.mechanics.seek.average_ms.map_or("table".to_owned(), |ms| format!("{ms}"));
            let heads = format!("{} × {}", geometry.heads(), geometry.cylinders());
            let cache = format!("{} / {}", m.cache.size_kib, m.cache.segments);
            format!("{} | {heads} | {seek} | {cache} | {}", m.mechanics.rotation_rpm, m.interface.queue_depth)
        }
        (DeviceSpec::Flash(f), _) => format!("– | – | – | – | {}", f.queue_depth),
        (DeviceSpec::Hybrid(h), _) => {
            let seek = h.disk.mechanics.seek.average_ms.map_or("table".to_owned(), |ms| format!("{ms}"));
            let cache = format!("{} / {}", h.disk.cache.size_kib, h.disk.cache.segments);
            let (rpm, heads) = (h.disk.mechanics.rotation_rpm, h.disk.geometry.heads);
            format!("{rpm} | {heads} × – | {seek} | {cache} | {}", h.disk.interface.queue_depth)
        }
        (DeviceSpec::Ssd(s), _) => format!("– | – | – | {} / – | {}", s.buffer.size_kib, s.host.queue_depth),
        _ => unreachable!("a mechanical description builds a mechanical disk"),
    };
    format!("{text}{parts} | {random:.2} | {stream:.1} |")
}

#[test]
fn the_table_in_the_documentation_is_what_the_models_do() {
    let mut table = String::from(
        "| name | model | GB | rpm | heads × cylinders | average seek, ms | cache KiB / segments | queue | random read, ms | stream, MB/s |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for name in Catalogue::names() {
        table.push_str(&row(name, &Catalogue::get(name).unwrap()));
        table.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/disks.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- catalogue -->\n").unwrap();
    let (written, after) = rest.split_once("<!-- /catalogue -->").unwrap();
    if std::env::var_os("IOPILOT_BLESS").is_some() {
        std::fs::write(&path, format!("{before}<!-- catalogue -->\n{table}<!-- /catalogue -->{after}")).unwrap();
    } else {
        assert_eq!(written, table, "run again with IOPILOT_BLESS=1 to rewrite docs/reference/disks.md");
    }
}
