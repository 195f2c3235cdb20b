//! The options of fio, and how each is treated: supported, ignored with a note, or refused.
//!
//! The list has the options of fio 3.33 (`options.c`, `engines/*.c`) and of later versions. Options of engines that are not
//! simulated are in [`engines`].

mod engines;

use iopilot_block::suggest;

/// How an option is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OptionSupport {
    /// It shapes the load.
    Supported,
    /// It does not change which requests are issued.
    Harmless,
    /// It would change the load, unless it has one of these values.
    Refused { unless: &'static [&'static str], why: &'static str },
}

/// Other names, and the one they stand for.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("blockalign", "ba"),
    ("io_limit", "io_size"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("wait_for_previous", "stonewall"),
    ("fill_fs", "fill_device"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    // Undocumented, but fio accepts it.
    ("threads", "thread"),
    ("timeout", "runtime"),
    ("fileoffset", "offset"),
    ("nr_files", "nrfiles"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("disable_bw", "disable_bw_measurement"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("ss_interval", "steadystate_check_interval"),
];

pub(super) const SUPPORTED: &[&str] = &[
    "allrandrepeat",
    "ba",
    "bs",
    "bs_is_seq_rand",
    "bsrange",
    "bssplit",
    "buffered",
    "cmdprio",
    "cmdprio_class",
    "cmdprio_percentage",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "direct",
    "directory",
    "end_fsync",
    "exit_what",
    "exitall",
    "fdatasync",
    "file_service_type",
    "filename",
    "filename_format",
    "filesize",
    "fsync",
    "fsync_on_close",
    "io_size",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_low",
    "ioengine",
    "kb_base",
    "loops",
    "name",
    "new_group",
    "nice",
    "norandommap",
    "nrfiles",
    "number_ios",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "percentage_random",
    "prio",
    "prioclass",
    "ramp_time",
    "random_distribution",
    "random_generator",
    "randrepeat",
    "randseed",
    "rate",
    "rate_ignore_thinktime",
    "rate_iops",
    "rate_process",
    "runtime",
    "rw",
    "rw_sequencer",
    "rwmixread",
    "rwmixwrite",
    "size",
    "startdelay",
    "stonewall",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "thinktime_spin",
    "time_based",
    "wait_for",
];

const HARMLESS: &[&str] = &[
    "allow_file_create",
    "allow_mounted_write",
    "block_error_percentiles",
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffer_pattern",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "continue_on_error",
    "create_fsync",
    "create_on_open",
    "create_serialize",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_percentage",
    "dedupe_working_set_percentage",
    "description",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "error_dump",
    "exec_postrun",
    "exec_prerun",
    "exitall_on_error",
    "fadvise_hint",
    "fallocate",
    "fixedbufs",
    "flow_watermark",
    "force_async",
    "gid",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "hipri",
    "hipri_percentage",
    "hugepage-size",
    "ignore_error",
    "ignore_zone_limits",
    "invalidate",
    "iomem_align",
    "iopsavgtime",
    "ioscheduler",
    "lat_percentiles",
    "lockmem",
    "log_alternate_epoch",
    "log_alternate_epoch_clock_id",
    "log_avg_msec",
    "log_compression",
    "log_compression_cpus",
    "log_entries",
    "log_hist_coarseness",
    "log_hist_msec",
    "log_issue_time",
    "log_max_value",
    "log_offset",
    "log_prio",
    "log_store_compressed",
    "log_unix_epoch",
    "log_window_value",
    "mem",
    "nonvectored",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "openfiles",
    "overwrite",
    "per_job_logs",
    "percentile_list",
    "rate_cycle",
    "refill_buffers",
    "registerfiles",
    "scramble_buffers",
    "significant_figures",
    "slat_percentiles",
    "softrandommap",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "stats",
    "thread",
    "uid",
    "unified_rw_reporting",
    "unique_filename",
    "unit_base",
    "unlink",
    "unlink_each_loop",
    "userspace_reap",
    "write_bw_log",
    "write_hint",
    "write_hist_log",
    "write_iolog",
    "write_iops_log",
    "write_lat_log",
    "zero_buffers",
];

const OFF: &[&str] = &["0"];

/// Name, values that switch it off, and why it is refused.
const REFUSED: &[(&str, &[&str], &str)] = &[
    ("atomic", OFF, "atomic writes are not simulated"),
    ("bs_unaligned", OFF, "direct I/O needs whole sectors"),
    ("cgroup", &[], "control groups are not simulated"),
    ("cgroup_nodelete", OFF, "control groups are not simulated"),
    ("cgroup_weight", &[], "control groups are not simulated"),
    ("cmdprio_bssplit", &[], "use cmdprio_percentage"),
    ("cmdprio_hint", OFF, "limits of a command's duration are not simulated"),
    ("create_only", OFF, "files are not created"),
    ("dataplacement", OFF, "placement by the host is not simulated"),
    ("do_verify", &["0", "1"], "verification is not simulated"),
    ("dp_scheme", &[], "placement by the host is not simulated"),
    ("dp_type", &["none"], "placement by the host is not simulated"),
    ("experimental_verify", OFF, "verification is not simulated"),
    ("fdp", OFF, "placement by the host is not simulated"),
    ("fdp_pli", &[], "placement by the host is not simulated"),
    ("fdp_pli_select", &[], "placement by the host is not simulated"),
    ("fdp_scheme", &[], "placement by the host is not simulated"),
    ("file_append", OFF, "files do not grow"),
    ("fill_device", OFF, "give a size"),
    ("flow", OFF, "flow control between jobs is not simulated; use rate_iops"),
    ("flow_id", &[], "flow control between jobs is not simulated; use rate_iops"),
    ("flow_sleep", OFF, "flow control between jobs is not simulated; use rate_iops"),
    ("initial_zone_reset", OFF, "zoned devices are not simulated"),
    ("io_submit_mode", &["inline"], "offloaded submission is not simulated"),
    ("job_max_open_zones", OFF, "zoned devices are not simulated"),
    ("latency_percentile", &["100", "100.0"], "iodepth is not searched for; give it"),
    ("latency_run", OFF, "iodepth is not searched for; give it"),
    ("latency_target", OFF, "iodepth is not searched for; give it"),
    ("latency_window", OFF, "iodepth is not searched for; give it"),
    ("lockfile", &["none"], "file locks are not simulated"),
    ("max_latency", OFF, "jobs do not give up on slow requests"),
    ("max_open_zones", OFF, "zoned devices are not simulated"),
    ("merge_blktrace_file", &[], "replay the trace itself"),
    ("merge_blktrace_iters", &[], "replay the trace itself"),
    ("merge_blktrace_scalars", &[], "replay the trace itself"),
    ("nowait", OFF, "requests that would sleep are not turned away"),
    ("num_range", &["1"], "a trim of several ranges is not simulated"),
    ("opendir", &[], "name the files with filename="),
    ("percentage_sequential", &[], "fio itself no longer takes it; use percentage_random"),
    ("plid_select", &[], "placement by the host is not simulated"),
    ("plids", &[], "placement by the host is not simulated"),
    ("pre_read", OFF, "there is no page cache to read into"),
    ("priohint", OFF, "limits of a command's duration are not simulated"),
    ("profile", &[], "write the jobs out"),
    ("ramp_size", OFF, "use ramp_time"),
    ("rate_iops_min", OFF, "jobs do not give up when they are slow"),
    ("rate_min", OFF, "jobs do not give up when they are slow"),
    ("read_beyond_wp", OFF, "zoned devices are not simulated"),
    ("read_iolog", &[], "give the log itself as the workload: it is a trace format"),
    ("read_iolog_chunked", OFF, "give the log itself as the workload: it is a trace format"),
    ("recover_zbd_write_error", OFF, "zoned devices are not simulated"),
    ("replay_align", OFF, "give the log itself as the workload: it is a trace format"),
    ("replay_no_stall", OFF, "give the log itself as the workload: it is a trace format"),
    ("replay_redirect", &[], "give the log itself as the workload: it is a trace format"),
    ("replay_scale", OFF, "give the log itself as the workload: it is a trace format"),
    ("replay_skip", &[], "give the log itself as the workload: it is a trace format"),
    ("replay_time_scale", &["100"], "give the log itself as the workload: it is a trace format"),
    ("rwmixcycle", &[], "fio itself no longer takes it"),
    ("serialize_overlap", OFF, "overlapping requests are not held back"),
    ("spr_cs", &[], "preconditioning is not simulated"),
    ("spr_num_regions", &[], "preconditioning is not simulated"),
    ("spr_op", &[], "preconditioning is not simulated"),
    ("sprandom", OFF, "preconditioning is not simulated"),
    ("steadystate", &[], "give a runtime"),
    ("steadystate_check_interval", &[], "give a runtime"),
    ("steadystate_duration", &[], "give a runtime"),
    ("steadystate_ramp_time", &[], "give a runtime"),
    ("sync_file_range", &[], "there is no page cache to write back"),
    ("thinkcycles", OFF, "use thinktime_spin"),
    ("trim_backlog", OFF, "verification is not simulated"),
    ("trim_backlog_batch", OFF, "verification is not simulated"),
    ("trim_percentage", OFF, "verification is not simulated"),
    ("trim_verify_zero", OFF, "verification is not simulated"),
    ("uncached", OFF, "there is no page cache"),
    ("verify", &["0", "none", "null"], "verification would read back what was written, which is not simulated"),
    ("verify_async", OFF, "verification is not simulated"),
    ("verify_async_cpus", &[], "verification is not simulated"),
    ("verify_backlog", OFF, "verification is not simulated"),
    ("verify_backlog_batch", OFF, "verification is not simulated"),
    ("verify_dump", &["0", "1"], "verification is not simulated"),
    ("verify_fatal", &["0", "1"], "verification is not simulated"),
    ("verify_header_seed", &["0", "1"], "verification is not simulated"),
    ("verify_interval", &[], "verification is not simulated"),
    ("verify_offset", &[], "verification is not simulated"),
    ("verify_only", OFF, "verification is not simulated"),
    ("verify_pattern", &[], "verification is not simulated"),
    ("verify_pattern_interval", OFF, "verification is not simulated"),
    ("verify_state_load", OFF, "verification is not simulated"),
    ("verify_state_save", &["0", "1"], "verification is not simulated"),
    ("verify_write_sequence", &["0", "1"], "verification is not simulated"),
    ("verifysort", &["0", "1"], "verification is not simulated"),
    ("verifysort_nr", &[], "verification is not simulated"),
    ("write_barrier", OFF, "barriers are not simulated; use fsync"),
    ("zone_reset_frequency", &[], "zoned devices are not simulated"),
    ("zone_reset_threshold", &[], "zoned devices are not simulated"),
    ("zonecapacity", &[], "zoned devices are not simulated"),
    ("zonemode", &["none"], "zones are not simulated; use rw=read:SKIP for strides"),
    ("zonerange", OFF, "zones are not simulated; use rw=read:SKIP for strides"),
    ("zonesize", OFF, "zones are not simulated; use rw=read:SKIP for strides"),
    ("zoneskip", OFF, "zones are not simulated; use rw=read:SKIP for strides"),
];

/// The name an option is known by.
pub(super) fn canonical(key: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| name)
}

/// How `key`, a canonical name, is treated; `None` if it is not an option of fio.
pub(super) fn fate(key: &str) -> Option<OptionSupport> {
    if SUPPORTED.contains(&key) {
        return Some(OptionSupport::Supported);
    }
    if HARMLESS.contains(&key) {
        return Some(OptionSupport::Harmless);
    }
    if let Some(&(_, unless, why)) = REFUSED.iter().find(|(name, ..)| *name == key) {
        return Some(OptionSupport::Refused { unless, why });
    }
    engines::OPTIONS
        .contains(&key)
        .then_some(OptionSupport::Refused { unless: &[], why: "its engine is not simulated" })
}

/// Why the engine `name` is not simulated; `None` if it is not such an engine of fio.
pub(super) fn engine_refused(name: &str) -> Option<&'static str> {
    engines::REFUSED.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// The option that was probably meant by `key`.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let refused = REFUSED.iter().map(|(name, ..)| *name);
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    suggest(key, SUPPORTED.iter().copied().chain(aliases).chain(HARMLESS.iter().copied()).chain(refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_fate() {
        let mut all: Vec<&str> = SUPPORTED.iter().chain(HARMLESS).copied().chain(REFUSED.iter().map(|r| r.0)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "an option is listed twice");
        for (alias, name) in ALIASES {
            assert!(fate(name).is_some() && fate(alias).is_none(), "{alias}");
        }
        assert!(engines::OPTIONS.iter().all(|o| !SUPPORTED.contains(o) && !HARMLESS.contains(o)));
        assert!(engines::OPTIONS.iter().all(|o| REFUSED.iter().all(|r| r.0 != *o)));
        assert_eq!(nearest("block_size"), Some("blocksize"));
        assert_eq!(nearest("quux_frobnicate"), None);
    }
}
