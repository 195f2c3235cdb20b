//! One run in full, for people.

use super::{Alignment, Table};
use iopilot_block::{Distribution, HostReport, ProcessKind, SECTOR_BYTES, TaskReport};
use iopilot_device::DeviceReport;
use iopilot_render::Terminal;
use iopilot_render::number::{bytes, percent, plain, short_count};
use iopilot_sim::{RedcapReport, RunReport};
use std::fmt::Write;

/// Processes listed before the rest is summed up in a line; `--json` has all.
const PROCESSES: usize = 20;

/// Everything known of `run`.
pub(crate) fn details(run: &RunReport, terminal: Terminal) -> String {
    let mut out = format!("{}\n", terminal.bold(&run.scheduler));
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(out, "  {name:<16}{value}");
    };
    fact("requests", format!("{} ({} reads, {} writes)", run.requests, run.reads, run.writes));
    fact("transferred", format!("{} in {} s", bytes(run.bytes), plain(run.elapsed_s)));
    fact("throughput", format!("{} MB/s, {} IOPS", plain(run.throughput_mb_s), plain(run.iops)));
    fact("dispatched", format!("{} ({} merged)", run.dispatched, run.merged));
    fact("queue length", plain(run.queue_length_mean));
    fact("seek distance", format!("{} sectors", short_count(run.seek_distance_mean_sectors)));
    fact("device busy", percent(run.utilization));
    fact("cache hits", percent(run.cache_hit_share));
    fact("Jain's index", format!("{:.3}", run.jain));
    match &run.device {
        Some(DeviceReport::Ssd(ssd)) => {
            fact(
                "flash written",
                format!("{}, {:.2} times what was asked", bytes(ssd.flash_written_bytes), ssd.write_amplification),
            );
            let erases = format!("{} to {} a block, {:.2} on average", ssd.erases_min, ssd.erases_max, ssd.erases_mean);
            fact("blocks erased", format!("{} ({erases})", ssd.erases));
            fact("moved", format!("{} units by garbage collection and wear levelling", ssd.units_moved));
        }
        Some(DeviceReport::Hybrid(hybrid)) => {
            let cache = &hybrid.cache;
            let read = (cache.read_hit_sectors + cache.read_miss_sectors).max(1);
            fact("from flash", format!("{} of what was read", percent(cache.read_hit_sectors as f64 / read as f64)));
            fact("copied to flash", bytes(cache.promoted_sectors * SECTOR_BYTES));
        }
        Some(DeviceReport::Array(array)) => {
            let lost: Vec<String> = array.lost_members.iter().map(ToString::to_string).collect();
            let rebuilt = array.rebuilt_at_s.map(|at| format!("whole again after {} s", plain(at)));
            fact(
                "array",
                match (lost.is_empty(), rebuilt) {
                    (false, _) => format!("degraded: without member {}", lost.join(", ")),
                    (true, Some(rebuilt)) => rebuilt,
                    (true, None) => "whole".to_owned(),
                },
            );
            if array.dirty_bytes > 0 {
                fact("write cache", format!("{} not yet on the members", bytes(array.dirty_bytes)));
            }
            let requests: Vec<u64> = array.members.iter().map(|m| m.reads + m.writes).collect();
            let ends = (requests.iter().min().unwrap_or(&0), requests.iter().max().unwrap_or(&0));
            fact("members", format!("{} with {} to {} requests each", requests.len(), ends.0, ends.1));
        }
        Some(DeviceReport::Controller(cache)) => {
            let (requests, hits) = (cache.reads + cache.writes, cache.read_hits + cache.write_hits);
            fact(
                "controller",
                format!("{} of {requests} requests hit its cache", percent(hits as f64 / requests.max(1) as f64)),
            );
            fact("written back", format!("{} in {} writes", bytes(cache.written_back_bytes), cache.write_backs));
        }
        None => {}
    }
    if let Some(redcap) = &run.redcap {
        redcap_facts(redcap, &mut fact);
    }
    if let Some(host) = &run.host {
        host_facts(host, &mut fact);
    }
    if let Some(storage) = &run.storage {
        let idle = &storage.idle_ms;
        fact(
            "disk idle",
            format!(
                "{} periods, {} ms on average, 95 % up to {} ms",
                storage.idle_periods,
                plain(idle.mean),
                plain(idle.p95)
            ),
        );
        let (cylinders, ms) = (plain(storage.seek_cylinders_mean), plain(storage.seek_ms_mean));
        fact("  its arm", format!("{cylinders} cylinders a request, {ms} ms"));
    }

    let right = |title| (title, Alignment::Right);
    let mut times = Table::new(&[
        ("  time in ms", Alignment::Left),
        right("mean"),
        right("p50"),
        right("p95"),
        right("p99"),
        right("max"),
    ]);
    let mut distribution = |name: &str, d: &Distribution| {
        let numbers = [d.mean, d.p50, d.p95, d.p99, d.max].map(plain);
        times.row([format!("  {name}")].into_iter().chain(numbers).collect());
    };
    distribution("response", &run.response_ms);
    distribution("reads", &run.read_response_ms);
    distribution("writes", &run.write_response_ms);
    distribution("waited for", &run.critical_response_ms);
    distribution("service", &run.service_ms);
    let _ = write!(out, "\n{}", times.render(terminal));

    if let Some(host) = &run.host {
        let _ = write!(out, "\n{}\n{}", tasks(host, terminal), groups(host, terminal));
    }
    if run.processes.len() > 1 {
        let mut table = Table::new(&[
            ("  process", Alignment::Left),
            right("requests"),
            right("bytes"),
            right("active s"),
            right("response ms"),
        ]);
        for p in run.processes.iter().take(PROCESSES) {
            table.row(vec![
                format!("  {}", p.process),
                p.requests.to_string(),
                bytes(p.bytes),
                plain(p.active_s),
                plain(p.response_mean_ms),
            ]);
        }
        let _ = write!(out, "\n{}", table.render(terminal));
        if run.processes.len() > PROCESSES {
            let _ = writeln!(out, "  … and {} more processes (--json lists all)", run.processes.len() - PROCESSES);
        }
    }
    out
}

/// What a cache above the block layer did.
fn redcap_facts(redcap: &RedcapReport, fact: &mut impl FnMut(&str, String)) {
    let share = |part: u64, of: u64| percent(part as f64 / of.max(1) as f64);
    let counters = &redcap.counters;
    let active = counters.reads - counters.inactive_reads;
    let changes = redcap.state.len() - 1;
    fact("REDCAP active", format!("for {} of the reads, {changes} changes", share(active, counters.reads)));
    if redcap.off_percent > 0.0 {
        fact("  left alone", format!("{} of the disk, at the end", percent(redcap.off_percent / 100.0)));
    }
    fact(
        "  from its RAM",
        format!("{} of the blocks then asked for", share(counters.hit_blocks, counters.requested_blocks)),
    );
    let used = share(counters.used_blocks, counters.prefetched_blocks);
    fact("  prefetched", format!("{}, {used} of it used", bytes(counters.prefetched_blocks * 4096)));
    let disk = &redcap.disk;
    fact(
        "  at the disk",
        format!("{} requests, {}, {} ms on average", disk.requests, bytes(disk.bytes), plain(disk.response_ms.mean)),
    );
}

/// What the CPUs of a host did.
fn host_facts(host: &HostReport, fact: &mut impl FnMut(&str, String)) {
    let times = &host.times;
    let all = f64::from(host.cpus) * host.elapsed_s;
    let share = |seconds: f64| percent(seconds / all.max(f64::MIN_POSITIVE));
    fact(
        "CPUs",
        format!(
            "{}: {} processes, {} kernel, {} false computation, {} false idle, {} idle",
            host.cpus,
            share(times.computation_s),
            share(times.other_s),
            share(times.false_computation_s),
            share(times.false_idle_s),
            share(times.idle_s)
        ),
    );
    fact(
        "  interrupts",
        format!(
            "{} of requests, {} of the clock{}; {} context switches",
            host.interrupts,
            host.ticks,
            host.external_interrupts.map(|count| format!(", {count} from outside")).unwrap_or_default(),
            host.context_switches
        ),
    );
    if let Some(lost) = host.external_lost.filter(|&lost| lost > 0) {
        fact("  lost", format!("{lost} of those from outside, as there was no room in their channel"));
    }
    if let (Some(tasks_end), Some(after)) = (host.tasks_end_s, host.after_tasks) {
        fact(
            "  both ends",
            format!(
                "tasks end after {} s, with {} dirty pages left; all writing after {} s, {} requests later",
                plain(tasks_end),
                after.dirty_pages,
                plain(host.elapsed_s),
                after.requests
            ),
        );
    }
    if let Some(cache) = &host.cache {
        let looks = cache.hits + cache.misses;
        fact(
            "  page cache",
            format!(
                "{}: {} of {looks} pages found, {} read ahead ({} never used), {} written, {} s waited for room",
                bytes(cache.pages * 4096),
                percent(cache.hits as f64 / looks.max(1) as f64),
                cache.read_ahead,
                cache.read_ahead_unused,
                cache.written,
                plain(cache.throttled_s)
            ),
        );
    }
    let limits = &host.limits;
    if limits.wanted + limits.unused > 0 {
        fact(
            "time limits",
            format!(
                "{} ms on average, {} satisfied; {} requests never wanted",
                plain(limits.limit_ms.mean),
                percent(limits.satisfied_percent / 100.0),
                limits.unused
            ),
        );
    }
}

/// Where the time of each task went.
fn tasks(host: &HostReport, terminal: Terminal) -> String {
    let right = |title| (title, Alignment::Right);
    let mut table = Table::new(&[
        ("  task", Alignment::Left),
        right("elapsed s"),
        right("computes"),
        right("others"),
        right("false computation"),
        right("false idle"),
        right("idle"),
        right("I/O waits"),
        right("ms each"),
    ]);
    // Tasks of one name share a row of means.
    let mut names: Vec<(&str, Vec<&TaskReport>)> = Vec::new();
    for task in &host.tasks {
        match names.iter_mut().find(|(name, _)| *name == task.name) {
            Some((_, tasks)) => tasks.push(task),
            None => names.push((&task.name, vec![task])),
        }
    }
    for (name, tasks) in names.iter().take(PROCESSES) {
        let count = tasks.len() as f64;
        let mean = |of: fn(&TaskReport) -> f64| plain(tasks.iter().map(|task| of(task)).sum::<f64>() / count);
        let sum = |of: fn(&TaskReport) -> f64| tasks.iter().map(|task| of(task)).sum::<f64>();
        let waits = sum(|task| task.io_waits as f64);
        table.row(vec![
            if tasks.len() > 1 { format!("  {name} ({} times)", tasks.len()) } else { format!("  {name}") },
            mean(|task| task.elapsed_s),
            mean(|task| task.times.computation_s),
            mean(|task| task.times.other_s),
            mean(|task| task.times.false_computation_s),
            mean(|task| task.times.false_idle_s),
            mean(|task| task.times.idle_s),
            mean(|task| task.io_waits as f64),
            plain(1e3 * sum(|task| task.io_wait_s) / waits.max(1.0)),
        ]);
    }
    let mut out = table.render(terminal);
    if names.len() > PROCESSES {
        let _ = writeln!(out, "  … and {} more tasks (--json lists all)", names.len() - PROCESSES);
    }
    out
}

/// What the processes of each name did with their time.
fn groups(host: &HostReport, terminal: Terminal) -> String {
    let right = |title| (title, Alignment::Right);
    let mut table = Table::new(&[
        ("  processes", Alignment::Left),
        right("life s"),
        right("computes"),
        right("could run"),
        right("waits for I/O"),
        right("times"),
        right("waits else"),
    ]);
    for group in host.processes.iter().take(PROCESSES) {
        let kernel = if group.kind == ProcessKind::Kernel { ", kernel" } else { "" };
        table.row(vec![
            format!("  {} ({}{kernel})", group.name, group.count),
            plain(group.life_s),
            plain(group.computation_s),
            plain(group.runnable_s),
            plain(group.io_wait_s),
            group.io_waits.to_string(),
            plain(group.other_wait_s),
        ]);
    }
    let mut out = table.render(terminal);
    if host.processes.len() > PROCESSES {
        let _ = writeln!(out, "  … and {} more names (--json lists all)", host.processes.len() - PROCESSES);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_comparison::sample_comparison;

    #[test]
    fn tells_reads_from_writes_and_lists_processes() {
        let text = details(&sample_comparison(1).runs[0], Terminal { width: 80, colour: false });
        for word in ["3000 reads", "writes", "p99", "process", "102", "12.5 %"] {
            assert!(text.contains(word), "{word} is missing:\n{text}");
        }
    }
}
