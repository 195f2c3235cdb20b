//! `iopilot machine`: describes this machine in a machine file.

use super::CommandContext;
use super::session::{check_writable, load_disk};
use crate::args::{MachineCommand, MachineProbeArgs};
use anyhow::Context as _;
use iopilot_live::{Cost, MachineProbe as Probed, QueueSettings, probe_machine};
use iopilot_sched::{NO_SCHEDULER, SchedulerInfo};
use iopilot_trace::Destination;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

/// Runs the command and returns the text to print.
pub(super) fn run(command: &MachineCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        MachineCommand::Probe(args) => probe(args, context),
    }
}

fn probe(args: &MachineProbeArgs, context: &CommandContext) -> anyhow::Result<String> {
    check_writable("--output", args.output.as_ref())?;
    if let Some(disk) = &args.model {
        load_disk(disk, context)?;
    }
    let duration = Duration::from_secs(args.seconds.into());
    let probed = probe_machine(&args.device, duration, &mut |what| {
        context.note(format_args!("{what}, for {} s", args.seconds));
    })?;
    let disk = args.model.as_deref().unwrap_or_else(|| stand_in(&probed.queue));
    if args.model.is_none() {
        context.note(format_args!("{disk} stands for the disk; name its own model with --model, or edit the file"));
    }
    for (key, cost) in costs(&probed) {
        if let Cost::Unknown(why) = cost {
            context.note(format_args!("{key} is not measured: {why}"));
        }
    }
    let text = toml(&args.device.display().to_string(), disk, &probed);
    let Some(output) = &args.output else { return Ok(text) };
    let written = || -> std::io::Result<()> {
        let (destination, mut file) = Destination::create(output)?;
        file.write_all(text.as_bytes())?;
        destination.commit(&file)
    };
    written().with_context(|| format!("writing {}", output.display()))?;
    context.note(format_args!("written to {}", output.display()));
    Ok(String::new())
}

/// A drive of the catalogue of the same kind.
fn stand_in(queue: &QueueSettings) -> &'static str {
    match (queue.rotational, queue.nr_hw_queues) {
        (true, _) => "exos-x18-18t",
        (false, 1) => "ssd-160",
        (false, _) => "micron-7600-max-6t4",
    }
}

fn costs(probed: &Probed) -> [(&'static str, &Cost); 5] {
    let costs = &probed.costs;
    [
        ("issue_us", &costs.issue_us),
        ("restart_us", &costs.restart_us),
        ("resume_us", &costs.resume_us),
        ("wake_us", &costs.wake_us),
        ("tag_steal_probability", &costs.tag_steal_probability),
    ]
}

/// The machine file.
fn toml(device: &str, disk: &str, probed: &Probed) -> String {
    let queue = &probed.queue;
    let mut text = format!(
        "# Measured by `iopilot machine probe {device}`, under {}.\nname = {}\ndisk = {}\n\n[block]\n",
        queue.scheduler,
        quoted(device),
        quoted(disk)
    );
    let scheduled = queue.scheduler != NO_SCHEDULER;
    let tags = if scheduled { queue.host_tags } else { Some(queue.nr_requests) };
    let settings = [
        ("nr_hw_queues", Some(queue.nr_hw_queues)),
        ("nr_requests", scheduled.then_some(queue.nr_requests)),
        ("host_tags", tags),
        ("queue_depth", Some(queue.depth)),
        ("max_sectors_kb", queue.max_sectors_kb),
        ("nomerges", queue.nomerges),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    let _ = writeln!(text, "write_cache = {}\nfua = {}", queue.write_back, queue.fua);
    // Under bfq the kernel shows 0, which says nothing of other schedulers.
    let no_wbt = SchedulerInfo::of(&queue.scheduler).is_some_and(|info| info.features.no_wbt);
    if let Some(us) = queue.wbt_lat_usec.filter(|_| !no_wbt) {
        let _ = writeln!(text, "wbt_lat_usec = {us}");
    }
    let _ = writeln!(text, "\n[host]\ncpus = {}", queue.cpus);
    for (key, cost) in costs(probed) {
        let _ = match cost {
            Cost::Measured { value, samples } => writeln!(text, "{key} = {value:?} # {samples} samples"),
            Cost::Unknown(why) => writeln!(text, "# {key}: not measured, {why}"),
        };
    }
    text
}

/// `text` as a string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|c| match c {
            '"' | '\\' => vec!['\\', c],
            c => vec![c],
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_live::MachineCosts;
    use std::path::Path;

    #[test]
    fn what_is_written_is_a_machine() {
        let measured = |value| Cost::Measured { value, samples: 100 };
        let probed = Probed {
            queue: QueueSettings {
                scheduler: "mq-deadline".into(),
                nr_hw_queues: 1,
                nr_requests: 64,
                host_tags: Some(32),
                depth: 31,
                max_sectors_kb: Some(1280),
                nomerges: Some(0),
                write_back: true,
                fua: false,
                wbt_lat_usec: Some(75_000),
                rotational: true,
                cpus: 8,
            },
            costs: MachineCosts {
                issue_us: measured(7.0),
                restart_us: measured(12.5),
                resume_us: measured(33.0),
                wake_us: Cost::Unknown("too few".into()),
                tag_steal_probability: measured(0.4),
            },
        };
        let text = toml("/dev/sda", stand_in(&probed.queue), &probed);
        let machine = iopilot_sim::Machine::from_toml(&text, Path::new("machine.toml")).unwrap();
        assert_eq!((machine.host.cpus, machine.host.issue_us, machine.host.restart_us), (8, Some(7.0), Some(12.5)));
        assert_eq!((machine.block.nr_hw_queues, machine.block.queue_depth), (Some(1), Some(31)));
        assert_eq!((machine.block.write_cache, machine.block.fua), (Some(true), Some(false)));
        assert_eq!(machine.block.wbt_lat_usec, Some(75_000));
        assert!(text.contains("# wake_us: not measured, too few\n"), "{text}");
    }
}
